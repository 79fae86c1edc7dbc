"""Orders of candidates from their scores. Scoring happens once; weighing is cheap and happens
here."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from numbers import Real
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, get_args, overload

from reranker.errors import RerankError, TreeError
from reranker.nbest import Candidate, NBest, Rejected
from reranker.nbest.data import Certainty, Origin
from reranker.trees.tree import Tree, quoted, short_repr

if TYPE_CHECKING:
    import nltk
    import pandas

    from reranker.ranking.doubt import Doubt
    from reranker.ranking.sentence import Constituent, ParsedSentence

Criterion = Literal["perplexity", "token-perplexity"]
TokenScores = tuple[tuple[str, float | None], ...]

# Scores are exact to 1e-4 nats whatever the batch; a smaller difference is a tie.
SCORE_DECIMALS = 4
TOKEN_SCORE_DECIMALS = 6

# The version, increased when a field of the ranked output changes its meaning or is removed.
OUTPUT_VERSION = 2


@dataclass(frozen=True, slots=True, repr=False)
class Weighing:
    """The weights of language models and parser: ``lm_weight * LM + (1 - lm_weight) * parser``, in
    nats, where LM is the sum of ``member_weights[m]`` times the log-probability under member m,
    plus ``token_bonus`` for each LM token of the candidate.

    Candidates of a sentence have the same words, so a bonus for each token, ``<eos>`` and both
    brackets of a constituent included, is twice that for each constituent. Raises RerankError for
    invalid numbers.
    """

    lm_weight: float = 1.0
    criterion: Criterion = "perplexity"
    member_weights: tuple[float, ...] = ()
    """A weight for each member; empty stands for 1 each."""
    token_bonus: float = 0.0
    """The bonus in nats; negative if models prefer trees with too many brackets."""
    shortlist: float = math.inf
    """The nats by which span models may find a candidate worse than their best one; those that they
    find worse still come last (``span_limit``)."""

    def __repr__(self) -> str:
        return short_repr(self)

    def __post_init__(self) -> None:
        if not isinstance(self.member_weights, tuple):
            raise RerankError(f"member_weights {self.member_weights!r} is not a tuple")
        numbers = (self.lm_weight, self.token_bonus, self.shortlist, *self.member_weights)
        for number in numbers:
            if isinstance(number, bool) or not isinstance(number, Real):
                raise RerankError(f"{number!r} is not a number")
        if not 0 <= self.lm_weight <= 1:
            raise RerankError(f"lm_weight {self.lm_weight} is not between 0 and 1")
        if self.criterion not in get_args(Criterion):
            raise RerankError(f"there is no criterion {self.criterion!r}")
        if not all(0 <= weight < math.inf for weight in self.member_weights):
            raise RerankError(f"member_weights {self.member_weights} must all be >= 0")
        if self.member_weights and not any(self.member_weights):
            raise RerankError("member_weights are all 0")
        if not math.isfinite(self.token_bonus):
            raise RerankError(f"token_bonus {self.token_bonus} is not finite")
        if not self.shortlist >= 0:
            raise RerankError(f"shortlist {self.shortlist} is not >= 0")

    def signature(self) -> str:
        """Return the settings that a figure depends on, on one line."""
        parts = [f"criterion={self.criterion}", f"lm-weight={self.lm_weight:g}"]
        if weights := ",".join(f"{weight:g}" for weight in self.member_weights):
            parts.append(f"member-weights={weights}")
        if self.token_bonus:
            parts.append(f"token-bonus={self.token_bonus:g}")
        if self.shortlist < math.inf:
            parts.append(f"shortlist={self.shortlist:g}")
        return " ".join(parts)

    def replaced(
        self, lm_weight: float | None = None, criterion: Criterion | None = None
    ) -> Weighing:
        """Return a copy with the given values replaced."""
        weight = self.lm_weight if lm_weight is None else lm_weight
        return replace(self, lm_weight=weight, criterion=criterion or self.criterion)


@dataclass(frozen=True, slots=True)
class Scored:
    """The language models' scores of one candidate."""

    nll: float  # negative log-likelihood in nats, summed over the ensemble's members
    perplexity: float | None  # of the language models, per word of the sentence; None without one
    tokens: int  # LM tokens, <eos> included
    unknown_words: int  # words that at least one member does not know
    duplicate_of: int | None  # index of the first candidate with the same tokens
    token_scores: TokenScores | None = None  # on request, see Ranked
    member_nll: tuple[float, ...] = ()  # each member's part of nll; none if they are averaged
    token_perplexity: float | None = None  # of the language models, per token
    span_nll: float | None = None  # the span models' part of nll; None without one


def repeating(scored: Scored, original: int | None) -> Scored:
    """Return the scores for a candidate that repeats the candidate with index ``original``."""
    return scored if original is None else replace(scored, duplicate_of=original)


class TreeString(str):
    """A tree in brackets that also has ``nltk.Tree``'s methods, such as ``pretty_print``."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_"):
            with contextlib.suppress(TreeError):
                return getattr(Tree.from_string(self).to_nltk(), name)
        raise AttributeError(f"a tree that is a string has no attribute {name!r}")


@dataclass(frozen=True, slots=True, repr=False)
class Ranked:
    """A candidate in its place; a higher score is better.

    ``tree`` is a string; ``words``, ``tags``, ``offsets`` and ``constituents`` are read from it.
    These properties raise TreeError if ``tree`` is not a bracketed tree: a candidate that hides its
    words, as in some formats (``ReadOptions.restore`` writes the words back).
    """

    index: int
    score: float
    nll: float
    perplexity: float | None
    """exp of the nats per word of the sentence, averaged over the language models; infinite if it
    is too large for a number, None if the ensemble has span models only."""
    token_perplexity: float | None
    """The ``perplexity`` per token of the linearised tree, ``<eos>`` included."""
    span_nll: float | None
    """The span models' part of ``nll``; None without one."""
    tokens: int
    unknown_words: int
    parser_score: float | None
    duplicate_of: int | None
    repaired: bool
    tree: str
    token_scores: TokenScores | None = None
    """Each token of the linearised tree, ``<eos>`` last, with its log-probability in nats summed
    over the language models, or None without one: together they are ``span_nll - nll``."""
    member_nll: tuple[float, ...] = ()
    """Each member's part of ``nll``, in the order of the checkpoints; empty if there is one member
    only, or if their probabilities were averaged."""

    mixed_score: float | None = None
    """The score before the shortlist moved this candidate down; else None."""

    origin: Origin | None = field(default=None, compare=False)
    """The place of the sentence in the parsed text, as in ``Ranking``."""
    certainty: Certainty | None = field(default=None, compare=False)
    """The parser's certainty of each bracket of the sentence, as in ``Ranking``."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "tree", TreeString(self.tree))

    @property
    def words(self) -> list[str]:
        """Return the words as written in the text, or as in the tree if the text is not known."""
        return [word.form for word in self._parsed().words]

    @property
    def tags(self) -> list[str | None]:
        """Return the part of speech of each word; None for a word without one."""
        return [word.tag for word in self._parsed().words]

    @property
    def offsets(self) -> list[tuple[int, int]] | None:
        """Return, for each word, the positions in the text of its first character and of the
        character after its last; None if the text is not known."""
        offsets = [(each.start, each.end) for each in self._parsed().words]
        known = [(start, end) for start, end in offsets if start is not None and end is not None]
        return known if len(known) == len(offsets) else None

    @property
    def constituents(self) -> list[Constituent]:
        """Return the brackets of the tree, parents before children, left to right."""
        return list(self._parsed().constituents)

    def _parsed(self) -> ParsedSentence:
        from reranker.ranking.sentence import ParsedSentence, with_words_only

        tree = with_words_only(Tree.from_string(self.tree))
        return ParsedSentence("", tree, origin=self.origin, certainty=self.certainty)

    def nltk_tree(self) -> nltk.Tree:
        """Return the tree as ``nltk.Tree``."""
        return Tree.from_string(self.tree).to_nltk()

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, which has no infinity: an infinite perplexity is None."""
        data = {name: getattr(self, name) for name in _WRITTEN}
        for name in ("token_scores", "member_nll", "mixed_score"):
            if data[name] in (None, ()):
                del data[name]
        for name in ("perplexity", "token_perplexity"):
            if data[name] == math.inf:
                data[name] = None
        return data

    def to_json(self) -> str:
        """Return ``to_dict`` as JSON, on one line."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False)

    def to_pandas(self) -> pandas.DataFrame:
        """Return the constituents, one per row. Raises InputError without pandas, TreeError as
        ``constituents`` does."""
        from reranker.files.table import data_frame
        from reranker.ranking.sentence import Constituent

        return data_frame(self.constituents, Constituent._fields)

    def to_svg(self) -> str:
        """Draw the tree. Raises TreeError if there is none."""
        return Tree.from_string(self.tree).to_svg()

    def draw(self, path: str | PathLike[str]) -> None:
        """Write the drawing as SVG, PNG or PDF, as the name ends. Raises InputError for another
        ending and without typst for PNG and PDF, TreeError if there is no tree."""
        from reranker.trees.picture import draw

        draw(Tree.from_string(self.tree), path)

    def __repr__(self) -> str:
        return f"Ranked({self.index}, score={self.score:.1f}, tree={quoted(self.tree)})"

    def _repr_svg_(self) -> str | None:
        """Return the drawing that notebooks show; None, for the text, if there is no tree."""
        try:
            return self.to_svg()
        except TreeError:
            return None


_WRITTEN = [name for name in Ranked.__slots__ if name not in ("origin", "certainty")]
_REJECTED = ("index", "file", "line", "code", "message")


@dataclass(frozen=True, slots=True, repr=False)
class Ranking:
    """The answer for one sentence: candidates best first, and those that could not be used."""

    id: str
    ranking: tuple[Ranked, ...]
    rejected: tuple[Rejected, ...]
    fallback: str = "(TOP )"
    """The answer if no candidate could be used."""
    beaten: int = 0
    """The number of candidates left out because they are not among the requested best."""
    margin: float | None = None
    """The best score minus the score of the next different candidate on the shortlist, which may
    have been left out; None without one, or if the difference overflows."""
    confidence: float | None = None
    """The share of the best tree's brackets that should be right: the mean of their probabilities.
    None where the parser cannot tell (``certainty``)."""
    better_than_first: float | None = None
    """The probability that the best tree has a better F1 than the parser's first
    (reranker.ranking.confidence). None if the two are the same, if there is no calibration, and if
    ``confidence`` is known."""
    origin: Origin | None = None
    """The place of the sentence in the parsed text."""
    certainty: Certainty | None = None
    """The parser's certainty of each bracket, if known."""
    repaired: int = 0
    """The number of repaired candidates, including those left out, which HTTP's answers omit."""

    def __len__(self) -> int:
        """Return the number of ranked candidates."""
        return len(self.ranking)

    def __iter__(self) -> Iterator[Ranked]:
        """Iterate over the candidates, best first."""
        return iter(self.ranking)

    @overload
    def __getitem__(self, place: int) -> Ranked: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Ranked, ...]: ...
    def __getitem__(self, place: int | slice) -> Ranked | tuple[Ranked, ...]:
        """Return the candidate in this place, the best in place 0."""
        return self.ranking[place]

    def __bool__(self) -> bool:
        """Return True: a ranking without candidates is still an answer."""
        return True

    @property
    def status(self) -> Literal["ok", "failed"]:
        """Return ``failed`` if no candidate could be used, else ``ok``."""
        return "ok" if self.ranking else "failed"

    @property
    def best(self) -> Ranked | None:
        """Return the candidate in the first place; None if no candidate could be used."""
        return self.ranking[0] if self.ranking else None

    @property
    def tree(self) -> str:
        """Return the best tree as the parser wrote it; without any, ``fallback``."""
        return TreeString(self.ranking[0].tree if self.ranking else self.fallback)

    def parsed_sentence(self) -> ParsedSentence:
        """Return the best tree, or the fallback, aligned with its text. The tree must be bracketed:
        ``ReadOptions.restore`` reads other candidates as bracketed trees. Raises TreeError if the
        tree is not bracketed."""
        from reranker.ranking.sentence import ParsedSentence, with_words_only

        tree = None
        try:
            tree = with_words_only(Tree.from_string(self.tree))
        except TreeError as error:
            if error.code != "empty":  # (TOP )
                raise
        return ParsedSentence(
            self.id, tree, self.best.score if self.best else None, self.origin, self.confidence,
            self.better_than_first, self.certainty,
        )  # fmt: skip

    @property
    def doubt(self) -> Doubt | None:
        """Return the least sure bracket of the best tree in words; None where no bracket is in
        doubt, or the parser cannot tell. Raises TreeError as ``Ranked.constituents``."""
        return self.doubt_among(self.ranking)

    def doubt_among(self, candidates: Iterable[Ranked | Candidate]) -> Doubt | None:
        """Return ``doubt``, with the readings of these candidates, if the ranking has not all."""
        from reranker.ranking.doubt import doubt_of

        if self.best is None or self.certainty is None:
            return None
        readings = (
            (each.index, each.tree if isinstance(each, Ranked) else each.text, each.parser_score)
            for each in candidates
        )
        return doubt_of(self.parsed_sentence(), readings)

    def cut(self, top: int) -> Ranking:
        """Return the ranking cut after the ``top`` best different candidates and their
        duplicates."""
        different = [i for i, entry in enumerate(self.ranking) if entry.duplicate_of is None]
        end = [*different, len(self.ranking)][min(top, len(different))]
        beaten = self.beaten + len(self.ranking) - end
        return replace(self, ranking=self.ranking[:end], beaten=beaten)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON; docs/output.md describes every field."""
        best = self.best
        origin = {} if self.origin is None else {"origin": self.origin.to_dict()}
        return {
            "version": OUTPUT_VERSION,
            "id": self.id,
            "status": self.status,
            "best_index": best.index if best else None,
            "margin": self.margin,
            "confidence": self.confidence,
            "better_than_first": self.better_than_first,
            "fallback": None if best else self.fallback,
            "ranking": [entry.to_dict() for entry in self.ranking],
            "rejected": [
                {name: getattr(entry, name) for name in _REJECTED} for entry in self.rejected
            ],
            **origin,
            **self.certainty_data(),
        }

    def to_json(self) -> str:
        """Return ``to_dict`` as JSON, on one line, as `--output ranked` writes it."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False)

    def to_pandas(self) -> pandas.DataFrame:
        """Return the candidates, best first, one per row. Raises InputError without pandas."""
        from reranker.files.table import data_frame

        return data_frame((entry.to_dict() for entry in self.ranking), _WRITTEN)

    def __repr__(self) -> str:
        candidates = f"{len(self.ranking)} candidates"
        return f"Ranking({quoted(self.id)}, {candidates}, tree={quoted(self.tree)})"

    def _repr_html_(self) -> str:
        """Return the HTML that notebooks show: the confidence in the best tree, and its drawing."""
        best = self.best
        drawing = None if best is None else best._repr_svg_()
        figures = [] if best is None else [f"candidate {best.index}", f"score {best.score:.1f}"]
        figures += [
            f"{name} {value:.0%}"
            for name, value in (
                ("confidence", self.confidence),
                ("better than the parser's first", self.better_than_first),
            )
            if value is not None
        ]
        heading = ", ".join(figures) or "no usable candidate"
        return f"<p>{escape(heading)}</p>" + (drawing or f"<pre>{escape(self.tree)}</pre>")

    def certainty_data(self) -> dict[str, Any]:
        """Return the entropy, if known."""
        known = self.certainty
        return {} if known is None else {"entropy": round(known.entropy, SCORE_DECIMALS)}


def rank(nbest: NBest, scores: Sequence[Scored | None], weighing: Weighing) -> Ranking:
    """Order the candidates of a list; ``scores[i]`` is candidate i's score, or None if the
    candidate is known not to be among the requested best or the two best. Ties keep the parser's
    order. Candidates that are not on the shortlist (``Weighing.shortlist``) come last.

    A duplicate takes the score of the candidate that it repeats, so it comes after that one. With a
    weight below 1 a candidate without a parser score is rejected (``no-score``). Raises RerankError
    unless there is one member weight for each member.
    """
    rejected = list(nbest.rejected)
    usable: list[tuple[Candidate, Scored]] = []
    mixed: dict[int, float] = {}  # by candidate index
    beaten = repaired = 0
    for candidate, scored in zip(nbest.candidates, scores, strict=True):
        score = None if scored is None else mixed_score(candidate, scored, weighing)
        if weighing.lm_weight < 1 and candidate.parser_score is None:
            rejected.append(candidate.rejected("no-score", "no parser score to mix with"))
            continue
        repaired += candidate.is_repaired
        if scored is None or score is None:
            beaten += 1
        else:
            usable.append((candidate, scored))
            mixed[candidate.index] = score
    ranked = [_ranked(nbest, candidate, scored, mixed) for candidate, scored in usable]
    limit = span_limit((entry.span_nll for entry in ranked), weighing)
    ranked = _with_shortlist(ranked, limit)
    ranked.sort(key=lambda entry: (-entry.score, entry.index))
    rejected.sort(key=lambda entry: (entry.index, entry.line))
    fallback = "" if ranked else replace(nbest, rejected=tuple(rejected)).fallback
    return Ranking(
        nbest.id,
        tuple(ranked),
        tuple(rejected),
        fallback,
        beaten,
        _margin(ranked, limit),
        origin=nbest.origin,
        certainty=nbest.certainty,
        repaired=repaired,
    )


def span_limit(span_nlls: Iterable[float | None], weighing: Weighing) -> float:
    """Return the greatest ``span_nll`` of candidates on the shortlist, to 4 decimals. All
    candidates are on it if there are no span models, if the parser's scores count too, and if
    scores are per token."""
    known = [nll for nll in span_nlls if nll is not None]
    if not known or weighing.lm_weight < 1 or weighing.criterion != "perplexity":
        return math.inf
    return round(min(known), SCORE_DECIMALS) + weighing.shortlist


def _with_shortlist(ranked: list[Ranked], limit: float) -> list[Ranked]:
    """Return the candidates; those beyond the limit come last. A candidate N nats beyond the limit
    gets a score N nats below the lowest on the shortlist, unless its score is lower already."""
    beyond = [0.0 if entry.span_nll is None else entry.span_nll - limit for entry in ranked]
    pairs = [*zip(ranked, beyond, strict=True)]
    last = min((entry.score for entry, nats in pairs if nats <= 0), default=0.0)
    return [
        replace(entry, score=round(last - nats, SCORE_DECIMALS), mixed_score=entry.score)
        if nats > 0 and entry.score > last - nats
        else entry
        for entry, nats in pairs
    ]


def _margin(ranked: Sequence[Ranked], limit: float) -> float | None:
    on_list = (entry for entry in ranked if entry.span_nll is None or entry.span_nll <= limit)
    scores = [entry.score for entry in on_list if entry.duplicate_of is None]
    if len(scores) < 2 or not math.isfinite(scores[0] - scores[1]):
        return None
    return round(scores[0] - scores[1], SCORE_DECIMALS)


def _ranked(
    nbest: NBest, candidate: Candidate, scored: Scored, mixed: Mapping[int, float]
) -> Ranked:
    # A candidate whose original is not ranked counts as an original.
    original = scored.duplicate_of if scored.duplicate_of in mixed else None
    members = scored.member_nll if len(scored.member_nll) > 1 else ()
    return Ranked(
        index=candidate.index,
        score=mixed[candidate.index if original is None else original],
        nll=round(scored.nll, SCORE_DECIMALS),
        perplexity=_six_digits(scored.perplexity),
        token_perplexity=_six_digits(scored.token_perplexity),
        span_nll=None if scored.span_nll is None else round(scored.span_nll, SCORE_DECIMALS),
        tokens=scored.tokens,
        unknown_words=scored.unknown_words,
        parser_score=candidate.parser_score,
        duplicate_of=original,
        repaired=candidate.is_repaired,
        tree=candidate.text,
        token_scores=scored.token_scores,
        member_nll=tuple(round(nll, SCORE_DECIMALS) for nll in members),
        origin=nbest.origin,
        certainty=nbest.certainty,
    )


def _six_digits(perplexity: float | None) -> float | None:
    return None if perplexity is None else float(f"{perplexity:.6g}")


def mixed_score(candidate: Candidate, scored: Scored, weighing: Weighing) -> float | None:
    """Return the number by which candidates are ordered; a greater nll never improves it. None if
    the parser's part is missing."""
    # service/page/ranking.js repeats this; tests/service/page/test_ranking.py holds the two equal.
    weight = weighing.lm_weight
    score = weight * _models(scored, weighing)
    if weight < 1:
        if candidate.parser_score is None:
            return None
        score += (1 - weight) * candidate.parser_score
    if weighing.criterion == "token-perplexity":
        score /= scored.tokens
    return round(score, SCORE_DECIMALS)


def _models(scored: Scored, weighing: Weighing) -> float:
    """Return the language models' part of the score, in nats."""
    score = -scored.nll
    if weights := weighing.member_weights:
        # The nll of a single member is the whole nll.
        parts = scored.member_nll or (scored.nll,)
        if len(weights) != len(parts):
            raise RerankError(
                f"{len(weights)} member weights, but scores of {len(parts)} member(s); averaged "
                "members have one score"
            )
        score = -math.fsum(weight * nll for weight, nll in zip(weights, parts, strict=True))
    return score + weighing.token_bonus * scored.tokens
