"""``rerank show``: trees drawn on a terminal and as pictures."""

from reranker.registry import Entry, Features

FEATURES: Features = {
    "commands": {
        "show": Entry(
            "command", "draw trees: the best beside the parser's first, right or wrong", 2
        )
    },
}
