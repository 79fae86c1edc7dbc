"""From lists to answers, for `rerank` and `rerank parse`: loads models, ranks lists, writes,
resumes and counts answers."""

from __future__ import annotations

import argparse
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from reranker.checkpoints.ensemble_file import named_models
from reranker.commands.arguments import add_output, add_threads, counted
from reranker.commands.least_sure import least_sure, row
from reranker.commands.progress import Positioned, ProgressBar, loading, message
from reranker.commands.resuming import opened_output, skip_written
from reranker.errors import InputError
from reranker.evaluation.gold_table import GoldTable
from reranker.files.journal import AnswerOutput, journaled_path
from reranker.files.output import write_line
from reranker.files.records import Written
from reranker.languages import language_name
from reranker.nbest import NBest
from reranker.outputs.registry import OUTPUTS, format_ranking, is_output, written
from reranker.process.flags import positive, weight
from reranker.ranking import Ranking, Weighing

if TYPE_CHECKING:
    from reranker.pipeline import Reranker


class _Outputs(list[str]):
    """Our outputs, for ``--help``; those of other packages can be chosen, too."""

    def __contains__(self, name: object) -> bool:
        is_ours = super().__contains__(name)
        return is_ours or (name not in OUTPUTS and is_output(str(name)))


_OUTPUTS = [name for name in OUTPUTS if name != "svg"]  # `rerank show --svg`


class RankableLists(Positioned, Protocol):
    """The lists to be ranked, in order."""

    def __next__(self) -> NBest: ...

    def skip(self) -> NBest | None:
        """Skip the next list, reading as little as necessary; None if there is none left."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags that name the models and say what to write, and where."""
    add_output(parser)
    add_threads(parser)
    add_ranking_arguments(parser)


def add_ranking_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags on which answers depend."""
    add = parser.add_argument
    text = (
        "checkpoints of the ensemble, a folder of them, the ensemble.toml of `rerank tune`, or the "
        "name of an installed ensemble, which may bring a parser (default: the one that `rerank "
        "models` says)"
    )
    add("--models", nargs="+", metavar="FILE", help=text)
    text = "use no other checkpoints: their SHA-256, or the first 8 digits or more, in any order"
    add("--sha256", nargs="+", default=(), metavar="HASH", help=text)
    text = (
        "best: one tree per line; ranked: one JSON object per line with every candidate; of the "
        "best tree alone, pretty: over several lines, conllu: CoNLL-U, json: words and "
        "constituents with their places in the text (docs/output.md; default: best)"
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
        "float32, or bfloat16, which may choose another tree where candidates are less than half a "
        "nat apart (default: exact)"
    )
    add("--precision", choices=("exact", "fast"), default="exact", help=text)


def check(arguments: argparse.Namespace) -> None:
    """Raises InputError for a flag given without another that it needs."""
    if arguments.output != "ranked":
        if arguments.token_scores:
            raise InputError("--token-scores needs --output ranked")
        if arguments.top is not None:
            only = f"--output {arguments.output} writes only the best tree"
            raise InputError(f"--top needs --output ranked; {only}")


def write(
    arguments: argparse.Namespace,
    inputs: Sequence[str],
    other_inputs: Sequence[Path],
    open_lists: Callable[[], RankableLists],
    settings: Callable[[], Mapping[str, Any]],
    say_rejected: Callable[[Ranking], None],
    table: GoldTable | None = None,
    parsers: Sequence[str] = (),
    least_sure_count: int | None = None,
) -> int:
    """Rank the lists and write an answer for each; returns the exit code.

    ``inputs`` are the files to read, ``other_inputs`` those of a parser, without checkpoints;
    ``settings`` returns what the lists depend on, as plain data; ``parsers`` are those whose
    candidates are pooled. With ``least_sure_count``, only that many rows are written, for the least
    sure trees. Lists are opened before models are loaded, so that a wrong file is reported at once.
    Raises RerankError.
    """
    ensemble = named_models(arguments.models, arguments.combine, arguments.sha256)
    weighing = ensemble.weighing.replaced(arguments.lm_weight, arguments.criterion)
    models = [*(arguments.models or ()), *ensemble.paths]
    out = journaled_path(arguments.out, [*inputs, *other_inputs, *models])
    lists = open_lists()
    if weighing.lm_weight < 1 and len(parsers) > 1:
        message(
            f"rerank: scores of {' and '.join(parsers)} are mixed in (--lm-weight "
            f"{weighing.lm_weight:g}); that makes sense only if all of them are log-probabilities "
            "of sentence and tree"
        )

    with loading(counted(len(ensemble.paths), "model")):
        from reranker.pipeline import Reranker

        reranker = Reranker.of(
            ensemble, arguments.combine, arguments.device, arguments.threads, arguments.precision
        )
    _check_language(getattr(lists, "language", None), reranker)
    tally = _Tally(lists, table, weighing)
    top = arguments.top if arguments.output == "ranked" else 1
    known = _settings(arguments, reranker, weighing, settings() if out else {})
    opened: AbstractContextManager[AnswerOutput]
    if least_sure_count is None:
        opened = opened_output(out, arguments, inputs, known)
    else:
        opened = least_sure(out, least_sure_count)
    with opened as output:
        try:
            skip_written(output, iter(tally.skip, None), tally.add)
            tally.progress.start()
            rankings = reranker.rerank_lists(
                tally, weighing, token_scores=arguments.token_scores, top=top
            )
            for ranking in rankings:
                say_rejected(ranking)
                record = written(ranking)
                with nullcontext() if out else tally.progress.hidden():
                    if least_sure_count is None:
                        answer = format_ranking(ranking, arguments.output)
                    else:
                        answer = row(ranking)
                    output.write(answer, record, tally.digests[0])
                tally.add(record)
            tally.check_complete()
            tally.progress.finish()
        finally:
            tally.progress.close()
    message(summary(tally.counts))
    if table is not None:
        for line in table.format().splitlines():
            (write_line if arguments.out else message)(line)
        tags = "gold" if arguments.gold_tags else "parser"
        signature = f"{reranker.signature(weighing)} evalb=COLLINS tags={tags}"
        message(f"rerank: signature {signature}")
    return 1 if tally.counts["rejected"] or tally.counts["failed"] else 0


def _check_language(language: str | None, reranker: Reranker) -> None:
    """Warn of language models of another language than the text's, if that is known."""
    others = {member.language for member in reranker.members} - {language}
    if language and others:
        names = " and ".join(sorted(map(language_name, others)))
        message(
            f"rerank: language models of {names} choose among trees of {language_name(language)}: "
            "they know none of its words"
        )


class _Tally:
    """Iterates over the lists still to be ranked and counts the outcomes for the progress bar, the
    gold table and the summary."""

    def __init__(self, lists: RankableLists, table: GoldTable | None, weighing: Weighing) -> None:
        self._lists, self._table = lists, table
        self._weight = weighing.lm_weight
        self._is_warned = False
        self.progress = ProgressBar(lists)
        self.digests: deque[str] = deque()
        """The digests of lists that have been read but not yet counted."""
        self.counts: Counter[str] = Counter()

    def __iter__(self) -> Iterator[NBest]:
        return self

    def __next__(self) -> NBest:
        return self._counted(next(self._lists))

    def skip(self) -> str | None:
        """Skip a list that was answered before; its digest, or None if there is none left."""
        nbest = self._lists.skip()
        if nbest is None:
            return None
        self._counted(nbest)
        return self.digests[-1]

    def _counted(self, nbest: NBest) -> NBest:
        self.progress.add_list()
        self.digests.append(nbest.digest())
        if nbest.order == "score" and self._weight < 1 and not self._is_warned:
            self._is_warned = True
            message(
                f"rerank: scores of samples are mixed in (--lm-weight {self._weight:g}); if they "
                "were drawn with --alpha, these are not the parser's log-probabilities"
            )
        if self._table is not None:
            self._table.add_list(nbest)
        return nbest

    def add(self, written: Written) -> None:
        """Count the earliest sentence not yet counted."""
        self.digests.popleft()
        self.counts.update(written.counts())
        if self._table is not None:
            self._table.add_choice(written.best_index)
        self.progress.finish_list()

    def check_complete(self) -> None:
        """Raises InputError if gold trees are left over."""
        if self._table is not None:
            self._table.check_complete()


def summary(counts: Mapping[str, int]) -> str:
    """The summary of all sentences, on one line."""
    changed = counted(counts["changed"], "sentence")
    repaired = f"{counts['repaired']} of them repaired, " if counts["repaired"] else ""
    return (
        f"rerank: {counted(counts['sentences'], 'sentence')}, "
        f"{counted(counts['candidates'], 'candidate')} ranked, "
        f"{repaired}{counts['rejected']} rejected; {changed} with another tree than "
        f"the parser's first, {counts['failed']} without a usable candidate"
    )


def _settings(
    arguments: argparse.Namespace, reranker: Reranker, weighing: Weighing, lists: Mapping[str, Any]
) -> dict[str, Any]:
    """Everything the answers depend on: an interrupted run is resumed only if it is unchanged."""
    known = reranker.calibration if arguments.output == "ranked" else None
    return {
        "models": [member.sha256 for member in reranker.members],
        **lists,
        **{
            name: getattr(arguments, name)
            for name in ("output", "top", "token_scores", "combine", "precision")
        },
        **asdict(weighing),
        "confidence": asdict(known) if known else None,
    }
