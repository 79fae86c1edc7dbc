"""The command as a user meets it: files in, files and messages out, exit codes."""

from __future__ import annotations

import gzip
import json
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import torch

from reranker.commands.main import command_names, main
from reranker.files.text import TextInMemory
from reranker.nbest import read_nbest
from reranker.pipeline import Reranker
from reranker.trees.linearize import linearize
from reranker.trees.tree import Tree
from tests.reranker.ensembles import CANDIDATES
from tests.reranker.small_files import bllip, write

Capture = pytest.CaptureFixture[str]

SCHEMA = json.loads((Path(__file__).parents[3] / "docs" / "ranked.schema.json").read_text())
GOLD = CANDIDATES[1].replace("(S1 ", "(TOP ")
FLAT = "(S1 (NP (DT The) (NN end)))"


def test_best_trees_in_input_order(tmp_path: Path, models: list[str], capsys: Capture) -> None:
    file = write(tmp_path / "n.txt", bllip(CANDIDATES, (FLAT,), CANDIDATES[1:4]))
    assert main(["--nbest", file, "--models", *models]) == 0
    printed = capsys.readouterr()
    reranker = Reranker.load(models)
    expected = [reranker.rerank(trees).tree for trees in (CANDIDATES, (FLAT,), CANDIDATES[1:4])]
    assert printed.out.splitlines() == expected
    assert printed.err.splitlines()[-1].endswith(" of 3 trees; 10 candidates ranked")


@pytest.mark.parametrize("output", ["pretty", "conllu", "json"])
def test_other_outputs_have_words_whatever_the_notation(
    output: str, tmp_path: Path, models: list[str], capsys: Capture
) -> None:
    file = write(tmp_path / "n.txt", "0 ||| -1 ||| (S (NP UNK) (VP saw (NP it)) .)\n")
    tokens = write(tmp_path / "t.txt", "We/PRP saw/VBD it/PRP ./.\n")
    arguments = ["--nbest", file, "--tokens", tokens, "--models", *models, "--output", output]
    assert main(arguments) == 0
    printed = capsys.readouterr().out
    tree = "(S (NP (PRP We)) (VP (VBD saw) (NP (PRP it))) (. .))"
    if output == "json":
        row = json.loads(printed)
        assert row["tree"] == tree and row["words"][0]["start"] is None
        assert row["text"] == "We saw it ."
    else:
        # Both forms are n-best files, too.
        (nbest,) = read_nbest(TextInMemory(printed.encode(), "printed"))
        assert [candidate.text for candidate in nbest.candidates] == [tree]


def test_ranked_output(tmp_path: Path, models: list[str]) -> None:
    file = tmp_path / "n.txt.gz"
    file.write_bytes(gzip.compress(bllip(CANDIDATES).encode()))
    out = tmp_path / "ranked.jsonl"
    arguments = ["--nbest", str(file), "--models", str(tmp_path / "no*.pt")]
    assert main(arguments) == 2
    pattern = str(Path(models[0]).parent / "model-*.pt")  # a quoted glob
    arguments = ["--nbest", str(file), "--models", pattern, "--output", "ranked"]
    assert main([*arguments, "--lm-weight", "0.5", "--out", str(out)]) == 0
    (row,) = [json.loads(line) for line in out.read_text().splitlines()]
    jsonschema.validate(row, SCHEMA)
    assert {one["index"] for one in row["ranking"]} == set(range(6))
    for one in row["ranking"]:
        assert one["parser_score"] == pytest.approx((-100.5 - one["index"]) * 0.6931471805599453)
        assert one["tree"] == CANDIDATES[one["index"]]
        if one["duplicate_of"] is None:
            mixed = 0.5 * -one["nll"] + 0.5 * one["parser_score"]
            assert one["score"] == pytest.approx(mixed, abs=2e-4)
    scores = [one["score"] for one in row["ranking"]]
    assert scores == sorted(scores, reverse=True)
    assert row["best_index"] == row["ranking"][0]["index"]


@pytest.mark.parametrize("output", ["best", "ranked"])
def test_repaired_candidates_count_whether_they_are_written_or_not(
    output: str, tmp_path: Path, models: list[str], capsys: Capture
) -> None:
    broken = [tree[:-1] for tree in CANDIDATES[:3]]
    file = write(tmp_path / "n.txt", bllip((*broken, *CANDIDATES[3:])))
    arguments = ["--nbest", file, "--models", *models, "--repair", "--output", output]
    assert main(arguments) == 0
    summary = capsys.readouterr().err
    assert summary.endswith(f"; {len(CANDIDATES)} candidates ranked, 3 of them repaired\n")


def test_gold_table(tmp_path: Path, models: list[str], capsys: Capture) -> None:
    # Tagged otherwise than the gold tree: only --gold-tags makes punctuation comparable.
    trees = tuple(tree.replace("(. .)", "(: .)") for tree in CANDIDATES)
    file = write(tmp_path / "n.txt", bllip(trees))
    gold = write(tmp_path / "gold.mrg", GOLD + "\n")
    out = str(tmp_path / "best.txt")
    arguments = ["--nbest", file, "--models", *models, "--out", out, "--gold", gold]
    assert main([*arguments, "--gold-tags"]) == 0
    table = capsys.readouterr().out.splitlines()
    # Gold has S, NP, VP, NP, NP, PP, NP: 7 brackets. The parser's first lacks one NP: R 6/7, P 6/6.
    assert table[1].split() == ["parser", "85.71", "100.00", "92.31", "0.00", "1", "0"]
    assert table[3].split() == ["oracle", "100.00", "100.00", "100.00", "100.00", "1", "0"]
    assert main([*arguments, "--gold-tags", "--gold", write(tmp_path / "two.mrg", GOLD * 2)]) == 2


@pytest.mark.parametrize(
    ("content", "reason"),
    [("", "has no n-best lists"), ("Dear Sir,\nthe cat sat\non the mat\n", "n.txt")],
)
def test_files_that_are_no_nbest_lists(
    content: str, reason: str, tmp_path: Path, models: list[str], capsys: Capture
) -> None:
    file = write(tmp_path / "n.txt", content)
    out = tmp_path / "best.txt"
    assert main(["--nbest", file, "--models", *models, "--out", str(out)]) == 2
    assert reason in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [tmp_path / "n.txt"]  # nothing half-written


@pytest.mark.parametrize(
    ("broken", "code"),
    [
        (CANDIDATES[1] + ")", "unbalanced"),
        (CANDIDATES[1][:-1], "unbalanced"),
        ("(" * 5_000 + "X x" + ")" * 5_000, "too-deep"),
        ("(S1 (S (NP (PRP We))))", "wrong-length"),
        (CANDIDATES[1].replace("eyes", "ears"), "wrong-words"),
    ],
)
def test_a_broken_candidate_is_reported_and_the_rest_ranked(
    broken: str, code: str, tmp_path: Path, models: list[str], capsys: Capture
) -> None:
    file = write(tmp_path / "n.txt", bllip((CANDIDATES[0], broken, CANDIDATES[2]), (FLAT,)))
    assert main(["--nbest", file, "--models", *models, "--output", "ranked"]) == 1
    printed = capsys.readouterr()
    first, second = [json.loads(line) for line in printed.out.splitlines()]
    jsonschema.validate(first, SCHEMA)
    assert {one["index"] for one in first["ranking"]} == {0, 2}
    assert [(one["index"], one["line"], one["code"]) for one in first["rejected"]] == [(1, 5, code)]
    assert f"n.txt:5: candidate 2 of list 1 rejected, {code}" in printed.err
    assert second["ranking"][0]["tree"] == FLAT


def test_bytes_in_no_encoding(tmp_path: Path, models: list[str]) -> None:
    broken = FLAT.replace("end", "caf\xff").encode("latin-1")
    content = bllip((FLAT,)).encode() + b"2\t1\n-1\n" + broken + b"\n-2\n" + FLAT.encode() + b"\n\n"
    out = tmp_path / "ranked.jsonl"
    arguments = ["--nbest", write(tmp_path / "n.txt", content), "--models", *models]
    assert main([*arguments, "--output", "ranked", "--out", str(out)]) == 1
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["best_index"] for row in rows] == [0, 1]
    assert rows[1]["rejected"][0]["code"] == "encoding"


def test_truncated_file_and_empty_list_keep_their_places(tmp_path: Path, models: list[str]) -> None:
    content = "0\tx\n\n" + bllip((FLAT,), CANDIDATES)[:-200]
    out = tmp_path / "best.txt"
    arguments = ["--nbest", write(tmp_path / "n.txt", content), "--models", *models]
    assert main([*arguments, "--out", str(out)]) == 1
    lines = out.read_text().splitlines()
    assert lines[:2] == ["(TOP )", FLAT]
    assert lines[2] in CANDIDATES


class Bomb:
    def __reduce__(self) -> tuple[object, ...]:
        return (open, (str(Path(sys.prefix) / "bomb-went-off"), "w"))


def test_checkpoints_that_are_none(tmp_path: Path, models: list[str], capsys: Capture) -> None:
    file = write(tmp_path / "n.txt", bllip((FLAT,)))
    bad = {
        "text.pt": b"not a checkpoint",
        "empty.pt": b"",
        "half.pt": Path(models[0]).read_bytes()[:2_000],
        "bomb.pt": pickle.dumps(Bomb()),
        "zipped-bomb.pt": b"",
    }
    for name, content in bad.items():
        path = write(tmp_path / name, content)
        if name == "zipped-bomb.pt":
            torch.save(Bomb(), path)
        assert main(["--nbest", file, "--models", models[0], path]) == 2
        printed = capsys.readouterr()
        assert name in printed.err
        assert printed.out == ""
    assert not (Path(sys.prefix) / "bomb-went-off").exists()


def test_usage_errors(tmp_path: Path, models: list[str]) -> None:
    file = write(tmp_path / "n.txt", bllip((FLAT,)))
    assert main(["--nbest", str(tmp_path / "missing"), "--models", *models]) == 2
    assert main(["--nbest", file, "--models", *models, "--gold-tags"]) == 2
    assert main(["--nbest", file, "--models", *models, "--out", str(tmp_path / "no" / "o")]) == 2
    for wrong in (["--lm-weight", "2"], ["--lm-weight", "x"], ["--nbest"], ["--unknown"]):
        with pytest.raises(SystemExit) as stopped:
            main(["--nbest", file, "--models", *models, *wrong])
        assert stopped.value.code == 2


@pytest.mark.parametrize("command", [[], *([name] for name in command_names()[1:])], ids=" ".join)
def test_help_has_examples(command: list[str], capsys: Capture) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([*command, "--help"])
    assert stopped.value.code == 0
    assert "examples:" in capsys.readouterr().out


def ranked(arguments: list[str], path: Path, code: int = 0) -> list[dict[str, Any]]:
    assert main([*arguments, "--output", "ranked", "--out", str(path)]) == code
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_token_scores_sum_to_the_score(tmp_path: Path, models: list[str]) -> None:
    file = write(tmp_path / "n.txt", bllip(CANDIDATES))
    arguments = ["--nbest", file, "--models", *models, "--token-scores"]
    (row,) = ranked(arguments, tmp_path / "out")
    jsonschema.validate(row, SCHEMA)
    for one in row["ranking"]:
        tokens = [token for token, _ in one["token_scores"]]
        assert tokens == [*linearize(Tree.from_string(one["tree"])), "<eos>"]
        assert sum(value for _, value in one["token_scores"]) == pytest.approx(
            -one["nll"], abs=1e-4
        )
    assert main(arguments) == 2  # --output best has no place for them


def test_hidden_words_and_tags_are_put_back(tmp_path: Path, models: list[str]) -> None:
    original = write(tmp_path / "n.txt", bllip(CANDIDATES, (FLAT,)))
    bare = [re.sub(r"\([A-Z.$]+ ([^()]+)\)", r"\1", tree[4:-1]) for tree in CANDIDATES]
    hidden = [tree.replace("saw", "UNK-LC").replace("The", "UNK-INITC-KNOWNLC") for tree in bare]
    samples = [f"0 ||| -{place} ||| {tree}\n" for place, tree in enumerate(hidden)]
    rnng = write(tmp_path / "samples", "".join(["1 ||| -3 ||| (NP UNK end)\n", *samples[::-1]]))
    words = [" ".join(Tree.from_string(tree).leaves()) for tree in (CANDIDATES[0], FLAT)]
    tokens = write(tmp_path / "tokens", "".join(f"{line}\n" for line in words))
    expected = ranked(["--nbest", original, "--models", *models], tmp_path / "a")
    arguments = ["--nbest", rnng, "--tokens", tokens, "--models", *models]
    found = ranked(arguments, tmp_path / "b")
    nlls = [{one["index"]: one["nll"] for one in row["ranking"]} for row in expected]
    assert {one["index"]: one["nll"] for one in found[0]["ranking"]} == nlls[0]  # by score
    assert found[1]["ranking"][0]["nll"] == nlls[1][0]
    assert found[1]["ranking"][0]["tree"] == "(NP UNK end)"  # as it came
    restored = ranked([*arguments, "--restore"], tmp_path / "c")
    assert restored[1]["ranking"][0]["tree"] == "(NP (XX The) (XX end))"


@pytest.mark.plugins
@pytest.mark.parametrize("scores", [(-1, -2, -4, -3), ("", "", "", "")])
def test_the_baseline_of_samples_is_not_the_first_line(
    tmp_path: Path, models: list[str], capsys: Capture, scores: tuple[object, ...]
) -> None:
    """Nor does anything else depend on the order of the lines."""
    trees = [CANDIDATES[0], CANDIDATES[0], CANDIDATES[1], CANDIDATES[2]]
    gold = write(tmp_path / "gold.mrg", CANDIDATES[0] + "\n")
    lines = [f"0 ||| {score} ||| {tree}\n" for score, tree in zip(scores, trees, strict=True)]
    tables = set()
    for start in range(4):
        samples = write(tmp_path / f"samples{start}", "".join(lines[start:] + lines[:start]))
        out = str(tmp_path / f"out{start}")
        flags = ["--gold", gold, "--output", "ranked", "--out", out]
        assert main(["--nbest", samples, "--models", *models, *flags]) == 0
        tables.add(capsys.readouterr().out)
        assert main(["tune", out, gold]) == 0
        assert re.search(r"^parser +.* 100\.00 ", capsys.readouterr().out, re.M)
    (table,) = tables
    why = "most frequent" if scores[0] == "" else "best score"
    row = next(line for line in table.splitlines() if line.startswith("parser"))
    assert re.split("  +", row)[:4] == [f"parser's samples, {why}", "100.00", "100.00", "100.00"]


def test_mixing_in_the_scores_of_samples_is_warned_of(
    tmp_path: Path, models: list[str], capsys: Capture
) -> None:
    lines = "".join(f"{place} ||| -3 ||| {FLAT}\n" for place in (1, 2, 2))
    samples = write(tmp_path / "samples", lines)  # of sentence 0 there are none
    for weight, times in (("1", 0), ("0.4", 1)):
        assert main(["--nbest", samples, "--models", *models, "--lm-weight", weight]) == 1
        assert capsys.readouterr().err.count("drawn with --alpha") == times


def test_pooled_files(tmp_path: Path, models: list[str], capsys: Capture) -> None:
    files = [
        write(tmp_path / "n.txt", bllip(CANDIDATES[:2], (FLAT,))),
        write(tmp_path / "trees", CANDIDATES[3] + "\n" + FLAT.replace("end", "cow") + "\n"),
    ]
    rows = ranked(["--nbest", *files, "--models", *models], tmp_path / "out", code=1)
    assert "format bllip\n" in capsys.readouterr().err
    one_file = write(tmp_path / "m", bllip((*CANDIDATES[:2], CANDIDATES[3])))
    together = ranked(["--nbest", one_file, "--models", *models], tmp_path / "other")
    assert [(one["index"], one["nll"]) for one in rows[0]["ranking"]] == [
        (one["index"], one["nll"]) for one in together[0]["ranking"]
    ]
    assert [(one["index"], one["file"], one["line"]) for one in rows[1]["rejected"]] == [
        (1, files[1], 2)
    ]


def test_an_answer_for_every_sentence(tmp_path: Path, models: list[str]) -> None:
    broken = [FLAT.replace("end", "cow"), FLAT[:-1]]
    file = write(tmp_path / "n.txt", bllip((FLAT,), (), broken, [FLAT[:-1]]))
    tokens = write(tmp_path / "tokens", "The end\nNo tree\nThe/DT end\n( he )\nLast one\n")
    rows = ranked(["--nbest", file, "--tokens", tokens, "--models", *models], tmp_path / "o", 1)
    for row in rows:
        jsonschema.validate(row, SCHEMA)
    assert [(row["status"], row["fallback"]) for row in rows] == [
        ("ok", None),
        ("failed", "(TOP (S (XX No) (XX tree)))"),
        ("failed", broken[0]),  # the parser's first, a tree though not of this sentence
        ("failed", "(TOP (S (XX -LRB-) (XX he) (XX -RRB-)))"),
        ("failed", "(TOP (S (XX Last) (XX one)))"),
    ]
    out = tmp_path / "best"
    assert main(["--nbest", file, "--tokens", tokens, "--models", *models, "--out", str(out)]) == 1
    assert out.read_text().splitlines()[1:] == [row["fallback"] for row in rows[1:]]
    short = write(tmp_path / "short", "The end\n")
    assert main(["--nbest", file, "--tokens", short, "--models", *models]) == 2


def test_a_perplexity_beyond_the_number_range(tmp_path: Path, models: list[str]) -> None:
    tall = "(S1 " + "(NP " * 400 + "(NN end)" + ")" * 401
    file = write(tmp_path / "n.txt", bllip(("(S1 (NP (NN end)))", tall)))
    (row,) = ranked(["--nbest", file, "--models", *models], tmp_path / "out")
    jsonschema.validate(row, SCHEMA)
    assert [(one["index"], one["perplexity"] is None) for one in row["ranking"]] == [
        (0, False),
        (1, True),
    ]


def test_candidates_without_a_score_are_reported_when_one_is_asked_for(
    tmp_path: Path, models: list[str], capsys: Capture
) -> None:
    file = write(tmp_path / "trees.txt", FLAT + "\n")
    (row,) = ranked(["--nbest", file, "--models", *models, "--lm-weight", "0.5"], tmp_path / "o", 1)
    assert row["fallback"] == FLAT
    assert [(one["file"], one["code"]) for one in row["rejected"]] == [(file, "no-score")]
    assert f"{file}:1: candidate 1 of list 1 rejected, no-score" in capsys.readouterr().err


def test_streams_that_are_closed_full_or_of_another_encoding(tmp_path: Path) -> None:
    word = "caf\N{LATIN SMALL LETTER E WITH ACUTE}"
    file = write(tmp_path / "n.txt", bllip((FLAT.replace("end", word),)))
    command = f"{sys.executable} -m reranker.commands.main"

    def run(line: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            ["bash", "-c", line], capture_output=True, env={**os.environ, **environment}
        )

    done = run(f"{command} convert {file} --to trees", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stdout.decode().count(word)) == (0, 1)
    done = run(f"{command} validate {file} > /dev/full")
    assert done.returncode == 2
    assert b"standard output: cannot be written: No space left" in done.stderr
    done = run(f"{command} convert {file} --to trees 2>&-")
    assert (done.returncode, done.stdout.count(b"\n")) == (0, 1)
    done = run(f"{command} convert {file} --to trees >&-")
    assert (done.returncode, done.stderr) == (2, b"rerank: standard output is closed\n")


def test_scores_that_are_no_log_probabilities_are_named_once_a_file(
    tmp_path: Path, models: list[str], capsys: Capture
) -> None:
    file = write(tmp_path / "n.txt", f"0.9\t{CANDIDATES[0]}\n0.8\t{CANDIDATES[1]}\n\n" * 2)
    once = f"rerank: {file}:1: score 0.9 is no log-probability"
    for weight, count in (("0.5", 1), ("1", 0)):
        main(["--nbest", file, "--models", *models, "--lm-weight", weight])
        assert capsys.readouterr().err.count(once) == count
