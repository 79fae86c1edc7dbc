"""The job of `rerank`, `rerank parse`, `rerank adapt` and the cluster: the ranking of each list of
candidates."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from reranker.checkpoints.ensemble_file import WeighedModels
from reranker.files.opening import file_sha256
from reranker.files.records import AnswerCounts
from reranker.languages import language_name
from reranker.nbest import NBest
from reranker.outputs.output import Output, output_of
from reranker.ranking import Ranking, Weighing
from reranker.work.loop import Counts, Identity, Job

if TYPE_CHECKING:  # they import torch
    from reranker.checkpoints.members import Precision
    from reranker.evaluation.gold_table import GoldTable
    from reranker.parsers.choice import ParserChoice
    from reranker.pipeline import Reranker
    from reranker.ranking.ranker import Combination

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RankSettings:
    """The models that rank, and how the answers are written: plain data, which a worker of a
    cluster is sent."""

    models: WeighedModels
    weighing: Weighing
    combination: Combination = "sum"
    device: str = "auto"
    threads: int | None = None
    precision: Precision = "fast"
    output: str = "best"
    has_commas: bool = False
    token_scores: bool = False
    top: int | None = None
    """Candidates of ``--output ranked``; None for all."""

    @property
    def form(self) -> Output:
        """Return the output, made for one run. Raises InputError for an unknown name."""
        output = output_of(self.output)
        return output.with_commas() if self.has_commas else output

    def identity(self) -> Identity:
        """Return everything on which answers depend, beside the models and their calibration."""
        return {
            "output": self.output,
            "top": self.top,
            "token_scores": self.token_scores,
            "combine": self.combination,
            "precision": self.precision,
            "csv": self.has_commas,
            **asdict(self.weighing),
        }

    def load(self) -> Reranker:
        """Load the models. Raises what ``Reranker.load`` raises."""
        from reranker.pipeline import Reranker

        return Reranker.from_models(
            self.models, self.combination, self.device, self.threads, self.precision
        )

    def parser_for(self, choice: ParserChoice) -> ParserChoice:
        """Return the choice of parsers without work that the output does not need: probabilities of
        brackets that it leaves out, and trees that cannot be the best."""
        output, settings = self.form, choice.settings
        if not output.has_probabilities:
            settings = replace(settings, is_certainty_wanted=False)
        if not output.has_all_candidates and self._first_is_best(choice):
            settings = replace(settings, candidates=1)
        return replace(choice, settings=settings)

    def _first_is_best(self, choice: ParserChoice) -> bool:
        """Return whether the best tree is the parser's first, since the model that ranks the trees
        is the parser's own (``--models fast``)."""
        models = self.models
        if choice.names != ["chart"] or choice.settings.candidates is not None:
            return False
        if len(models.paths) != 1 or replace(self.weighing, member_weights=()) != Weighing():
            return False
        digests = models.sha256 or [file_sha256(path) for path in models.paths]
        return [*digests] == [*choice.model_identities().values()]


class Rank(Job[NBest, Ranking]):
    """The ranking of lists."""

    def __init__(
        self,
        reranker: Reranker,
        settings: RankSettings,
        *,
        parsers: Sequence[str] = (),
        table: GoldTable | None = None,
    ) -> None:
        """Take the models of ``settings``, loaded. ``parsers`` are those whose candidates are
        pooled, if that is known; ``table`` gets each list with its best candidate."""
        self.reranker, self.settings = reranker, settings
        self._parsers, self._table = parsers, table

    def identity(self) -> Identity:
        """Return the models, their weighing and the output."""
        settings, reranker = self.settings, self.reranker
        known = reranker.calibration if settings.form.has_all_candidates else None
        return {
            "models": [member.sha256 for member in reranker.members],
            **settings.identity(),
            "confidence": asdict(known) if known else None,
        }

    def answers(self, sentences: Iterable[NBest]) -> Iterator[tuple[NBest, Ranking]]:
        """Rank the lists, several at once."""
        settings = self.settings
        weighing = settings.weighing
        if weighing.lm_weight < 1:
            sentences = self._with_warnings(sentences, f"(--lm-weight {weighing.lm_weight:g})")
        top = settings.top if settings.form.has_all_candidates else 1
        return self.reranker.ranked_lists(sentences, weighing, settings.token_scores, top)

    def counts(self, sentence: NBest, answer: Ranking) -> AnswerCounts:
        """Return the facts that a summary needs about a ranking."""
        best = answer.best
        return AnswerCounts(
            best.index if best else None,
            len(answer.ranking) + answer.beaten,
            len(answer.rejected),
            answer.repaired,
        )

    def finished(self, sentence: NBest, counts: AnswerCounts) -> None:
        """Add the list to the table of F1."""
        if self._table is not None:
            self._table.add(sentence, counts.best_index)

    def end(self, counts: Counts) -> None:
        """Raise InputError if the table lacks lists."""
        if self._table is not None:
            self._table.check_complete()

    def _with_warnings(self, lists: Iterable[NBest], flag: str) -> Iterator[NBest]:
        """Yield the lists; warn of scores that cannot be mixed with those of language models: once
        of scores of several parsers, once of scores of samples, and once per file of scores that
        are no log-probabilities."""
        if len(self._parsers) > 1:
            logger.info(
                "scores of %s are mixed in %s; that makes sense only if all of them are "
                "log-probabilities of sentence and tree",
                " and ".join(self._parsers),
                flag,
            )
        from reranker.nbest.candidates import score_warnings

        is_warned = False
        warned: set[str] = set()
        for nbest in lists:
            for warning in score_warnings(nbest, warned):
                logger.info("%s %s", warning, flag)
            if nbest.order == "score" and not is_warned:
                is_warned = True
                logger.info(
                    "scores of samples are mixed in %s; if they were drawn with --alpha, these are "
                    "not the parser's log-probabilities",
                    flag,
                )
            yield nbest


def warn_of_language(language: str, reranker: Reranker) -> None:
    """Log that language models are of another language than the text."""
    others = {member.language for member in reranker.members} - {language}
    if others:
        logger.info(
            "language models of %s choose among trees of %s: they know none of its words",
            " and ".join(sorted(map(language_name, others))),
            language_name(language),
        )
