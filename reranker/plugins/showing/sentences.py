"""The source and the job of `rerank show`: the sentences of a file, and which of them are drawn."""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from reranker.errors import InputError
from reranker.files.opening import shown_path
from reranker.files.records import AnswerCounts
from reranker.files.text import TextFile, TextInMemory, open_text, read_lines
from reranker.files.visible import counted, shown_id
from reranker.nbest import NBest, ReadOptions, read_nbest
from reranker.outputs.ranked_file import is_ranked, read_ranked
from reranker.plugins.showing.changes import Change
from reranker.work.loop import Job, Source
from reranker.work.nbest_files import log_rejected

if TYPE_CHECKING:  # it imports numpy
    from reranker.evaluation.brackets import GoldTrees

logger = logging.getLogger(__name__)


class Changes(Source[Change]):
    """The sentences of ranked output, n-best lists or trees. Trees that cannot be read are
    logged."""

    def __init__(self, name: str, options: ReadOptions) -> None:
        self._name, self._options = name, options
        super().__init__(self._all())

    def _all(self) -> Iterator[Change]:
        open_source = _source(self._name)
        if is_ranked(next(filter(str.strip, read_lines(open_source())), "")):
            yield from _ranked_changes(self._name, open_source)
            return
        for number, nbest in enumerate(read_nbest(open_source(), options=self._options), 1):
            log_rejected(nbest, number)
            best = nbest.candidates[0].tree if nbest.candidates else None
            name = shown_id(nbest.id, number)
            yield Change(name, "first tree", best, problems=len(nbest.rejected))


def _source(name: str) -> Callable[[], str | TextFile]:
    """Return a function that opens the file, as often as needed; standard input and pipes are read
    into memory."""
    if os.path.isfile(name):
        return lambda: name
    content = "".join(read_lines(open_text(name, streams=True))).encode("utf-8", "surrogateescape")
    return lambda: TextInMemory(content, shown_path(name))


def _ranked_changes(name: str, source: Callable[[], str | TextFile]) -> Iterator[Change]:
    lists = read_nbest(source())  # knows the parsers' notations
    sentences = read_ranked(name, read_lines(source()), with_indexes=True)
    for number, (sentence, nbest) in enumerate(zip(sentences, lists, strict=True), 1):
        log_rejected(nbest, number)
        change = _ranked_change(sentence, nbest)
        yield replace(change, id=shown_id(change.id, number))


def _ranked_change(sentence: dict[str, Any], nbest: NBest) -> Change:
    """Return the best tree and the first one not rejected, which ``--top`` may have left out of the
    file."""
    from reranker.plugins.showing.changes import Change

    order = sorted(entry["index"] for entry in sentence["ranking"])
    trees = {order[candidate.index]: candidate.tree for candidate in nbest.candidates}
    best = sentence["best_index"]
    before = set(range(order[0])) if order else set()
    is_first_known = before <= {rejected["index"] for rejected in sentence["rejected"]}
    first = order[0] if order and is_first_known else None
    problems = len(nbest.rejected) + (best is None)
    if best is None or best == first:
        title = "best, the parser's first"
        return Change(nbest.id, title, trees.get(best), is_new=best is None, problems=problems)
    title = f"best, candidate {best + 1}"
    if first is None:
        title += " (the parser's first is not in the file)"
    first_tree = None if first is None else trees.get(first)
    return Change(nbest.id, title, trees.get(best), first_tree, problems=problems)


class Show(Job[Change, Change | None]):
    """The choice of the sentences that are drawn, with their scores; the others have no answer."""

    def __init__(
        self, file: str, names: Sequence[str], gold: GoldTrees | None, *, has_unchanged: bool
    ) -> None:
        """Take the name of the file and the names of the sentences, none for all of them;
        ``has_unchanged`` draws those whose best tree is the parser's first, too."""
        self._file, self._names, self._gold = file, dict.fromkeys(names), gold
        self._has_unchanged = has_unchanged
        self.summary = ChangeSummary()

    def answers(self, sentences: Iterable[Change]) -> Iterator[tuple[Change, Change | None]]:
        """Yield the sentences in order, but those that are named by their numbers at the end: a
        later sentence might have the number as its id. Raises InputError for a sentence that does
        not exist, and for more or fewer gold trees than sentences."""
        names = self._names
        found: set[str] = set()  # ids, of which files put together have some twice
        by_number: dict[str, Change] = {}
        number = unchanged = 0
        for number, change in enumerate(self._judged(sentences), 1):
            if change.id in names:
                found.add(change.id)
                yield change, change
            elif str(number) in names:
                by_number[str(number)] = change
            elif not names and (change.is_new or self._has_unchanged):
                yield change, change
            else:
                unchanged += 1
                yield change, None
        if unchanged and unchanged == number and not names:
            logger.info("the best tree of every sentence is the parser's first; --all draws it")
        for name in names:
            if name in by_number:
                yield by_number[name], None if name in found else by_number[name]
            elif name not in found:
                raise InputError(f"{self._file}: no sentence {name}")

    def counts(self, sentence: Change, answer: Change | None) -> AnswerCounts:
        """Return the number of trees that could not be read or scored."""
        score = sentence.best_score
        is_wrong = score is not None and score.status == "error"
        return AnswerCounts(0, 0, sentence.problems + is_wrong, 0)

    def finished(self, sentence: Change, counts: AnswerCounts) -> None:
        """Add the sentence to the summary."""
        self.summary.add(sentence)

    def _judged(self, changes: Iterable[Change]) -> Iterator[Change]:
        """Yield the changes, scored if there are gold trees."""
        gold = self._gold
        if gold is None:
            yield from changes
            return
        trees = zip(gold.places, gold, strict=True)
        for change in changes:
            place, tree = next(trees, (None, None))
            if tree is None:
                raise InputError(f"{gold.name}: no gold tree for sentence {change.id}")
            judged = change.judged(tree)
            score = judged.best_score
            if judged.best is not None and score is not None and score.status != "valid":
                logger.warning("%s: sentence not scored: %s", place, score.reason)
            yield judged
        if next(trees, None) is not None:
            raise InputError(f"{gold.name}: more gold trees than sentences")


class ChangeSummary:
    """A count of sentences, with the brackets that corpus F1 and its p-value need."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._first: list[tuple[int, int, int]] = []  # matched, gold and test brackets
        self._best: list[tuple[int, int, int]] = []

    def add(self, change: Change) -> None:
        """Count a sentence."""
        self._counts["all"] += 1
        self._counts["changed"] += change.first is not None
        self._counts[change.verdict] += 1
        if change.first_score and change.best_score:
            self._first.append(change.first_score.counts)
            self._best.append(change.best_score.counts)

    def format(self) -> str:
        """Return how many sentences changed, which way, and F1 before and after."""
        counts = self._counts
        text = counted(counts["all"], "sentence")
        if counts["changed"]:
            text += f", {counts['changed']} with another tree than the parser's first"
        if not self._best:
            return text
        import numpy as np

        from reranker.evaluation.brackets import corpus_f1
        from reranker.evaluation.significance import randomisation_p

        first, best = np.array(self._first), np.array(self._best)
        if not counts["changed"]:
            return f"{text}, F1 {corpus_f1(best):.2f}"
        verdicts = (f"{counts[name]} {name}" for name in ("better", "worse", "equal"))
        return (
            f"{text}: {', '.join(verdicts)}\nF1 {corpus_f1(first):.2f} -> {corpus_f1(best):.2f}, "
            f"p = {randomisation_p(first, best):.4f} (approximate randomisation)"
        )
