"""``rerank show``: trees drawn on a terminal and as pictures."""

from reranker.registry import Entry, Features

FEATURES: Features = {
    "commands": {
        "show": Entry("command", "draw trees: the best one next to the parser's first", 2)
    },
}
