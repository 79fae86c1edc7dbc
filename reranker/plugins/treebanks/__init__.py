"""Treebanks in other notations than brackets, each read and written by a file of its own."""

from reranker.registry import Entry, Features

_READ = ("conll2012", "conllu", "corenlp_json", "corenlp_xml", "export", "tigerxml")
_WRITTEN = ("conll2012", "conllu", "export", "tigerxml")

FEATURES: Features = {
    "treebanks": {name: Entry(f"{name}:read") for name in _READ},
    "tree-files": {name: Entry(name) for name in _WRITTEN},
}
