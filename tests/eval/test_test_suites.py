"""Test suites of syntax, on two tiny ones of our own."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reranker
from reranker.errors import InputError
from tests.eval.scripts import module
from tests.reranker.ensembles import save
from tests.reranker.plugins.surprisal.toy import checkpoint

script = module("surprisal/test_suites.py")


@pytest.mark.parametrize(
    "text, expected, chance",
    [
        ("(1;%a%) > (1;%b%)", [False, True, False], 1 / 2),
        ("[(1;%a%) < (1;%b%)] & [(1;%a%) < ( 2 ; %a% )]", [True, False, False], 1 / 3),
        ("[(1;%a%)-(1;%b%)]+[(2;%a%)-(1;%b%)]>0", [True, True, False], 1 / 2),
        ("(1;%a%)>(1;%b%) | (1;%a%)<(1;%b%) & (2;%a%)=9", [True, True, False], 1 / 2),
        ("(1;%a%) = (1;%b%)", [False, False, True], 0),
    ],
)
def test_formulas(text: str, expected: list[bool], chance: float) -> None:
    formula = script.Formula(text)
    values = {
        ("a", "1"): np.array([1.0, 5.0, 2.0]),
        ("b", "1"): np.array([4.0, 3.0, 2.0]),
        ("a", "2"): np.array([9.0, 2.0, 0.0]),
    }
    assert formula.holds(values).tolist() == expected
    assert formula.chance() == pytest.approx(chance, abs=0.002)


@pytest.mark.parametrize("text", ["", "(1;%a%)", "a > b", "(1;%a%) >", "__import__('os')", "1 * 2"])
def test_what_is_no_formula(text: str) -> None:
    with pytest.raises(InputError, match="not a prediction"):
        script.Formula(text)


def suite(*formulas: str, **conditions: list[str]) -> dict[str, Any]:
    """Return a suite of one item."""
    made = [
        {
            "condition_name": name,
            "regions": [{"region_number": n, "content": each} for n, each in enumerate(regions, 1)],
        }
        for name, regions in conditions.items()
    ]
    predictions = [{"type": "formula", "formula": each} for each in formulas]
    return {"items": [{"item_number": 1, "conditions": made}], "predictions": predictions}


def test_regions_are_sums_over_their_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    models = [save(tmp_path / f"m{seed}.pt", checkpoint(seed)) for seed in (1, 2)]
    sentences = "it rains here boxes rains here", "boxes rains here it"
    rows = [reranker.surprisal(each, form="sentences", models=[models[0]], beam=5).rows()
            for each in sentences]  # fmt: skip
    first = sum(row["surprisal"] for row in rows[0][1:4])
    second = rows[1][1]["surprisal"]
    is_more = f"(2;%a%) {'>' if first > second else '<'} (2;%b%)"
    by = first - second
    near = f"[(2;%a%) > (2;%b%) + {by - 0.01}] & [(2;%a%) < (2;%b%) + {by + 0.01}]"
    content = suite(
        is_more, near, "(*;%b%) = 0",
        a=["it ", "rains here boxes", "", "rains here"], b=["boxes", " rains ", "here it"],
    )  # fmt: skip
    (tmp_path / "own.json").write_text(json.dumps(content))
    content = suite("(1;%a%) > (1;%b%)", a=["otters"], b=["otters"])
    (tmp_path / "unknown.json").write_text(json.dumps(content))
    command = ["test_suites.py", str(tmp_path), "--beam", "5", "--models", *models]
    monkeypatch.setattr(sys, "argv", command)
    script.main()
    table = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert table[0] == ["suite", "items", "chance", "m1", "unknown", "m2", "unknown"]
    assert table[1] == ["own", "(1)", "1", "50.0", "100.0", "0.0", *table[1][6:]]
    assert table[2][4:6] == ["100.0", "0.0"]
    assert table[3][:6] == ["own", "(3)", "1", "0.0", "0.0", "0.0"]
    assert table[4][:5] == ["unknown", "1", "50.0", "0.0", "100.0"]
    assert table[5][0] == "mean"
    assert [" ".join(line) for line in table[6:]] == [
        f"outside the vocabulary of m{number}: otters" for number in (1, 2)
    ]


@pytest.mark.parametrize(
    "content, message",
    [
        ("[1]", "not a suite"),
        (json.dumps(suite("(2;%a%) > (1;%b%)", a=["it"], b=["it"])), "item 1 has no (2;%a%)"),
        (json.dumps(suite("(1;%a%) ~ (1;%a%)", a=["it"])), "s.json: not a prediction"),
        (None, "no file in this folder ends in .json"),
    ],
)
def test_what_is_no_suite(
    content: str | None, message: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    if content:
        (tmp_path / "s.json").write_text(content)
    monkeypatch.setattr(sys, "argv", ["test_suites.py", str(tmp_path)])
    assert script.main() == 2
    assert message in capsys.readouterr().err
