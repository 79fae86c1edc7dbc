"""The command as a user meets it: files in, files and messages out, exit codes."""

from __future__ import annotations

import gzip
import itertools
import json
import os
import pickle
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import torch

from reranker.commands import nbest_files
from reranker.commands.main import _SUBCOMMANDS, main
from reranker.nbest import NBest
from reranker.pipeline import Reranker
from reranker.ranking import Ranking
from reranker.scoring import pools
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
    assert "3 sentences, 10 candidates ranked, 0 rejected" in printed.err


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
    assert f"n.txt:5: candidate 2 of list 0 rejected, {code}" in printed.err
    assert second["ranking"][0]["tree"] == FLAT


def test_latin_1_bytes(tmp_path: Path, models: list[str]) -> None:
    latin = FLAT.replace("end", "caf\xe9").encode("latin-1")
    content = bllip((FLAT,)).encode() + b"2\t1\n-1\n" + latin + b"\n-2\n" + FLAT.encode() + b"\n\n"
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


@pytest.mark.parametrize("command", [[], *([name] for name in _SUBCOMMANDS)], ids=" ".join)
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
    assert {5 - one["index"]: one["nll"] for one in found[0]["ranking"]} == nlls[0]
    assert found[1]["ranking"][0]["nll"] == nlls[1][0]
    assert found[1]["ranking"][0]["tree"] == "(NP UNK end)"  # as it came
    restored = ranked([*arguments, "--restore"], tmp_path / "c")
    assert restored[1]["ranking"][0]["tree"] == "(NP (XX The) (XX end))"


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


def test_an_interrupted_run_is_resumed(
    tmp_path: Path, models: list[str], capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pools, "BATCH_TOKENS", 1)  # one list at a time
    lists = bllip(*(CANDIDATES[number % 4 :] for number in range(9)))
    gold = write(tmp_path / "gold.mrg", f"{GOLD}\n" * 9)
    arguments = ["--nbest", write(tmp_path / "n.txt", lists), "--models", *models, "--gold", gold]
    whole, out = tmp_path / "whole", tmp_path / "out"
    assert main([*arguments, "--out", str(whole)]) == 0
    expected = capsys.readouterr().out
    short = write(tmp_path / "short.mrg", f"{GOLD}\n" * 5)
    assert main([*arguments, "--out", str(out), "--gold", short]) == 2
    assert capsys.readouterr().err.splitlines()[-1] == (
        f"rerank: {short}: no gold tree for list 5: the file is too short; 4 sentences are kept: "
        "correct this and run the same command with --resume to continue"
    )
    assert not out.exists()
    resume = [*arguments, "--out", str(out), "--resume"]
    assert (tmp_path / "out.part").read_text().splitlines() == whole.read_text().splitlines()[:4]
    assert main([*resume, "--lm-weight", "0.5"]) == 2
    assert "lm_weight" in capsys.readouterr().err
    assert main(resume) == 0
    assert out.read_bytes() == whole.read_bytes()
    printed = capsys.readouterr()
    assert printed.out == expected
    assert "resuming after sentence 4" in printed.err
    assert main(resume) == 0  # nothing to resume: a run as any other
    long = write(tmp_path / "long.mrg", f"{GOLD}\n" * 10)
    assert main([*resume, "--gold", long]) == 2
    assert capsys.readouterr().err.splitlines()[-1] == (
        f"rerank: {long}: more gold trees than n-best lists; 9 sentences are kept: correct this "
        "and run the same command with --resume to continue"
    )
    assert main(resume) == 0
    assert capsys.readouterr().out == expected  # the table, without scoring again


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_a_run_that_says_how_to_continue(
    number: signal.Signals,
    tmp_path: Path,
    models: list[str],
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pools, "BATCH_TOKENS", 1)  # one list at a time
    file = write(tmp_path / "n.txt", bllip(*(CANDIDATES[start % 4 :] for start in range(9))))
    out = tmp_path / "out"
    to_file = ["--nbest", file, "--models", *models, "--out", str(out)]
    print_rejected, calls = nbest_files.print_rejected, itertools.count(1)

    def interrupted(candidates: NBest | Ranking) -> None:
        print_rejected(candidates)
        if next(calls) == 4:
            signal.raise_signal(number)

    with monkeypatch.context() as patched:
        patched.setattr(nbest_files, "print_rejected", interrupted)
        assert main(to_file) == 130
    assert capsys.readouterr().err.splitlines()[-1] == (
        "rerank: interrupted; 3 sentences are kept: run the same command with --resume to continue"
    )
    assert main([*to_file, "--resume"]) == 0
    resumed = capsys.readouterr()
    assert "resuming after sentence 3" in resumed.err
    calls = itertools.count(4)
    with monkeypatch.context() as patched:
        patched.setattr(nbest_files, "print_rejected", interrupted)
        assert main(to_file[:-2]) == 130  # nothing is kept of standard output
    assert capsys.readouterr().err.splitlines()[-1] == "rerank: interrupted"
    assert main(to_file[:-2]) == 0
    assert capsys.readouterr().out == out.read_text()


@pytest.mark.parametrize("arguments", [[], ["--output", "ranked"]])
def test_a_full_disk_and_a_closed_pipe_are_reported(
    arguments: list[str], tmp_path: Path, models: list[str]
) -> None:
    file = write(tmp_path / "n.txt", bllip(*[CANDIDATES] * 400))
    command = [
        sys.executable,
        "-m",
        "reranker.commands.main",
        "--nbest",
        file,
        "--models",
        models[0],
    ]
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*command, *arguments], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 2
    assert "rerank: standard output: cannot be written: No space left on device" in done.stderr
    process = subprocess.Popen(
        [*command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    message = process.stderr.read()
    process.stderr.close()
    assert process.wait() == 2
    assert "standard output was closed before everything was written" in message
    assert "Traceback" not in message


@pytest.mark.slow
@pytest.mark.parametrize("output", ["best", "ranked"])
def test_twenty_kills(output: str, tmp_path: Path, models: list[str]) -> None:
    generator = random.Random(7)
    lists = bllip(*(CANDIDATES[number % 5 :] for number in range(3_000)))
    file = write(tmp_path / "n.txt", lists)
    whole, out = tmp_path / "whole", tmp_path / "out"
    command = [sys.executable, "-m", "reranker.commands.main", "--nbest", file, "--models", *models]
    command += ["--output", output, "--out"]
    start = time.monotonic()
    subprocess.run([*command, str(whole)], check=True, stderr=subprocess.DEVNULL)
    duration = time.monotonic() - start
    kills = 0
    while kills < 20:
        process = subprocess.Popen(
            [*command, str(out), "--resume"], stderr=subprocess.DEVNULL, start_new_session=True
        )
        try:
            process.wait(generator.uniform(0.3, 1) * duration)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            kills += 1
        else:
            assert process.returncode == 0
            assert out.read_bytes() == whole.read_bytes()
            out.unlink()
    subprocess.run([*command, str(out), "--resume"], check=True, stderr=subprocess.DEVNULL)
    assert out.read_bytes() == whole.read_bytes()


def test_a_perplexity_beyond_the_number_range(tmp_path: Path, models: list[str]) -> None:
    tall = "(S1 " + "(NP " * 1_500 + "(NN end)" + ")" * 1_501
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
    assert f"{file}:1: candidate 1 of list 0 rejected, no-score" in capsys.readouterr().err


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


def test_input_shorter_than_what_was_written_is_refused(tmp_path: Path, models: list[str]) -> None:
    out = str(tmp_path / "out")
    arguments = ["--models", *models, "--out", out, "--nbest", "-"]
    gold = write(tmp_path / "gold.mrg", f"{GOLD}\n" * 4)
    code = (
        "import sys; import reranker.commands.main as cli; from reranker.scoring import pools; "
        "pools.BATCH_TOKENS = 1; "
    )
    command = [sys.executable, "-c", f"{code}sys.exit(cli.main())", *arguments]
    five, one = (bllip(*[CANDIDATES] * count).encode() for count in (5, 1))
    done = subprocess.run([*command, "--gold", gold], input=five, capture_output=True)
    assert done.returncode == 2  # one gold tree is missing
    done = subprocess.run([*command, "--resume"], input=one, capture_output=True)
    assert done.returncode == 2
    assert b"--nbest has fewer lists than the interrupted run has written" in done.stderr
    done = subprocess.run([*command, "--resume"], input=five, capture_output=True)
    assert done.returncode == 0
    assert len(Path(out).read_text().splitlines()) == 5
