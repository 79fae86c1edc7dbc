"""The path of `rerank` and `rerank parse`: a source of lists, the models that choose, and an output
that can be resumed."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from reranker import registry
from reranker.checkpoints.ensemble_file import WeighedModels, named_models
from reranker.commands.arguments import add_output, add_threads, counted, summary
from reranker.commands.progress import Positioned, ProgressBar, loading, message
from reranker.commands.resuming import opened_output, skip_written
from reranker.errors import InputError
from reranker.files.journal import AnswerOutput, journaled_path
from reranker.files.output import write_line
from reranker.files.records import Written
from reranker.languages import language_name
from reranker.nbest import NBest
from reranker.outputs.registry import OUTPUTS, format_ranking, is_output, written
from reranker.process.flags import positive, weight
from reranker.ranking import Ranking, Weighing

if TYPE_CHECKING:
    from reranker.evaluation.gold_table import GoldTable
    from reranker.pipeline import Reranker


class _Outputs(list[str]):
    """Our outputs, for ``--help``; those of other packages can be chosen, too."""

    def __contains__(self, name: object) -> bool:
        is_ours = super().__contains__(name)
        return is_ours or (name not in OUTPUTS and is_output(str(name)))


_OUTPUTS = [name for name in OUTPUTS if name != "svg"]  # `rerank show --svg`


class Source(Positioned, Protocol):
    """The lists to be ranked, in order, and what is known about where they come from."""

    @property
    def inputs(self) -> Sequence[str]:
        """Return the files that are read."""

    @property
    def parsers(self) -> Sequence[str]:
        """Return the parsers whose candidates are pooled; none if that is not known."""

    @property
    def language(self) -> str | None:
        """Return the language of the sentences; None if that is not known."""

    def __iter__(self) -> Iterator[NBest]: ...

    def skip(self) -> NBest | None:
        """Skip the next list, reading as little as necessary; None if there is none left."""

    def identity(self) -> Mapping[str, Any]:
        """Return everything on which the lists depend, as plain data."""

    def report(self, ranking: Ranking, number: int) -> None:
        """Name what was rejected of a list; the first has number 1."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags that name the models and say what to write, and where."""
    add_output(parser)
    add_threads(parser)
    add_ranking_arguments(parser)


def add_ranking_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags on which answers depend."""
    add = parser.add_argument
    text = (
        "checkpoints, a folder of them, an ensemble.toml of `rerank tune`, or the name of an "
        "installed ensemble, which may bring a parser (default: what `rerank models` says)"
    )
    add("--models", nargs="+", metavar="FILE", help=text)
    text = "use no other checkpoints: their SHA-256, or the first 8 digits or more, in any order"
    add("--sha256", nargs="+", default=(), metavar="HASH", help=text)
    text = (
        "the best tree, best: on a line, pretty: over several, conllu: as CoNLL-U, json: with its "
        "words and brackets, brackets: a table of them; or ranked: every candidate, as JSON "
        "(docs/output.md; default: best)"
    )
    add("--output", choices=_Outputs(_OUTPUTS), default="best", help=text)
    text = "with --output ranked: add every token's log-probability"
    add("--token-scores", action="store_true", help=text)
    text = (
        "score = W * language models + (1 - W) * parser, in nats (default: the one in "
        "ensemble.toml, else 1)"
    )
    add("--lm-weight", type=weight, metavar="W", help=text)
    text = (
        "perplexity per word of the sentence, which orders by total log-probability, or per token "
        "of the candidate (default: the one in ensemble.toml, else perplexity)"
    )
    add("--criterion", choices=("perplexity", "token-perplexity"), help=text)
    text = (
        "sum the members' log-probabilities, or average their probabilities token by token, if "
        "they have one vocabulary and direction (default: sum)"
    )
    add("--combine", choices=("sum", "average"), default="sum", help=text)
    text = "with --output ranked: write only the best K different candidates"
    add("--top", type=positive, metavar="K", help=text)
    text = (
        "cpu, cuda or cuda:0,cuda:1; the ensemble's members take them in turn (default: auto, "
        "every GPU there is, else the CPU)"
    )
    add("--device", default="auto", metavar="NAMES", help=text)
    text = (
        "exact: float32; fast: products of 8-bit integers where the processor has them and a "
        "model's file has 8 bits, which moves scores by some 0.001 nats, 0.018 at most (default: "
        "%(default)s)"
    )
    add("--precision", choices=("exact", "fast"), default="fast", help=text)


def check(arguments: argparse.Namespace, *, is_sure: bool = False) -> None:
    """Raise InputError for a flag given without another that it needs; ``is_sure`` says whether
    the parser may be one that gives brackets probabilities."""
    if arguments.output == "brackets" and not is_sure:
        raise InputError(
            "--output brackets needs the probabilities of the parser chart (rerank parse FILE "
            "--output brackets); for brackets without them use --output json"
        )
    if arguments.output not in OUTPUTS:
        registry.load("outputs", arguments.output)  # now, not after minutes of scoring
    if arguments.output != "ranked":
        if arguments.token_scores:
            raise InputError("--token-scores needs --output ranked")
        if arguments.top is not None:
            only = f"--output {arguments.output} writes only the best tree"
            raise InputError(f"--top needs --output ranked; {only}")


@dataclass(frozen=True, slots=True)
class Plan:
    """The models, weights and output of a run, decided before anything is opened."""

    arguments: argparse.Namespace
    models: WeighedModels
    weighing: Weighing
    out: Path | None

    @classmethod
    def of(
        cls,
        arguments: argparse.Namespace,
        inputs: Sequence[str | Path],
        names: list[str] | None = None,
    ) -> Plan:
        """Decide for the models of these ``names``, else those of ``--models``; ``inputs`` are the
        files that the run will read. Raises InputError for flags that do not fit together, models
        that do not exist and an output that would replace an input."""
        named = names or arguments.models
        models = named_models(named, arguments.combine, arguments.sha256)
        weighing = models.weighing.replaced(arguments.lm_weight, arguments.criterion)
        out = journaled_path(arguments.out, [*inputs, *(named or ()), *models.paths])
        return cls(arguments, models, weighing, out)

    def load(self) -> Reranker:
        """Load the models."""
        with loading(counted(len(self.models.paths), "model")):
            from reranker.pipeline import Reranker

            flags = self.arguments
            return Reranker.of(
                self.models, flags.combine, flags.device, flags.threads, flags.precision
            )

    def identity(self, reranker: Reranker, source: Source) -> dict[str, Any]:
        """Return everything on which the answers depend."""
        flags = ("output", "top", "token_scores", "combine", "precision")
        known = reranker.calibration if self.arguments.output == "ranked" else None
        return {
            "models": [member.sha256 for member in reranker.members],
            **source.identity(),
            **{name: getattr(self.arguments, name) for name in flags},
            **({"csv": True} if getattr(self.arguments, "csv", False) else {}),
            **asdict(self.weighing),
            "confidence": asdict(known) if known else None,
        }


def write(
    plan: Plan, source: Source, table: GoldTable | None = None, *, least_sure_count: int = 0
) -> int:
    """Rank the lists of a source and write an answer for each, or rows for only so many of the
    least sure trees; returns the exit code. Raises RerankError."""
    arguments, weighing, lists = plan.arguments, plan.weighing, iter(source)
    if weighing.lm_weight < 1:
        from reranker.commands.parser_scores import checked

        lists = checked(source, weighing.lm_weight)
    reranker = plan.load()
    _check_language(source.language, reranker)
    output: AbstractContextManager[AnswerOutput]
    count, csv = Counter[str](), {"is_csv": True} if getattr(arguments, "csv", False) else {}

    def answer_of(ranking: Ranking, nbest: NBest) -> str:
        place = (count["sentences"],) if arguments.output == "brackets" else ()
        return format_ranking(ranking, arguments.output, *place, **csv)

    if least_sure_count:
        from reranker.commands.least_sure import least_sure
        from reranker.commands.least_sure import row as answer_of

        output = least_sure(plan.out, least_sure_count)
    else:
        known = plan.identity(reranker, source) if plan.out else {}
        output = opened_output(plan.out, arguments, source.inputs, known)
    top = arguments.top if arguments.output == "ranked" else 1
    progress = ProgressBar(source)
    with output as sink:
        try:
            for nbest, record in skip_written(sink, progress.read(iter(source.skip, None))):
                _count(nbest, record, count, table)
                progress.finish_list()
            progress.start()
            for nbest, ranking in reranker.ranked_lists(
                progress.read(lists), weighing, arguments.token_scores, top
            ):
                source.report(ranking, count["sentences"] + 1)
                record = written(ranking)
                _count(nbest, record, count, table)
                with nullcontext() if plan.out else progress.hidden():
                    sink.write(answer_of(ranking, nbest), record, nbest.digest())
                progress.finish_list()
            if table is not None:
                table.check_complete()
            progress.finish()
        finally:
            progress.close()
    is_fine = not count["rejected"] and not count["failed"]
    if not is_fine or count["sentences"] > 1 or not source.parsers:  # else the tree says it all
        message(summary(count))
    if table is not None:
        _print_table(table, plan, reranker)
    return 0 if is_fine else 1


def _print_table(table: GoldTable, plan: Plan, reranker: Reranker) -> None:
    """Print the F1 table, to standard output unless the trees are there, and its signature."""
    for line in table.format().splitlines():
        (write_line if plan.arguments.out else message)(line)
    tags = "gold" if plan.arguments.gold_tags else "parser"
    signature = f"{reranker.signature(plan.weighing)} evalb=COLLINS tags={tags}"
    message(f"rerank: signature {signature}")


def _count(nbest: NBest, record: Written, counts: Counter[str], table: GoldTable | None) -> None:
    """Count a list and the choice that is written for it."""
    counts.update(record.counts())
    if table is not None:
        table.add(nbest, record.best_index)


def _check_language(language: str | None, reranker: Reranker) -> None:
    """Warn of language models of another language than the text's, if both are known."""
    others = {member.language for member in reranker.members} - {language}
    if language and others:
        names = " and ".join(sorted(map(language_name, others)))
        message(
            f"rerank: language models of {names} choose among trees of {language_name(language)}: "
            "they know none of its words"
        )
