"""The HTTP service: it sits on top of ``reranker`` and nothing imports it."""
