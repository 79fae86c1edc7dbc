"""`rerank clauses`: the clauses of texts and trees."""

from reranker.registry import Entry, Features

FEATURES: Features = {
    "commands": {
        "clauses": Entry("command", "the clauses of a text, of which kind, and how sure that is", 5)
    },
    "functions": {"clauses": Entry("sentence:clauses")},
}
