"""Reading a sentence word by word with forward language models of trees: the word-synchronous beam,
and the measures of each word that follow from it."""

from reranker.registry import Entry, Features

FEATURES: Features = {
    "commands": {
        "surprisal": Entry("command", "tell how surprising each word of a text is to a reader", 6)
    },
    "parsers": {"beam": Entry("beam_parser:BeamParser")},
    "functions": {"surprisal": Entry("surprisal:surprisal")},
}
