"""The best weights for scored lists that have gold trees."""

from reranker.registry import Entry, Features

FEATURES: Features = {
    "commands": {
        "compare": Entry(
            "compare_command", "whether the difference of two parsers' F1 is more than chance", 12
        ),
        "tune": Entry(
            "command", "find the best --lm-weight and more, from ranked output and gold", 15
        ),
    },
}
