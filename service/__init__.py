"""The HTTP service's place: it sits on top of ``reranker`` and nothing imports it."""
