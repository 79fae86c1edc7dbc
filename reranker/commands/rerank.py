"""``rerank --nbest ... --models ...``: its flags and what it writes."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import reranker.commands.nbest_files as nbest_arguments
from reranker.checkpoints.ensemble_file import named_models
from reranker.commands.gold_table import GoldTable
from reranker.commands.rejections import report
from reranker.errors import InputError
from reranker.files.journal import Written, open_output
from reranker.files.output import output_path
from reranker.nbest import NBest
from reranker.ranking import Ranking, Weighing

if TYPE_CHECKING:
    from reranker.pipeline import Reranker

EXAMPLES = """examples:
  rerank --nbest parses.txt --models ckpt/*.pt > best.txt
  rerank --nbest parses.txt.gz --models ckpt/*.pt --lm-weight 0.3 --output ranked --out ranked.jsonl
  rerank --nbest parses.txt --models ensemble.toml > best.txt
  rerank --nbest parses.txt --models ckpt/*.pt --gold gold.mrg --gold-tags --out best.txt
  rerank --nbest large.txt.zst --models ckpt/*.pt --out best.txt --resume
  rerank --nbest samples.txt --tokens sentences.txt --models ckpt/*.pt
  rerank --nbest bllip.txt berkeley.txt --models ckpt/*.pt
  parseIt -N50 DATA sentences | rerank --nbest - --models ckpt/*.pt

exit status: 0 fine, 1 candidates were rejected or a sentence has none, 2 nothing could be done"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``rerank`` to ``parser``."""
    nbest_arguments.add_arguments(parser, required=True)
    parser.add_argument(
        "--models",
        required=True,
        nargs="+",
        metavar="FILE",
        help="checkpoints of the ensemble, or the ensemble.toml of `rerank tune`",
    )
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="write here, when complete, instead of to stdout"
    )
    parser.add_argument(
        "--resume",
        action="store_true",
        help="go on with the FILE.part that an interrupted run with --out left, if there is one",
    )
    parser.add_argument(
        "--output",
        choices=("best", "ranked"),
        default="best",
        help="one tree a line, or one JSON object a line with every candidate (docs/output.md)",
    )
    parser.add_argument(
        "--token-scores",
        action="store_true",
        help="with --output ranked: every token's log-probability too",
    )
    parser.add_argument(
        "--restore",
        action="store_true",
        help="write trees with the sentence's words and tags in brackets, not as they came",
    )
    parser.add_argument(
        "--lm-weight",
        type=_weight,
        metavar="W",
        help="score = W * language models + (1 - W) * parser, in nats (default: what ensemble.toml "
        "says, else 1)",
    )
    parser.add_argument(
        "--criterion",
        choices=("perplexity", "token-perplexity"),
        help="perplexity per word of the sentence, which orders by total log-probability, "
        "or per token of the candidate (default: what ensemble.toml says, else perplexity)",
    )
    parser.add_argument(
        "--combine",
        choices=("sum", "average"),
        default="sum",
        help="sum the members' log-probabilities, or average their probabilities token by token, "
        "if they have one vocabulary and direction (default: sum)",
    )
    parser.add_argument(
        "--gold", metavar="FILE", help="gold trees, one a line: F1 of parser, reranked and oracle"
    )
    parser.add_argument(
        "--gold-tags",
        action="store_true",
        help="for that table, give every candidate the gold part-of-speech tags",
    )
    parser.add_argument(
        "--top",
        type=nbest_arguments.positive,
        metavar="K",
        help="with --output ranked: only the best K different candidates",
    )
    parser.add_argument(
        "--device",
        default="auto",
        metavar="NAMES",
        help="cpu, cuda or cuda:0,cuda:1; the ensemble's members take them in turn "
        "(default: auto, every GPU there is, else the CPU)",
    )
    parser.add_argument(
        "--threads",
        type=nbest_arguments.positive,
        metavar="N",
        help="CPU threads (default: one for each core)",
    )
    parser.add_argument(
        "--precision",
        choices=("exact", "fast"),
        default="exact",
        help="float32, or bfloat16, which may choose otherwise where candidates are less than "
        "half a nat apart (default: exact)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Rerank as the flags say; returns the exit code."""
    if arguments.gold_tags and not arguments.gold:
        raise InputError("--gold-tags needs --gold")
    if arguments.token_scores and arguments.output != "ranked":
        raise InputError("--token-scores needs --output ranked")
    if arguments.top is not None and arguments.output != "ranked":
        raise InputError("--top needs --output ranked; --output best is the best one")
    table = GoldTable(arguments.gold, arguments.gold_tags) if arguments.gold else None
    ensemble = named_models(arguments.models, arguments.combine)
    weighing = ensemble.weighing.replaced(arguments.lm_weight, arguments.criterion)
    inputs = [*nbest_arguments.inputs(arguments), *arguments.models, *ensemble.paths]
    out = output_path(arguments.out, inputs)
    lists = nbest_arguments.open_lists(arguments, restore=arguments.restore)

    from tqdm import tqdm

    from reranker.pipeline import Reranker

    reranker = Reranker.load(
        ensemble.paths,
        arguments.combine,
        arguments.device,
        arguments.threads,
        arguments.precision,
    )
    tally = _Tally(table)
    progress = tqdm(unit=" sentences", disable=not sys.stderr.isatty())
    with open_output(out, arguments.resume, _settings(arguments, reranker, weighing)) as output:
        for written in output.resumed():
            nbest = next(lists, None)
            if nbest is None:
                raise InputError("--nbest ends before what the interrupted run has written")
            tally.add_list(nbest)
            tally.add_answer(written)
            progress.update()
        if tally.sentences:
            print(f"rerank: going on after sentence {tally.sentences}", file=sys.stderr)
        rankings = reranker.rerank_lists(
            _watched(lists, tally),
            weighing,
            token_scores=arguments.token_scores,
            top=1 if arguments.output == "best" else arguments.top,
        )
        for ranking in rankings:
            report(ranking)
            written = _written(ranking)
            output.write(_line(ranking, arguments.output), written)
            tally.add_answer(written)
            progress.update()
        progress.close()
        if table is not None:
            table.check_complete()
    print(tally.summary(), file=sys.stderr)
    if table is not None:
        print(table.format(), file=sys.stdout if arguments.out else sys.stderr)
        tags = "gold" if arguments.gold_tags else "parser"
        signature = f"{reranker.signature(weighing)} evalb=COLLINS tags={tags}"
        print(f"rerank: signature {signature}", file=sys.stderr)
    return 1 if tally.rejected or tally.failed else 0


@dataclass(slots=True)
class _Tally:
    """Counts for the summary, and the gold table's rows."""

    table: GoldTable | None
    sentences: int = 0
    candidates: int = 0
    rejected: int = 0
    repaired: int = 0
    changed: int = 0
    failed: int = 0

    def add_list(self, nbest: NBest) -> None:
        if self.table is not None:
            self.table.add_list(nbest)

    def add_answer(self, written: Written) -> None:
        self.sentences += 1
        self.candidates += written.ranked
        self.rejected += written.rejected
        self.repaired += written.repaired
        self.changed += written.best_index not in (None, 0)
        self.failed += written.best_index is None
        if self.table is not None:
            self.table.add_choice(written.best_index)

    def summary(self) -> str:
        repaired = f"{self.repaired} of them repaired, " if self.repaired else ""
        return (
            f"rerank: {self.sentences} sentences, {self.candidates} candidates ranked, {repaired}"
            f"{self.rejected} rejected; {self.changed} sentences with another tree than the "
            f"parser's first, {self.failed} without a usable candidate"
        )


def _watched(lists: Iterable[NBest], tally: _Tally) -> Iterator[NBest]:
    for nbest in lists:
        tally.add_list(nbest)
        yield nbest


def _written(ranking: Ranking) -> Written:
    best = ranking.best
    return Written(
        best.index if best else None,
        len(ranking.ranking) + ranking.beaten,
        len(ranking.rejected),
        sum(one.repaired for one in ranking.ranking),
    )


def _settings(
    arguments: argparse.Namespace, reranker: Reranker, weighing: Weighing
) -> dict[str, Any]:
    """What the answers depend on: an interrupted run goes on only with the same."""
    return {
        "models": [member.sha256 for member in reranker.members],
        **nbest_arguments.settings(arguments),
        **{
            name: getattr(arguments, name)
            for name in ("output", "top", "token_scores", "restore", "combine", "precision")
        },
        **asdict(weighing),
    }


def _line(ranking: Ranking, output: str) -> str:
    if output == "best":
        return ranking.tree
    return json.dumps(ranking.to_dict(), ensure_ascii=False, allow_nan=False)


def _weight(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 1")
    return value
