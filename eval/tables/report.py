"""A table's figures as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean, stdev
from typing import Any

from reranker.files.markdown import grid

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
        parts.append(_figures_table(table))
    failures = [
        f"- {row['name']}: {line}" for row in table["rows"] for line in row.get("failed", ())
    ]
    if failures:
        parts.append("Failed:\n\n" + "\n".join(failures))
    return "\n\n".join([*parts, _provenance(table)]) + "\n"


def _f1_table(table: dict[str, Any], name: str) -> str:
    figures = table["sets"][name]
    caption = figures["name"]
    caption += f", {figures['sentences']} sentences" if "sentences" in figures else ""
    heads = ["model", "seeds", "parameters", "perplexity", "F1 alone", "F1 mixed", "gap closed"]
    heads += ["p, parser", f"p, {table['reference']}", "seconds", "printed"]
    fixed = {
        key: [[key, *[NONE] * 3, f"{figures[key]:.2f}", *[NONE] * 6]]
        for key in ("parser", "random", "oracle")
        if key in figures
    }
    rows = [_f1_row(row, name, table) for row in table["rows"]]
    cells = [*fixed.get("parser", []), *fixed.get("random", []), *rows, *fixed.get("oracle", [])]
    return f"{caption}:\n\n{_without_empty_columns(heads, cells)}"


def _f1_row(row: dict[str, Any], name: str, table: dict[str, Any]) -> list[str]:
    if "failed" in row:
        return [row["name"], *["failed"] * 9, row["printed"] or NONE]
    figures = row["sets"][name]
    kind = "mixed" if figures["mixed"] else "alone"
    gaps = [each["gap_closed"] for each in figures[kind]]
    return [
        row["name"],
        str(len(row["runs"])),
        _size_text(row["parameters"]),
        _perplexity(row, name, table),
        _mean_text([each["f1"] for each in figures["alone"]]),
        _mean_text([each["f1"] for each in figures["mixed"]]),
        NONE if None in gaps else f"{round(mean(gaps))} %",
        _p(figures.get(f"{kind}_against_parser")),
        _p(figures.get(f"{kind}_against_reference")),
        f"{mean(figures['seconds']):.0f}",
        row["printed"] or NONE,
    ]


def _figures_table(table: dict[str, Any]) -> str:
    """A table of perplexities, or of another measure with one figure for each set."""
    names, cell = table["sets"], _CELLS[table["kind"]]
    heads = ["model", "seeds", "parameters", "trained tokens"]
    heads += [figures["name"] for figures in names.values()] + ["printed"]
    cells = []
    for row in table["rows"]:
        figures = ["failed"] * (3 + len(names))
        if "failed" not in row:
            figures = [str(len(row["runs"])), _size_text(row["parameters"])]
            figures += [_size_text(mean(row["trained_tokens"]))]
            figures += [cell(row, name, table) for name in names]
        cells.append([row["name"], *figures, row["printed"] or NONE])
    return _without_empty_columns(heads, cells)


def _perplexity(row: dict[str, Any], name: str, table: dict[str, Any]) -> str:
    values = row["sets"][name]["perplexity"]
    if None in values:
        return NONE
    letter = f" {row['vocabularies'][0]}" if len(table["vocabularies"]) > 1 else ""
    return _mean_text(values) + letter


def _variation(row: dict[str, Any], name: str, table: dict[str, Any]) -> str:
    return _mean_text(row["sets"][name]["coefficient_of_variation"], 3)


def _rank(row: dict[str, Any], name: str, table: dict[str, Any]) -> str:
    return _mean_text(row["sets"][name]["rank"], 0)


def _last_word(row: dict[str, Any], name: str, table: dict[str, Any]) -> str:
    """Accuracy, and the perplexity of the last words."""
    figures = row["sets"][name]
    accuracy = _mean_text([100 * share for share in figures["accuracy"]])
    return f"{accuracy} %, {_mean_text(figures['last_word_perplexity'])}"


_CELLS = {
    "perplexity": _perplexity,
    "variation": _variation,
    "rank": _rank,
    "last word": _last_word,
}


def _provenance(table: dict[str, Any]) -> str:
    """Every row's time and signature, then the commands: of the table, and of each model once."""
    lines = ["<details><summary>Commands and signatures</summary>", "", "```text"]
    complete = [row for row in table["rows"] if "failed" not in row]
    for row in complete:
        minutes = ", ".join(f"{each:g}" for each in row["trained_minutes"])
        lines.append(f"{row['name']}: trained for {minutes} minutes; {row['signature']}")
    commands = dict.fromkeys(command for row in complete for command in row["commands"])
    return "\n".join([*lines, "", *table["commands"], *commands, "```", "", "</details>"])


def _without_empty_columns(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    columns = zip(heads, *rows, strict=True)
    kept = [column for column in columns if set(column[1:]) - {NONE}]
    kept_heads, *kept_rows = zip(*kept, strict=True)
    return grid(kept_heads, kept_rows)


def _mean_text(values: Sequence[float], digits: int = 2) -> str:
    """The mean and, of several, their standard deviation."""
    if not values:
        return NONE
    deviation = f" ± {stdev(values):.{digits}f}" if len(values) > 1 else ""
    return f"{mean(values):.{digits}f}{deviation}"


def _size_text(value: float) -> str:
    return f"{value / 1e6:.1f} M" if value >= 1e5 else f"{value:,.0f}"


def _p(tests: dict[str, float] | None) -> str:
    return NONE if tests is None else p_text(tests["randomisation_p"])


def p_text(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"
