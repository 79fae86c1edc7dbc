"""``rerank compare``: F1 of several parsers, and whether they differ by more than chance."""

from reranker.registry import Entry, Features

FEATURES: Features = {
    "commands": {
        "compare": Entry("command", "test whether two parsers' F1 differ by more than chance", 12),
    },
}
