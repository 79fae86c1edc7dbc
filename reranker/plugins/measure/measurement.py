"""``reranker.measure``: the measures of a text, or of trees, from Python."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

from reranker.files.table import data_frame
from reranker.parsers.parser import Parser
from reranker.plugins.measure.measures import Counted, Difference, Row, Totals, differences
from reranker.text.conventions import Convention
from reranker.text.splitting import TextForm
from reranker.trees.tree import Tree
from reranker.work.given import answers, given_trees
from reranker.work.parses import Parses
from reranker.work.tree_files import TreeJob

if TYPE_CHECKING:
    import nltk
    import pandas


class Measure(TreeJob[Counted]):
    """The job of counting structures."""

    def read(self, parses: Parses) -> Counted:
        """Return the counts of a sentence. Raises TreeError as ``Counted.of``."""
        return Counted.of(parses)


class Measurement:
    """The counts of a text."""

    def __init__(self, sentences: Iterable[Counted]) -> None:
        self.sentences = list(sentences)
        self.totals = Totals()
        for each in self.sentences:
            self.totals.add(each)

    @property
    def rows(self) -> list[Row]:
        """Return the measures of the text."""
        return list(self.totals.rows())

    def compare(self, other: Measurement) -> list[Difference]:
        """Return this text's measures beside those of another text."""
        return list(differences(self.totals, other.totals))

    def to_pandas(self, by: Literal["text", "sentence"] = "text") -> pandas.DataFrame:
        """Return a table with the columns of ``Row``, of the text or, with two more, of each
        sentence. Raises InputError without pandas."""
        if by == "text":
            return data_frame(self.rows, Row._fields)
        rows = (
            (number, each.line, *row)
            for number, each in enumerate(self.sentences)
            for row in each.rows()
        )
        return data_frame(rows, ("sentence", "line", *Row._fields))


def measure(
    text: str | os.PathLike[str] | Iterable[Tree | nltk.Tree],
    *,
    form: TextForm = "text",
    words: Convention = "gum",
    speakers: bool | None = None,
    parser: Parser | str = "chart",
    parser_model: str = "",
    temperature: float | None = None,
) -> Measurement:
    """Measure a text, or trees, one for each sentence.

    ``form``, ``words``, ``speakers``, ``parser`` and ``parser_model`` are those of
    ``reranker.parse``. The trees
    of a sentence have probabilities in proportion to exp(score / ``temperature``), by default the
    parser's own. A sentence without a tree that can be measured is left out, and logged; a text in
    another language than the parser's gets a UserWarning.

    >>> tree = Tree.from_string("(S (NP (PRP It)) (VP (VBZ runs)))")
    >>> [row.value for row in measure([tree]).rows if row.measure == "MLT"]
    [2.0]

    Raises InputError if the parser or its model is missing.
    """
    trees = given_trees(text, form, words, parser, parser_model, temperature, speakers)
    return Measurement(answers(Measure(), trees))
