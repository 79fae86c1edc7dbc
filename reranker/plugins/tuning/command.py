"""``rerank tune``: finds weights for language models and parser."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from reranker.checkpoints.ensemble_file import WeighedModels, named_models, write_ensemble_file
from reranker.errors import InputError
from reranker.files.figure import new_figure, save_figure
from reranker.files.output import output_paths, write_line
from reranker.files.table import aligned
from reranker.files.visible import counted
from reranker.outputs.ranked_file import ranked_lines
from reranker.plugins.tuning.confidence_table import ConfidenceTable
from reranker.process.flags import file_name, number_from, weight, whole_number
from reranker.trees.treebank import treebank_files

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from reranker.plugins.tuning.choosing import Outcome
    from reranker.plugins.tuning.scored_lists import ScoredLists
    from reranker.ranking import Weighing

EXAMPLES = """examples:
  rerank --nbest dev.txt --models ckpt/*.pt --output ranked --out dev.jsonl
  rerank tune dev.jsonl dev.mrg --gold-tags
  rerank tune dev.jsonl dev.mrg --gold-tags --models ckpt/*.pt --save ckpt/ensemble.toml
  rerank --nbest new.txt --models ckpt/ensemble.toml > best.txt
  rerank tune dev.jsonl dev.mrg --gold-tags --lm-weight 1 --plot-confidence confidence.png

Prints three tables: F1 by --lm-weight, with the best weight of each half of the sentences tried on
the other half; F1 of finer tuning, on the same sentences and cross-validated; and the
quality of `better_than_first` in ranked output, the probability that the chosen tree is better than
the parser's first. docs/tuning.md explains the tables."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``rerank tune`` to ``parser``."""
    add = parser.add_argument
    add(
        "ranked",
        type=file_name,
        metavar="RANKED",
        help="output of `rerank --output ranked`, with any weight",
    )
    add("gold", nargs="+", metavar="GOLD", help="gold trees: files, folders, quoted patterns")
    add("--gold-tags", action="store_true", help="give every candidate the gold tags first")
    text = "cross-validate with K blocks of neighbouring sentences (default: 10)"
    add("--folds", type=whole_number(2), default=10, metavar="K", help=text)
    text = "do not tune; use this weight, 1 for each model and no bonus"
    add("--lm-weight", type=weight, metavar="W", help=text)
    text = "with --lm-weight: the weight of each model, in the order in which RANKED was scored"
    add("--member-weights", nargs="+", type=number_from(0), default=(), metavar="W", help=text)
    text = "with --save: the models that RANKED was scored with"
    add("--models", nargs="+", metavar="FILE.pt", help=text)
    text = "write the ensemble with the weights found, for `rerank --models FILE.toml`"
    add("--save", type=Path, metavar="FILE.toml", help=text)
    text = "draw F1 by --lm-weight (.svg and .pdf too; needs matplotlib)"
    add("--plot", type=Path, metavar="FILE.png", help=text)
    text = "draw how often choices are better, by their confidence (formats as for --plot)"
    add("--plot-confidence", type=Path, metavar="FILE.png", help=text)


def run(arguments: argparse.Namespace) -> int:
    """Print F1 by ``--lm-weight`` and after tuning; return the exit code."""
    if (arguments.save is None) != (arguments.models is None):
        raise InputError("--save and --models need each other")
    if arguments.member_weights and arguments.lm_weight is None:
        raise InputError("--member-weights needs --lm-weight: else weights are tuned")
    if arguments.save is not None and arguments.save.suffix != ".toml":
        raise InputError(f"--save {arguments.save}: the name must end in .toml")
    paths = named_models(arguments.models).paths if arguments.models else ()
    outputs = (arguments.save, arguments.plot, arguments.plot_confidence)
    save, *plots = output_paths(outputs, [arguments.ranked, *treebank_files(arguments.gold)])
    pictures = [None if path is None else (path, new_figure(path)) for path in plots]

    lists = _read(arguments, paths)
    _print_sweep(lists)
    members = tuple(arguments.member_weights)
    tried, chosen = _weighed(lists, arguments.lm_weight, members, arguments.folds)
    summary = _print_outcomes(lists, tried, chosen)
    confidence = ConfidenceTable(lists, chosen.weighing, arguments.folds)
    write_line(f"\n{confidence.format()}")
    draws: list[Callable[[Figure], None]] = [
        partial(_draw, lists=lists, chosen=chosen.weighing),
        confidence.draw,
    ]
    for picture, draw in zip(pictures, draws, strict=True):
        if picture is not None:
            path, figure = picture
            draw(figure)
            save_figure(figure, path)
    if save is not None:
        heading = f"rerank tune {version('parse-reranker')}, {counted(len(lists), 'sentence')}"
        comments = [heading, summary, *confidence.summary()]
        models = WeighedModels(paths, chosen.weighing, confidence.calibration)
        write_ensemble_file(save, models, comments)
    return 0


def _read(arguments: argparse.Namespace, paths: Sequence[Path]) -> ScoredLists:
    """Read the scored lists. Raises InputError for files that do not match each other or the models
    at ``paths``."""
    from reranker.evaluation.brackets import GoldTrees
    from reranker.plugins.tuning.scored_lists import read_scored

    ranked = ranked_lines(arguments.ranked, treebank_files(arguments.gold)[0])
    gold = GoldTrees(arguments.gold, arguments.gold_tags)
    lists = read_scored(ranked, gold, arguments.ranked)
    if paths and len(paths) != lists.number_of_members:
        raise InputError(
            f"{arguments.ranked} has scores of {counted(lists.number_of_members, 'model')}, "
            f"--models names {len(paths)}; score with --combine sum and these checkpoints"
        )
    return lists


def _weighed(
    lists: ScoredLists, lm_weight: float | None, members: tuple[float, ...], folds: int
) -> tuple[list[Outcome], Outcome]:
    """Return the outcomes that were tried, and the one that was chosen. Raises InputError for a
    weight below 1 if parser scores are missing, and unless each of the ``members`` has a weight."""
    from reranker.plugins.tuning.choosing import choose, outcomes, untuned
    from reranker.ranking import Weighing

    if lm_weight is None:
        tried = outcomes(lists, folds)
        return tried, choose(tried)
    if lm_weight < 1 and not lists.has_parser_scores:
        raise InputError(f"--lm-weight {lm_weight:g}: some candidates have no parser score to mix")
    if members and len(members) != lists.number_of_members:
        models = counted(lists.number_of_members, "model")
        raise InputError(f"--member-weights has {len(members)}, but {models} scored the lists")
    given = untuned(lists, Weighing(lm_weight, member_weights=members))
    return [given], given


def _print_sweep(lists: ScoredLists) -> None:
    from reranker.evaluation.brackets import corpus_f1
    from reranker.plugins.tuning.choosing import sweep

    half = (len(lists) + 1) // 2
    parts = [part for part in (lists[:half], lists[half:], lists) if len(part)]
    curves = [sweep(part) for part in parts]
    names = ("first half", "second half", "all") if len(parts) == 3 else ("first half", "all")
    figures = {"parser": [corpus_f1(part.parsers_first()) for part in parts]}
    figures |= {f"W = {weight:.2f}": [curve[weight] for curve in curves] for weight in curves[-1]}
    figures["oracle"] = [corpus_f1(part.oracle()) for part in parts]
    rows = [(name, *map(_figure, row)) for name, row in figures.items()]
    write_line(aligned([("", *names), *rows]))
    if len(parts) == 3:
        # Of equal weights the one nearest 1, which relies least on the parser.
        best = max(curves[0], key=lambda weight: (curves[0][weight], weight))
        write_line(f"\nbest of the first half: W = {best:.2f}, on the second {curves[1][best]:.2f}")


def _print_outcomes(lists: ScoredLists, tried: list[Outcome], chosen: Outcome) -> str:
    """Print the second table; return the comment for the ensemble file."""
    from reranker.evaluation.brackets import corpus_f1
    from reranker.ranking import Weighing

    parser, oracle = corpus_f1(lists.parsers_first()), corpus_f1(lists.oracle())

    def gap(f1: float) -> str:
        return f"{100 * (f1 - parser) / (oracle - parser):.1f}%" if oracle > parser else ""

    alone = corpus_f1(lists.chosen(Weighing()))
    figures = {"parser": (parser, parser)}
    if tried[0].name != "models alone":
        figures["models alone"] = alone, alone
    figures |= {outcome.name: (outcome.f1, outcome.unseen_f1) for outcome in tried}
    figures["oracle"] = oracle, oracle
    heads = ("", "tuned on all", "cross-validated", "gap closed")
    rows = [(name, *map(_figure, pair), gap(pair[1])) for name, pair in figures.items()]
    weights = {outcome.name: f"  {_weights(outcome.weighing)}" for outcome in tried}
    lines = aligned([heads, *rows]).splitlines()
    write_line("")
    for line, name in zip(lines, ["", *figures], strict=True):
        write_line(line + weights.get(name, ""))
    write_line(f"\nchosen: {chosen.name.strip(' +')}: {_weights(chosen.weighing)}")
    return (
        f"F1 {chosen.f1:.2f}, cross-validated {chosen.unseen_f1:.2f} "
        f"({gap(chosen.unseen_f1)} of the gap); parser {parser:.2f}, models alone "
        f"{alone:.2f}, oracle {oracle:.2f}"
    )


def _draw(figure: Figure, lists: ScoredLists, chosen: Weighing) -> None:
    """Draw F1 of the lists by ``lm_weight``, with the other weights of ``chosen``. Raises
    InputError if there are no parser scores to mix with."""
    from reranker.evaluation.brackets import corpus_f1
    from reranker.plugins.tuning.weight_search import WINDOW, f1_by_lm_weight

    if not lists.has_parser_scores:
        raise InputError("nothing to plot: without parser scores only one weight is possible")
    curve = f1_by_lm_weight(lists, chosen)
    axes = figure.subplots()
    axes.stairs(curve.f1, curve.edges, baseline=None, label="mixed")
    centres = (curve.edges[1:] + curve.edges[:-1]) / 2
    axes.plot(centres, curve.smoothed(centres), label=f"mean within {WINDOW:g}")
    axes.axvline(
        chosen.lm_weight, color="black", linestyle=":", label=f"chosen, W = {chosen.lm_weight:g}"
    )
    parser, oracle = corpus_f1(lists.parsers_first()), corpus_f1(lists.oracle())
    axes.axhline(parser, color="tab:red", linestyle="--", label=f"parser {parser:.2f}")
    # In the legend only: drawn to scale, it would leave no room for the curve.
    axes.plot([], [], " ", label=f"oracle {oracle:.2f}")
    axes.set(
        title=f"F1 of {counted(len(lists), 'sentence')} by the weight of the language models",
        xlabel="weight W of the language models (parser: 1 - W)",
        ylabel="corpus F1 (%)",
        xlim=(0, 1),
    )
    axes.grid(alpha=0.3)
    axes.legend()


def _weights(weighing: Weighing) -> str:
    parts = [f"W = {weighing.lm_weight:.3f}"]
    if weighing.token_bonus:
        parts.append(f"bonus {weighing.token_bonus:+.3f}")
    if weighing.member_weights:
        parts.append("members " + " ".join(f"{weight:.2f}" for weight in weighing.member_weights))
    return ", ".join(parts)


def _figure(percent: float) -> str:
    return f"{percent:.2f}"
