"""The entropy of a sentence's trees, and ``reranker.select``."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence

from reranker.errors import TreeError, positive
from reranker.languages import UNSPACED
from reranker.parsers.parser import Parser
from reranker.plugins.grep.given import given_parses, read_each
from reranker.plugins.grep.matches import Words
from reranker.plugins.grep.parses import Parses
from reranker.plugins.selecting.choosing import Budget, Uncertain, choose
from reranker.text.conventions import Convention
from reranker.text.splitting import Form
from reranker.trees.constituents import constituents
from reranker.trees.linearize import cleaned, linearize
from reranker.trees.treebank import Name, placed_trees

MOST_NEW = 0.4
"""Sentences with a greater share of words that are new to the parser are most likely of another
language: 0.3 % of the sentences of GUM's dev set have it, and all of the Indonesian one's."""
_FEWEST = 5  # words that say this


def uncertain(parses: Parses) -> Uncertain:
    """Return the entropy of a sentence: over all trees, if the parser says it, else over its list.
    Raises TreeError for a flat tree, and if nothing says how probable trees are."""
    tree = cleaned(parses.trees[0])
    words = tree.words()
    if len(words) > 1 and not constituents(linearize(tree)):
        raise TreeError("not-a-tree", "a flat tree")
    if parses.certainty is not None:
        entropy = parses.certainty.entropy
    elif parses.probabilities is not None:
        entropy = -math.fsum(p * math.log(p) for p in parses.probabilities if p)
    else:
        raise TreeError("no-score", "nothing says how probable its trees are")
    text = Words.of(parses).text
    entropy = round(max(0.0, entropy), 4)
    return Uncertain(
        parses.file, parses.line, entropy, " ".join(words), text, parses.trees[0].to_string()
    )


def check_language(
    words: Iterable[str], unknown: Callable[[Sequence[str]], int], most: float
) -> None:
    """Raise TreeError if more than this share of the words with letters are ``unknown`` to the
    parser."""
    # Chinese words are as new as their characters.
    parts = [part for word in words for part in (word if UNSPACED.search(word) else [word])]
    spelled = [part for part in parts if any(map(str.isalpha, part))]
    new = unknown(spelled)
    if len(spelled) >= _FEWEST and new > most * len(spelled):
        share = f"{new} of {len(spelled)} words are new to the parser"
        raise TreeError("language", f"{share}: another language?")


def annotated_sentences(files: Name | Iterable[Name]) -> Iterator[str]:
    """Yield the words of each tree, with spaces between them. Raises InputError for files without
    trees."""
    for _, tree in placed_trees(files):
        yield " ".join(cleaned(tree).words())


def select(
    text: str,
    *,
    number: int | None = 200,
    budget: int | None = None,
    annotated: Name | Iterable[Name] = (),
    form: Form = "text",
    words: Convention = "gum",
    parser: Parser | str = "chart",
    parser_model: str = "",
) -> list[Uncertain]:
    """Return so many sentences of a text to annotate next, or as many as have ``budget`` words, the
    best first: those of the greatest entropy a word, without near-duplicates of each other and of
    the treebanks ``annotated``, which are the names of one or several files.

    ``form``, ``words``, ``parser`` and ``parser_model`` are those of ``reranker.parse``. A sentence
    of unknown entropy is left out, and logged.

    Raises InputError for a number or a budget that is not a positive integer, if the parser or its
    model is missing, and for treebanks without trees.
    """
    for name, most in (("number", number), ("budget", budget)):
        if most is not None:
            positive(name, most)
    known = read_each(given_parses(text, form, words, parser, parser_model), uncertain)
    sentences = annotated_sentences(annotated) if annotated else ()
    return choose(known, Budget(number, budget), sentences).sentences
