"""``rerank tune``: its tables, what it chooses and what it saves."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reranker.checkpoints.ensemble_file import read_ensemble_file
from reranker.commands.main import main
from reranker.evaluation.brackets import GoldTrees, corpus_f1
from reranker.nbest import Candidate, NBest
from reranker.plugins.tuning.choosing import choose, cross_validated, outcomes
from reranker.plugins.tuning.scored_lists import read_scored
from reranker.ranking import Scored, Weighing, rank
from tests.reranker.ensembles import CANDIDATES
from tests.reranker.plugins.tuning.tuned_lists import (
    BEST,
    GOLD,
    WORSE,
    WORST,
    entry,
    lists,
    random_lists,
    ranked,
    sure_and_unsure,
    tuning,
)
from tests.reranker.small_files import bllip, write

Capture = pytest.CaptureFixture[str]

RIGHT, WRONG = (4, 4, 4), (0, 4, 4)


def test_tables_by_hand(tmp_path: Path, capsys: Capture) -> None:
    # LM and parser disagree; the best tree wins with W between 0.4 and 5/9 = 0.556 only:
    # W * -nll + (1 - W) * parser: BEST -10W - 10(1-W) = -10, WORSE -25W, WORST -20(1-W) - 2W
    sentence = [
        entry(0, WORSE, 25.0, 0.0),
        entry(1, BEST, 10.0, -10.0),
        entry(2, WORST, 2.0, -20.0),
    ]
    assert main([*tuning(tmp_path, ranked(sentence, sentence)), "--gold-tags"]) == 0
    first, second, last = capsys.readouterr().out.split("\n\n", 2)
    table = {line[:10].strip(): line[10:].split() for line in first.splitlines()}
    # F1 = 2 * 3 / (4 + 3) = 85.71 for WORSE, 0 for WORST
    assert table["parser"] == ["85.71"] * 3
    assert table["oracle"] == ["100.00"] * 3
    assert table["W = 0.00"] == ["85.71"] * 3
    assert table["W = 0.40"] == ["85.71"] * 3  # a tie at -10 keeps the parser's order
    assert table["W = 0.45"] == table["W = 0.55"] == ["100.00"] * 3
    assert table["W = 0.60"] == ["0.00"] * 3
    assert table["W = 1.00"] == ["0.00"] * 3
    assert second == "best of the first half: W = 0.55, on the second 100.00"
    last, chosen, confidence = last.rstrip().split("\n\n")
    table = {line[:20].strip(): line[20:].split() for line in last.splitlines()}
    assert table["parser"] == ["85.71", "85.71", "0.0%"]
    assert table["models alone"] == ["0.00", "0.00", "-600.0%"]  # -85.71 of a gap of 14.29
    assert table["oracle"] == ["100.00", "100.00", "100.0%"]
    # The mean from 0.1 below to 0.1 above rises until the fall to 0 comes within reach, at 0.456.
    assert table["LM weight"] == ["100.00", "100.00", "100.0%", "W", "=", "0.455"]
    assert chosen == "chosen: LM weight: W = 0.455"
    assert confidence == (
        "confidence: 2 of 2 best trees are not the parser's first; 2 are better: too few to learn "
        "from, 25 of each kind are needed"
    )


def test_without_parser_scores_only_the_models_count(tmp_path: Path, capsys: Capture) -> None:
    sentence = [entry(0, WORSE, 3.0, None), entry(1, BEST, 2.0, None)]
    arguments = tuning(tmp_path, ranked(sentence))
    assert main(arguments) == 0
    printed = capsys.readouterr().out
    assert "W = 1.00" in printed and "W = 0.95" not in printed
    assert "chosen: models alone" in printed
    assert main([*arguments, "--plot", str(tmp_path / "p.png")]) == 2
    assert "without parser scores" in capsys.readouterr().err


def test_files_that_do_not_fit(tmp_path: Path, capsys: Capture) -> None:
    file, gold = tmp_path / "r.jsonl", tmp_path / "gold.mrg"
    gold.write_text(GOLD + "\n")
    sentence = [entry(0, BEST, 2.0, -1.0)]
    two = [entry(0, BEST, 2.0, -1.0, 1.0, 1.0)]
    for content, golds, reason in (
        (ranked(sentence, sentence), 1, "r.jsonl: more sentences than the 1 of"),
        ("", 1, "gold.mrg: more trees than the 0 sentences of"),
        ("(S (A a))\n", 1, "r.jsonl: not the output of `rerank --output ranked`\n"),
        ("[]\n", 1, "r.jsonl: not the output of `rerank --output ranked`\n"),
        (ranked(sentence) + "[]\n", 2, "r.jsonl:2: not a sentence"),
        (
            ranked(sentence) + "(S\n",
            2,
            "r.jsonl:2: not a sentence of `rerank --output ranked`: not JSON\n",
        ),
        (ranked(sentence) + "[" * 100_000, 2, "r.jsonl:2: not a sentence"),
        (ranked(sentence) + "{}\n", 2, "sentence of `rerank --output ranked`: no 'ranking'\n"),
        (ranked([]), 1, "no sentence has a usable candidate"),
        (ranked([entry(0, BEST, math.nan, -1.0)]), 1, "r.jsonl:1: not a sentence of `rerank "),
        (ranked([entry(0, BEST, 2.0, -1.0, math.inf)]), 1, "ranked`: inf is not a finite number\n"),
        (ranked([entry(0, BEST, 2.0, math.nan)]), 1, "ranked`: nan is not a finite number\n"),
        (ranked([entry(0, BEST, 2.0, -1.0)] * 2), 1, "two candidates have the same index\n"),
        (ranked([entry(-1, BEST, 2.0, -1.0)]), 1, "not a whole number of at least 0\n"),
        (ranked([{**entry(0, BEST, 2.0, -1.0), "tokens": "x"}]), 1, "must be real number"),
        (ranked(sentence, two), 2, "some sentences were scored by 1 models, some by 2"),
    ):
        file.write_text(content)
        gold.write_text(f"{GOLD}\n" * golds)
        assert main(["tune", str(file), str(gold)]) == 2
        assert reason in capsys.readouterr().err
    assert main(["tune", str(gold), str(file)]) == 2
    assert capsys.readouterr().err == (
        f"rerank: {gold}: not the output of `rerank --output ranked` (are the two files swapped?)\n"
    )
    gold.write_bytes(b"\xff(A b)\n" * 2)
    assert main(["tune", str(file), str(gold), "--gold-tags"]) == 2
    assert capsys.readouterr().err == f"rerank: {gold}:1: not a gold tree: byte 0xff is not UTF-8\n"


def test_scores_are_those_that_rank_orders_by() -> None:
    some = random_lists(2, sentences=1, candidates=6, members=2)
    size = int(some.is_candidate.sum())
    candidates = [
        Candidate(place, "", ("x",), float(some.parser[0, place]), place) for place in range(size)
    ]
    scored = [
        Scored(-float(parts.sum()), 1.0, int(tokens), 0, None, member_nll=tuple(-parts))
        for parts, tokens in zip(some.members[0, :size], some.tokens[0, :size], strict=True)
    ]
    for weighing in (
        Weighing(),
        Weighing(0.3),
        Weighing(0.7, member_weights=(0.25, 1.75), token_bonus=-0.5),
    ):
        ranking = rank(NBest("x", tuple(candidates), (), 1), scored, weighing).ranking
        assert {one.index: one.score for one in ranking} == pytest.approx(
            dict(enumerate(some.scores(weighing)[0, :size])), abs=1e-4
        )


def test_near_ties_are_those_of_rank() -> None:
    """A difference below the exactness of scores is a tie, and the parser's first is chosen."""
    counts = (3, 4, 4)
    tie = [([-10.00004], -5.0, 8, counts), ([-10.0], -5.0, 8, counts)]
    none = [([-10.00006], -5.0, 8, counts), ([-10.0], -5.0, 8, counts)]
    assert lists(tie, none).best(Weighing()).tolist() == [0, 1]


def test_padding_is_never_chosen(tmp_path: Path) -> None:
    # The second list is shorter; positive scores are above the zeros that fill it up, and below.
    short = [entry(0, WORSE, 3.0, -1.0)]
    long = [entry(index, BEST, 3.0, -1.0) for index in range(2)]
    gold = GoldTrees([write(tmp_path / "gold.mrg", f"{GOLD}\n{GOLD}\n")], False)
    some = read_scored(ranked(long, short).splitlines(), gold)
    assert some.is_candidate.tolist() == [[True, True], [True, False]]
    for weight in (0.0, 0.5, 1.0):
        assert some.chosen(Weighing(weight)).tolist() == [[4, 4, 4], [3, 4, 3]]
    assert some.oracle().tolist() == [[4, 4, 4], [3, 4, 3]]
    assert some.scores(Weighing())[1].tolist() == [-3.0, -np.inf]


def test_cross_validation_tunes_without_what_it_tests() -> None:
    # Lists in the first half need the models, lists in the second the parser. Tuned on the other
    # half each is wrong; tuned on everything one half is right.
    models_right = [((0.0,), 9.0, 9, WRONG), ((9.0,), 0.0, 9, RIGHT)]
    parser_right = [((0.0,), 9.0, 9, RIGHT), ((9.0,), 0.0, 9, WRONG)]
    some = lists(*[models_right] * 5, *[parser_right] * 5)
    (found,) = [one for one in outcomes(some, 2) if one.name == "LM weight"]
    assert found.f1 == 50
    assert found.unseen_f1 == 0
    assert cross_validated(some, False, False, 2).tolist() == [list(WRONG)] * 10
    # A list alone has no others to tune on.
    assert corpus_f1(cross_validated(some[:1], False, False, 10)) == 100


def test_further_weights_must_be_better_by_more_than_chance() -> None:
    # The sum of both members is wrong, the first alone right: worth a weight in 30 lists; in two
    # of them it could be chance.
    needs = [((-11.0, -10.0), -5.0, 9, WRONG), ((-10.0, -12.0), -5.0, 9, RIGHT)]
    easy = [((-10.0, -10.0), -5.0, 9, RIGHT), ((-12.0, -12.0), -5.0, 9, WRONG)]
    many = choose(outcomes(lists(*[needs, easy] * 30), 5))
    assert many.name == "+ member weights"
    assert many.unseen_f1 == 100
    few = outcomes(lists(needs, *[easy] * 30, needs), 2)
    assert max(one.unseen_f1 for one in few) > few[0].unseen_f1
    assert choose(few) is few[0]


def test_save_and_plot(tmp_path: Path, models: list[str], capsys: Capture) -> None:
    sentence = [entry(0, WORSE, 25.0, 0.0, 5.0, 20.0), entry(1, BEST, 10.0, -10.0, 8.0, 2.0)]
    save, picture = tmp_path / "e.toml", tmp_path / "f1.svg"
    arguments = [*tuning(tmp_path, ranked(*[sentence] * 4)), "--models", *models]
    arguments += ["--save", str(save)]
    assert main([*arguments, "--plot", str(picture)]) == 0
    found = read_ensemble_file(save)
    assert [path.resolve() for path in found.paths] == [Path(path).resolve() for path in models]
    # BEST wins from W = 0.4 on; the middle of the best weights with 0.1 on either side.
    assert found.weighing == Weighing(0.75)
    head = save.read_text().splitlines()[:2]
    assert head[0].startswith("# rerank tune ") and head[0].endswith(", 4 sentences")
    assert head[1] == (
        "# F1 100.00, cross-validated 100.00 (100.0% of the gap); parser 85.71, models alone "
        "100.00, oracle 100.00"
    )
    assert "<svg" in picture.read_text() and "W = 0.75" in capsys.readouterr().out
    assert main([*arguments, "--plot", str(tmp_path / "f1.poem")]) == 2
    assert "poem" in capsys.readouterr().err


def test_save_refuses_what_it_would_get_wrong(
    tmp_path: Path, models: list[str], capsys: Capture
) -> None:
    command = tuning(tmp_path, ranked([entry(0, BEST, 2.0, -1.0)]))
    save = str(tmp_path / "e.toml")
    for flags, reason in (
        (["--save", save], "--save and --models need each other"),
        (["--models", *models], "--save and --models need each other"),
        (["--models", *models, "--save", str(tmp_path / "e.json")], "must end in .toml"),
        (["--models", *models, "--save", save], "has scores of 1 model, --models names 2"),
        (["--models", models[0], "--save", models[0]], "must end in .toml"),
    ):
        assert main([*command, *flags]) == 2
        assert reason in capsys.readouterr().err
    assert not Path(save).exists()
    assert json.loads(Path(command[1]).read_text())  # the input is unchanged


def test_confidence_is_told_saved_and_drawn(
    tmp_path: Path, models: list[str], capsys: Capture
) -> None:
    save, picture = tmp_path / "e.toml", tmp_path / "c.svg"
    arguments = [*tuning(tmp_path, sure_and_unsure(30)), "--lm-weight", "1", "--folds", "3"]
    saving = ["--models", *models, "--save", str(save), "--plot-confidence", str(picture)]
    assert main([*arguments, *saving]) == 0
    *_, chosen, count, table, bins = capsys.readouterr().out.rstrip().split("\n\n")
    assert chosen == "chosen: as given: W = 1.000"
    assert count == "confidence: 60 of 60 best trees are not the parser's first; 30 are better"
    heads, own, *others = table.splitlines()
    assert heads.split()[:2] == ["cross-validated", "choices"]
    names = ("choices", "share", "said", "error", "chance", "brier", "base")
    figures = dict(zip(names, own.split()[3:10], strict=True))
    # The two kinds can be told apart; always to say a half costs (1/2)^2.
    assert (figures["choices"], figures["share"], figures["base"]) == ("60", "0.500", "0.2500")
    assert float(figures["brier"]) < 0.05
    # W * 20 > (1 - W) * 1 and W * 5.5 > (1 - W) * 8: with W = 0.2 and 0.4 only the better trees.
    assert [line.split()[2:5] for line in others] == [
        ["0.20", "30", "1.000"],
        ["0.40", "30", "1.000"],
        ["0.60", "60", "0.500"],
        ["0.80", "60", "0.500"],
    ]
    assert [line.split()[1:] for line in bins.splitlines()[1:]] == (
        [["0.000", "6"]] * 5 + [["1.000", "6"]] * 5
    )
    assert "<svg" in picture.read_text()
    known = read_ensemble_file(save).calibration
    assert known is not None and known.weighing == Weighing()
    assert known.probability([10.0, 10.0], -1.0) > 0.9
    assert known.probability([5.0, 0.5], -8.0) < 0.1
    comment = save.read_text().splitlines()[2]
    assert comment.startswith(
        "# confidence: 60 best trees are not the parser's first, 50.0% of them better; "
        f"cross-validated: Brier {figures['brier']} (constant 0.2500), log loss "
    )
    # The same order of the same models, and how sure it is of it.
    (row,) = _reranked(tmp_path, save, CANDIDATES)
    (plain,) = _reranked(tmp_path, *models, CANDIDATES)
    assert row["better_than_first"] is not None and plain["better_than_first"] is None
    assert {**row, "better_than_first": None} == plain


def test_too_few_choices_to_learn_from(tmp_path: Path, models: list[str], capsys: Capture) -> None:
    save = tmp_path / "e.toml"
    arguments = [*tuning(tmp_path, sure_and_unsure(24)), "--lm-weight", "0.7"]
    assert main([*arguments, "--models", *models, "--save", str(save)]) == 0
    assert capsys.readouterr().out.endswith(
        "confidence: 48 of 48 best trees are not the parser's first; 24 are better: too few to "
        "learn from, 25 of each kind are needed\n"
    )
    assert read_ensemble_file(save).weighing == Weighing(0.7)
    assert "confidence" not in save.read_text()
    assert main([*arguments, "--plot-confidence", str(tmp_path / "c.png")]) == 2
    assert "no confidence to plot" in capsys.readouterr().err


def test_a_weight_that_needs_scores(tmp_path: Path, capsys: Capture) -> None:
    sentence = [entry(0, WORSE, 3.0, None), entry(1, BEST, 2.0, None)]
    assert main([*tuning(tmp_path, ranked(sentence)), "--lm-weight", "0.5"]) == 2
    assert "--lm-weight 0.5: some candidates have no parser score" in capsys.readouterr().err


def _reranked(folder: Path, *models_and_trees: Any) -> list[dict[str, Any]]:
    *models, trees = models_and_trees
    file, out = write(folder / "n.txt", bllip(trees)), folder / "out.jsonl"
    names = ["--models", *map(str, models)]
    assert main(["--nbest", file, *names, "--output", "ranked", "--out", str(out)]) == 0
    return [json.loads(line) for line in out.read_text().splitlines()]
