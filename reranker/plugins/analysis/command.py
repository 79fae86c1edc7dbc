"""``rerank analyse``: its flags; ``reranker.plugins.analysis.kinds`` does the work."""

from __future__ import annotations

import argparse
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from reranker.commands.progress import loading
from reranker.files.figure import new_figure, save_figure
from reranker.files.output import open_whole, output_paths
from reranker.process.flags import positive
from reranker.trees.treebank import treebank_files

EXAMPLES = """examples:
  rerank analyse variation --models ckpt/*.pt --trees dev.mrg.gz
  rerank analyse rank --models lstm.pt mos.pt doc.pt --trees dev.mrg.gz --plot rank.png
  rerank analyse perplexity --models doc-*.pt --text ptb.valid.txt ptb.test.txt
  rerank analyse curves runs/lstm runs/doc --plot curves.png
  rerank analyse attention-example --models lstm.pt kvp.pt --trees dev.mrg.gz --tree 3 --token 20

`rerank analyse KIND --help` lists the flags of each; docs/analysis.md explains them."""

_Flags = dict[str, dict[str, Any]]  # arguments of argparse's add_argument, by name

_MODELS: _Flags = {
    "--models": {
        "nargs": "+", "required": True, "metavar": "FILE.pt",
        "help": "checkpoints, a folder of checkpoints or an ensemble.toml",
    },
    "--trees": {"nargs": "+", "type": Path, "required": True, "metavar": "TREES"},
}  # fmt: skip
_PLACE: _Flags = {
    "--device": {"default": "cpu", "metavar": "cpu|cuda"},
    "--threads": {
        "type": positive, "metavar": "N", "help": "CPU threads (default: all cores)"
    },
}  # fmt: skip
_TEXT = "plain text, one sentence per line; the state is carried from line to line"
_MODEL: _Flags = {"--models": _MODELS["--models"]}
_SEED: _Flags = {
    "--seed": {"type": int, "default": 0, "metavar": "N", "help": "random seed (default: 0)"}
}
_SAMPLE: _Flags = {
    **_MODELS,
    "--sample": {
        "type": positive, "metavar": "N", "help": "use N trees drawn at random (default: all)"
    },
    **_SEED,
}  # fmt: skip
_TREES_OR_TEXT: _Flags = {  # one of two flags: see add_arguments
    "--trees": {"nargs": "+", "type": Path, "metavar": "TREES"},
    "--text": {
        "nargs": "+", "type": Path, "metavar": "TEXT", "help": f"instead of --trees: {_TEXT}",
    },
}  # fmt: skip
_SOURCE: _Flags = {**_SAMPLE, **_PLACE, **_TREES_OR_TEXT}


def _tokens(default: int, what: str) -> _Flags:
    text = f"{what} (default: {default})"
    return {"--tokens": {"type": positive, "default": default, "metavar": "N", "help": text}}


def _by(choices: tuple[str, ...], what: str) -> _Flags:
    text = f"{what} (default: {choices[0]})"
    return {"--by": {"choices": choices, "default": choices[0], "help": text}}


_KINDS: dict[str, tuple[str, _Flags]] = {
    "variation": (
        "coefficient of variation of the mixture's weights (Takase et al., Table 4)", _SOURCE
    ),
    "layers": ("weight of each layer in the mixture", _SOURCE),
    "rank": (
        "rank of the matrix of log-probabilities (Takase et al., Table 5)",
        {
            **_MODEL, **_TREES_OR_TEXT, **_SEED, **_PLACE,
            "--tokens": {
                "type": lambda text: None if text == "all" else positive(text),
                "default": 1000, "metavar": "N",
                "help": "rows of the matrix, or `all` (default: 1000)",
            },
        },
    ),
    "perplexity": (
        "perplexity of running text, and of the models' average (Daniluk, Tables 4.2 to 4.11)",
        {
            **_MODEL, **_PLACE,
            "--text": {
                "nargs": "+", "type": Path, "required": True, "metavar": "TEXT",
                "help": f"{_TEXT}, and each file begins with the start state",
            },
            "--token-scores": {
                "type": Path, "metavar": "FILE.jsonl",
                "help": "also write log P of every token (of the average, if there is one)",
            },
        },
    ),
    "last-word": (
        "the last word of passages such as LAMBADA's (Daniluk, Tables 4.5 to 4.7)",
        {
            **_MODEL, **_PLACE,
            "--passages": {
                "nargs": "+", "type": Path, "required": True, "metavar": "FILE",
                "help": "one passage per line; each file is one set",
            },
        },
    ),
    "curves": (
        "dev perplexity during training (Takase et al., Figure 2)",
        {
            "runs": {
                "nargs": "+", "type": Path, "metavar": "RUN",
                "help": "log folders, or the log.jsonl in them",
            },
            **_by(("epochs", "tokens", "minutes"), "x axis of --plot"),
        },
    ),
    "classes": (
        "perplexity by part of speech (Daniluk, Table 4.12)",
        {**_SAMPLE, **_by(("class", "tag"), "broad classes, or every part of speech and bracket")},
    ),
    "windows": ("perplexity by attention window or N (Daniluk, Tables 4.3, 4.4)", _SAMPLE),
    "attention": ("attention to each position (Daniluk, Figure 4.1)", _SAMPLE),
    "attention-sample": (
        "attention at random tokens (Daniluk, Figure 4.2)",
        {**_MODELS, **_tokens(70, "number of tokens"), **_SEED},
    ),
    "attention-example": (
        "one prediction by several models (Daniluk, Figures 4.3 to 4.5)",
        {
            **_MODELS,
            "--tree": {
                "type": positive, "default": 1, "metavar": "N", "help": "Nth tree (default: 1)"
            },
            "--token": {
                "type": positive, "required": True, "metavar": "K",
                "help": "predict the Kth token of the linearised tree",
            },
        },
    ),
}  # fmt: skip
_OUTPUT: _Flags = {
    "--json": {"action": "store_true", "help": "print JSON, not rounded"},
    "--out": {"type": Path, "metavar": "FILE", "help": "write to FILE instead of printing"},
    "--plot": {
        "type": Path, "metavar": "FILE.png",
        "help": "also draw the result (.svg and .pdf too; needs matplotlib)",
    },
}  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the kinds of ``rerank analyse``, each with its flags, to ``parser``."""
    kinds = parser.add_subparsers(dest="kind", required=True, metavar="KIND")
    for name, (description, flags) in _KINDS.items():
        kind = kinds.add_parser(name, help=description, description=description, allow_abbrev=False)
        reads_either = _TREES_OR_TEXT.keys() <= flags.keys()
        either = kind.add_mutually_exclusive_group(required=True) if reads_either else None
        for flag, settings in {**flags, **_OUTPUT}.items():
            group = either if either is not None and flag in _TREES_OR_TEXT else kind
            group.add_argument(flag, **settings)


def run(arguments: argparse.Namespace) -> int:
    """Print an analysis; return the exit code: 1 if some input was left out."""
    with loading("PyTorch"):
        from reranker.plugins.analysis.kinds import AnalysisSettings, analysed

    names = {field.name for field in fields(AnalysisSettings)}
    settings = AnalysisSettings(
        **{name: vars(arguments)[name] for name in names & {*vars(arguments)}}
    )
    inputs: list[str | Path] = [*treebank_files(settings.trees or [])]
    inputs += [*(settings.text or []), *settings.passages, *settings.runs]
    inputs += [folder / "log.jsonl" for folder in settings.runs]
    outputs = (arguments.plot, arguments.out, settings.token_scores)
    picture, out, token_scores = output_paths(outputs, inputs)
    figure = new_figure(picture) if picture is not None else None
    report = analysed(replace(settings, token_scores=token_scores))
    with open_whole(out) as file:
        file.write((report.json() if arguments.json else report.text()) + "\n")
    if figure is not None and picture is not None:
        report.draw(figure)
        save_figure(figure, picture)
    return int(report.is_partial)
