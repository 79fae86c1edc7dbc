"""`rerank grep`: patterns of trees, and how probable each of their matches is."""
