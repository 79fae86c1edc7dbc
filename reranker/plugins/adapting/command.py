"""``rerank adapt``: a parser and language models for the user's own kind of text, without a
treebank of it."""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reranker.checkpoints.ensemble_file import WeighedModels, named_models
from reranker.commands import parser_flags
from reranker.commands.arguments import add_threads
from reranker.commands.progress import Bar, ProgressBar, loading, rejection
from reranker.errors import InputError
from reranker.files.both_ways import release
from reranker.files.claim import claimed
from reranker.files.opening import file_sha256
from reranker.files.output import make_folder, open_whole, output_paths, standard_output
from reranker.files.visible import counted
from reranker.languages import language_name
from reranker.process.flags import number_from, weight, whole_number
from reranker.ranking import Weighing
from reranker.trees.treebank import treebank_files
from reranker.work.texts import ParsedText, TextSettings, recognised_text

if TYPE_CHECKING:
    from reranker.pipeline import Reranker
    from reranker.plugins.adapting.stages import Silver
    from reranker.plugins.adapting.training import AdaptationRecipe, Adapted
    from reranker.trees.linearize import TaggedTree

FEWEST = 50  # sentences to learn from

LESS_MEMORY = "fewer --threads and --jobs take less"

EXAMPLES = """examples:
  rerank adapt --text mine.txt --out adapted/
  rerank parse new.txt --parser-model adapted/spans.pt --models adapted/
  rerank adapt --text mine.txt --parser-command './parse-nbest english' --models ckpt/ \\
      --train gum/train.mrg.gz craft/train.mrg.gz --out adapted/
  rerank --nbest parses.txt --models adapted/ > best.txt

--parser-command is a program that reads sentences, one per line, a space between words, and prints
their n-best lists in a format that `rerank` reads. To resume a stopped run, repeat the command.

exit status: 0 success, 1 sentences were left out, 2 unusable files or flags, 3 out of
memory, 130 interrupted"""

USAGE = "%(prog)s --text FILE [FILE ...] --out FOLDER [flags]"
GROUPS = {
    "everyday flags": (
        "--text --out --parser --parser-command --models --train --language --longest"
    ),
    "parser": "--parser-model --candidates --overparsing --parser-seconds --format --beam",
    "training": "--margin --epochs --rate --gold-share --seed",
    "limits": "--jobs --threads",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``rerank adapt`` to ``parser``."""
    add = parser.add_argument
    text = "sentences, one per line, a space between Penn Treebank tokens: plain, .gz or .zst"
    add("--text", required=True, nargs="+", metavar="FILE", help=text)
    parser_flags.add_arguments(parser, longest=60)
    text = (
        "the ensemble that chooses among the candidates and is adapted (default: the first that "
        "`rerank models` lists)"
    )
    add("--models", nargs="+", metavar="FILE", help=text)
    text = "gold trees to train on as well, preferably those of the models' first training"
    add("--train", type=Path, nargs="+", default=(), metavar="TREES", help=text)
    text = "folder for the checkpoints, for report.md, and in work/ for the state of a stopped run"
    add("--out", type=Path, required=True, metavar="FOLDER", help=text)
    text = (
        "learn only from trees that every model chooses by at least this margin; all: learn "
        "from every chosen tree (default: %(default)g)"
    )
    add("--margin", type=_margin, default=2.0, metavar="NATS", help=text)
    text = "passes over the training trees (default: %(default)g)"
    add("--epochs", type=number_from(0.01), default=2.0, metavar="N", help=text)
    text = "the learning rate as a share of the models' own (default: %(default)g)"
    add("--rate", type=number_from(0.001), default=0.3, metavar="R", help=text)
    text = (
        "share of the training tokens that come from gold trees, which are sampled or repeated "
        "(default: %(default)g)"
    )
    add("--gold-share", type=weight, default=0.4, metavar="R", help=text)
    text = "random seed of the training (default: %(default)s)"
    add("--seed", type=whole_number(0, 2**32 - 1), default=1, metavar="N", help=text)
    add_threads(parser)


def run(arguments: argparse.Namespace) -> int:
    """Adapt as the flags say; return the exit code."""
    named = named_models(parser_flags.models(arguments))
    _check(arguments, named.paths)
    work = arguments.out / "work"
    make_folder(arguments.out)
    with claimed(work):
        return _run(arguments, named, work)


def _run(arguments: argparse.Namespace, named: WeighedModels, work: Path) -> int:
    with loading("PyTorch"):
        from reranker.plugins.adapting import stages
        from reranker.plugins.adapting.adaptation_report import report
        from reranker.plugins.adapting.stages import choices

    def load() -> Reranker:
        with loading(counted(len(named.paths), "model")):
            return _reranker(named.paths, named.weighing, arguments)

    settings = TextSettings("tokens", "gum", arguments.longest, arguments.jobs, refuses_faults=True)
    text = ParsedText(arguments.text, settings, parser_flags.choice(arguments))
    with contextlib.closing(text):
        gold = _gold(arguments, named.paths, text.language)
        known, ranked = _settings(arguments, named), work / "ranked.jsonl"
        stages.begin(work, known, [path.stem for path in named.paths])
        if not ranked.exists():
            stages.rank(text, named, load(), ranked, ProgressBar(text))
    made, refused = stages.chosen(ranked)
    for sentence in refused:
        rejection(f"rerank: {sentence}")
    silver = stages.silver(made, arguments.margin)
    if len(silver.learned) < FEWEST:
        raise InputError(
            f"{counted(len(silver.learned), 'sentence')} to learn from, of {len(made)}; at least "
            f"{FEWEST} are needed: try a lower --margin or all, or more text and another --out"
        )
    models = _train(arguments, named.paths, silver, gold, work)
    out = [arguments.out / f"{path.stem}.pt" for path in named.paths]
    adapted = _reranker(out, named.weighing, arguments)
    held_out = itertools.islice(stages.lists_of(ranked), 0, None, stages.HELD_OUT)
    after = [*choices(adapted, held_out)]
    text_of_it = report(made[:: stages.HELD_OUT], after, silver, len(made), len(refused), models)
    with open_whole(arguments.out / stages.REPORT, stages.is_report) as file:
        file.write(text_of_it)
    standard_output().write(text_of_it)
    return 1 if refused else 0


def _margin(text: str) -> float | None:
    return None if text == "all" else number_from(0)(text)


def _check(arguments: argparse.Namespace, models: Sequence[Path]) -> None:
    """Raise InputError for flags that cannot work, before anything is done."""
    for name in arguments.text:
        if name == "-":
            raise InputError(
                "--text must be a file: a run that reads standard input cannot be resumed"
            )
    trees = treebank_files(arguments.train)
    for name in (*arguments.text, *trees):
        if not os.path.isfile(name):
            raise InputError(f"{name}: no such file")
    for name in arguments.text:
        recognised_text(name)
    stems = [path.stem for path in models]
    if len(set(stems)) < len(stems):
        raise InputError("two of --models have the same name; rename one")
    if arguments.gold_share == 1:
        raise InputError("--gold-share 1 leaves nothing to learn from the text")
    inputs = [*arguments.text, *trees, *parser_flags.inputs(parser_flags.choice(arguments))]
    names = (*(arguments.out / f"{path.stem}.pt" for path in models), arguments.out / "report.md")
    for made in filter(None, output_paths([name for name in names if name.exists()], inputs)):
        release(made)  # a resumed run reads its own


def _settings(arguments: argparse.Namespace, named: WeighedModels) -> dict[str, Any]:
    """Return everything that lists and choices depend on: a stopped run is resumed only with the
    same settings."""
    return {
        **parser_flags.choice(arguments).identity(),
        "longest": arguments.longest,
        "text": [file_sha256(name) for name in arguments.text],
        "models": {path.stem: file_sha256(path) for path in named.paths},
        "weighing": named.weighing.signature(),
    }


def _gold(
    arguments: argparse.Namespace, models: Sequence[Path], language: str | None
) -> list[TaggedTree]:
    """Return the linearised trees of --train. Raises RerankError for unusable trees, and for
    checkpoints whose training cannot be continued or whose language is not the parser's: such
    errors would otherwise show only after everything is parsed."""
    from reranker.checkpoints.members import load_member
    from reranker.plugins.adapting.training import trained_on
    from reranker.trees.linearize import linearize_tagged
    from reranker.trees.treebank import read_treebank

    for path in models:
        member = load_member(path)
        trained_on(path, member, _recipe(arguments))
        if language and member.language != language:
            raise InputError(
                f"{path}: a model of {language_name(member.language)}, and the parser is of "
                f"{language_name(language)}; --language chooses both"
            )
    return [linearize_tagged(tree) for tree in read_treebank(arguments.train)]


def _recipe(arguments: argparse.Namespace) -> AdaptationRecipe:
    from reranker.plugins.adapting.training import AdaptationRecipe

    return AdaptationRecipe(arguments.epochs, arguments.rate, arguments.gold_share, arguments.seed)


def _reranker(
    models: Sequence[Path], weighing: Weighing, arguments: argparse.Namespace
) -> Reranker:
    from reranker.pipeline import Reranker

    return Reranker.load(models, threads=arguments.threads, weighing=weighing)


def _train(
    arguments: argparse.Namespace,
    models: Sequence[Path],
    silver: Silver,
    gold: Sequence[TaggedTree],
    work: Path,
) -> list[Adapted]:
    import torch

    from reranker.plugins.adapting.stages import training_folder, without
    from reranker.plugins.adapting.training import adapted

    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    recipe = _recipe(arguments)
    settings = {
        **recipe._asdict(),
        "margin": arguments.margin,
        "train": [file_sha256(name) for name in treebank_files(arguments.train)],
    }
    gold = without(gold, silver.held_out)
    made = []
    for path in models:
        with Bar(f"training {path.stem}", total=1.0) as bar:
            folder = training_folder(work, path.stem, settings)
            trees = (silver.learned, gold, silver.held_out)
            out = arguments.out / f"{path.stem}.pt"
            made.append(adapted(path, *trees, out, folder, recipe, bar.reach))
    return made
