"""Table 4.12 of Daniluk 2016: perplexity by part of speech; brackets are classes of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from reranker.checkpoints.checkpoint import Checkpoint
from reranker.checkpoints.vocabulary import EOS
from reranker.files.figure import label_plainly
from reranker.perplexity import perplexity
from reranker.plugins.analysis.readings import LinearTree, Tick, ignore, token_log_probabilities
from reranker.plugins.analysis.report import Report
from reranker.trees.linearize import is_word

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ALL = "all"
# The thesis names its six classes and no tags; these are the Penn Treebank's (AUX: BLLIP's).
WORD_CLASSES = {
    "nouns": "NN NNS NNP NNPS",
    "verbs": "VB VBD VBG VBN VBP VBZ MD AUX AUXG",
    "adjectives": "JJ JJR JJS",
    "adverbs": "RB RBR RBS WRB",
    "personal pronouns": "PRP PRP$",
    "determiners": "DT PDT WDT",
    "prepositions": "IN TO",
    "punctuation": ". , : `` '' -LRB- -RRB- -LSB- -RSB- -LCB- -RCB- HYPH NFP",
}
OTHER, OPENING, CLOSING, END = "other words", "opening brackets", "closing brackets", "end"
_CLASS_OF = {tag: name for name, tags in WORD_CLASSES.items() for tag in tags.split()}
_ORDER = (*WORD_CLASSES, OTHER, OPENING, CLOSING, END)


class Total(NamedTuple):
    """The negative log-likelihood of the tokens of a class."""

    tokens: int
    nll: float  # in nats

    @property
    def perplexity(self) -> float:
        return perplexity(self.nll, self.tokens)

    def to_json(self) -> dict[str, float]:
        return {**self._asdict(), "perplexity": self.perplexity}


def broad_class(kind: str) -> str:
    """Return the class of a part of speech, a bracket or ``<eos>``.

    >>> [broad_class(kind) for kind in ("NNS", "(NP", ")NP", "CD")]
    ['nouns', 'opening brackets', 'closing brackets', 'other words']
    """
    if kind == EOS:
        return END
    if is_word(kind):
        return _CLASS_OF.get(kind, OTHER)
    return OPENING if kind[0] == "(" else CLOSING


def totals_by_class(
    checkpoint: Checkpoint,
    trees: Sequence[LinearTree],
    class_of: Callable[[str], str] = broad_class,
    tick: Tick = ignore,
) -> dict[str, Total]:
    """Return a total for every class that occurs, in the order of the tables (other classes
    alphabetically), and one for all tokens."""
    totals: dict[str, Total] = {}
    for place, values in token_log_probabilities(checkpoint, trees, tick):
        for kind, value in zip(trees[place].kinds, values, strict=True):
            name = class_of(kind)
            tokens, nll = totals.get(name, (0, 0.0))
            totals[name] = Total(tokens + 1, nll - value)
    order = {name: place for place, name in enumerate(_ORDER)}
    names = sorted(totals, key=lambda name: (order.get(name, 0), name))
    everything = Total(
        sum(total.tokens for total in totals.values()), sum(total.nll for total in totals.values())
    )
    return {name: totals[name] for name in names} | {ALL: everything}


def class_report(models: dict[str, dict[str, Total]]) -> Report:
    """Report exp of the mean -log P over the tokens of each class, by the token predicted; several
    models side by side. A word outside the vocabulary has the probability of its unknown-word
    class, so models compare only if their vocabularies are the same."""
    rows = [("predicted", "tokens", *models)]
    for name, total in next(iter(models.values())).items():
        cells = (f"{totals[name].perplexity:.2f}" for totals in models.values())
        rows.append((name, str(total.tokens), *cells))
    data = [
        {"model": model, "classes": {name: total.to_json() for name, total in totals.items()}}
        for model, totals in models.items()
    ]
    return Report([rows], data, partial(_draw, models))


def _draw(models: dict[str, dict[str, Total]], figure: Figure) -> None:
    """Draw a group of bars for each class, a bar for each model."""
    names = list(next(iter(models.values())))
    figure.set_size_inches(8, 1.5 + 0.12 * len(names) * (1 + len(models)))
    axes = figure.subplots()
    height = 0.8 / len(models)
    for number, (model, totals) in enumerate(models.items()):
        places = [place + number * height for place in range(len(names))]
        lengths = [totals[name].perplexity - 1 for name in names]  # 1 is the least there is
        axes.barh(places, lengths, left=1, height=height, align="edge", label=model)
    axes.set(title="Perplexity by class of the token predicted")
    axes.set(xlabel="perplexity per token", xscale="log", xlim=(1, None))
    label_plainly(axes.xaxis)
    axes.set_yticks([place + 0.4 for place in range(len(names))], names)
    axes.invert_yaxis()
    axes.grid(alpha=0.3, axis="x")
    axes.legend()
