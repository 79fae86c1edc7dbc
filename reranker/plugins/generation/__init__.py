"""``rerank generate``: the best outputs of encoder-decoders, by beam search."""

from reranker.registry import Entry, Features

FEATURES: Features = {
    "commands": {
        "generate": Entry("command", "generate trees, translations or headlines by beam search", 18)
    },
    "parsers": {"encdec": Entry("encdec_parser:EncdecParser")},
    "trainings": {"encoder-decoder": Entry("pair_run")},
}
