"""``rerank convert`` as a user meets it."""

from __future__ import annotations

from pathlib import Path

import pytest

from reranker.commands.main import main
from tests.reranker.ensembles import CANDIDATES
from tests.reranker.small_files import bllip, write

Capture = pytest.CaptureFixture[str]

FLAT = "(S1 (NP (DT The) (NN end)))"


def test_there_and_back(tmp_path: Path, capsys: Capture) -> None:
    file = write(tmp_path / "n.txt", bllip(CANDIDATES, (FLAT,)))
    jsonl, back = str(tmp_path / "n.jsonl"), str(tmp_path / "back.txt")
    assert main(["convert", file, "--to", "jsonl", "--out", jsonl]) == 0
    assert "2 sentences, 7 candidates written, 0 rejected" in capsys.readouterr().err
    assert main(["convert", jsonl, "--to", "bllip", "--out", back]) == 0
    assert Path(back).read_text() == Path(file).read_text()


def test_hidden_words_travel_beside(tmp_path: Path) -> None:
    file = write(tmp_path / "n.txt", bllip(CANDIDATES, (FLAT,)))
    beams, tokens, back = (str(tmp_path / name) for name in ("beams", "tokens", "back"))
    assert main(["convert", file, "--to", "seq2seq", "--tokens-out", tokens, "--out", beams]) == 0
    assert "The" not in Path(beams).read_text()
    assert main(["convert", beams, "--to", "trees", "--out", back]) == 2  # the words are needed
    assert not Path(back).exists()
    assert main(["convert", beams, "--tokens", tokens, "--to", "trees", "--out", back]) == 0
    firsts = [tree.replace("(S1 ", "")[:-1] for tree in (CANDIDATES[0], FLAT)]
    assert Path(back).read_text().splitlines() == firsts


def test_rejected_candidates_are_reported_and_left_out(tmp_path: Path, capsys: Capture) -> None:
    file = write(tmp_path / "n.txt", bllip((FLAT, FLAT[:-1]), (FLAT,)))
    assert main(["convert", file, "--to", "choe-charniak"]) == 1
    printed = capsys.readouterr()
    assert f"{file}:5: candidate 2 of list 1 rejected, unbalanced" in printed.err
    assert [line for line in printed.out.splitlines() if "(" not in line and "." not in line] == [
        "1",
        "",
        "1",
        "",
    ]


def test_repair_on_request(tmp_path: Path, capsys: Capture) -> None:
    file = write(tmp_path / "n.txt", bllip((FLAT, FLAT[:-1])))
    assert main(["convert", file, "--to", "rnng", "--repair"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" ||| ")[2] for line in lines] == ["(NP The end)"] * 2


def test_usage(tmp_path: Path, capsys: Capture) -> None:
    file = write(tmp_path / "n.txt", bllip((FLAT,)))
    assert main(["convert", file, "--to", "opennmt"]) == 2
    assert "--to-beam" in capsys.readouterr().err
    assert main(["convert", str(tmp_path / "none"), "--to", "jsonl"]) == 2
    assert main(["convert", "-", "-", "--to", "jsonl"]) == 2
    with pytest.raises(SystemExit) as stopped:
        main(["convert", file, "--to", "penn"])
    assert stopped.value.code == 2


@pytest.mark.parametrize("to", ["berkeley", "seq2seq"])
def test_lists_longer_than_a_look_at_the_head(to: str, tmp_path: Path) -> None:
    lists = bllip([FLAT] * 450, [FLAT] * 401)
    file = write(tmp_path / "n.txt", lists)
    there, tokens, back = (str(tmp_path / name) for name in ("there", "tokens", "back"))
    assert main(["convert", file, "--to", to, "--out", there, "--tokens-out", tokens]) == 0
    if to == "seq2seq":  # the other way to tell lists: a blank line instead of a count
        lines = Path(there).read_text().splitlines()[1:]
        blank = "".join(f"{line}\n" if "(" in line else "\n" for line in lines)
        write(tmp_path / "there", blank + "\n")
    assert main(["convert", there, "--tokens", tokens, "--to", "bllip", "--out", back]) == 0
    headers = [line for line in Path(back).read_text().splitlines() if "\t" in line]
    assert headers == ["450\t0", "401\t1"]


def test_a_json_line_may_be_long(tmp_path: Path) -> None:
    tall = "(S1 " + "(NP " * 900 + "(NN end)" + ")" * 901
    file = write(tmp_path / "n.txt", bllip([tall] * 400))
    jsonl, back = str(tmp_path / "n.jsonl"), str(tmp_path / "back.txt")
    assert main(["convert", file, "--to", "jsonl", "--out", jsonl]) == 0
    assert Path(jsonl).stat().st_size > 1_500_000
    assert main(["convert", jsonl, "--to", "bllip", "--out", back]) == 0
    assert Path(back).read_text() == Path(file).read_text()


def test_nothing_that_is_read_is_written(tmp_path: Path) -> None:
    file = write(tmp_path / "n.txt", bllip((FLAT,)))
    before = Path(file).read_bytes()
    assert main(["convert", file, "--to", "trees", "--out", file]) == 2
    assert main(["convert", file, "--to", "trees", "--tokens-out", file]) == 2
    both = str(tmp_path / "both")
    assert main(["convert", file, "--to", "trees", "--out", both, "--tokens-out", both]) == 2
    assert Path(file).read_bytes() == before
    assert not Path(both).exists()


def test_clean_trees_of_a_treebank(tmp_path: Path, capsys: Capture) -> None:
    broken, traces = "( (NP (NN a))", "( (NP (-NONE- *)))"
    file = write(tmp_path / "a.mrg", f"\n( (NP-SBJ\n  (NN a)))\n{broken}\n{traces}\n{FLAT}\n")
    assert main(["convert", str(tmp_path), "--to", "trees", "--clean"]) == 1
    printed = capsys.readouterr()
    assert printed.out == f"(TOP (NP (NN a)))\n{FLAT.replace('S1', 'TOP')}\n"
    assert printed.err.splitlines() == [
        f"rerank: {file}:4: tree rejected, unbalanced: 1 bracket(s) left open at the end",
        f"rerank: {file}:5: tree rejected, empty: there are no word tokens",
        "rerank: 2 trees written, 2 rejected",
    ]
    out = str(tmp_path / "b.mrg")
    for arguments, reason in (
        ([file, "--to", "bllip"], "--clean is for --to trees"),
        ([file, "--to", "trees", "--out", file], "is also an input"),
        ([write(tmp_path / "c", "Dear Sir,\n"), "--to", "trees", "--out", out], "c: no trees"),
    ):
        assert main(["convert", *arguments, "--clean"]) == 2
        assert reason in capsys.readouterr().err
    assert not Path(out).exists()


@pytest.mark.parametrize("to", ["trees", "export", "tigerxml", "conllu"])
@pytest.mark.parametrize("byte", [b"\xf3", b"\xff", b"\xc3", b"\xe2\x82"])
def test_no_tree_is_written_with_bytes_in_no_encoding(
    to: str, byte: bytes, tmp_path: Path, capsys: Capture
) -> None:
    utf8 = "(TOP (NP (NN Krak\u00f3w)))\n".encode()
    file = write(tmp_path / "a.mrg", utf8 + b"(TOP (NP (NN Krak%sw)))\n" % byte + 2 * utf8)
    out = tmp_path / "out"
    assert main(["convert", file, "--to", to, "--clean", "--out", str(out)]) == 1
    printed = capsys.readouterr().err
    assert f"{file}:2: tree rejected, encoding: byte 0x{byte[0]:02x} is not UTF-8" in printed
    assert "3 trees written, 1 rejected" in printed
    assert out.read_text("utf-8").count("Krak\u00f3w") >= 3


def test_trees_without_the_constituents_of_some_labels(tmp_path: Path, capsys: Capture) -> None:
    tree = "(TOP (NP (NML (NML (NN a)) (NN b)) (NX (NN c)) (NP (NN d))))"
    file = write(tmp_path / "a.mrg", f"{tree}\n")
    flags = ["--to", "trees", "--clean", "--without", "NML", "NX"]
    assert main(["convert", file, *flags]) == 0
    printed = capsys.readouterr()
    assert printed.out == "(TOP (NP (NN a) (NN b) (NN c) (NP (NN d))))\n"
    assert printed.err == "rerank: 1 tree written, 0 rejected\n"
    assert main(["convert", file, *flags[:-1], "NLM"]) == 0
    assert "rerank: --without NLM: no tree has this label" in capsys.readouterr().err
    for flag in ("--without", "--drop", "--separators"):
        assert main(["convert", file, "--to", "trees", flag, "NML"]) == 2
        assert f"{flag} is for --clean" in capsys.readouterr().err


def test_transcribed_speech_and_other_separators(tmp_path: Path, capsys: Capture) -> None:
    speech = (
        "( (CODE (SYM SpeakerA1) (. .)))\n"
        "( (S (EDITED (RM (-DFL- \\[)) (NP-SBJ (PRP I)) (IP (-DFL- \\+))) (NP-SBJ (PRP I))"
        " (RS (-DFL- \\])) (VP (VBD ran)) (-DFL- E_S)))\n"
    )
    flags = [write(tmp_path / "a.mrg", speech), "--to", "trees", "--clean", "--drop", "DFL", "CODE"]
    ran = "(NP (PRP I)) (VP (VBD ran)))"
    for others, tree in (
        ([], f"(TOP (S (EDITED (NP (PRP I))) {ran})"),
        (["--without", "EDITED"], f"(TOP (S (NP (PRP I)) {ran})"),
        (["EDITED"], f"(TOP (S {ran})"),
    ):
        assert main(["convert", *flags, *others]) == 0
        printed = capsys.readouterr()
        assert printed.out == f"{tree}\n"
        assert printed.err == (
            "rerank: 1 tree written, 0 rejected, 1 without other words left out\n"
        )
    assert main(["convert", *flags, "EDTED"]) == 0
    assert "rerank: --drop EDTED: no tree has this label" in capsys.readouterr().err
    flags[0] = write(tmp_path / "b.mrg", "(S (NP;*SBJ* (PRP##n=s## I)) (VP*X (VBD ran)))\n")
    assert main(["convert", *flags[:4], "--separators", ";*#"]) == 0
    assert capsys.readouterr().out == f"(TOP (S {ran})\n"


def test_trees_with_the_tags_of_newer_treebanks(tmp_path: Path, capsys: Capture) -> None:
    tree = "(TOP (VP (VBD went) (PP (TO to) (NP (PRPP their) (NNS offices)))))"
    file = write(tmp_path / "a.mrg", f"{tree}\n")
    assert main(["convert", file, "--to", "trees", "--clean", "--newer-tags"]) == 0
    newer = tree.replace("TO", "IN", 2).replace("IN", "TO", 1).replace("PRPP", "PRP$")
    assert capsys.readouterr().out == f"{newer}\n"
    assert main(["convert", file, "--to", "trees", "--newer-tags"]) == 2
    assert "--newer-tags is for --clean" in capsys.readouterr().err


def test_a_sentence_without_any_candidate_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "n.rnng"
    file.write_text("0 ||| -1 ||| (S (VP Go))\n2 ||| -1 ||| (S (VP Go))\n")
    assert main(["convert", str(file), "--to", "trees"]) == 1
    printed = capsys.readouterr()
    assert printed.out.splitlines()[1] == "(TOP )"
    assert "3 sentences, 2 candidates written, 0 rejected, 1 without a candidate" in printed.err
