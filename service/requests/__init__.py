"""The contents of a request: its schemas, its body, and the n-best lists or sentences in it."""
