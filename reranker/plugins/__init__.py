"""Features that nobody needs in order to rerank: the core imports none of them."""
