"""Candidates of several parsers for one sentence."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence

import pytest

from reranker.nbest import NBest, from_candidates
from reranker.nbest.data import Sentence
from reranker.parsers.choice import PooledParsers, pooled
from reranker.parsers.command import CommandParser
from reranker.parsers.parser import ParserSettings
from tests.checkout import TOY_PARSER
from tests.reranker.parsers.test_command import sentences

FLAT = "(S (PRP It) (VBZ runs))"
NOUN = "(S (NP (PRP It)) (VBZ runs))"
NOUN_OTHER_TAGS = "(S1 (S (NP (NN It)) (VBP runs)))"
VERB = "(S (PRP It) (VP (VBZ runs)))"


def nbest(trees: Sequence[str], scores: Sequence[float | None]) -> NBest:
    return from_candidates(trees, scores, sentence=Sentence(("It", "runs")))


def test_a_tree_is_kept_once_with_the_first_score() -> None:
    one = nbest([FLAT, NOUN, "(S (NP"], [-1.0, None, -3.0])
    two = nbest([NOUN_OTHER_TAGS, VERB, FLAT], [-20.0, -30.0, -40.0])
    both = pooled(["one", "two"], [one, two])
    assert isinstance(both, NBest)
    assert [(each.index, each.text, each.parser_score) for each in both.candidates] == [
        (0, FLAT, -1.0),
        (1, NOUN, -20.0),  # which the first parser gave no score
        (4, VERB, -30.0),
    ]
    assert [(each.index, each.code) for each in both.rejected] == [(2, "unbalanced")]


def test_repetitions_in_one_list_stay() -> None:
    """They are duplicates like those of any list."""
    both = pooled(["one", "two"], [nbest([NOUN, NOUN_OTHER_TAGS], [-1, -2]), nbest([FLAT], [-3])])
    assert isinstance(both, NBest)
    assert [each.index for each in both.candidates] == [0, 1, 2]
    assert both.duplicates() == [None, 0, None]


@pytest.mark.parametrize("place", [0, 1])
def test_a_parser_without_a_list_says_why(place: int) -> None:
    answers: list[NBest | str] = [nbest([FLAT, NOUN], [-1, -2])]
    answers.insert(place, "it died")
    both = pooled(["one", "two"], answers)
    assert isinstance(both, NBest)
    assert [each.index for each in both.candidates] == [1 - place, 2 - place]
    (missing,) = both.rejected
    assert (missing.index, missing.code) == (2 * place, "missing")
    assert missing.message == f"{['one', 'two'][place]}: it died"


def test_only_what_no_parser_can_parse_is_lost() -> None:
    assert pooled(["one", "two"], ["it died", "too long"]) == "one: it died; two: too long"


def test_real_parsers_together() -> None:
    """The toy parser in two formats: of RNNG's trees, the tags are unknown."""
    programs = {"berkeley": TOY_PARSER, "rnng": f"{TOY_PARSER} rnng"}
    parsers = PooledParsers(
        {name: CommandParser(ParserSettings(command=program)) for name, program in programs.items()}
    )
    assert list(parsers.batch_sizes) == [8, 16, 32, 64, 100]
    found = parsers.parse(sentences("the cat runs", "crash it"))
    assert isinstance(found[0], NBest) and len(found[0].candidates) == 2
    reason = "the parser ended with status 1: cannot parse: crash"
    assert found[1] == f"berkeley: {reason}; rnng: {reason}"
    parsers.stop()


def test_what_one_parser_alone_finds_is_added() -> None:
    other = shlex.join([sys.executable, "-c", _RIGHT_BRANCHING])
    parsers = PooledParsers(
        {
            "one": CommandParser(ParserSettings(command=TOY_PARSER)),
            "two": CommandParser(ParserSettings(command=other)),
        }
    )
    (found,) = parsers.parse(sentences("the cat runs"))
    assert isinstance(found, NBest)
    assert [each.index for each in found.candidates] == [0, 1, 2]
    assert found.candidates[2].text == "(S (NN the) (VP (NN cat) (NN runs)))"
    parsers.stop()


_RIGHT_BRANCHING = """
import sys
for line in sys.stdin:
    first, *rest = (f"(NN {word})" for word in line.split())
    print(f"-3.5 (S {first} (VP {' '.join(rest)}))\\n")
"""
