import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from reranker.errors import TreeError
from reranker.files.text import open_text
from reranker.trees.linearize import cleaned, delinearize, is_word, linearize, linearize_text
from reranker.trees.tree import MAX_DEPTH, MAX_WORDS, Tree

TREEBANKS = Path(__file__).parents[4] / "shared/data/treebanks"
PART_OF_SPEECH = re.compile(r"\(([^()\s]+) ([^()\s]+)\)")


def tokens_of(text: str) -> str:
    return " ".join(linearize(Tree.from_string(text)))


def code_of(tokens: str, words: str, tags: str) -> str:
    with pytest.raises(TreeError) as caught:
        delinearize(tokens.split(), words.split(), tags.split())
    return caught.value.code


@pytest.mark.parametrize("root", ["S1", "TOP", "ROOT", ""])
def test_every_root_wrapper_is_dropped(root: str) -> None:
    assert tokens_of(f"({root} (S (VP (VB Go))))") == "(S (VP Go )VP )S"
    assert tokens_of(f"({root} (UH Yes) (NP (NN sir)))") == "Yes (NP sir )NP"
    assert tokens_of(f"({root} (UH Yes))") == "Yes"


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        # Parts of speech and the root are dropped, spelling is kept.
        ("(S1 (S (NP (PRP It)) (VP (VBZ runs)) (. .)))", "(S (NP It )NP (VP runs )VP . )S"),
        ("(S (VP (VB Go)))", "(S (VP Go )VP )S"),  # no wrapper: the tree itself
        ("(NN dog)", "dog"),
        ("(X (S1 (VP (VB Go))))", "(X (S1 (VP Go )VP )S1 )X"),  # only the outermost is a wrapper
        ("(NP Ms. Haag)", "(NP Ms. Haag )NP"),  # words without part of speech
        ("(NP (NN-HL dog) (NN=1 food))", "(NP dog food )NP"),  # and function tags go with it
        ("(NP (NN -NONE-) (SYM *))", "(NP -NONE- * )NP"),  # words that look like traces
        ("(S /S 2)", "(S /S 2 )S"),  # the first word would close S if it began with a bracket
        ("(NP (-LRB- -LRB-) (CD 1) (-RRB- -RRB-))", "(NP -LRB- 1 -RRB- )NP"),
        ("(X (NN \\(NP) (NN \\)NP))", "(X \\(NP \\)NP )X"),
    ],
)
def test_what_is_a_word_and_what_a_bracket(text: str, tokens: str) -> None:
    assert tokens_of(text) == tokens


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("NP-SBJ", "NP"),
        ("NP-SBJ-1", "NP"),
        ("NP=2", "NP"),
        ("PP-LOC=2", "PP"),
        ("PP=2-LOC", "PP"),
        ("ADVP|PRT", "ADVP|PRT"),
        ("WHNP", "WHNP"),
        ("-X", "-X"),  # a label never becomes empty
        ("-X-SBJ", "-X"),
        ("=", "="),
    ],
)
def test_function_tags_are_cut_off(label: str, expected: str) -> None:
    assert tokens_of(f"({label} (DT the) (NN dog))") == f"({expected} the dog ){expected}"


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("(NP (NN dog) (-NONE- *T*-1))", "(NP dog )NP"),
        ("(NP (NP-SBJ (-NONE- *)) (NN dog))", "(NP dog )NP"),
        ("(VP (VB go) (SBAR (-NONE- 0) (S (NP (-NONE- *T*-1)))))", "(VP go )VP"),
        ("(VP (NP-1 (-NONE- *) (-NONE- *U*)) (VB go))", "(VP go )VP"),
        # An inner constituent of the same label goes, the outer one stays.
        ("(NP (NP (-NONE- *)) (NP (NN dog) (NP (-NONE- *))))", "(NP (NP dog )NP )NP"),
        ("(NP (NP) (NN dog))", "(NP dog )NP"),
        ("(TOP (S (NP (-NONE- *))))", ""),
    ],
)
def test_traces_go_and_so_do_constituents_that_held_nothing_else(text: str, tokens: str) -> None:
    assert tokens_of(text) == tokens


def test_is_word() -> None:
    tokens = ["(NP", ")NP", "(", ")", "NP", "-LRB-", "\\(", ".", "<eos>"]
    assert [is_word(token) for token in tokens] == [False] * 4 + [True] * 5


def test_the_deepest_tree_comes_back() -> None:
    depth = MAX_DEPTH - 1  # the part of speech is one bracket more
    text = "(TOP " + "(S " * (depth - 1) + "(NN dog)" + ")" * depth
    tokens = linearize(Tree.from_string(text))
    assert tokens == ("(S",) * (depth - 1) + ("dog",) + (")S",) * (depth - 1)
    assert delinearize(tokens, ["dog"], ["NN"]).to_string() == text


def test_words_and_tags_are_put_in_by_position() -> None:
    tokens = ["(S", "(NP", "<cunk>", ")NP", "(VP", "XX", ")VP", "XX", ")S"]
    tree = delinearize(tokens, ["Ann", "runs", "."], ["NNP", "VBZ", "."])
    assert tree.to_string() == "(TOP (S (NP (NNP Ann)) (VP (VBZ runs)) (. .)))"
    other_root = delinearize(["XX", "(NP", "XX", ")NP"], ["Yes", "sir"], ["UH", "NN"], root="S1")
    assert other_root.to_string() == "(S1 (UH Yes) (NP (NN sir)))"


@pytest.mark.parametrize(
    ("tokens", "words", "tags", "code"),
    [
        ("(S dog", "dog", "NN", "unbalanced"),
        ("(S dog )S )S", "dog", "NN", "unbalanced"),
        (")S dog (S", "dog", "NN", "unbalanced"),
        ("(S (NP dog )S )NP", "dog", "NN", "unbalanced"),
        ("(NP dog )VP", "dog", "NN", "unbalanced"),
        ("(NP XX )NP", "the dog", "DT NN", "wrong-length"),
        ("(NP XX XX )NP", "dog", "NN", "wrong-length"),
        ("(NP XX XX )NP", "the dog", "NN", "wrong-length"),
        ("(NP XX XX )NP", "dog", "DT NN", "wrong-length"),
        ("(NP )NP", "dog", "NN", "empty"),
        ("", "", "", "empty"),
    ],
)
def test_tokens_that_spell_no_tree_for_the_sentence(
    tokens: str, words: str, tags: str, code: str
) -> None:
    assert code_of(tokens, words, tags) == code


@pytest.mark.skipif(not TREEBANKS.is_dir(), reason="../shared/data/treebanks is not here")
@pytest.mark.parametrize(
    ("name", "trees", "words"),
    [
        ("gum/dev", 1_575, 28_119),
        ("craft/dev", 2_780, 67_652),
        ("wsj_sample/dev", 300, 7_087),
        pytest.param("gum/train", 10_224, 177_410, marks=pytest.mark.slow),
        pytest.param("craft/train", 18_951, 493_375, marks=pytest.mark.slow),
        pytest.param("wsj_sample/train", 3_614, 86_997, marks=pytest.mark.slow),
    ],
)
def test_treebanks_come_back_from_their_tokens(name: str, trees: int, words: int) -> None:
    seen, seen_words, changed = 0, 0, []
    with open_text(TREEBANKS / f"{name}.mrg.gz") as lines:
        for line in lines:  # they have neither function tags nor traces, which are not restored
            tags, leaves = zip(*PART_OF_SPEECH.findall(line), strict=True)
            back = delinearize(linearize(Tree.from_string(line)), leaves, tags)
            if back.to_string() + "\n" != line:
                changed.append(line)
            seen += 1
            seen_words += len(leaves)
    assert (seen, seen_words) == (trees, words)
    assert changed == []


BRACKETED = st.lists(
    st.sampled_from(
        [
            *("(S", "(S1 ", "( ", "(", "(NP-SBJ ", "(-X", "(=", "(X\n", ")", ")", ")", " )", ") "),
            *("(NN a)", "(NN a) ", "(NN  b)", "(NN\tb)", "( NN b)", "(NN b )", "(NN a b)", "(NN)"),
            *(
                "(-NONE- *)",
                "(NP (-NONE- *))",
                "(NP )",
                "()",
                "a",
                " b ",
                "\\",
                "\\(",
                "\\)",
                "\x0b",
            ),
            *("\N{NO-BREAK SPACE}", "(NN \N{NO-BREAK SPACE})", "(NN-HL a)", "\x1c", "\0"),
        ]
    ),
    max_size=20,
).map("".join)


def tokens_or_code(read: Callable[[], tuple[str, ...]]) -> tuple[str, ...] | str:
    try:
        return read()
    except TreeError as error:
        return error.code


@settings(deadline=None, max_examples=200)
@given(BRACKETED | BRACKETED.map("(S (NN a){})".format) | st.text("()- aN\\\n", max_size=20))
@example("(S (NN a)( )")
@example("(" * MAX_DEPTH + "(NN a)" + ")" * MAX_DEPTH)
@example("(S " * (MAX_DEPTH - 1) + "(NN a)" + ")" * (MAX_DEPTH - 1))
@example("(S " * (MAX_DEPTH - 2) + "(NN a)" + ")" * (MAX_DEPTH - 2))
@example("(S" + " (NN a)" * MAX_WORDS + ")")
@example("(S" + " (NN a)" * (MAX_WORDS + 1) + ")")
def test_the_short_way_from_text_is_the_long_way(text: str) -> None:
    short = tokens_or_code(lambda: linearize_text(text))
    assert short == tokens_or_code(lambda: linearize(Tree.from_string(text)))


@pytest.mark.parametrize(
    ("text", "leaf"),
    [
        ("(S (NP (NNS dogs dog)) (VP (VBP bark bark)))", "(NNS dogs dog)"),
        ("(S (NP (DT the) dog))", "(NP (DT the) dog)"),
        ("(S (NP (NN dog)) barks)", "(S (NP (NN dog)) barks)"),
    ],
)
def test_the_leaf_at_fault_is_named(text: str, leaf: str) -> None:
    with pytest.raises(TreeError) as error:
        cleaned(Tree.from_string(text))
    assert str(error.value) == f"a leaf that is not (TAG word): {leaf}"


def test_cleaned_trees_have_no_traces_and_no_function_tags() -> None:
    tree = Tree.from_string(
        "( (S (NP-SBJ-1 (DT The) (NN cat)) (VP (VBZ sits) (S (NP-SBJ (-NONE- *-1)))) (. .)) )"
    )
    plain = "(TOP (S (NP (DT The) (NN cat)) (VP (VBZ sits)) (. .)))"
    assert cleaned(tree).to_string() == plain
    assert cleaned(Tree.from_string(plain)).to_string() == plain
    assert cleaned(Tree.from_string("(NP=2 (-LRB- -LRB-))")).to_string() == (
        "(TOP (NP (-LRB- -LRB-)))"
    )


@pytest.mark.parametrize(
    ("text", "code"), [("( (S (-NONE- *)))", "empty"), ("(S (NP a cat) (NN x))", "not-a-tree")]
)
def test_trees_that_parsers_cannot_learn_from(text: str, code: str) -> None:
    with pytest.raises(TreeError) as caught:
        cleaned(Tree.from_string(text))
    assert caught.value.code == code
