"""The HTTP service, on top of ``reranker``; nothing imports it."""
