"""``rerank analyse``: the papers' tables and figures about what models do."""

from reranker.registry import Entry, Features

FEATURES: Features = {
    "commands": {
        "analyse": Entry("command", "what models do: the papers' tables and figures about them", 19)
    },
}
