"""`rerank clauses`: the clauses of texts and trees."""

from reranker.registry import Entry, Features

FEATURES: Features = {
    "commands": {
        "clauses": Entry("command", "list the clauses of a text, with kinds and probabilities", 5)
    },
    "functions": {"clauses": Entry("sentence:clauses")},
}
