"""Models for a user's own kind of text, from plain sentences: parsed, reranked, trained on."""

from reranker.registry import Entry, Features

FEATURES: Features = {
    "commands": {
        "adapt": Entry("command", "adapt the models to your kind of text, without a treebank", 17)
    },
}
