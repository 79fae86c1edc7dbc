"""``rerank train``: flags, one process, several processes; a folder for each subject."""

from reranker.registry import Entry, Features

FEATURES: Features = {
    "commands": {"train": Entry("command", "train a model on a treebank", 16)},
    "trainings": {
        "language-model": Entry("language_models.run"),
        "spans": Entry("spans.run"),
    },
}
