"""What a request says: its schemas, its body, and the n-best lists or sentences in it."""
