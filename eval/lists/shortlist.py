"""The cost of a shortlist: F1, winners changed and candidates judged, by its length in nats.

    rerank parse dev.txt --tokens --models ckpt/*.pt --output ranked --out dev.jsonl
    python eval/lists/shortlist.py dev.jsonl dev.mrg --gold-tags

``dev.jsonl`` has the scores of all candidates under an ensemble of span models and language models;
any weighing may have been used, since the scores of the members are read. A winner is changed if it
is another than that among all candidates.
"""

from __future__ import annotations

import argparse
import json
import sys

import numpy as np

from reranker.evaluation.brackets import GoldTrees, corpus_f1
from reranker.files.table import aligned
from reranker.files.text import read_lines
from reranker.plugins.tuning.scored_lists import ScoredLists, read_scored
from reranker.process.flags import reporting_errors
from reranker.ranking import Weighing


@reporting_errors("shortlist")
def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("ranked", help="ranked output")
    parser.add_argument("gold", help="the gold trees of its sentences")
    parser.add_argument("--gold-tags", action="store_true", help="compare brackets only")
    parser.add_argument("--nats", type=float, nargs="+", default=[5.0, 4.0, 3.0, 2.0, 1.0, 0.0])
    arguments = parser.parse_args()
    gold = GoldTrees([arguments.gold], arguments.gold_tags)
    lines = [*read_lines(arguments.ranked)]
    lists = read_scored(lines, gold, arguments.ranked)
    print(aligned(rows(lists, span_scores(lines), arguments.nats)))
    return 0


def span_scores(ranked_lines: list[str]) -> list[list[float]]:
    """Return the span models' log-probability of each distinct candidate, in the parser's order, of
    every list that has one."""
    found = []
    for line in ranked_lines:
        entries = json.loads(line)["ranking"]
        distinct = [each for each in entries if each["duplicate_of"] is None]
        distinct.sort(key=lambda each: int(each["index"]))
        if distinct:
            found.append([-float(each["span_nll"]) for each in distinct])
    return found


def rows(lists: ScoredLists, spans: list[list[float]], nats: list[float]) -> list[list[str]]:
    """Return the table: a row for all candidates, one for each shortlist, and one for the parser's
    first."""
    scores = lists.scores(Weighing())
    span = np.full(scores.shape, -np.inf)
    for row, known in zip(span, spans, strict=True):
        row[: len(known)] = known
    winners = scores.argmax(1)
    table = [["nats", "judged", "alone", "changed", "F1"]]
    for most in [np.inf, *nats]:
        is_on = lists.is_candidate & (span >= span.max(1, keepdims=True) - most)
        best = np.where(is_on, scores, -np.inf).argmax(1)
        counts = lists.counts[np.arange(len(lists)), best]
        judged = is_on.sum(1)
        name = "all" if most == np.inf else f"{most:g}"
        figures = [f"{judged.mean():.1f}", str((judged == 1).sum()), str((best != winners).sum())]
        table.append([name, *figures, f"{corpus_f1(counts):.2f}"])
    first = f"{corpus_f1(lists.parsers_first()):.2f}"
    return [*table, ["first", "", "", "", first]]


if __name__ == "__main__":
    sys.exit(main())
