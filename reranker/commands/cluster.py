"""``rerank cluster``: many files, on the cores of this machine or the machines of a cluster."""

from __future__ import annotations

import argparse
import importlib.util
import sys
from dataclasses import asdict
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from reranker.checkpoints.ensemble_file import WeighedModels, named_models
from reranker.commands import answers, nbest_files
from reranker.commands.arguments import counted, number_from, positive
from reranker.commands.progress import Bar, message, status
from reranker.errors import InputError
from reranker.outputs.registry import needs_brackets

if TYPE_CHECKING:
    from reranker.ray.outcome import Outcome
    from reranker.ray.parts import Shard

EXAMPLES = """examples:
  rerank cluster --nbest 'lists/*.zst' --out trees/ --models ckpt/*.pt
  rerank cluster --nbest 's3://bucket/lists/*.zst' --out s3://bucket/trees/ --output ranked
  rerank cluster --nbest 'gs://bucket/*.gz' --out gs://bucket/trees/ --address auto --actors 4:64
  rerank cluster --nbest 'lists/*.gz' --out trees/ --gpus 0.5

Each file becomes one in the folder of --out, with just the bytes that `rerank --nbest FILE` prints.
Run again, the command does what is missing: files that are new or changed, or that another setting
was used for, and what an interrupted run has not finished (docs/cluster.md).

exit status: 0 success, 1 a file cannot be read, candidates were rejected or a sentence has none
left, 2 unusable flags, output or cluster, 130 interrupted"""

_PACKAGES = ("fsspec", "ray", "pyarrow")
_BLOCK = 200


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``rerank cluster`` to ``parser``."""
    parser.add_argument(
        "--nbest",
        required=True,
        nargs="+",
        metavar="FILE",
        help="n-best lists: files, URLs that fsspec knows (s3://, gs://, https://) or quoted "
        "patterns of them, plain, .gz or .zst",
    )
    parser.add_argument(
        "--out", required=True, metavar="FOLDER", help="where one file for each FILE is written"
    )
    nbest_files.add_reading_arguments(parser)
    answers.add_ranking_arguments(parser)
    parser.add_argument(
        "--restore",
        action="store_true",
        help="write bracketed trees with the sentence's words and tags, not the parser's text",
    )
    parser.add_argument(
        "--address",
        metavar="WHERE",
        help="local: this machine alone; auto, HOST:PORT or ray://HOST:PORT: a cluster that runs "
        "(default: RAY_ADDRESS, else local)",
    )
    parser.add_argument(
        "--actors",
        type=_bounds,
        default=(1, None),
        metavar="N|N:M",
        help="processes with the models loaded, from N to M of them as there is work (default: 1 "
        "to as many as there are cores for)",
    )
    parser.add_argument(
        "--cores",
        type=positive,
        metavar="N",
        help="cores of each actor (default: 4, or all of the smallest machine)",
    )
    parser.add_argument(
        "--gpus",
        type=number_from(0),
        default=0.0,
        metavar="N",
        help="GPUs of each actor; 0.5: two actors share one (default: 0)",
    )
    parser.add_argument(
        "--block",
        type=positive,
        default=_BLOCK,
        metavar="N",
        help=f"sentences that an actor is given at once, and a kill can cost (default: {_BLOCK})",
    )


def _bounds(text: str) -> tuple[int, int]:
    least, _, most = text.partition(":")
    bounds = positive(least), positive(most or least)
    if bounds[0] > bounds[1]:
        raise argparse.ArgumentTypeError(f"{text!r}: the first number is the smaller one")
    return bounds


def run(arguments: argparse.Namespace) -> int:
    """Rerank every file; returns the exit code."""
    answers.check(arguments)
    if arguments.tokens:
        raise InputError(
            "--tokens has the sentences of one file: put them into each with `rerank convert`"
        )
    for name in _PACKAGES:
        if importlib.util.find_spec(name) is None:
            raise InputError(
                f"rerank cluster needs the package {name}: pip install 'parse-reranker[ray]'"
            )
    named = named_models(arguments.models, arguments.combine, arguments.sha256)
    weighing = named.weighing.replaced(arguments.lm_weight, arguments.criterion)
    with status("looking for files"):
        from reranker.ray.outcome import Outcome
        from reranker.ray.parts import REJECTED, finished, shards
        from reranker.ray.storage import Storage, expanded
        from reranker.ray.work import self_contained

        named = self_contained(named, arguments.combine, weighing)
        files, storage = expanded(arguments.nbest), Storage(arguments.out)
        storage.check_writable()
        settings = _settings(arguments, named)
        wanted = shards(files, arguments.output, settings, arguments.block)
        for shard in wanted:
            if storage.holds(shard.url, shard.name):
                raise InputError(f"{shard.url}: is also an output; give --out another folder")
        outcome = Outcome(finished(storage, wanted))
    missing = [shard for shard in wanted if shard.name not in outcome.records]
    if outcome.records:
        complete = f"{counted(len(outcome.records), 'file')} of {len(wanted)}"
        message(f"rerank: {complete} complete already")
    if missing:
        _rank(arguments, named, missing, outcome)
    outcome.write_rejected(storage, wanted)
    for shard in missing:
        if shard.name in outcome.failed:
            message(f"rerank: {outcome.failed[shard.name]}")
        for warning in (
            outcome.records[shard.name].warnings if shard.name in outcome.records else ()
        ):
            message(f"rerank: {warning}")
    counts = outcome.counts
    print(answers.summary(counts), file=sys.stderr)
    if outcome.failed or counts["rejected"]:
        failed = f"{counted(len(outcome.failed), 'file')} of {len(wanted)} cannot be read; "
        where = storage.path(REJECTED)
        message(f"rerank: {failed if outcome.failed else ''}what was rejected: {where}")
    return 1 if outcome.failed or counts["rejected"] or counts["failed"] else 0


def _restores(arguments: argparse.Namespace) -> bool:
    return arguments.restore or needs_brackets(arguments.output)


def _settings(arguments: argparse.Namespace, named: WeighedModels) -> dict[str, Any]:
    """What answers depend on, besides the file."""
    known = named.calibration if arguments.output == "ranked" else None
    names = ("format", "repair", "beam", "output", "top", "token_scores", "combine", "precision")
    return {
        "version": version("parse-reranker"),
        "models": list(named.sha256),
        **{name: getattr(arguments, name) for name in names},
        "restore": _restores(arguments),
        **asdict(named.weighing),
        "confidence": asdict(known) if known else None,
        "cascade": asdict(named.cascade) if named.cascade else None,
    }


def _rank(
    arguments: argparse.Namespace, named: WeighedModels, missing: list[Shard], outcome: Outcome
) -> None:
    """Do what is missing, and say what it took."""
    with status("loading Ray"):
        from reranker.ray import cluster, connection
        from reranker.ray.work import Ranked, Reading

    options = nbest_files.options(arguments, _restores(arguments))
    reading = Reading(tuple(missing), arguments.out, options)
    with connection.connected(arguments.address):
        least, most = arguments.actors
        actors = connection.actors(least, most, arguments.cores, arguments.gpus)
        device = "cpu" if arguments.device == "auto" and not arguments.gpus else arguments.device
        ranked = Ranked(
            models=named,
            combination=arguments.combine,
            device=device,
            threads=actors.cores,
            precision=arguments.precision,
            output=arguments.output,
            token_scores=arguments.token_scores,
            top=arguments.top,
        )
        with Bar("files", total=len(missing)) as bar:
            done = len(outcome.records)

            def report() -> None:
                bar.reach(len(outcome.records) - done + len(outcome.failed))
                bar.describe(f"{outcome.sentences:,} sentences, files")

            cluster.rank(missing, reading, ranked, actors, outcome, report)
    if outcome.sentences:
        cost = outcome.computing / outcome.sentences
        message(
            f"rerank: {outcome.startup:.1f} s to start, then {outcome.seconds:.1f} s for "
            f"{counted(outcome.sentences, 'sentence')}: {outcome.sentences / outcome.seconds:.1f} "
            f"a second, {cost:.3g} core-seconds each"
        )
