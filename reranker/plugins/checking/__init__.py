"""`rerank check`: the brackets of a treebank that are most likely wrong."""

from reranker.registry import Entry, Features

FEATURES: Features = {
    "commands": {
        "check": Entry("command", "find the brackets of a treebank that are most likely wrong", 11)
    },
    "functions": {"check": Entry("judging:check")},
}
