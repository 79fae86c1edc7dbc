"""A parser of the tests, and what it makes of words."""

from __future__ import annotations

from reranker.parsers.command import CommandParser
from reranker.parsers.parser import ParserSettings
from tests.checkout import TOY_PARSER


def toy_parser() -> CommandParser:
    """Return a parser with two trees for each sentence, none for one with the word ``crash``."""
    return CommandParser(ParserSettings(command=TOY_PARSER))


def its_trees(*words: str) -> set[str]:
    """Return the toy parser's trees for a sentence."""
    nodes = [f"(NN {word})" for word in words]
    first, rest = " ".join(nodes[:2]), "".join(f" {node}" for node in nodes[2:])
    return {f"(S1 (S {' '.join(nodes)}))", f"(S1 (S (NP {first}){rest}))"}
