"""`rerank spoken`: the sentences of unpunctuated transcripts, and their trees."""
