"""`rerank select`: the sentences of a text to annotate next."""
