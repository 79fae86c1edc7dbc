"""Models for a user's own kind of text, from plain sentences: parsed, reranked, trained on."""
