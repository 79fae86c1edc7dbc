"""eval/lists/shortlist.py, worked by hand on two sentences."""

from __future__ import annotations

from pathlib import Path

from tests.eval.scripts import run
from tests.reranker.plugins.tuning import tuned_lists

FLAT, DEEP = "(TOP (S (A a) (B b) (C c)))", "(TOP (S (A a) (VP (B b) (C c))))"


def entry(index: int, tree: str, language_nll: float, span_nll: float) -> dict[str, object]:
    both = tuned_lists.entry(index, tree, language_nll + span_nll, None, language_nll, span_nll)
    return {**both, "span_nll": span_nll}


def test_a_table_by_hand(tmp_path: Path) -> None:
    """The language model prefers the second tree of both lists, by 4 and 1 nats, the span model
    the first, by 2 and 0.5. The second tree is right only in the second list."""
    lists = [
        [entry(0, FLAT, 9.0, 1.0), entry(1, DEEP, 5.0, 3.0)],
        [entry(0, FLAT, 9.0, 1.0), entry(1, DEEP, 8.0, 1.5)],
    ]
    ranked = tmp_path / "dev.jsonl"
    ranked.write_text(tuned_lists.ranked(*lists))
    gold = tmp_path / "dev.mrg"
    gold.write_text(f"{FLAT}\n{DEEP}\n")
    done = run("lists/shortlist.py", ranked, gold, "--nats", "2", "1", "0")
    # Brackets of gold: S; S and VP. The right one alone changes a match.
    assert [line.split() for line in done.stdout.splitlines()] == [
        ["nats", "judged", "alone", "changed", "F1"],
        ["all", "2.0", "0", "0", "85.71"],
        ["2", "2.0", "0", "0", "85.71"],
        ["1", "1.5", "1", "1", "100.00"],
        ["0", "1.0", "2", "2", "80.00"],
        ["first", "80.00"],
    ]
