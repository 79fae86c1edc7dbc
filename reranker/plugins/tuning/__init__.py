"""The best weights for scored lists that have gold trees."""

from reranker.registry import Entry, Features

FEATURES: Features = {
    "commands": {
        "tune": Entry(
            "command", "find the best --lm-weight and more, from ranked output and gold", 15
        ),
    },
}
