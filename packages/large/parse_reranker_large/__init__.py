"""The large parser of ckpt/large/ as data: parse-reranker finds it by its name, large."""
