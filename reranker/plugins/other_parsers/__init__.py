"""Parsers of other projects: BLLIP, benepar, Stanza."""

from reranker.registry import Entry, Features

FEATURES: Features = {
    "parsers": {
        "benepar": Entry("benepar:BeneparParser"),
        "bllip": Entry("bllip:BllipParser"),
        "stanza": Entry("stanza:StanzaParser"),
    },
}
