"""Treebanks in other notations than brackets, each read and written by a file of its own; rows in
`reranker/registry.py` name them."""
