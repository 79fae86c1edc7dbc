"""``rerank analyse``: its flags; ``reranker.analysis.kinds`` does the work."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from reranker.commands.arguments import positive
from reranker.files.figure import new_figure, save_figure
from reranker.files.output import output_path

EXAMPLES = """examples:
  rerank analyse variation --models ckpt/*.pt --trees dev.mrg.gz
  rerank analyse rank --models lstm.pt mos.pt doc.pt --trees dev.mrg.gz --plot rank.png
  rerank analyse curves runs/lstm runs/doc --plot curves.png
  rerank analyse attention-example --models lstm.pt kvp.pt --trees dev.mrg.gz --tree 3 --token 20

`rerank analyse KIND --help` lists the flags of each; docs/analysis.md says what they measure."""


class _Kind(NamedTuple):
    description: str
    add_arguments: Callable[[argparse.ArgumentParser], None]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the kinds of ``rerank analyse``, each with its flags, to ``parser``."""
    kinds = parser.add_subparsers(dest="kind", required=True, metavar="KIND")
    for name, kind in _KINDS.items():
        kind_parser = kinds.add_parser(
            name, help=kind.description, description=kind.description, allow_abbrev=False
        )
        kind.add_arguments(kind_parser)
        kind_parser.add_argument("--json", action="store_true", help="print JSON, not rounded")
        kind_parser.add_argument(
            "--plot",
            type=Path,
            metavar="FILE.png",
            help="also draw it (.svg and .pdf too; needs matplotlib)",
        )


def run(arguments: argparse.Namespace) -> int:
    """Print an analysis; returns the exit code."""
    from reranker.analysis.kinds import analysed

    given = [getattr(arguments, name, []) for name in ("models", "trees", "runs")]
    picture = output_path(arguments.plot, [file for files in given for file in files])
    figure = new_figure(picture) if picture is not None else None
    result = analysed(arguments)
    if arguments.json:
        print(json.dumps(_finite(result.to_json()), indent=2, allow_nan=False))
    else:
        print(result.text())
    if figure is not None and picture is not None:
        result.draw(figure)
        save_figure(figure, picture)
    return 0


def _finite(value: object) -> object:
    """``value`` with null for infinity, which JSON lacks."""
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _model_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--models",
        nargs="+",
        required=True,
        metavar="FILE.pt",
        help="checkpoints, a folder of them or an ensemble.toml",
    )
    parser.add_argument("--trees", nargs="+", type=Path, required=True, metavar="TREES")


def _sample_arguments(parser: argparse.ArgumentParser) -> None:
    _model_arguments(parser)
    parser.add_argument(
        "--sample", type=positive, metavar="N", help="use N trees drawn at random (default: all)"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="random seed (default: 0)")


def _rank_arguments(parser: argparse.ArgumentParser) -> None:
    _model_arguments(parser)
    parser.add_argument(
        "--tokens",
        type=positive,
        default=1000,
        metavar="N",
        help="rows of the matrix (default: 1000)",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="random seed (default: 0)")


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
        "--tokens", type=positive, default=70, metavar="N", help="number of tokens (default: 70)"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="random seed (default: 0)")


def _attention_example_arguments(parser: argparse.ArgumentParser) -> None:
    _model_arguments(parser)
    parser.add_argument(
        "--tree", type=positive, default=1, metavar="N", help="Nth tree (default: 1)"
    )
    parser.add_argument(
        "--token",
        type=positive,
        required=True,
        metavar="K",
        help="predict the Kth token of the linearised tree",
    )


def _curves_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "runs", nargs="+", type=Path, metavar="RUN", help="log folders, or the log.jsonl in them"
    )
    parser.add_argument(
        "--by",
        choices=("epochs", "tokens", "minutes"),
        default="epochs",
        help="x axis of --plot (default: epochs)",
    )


_KINDS = {
    "variation": _Kind(
        "coefficient of variation of the mixture's weights (Takase et al., Table 4)",
        _sample_arguments,
    ),
    "layers": _Kind("weight of each layer in the mixture", _sample_arguments),
    "rank": _Kind(
        "rank of the matrix of log-probabilities (Takase et al., Table 5)", _rank_arguments
    ),
    "curves": _Kind("dev perplexity during training (Takase et al., Figure 2)", _curves_arguments),
    "classes": _Kind("perplexity by part of speech (Daniluk, Table 4.12)", _classes_arguments),
    "windows": _Kind(
        "perplexity by attention window or N (Daniluk, Tables 4.3, 4.4)", _sample_arguments
    ),
    "attention": _Kind("attention to each position (Daniluk, Figure 4.1)", _sample_arguments),
    "attention-sample": _Kind(
        "attention at random tokens (Daniluk, Figure 4.2)", _attention_sample_arguments
    ),
    "attention-example": _Kind(
        "one prediction by several models (Daniluk, Figures 4.3 to 4.5)",
        _attention_example_arguments,
    ),
}
