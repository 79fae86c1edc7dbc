"""`rerank measure`: how complex the syntax of a text is."""
