"""``rerank train``: a language model from a treebank."""
