"""eval/tables: its parts, on numbers and trees that fit on the screen."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

from reranker.errors import InputError
from reranker.evaluation.brackets import GoldTrees
from reranker.plugins.tuning.scored_lists import read_scored
from tests.eval.scripts import module, run
from tests.eval.toy_study import STUDY, TABLES, write_data
from tests.reranker.plugins.tuning.tuned_lists import BEST, GOLD, WORSE, WORST, entry, ranked

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
    for kind, sets in (("perplexity", '["dev", "p"]'),)
)

figures, steps, studies = (module(f"tables/{name}.py") for name in ("figures", "steps", "study"))


def test_lists_are_taken_from_everywhere() -> None:
    assert steps.spread(7, 3) == [1, 3, 5]
    assert steps.spread(3, 0) == steps.spread(3, 3) == steps.spread(3, 9) == [0, 1, 2]
    assert steps.spread(1575, 300)[:2] == [2, 7]


def scored(path: Path, **log_probabilities: float) -> Path:
    """Write a line of ``rerank analyse perplexity --token-scores``."""
    path.write_text(json.dumps(list(log_probabilities.items())) + "\n", "utf-8")
    return path


def test_perplexity_is_of_averaged_probabilities(tmp_path: Path) -> None:
    one = scored(tmp_path / "one", it=float(np.log(0.5)), eos=float(np.log(0.25)))
    two = scored(tmp_path / "two", it=float(np.log(0.5)), eos=float(np.log(0.75)))
    assert figures.perplexity([one]) == pytest.approx((1 / (0.5 * 0.25)) ** 0.5)
    assert figures.perplexity([one, two]) == pytest.approx(2)  # 0.5 and 0.5
    # Backward: other tokens, so that an average would be of nothing.
    backward = scored(tmp_path / "backward", eos=-1.0, it=-1.0)
    assert figures.perplexity([one, backward]) is None


def test_log_probabilities_of_tokens(tmp_path: Path) -> None:
    path = tmp_path / "scored.jsonl"
    first = {"ranking": [{"token_scores": [["it", -1.5], ["<eos>", -0.5]]}]}
    path.write_text(json.dumps(first) + "\n" + json.dumps(first) + "\n", "utf-8")
    tokens, values = figures.token_scores(path)
    assert tokens == ["it", "<eos>"] * 2
    assert values.tolist() == [-1.5, -0.5, -1.5, -0.5]
    path.write_text('[["it", -1.5], ["<eos>", -0.5]]\n[]\n[["<eos>", -2]]\n', "utf-8")
    assert figures.token_scores(path)[1].tolist() == [-1.5, -0.5, -2]
    path.write_text(json.dumps(first) + "\n" + json.dumps({"ranking": []}) + "\n", "utf-8")
    with pytest.raises(InputError, match="2: the tree was not scored"):
        figures.token_scores(path)


def test_models_are_scored_apart_and_averaged(tmp_path: Path) -> None:
    """Two sentences scored by models a and b, which list candidates in other orders."""
    (tmp_path / "gold.mrg").write_text(f"{GOLD}\n{GOLD}\n", "utf-8")
    paths = []
    for name, nlls in {"a": (3.0, 2.0, 9.0), "b": (1.0, 4.0, 9.0)}.items():
        trees = zip((WORSE, BEST, WORST), nlls, strict=True)
        found = [entry(place, tree, nll, -10.0 - place) for place, (tree, nll) in enumerate(trees)]
        found.sort(key=lambda one: str(one["nll"]))
        paths.append(tmp_path / f"{name}.jsonl")
        paths[-1].write_text(ranked(found, found), "utf-8")
    lists = read_scored(figures.merged(paths), GoldTrees([tmp_path / "gold.mrg"], True))

    def alone(*columns: int) -> list[int]:
        counts: list[int] = figures.choice(figures.averaged(lists, columns), None)["alone"][
            0
        ].tolist()
        return counts

    best, worse = [4, 4, 4], [3, 4, 3]
    assert alone(0) == best
    assert alone(1) == worse
    assert alone(0, 1) == worse  # 2 nats against 3
    # Two of a kind weigh as much as one against the parser.
    twice, once = figures.averaged(lists, [0, 0]), figures.averaged(lists, [0])
    assert twice.members.sum(2).tolist() == once.members.sum(2).tolist()
    assert figures.averaged(lists, [0, 1]).members[0].sum(1).tolist() == [-2.0, -3.0, -9.0]
    # At random: (3 + 4 + 0) / 3 matched of (3 + 4 + 1) / 3, gold 4.
    assert figures.random_f1(lists) == pytest.approx(100 * 2 * 7 / (12 + 8))


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
        ('config = "small-lstm.toml"', "seeds = 2", "models.lstm.config: Field required"),
        ("seeds = 2", "seeds = 0", "models.doc.seeds: Input should be greater than 0"),
        ("gold_tags = true", 'gold_tags = true\nweight_from = "no"', "there is no 'no'"),
        ("seeds = 2", 'start_from = "doc"', "models.doc: start_from leads back to it"),
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
        ('kind = "F1"', 'kind = "F2"', "tables.choice.kind: Input should be 'F1' or 'perplexity'"),
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
    assert study.runs("doc") == ["doc-1", "doc-2", "doc-3"]
    assert study.runs("lstm") == ["lstm-1", "lstm-2", "lstm-3"]
    assert study.members(study.tables["words"].rows[1]) == ["doc-1", "lstm-1"]


def test_missing_data_are_named(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(STUDY, "utf-8")
    write_data(tmp_path)
    (tmp_path / "dev.nbest").unlink()
    done = run("tables/make.py", path, "--data", tmp_path, "--work", tmp_path / "work", status=2)
    assert f"needs data that are not here:\n  {tmp_path / 'dev.nbest'}\n" in done.stderr
    assert "--data" in done.stderr
    assert "train.mrg" not in done.stderr


def test_the_plan_of_a_study(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "study.toml"
    again = '[models.again]\nconfig = "tiny.toml"\nstart_from = "doc"\n[models.lstm]'
    shown = 'models = ["again"] },\n    { name = "LSTM", models = ["lstm"] }'
    text = STUDY.replace("[models.lstm]", again).replace('models = ["lstm"] }', shown, 1)
    path.write_text(text, "utf-8")
    work = steps.StudyWork(studies.Study.read(path), tmp_path, tmp_path, ["--x"], ["--epochs", "3"])
    first = {step.name: " ".join(step.arguments) for step in work.steps("doc", 1)}
    model = f"{tmp_path}/models/doc-1.pt"
    assert first == {
        "doc-1": (
            f"train --config {tmp_path}/configs/doc.toml --train {tmp_path}/data/train.mrg "
            f"--dev {tmp_path}/data/dev.mrg --out {model} "
            f"--log-folder {tmp_path}/training/doc-1 --seed 1 --epochs 3 --x"
        ),
        "doc-1:dev:text": (
            f"--nbest {tmp_path}/data/dev.text.mrg --models {model} --output ranked "
            f"--out {tmp_path}/scored/doc-1.dev.text.jsonl --resume --format trees "
            "--token-scores --x"
        ),
        "doc-1:dev": (
            f"--nbest {tmp_path}/data/dev.lists.jsonl --models {model} --output ranked "
            f"--out {tmp_path}/scored/doc-1.dev.lists.jsonl --resume --x"
        ),
    }
    again = next(iter(work.steps("again", 1)))
    assert " ".join(again.arguments).endswith(f"--start-from {model} --epochs 3 --x")
    only = steps.StudyWork(studies.Study.read(path, ["words"]), tmp_path, tmp_path)
    assert [step.name for step in only.steps("doc", 1)] == ["doc-1", "doc-1:dev:text"]
    with pytest.raises(SystemExit, match="2"):
        module("tables/make.py").main([str(path), "--epochs", "3", "--budget", "1"])
    assert "not allowed with argument --epochs" in capsys.readouterr().err


def test_the_plan_of_text(tmp_path: Path) -> None:
    for name in ("train.txt", "dev.txt", "p.txt"):
        (tmp_path / name).write_text("a b\n", "utf-8")
    path = tmp_path / "study.toml"
    path.write_text(TEXT_STUDY, "utf-8")
    study = studies.Study.read(path)
    work = steps.StudyWork(study, Path("work"), tmp_path, ["--y"], ["--x"])
    made = {step.name: " ".join(step.arguments) for step in work.steps("doc", 1)}
    model = "work/models/doc-1.pt"
    assert made == {
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
    }
    assert study.settings("doc")["training"]["text"] is True


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
            "signature": f"models={name}",
            "sets": {"dev": {"perplexity": [8.0, 10.0] if len(commands) > 1 else [9.0]}},
        }

    table = {
        "title": "T",
        "kind": "perplexity",
        "method": "How.",
        "sets": {"dev": {"name": "toy dev"}},
        "rows": [row("one", "rerank a"), row("both", "rerank a", "rerank b")],
        "commands": ["make"],
    }
    assert figures.markdown(table) == (
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

    # A row without a perplexity stays without one.
    table["rows"][1]["sets"]["dev"]["perplexity"] = [None]  # type: ignore[index]
    assert "| both | 2 | 2.0 M | 3.0 M | - |\n" in figures.markdown(table)


def test_the_pages_have_the_command_and_every_table() -> None:
    root = TABLES.parents[1]
    page = (root / "docs" / "research" / "lab-notes.md").read_text("utf-8")
    dry = subprocess.run(
        ["make", "--dry-run", "tables"], cwd=root, capture_output=True, text=True, check=True
    )
    command = (
        "python eval/tables/make.py eval/tables/open.toml --data ../shared/data --budget 50 "
        "--sentences 300\n"
    )
    assert command in dry.stdout
    assert command in (root / "docs" / "research" / "tables.md").read_text("utf-8")
    for study in ("open", "orderings"):
        for table in studies.Study.read(TABLES / f"{study}.toml").tables.values():
            assert f"\n**{table.title}.** " in page


def test_a_work_folder_is_of_one_run(tmp_path: Path) -> None:
    make_module = module("tables/make.py")
    make_module.check_settings(tmp_path, {"shrink": 2})
    make_module.check_settings(tmp_path, {"shrink": 2})
    with pytest.raises(InputError, match=r"shrink 2.* 4"):
        make_module.check_settings(tmp_path, {"shrink": 4})
    (tmp_path / "settings.json").rename(tmp_path / "f1.md")
    with pytest.raises(InputError, match="--work"):
        make_module.check_settings(tmp_path, {"shrink": 2})


def test_a_step_that_fails_leaves_the_others_alone(tmp_path: Path) -> None:
    """Training finds no data; a model that starts from it is told why it is not made."""
    path = tmp_path / "study.toml"
    again = '[models.again]\nconfig = "tiny.toml"\nstart_from = "doc"\n[models.lstm]'
    shown = 'models = ["again"] },\n    { name = "LSTM", models = ["lstm"] }'
    text = STUDY.replace("[models.lstm]", again).replace('models = ["lstm"] }', shown, 1)
    path.write_text(text, "utf-8")
    work = steps.StudyWork(studies.Study.read(path, seeds=1), tmp_path / "work", tmp_path)
    work.run(workers=2)
    assert sorted(work.failures) == ["again-1", "doc-1", "lstm-1"]
    assert work.failures["doc-1"].startswith("doc-1: exit 2: ")
    assert work.failures["again-1"] == "again-1: what it starts from failed"
    assert work.record("doc-1")["seconds"] > 0
    assert work.record("doc-1")["command"].startswith("rerank train --config")
    assert work.record("again-1") == {"command": "", "seconds": 0.0}


def test_all_studies_and_the_recipes_are_whole() -> None:
    paths = {*TABLES.glob("*.toml"), *(TABLES.parent / "recipes").glob("*.toml")}
    assert len(paths) == 10
    for path in paths:
        study = studies.Study.read(path)
        shown = {
            name for table in study.tables.values() for row in table.rows for name in row.models
        }
        assert shown == set(study.models), f"{path}: a model that no table shows"
