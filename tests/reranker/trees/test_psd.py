"""Historical corpora in .psd files, made up after the layout of IcePaHC and FarPaHC."""

import re
from pathlib import Path

import pytest

from reranker.commands.main import main
from reranker.errors import TreeError
from reranker.nbest.candidates import from_candidates
from reranker.nbest.reading import read_nbest
from reranker.trees.psd import plain
from reranker.trees.treebank import read_sentences, read_treebank

ICELANDIC = """( (IP-MAT (CONJ En-en)
\t  (NP-SBJ (N-N hestur$-hestur) (D-N $inn-hinn))
\t  (VBDI hljóp-hlaupa)
\t  (PP (P til-til)
\t      (NP (NPR-G Íslands-ísland)))
\t  (. .-.))
  (ID 1150.SAGA.NAR-SAG,.1))

( (CODE <heading>))

( (CP-QUE (WNP-1 0)
\t  (IP-SUB (NP-OB1 *T*-1)
\t\t  (VBPI ert$-vera)
\t\t  (NP-SBJ (PRO-N $u-þú))
\t\t  (ADJP (ADJ-N heima<dash>kær-heimakær)))
\t  (CODE {COM:gap})
\t  (. ?-?))
  (ID 1150.SAGA.NAR-SAG,.2))
"""
ENGLISH = """( (IP-MAT (NP-SBJ (PRO my$) (N $self)) (VBP goes) (ADVP (ADV to-day)) (. .))
  (ID X,1.1))

( (NP-VOC (N Good-morrow) (N Shoe-maker) (. .))
  (ID X,1.2))

( (NP (N Court-yard)) (ID X,1.3))

( (IP-MAT (NP-SBJ (PRO It)) (VBP costs) (NP-MSR (NUM $500) (NS $) (NS US$) (NUM $6)) (. .))
  (ID X,1.4))
"""
FAROESE = "( (IP-MAT (NP-SBJ (PRO-N Hon)) (VBDI sá) (NP-OB1 (N-A Ólavs-vøku)) (. .)) (ID X,.3))\n"


@pytest.fixture
def saga(tmp_path: Path) -> Path:
    path = tmp_path / "saga.psd"
    path.write_text(ICELANDIC, encoding="utf-8")
    (tmp_path / "vøka.psd").write_text(FAROESE, encoding="utf-8")
    return path


def test_words_are_without_lemmas_codes_and_what_is_empty(saga: Path) -> None:
    words = [" ".join(tree.leaves()) for tree in read_treebank([saga.parent])]
    assert words == [
        "En hesturinn hljóp til Íslands .",
        "ert u heima-kær ?",
        "Hon sá Ólavs-vøku .",  # no lemmas here
    ]


def test_a_word_in_two_parts_is_one_in_one_constituent_only(saga: Path) -> None:
    first, second, _ = (tree.to_string() for tree in read_treebank([saga.parent]))
    assert "(NP-SBJ (N-N hesturinn))" in first
    assert "(VBPI ert) (NP-SBJ (PRO-N u))" in second


@pytest.mark.plugins
def test_words_with_hyphens_are_whole_in_a_corpus_without_lemmas(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "english.psd"
    path.write_text(ENGLISH, encoding="utf-8")
    expected = [
        "myself goes to-day .",
        "Good-morrow Shoe-maker .",
        "Court-yard",
        "It costs $500 $ US$ $6 .",
    ]
    assert [" ".join(tree.leaves()) for tree in read_treebank([path])] == expected
    assert [" ".join(tree.tree().leaves()) for tree in read_sentences([path])] == expected
    assert [" ".join(nbest.words) for nbest in read_nbest(path)] == expected
    assert [" ".join(from_candidates([text]).words) for text in ENGLISH.split("\n\n")] == expected
    assert main(["grep", "N", str(path)]) == 0
    assert "Court-yard" in capsys.readouterr().out


def test_a_short_tree_of_a_corpus_with_lemmas_has_them(tmp_path: Path) -> None:
    path = tmp_path / "saga.psd"
    path.write_text(ICELANDIC + "\n( (NP (N-N kona-kona)) (ID X,.3))\n", encoding="utf-8")
    assert [list(tree.leaves()) for tree in read_treebank([path])][-1] == ["kona"]


def test_a_dollar_is_removed_only_between_two_halves() -> None:
    text = "( (IP (VB ert$) (NP (PRO $u)) (N lone$) (NUM 5) (N a$) (N $b$) (N $c)) (ID X,.1))"
    assert plain(text, has_lemmas=False) == (
        "( (IP (VB ert) (NP (PRO u)) (N lone$) (NUM 5) (N abc)))"
    )


def test_places_are_those_of_the_file(saga: Path) -> None:
    assert [place.line for place in read_sentences([saga])] == [1, 11]


def test_a_broken_tree_is_named_and_the_others_are_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "x.psd"
    path.write_text("( (IP-MAT (VB kom-koma))\n\n" + FAROESE + "( (IP-MAT kom))\n", "utf-8")
    assert len(list(read_treebank([path]))) == 2  # `kom` alone is a tag's word
    assert f"{path}:1: skipped, unbalanced" in caplog.text


def test_words_beside_constituents_are_refused() -> None:
    with pytest.raises(TreeError, match="'IP-MAT'"):
        plain("( (IP-MAT kom (NP (N maður))))", has_lemmas=False)


def test_they_are_converted_like_other_treebanks(
    saga: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["convert", str(saga), "--to", "trees", "--clean"]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert first == (
        "(TOP (IP (CONJ En) (NP (N-N hesturinn)) (VBDI hljóp) "
        "(PP (P til) (NP (NPR-G Íslands))) (. .)))"
    )


@pytest.mark.plugins
def test_every_command_and_library_call_reads_them_so(
    saga: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["measure", str(saga)]) == 0  # whose words have tags of letters only
    assert "\tW\t4.0\t" in capsys.readouterr().out
    unnamed = tmp_path / "saga"  # known by its identifiers
    unnamed.write_text(ICELANDIC + FAROESE, encoding="utf-8")
    for name in (str(saga), str(unnamed)):
        for command in (
            ["convert", "--to", "trees"],
            ["show", "--brief", "--all"],
            ["grep", "VBDI"],
        ):
            assert main([*command, name]) == 0
            out = capsys.readouterr().out
            assert "hesturinn" in out and not re.search("SAGA|hestur-|heading|con", out), command
    nbest = from_candidates([ICELANDIC.split("\n\n")[0]])
    assert nbest.words == ["En", "hesturinn", "hljóp", "til", "Íslands", "."]
    assert not from_candidates(["( (S (NP (NN a)) (VP (VB go))))"]).rejected


@pytest.mark.plugins
def test_words_beside_constituents_are_named_in_every_command(
    saga: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saga.write_text("( (IP-MAT kom-koma (N-N *con*)) (ID X,.3))\n" + FAROESE, "utf-8")
    for command in (["convert", "--to", "trees"], ["grep", "NP"], ["show"]):
        assert main([*command, str(saga)]) == 1
        assert "words without a tag in 'IP-MAT'" in capsys.readouterr().err


def test_a_zero_is_a_number_where_its_tag_says_so() -> None:
    assert plain("( (IP (C 0) (NUM 0)))", has_lemmas=False) == "( (IP (NUM 0)))"
