"""Parsers of other projects: BLLIP, benepar, Stanza."""
