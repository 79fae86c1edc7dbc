"""A sentence read word by word: the measures of each word that follow from the beam."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from reranker.plugins.surprisal.beam import Beam, Step, Width
from reranker.plugins.surprisal.forward import ForwardModels, Values
from reranker.plugins.surprisal.history import History
from reranker.plugins.surprisal.spelling import Spelling
from reranker.process.cancellation import Cancellation
from reranker.trees.tree import short_repr


@dataclass(frozen=True, slots=True, repr=False)
class WordMeasures:
    """The cost of a word, in nats, and its effect on the trees; counts are means over the beam."""

    surprisal: float
    """-log P(word | words before): the fall of the beam's summed log-probability, and ``spelling``.
    """
    syntactic: float
    """The information about the trees that the word brings: the Kullback-Leibler divergence of the
    beam from the distribution over trees expected just before the word, brackets up to it
    included."""
    lexical: float
    """The rest: -log P(word | tree before it, a word comes next), the mean over the beam, and
    ``spelling``. Roark et al. (2009), "Deriving lexical and syntactic expectation-based measures",
    split each derivation so, but sum derivations first: without part-of-speech tags, as here, any
    word can follow any tree, and their syntactic part would be 0."""
    spelling: float
    """-log P(word | class) of a word outside the vocabulary; else 0."""
    entropy_before: float
    """Entropy of the beam's trees before the word, in nats."""
    entropy: float
    """Entropy of the beam's trees after the word, in nats."""
    opened: float
    """Constituents that begin with the word."""
    open: float
    """Constituents that are open after the word."""
    closed: float
    """Constituents that end with the word (node count)."""
    tokens: int = 1
    unknown: int = 0
    """The number of the word's tokens outside the vocabulary."""
    tree: str = ""
    """The most probable partial tree up to the word."""

    def __repr__(self) -> str:
        return short_repr(self)

    def joined(self, later: WordMeasures) -> WordMeasures:
        """Return the measures of two tokens that are one word as it is written."""
        sums = (
            *("surprisal", "syntactic", "lexical", "spelling", "opened", "closed"),
            *("tokens", "unknown"),
        )
        return replace(
            later,
            entropy_before=self.entropy_before,
            **{name: getattr(self, name) + getattr(later, name) for name in sums},
        )


@dataclass(frozen=True, slots=True, repr=False)
class SentenceMeasures:
    """The measures of every word of a sentence, and of its end."""

    words: tuple[WordMeasures, ...]
    end: float
    """-log P(the sentence ends here), in nats."""
    trees: tuple[tuple[tuple[str, ...], float], ...]
    """The beam's whole trees, linearised, with their log-probabilities (words outside the
    vocabulary as their classes, as everywhere in this package), best first."""

    def __repr__(self) -> str:
        return short_repr(self)

    @property
    def surprisal(self) -> float:
        """Return -log P(words): the sum of the words' surprisals."""
        return sum(word.surprisal for word in self.words) + self.end


def read_sentence(
    models: ForwardModels,
    spelling: Spelling,
    words: Sequence[str],
    width: Width = Width(),
    cancellation: Cancellation | None = None,
) -> SentenceMeasures:
    """Read a sentence of at least one word. Raises Stopped if cancelled."""
    beam = Beam(models, width, cancellation)
    steps = [beam.read(token) for token in models.vocabulary.encode(words)[:-1]]
    return measured(models, spelling, words, beam.history, [*steps, beam.end()])


def measured(
    models: ForwardModels,
    spelling: Spelling,
    words: Sequence[str],
    history: History,
    steps: Sequence[Step],
) -> SentenceMeasures:
    """Compute the measures of the words from the beams after each word, and from the last beam,
    with whole trees."""
    measures = []
    total, entropy_before = 0.0, 0.0
    for word, step, after in zip(words, steps, steps[1:], strict=False):
        spelled = 0.0 - spelling.log_probability(word)
        weights, entropy = _distribution(step.scores)
        lexical = float(weights @ (step.before - step.scores))
        measures.append(
            WordMeasures(
                surprisal=total - step.total + spelled,
                syntactic=max(0.0, total - step.total - lexical),
                lexical=lexical + spelled,
                spelling=spelled,
                entropy_before=entropy_before,
                entropy=entropy,
                opened=float(weights @ step.opened),
                open=float(weights @ history.depth[step.rows]),
                closed=float(_distribution(after.scores)[0] @ after.closed),
                unknown=int(models.vocabulary.is_unknown(word)),
                tree=bracketed(history.tokens(int(step.rows[0]), words)),
            )
        )
        total, entropy_before = step.total, entropy
    last = steps[-1]
    trees = tuple(
        (tuple(history.tokens(row, words)), score)
        for row, score in zip(last.rows.tolist(), last.scores.tolist(), strict=True)
    )
    return SentenceMeasures(tuple(measures), total - last.total, trees)


def bracketed(tokens: Sequence[str]) -> str:
    """Return a linearised tree, or the beginning of one, written in brackets.

    >>> bracketed(["(S", "(NP", "it", ")NP", "(VP", "rains"])
    '(S (NP it) (VP rains'
    """
    return "".join(")" if token[0] == ")" else f" {token}" for token in tokens).lstrip()


def _distribution(scores: Values) -> tuple[Values, float]:
    """Return the hypotheses' shares of the beam, and their entropy in nats."""
    logs = scores - np.logaddexp.reduce(scores)
    shares = np.exp(logs)
    return shares, max(0.0, -float(shares @ logs))
