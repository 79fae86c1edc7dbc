"""`rerank measure`: how complex the syntax of a text is."""

from reranker.registry import Entry, Features

FEATURES: Features = {
    "commands": {"measure": Entry("command", "measure how complex the syntax of a text is", 4)},
    "functions": {"measure": Entry("measurement:measure")},
}
