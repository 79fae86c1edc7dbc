"""The weight of language models beside a span model that holds in other domains, and the shortlist.

    rerank parse gum.txt --tokens --models ckpt/spans.pt ckpt/rnn-forward.pt --output ranked \\
        --out gum.jsonl
    python eval/lists/domains.py gum.jsonl=gum.mrg masc.jsonl=masc.mrg wsj.jsonl=wsj.mrg --gold-tags

For each set: F1 of the first trees, and the gain over it with the weight and the shortlist that
gain most on the mean of the *other* sets. The last rows have those that gain most on all, and
``--now``: a weight and a shortlist to compare with, and the p-value of the difference on all
sentences together.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reranker.evaluation.brackets import GoldTrees, corpus_f1
from reranker.evaluation.significance import randomisation_p
from reranker.files.table import aligned
from reranker.files.text import read_lines
from reranker.plugins.tuning.scored_lists import ScoredLists, read_scored
from reranker.process.flags import reporting_errors

WEIGHTS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.7, 1.0)
NATS = (1.0, 1.5, 2.0, 3.0, 5.0)


class Setting(NamedTuple):
    """A weight of the language models, the span model's being 1, and a shortlist in nats."""

    weight: float
    nats: float


class Domain:
    """A set of scored lists, with one span model among the members."""

    def __init__(self, name: str, lists: ScoredLists, span_member: int) -> None:
        self.name, self.lists = name, lists
        self._span = np.where(lists.is_candidate, lists.members[..., span_member], -np.inf)
        self._others = np.delete(lists.members, span_member, 2).sum(2)
        self.first = corpus_f1(lists.parsers_first())

    def counts(self, setting: Setting) -> NDArray[np.int64]:
        """Return [S, 3] the counts of the best trees."""
        is_on = self._span >= self._span.max(1, keepdims=True) - setting.nats
        scores = np.where(is_on, self._span + setting.weight * self._others, -np.inf)
        counts: NDArray[np.int64] = self.lists.counts[np.arange(len(scores)), scores.argmax(1)]
        return counts

    def gain(self, setting: Setting) -> float:
        """Return the difference of F1 from the parser's first trees."""
        return corpus_f1(self.counts(setting)) - self.first


def read(name: str, gold_tags: bool) -> Domain:
    """Read the set ``RANKED=GOLD``."""
    ranked, _, gold = name.partition("=")
    lines = [*read_lines(ranked)]
    entry = json.loads(lines[0])["ranking"][0]
    lists = read_scored(lines, GoldTrees([gold], gold_tags), ranked)
    return Domain(ranked, lists, entry["member_nll"].index(entry["span_nll"]))


def rows(domains: list[Domain], now: Setting) -> list[tuple[str, ...]]:
    """Return the table."""
    settings = [Setting(weight, nats) for weight in WEIGHTS for nats in NATS]
    gains = np.array([[each.gain(setting) for each in domains] for setting in settings])
    table: list[tuple[str, ...]] = [("set", "first tree", "weight", "nats", "gain")]
    held_out = []
    for place, domain in enumerate(domains):
        best = int(np.delete(gains, place, 1).mean(1).argmax())
        held_out.append(gains[best, place])
        table.append(_row(domain.name, f"{domain.first:.2f}", settings[best], held_out[-1]))
    table.append(("mean", "", "", "", f"{np.mean(held_out):+.2f}"))
    chosen = settings[int(gains.mean(1).argmax())]
    for setting in (chosen, now):
        each = " ".join(f"{domain.gain(setting):+.2f}" for domain in domains)
        mean = float(np.mean([domain.gain(setting) for domain in domains]))
        table.append(_row(f"all: {each}", "", setting, mean))
    together = [np.concatenate([each.counts(one) for each in domains]) for one in (chosen, now)]
    difference = corpus_f1(together[0]) - corpus_f1(together[1])
    p = randomisation_p(together[1], together[0])
    return [*table, (f"difference of the last two, p = {p:.4f}", "", "", "", f"{difference:+.2f}")]


def _row(name: str, first: str, setting: Setting, gain: float) -> tuple[str, ...]:
    return name, first, f"{setting.weight:g}", f"{setting.nats:g}", f"{gain:+.2f}"


@reporting_errors("domains")
def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("sets", nargs="+", metavar="RANKED=GOLD", help="ranked output, gold trees")
    parser.add_argument("--gold-tags", action="store_true", help="compare brackets only")
    parser.add_argument("--now", type=float, nargs=2, default=[1.0, 3.0], metavar=("W", "NATS"))
    arguments = parser.parse_args()
    domains = [read(each, arguments.gold_tags) for each in arguments.sets]
    print(aligned(rows(domains, Setting(*arguments.now))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
