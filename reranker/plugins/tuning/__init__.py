"""The best weights for scored lists that have gold trees."""

from reranker.registry import Entry, Features

FEATURES: Features = {
    "commands": {
        "tune": Entry("command", "fit --lm-weight and confidence to gold trees", 15),
    },
}
