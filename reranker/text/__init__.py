"""Raw text -> sentences of words, each with its place in the text."""
