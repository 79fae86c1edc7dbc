"""The command as a user meets it: files in, files and messages out, exit codes."""

from __future__ import annotations

import gzip
import json
import pickle
import sys
from pathlib import Path

import jsonschema
import pytest
import torch

from reranker.checkpoint import save_checkpoint
from reranker.cli import main
from reranker.pipeline import Reranker
from tests.reranker.ensembles import CANDIDATES, untrained

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "ranked.schema.json").read_text())
GOLD = CANDIDATES[1].replace("(S1 ", "(TOP ")
FLAT = "(S1 (NP (DT The) (NN end)))"


def nbest(*lists: tuple[str, ...]) -> str:
    """What the Charniak parser prints."""
    blocks = []
    for number, trees in enumerate(lists):
        lines = [f"{len(trees)}\t{number}"]
        for place, tree in enumerate(trees):
            lines += [f"{-100.5 - place}", tree]
        blocks.append("\n".join(lines) + "\n\n")
    return "".join(blocks)


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("checkpoints")
    paths = []
    for seed in (1, 2):
        member = untrained(seed)
        path = folder / f"model-{seed}.pt"
        save_checkpoint(path, member.model, member.vocabulary, {}, torch.float32)
        paths.append(str(path))
    return paths


def write(path: Path, content: str | bytes) -> str:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


def test_best_trees_in_input_order(
    tmp_path: Path, models: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(tmp_path / "n.txt", nbest(CANDIDATES, (FLAT,), CANDIDATES[1:4]))
    assert main(["--nbest", file, "--models", *models]) == 0
    printed = capsys.readouterr()
    reranker = Reranker.load(models)
    expected = [reranker.rerank(trees).tree for trees in (CANDIDATES, (FLAT,), CANDIDATES[1:4])]
    assert printed.out.splitlines() == expected
    assert "3 sentences, 10 candidates ranked, 0 rejected" in printed.err


def test_ranked_output(tmp_path: Path, models: list[str]) -> None:
    file = tmp_path / "n.txt.gz"
    file.write_bytes(gzip.compress(nbest(CANDIDATES).encode()))
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


def test_gold_table(tmp_path: Path, models: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    # Tagged otherwise than the gold tree: only --gold-tags makes punctuation comparable.
    trees = tuple(tree.replace("(. .)", "(: .)") for tree in CANDIDATES)
    file = write(tmp_path / "n.txt", nbest(trees))
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
    [("", "holds no n-best lists"), ("Dear Sir,\nthe cat sat\non the mat\n", "n.txt")],
)
def test_files_that_are_no_nbest_lists(
    content: str,
    reason: str,
    tmp_path: Path,
    models: list[str],
    capsys: pytest.CaptureFixture[str],
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
    broken: str,
    code: str,
    tmp_path: Path,
    models: list[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = write(tmp_path / "n.txt", nbest((CANDIDATES[0], broken, CANDIDATES[2]), (FLAT,)))
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
    content = nbest((FLAT,)).encode() + b"2\t1\n-1\n" + latin + b"\n-2\n" + FLAT.encode() + b"\n\n"
    out = tmp_path / "ranked.jsonl"
    arguments = ["--nbest", write(tmp_path / "n.txt", content), "--models", *models]
    assert main([*arguments, "--output", "ranked", "--out", str(out)]) == 1
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["best_index"] for row in rows] == [0, 1]
    assert rows[1]["rejected"][0]["code"] == "encoding"


def test_truncated_file_and_empty_list_keep_their_places(tmp_path: Path, models: list[str]) -> None:
    content = "0\tx\n\n" + nbest((FLAT,), CANDIDATES)[:-200]
    out = tmp_path / "best.txt"
    arguments = ["--nbest", write(tmp_path / "n.txt", content), "--models", *models]
    assert main([*arguments, "--out", str(out)]) == 1
    lines = out.read_text().splitlines()
    assert lines[:2] == ["(TOP )", FLAT]
    assert lines[2] in CANDIDATES


class Bomb:
    def __reduce__(self) -> tuple[object, ...]:
        return (open, (str(Path(sys.prefix) / "bomb-went-off"), "w"))


def test_checkpoints_that_are_none(
    tmp_path: Path, models: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(tmp_path / "n.txt", nbest((FLAT,)))
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
    file = write(tmp_path / "n.txt", nbest((FLAT,)))
    assert main(["--nbest", str(tmp_path / "missing"), "--models", *models]) == 2
    assert main(["--nbest", file, "--models", *models, "--gold-tags"]) == 2
    assert main(["--nbest", file, "--models", *models, "--out", str(tmp_path / "no" / "o")]) == 2
    for wrong in (["--lm-weight", "2"], ["--lm-weight", "x"], ["--nbest"], ["--unknown"]):
        with pytest.raises(SystemExit) as stopped:
            main(["--nbest", file, "--models", *models, *wrong])
        assert stopped.value.code == 2


@pytest.mark.parametrize("command", [[], ["train"], ["eval"]])
def test_help_has_examples(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([*command, "--help"])
    assert stopped.value.code == 0
    assert "examples:" in capsys.readouterr().out
