"""``rerank analyse``: its flags; each kind of analysis has a module of its own."""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from reranker.analysis_report import Result, names, new_figure, save_figure
from reranker.errors import InputError
from reranker.output import output_path

if TYPE_CHECKING:
    from reranker.analysis_reading import LinearTree, Tick
    from reranker.checkpoint import Checkpoint

EXAMPLES = """examples:
  rerank analyse variation --models ckpt/*.pt --trees dev.mrg.gz
  rerank analyse rank --models lstm.pt mos.pt doc.pt --trees dev.mrg.gz --plot rank.png
  rerank analyse curves runs/lstm runs/doc --plot curves.png
  rerank analyse attention-example --models lstm.pt kvp.pt --trees dev.mrg.gz --tree 3 --token 20

`rerank analyse KIND --help` has the flags of each; docs/analysis.md says what they measure."""

logger = logging.getLogger(__name__)


class _Kind(NamedTuple):
    description: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    compute: Callable[[argparse.Namespace], Result]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the kinds of ``rerank analyse``, each with its flags, to ``parser``."""
    kinds = parser.add_subparsers(dest="kind", required=True, metavar="KIND")
    for name, kind in _KINDS.items():
        one = kinds.add_parser(
            name, help=kind.description, description=kind.description, allow_abbrev=False
        )
        kind.add_arguments(one)
        one.add_argument("--json", action="store_true", help="everything, unrounded, for programs")
        one.add_argument(
            "--plot",
            type=Path,
            metavar="FILE.png",
            help="draw it, too (.svg and .pdf as well; needs matplotlib)",
        )


def run(arguments: argparse.Namespace) -> int:
    """Print an analysis; returns the exit code."""
    given = [getattr(arguments, name, []) for name in ("models", "trees", "runs")]
    picture = output_path(arguments.plot, [file for files in given for file in files])
    figure = new_figure(picture) if picture is not None else None
    result = _KINDS[arguments.kind].compute(arguments)
    print(json.dumps(result.to_json(), indent=2) if arguments.json else result.text())
    if figure is not None and picture is not None:
        result.draw(figure)
        save_figure(figure, picture)
    return 0


def _variation(arguments: argparse.Namespace) -> Result:
    from reranker.analysis_mixture import Variation, mixture_weights

    job = _Job(arguments)
    return Variation(
        tuple(mixture_weights(m, job.trees, name, job.tick) for name, m in job.models())
    )


def _layers(arguments: argparse.Namespace) -> Result:
    from reranker.analysis_mixture import LayerWeights, mixture_weights

    job = _Job(arguments)
    return LayerWeights(
        tuple(mixture_weights(m, job.trees, name, job.tick) for name, m in job.models())
    )


def _rank(arguments: argparse.Namespace) -> Result:
    from reranker.analysis_rank import Ranks, matrix_rank

    job = _Job(arguments)
    return Ranks(
        tuple(
            matrix_rank(model, job.trees, name, arguments.tokens, arguments.seed, job.tick)
            for name, model in job.models()
        )
    )


def _classes(arguments: argparse.Namespace) -> Result:
    from reranker.analysis_classes import ClassPerplexities, broad_class, totals_by_class

    job = _Job(arguments)
    class_of = str if arguments.by == "tag" else broad_class
    return ClassPerplexities(
        {
            name: totals_by_class(model, job.trees, class_of, job.tick)
            for name, model in job.models(compares_perplexity=True)
        }
    )


def _windows(arguments: argparse.Namespace) -> Result:
    from reranker.analysis_windows import Windows, point

    job = _Job(arguments)
    return Windows(
        tuple(
            point(model, job.trees, name, job.tick)
            for name, model in job.models(compares_perplexity=True)
        )
    )


def _attention(arguments: argparse.Namespace) -> Result:
    from reranker.analysis_attention import AttentionByPosition, attention_by_position

    job = _Job(arguments)
    return AttentionByPosition(
        {
            name: attention_by_position(model, job.trees, name, job.tick)
            for name, model in job.models()
        }
    )


def _attention_sample(arguments: argparse.Namespace) -> Result:
    from reranker.analysis_attention import (
        AttentionSample,
        attention_at,
        checked_reach,
        random_places,
    )

    job = _Job(arguments)
    models = dict(job.models())
    reaches = {name: checked_reach(model, name) for name, model in models.items()}
    places = random_places(job.trees, list(reaches.values()), arguments.tokens, arguments.seed)
    return AttentionSample(
        {
            name: (reaches[name], attention_at(model, job.trees, places))
            for name, model in models.items()
        }
    )


def _attention_example(arguments: argparse.Namespace) -> Result:
    from reranker.analysis_example import Example, predict

    job = _Job(arguments)
    if arguments.tree > len(job.trees):
        raise InputError(f"--tree {arguments.tree}: there are {len(job.trees)} trees")
    tree = job.trees[arguments.tree - 1]
    token = arguments.token - 1
    predictions = tuple(predict(model, tree, token, name) for name, model in job.models())
    return Example(tree.tokens, token, predictions)


def _curves(arguments: argparse.Namespace) -> Result:
    from reranker.analysis_curves import read_curves

    return read_curves(arguments.runs, arguments.by)


class _Job:
    """The models and trees of the command line, and the bar that shows how far they are read."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        from reranker.analysis_reading import read_trees
        from reranker.ensemble_file import named_models

        self._paths = named_models(arguments.models).paths
        sample = getattr(arguments, "sample", None)
        self.trees: list[LinearTree] = read_trees(
            arguments.trees, sample, getattr(arguments, "seed", 0)
        )
        self.tick: Tick = lambda tokens: None

    def models(self, compares_perplexity: bool = False) -> Iterator[tuple[str, Checkpoint]]:
        """Names and checkpoints, one at a time, ``tick`` moving the bar meanwhile."""
        from tqdm import tqdm

        from reranker.analysis_reading import token_count
        from reranker.checkpoint import load_checkpoint

        first = None
        for name, path in zip(names(self._paths), self._paths, strict=True):
            checkpoint = load_checkpoint(path)
            first = first or checkpoint
            if compares_perplexity and checkpoint.vocabulary != first.vocabulary:
                logger.warning(
                    "%s and %s have different vocabularies: their perplexities do not compare",
                    *(first.name, name),
                )
            bar = tqdm(
                total=token_count(self.trees),
                desc=name,
                unit=" tokens",
                leave=False,
                disable=not sys.stderr.isatty(),
            )
            with bar:
                self.tick = bar.update
                yield name, checkpoint


def _model_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--models",
        nargs="+",
        required=True,
        metavar="FILE.pt",
        help="checkpoints, globs or an ensemble file",
    )
    parser.add_argument("--trees", nargs="+", type=Path, required=True, metavar="TREES")


def _sample_arguments(parser: argparse.ArgumentParser) -> None:
    _model_arguments(parser)
    parser.add_argument(
        "--sample", type=_positive, metavar="N", help="N trees drawn at random (default: all)"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the drawing")


def _rank_arguments(parser: argparse.ArgumentParser) -> None:
    _model_arguments(parser)
    parser.add_argument(
        "--tokens",
        type=_positive,
        default=1000,
        metavar="N",
        help="rows of the matrix (default: 1000)",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the drawing")


def _classes_arguments(parser: argparse.ArgumentParser) -> None:
    _sample_arguments(parser)
    parser.add_argument(
        "--by",
        choices=("class", "tag"),
        default="class",
        help="broad classes, or every part of speech and bracket (default: class)",
    )


def _attention_sample_arguments(parser: argparse.ArgumentParser) -> None:
    _model_arguments(parser)
    parser.add_argument(
        "--tokens", type=_positive, default=70, metavar="N", help="how many (default: 70)"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the drawing")


def _attention_example_arguments(parser: argparse.ArgumentParser) -> None:
    _model_arguments(parser)
    parser.add_argument("--tree", type=_positive, default=1, metavar="N", help="default: 1")
    parser.add_argument(
        "--token",
        type=_positive,
        required=True,
        metavar="K",
        help="what is predicted: the Kth token of the tree's linear form",
    )


def _curves_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "runs", nargs="+", type=Path, metavar="RUN", help="log folders, or the log.jsonl in them"
    )
    parser.add_argument(
        "--by",
        choices=("epochs", "tokens", "minutes"),
        default="epochs",
        help="what --plot has from left to right (default: epochs)",
    )


def _positive(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and int(text) >= 1):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 up")
    return int(text)


_KINDS = {
    "variation": _Kind(
        "coefficient of variation of the mixture's weights (Takase et al., Table 4)",
        _sample_arguments,
        _variation,
    ),
    "layers": _Kind("weight of each layer in the mixture", _sample_arguments, _layers),
    "rank": _Kind(
        "rank of the matrix of log-probabilities (Takase et al., Table 5)", _rank_arguments, _rank
    ),
    "curves": _Kind(
        "dev perplexity as training goes on (Takase et al., Figure 2)", _curves_arguments, _curves
    ),
    "classes": _Kind(
        "perplexity by part of speech (Daniluk, Table 4.12)", _classes_arguments, _classes
    ),
    "windows": _Kind(
        "perplexity by attention window or N (Daniluk, Tables 4.3, 4.4)",
        _sample_arguments,
        _windows,
    ),
    "attention": _Kind(
        "attention to each position (Daniluk, Figure 4.1)", _sample_arguments, _attention
    ),
    "attention-sample": _Kind(
        "attention at random tokens (Daniluk, Figure 4.2)",
        _attention_sample_arguments,
        _attention_sample,
    ),
    "attention-example": _Kind(
        "one prediction as several models make it (Daniluk, Figures 4.3 to 4.5)",
        _attention_example_arguments,
        _attention_example,
    ),
}
