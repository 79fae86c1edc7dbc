"""`rerank check`: the brackets of a treebank that are most likely wrong."""
