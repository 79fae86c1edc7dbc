"""``rerank --nbest ... --models ...``: its flags and what it writes."""

from __future__ import annotations

import argparse
import contextlib
import glob
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from reranker.errors import InputError
from reranker.gold import GoldTable
from reranker.nbest import NBest, read_nbest
from reranker.ranking import Ranking, Weighing

if TYPE_CHECKING:
    from reranker.pipeline import Reranker

EXAMPLES = """examples:
  rerank --nbest parses.txt --models ckpt/*.pt > best.txt
  rerank --nbest parses.txt.gz --models ckpt/*.pt --lm-weight 0.3 --output ranked --out ranked.jsonl
  rerank --nbest parses.txt --models ckpt/*.pt --gold gold.mrg --gold-tags --out best.txt
  parseIt -N50 DATA sentences | rerank --nbest - --models ckpt/*.pt

exit status: 0 fine, 1 some candidates were rejected, 2 nothing could be done"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``rerank`` to ``parser``."""
    parser.add_argument(
        "--nbest", required=True, metavar="FILE", help="n-best lists, plain or .gz; - reads stdin"
    )
    parser.add_argument(
        "--models", required=True, nargs="+", metavar="FILE.pt", help="checkpoints of the ensemble"
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="write here instead of stdout")
    parser.add_argument(
        "--output",
        choices=("best", "ranked"),
        default="best",
        help="one tree a line, or one JSON object a line with every candidate (docs/output.md)",
    )
    parser.add_argument(
        "--lm-weight",
        type=_weight,
        default=1.0,
        metavar="W",
        help="score = W * language models + (1 - W) * parser, in nats (default: 1)",
    )
    parser.add_argument(
        "--criterion",
        choices=("perplexity", "token-perplexity"),
        default="perplexity",
        help="perplexity per word of the sentence, which orders by total log-probability, "
        "or per token of the candidate (default: perplexity)",
    )
    parser.add_argument(
        "--combine",
        choices=("sum", "average"),
        default="sum",
        help="sum the members' log-probabilities, or average their probabilities (default: sum)",
    )
    parser.add_argument(
        "--gold", metavar="FILE", help="gold trees, one a line: F1 of parser, reranked and oracle"
    )
    parser.add_argument(
        "--gold-tags",
        action="store_true",
        help="for that table, give every candidate the gold part-of-speech tags",
    )
    parser.add_argument("--device", default="cpu", metavar="cpu|cuda", help="default: cpu")


def run(arguments: argparse.Namespace) -> int:
    """Rerank as the flags say; returns the exit code."""
    if arguments.gold_tags and not arguments.gold:
        raise InputError("--gold-tags needs --gold")
    table = GoldTable(arguments.gold, arguments.gold_tags) if arguments.gold else None
    paths = _checkpoints(arguments.models)
    lists = _peeked(read_nbest(arguments.nbest))

    import torch
    from tqdm import tqdm

    from reranker.pipeline import Reranker

    if arguments.device.startswith("cuda") and not torch.cuda.is_available():
        raise InputError(f"--device {arguments.device}: no CUDA device here")
    reranker = Reranker.load(paths, arguments.combine, arguments.device)
    weighing = Weighing(arguments.lm_weight, arguments.criterion)
    counts: Counter[str] = Counter()

    def watched() -> Iterator[NBest]:
        for nbest in lists:
            for one in nbest.rejected:
                where = (
                    f"{arguments.nbest}:{one.line}: candidate {one.index + 1} of list {nbest.id}"
                )
                print(f"rerank: {where} rejected, {one.code}: {one.message}", file=sys.stderr)
            if table is not None:
                table.add_list(nbest)
            yield nbest

    progress = tqdm(unit=" sentences", disable=not sys.stderr.isatty())
    with _destination(arguments.out) as file:
        for ranking in reranker.rerank_lists(watched(), weighing):
            file.write(_line(ranking, arguments.output) + "\n")
            counts["sentences"] += 1
            counts["candidates"] += len(ranking.ranking)
            counts["rejected"] += len(ranking.rejected)
            counts["failed"] += ranking.status == "failed"
            best = ranking.best
            counts["changed"] += best is not None and best.index != 0
            if table is not None:
                table.add_ranking(ranking)
            progress.update()
        progress.close()
        if table is not None:
            table.check_complete()
    print(
        f"rerank: {counts['sentences']} sentences, {counts['candidates']} candidates ranked, "
        f"{counts['rejected']} rejected; {counts['changed']} sentences with another tree than the "
        f"parser's first, {counts['failed']} without any",
        file=sys.stderr,
    )
    if table is not None:
        print(table.format(), file=sys.stdout if arguments.out else sys.stderr)
        print(signature(reranker, weighing, arguments), file=sys.stderr)
    return 1 if counts["rejected"] else 0


def signature(reranker: Reranker, weighing: Weighing, arguments: argparse.Namespace) -> str:
    """What a figure depends on: version, checkpoints, combination, weight, criterion, tags."""
    from importlib.metadata import version

    members = ",".join(f"{one.name}:{one.sha256[:8]}" for one in reranker.members)
    return (
        f"rerank: signature version={version('parse-reranker')} models={members} "
        f"combine={reranker.combination} lm-weight={weighing.lm_weight:g} "
        f"criterion={weighing.criterion} evalb=COLLINS "
        f"tags={'gold' if arguments.gold_tags else 'parser'}"
    )


def _line(ranking: Ranking, output: str) -> str:
    if output == "best":
        return ranking.tree
    return json.dumps(ranking.to_dict(), ensure_ascii=False, allow_nan=False)


def _checkpoints(given: list[str]) -> list[Path]:
    """The files named, quoted globs expanded; raises InputError for a name that matches nothing."""
    paths: list[Path] = []
    for name in given:
        matches = [name] if os.path.exists(name) else sorted(glob.glob(name))
        if not matches:
            raise InputError(f"--models {name}: no such file")
        paths.extend(Path(match) for match in matches)
    return paths


def _peeked(lists: Iterator[NBest]) -> Iterator[NBest]:
    """The same lists, the first read at once: a wrong file is found before models are loaded."""
    first = next(lists)

    def chained() -> Iterator[NBest]:
        yield first
        yield from lists

    return chained()


@contextlib.contextmanager
def _destination(path: Path | None) -> Iterator[TextIO]:
    """Standard output, or a file that appears only when complete."""
    if path is None:
        yield sys.stdout
        sys.stdout.flush()
        return
    temporary = path.with_name(path.name + ".tmp")
    try:
        with temporary.open("w", encoding="utf-8", errors="surrogateescape") as file:
            yield file
        temporary.replace(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from error
    finally:
        temporary.unlink(missing_ok=True)


def _weight(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 1")
    return value
