"""The training of language models, on trees or running text."""
