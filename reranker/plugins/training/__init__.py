"""``rerank train``: train a language model on a treebank."""
