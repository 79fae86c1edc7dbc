"""Rankings for sentences that another program has split into words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from reranker.errors import InputError, positive
from reranker.nbest.data import Origin, Sentence
from reranker.parsers.parser import Parser
from reranker.parsers.running import ParsedLists
from reranker.pipeline import Reranker
from reranker.ranking import Ranking
from reranker.text.reading import TextSentence
from reranker.text.words import tree_word

LONGEST = 200
"""The default for the longest sentence, in words, that a parser is given."""


def rank_sentences(
    reranker: Reranker,
    parser: Parser | str,
    sentences: Iterable[Sequence[str]],
    *,
    lm_weight: float | None,
    top: int | None,
    longest: int,
    jobs: int,
) -> Iterator[Ranking]:
    """Yield a ranking for each sentence, in order, while the next ones are parsed, ``jobs`` at
    once.

    Trees have the words as treebanks write them (``-LRB-``). A sentence without words, of more than
    ``longest``, or that cannot be parsed, has a ranking without candidates, whose ``rejected`` says
    why. Raises InputError for a parser that does not work, for ``longest`` that is not a positive
    integer, and for a sentence that is not a list of strings.
    """
    positive("longest", longest)
    read = (_text_sentence(words, longest) for words in sentences)
    chosen = reranker.kept_parser(parser)
    return reranker.rerank_lists(ParsedLists(chosen, read, jobs), top=top, lm_weight=lm_weight)


def _text_sentence(tokens: Sequence[str], longest: int) -> TextSentence:
    if isinstance(tokens, str):
        raise InputError(
            f"expected a list of words, got the string {tokens!r:.60}: split it into words, or "
            "parse text with Reranker.parse"
        )
    given = list(tokens) if isinstance(tokens, Iterable) else [tokens]
    if not all(isinstance(token, str) for token in given):
        raise InputError(f"expected a list of words, which are strings, got {tokens!r:.60}")
    words = tuple(map(tree_word, given))
    problem = None
    if not all(words):
        problem = "a token is an empty string"
        words = tuple(filter(None, words))
    elif not words:
        problem = "no words"
    elif len(words) > longest:
        problem = f"{len(words)} words, more than {longest}"
    return TextSentence(Sentence(words), Origin("", 0, "", ()), problem)
