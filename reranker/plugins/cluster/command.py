"""``rerank cluster``: many files, on the cores of this machine or the machines of a cluster."""

from __future__ import annotations

import argparse
import importlib.util
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, get_args

from reranker.commands import convert, nbest_flags, parser_flags, ranking_flags, text_flags
from reranker.commands.arguments import add_restore, summary
from reranker.commands.progress import Bar, message, rejection, status
from reranker.errors import InputError
from reranker.files.encoding import told
from reranker.files.visible import counted
from reranker.languages import ENGLISH
from reranker.nbest import FORMATS, ReadOptions
from reranker.parsers.parser import language_of
from reranker.process.flags import number_from, positive, whole_number
from reranker.ranking.ranker import VERSION
from reranker.text.conventions import convention_of
from reranker.text.splitting import TextForm
from reranker.work.conversion import conversion_summary
from reranker.work.nbest_files import reading_identity
from reranker.work.ranking import RankSettings
from reranker.work.texts import TextSettings

if TYPE_CHECKING:
    from reranker.plugins.cluster.parts import ClusterOutcome, Shard
    from reranker.plugins.cluster.work import RankTask
    from reranker.service.settings import Settings

LESS_MEMORY = "fewer --actors, of fewer --cores, take less"

EXAMPLES = """examples:
  rerank cluster --nbest 'lists/*.zst' --out trees/ --models ckpt/*.pt
  rerank cluster --nbest 's3://bucket/lists/*.zst' --out s3://bucket/trees/ --output ranked
  rerank cluster --nbest 'gs://bucket/*.gz' --out gs://bucket/trees/ --address auto --actors 4:64
  rerank cluster --nbest 'lists/*.gz' --out trees/ --gpus 0.5
  rerank cluster --text 's3://bucket/news/*.txt.zst' --out s3://bucket/trees/ --parser bllip

Each FILE becomes one file in FOLDER, identical to the output of `rerank --nbest FILE`, of
`rerank parse FILE` or, with --to, of `rerank convert FILE`. When repeated, the command
does only files that are new, changed or unfinished, or made with other settings (docs/cluster.md).

exit status: 0 success, 1 a file cannot be read, candidates were rejected or a sentence has none
left, 2 unusable flags, output or cluster, 3 out of memory, 130 interrupted"""

USAGE = "%(prog)s (--nbest | --text) FILE [FILE ...] --out FOLDER [flags]"
GROUPS = {
    "everyday flags": "--nbest --text --out --models --output --parser --address --actors",
    "input": "--form --words --language --format --tokens --repair --no-repair --beam",
    "models": (
        "--parser-command --parser-model --candidates --overparsing --sha256 --lm-weight "
        "--criterion --combine"
    ),
    "output": "--to --to-beam --restore --top --token-scores --verify",
    "limits": "--cores --gpus --block --jobs --longest --parser-seconds --device --precision",
}

_BLOCK, _MOST_BLOCK = 200, 100_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``rerank cluster`` to ``parser``."""
    add = parser.add_argument
    given = parser.add_mutually_exclusive_group(required=True)
    text = (
        "n-best lists: files, URLs that fsspec knows (s3://, gs://, https://) or quoted patterns "
        "of them, plain, .gz or .zst"
    )
    given.add_argument("--nbest", nargs="+", metavar="FILE", help=text)
    text = "text to parse first, as `rerank parse` does; files as for --nbest"
    given.add_argument("--text", nargs="+", metavar="FILE", help=text)
    text = "folder for the outputs, one per FILE"
    add("--out", required=True, metavar="FOLDER", help=text)
    text = (
        "form of --text: running text, running text with lines broken anywhere (prose), one "
        "sentence per line, or sentences with a space between words (tokens) (default: text)"
    )
    add("--form", choices=get_args(TextForm), default="text", help=text)
    text_flags.add_words(parser, "for --text: ")
    parser_flags.add_choice(parser, longest=200)
    nbest_flags.add_reading_arguments(parser)
    text = "convert --nbest as `rerank convert --to NAME` does, without reranking"
    add("--to", choices=FORMATS, metavar="NAME", help=text)
    convert.add_to_beam(parser)
    ranking_flags.add_ranking_arguments(parser)
    add_restore(parser)
    text = (
        "local: only this machine; auto, HOST:PORT or ray://HOST:PORT: a running cluster "
        "(default: RAY_ADDRESS, else local)"
    )
    add("--address", metavar="WHERE", help=text)
    text = (
        "number of processes that load the models, or N:M: from N to M, depending on the work "
        "(default: from 1 to as many as the cores allow)"
    )
    add("--actors", type=_bounds, default=(1, None), metavar="N|N:M", help=text)
    text = "cores per actor (default: 4, or all of the smallest machine)"
    add("--cores", type=positive, metavar="N", help=text)
    text = "GPUs per actor; 0.5: two actors share one (default: 0)"
    add("--gpus", type=number_from(0), default=0.0, metavar="N", help=text)
    text = f"sentences that an actor gets at once; a kill loses at most these (default: {_BLOCK})"
    add("--block", type=whole_number(1, _MOST_BLOCK), default=_BLOCK, metavar="N", help=text)
    text = "also read all finished files, and redo files whose SHA-256 has changed"
    add("--verify", action="store_true", help=text)


def _bounds(text: str) -> tuple[int, int]:
    least, _, most = text.partition(":")
    bounds = positive(least), positive(most or least)
    if bounds[0] > bounds[1]:
        raise argparse.ArgumentTypeError(f"{text!r}: the first number must be the smaller one")
    return bounds


def run(arguments: argparse.Namespace) -> int:
    """Rerank every file; return the exit code."""
    _check_input(arguments)
    _require("rerank cluster", "fsspec", "ray", "pyarrow")
    ranking = None if arguments.to else _ranking(arguments)
    with status("looking for files"):
        from reranker.plugins.cluster import parts
        from reranker.plugins.cluster.parts import (
            FOLDER,
            REJECTED,
            ClusterOutcome,
            finished,
            shards,
        )
        from reranker.plugins.cluster.storage import Storage, expanded

        files, storage = expanded(arguments.nbest or arguments.text), Storage(arguments.out)
        storage.check_writable()
        settings = _settings(arguments, ranking)
        if ranking is None:
            suffix = ".jsonl" if arguments.to == "jsonl" else ".txt"
        else:
            suffix = ranking.form.suffix
        wanted = shards(files, suffix, settings, arguments.block)
        names = [name for shard in wanted for name in (shard.name, shard.record)]
        if replaced := storage.written_input(files, names, FOLDER):
            raise InputError(f"{replaced}: is also an output; give --out another folder")
    with storage.claimed(FOLDER):
        with status("looking for files"):
            parts.check_case(storage, wanted)
            outcome = ClusterOutcome(finished(storage, wanted, arguments.verify))
            missing = [shard for shard in wanted if shard.name not in outcome.records]
            parts.check_outputs(storage, missing)
        if outcome.records:
            complete = f"{counted(len(outcome.records), 'file')} of {len(wanted)}"
            message(f"rerank: {complete} complete already")
        if missing:
            _run(arguments, ranking, missing, outcome)
        outcome.write_rejected(storage, wanted)
    return _report(arguments, storage.path(REJECTED), outcome, wanted, missing)


def _report(
    arguments: argparse.Namespace,
    rejected: str,
    outcome: ClusterOutcome,
    wanted: list[Shard],
    missing: list[Shard],
) -> int:
    """Print the outcome for all files; ``rejected`` is the file that lists what was rejected.
    Returns the exit code."""
    for shard in missing:
        if shard.name in outcome.failed:
            message(f"rerank: {outcome.failed[shard.name]}")
        for warning in (
            outcome.records[shard.name].warnings if shard.name in outcome.records else ()
        ):
            rejection(f"rerank: {warning}")
    counts = outcome.counts
    message(f"rerank: {conversion_summary(counts)}" if arguments.to else summary(counts))
    if outcome.failed or counts["rejected"]:
        failed = f"{counted(len(outcome.failed), 'file')} of {len(wanted)} cannot be read; "
        message(f"rerank: {failed if outcome.failed else ''}what was rejected: {rejected}")
    wrong = (counts[name] for name in ("rejected", "failed", "faults"))
    return 1 if outcome.failed or any(wrong) else 0


def _ranking(arguments: argparse.Namespace) -> RankSettings:
    """Return the settings with everything that actors need. Raises InputError."""
    from reranker.plugins.cluster.work import self_contained

    choice = parser_flags.choice(arguments) if arguments.text else None
    return self_contained(ranking_flags.settings(arguments, choice))


def _check_input(arguments: argparse.Namespace) -> None:
    """Raise InputError for flags that belong to the other kind of input."""
    if arguments.tokens:
        raise InputError(
            "--tokens has the sentences of one file: add them to each file with `rerank convert`"
        )
    if arguments.text and (arguments.restore or arguments.repair is not None):
        raise InputError("--restore and --repair are for --nbest")
    if arguments.nbest and any(
        (arguments.parser, arguments.parser_command, arguments.parser_model, arguments.jobs)
    ):
        raise InputError("a parser is for --text; --nbest has its trees already")
    if arguments.to:
        if arguments.text or arguments.models or arguments.output != "best":
            raise InputError("--to converts --nbest, without --models and --output")
        convert.settings(arguments)


def _restores(arguments: argparse.Namespace, ranking: RankSettings) -> bool:
    return arguments.restore or ranking.form.needs_brackets


def _settings(arguments: argparse.Namespace, ranking: RankSettings | None) -> dict[str, Any]:
    """Return everything besides the file that answers depend on."""
    reading = {
        "version": VERSION,
        "encoding": told(),
        **reading_identity(nbest_flags.options(arguments)),
    }
    if ranking is None:
        return {**reading, "to": arguments.to, "to_beam": arguments.to_beam}
    known = ranking.models.calibration if ranking.form.has_all_candidates else None
    text: dict[str, Any] = {}
    if arguments.text:
        names = ("form", "words", "longest", "speakers")
        text = {name: getattr(arguments, name) for name in names}
        text |= parser_flags.choice(arguments).identity()
    return {
        **reading,
        "models": list(ranking.models.sha256),
        **text,
        "restore": _restores(arguments, ranking),
        **ranking.identity(),
        "confidence": asdict(known) if known else None,
    }


def _language(arguments: argparse.Namespace) -> str:
    """Return the language of the texts: the flag's, else the one that the parser has learned.
    Raises InputError."""
    choice = parser_flags.choice(arguments)
    if arguments.language or choice.names != ["chart"]:
        return arguments.language or ENGLISH  # a command may be on the cluster's machines alone
    return language_of(choice.create())


def _run(
    arguments: argparse.Namespace,
    ranking: RankSettings | None,
    missing: list[Shard],
    outcome: ClusterOutcome,
) -> None:
    """Do the missing work, and print how long it took."""
    with status("loading Ray"):
        from reranker.plugins.cluster import cluster, connection
        from reranker.plugins.cluster.storage import absolute
        from reranker.plugins.cluster.work import ShardReader

    restore = ranking is not None and _restores(arguments, ranking)
    options: ReadOptions | TextSettings = nbest_flags.options(arguments, restore=restore)
    if arguments.text:
        words = arguments.words or convention_of(_language(arguments))
        options = TextSettings(
            arguments.form, words, arguments.longest, speakers=arguments.speakers
        )
    reading = ShardReader(tuple(missing), absolute(arguments.out), options, told())
    with connection.connected(arguments.address):
        least, most = arguments.actors
        # One that converts computes with one core.
        cores = arguments.cores or (1 if ranking is None else None)
        actors = connection.actors(least, most, cores, arguments.gpus)
        task = (
            convert.settings(arguments)
            if ranking is None
            else _ranked(arguments, ranking, actors.cores)
        )
        with Bar("files", total=len(missing)) as bar:
            done = len(outcome.records)

            def report() -> None:
                bar.reach(len(outcome.records) - done + len(outcome.failed))
                bar.describe(f"{outcome.sentences:,} sentences, files")

            cluster.run(missing, reading, task, actors, outcome, report)
    if outcome.sentences:
        cost = outcome.computing / outcome.sentences
        message(
            f"rerank: {outcome.startup:.1f} s to start, then {outcome.seconds:.1f} s for "
            f"{counted(outcome.sentences, 'sentence')}: {outcome.sentences / outcome.seconds:.1f} "
            f"a second, {cost:.3g} core-seconds each"
        )


def _ranked(arguments: argparse.Namespace, ranking: RankSettings, cores: int) -> RankTask:
    from reranker.plugins.cluster.work import RankTask

    device = "cpu" if arguments.device == "auto" and not arguments.gpus else arguments.device
    parser = parser_flags.choice(arguments).resolved() if arguments.text else None
    settings = replace(ranking, device=device, threads=cores)
    return RankTask(settings, parser, arguments.jobs or cores)


def serve(settings: Settings, address: str | None) -> int:
    """Serve as ``serving.run`` does; raise InputError without Ray."""
    _require("rerank serve --ray", "ray")
    with status("loading Ray"):
        from reranker.plugins.cluster import serving
    return serving.run(settings, address)


def _require(command: str, *packages: str) -> None:
    """Raise InputError, saying what to install, if one of the packages is missing."""
    for name in packages:
        if importlib.util.find_spec(name) is None:
            raise InputError(
                f"{command} needs the package {name}: pip install 'parse-reranker[ray]'"
            )
