"""The share of predictions that a model's surprisals meet, in test suites of syntax in the form of
SyntaxGym.

    git clone https://github.com/cpllab/syntactic-generalization
    python eval/surprisal/test_suites.py syntactic-generalization/test_suites/json

A suite (Hu et al. 2020, "A systematic assessment of syntactic generalization in neural language
models") is a JSON file. Each item has a sentence in several conditions, cut into numbered regions;
a prediction is a formula such as ``(5;%reduced%) > (5;%unreduced%)`` over the surprisals of
regions, each the sum over its words, ``*`` being the whole sentence.

Printed is in which share of the items each prediction holds (%), by model, and which share of the
words that it compares are outside the model's vocabulary; these words are listed below. "chance" is
how often it would hold if every region's surprisal were drawn from one normal distribution. The
mean is over the predictions for which chance is not 0, as it is where surprisals should be equal.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reranker.checkpoints.ensemble_file import named_models
from reranker.errors import InputError
from reranker.files.table import aligned
from reranker.plugins.surprisal.surprisal import surprisal
from reranker.process.flags import positive, reporting_errors, script_parser

_DRAWS, _SEED = 1_000_000, 1
_REGION = re.compile(r"\(\s*(\d+|\*)\s*;\s*%([^%()]+)%\s*\)")
_OPERATORS: dict[type[ast.AST], np.ufunc] = {
    **{ast.Add: np.add, ast.Sub: np.subtract, ast.And: np.logical_and, ast.Or: np.logical_or},
    **{ast.Gt: np.greater, ast.Lt: np.less, ast.Eq: np.equal},
}

Place = tuple[str, str]
"""A condition, and the number of a region or ``*``."""
Values = NDArray[Any]
"""[items], of numbers or of truth values."""


class Formula:
    """A prediction."""

    def __init__(self, text: str) -> None:
        """Read a formula. Raises InputError for other text."""
        self.places: list[Place] = []

        def name(region: re.Match[str]) -> str:
            self.places.append((region[2], region[1]))
            return f"r{len(self.places) - 1}"

        words = {"[": "(", "]": ")", "=": "==", "&": " and ", "|": " or "}
        python = re.sub(r"[\[\]=&|]", lambda sign: words[sign[0]], _REGION.sub(name, text))
        try:
            self._tree = ast.parse(python.strip(), mode="eval").body
            is_prediction = self.holds({place: np.zeros(1) for place in self.places}).dtype == bool
        except (SyntaxError, KeyError, ValueError):
            is_prediction = False
        if not is_prediction:
            raise InputError(f"not a prediction: {text}")

    def holds(self, values: Mapping[Place, Values]) -> Values:
        """Return the items in which the formula holds, from the surprisals of the regions."""
        return self._value(self._tree, values)

    def _value(self, node: ast.AST, values: Mapping[Place, Values]) -> Values:
        match node:
            case ast.Name(id):
                return values[self.places[int(id[1:])]]
            case ast.Constant(int() | float() as number):
                return np.array(number)
            case ast.BinOp(left, operator, right) | ast.Compare(left, [operator], [right]):
                pass
            case ast.BoolOp(operator, [left, right]):
                pass
            case ast.BoolOp(operator, [*left_parts, right]):
                left = ast.BoolOp(operator, left_parts)
            case _:
                raise ValueError
        apply = _OPERATORS[type(operator)]
        result: Values = apply(self._value(left, values), self._value(right, values))
        return result

    def chance(self) -> float:
        """Return how often the formula holds of numbers drawn from one distribution."""
        random = np.random.default_rng(_SEED)
        places = dict.fromkeys(self.places)
        return float(self.holds({each: random.normal(size=_DRAWS) for each in places}).mean())


class Suite(NamedTuple):
    """A file of items."""

    name: str
    predictions: list[Formula]
    items: list[dict[str, list[tuple[str, list[str]]]]]
    """By condition: the regions' numbers and words."""

    @classmethod
    def read(cls, path: Path) -> Suite:
        """Read a suite. Raises InputError for another file, and for a prediction about a missing
        region."""
        try:
            content = json.loads(path.read_bytes())
            items = [
                {
                    condition["condition_name"]: [
                        (str(region["region_number"]), region["content"].split())
                        for region in condition["regions"]
                    ]
                    for condition in item["conditions"]
                }
                for item in content["items"]
            ]
            formulas = [each["formula"] for each in content["predictions"]]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(f"{path}: not a suite: {type(error).__name__}: {error}") from error
        try:
            suite = cls(path.stem, [Formula(text) for text in formulas], items)
        except InputError as error:
            raise InputError(f"{path}: {error}") from error
        for condition, region in (place for each in suite.predictions for place in each.places):
            for number, item in enumerate(items, 1):
                if region not in ("*", *(name for name, _ in item.get(condition, ()))):
                    raise InputError(f"{path}: item {number} has no ({region};%{condition}%)")
        return suite

    def until_compared(self) -> Iterator[list[tuple[str, str]]]:
        """Yield the sentences, item by item and condition by condition, each word with its region's
        number; words at the end that no prediction compares are left out, which changes nothing
        before them."""
        compared = {region for each in self.predictions for _, region in each.places}
        for item in self.items:
            for regions in item.values():
                names = [name for name, _ in regions]
                last = max(
                    (place for place, name in enumerate(names) if name in compared), default=-1
                )
                if "*" in compared:
                    last = len(regions)
                yield [(name, word) for name, words in regions[: last + 1] for word in words]


class SuiteResult(NamedTuple):
    """The result of a model for a prediction."""

    holds: Values
    unknown: list[str]
    """The words outside the vocabulary, of those that are compared."""
    words: int


def results(suite: Suite, model: str, beam: int, threads: int) -> Iterator[SuiteResult]:
    """Yield the result of each prediction. Raises InputError for a model that cannot be used."""
    sentences = list(suite.until_compared())
    text = "\n".join(" ".join(word for _, word in sentence) for sentence in sentences)
    read = surprisal(text, form="sentences", models=[model], beam=beam, threads=threads)
    rows = iter(read.rows())
    measured: list[dict[str, list[dict[str, Any]]]] = []
    for sentence in sentences:
        by_region: dict[str, list[dict[str, Any]]] = {"*": []}
        for region, word in sentence:
            row = next(rows)
            if row["text"] != word or row["surprisal"] is None:
                raise InputError(f"{suite.name}: not read as it is written: {word}")
            by_region["*"].append(row)
            by_region.setdefault(region, []).append(row)
        measured.append(by_region)
    in_order = iter(measured)
    items = [{condition: next(in_order) for condition in item} for item in suite.items]
    for formula in suite.predictions:
        compared = {
            (condition, region): [item[condition].get(region, []) for item in items]
            for condition, region in dict.fromkeys(formula.places)
        }
        values = {
            place: np.array([sum(row["surprisal"] for row in region) for region in regions])
            for place, regions in compared.items()
        }
        words = [row for regions in compared.values() for region in regions for row in region]
        unknown = [row["text"] for row in words if row["unknown"]]
        yield SuiteResult(formula.holds(values), unknown, len(words))


def run(arguments: argparse.Namespace) -> None:
    """Print the table."""
    suites = [Suite.read(path) for path in _files(arguments.suites)]
    predictions = [(suite, each) for suite in suites for each in range(len(suite.predictions))]
    chances = np.array([100 * suite.predictions[each].chance() for suite, each in predictions])
    columns = [
        ["suite", *map(_name, predictions), "mean"],
        ["items", *(str(len(suite.items)) for suite, _ in predictions), ""],
        _percentages("chance", chances, chances),
    ]
    notes = []
    for path in named_models(arguments.models).paths:
        found: list[SuiteResult] = []
        for suite in suites:
            found += results(suite, str(path), arguments.beam, arguments.threads)
            print(f"{path.stem}: {suite.name}", file=sys.stderr)
        columns.append(
            _percentages(path.stem, 100 * np.array([e.holds.mean() for e in found]), chances)
        )
        shares = np.array([100 * len(each.unknown) / each.words for each in found])
        columns.append(_percentages("unknown", shares, chances))
        unknown = sorted({word for each in found for word in each.unknown})
        notes.append(f"outside the vocabulary of {path.stem}: {' '.join(unknown) or 'nothing'}")
    print(aligned([*zip(*columns, strict=True)]), *notes, sep="\n")


def _files(names: Sequence[Path]) -> Iterator[Path]:
    for name in names:
        inside = sorted(name.glob("*.json")) if name.is_dir() else [name]
        if not inside:
            raise InputError(f"{name}: no file in this folder ends in .json")
        yield from inside


def _name(prediction: tuple[Suite, int]) -> str:
    suite, number = prediction
    return f"{suite.name} ({number + 1})" if len(suite.predictions) > 1 else suite.name


def _percentages(name: str, values: Values, chances: Values) -> list[str]:
    """Return a column with its mean."""
    return [name, *(f"{each:.1f}" for each in (*values, values[chances > 0].mean()))]


@reporting_errors("test_suites.py")
def main() -> int:
    parser = script_parser("test_suites.py", __doc__)
    parser.add_argument(
        "suites", nargs="+", type=Path, metavar="SUITES", help="files, and folders of them"
    )
    parser.add_argument(
        "--models",
        nargs="+",
        metavar="FILE.pt",
        default=["ckpt/rnn-forward.pt", "ckpt/doc/doc-1.pt"],
        help="forward language models, each read with by itself (default: %(default)s)",
    )
    parser.add_argument("--beam", type=positive, default=100, metavar="K")
    parser.add_argument("--threads", type=positive, default=1, metavar="N")
    run(parser.parse_args())
    return 0


if __name__ == "__main__":
    sys.exit(main())
