"""eval/tables: its parts, on numbers and trees that fit on the screen."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

from reranker.errors import InputError
from tests.eval.toy_study import STUDY, TABLES, make, module, write_data
from tests.reranker.tuned_lists import BEST, GOLD, WORSE, WORST, entry, ranked

TEXT_STUDY = """
[data]
text = true
train = ["train.txt"]
dev = ["dev.txt"]
[sets.dev]
name = "dev"
trees = ["dev.txt"]
[sets.p]
name = "passages"
trees = ["p.txt"]
passages = true
[models.doc]
config = "ptb.toml"
""" + "".join(
    f"""
[tables.{kind.replace(" ", "-")}]
title = "T"
kind = "{kind}"
sets = {sets}
rows = [{{ name = "DOC", models = ["doc"] }}]
"""
    for kind, sets in (
        ("perplexity", '["dev", "p"]'),
        ("last word", '["p"]'),
        ("rank", '["dev"]'),
        ("variation", '["dev"]'),
    )
)

results, prepare = module("results"), module("prepare")
report, studies = module("report"), module("study")
work = module("work")


def test_lists_are_taken_from_everywhere() -> None:
    assert prepare.spread(7, 3) == [1, 3, 5]
    assert prepare.spread(3, 0) == prepare.spread(3, 3) == prepare.spread(3, 9) == [0, 1, 2]
    assert prepare.spread(1575, 300)[:2] == [2, 7]


def test_perplexity_is_of_averaged_probabilities() -> None:
    one, two = np.log([0.5, 0.25]), np.log([0.5, 0.75])
    assert results.perplexity([one]) == pytest.approx((1 / (0.5 * 0.25)) ** 0.5)
    assert results.perplexity([one, two]) == pytest.approx(2)  # 0.5 and 0.5


def test_log_probabilities_of_tokens(tmp_path: Path) -> None:
    path = tmp_path / "scored.jsonl"
    first = {"ranking": [{"token_scores": [["it", -1.5], ["<eos>", -0.5]]}]}
    path.write_text(json.dumps(first) + "\n" + json.dumps(first) + "\n", "utf-8")
    assert results.token_log_probabilities(path).tolist() == [-1.5, -0.5, -1.5, -0.5]
    path.write_text('[["it", -1.5], ["<eos>", -0.5]]\n[]\n[["<eos>", -2]]\n', "utf-8")
    assert results.token_log_probabilities(path).tolist() == [-1.5, -0.5, -2]
    path.write_text(json.dumps(first) + "\n" + json.dumps({"ranking": []}) + "\n", "utf-8")
    with pytest.raises(InputError, match="2: the tree was not scored"):
        results.token_log_probabilities(path)


@pytest.fixture
def lists(tmp_path: Path) -> object:
    """Two sentences scored by models a and b, which list candidates in other orders."""
    gold = tmp_path / "gold.mrg"
    gold.write_text(f"{GOLD}\n{GOLD}\n", "utf-8")
    paths = {}
    for name, nlls in {"a": (3.0, 2.0, 9.0), "b": (1.0, 4.0, 9.0)}.items():
        trees = zip((WORSE, BEST, WORST), nlls, strict=True)
        found = [entry(place, tree, nll, -10.0 - place) for place, (tree, nll) in enumerate(trees)]
        paths[name] = tmp_path / f"{name}.jsonl"
        found.sort(key=lambda one: str(one["nll"]))
        paths[name].write_text(ranked(found, found), "utf-8")
    return results.StudyLists(paths, gold, True)


def test_models_are_scored_apart_and_averaged(lists: object) -> None:
    def alone(*names: str) -> list[int]:
        counts: list[int] = results.choice(lists.of(names), None)["alone"][0].tolist()  # type: ignore[attr-defined]
        return counts

    best, worse = [4, 4, 4], [3, 4, 3]
    assert alone("a") == best
    assert alone("b") == worse
    assert alone("a", "b") == worse  # 2 nats against 3
    # Two of a kind weigh as much as one against the parser.
    twice, once = lists.of(["a", "a"]), lists.of(["a"])  # type: ignore[attr-defined]
    assert twice.members.sum(2).tolist() == once.members.sum(2).tolist()
    assert lists.of(["a", "b"]).members[0].sum(1).tolist() == [-2.0, -3.0, -9.0]  # type: ignore[attr-defined]
    # At random: (3 + 4 + 0) / 3 matched of (3 + 4 + 1) / 3, gold 4.
    assert lists.random_f1() == pytest.approx(100 * 2 * 7 / (12 + 8))  # type: ignore[attr-defined]


def test_f1_and_the_share_of_the_gap() -> None:
    parser = np.array([[3, 4, 3], [3, 4, 3]])
    chosen, oracle = np.array([[4, 4, 4], [3, 4, 3]]), np.array([[4, 4, 4], [4, 4, 4]])
    found = results.f1_figures(chosen, parser, oracle)
    low, f1 = 100 * 12 / 14, 100 * 14 / 15
    assert found["f1"] == pytest.approx(f1)
    assert found["halves"] == [100, pytest.approx(low)]
    assert found["gap_closed"] == pytest.approx(100 * (f1 - low) / (100 - low))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('config = "tiny.toml"', 'config = "none.toml"', "no none.toml in"),
        ("seeds = 2", "sedes = 2", "models.doc.sedes: Extra inputs are not permitted"),
        ('models = ["lstm"] }', 'models = ["gru"] }', "there is no 'gru'"),
        ('reference = "DOC"', 'reference = "DCO"', "there is no row 'DCO'"),
        ('nbest = "dev.nbest"', "", "F1 needs sets with nbest"),
        ('title = "Which chooses best"', "", "tables.choice.title: Field required"),
        ("seeds = 2", "model = { components = [1] }", "models.doc: components needs a count"),
        ("[data]", "shrink = 3\n[data]", "embedding_size 64 cannot be divided by 3"),
        ('config = "small-lstm.toml"', "seeds = 2", "models.lstm: config is missing"),
        ('config = "small-lstm.toml"', 'checkpoint = "ckpt/no.pt"', "lstm: no ckpt/no.pt in"),
        ("seeds = 2", "seeds = 0", "models.doc.seeds: Input should be greater than 0"),
        ("gold_tags = true", 'gold_tags = true\nweight_from = "no"', "there is no 'no'"),
        ("seeds = 2", 'start_from = "doc"', "models.doc: start_from leads back to it"),
        (
            "[tables.choice]",
            '[models.doc-2]\ncheckpoint = "README.md"\n[tables.more]\ntitle = "More"\nkind = "F1"\n'
            'sets = ["dev"]\nrows = [{ name = "R", models = ["doc-2"] }]\n[tables.choice]',
            "models.doc-2 is also the name of another model's run",
        ),
        (
            'config = "small-lstm.toml"',
            'config = "small-lstm.toml"\nstart_from = "old"\n'
            '[models.old]\ncheckpoint = "README.md"',
            "models.lstm: start_from needs a model trained here, not a checkpoint",
        ),
        (
            'config = "small-lstm.toml"',
            'checkpoint = "README.md"\nseeds = 2',
            "models.lstm: a checkpoint has no other settings",
        ),
        (
            "[tables.words]",
            "[tables.none]\ntitle = 'None'\nkind = 'F1'\nsets = ['dev']\n[tables.words]",
            "tables.none.rows: Field required",
        ),
        ('models = ["doc", "lstm"]', "models = []", "words.rows.1.models: List should have at"),
        (
            ", seeds = 1, ensemble = true",
            "",
            "tables.words: row 'both': several models need ensemble = true",
        ),
        ('kind = "F1"', 'kind = "F2"', "tables.choice.kind: Input should be 'F1', 'perplexity', "),
        ('kind = "perplexity"', 'kind = "last word"', "words: last word needs sets with passages"),
        ('kind = "perplexity"', 'kind = "rank"', "words: row 'both': no ensemble has such figures"),
        ("[sets.dev]", "[sets.dev]\npassages = true", "sets.dev: passages and data.text = False"),
        ("[data]", "[data]\ntext = true", "sets.dev: nbest and data.text = True"),
    ],
)
def test_a_wrong_study_is_told_before_anything_is_done(
    old: str, new: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "study.toml"
    path.write_text(STUDY.replace(old, new, 1), "utf-8")
    with pytest.raises(InputError) as caught:
        studies.Study.read(path)
    assert message in str(caught.value)
    assert "study.toml" in str(caught.value)


def test_shrink_divides_sizes_and_seeds_are_replaced(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(STUDY, "utf-8")
    study = studies.Study.read(path, ["words"], shrink=4, seeds=3)
    assert study.settings("doc")["model"]["embedding_size"] == 16
    assert study.settings("doc")["model"]["hidden_sizes"] == [40, 40, 32]
    assert study.all_runs() == ["doc-1", "doc-2", "doc-3", "lstm-1", "lstm-2", "lstm-3"]
    assert study.members(study.tables["words"].rows[1]) == ["doc-1", "lstm-1"]


def test_missing_data_are_named(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(STUDY, "utf-8")
    write_data(tmp_path)
    (tmp_path / "dev.nbest").unlink()
    done = make(path, tmp_path, tmp_path / "work")
    assert done.returncode == 2
    assert f"needs data that are not here:\n  {tmp_path / 'dev.nbest'}\n" in done.stderr
    assert "--data" in done.stderr
    assert "train.mrg" not in done.stderr


def test_the_plan_of_a_study(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "study.toml"
    again = '[models.again]\nconfig = "tiny.toml"\nstart_from = "doc"\n[models.lstm]'
    shown = 'models = ["again"] },\n    { name = "LSTM", models = ["lstm"] }'
    text = STUDY.replace("[models.lstm]", again).replace('models = ["lstm"] }', shown, 1)
    path.write_text(text, "utf-8")
    study = studies.Study.read(path)
    files = prepare.StudyFiles(tmp_path)
    steps = {step.name: step for step in work.plan(study, files, ["--epochs", "3"], ["--x"])}
    assert list(steps)[:4] == ["doc-1", "again-1", "lstm-1", "doc-2"]
    assert " ".join(steps["doc-2"].arguments) == (
        f"train --config {tmp_path}/configs/doc.toml --train {tmp_path}/data/train.mrg "
        f"--dev {tmp_path}/data/dev.mrg --out {tmp_path}/models/doc-2.pt "
        f"--log-folder {tmp_path}/training/doc-2 --seed 2 --epochs 3 --x"
    )
    assert list(steps["doc-2"].needs) == []
    start = tmp_path / "models" / "doc-1.pt"
    assert " ".join(steps["again-1"].arguments).endswith(f"--start-from {start} --epochs 3 --x")
    assert steps["again-1"].needs == [start]
    assert list(steps)[4:6] == ["doc-1:dev:text", "doc-1:dev"]
    assert steps["doc-1:dev"].needs == [start]
    assert " ".join(steps["doc-1:dev"].arguments) == (
        f"--nbest {tmp_path}/data/dev.lists.jsonl --models {start} --output ranked "
        f"--out {tmp_path}/scored/doc-1.dev.lists.jsonl --resume --x"
    )
    only = work.plan(studies.Study.read(path, ["words"]), files, [], [])
    assert not any(step.name.endswith(":dev") for step in only)  # no lists for perplexity
    with pytest.raises(SystemExit, match="2"):
        module("make").main([str(path), "--epochs", "3", "--budget", "1"])
    assert "not allowed with argument --epochs" in capsys.readouterr().err


def test_the_plan_of_text(tmp_path: Path) -> None:
    for name in ("train.txt", "dev.txt", "p.txt"):
        (tmp_path / name).write_text("a b\n", "utf-8")
    path = tmp_path / "study.toml"
    path.write_text(TEXT_STUDY, "utf-8")
    study = studies.Study.read(path)
    files = prepare.StudyFiles(Path("work"), tmp_path)
    steps = {
        step.name: " ".join(step.arguments) for step in work.plan(study, files, ["--x"], ["--y"])
    }
    model = "work/models/doc-1.pt"
    assert steps == {
        "doc-1": (
            f"train --config work/configs/doc.toml --train {tmp_path}/train.txt "
            f"--dev {tmp_path}/dev.txt --out {model} --log-folder work/training/doc-1 --seed 1 "
            "--x --y"
        ),
        "doc-1:dev:perplexity": (
            f"analyse perplexity --models {model} --text {tmp_path}/dev.txt "
            "--token-scores work/scored/doc-1.dev.perplexity.jsonl --y"
        ),
        "doc-1:p:last-word": (
            f"analyse last-word --models {model} --passages {tmp_path}/p.txt "
            "--json --out work/scored/doc-1.p.last-word.jsonl --y"
        ),
        "doc-1:dev:rank": (
            f"analyse rank --models {model} --text {tmp_path}/dev.txt "
            "--json --out work/scored/doc-1.dev.rank.jsonl --tokens all --y"
        ),
        "doc-1:dev:variation": (
            f"analyse variation --models {model} --text {tmp_path}/dev.txt "
            "--json --out work/scored/doc-1.dev.variation.jsonl --y"
        ),
    }
    assert study.settings("doc")["training"]["text"] is True
    (tmp_path / "q.txt").touch()
    path.write_text(TEXT_STUDY.replace('"p.txt"', '"[pq].txt"'), "utf-8")
    with pytest.raises(InputError, match=r"sets\.p: 2 files of passages, not one"):
        prepare.source_files(studies.Study.read(path), tmp_path)


def test_what_training_resumes_from_goes_once_it_is_done(tmp_path: Path) -> None:
    state, out = tmp_path / "state.pt", tmp_path / "model.pt"
    state.touch()
    step = work.Command("doc-1", [], out, scratch=state)
    assert not step.is_done()
    assert state.exists()
    out.touch()
    assert step.is_done()
    assert not state.exists()
    assert step.is_done()


def test_a_row_names_its_signature_and_every_command_comes_once() -> None:
    def row(name: str, *commands: str) -> dict[str, object]:
        return {
            "name": name,
            "printed": "",
            "runs": list(commands),
            "parameters": 2_000_000,
            "trained_tokens": [3_000_000],
            "trained_minutes": [1.5] * len(commands),
            "commands": list(commands),
            "vocabularies": ["A"],
            "signature": f"models={name}",
            "sets": {"dev": {"perplexity": [8.0, 10.0] if len(commands) > 1 else [9.0]}},
        }

    table = {
        "title": "T",
        "kind": "perplexity",
        "method": "How.",
        "vocabularies": {"A": "0123"},
        "sets": {"dev": {"name": "toy dev"}},
        "rows": [row("one", "rerank a"), row("both", "rerank a", "rerank b")],
        "commands": ["make"],
    }
    assert report.markdown(table) == (
        "**T.** How.\n\n"
        "| model | seeds | parameters | trained tokens | toy dev |\n"
        "| --- | --- | --- | --- | --- |\n"
        "| one | 1 | 2.0 M | 3.0 M | 9.00 |\n"
        # The sample's standard deviation: the square root of (1 + 1) / (2 - 1).
        "| both | 2 | 2.0 M | 3.0 M | 9.00 ± 1.41 |\n\n"
        "<details><summary>Commands and signatures</summary>\n\n```text\n"
        "one: trained for 1.5 minutes; models=one\n"
        "both: trained for 1.5, 1.5 minutes; models=both\n"
        "\nmake\nrerank a\nrerank b\n```\n\n</details>\n"
    )

    # Of two vocabularies, each perplexity says whose it is; what has both has none.
    table["vocabularies"] = {"A": "0123", "B": "4567"}
    table["rows"][1]["vocabularies"] = ["A", "B"]  # type: ignore[index]
    table["rows"][1]["sets"]["dev"]["perplexity"] = [None]  # type: ignore[index]
    shown = report.markdown(table)
    assert "| one | 1 | 2.0 M | 3.0 M | 9.00 A |\n" in shown
    assert "| both | 2 | 2.0 M | 3.0 M | - |\n" in shown
    assert "compared where the letter is the same" in shown


def test_the_pages_have_the_command_and_every_table() -> None:
    root = TABLES.parents[1]
    page = (root / "docs" / "lab-notes.md").read_text("utf-8")
    dry = subprocess.run(
        ["make", "--dry-run", "tables"], cwd=root, capture_output=True, text=True, check=True
    )
    command = (
        "python eval/tables/make.py eval/tables/open.toml --data ../shared/data --budget 50 "
        "--sentences 300\n"
    )
    assert command in dry.stdout
    assert command in (root / "docs" / "tables.md").read_text("utf-8")
    for study in ("open", "orderings"):
        for table in studies.Study.read(TABLES / f"{study}.toml").tables.values():
            assert f"\n**{table.title}.** " in page


def test_a_work_folder_is_of_one_run(tmp_path: Path) -> None:
    with (
        work.work_folder(tmp_path, {"shrink": 2}, 1, 1),
        pytest.raises(InputError, match="in use by another run"),
        work.work_folder(tmp_path, {"shrink": 2}, 1, 1),
    ):
        pass
    with work.work_folder(tmp_path, {"shrink": 2}, 1, 1):
        pass
    with (
        pytest.raises(InputError, match="begun with shrink 2, now it is 4"),
        work.work_folder(tmp_path, {"shrink": 4}, 1, 1),
    ):
        pass


def test_a_step_that_fails_leaves_the_others_alone(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    gold = tmp_path / "gold.mrg"
    gold.write_text(GOLD + "\n", "utf-8")
    with work.work_folder(folder, {}, 2, 1) as here:
        out, missing = folder / "list.jsonl", folder / "none"
        again = folder / "again.jsonl"
        good = ["convert", str(gold), "--to", "jsonl", "--out", str(out)]
        here.run(
            [
                work.Command(
                    "later",
                    ["convert", str(out), "--to", "jsonl", "--out", str(again)],
                    again,
                    [out],
                ),
                work.Command("never", [], folder / "x", [missing]),
                work.Command("bad:dev", ["convert", "nowhere", "--to", "jsonl"], missing),
                work.Command("bad", [], folder / "y", [missing]),
                work.Command("good", good, out),
            ]
        )
        assert sorted(here.failures) == ["bad", "never"]
        assert here.failures["bad"].startswith("bad:dev: exit 2: ")
        assert "nowhere" in here.failures["bad"]
        assert here.failures["never"] == "never: what it starts from failed"
        assert out.exists()
        assert again.exists()
        assert here.record("good")["seconds"] > 0
        assert here.record("good")["command"].startswith("rerank convert")
        assert here.record("never") == {"command": "", "seconds": 0.0}


def test_all_studies_and_the_recipes_are_whole() -> None:
    paths = {*TABLES.glob("*.toml"), *(TABLES.parent / "recipes").glob("*.toml")}
    assert len(paths) == 9
    for path in paths:
        study = studies.Study.read(path)
        shown = {
            name for table in study.tables.values() for row in table.rows for name in row.models
        }
        assert shown == set(study.models), f"{path}: a model that no table shows"
