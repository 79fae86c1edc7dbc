"""eval/tables/generate.py: figures worked out by hand, studies refused, and whole runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reranker.errors import InputError
from tests.eval.toy_study import ROOT, TABLES, module, trees

measures = module("measures")
generation_study = module("generation_study")

RECIPES = sorted((ROOT / "eval" / "recipes" / "encoder-decoder").glob("*.toml"))
STUDIES = [TABLES / "encdec.toml", *RECIPES]
SMALL = "embedding_size = 16, hidden_sizes = [16, 16], attentional_size = 16, embedding_range = 0.3"
QUICK = "warmup_batches = 5, batch_tokens = 100, learning_rate = 0.02"
TEXT = f"""
seeds = 2

[tables.turned]
title = "Words turned round"
measure = "BLEU"
config = "translation.toml"
train = ["train.tsv"]
dev = ["dev.tsv"]
test = ["dev.tsv"]
beams = [2]
reference = "EncDec"
rows = [
    {{ name = "EncDec", model = {{ {SMALL}, components = [] }}, training = {{ {QUICK} }} }},
    {{ name = "EncDec+DOC(i3=2)", model = {{ {SMALL}, components = [0, 0, 0, 2] }} }},
    {{ name = "EncDec x 2", ensemble_of = "EncDec" }},
]
"""
PARSING = f"""
seeds = 1

[tables.parses]
title = "Parses"
measure = "F1"
config = "parser.toml"
train = ["train.mrg"]
dev = ["dev.mrg"]
test = ["dev.mrg"]
beams = [1, 3]
rerank = ["ckpt/rnn-forward.pt"]
rows = [
    {{ name = "EncDec", model = {{ {SMALL}, components = [] }}, training = {{ {QUICK} }} }},
]
"""


def write(path: Path, lines: list[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def test_bleu_is_sacrebleus(tmp_path: Path) -> None:
    reference = write(tmp_path / "r", ["the cat sat on the mat", "a dog barks at me"])
    right = write(tmp_path / "a", ["the cat sat on the mat", "a dog barks at me"])
    # Of 11 words 10 match, of 9 pairs 8, of 7 threes 6, of 5 fours 4; as long as the reference.
    near = write(tmp_path / "b", ["the cat sat on the rug", "a dog barks at me"])
    bleu = measures.Bleu(reference)
    assert bleu.figures(right) == pytest.approx([100])
    expected = 100 * (10 / 11 * 8 / 9 * 6 / 7 * 4 / 5) ** 0.25
    assert bleu.figures(near) == pytest.approx([expected])
    assert "tok:none" in bleu.signature and "version:" in bleu.signature
    assert bleu.p(near, near) == 1
    with pytest.raises(InputError, match="1 outputs for 2 references"):
        bleu.figures(write(tmp_path / "c", ["one line"]))


def test_rouge_is_the_mean_of_the_sentences_f1(tmp_path: Path) -> None:
    reference = write(tmp_path / "r", ["a tool for maps", "fast parser"])
    # 2 of 3 words are 2 of 4: 4 / 7; no pair of 2 is one of 3; stems are the same: all of the 2nd.
    output = write(tmp_path / "a", ["maps tool indeed", "fast parsers"])
    one, two, longest = measures.Rouge(reference).figures(output)
    assert one == pytest.approx(100 * (4 / 7 + 1) / 2)
    assert two == pytest.approx(50)
    assert longest == pytest.approx(100 * (2 / 7 + 1) / 2)


def test_f1_is_of_the_first_tree_and_a_missing_one_costs_its_brackets(tmp_path: Path) -> None:
    gold = write(tmp_path / "g", ["(TOP (S (NP (DT a) (NN cat)) (VP (VBZ runs))))"] * 2)
    lists = "S-0\ta cat runs\nH-0\t-1\t(S (NP _DT_ _NN_ )NP (VP _VBZ_ )VP )S\nP-0\t-4\n"
    other = "H-0\t-2\t(S (NP _DT_ )NP (VP _NN_ _VBZ_ )VP )S\nP-0\t-8\nS-1\ta cat runs\n"
    (tmp_path / "a.fairseq").write_text(lists + other, encoding="utf-8")
    f1 = measures.Bracketing(gold)
    # 3 of 3 brackets, then S alone of 3: 4 matched of 6 gold and 4 found.
    assert f1.figures(tmp_path / "a.fairseq") == pytest.approx([100 * 2 * 4 / (6 + 4)])
    assert f1.oracle(tmp_path / "a.fairseq") == pytest.approx(100 * 2 * 4 / (6 + 4))
    mrg = write(tmp_path / "b.mrg", ["(S (NP (DT a) (NN cat)) (VP (VBZ runs)))"] * 2)
    assert f1.figures(mrg) == pytest.approx([100])
    assert 0 < f1.p(tmp_path / "a.fairseq", mrg) <= 1


def test_the_randomisation_of_means() -> None:
    one = np.array([0.1, 0.2, 0.3])
    assert measures.mean_randomisation_p(one, one) == 1
    # Of 8 ways to swap, 2 make the means differ as much: all or none.
    assert measures.mean_randomisation_p(one, one + 0.1) == pytest.approx(0.25, abs=0.02)
    better = np.ones(40)
    assert measures.mean_randomisation_p(better * 0, better) == pytest.approx(1 / 10_001)


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_every_study_of_encoder_decoders_can_be_read(path: Path) -> None:
    study = generation_study.GenerationStudy.read(path)
    runs = [run for name, t in study.tables.items() for r in t.rows for run in study.runs(name, r)]
    assert len(runs) >= 3 * len(study.tables)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (('measure = "BLEU"', 'measure = "F1"'), "F1 is of parsers"),
        (('config = "translation.toml"', 'config = "none.toml"'), "no none.toml in"),
        (('reference = "EncDec"', 'reference = "X"'), "no row is called 'X'"),
        (('ensemble_of = "EncDec"', 'ensemble_of = "EncDec x 2"'), "an ensemble of ensembles"),
        (("components = []", "components = [1]"), "components needs a count"),
        (("beams = [2]", "beam = 2"), "beam: Extra inputs"),
        (('"EncDec x 2"', '"EncDec"'), "two rows have one name"),
    ],
)
def test_a_study_with_a_mistake_is_refused(
    tmp_path: Path, change: tuple[str, str], reason: str
) -> None:
    assert change[0] in TEXT
    path = tmp_path / "s.toml"
    path.write_text(TEXT.replace(*change), "utf-8")
    with pytest.raises(InputError, match=reason) as raised:
        generation_study.GenerationStudy.read(path)
    assert str(path) in str(raised.value)


def make(study: Path, folder: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(TABLES / "generate.py"), str(study), "--data", str(folder)]
    command += ["--work", str(folder / study.stem), "--workers", "1", *flags]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run(command, capture_output=True, text=True, env=environment)


def table(folder: Path, study: str, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / study / f"{name}.json").read_text("utf-8"))
    return found


@pytest.mark.slow
def test_every_row_of_a_text_table_is_filled_and_nothing_is_done_twice(tmp_path: Path) -> None:
    words = ["one", "two", "three", "four"]
    pairs = [f"{a} {b}\t{b.upper()} {a.upper()}" for a in words for b in words]
    write(tmp_path / "train.tsv", pairs * 8)
    write(tmp_path / "dev.tsv", pairs[::3])
    study = tmp_path / "text.toml"
    study.write_text(TEXT, "utf-8")
    done = make(study, tmp_path, "--epochs", "12")
    assert done.returncode == 0, done.stderr
    rows = {row["name"]: row for row in table(tmp_path, "text", "turned")["rows"]}
    assert [len(row["columns"]["beam 2"]["figures"]) for row in rows.values()] == [2, 2, 1]
    assert "p" not in rows["EncDec"]["columns"]["beam 2"]
    assert 0 < rows["EncDec x 2"]["columns"]["beam 2"]["p"] <= 1
    assert max(rows["EncDec"]["dev_perplexity"]) < 3
    assert "| EncDec+DOC(i3=2) | 2 |" in done.stdout and "tok:none" in done.stdout
    again = make(study, tmp_path, "--epochs", "12")
    assert again.returncode == 0 and again.stdout == done.stdout
    assert "turned.EncDec-1" not in again.stderr
    other = make(study, tmp_path, "--epochs", "13")
    assert other.returncode == 2 and "was begun with epochs" in other.stderr


@pytest.mark.slow
def test_a_parser_is_trained_searched_and_reranked(tmp_path: Path) -> None:
    write(tmp_path / "train.mrg", trees())
    write(tmp_path / "dev.mrg", trees()[::7])
    study = tmp_path / "parsing.toml"
    study.write_text(PARSING, "utf-8")
    done = make(study, tmp_path, "--epochs", "20", "--sentences", "5")
    assert done.returncode == 0, done.stderr
    (row,) = table(tmp_path, "parsing", "parses")["rows"]
    assert list(row["columns"]) == ["beam 1", "beam 3", "reranked"]
    (oracle,) = row["columns"]["beam 3"]["oracle"]
    for column in row["columns"].values():
        ((f1,),) = column["figures"]
        assert 30 < f1 <= 100
        if column is not row["columns"]["beam 1"]:
            assert f1 <= oracle + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.stem)
def test_every_recipe_of_the_papers_fills_its_tables(recipe: Path, tmp_path: Path) -> None:
    """Under the names of the licensed files, a few dozen pairs and trees."""
    words = ["one", "two", "three", "four"]
    pairs = [(f"{a} {b}", f"{b.upper()} {a.upper()}") for a in words for b in words]
    for part, some in (("train", pairs * 4), ("dev", pairs[::3]), ("test", pairs[::5])):
        write(tmp_path / f"{part}.tsv", ["\t".join(pair) for pair in some])
        for other in ("de", "fr"):
            for side, language in enumerate(("en", other)):
                write(tmp_path / f"{part}.en-{other}.{language}", [pair[side] for pair in some])
    for section, step in (("02", 3), ("10", 1), ("21", 2), ("22", 9), ("23", 7)):
        folder = tmp_path / "wsj" / section
        folder.mkdir(parents=True)
        write(folder / f"wsj_{section}01.mrg", [f"({tree[4:]}" for tree in trees()[::step]])
    done = make(recipe, tmp_path, "--epochs", "1", "--seeds", "1", "--shrink", "20")
    assert done.returncode == 0, done.stderr
    study = generation_study.GenerationStudy.read(recipe)
    for name, asked in study.tables.items():
        rows = table(tmp_path, recipe.stem, name)["rows"]
        assert [row["name"] for row in rows] == [row.name for row in asked.rows]
        for row in rows:
            assert len(row["columns"]) == len(asked.beams) + bool(asked.rerank)
            for column in row["columns"].values():
                assert all(0 <= one <= 100 for figures in column["figures"] for one in figures)
    for row in (row for asked in study.tables.values() for row in asked.rows if row.printed):
        assert row.printed in done.stdout


def test_missing_data_are_named(tmp_path: Path) -> None:
    study = tmp_path / "text.toml"
    study.write_text(TEXT, "utf-8")
    done = make(study, tmp_path)
    assert done.returncode == 2
    assert f"{tmp_path}/train.tsv is missing" in done.stderr
