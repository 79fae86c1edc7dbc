"""``rerank train``: train a language model on a treebank."""

from reranker.registry import Entry, Features

FEATURES: Features = {
    "commands": {
        "train": Entry("command", "train a language model on a treebank, or an encoder-decoder", 16)
    },
    "trainings": {
        "language-model": Entry("language_model_run"),
        "spans": Entry("span_run"),
    },
}
