"""The notation that a candidate shows by itself."""

from __future__ import annotations

import pytest

from reranker.nbest.notation import Notation
from reranker.nbest.own_notation import own_notation

BRACKETS, BARE, LINEARIZED = Notation.BRACKETS, Notation.BARE, Notation.LINEARIZED


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(S1 (S (NP (PRP She)) (VP (VBD left)) (. .)))", BRACKETS),
        ("(S\n  (NP (PRP She))\n  (VP\t(VBD  left) ))", BRACKETS),
        ("(S (NP (_ She)) (VP (_ left)))", BRACKETS),  # supar
        ("(S (NP (XX She)) (VP (XX left)))", BRACKETS),
        ("(NP (NN XX))", BRACKETS),
        ("(NN dog)", BRACKETS),
        ("(S (NP-SBJ (-NONE- *)))", BRACKETS),
        ("(S (NP (DT the) dog) (VP (VBZ runs)))", BRACKETS),  # one word without a tag
        ("(S (NP (NN f\\(x\\))))", BRACKETS),
        ("(S (-LRB- \\()", BRACKETS),
        ("(SYM \\)", BRACKETS),  # the word is a backslash
        ("(S (NP (PRP She)) (VP (VBD", BRACKETS),
        ("(S (NP She) (VP left) .)", BARE),
        ("(S (NP She) (VP left))", BARE),
        ("(S (NP-SBJ She ) (VP left ) )", BARE),
        ("(NP dog)", BARE),
        ("(S (NP f\\(x\\)) (VP left))", BARE),
        ("(S (NP UNK-LC-s plays) (VP", BARE),
        ("(S (NP XX )NP (VP XX )_VP . )", LINEARIZED),
        ("(S (NP She )NP (VP left )VP . )S", LINEARIZED),
        ("<s> (S (NP XX )_NP . )_S </s>", LINEARIZED),
        ("(S (NP XX ) (VP _VB_ ) . )", LINEARIZED),  # without labels
        ("(S (NP XX )VP (VP XX )X . )ROOT", LINEARIZED),  # with wrong ones
        ("(S (NP XX", LINEARIZED),
        ("(INTJ Yes)", None),
        ("(S (X dog))", None),
        ("(TOP Hello)", None),
        ("(())", None),
        ("(S (NP She) (VBD left))", None),
        ("Sorry, no parse.", None),
        (")NP XX )S", None),
        ("", None),
    ],
)
def test_own_notations(text: str, expected: Notation | None) -> None:
    assert own_notation(text) is expected


def test_a_bracket_with_a_label_in_prose_is_none_of_a_tree() -> None:
    assert own_notation("Hello ( my )world") is not LINEARIZED
