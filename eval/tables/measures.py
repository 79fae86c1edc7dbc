"""Outputs against references: BLEU by sacrebleu, ROUGE by rouge-score, F1 as EVALB computes it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.significance import PairedTest, Result

from reranker.errors import InputError
from reranker.evaluation.brackets import GoldTrees, corpus_f1
from reranker.evaluation.significance import SEED, compare
from reranker.files.text import read_lines
from reranker.nbest import ReadOptions, read_nbest

SAMPLES = 10_000

Output = TypeVar("Output")


class Measure(ABC):
    """Judges outputs of the test sources; ``references`` is the file with their targets."""

    names: tuple[str, ...]
    """What the figures are called."""

    @abstractmethod
    def figures(self, path: Path) -> list[float]:
        """One for each of ``names``, in percent. Raises InputError unless there is an output, if
        only an empty one, for each reference."""

    @abstractmethod
    def p(self, path: Path, other: Path) -> float:
        """By approximate randomisation, of the last of ``names``: that two systems differ so much
        by chance."""

    @property
    @abstractmethod
    def signature(self) -> str:
        """What has to be known to compare the figures with others."""


class Bleu(Measure):
    """BLEU of tokenised text."""

    names = ("BLEU",)

    def __init__(self, references: Path) -> None:
        self._references = _lines(references)
        self._metric = BLEU(tokenize="none", force=True)
        self._metric.corpus_score(self._references, [self._references])

    def figures(self, path: Path) -> list[float]:
        outputs = _outputs(path, len(self._references))
        return [float(self._metric.corpus_score(outputs, [self._references]).score)]

    def p(self, path: Path, other: Path) -> float:
        outputs, others = (_outputs(each, len(self._references)) for each in (path, other))
        if outputs == others:  # sacrebleu counts greater differences only, and there is none
            return 1.0
        systems: list[tuple[str, Sequence[str]]] = [("reference", others), ("system", outputs)]
        metric = {"BLEU": BLEU(tokenize="none", force=True, references=[self._references])}
        _, scores = PairedTest(systems, metric, None, "ar", SAMPLES)()
        result = scores["BLEU"][1]
        assert isinstance(result, Result) and result.p_value is not None
        return result.p_value

    @property
    def signature(self) -> str:
        return str(self._metric.get_signature())


class Rouge(Measure):
    """F1 of words in common (1), of pairs of words (2), of the longest common subsequence (L): the
    mean over sentences, words stemmed."""

    names = ("ROUGE-1", "ROUGE-2", "ROUGE-L")

    def __init__(self, references: Path) -> None:
        self._references = _lines(references)
        self._scorer = RougeScorer(["rouge1", "rouge2", "rougeL"], use_stemmer=True)

    def figures(self, path: Path) -> list[float]:
        means: list[float] = (100 * self._scores(path).mean(0)).tolist()
        return means

    def p(self, path: Path, other: Path) -> float:
        return mean_randomisation_p(self._scores(other)[:, -1], self._scores(path)[:, -1])

    @property
    def signature(self) -> str:
        return f"ROUGE F1|stemmed|mean over sentences|rouge-score {version('rouge-score')}"

    def _scores(self, path: Path) -> NDArray[np.float64]:
        """[S, 3]"""
        outputs = _outputs(path, len(self._references))
        rows = []
        for reference, output in zip(self._references, outputs, strict=True):
            found: dict[str, Any] = self._scorer.score(reference, output)
            rows.append([found[name].fmeasure for name in ("rouge1", "rouge2", "rougeL")])
        return np.array(rows)


class Bracketing(Measure):
    """F1 of the first trees of n-best lists, or of trees, a line each, with gold tags; a sentence
    without a usable tree counts with all its words under one bracket."""

    names = ("F1",)

    def __init__(self, references: Path) -> None:
        self._gold = list(GoldTrees([references], gold_tags=True))

    def figures(self, path: Path) -> list[float]:
        return [corpus_f1(self._counts(path))]

    def p(self, path: Path, other: Path) -> float:
        return compare(self._counts(other), self._counts(path), SAMPLES).randomisation_p

    @property
    def signature(self) -> str:
        return "evalb=COLLINS tags=gold repair=on"

    def oracle(self, path: Path) -> float:
        """F1 of the best tree of each list."""
        rows = []
        for gold, trees in zip(self._gold, self._trees(path), strict=True):
            rows.append(gold.score(trees[gold.oracle(trees)]).counts)
        return corpus_f1(np.array(rows))

    def _counts(self, path: Path) -> NDArray[np.int64]:
        """[S, 3]"""
        trees = self._trees(path)
        return np.array(
            [g.score(each[0]).counts for g, each in zip(self._gold, trees, strict=True)]
        )

    def _trees(self, path: Path) -> list[list[str]]:
        """The trees of each sentence, at least one."""
        if path.suffix == ".mrg":
            found = [[line.rstrip("\n")] for line in read_lines(path)]
        else:
            lists = read_nbest(path, options=ReadOptions(format="fairseq", restore=True))
            found = [[c.text for c in each.candidates] or [each.fallback] for each in lists]
        return _complete(found, len(self._gold), path)


MEASURES: dict[str, type[Bleu] | type[Rouge] | type[Bracketing]] = {
    "BLEU": Bleu,
    "ROUGE": Rouge,
    "F1": Bracketing,
}


def mean_randomisation_p(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """The share of ways to swap two systems' answers, sentence by sentence, that make the means of
    their scores [S] differ at least as much as they do; the one observed counts too."""
    change = second - first
    random = np.random.default_rng(SEED)
    drawn = [
        abs((change * (random.integers(2, size=len(change)) * 2 - 1)).sum()) for _ in range(SAMPLES)
    ]
    return float((1 + (np.array(drawn) >= abs(change.sum()) - 1e-9).sum()) / (1 + SAMPLES))


def _lines(path: Path) -> list[str]:
    return [line.rstrip("\r\n") for line in read_lines(path)]


def _outputs(path: Path, count: int) -> list[str]:
    return _complete(_lines(path), count, path)


def _complete(outputs: list[Output], count: int, path: Path) -> list[Output]:
    if len(outputs) != count:
        raise InputError(f"{path}: {len(outputs)} outputs for {count} references")
    return outputs
