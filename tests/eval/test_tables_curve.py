"""eval/tables/curve.py: what perplexity a gain would need."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from tests.eval.toy_study import module

curve = module("curve")


def table(*perplexities: float | None, parser: float = 80.0) -> dict[str, Any]:
    """Rows that gain 12 - 4 ln(perplexity) alone and one F1 more mixed."""
    rows: list[dict[str, Any]] = [{"name": "broken", "failed": ["why"]}]
    for number, perplexity in enumerate(perplexities):
        alone = parser + 12 - 4 * math.log(perplexity or 1)
        one = {"perplexity": [perplexity], "alone": [{"f1": alone}], "mixed": [{"f1": alone + 1}]}
        rows.append({"name": f"row {number}", "vocabularies": ["A"], "sets": {"dev": one}})
    sets = {"dev": {"name": "toy dev", "parser": parser}}
    return {"rows": rows, "sets": sets, "vocabularies": {"A": "0123456789"}}


def test_the_perplexity_for_a_gain(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two = tmp_path / "one.json", tmp_path / "two.json"
    one.write_text(json.dumps(table(8.0, 10.0, None)), "utf-8")
    two.write_text(json.dumps(table(6.0, parser=83.0)), "utf-8")  # another number of lists, say
    picture = tmp_path / "curve.png"
    assert curve.main([str(one), str(two), "--gain", "8", "--plot", str(picture)]) == 0
    lines = capsys.readouterr().out.splitlines()
    best = 12 - 4 * math.log(6)
    assert lines[2] == (
        f"| toy dev | 01234567 | alone | 3 | 6.00 | {best:+.2f} | 4.0 | 0.00 | {math.e:.2f} |"
    )
    assert lines[3] == (
        f"| toy dev | 01234567 | mixed | 3 | 6.00 | {best + 1:+.2f} | 4.0 | 0.00 "
        f"| {math.exp(1.25):.2f} |"
    )
    assert picture.read_bytes().startswith(b"\x89PNG")

    # 12 is what perplexity 1 would gain alone: no model gains more.
    assert curve.main([str(one), str(two), "--gain", "12.5"]) == 0
    alone, mixed = capsys.readouterr().out.splitlines()[2:]
    assert alone.endswith("| 0.00 | - |")
    assert mixed.endswith(f"| 0.00 | {math.exp(1 / 8):.2f} |")


def test_a_line_needs_three_points_and_has_to_fall(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "one.json"
    path.write_text(json.dumps(table(6.0, 8.0, 20.0)), "utf-8")
    assert len(curve.fit(curve.read_points([path]))) == 2
    path.write_text(json.dumps(table(6.0, 8.0, 8.0)), "utf-8")
    assert curve.main([str(path)]) == 0
    out, error = capsys.readouterr()
    assert len(out.splitlines()) == 2  # heads
    assert error == "curve: a line needs 3 perplexities or more\n"
    assert line_through(0.0, 1.0, 2.0).perplexity_for(3.0) is None
    # Off by 1/3, 2/3 and 1/3; one degree of freedom is left.
    assert line_through(0.0, 1.0, 0.0).deviation == pytest.approx(math.sqrt(2 / 3))


def line_through(*gains: float) -> Any:
    """The gains at 0, 1, ... nats."""
    return curve.GainLine.through(
        [curve.GainPoint("row", math.e**nats, gain) for nats, gain in enumerate(gains)]
    )


@pytest.mark.parametrize("text", ["", "{}", '{"rows": [{"name": "a"}]}', "[]"])
def test_what_is_no_table_is_told(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "table.json"
    path.write_text(text, "utf-8")
    assert curve.main([str(path)]) == 2
    assert f"curve: {path}: not the JSON of an F1 table" in capsys.readouterr().err
    assert curve.main([str(tmp_path / "none.json")]) == 2
    assert "cannot be read" in capsys.readouterr().err
    path.write_text(json.dumps(table(None)), "utf-8")
    assert curve.main([str(path)]) == 2
    assert "no row with a perplexity and F1" in capsys.readouterr().err
