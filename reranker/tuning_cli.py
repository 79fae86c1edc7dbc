"""``rerank tune``: its flags and its table."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from reranker.errors import InputError
from reranker.textfiles import open_text

EXAMPLES = """examples:
  rerank --nbest dev.txt --models ckpt/*.pt --output ranked --out dev.jsonl
  rerank tune dev.jsonl dev.mrg --gold-tags

The best weight of one half of the sentences is tried on the other, so that the figure to expect
on new text stands beside the one that was tuned."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``rerank tune`` to ``parser``."""
    parser.add_argument(
        "ranked", metavar="RANKED", help="from `rerank --output ranked`, any weight"
    )
    parser.add_argument("gold", metavar="GOLD", help="gold trees, one a line, in the same order")
    parser.add_argument(
        "--gold-tags", action="store_true", help="give every candidate the gold tags first"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print F1 by ``--lm-weight``; returns the exit code."""
    from reranker.tuning import ScoredSentence, f1, read_scored, sweep

    with open_text(arguments.ranked) as ranked, open_text(arguments.gold) as gold:
        sentences = read_scored(ranked, gold, arguments.gold_tags)
    if not sentences:
        raise InputError(f"{arguments.ranked}: no sentence with a usable candidate")
    half = (len(sentences) + 1) // 2
    parts: list[Sequence[ScoredSentence]] = [sentences[:half], sentences[half:], sentences]
    curves = [sweep(part) if part else {} for part in parts]
    rows: list[tuple[str, ...]] = [("", "first half", "second half", "all")]
    rows.append(("parser", *(_figure(f1(one.counts[0] for one in part)) for part in parts if part)))
    for weight in curves[2]:
        rows.append((f"W = {weight:.2f}", *(_figure(curve[weight]) for curve in curves if curve)))
    rows.append(("oracle", *(_figure(f1(one.oracle() for one in part)) for part in parts if part)))
    for row in rows:
        print(f"{row[0]:10}" + "".join(f"{cell:>13}" for cell in row[1:]))
    if all(curves):
        # The weight nearest 1 of equals: it leans least on the parser.
        best = max(curves[0], key=lambda weight: (curves[0][weight], weight))
        print(f"\nbest of the first half: W = {best:.2f}, on the second {curves[1][best]:.2f}")
    return 0


def _figure(percent: float) -> str:
    return f"{percent:.2f}"
