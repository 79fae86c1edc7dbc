import pytest

from reranker.errors import InputError
from reranker.trees.annotation import Annotation
from reranker.trees.tree import Tree


def stripped(text: str, annotation: Annotation) -> str | None:
    tree = annotation.stripped(Tree.from_string(text))
    return None if tree is None else tree.to_string()


def test_labels_are_left_out_with_all_that_is_in_them() -> None:
    speech = "(S (RM (-DFL- \\[)) (EDITED-UNF (NP (PRP I))) (NP-SBJ (PRP I)) (VP (VBD ran)))"
    annotation = Annotation(["-DFL-", "EDITED", "CODE"])
    assert stripped(speech, annotation) == "(S (NP-SBJ (PRP I)) (VP (VBD ran)))"
    assert annotation.unseen == {"CODE"}
    assert stripped("( (S (DFL E_S)))", Annotation(["DFL"])) is None
    assert stripped(speech, Annotation()) == speech


@pytest.mark.parametrize(
    ("separators", "label", "cut"),
    [
        *(("*", "NP*SUB", "NP"), (";", "NP;*SBJ*", "NP"), ("#", "ADJ##lemma=x##", "ADJ")),
        *(("*;", ";", ";"), ("|_", "NP_A|B", "NP"), ("|", "NP_A|B", "NP_A"), ("", "N*", "N*")),
    ],
)
def test_separators_end_labels_and_no_words(separators: str, label: str, cut: str) -> None:
    text = f"({label} ({label} a*b;c#d) (NN a))"
    assert stripped(text, Annotation(separators=separators)) == text.replace(label, cut)


@pytest.mark.parametrize("separators", ["-", "*=", "N", "( ", "1"])
def test_separators_are_punctuation(separators: str) -> None:
    with pytest.raises(InputError, match="punctuation"):
        Annotation(separators=separators)
