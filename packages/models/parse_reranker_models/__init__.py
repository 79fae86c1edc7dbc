"""Checkpoints for parse-reranker, in ``ckpt/``; the package itself has no code."""
