"""A candidate is read in its own notation, whatever stands beside it, in every format."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reranker.files.text import TextInMemory
from reranker.nbest import FORMATS, NBest, ReadOptions, Sentence, from_candidates, read_nbest
from reranker.nbest.dialects.candidate_text import bare
from reranker.nbest.notation import Notation
from reranker.trees.splitting import open_brackets
from reranker.trees.tree import Tree
from tests.reranker.nbest.any_candidates import Given, Good, given_lists

BRACKETS, BARE, LINEARIZED = Notation.BRACKETS, Notation.BARE, Notation.LINEARIZED
BEAM = 12
# A file that begins with prose is none of the counted formats.
FIRST = Given(("Go",), [Good("(S (VB Go) )", ("(S", "Go", ")S"), BRACKETS)], ["(S (VB Go) )"])


def _lines(prefix: str, texts: Sequence[str]) -> str:
    return "".join(f"{prefix}{text}\n" for text in texts)


# How each format holds a list, and in which notations.
WRITERS: dict[str, tuple[Callable[[int, Sequence[str]], str], list[Notation]]] = {
    "jsonl": (lambda n, texts: json.dumps({"candidates": texts}) + "\n", list(Notation)),
    "rnng": (lambda n, texts: _lines(f"{n} ||| -1 ||| ", texts), list(Notation)),
    "fairseq": (lambda n, texts: _lines(f"H-{n}\t-1\t", texts), [BRACKETS, LINEARIZED]),
    "seq2seq": (lambda n, texts: f"{len(texts)}\n{_lines('', texts)}", [BRACKETS, LINEARIZED]),
    "opennmt": (
        lambda n, texts: _lines("", [*texts, *[""] * (BEAM - len(texts))]),
        [BRACKETS, LINEARIZED],
    ),
    "berkeley": (lambda n, texts: _lines("-1\t", texts) + "\n", list(Notation)),
    "bllip": (lambda n, texts: f"{len(texts)}\t{n}\n{_lines('-1' + chr(10), texts)}\n", [BRACKETS]),
    "choe-charniak": (
        lambda n, texts: f"{len(texts)}\n{_lines('1.5' + chr(10), texts)}",
        [BRACKETS],
    ),
    "corenlp": (
        lambda n, texts: "".join(
            f"# Parse {k} with score -1\n{text}\n" for k, text in enumerate(texts, 1)
        ),
        [BRACKETS],
    ),
    "trees": (lambda n, texts: _lines("", texts), list(Notation)),
}


def read(
    format_name: str, text: str, sentences: Sequence[Given], repair: bool | None
) -> list[NBest]:
    tokens = tuple(each.sentence for each in sentences) if sentences else None
    options = ReadOptions(format_name, tokens, repair, BEAM)
    return list(read_nbest(TextInMemory(text.encode(), "x"), options=options, warn=lambda _: None))


def as_read(nbest: NBest, lists: Given) -> list[tuple[str, tuple[str, ...], object]]:
    """Return the good candidates as they are read."""
    good = {one.text for one in lists.good}
    unrepaired = (one for one in nbest.candidates if not one.is_repaired)  # may equal a good one
    return [(one.text, one.tokens, one.tags) for one in unrepaired if one.text in good]


def alone(
    format_name: str, lists: Given, repair: bool | None, is_told: bool
) -> list[tuple[str, tuple[str, ...], object]]:
    """Return the good candidates as they are read with nothing beside them."""
    if not lists.good:
        return []
    text = WRITERS[format_name][0](0, [one.text for one in lists.good])
    return as_read(read(format_name, text, [lists] * is_told, repair)[0], lists)


def expected(lists: Given) -> list[tuple[str, tuple[str, ...]]]:
    return [(one.text, one.tokens) for one in lists.good]


def test_every_format_is_here() -> None:
    assert set(WRITERS) == set(FORMATS)


@pytest.mark.parametrize("format_name", WRITERS)
def test_what_stands_beside_a_candidate_does_not_change_it(format_name: str) -> None:
    write, notations = WRITERS[format_name]

    @settings(deadline=None, max_examples=20)
    @given(
        st.lists(given_lists(notations), min_size=1, max_size=3),
        st.sampled_from([None, True, False]),
        st.booleans(),
    )
    def holds(lists: list[Given], repair: bool | None, are_told: bool) -> None:
        lists = [FIRST, *lists]
        if format_name == "trees":  # a list for each
            lists = [
                Given(each.words, [one for one in each.good if one.text == text][:1], [text])
                for each in lists
                for text in each.mixed
                if text and open_brackets(text) <= 0  # else it goes on in the next line
            ]
        told = lists if are_told else []
        mixed = "".join(write(place, each.mixed) for place, each in enumerate(lists))
        found = read(format_name, mixed, told, repair)
        assert [as_read(nbest, each) for nbest, each in zip(found, lists, strict=True)] == [
            alone(format_name, each, repair, are_told) for each in lists
        ]
        for nbest, each in zip(found, lists, strict=True):
            assert [one[:2] for one in as_read(nbest, each)] == expected(each)

    holds()


@pytest.mark.parametrize("word", ["a\\(b\\)", "\\(", "1\\/2", "\\*", "\\"])
@pytest.mark.parametrize("format_name", WRITERS)
def test_a_backslash_in_a_word_is_read_alike(format_name: str, word: str) -> None:
    """Not cut in the word, with its tag where it has one, and the same as in Python."""
    write, notations = WRITERS[format_name]
    texts = {
        BRACKETS: f"(S (NP (NN {word} )) (VP (VBZ runs)))",
        BARE: f"(S (NP {word} ) (VP runs))",
        LINEARIZED: f"(S (NP {word} )NP (VP runs )VP )S",
    }
    for notation in notations:
        (nbest,) = read(format_name, write(0, [texts[notation]]), [], None)
        (candidate,) = from_candidates([texts[notation]]).candidates
        (found,) = nbest.candidates
        assert " ".join(found.tokens) == f"(S (NP {word} )NP (VP runs )VP )S"
        assert (found.tokens, found.tags, found.text) == (
            candidate.tokens, candidate.tags, candidate.text,
        )  # fmt: skip
        tags = ["NN", "VBZ"] if notation is BRACKETS else ["XX", "XX"]
        assert found.tree.tags() == tags


def test_a_backslash_in_a_broken_tree() -> None:
    (nbest,) = read("jsonl", WRITERS["jsonl"][0](0, ["(S (NN a\\(b\\)) (VB go)"]), [], True)
    (candidate,) = nbest.candidates
    assert candidate.tree.to_string() == "(S (NN a\\(b\\)) (VB go))"


def test_a_word_that_ends_in_a_backslash_is_written_apart_from_brackets() -> None:
    words = ("f\\(x\\)", "\\")
    (candidate,) = from_candidates(["(S (NP f\\(x\\)) (VP \\ ))"]).candidates
    (again,) = from_candidates([bare(candidate)]).candidates
    assert candidate.tokens == again.tokens == (
        "(S", "(NP", words[0], ")NP", "(VP", words[1], ")VP", ")S",
    )  # fmt: skip
    assert Tree.from_string(Sentence(words).flat_tree()).leaves() == list(words)
    (repaired,) = read("jsonl", '{"candidates": ["(S (NN f\\\\(x\\\\)) (SYM \\\\ )"]}', [], True)[
        0
    ].candidates
    assert repaired.is_repaired and repaired.tree.leaves() == list(words)
