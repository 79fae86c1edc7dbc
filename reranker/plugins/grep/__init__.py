"""`rerank grep`: patterns of trees, and how probable each of their matches is."""

from reranker.registry import Entry, Features

FEATURES: Features = {
    "commands": {
        "grep": Entry("command", "search trees, parser output or text for a pattern", 3),
    },
}
