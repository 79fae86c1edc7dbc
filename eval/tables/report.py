"""A table's figures as Markdown, and its place in a file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from reranker.errors import InputError

NONE = "-"


def markdown(table: dict[str, Any]) -> str:
    """The whole table: its caption, its figures and, folded away, how each row was made."""
    parts = [f"**{table['title']}.** {table['method']}"]
    if len(table["vocabularies"]) > 1:
        parts[0] += (
            " Perplexities can be compared where the letter is the same: that of the vocabulary "
            "and of the direction in which a tree is read."
        )
    if table["kind"] == "F1":
        parts += [_f1_table(table, name) for name in table["sets"]]
    else:
        parts.append(_perplexity_table(table))
    failures = [
        f"- {row['name']}: {line}" for row in table["rows"] for line in row.get("failed", ())
    ]
    if failures:
        parts.append("Failed:\n\n" + "\n".join(failures))
    parts.append(_provenance(table))
    return "\n\n".join(parts) + "\n"


def put(path: Path, name: str, text: str) -> None:
    """Replace what stands between ``<!-- name -->`` and ``<!-- end of name -->``.

    Raises InputError if the file has no such place.
    """
    start, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    try:
        before = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    place = re.compile(f"{re.escape(start)}.*?{re.escape(end)}", re.DOTALL)
    if not place.search(before):
        raise InputError(f"{path} has no place for the table: {start} {end}")
    path.write_text(place.sub(lambda _: f"{start}\n{text}{end}", before), encoding="utf-8")


def _f1_table(table: dict[str, Any], name: str) -> str:
    one = table["sets"][name]
    caption = f"{one['name']}, {one['sentences']} sentences" if "sentences" in one else one["name"]
    heads = ["model", "seeds", "parameters", "perplexity", "F1 alone", "F1 mixed", "gap closed"]
    heads += ["p, parser", f"p, {table['reference']}", "seconds", "printed"]
    rows = [_f1_row(row, name, table) for row in table["rows"]]
    fixed = [
        [label, *[NONE] * 3, _number(one[key]), *[NONE] * 6]
        for label, key in (("parser", "parser"), ("random", "random"), ("oracle", "oracle"))
        if key in one
    ]
    cells = [*fixed[:2], *rows, *fixed[2:]]
    return f"{caption}:\n\n{_grid(heads, cells)}"


def _f1_row(row: dict[str, Any], name: str, table: dict[str, Any]) -> list[str]:
    if "failed" in row:
        return [row["name"], *["failed"] * 9, row["printed"] or NONE]
    one = row["sets"][name]
    mixed = one["mixed"] or one["alone"]
    kind = "mixed" if one["mixed"] else "alone"
    gaps = [each["gap_closed"] for each in mixed]
    return [
        row["name"],
        str(len(row["runs"])),
        _size(row["parameters"]),
        _perplexity(row, name, table),
        _spread([each["f1"] for each in one["alone"]]),
        _spread([each["f1"] for each in one["mixed"]]),
        NONE if None in gaps else f"{round(mean(gaps))} %",
        _p(one.get(f"{kind}_against_parser")),
        _p(one.get(f"{kind}_against_reference")),
        f"{mean(one['seconds']):.0f}",
        row["printed"] or NONE,
    ]


def _perplexity_table(table: dict[str, Any]) -> str:
    names = table["sets"]
    heads = ["model", "seeds", "parameters", "trained tokens"]
    heads += [one["name"] for one in names.values()] + ["printed"]
    cells = []
    for row in table["rows"]:
        if "failed" in row:
            figures = ["failed"] * (3 + len(names))
        else:
            figures = [
                str(len(row["runs"])),
                _size(row["parameters"]),
                _size(mean(row["trained_tokens"])),
                *(_perplexity(row, name, table) for name in names),
            ]
        cells.append([row["name"], *figures, row["printed"] or NONE])
    return _grid(heads, cells)


def _perplexity(row: dict[str, Any], name: str, table: dict[str, Any]) -> str:
    values = row["sets"][name]["perplexity"]
    if None in values:
        return NONE
    letter = f" {row['vocabularies'][0]}" if len(table["vocabularies"]) > 1 else ""
    return _spread(values) + letter


def _provenance(table: dict[str, Any]) -> str:
    """Every row's time and signature, then the commands: of the table, and of each model once."""
    lines = ["<details><summary>Commands and signatures</summary>", "", "```text"]
    whole = [row for row in table["rows"] if "failed" not in row]
    for row in whole:
        minutes = ", ".join(f"{one:g}" for one in row["trained_minutes"])
        lines.append(f"{row['name']}: trained for {minutes} minutes; {row['signature']}")
    commands = dict.fromkeys(one for row in whole for one in row["commands"])
    return "\n".join([*lines, "", *table["commands"], *commands, "```", "", "</details>"])


def _grid(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table without the columns that say nothing."""
    cells = [list(row) for row in rows]
    said = [set(column) - {NONE} for column in zip(*cells, strict=True)]
    kept = [place for place, words in enumerate(said) if words]
    lines = [[heads[place] for place in kept], ["---"] * len(kept)]
    lines += [[row[place] for place in kept] for row in cells]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _spread(values: Sequence[float]) -> str:
    """The mean and, of several, their standard deviation."""
    if not values:
        return NONE
    own = f" ± {stdev(values):.2f}" if len(values) > 1 else ""
    return _number(mean(values)) + own


def _number(value: float) -> str:
    return f"{value:.2f}"


def _size(value: float) -> str:
    return f"{value / 1e6:.1f} M" if value >= 1e5 else f"{value:,.0f}"


def _p(tests: dict[str, float] | None) -> str:
    if tests is None:
        return NONE
    p = tests["randomisation_p"]
    return "< 0.001" if p < 0.001 else f"{p:.3f}"
