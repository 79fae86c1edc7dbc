"""Outputs: the text that is written for the ranking of a sentence."""

from __future__ import annotations

from reranker import registry
from reranker.errors import InputError
from reranker.outputs.form import Form
from reranker.ranking import Ranking


class Output(Form[Ranking]):
    """A form of rankings. Subclasses define ``line``, and stand in ``reranker/registry.py`` or,
    those of other packages, behind an entry point. ``line`` returns the text of one sentence
    without the last line break. It may raise TreeError if it needs a bracketed tree and the best
    tree is not one. The attributes declare the needs of the text."""

    needs_brackets = True
    """True if the best tree must be bracketed (``ReadOptions.restore`` makes it so)."""
    needs_probabilities = False
    """True if each bracket must have a probability, which the parser chart alone gives."""
    has_probabilities = True
    """True if the text has the brackets' probabilities, where there are any."""
    has_all_candidates = False
    """True if the text has all candidates, or the ``--top`` best; False if it has the best
    alone."""
    suffix = ".txt"
    """The ending of a file's name."""

    def with_commas(self) -> Output:
        """Return the same table with commas between its columns. Raises InputError if this is not a
        table."""
        raise InputError("--csv needs --output brackets")


class Best(Output):
    """The best tree on a line."""

    needs_brackets = has_probabilities = False
    suffix = ".mrg"

    def line(self, ranking: Ranking, number: int) -> str:
        return ranking.tree


class AllCandidates(Output):
    """Every candidate with its scores, as JSON."""

    needs_brackets = False
    has_all_candidates = True
    suffix = ".jsonl"

    def line(self, ranking: Ranking, number: int) -> str:
        return ranking.to_json()


def output_of(name: str) -> Output:
    """Return the output of that name, which may be another package's. Raises InputError for an
    unknown name."""
    output: Output = registry.load("outputs", name)()
    return output
