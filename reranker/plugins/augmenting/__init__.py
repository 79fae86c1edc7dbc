"""``rerank augment``: trees of commands, headlines, chat and others, made of a treebank's."""

from reranker.registry import Entry, Features

FEATURES: Features = {
    "commands": {
        "augment": Entry(
            "command", "make commands, headlines and chat from a treebank's trees", 17
        ),
    },
}
