"""``rerank analyse``: the papers' tables and figures about what models do."""

from reranker.registry import Entry, Features

FEATURES: Features = {
    "commands": {
        "analyse": Entry("command", "make the papers' tables and figures about models", 19)
    },
}
