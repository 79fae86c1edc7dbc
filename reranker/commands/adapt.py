"""``rerank adapt``: language models for the user's own kind of text, without a treebank of it."""

from __future__ import annotations

import argparse
import itertools
import os
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reranker.checkpoints.ensemble_file import named_models
from reranker.commands.arguments import counted, positive, weight
from reranker.commands.progress import Bar, loading
from reranker.errors import InputError
from reranker.files.digest import file_sha256
from reranker.files.markdown import grid
from reranker.files.output import open_whole
from reranker.nbest import FORMATS, ReadOptions

if TYPE_CHECKING:
    from reranker.adaptation.choosing import Choice
    from reranker.adaptation.folder import Folder
    from reranker.adaptation.parsing import Parser
    from reranker.adaptation.text import Refused
    from reranker.adaptation.training import Adapted
    from reranker.pipeline import Reranker
    from reranker.training.run import Progress

FEWEST = 50  # sentences to learn from

EXAMPLES = """examples:
  rerank adapt --text mine.txt --parser './parse-nbest --model english' --models ckpt/ \\
      --train gum/train.mrg.gz craft/train.mrg.gz --out adapted/
  rerank --nbest parses.txt --models adapted/ > best.txt

The parser is a program that reads sentences, one a line with a space between words, and prints the
n-best list of each in a format that `rerank` reads. To resume a stopped run, repeat the command.

exit status: 0 success, 1 sentences were left out, 2 unusable files or flags, 130 interrupted"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``rerank adapt`` to ``parser``."""
    parser.add_argument(
        "--text",
        required=True,
        nargs="+",
        metavar="FILE",
        help="sentences, one a line, a space between Penn Treebank tokens; .gz and .zst too",
    )
    parser.add_argument(
        "--parser", required=True, metavar="COMMAND", help="a program that prints n-best lists"
    )
    parser.add_argument(
        "--models",
        required=True,
        nargs="+",
        metavar="FILE",
        help="the ensemble that chooses among the candidates, and whose checkpoints are trained on",
    )
    parser.add_argument(
        "--train",
        type=Path,
        nargs="+",
        default=(),
        metavar="TREES",
        help="gold trees to train on as well, best those that the models were trained on",
    )
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="FOLDER",
        help="for the checkpoints, report.md, and in FOLDER/work what a stopped run resumes from",
    )
    parser.add_argument(
        "--format",
        choices=("auto", *FORMATS),
        default="auto",
        metavar="NAME",
        help="of the parser's lists (default: auto-detected; docs/formats.md)",
    )
    parser.add_argument(
        "--beam", type=positive, metavar="K", help="lines per list, for formats that do not say"
    )
    parser.add_argument(
        "--jobs",
        type=positive,
        default=1,
        metavar="N",
        help="parsers to run at once (default: %(default)s)",
    )
    parser.add_argument(
        "--parser-seconds",
        type=positive,
        default=60,
        metavar="S",
        help="time limit for a sentence, once the parser has started (default: %(default)s)",
    )
    parser.add_argument(
        "--longest",
        type=positive,
        default=60,
        metavar="WORDS",
        help="leave out longer sentences (default: %(default)s)",
    )
    parser.add_argument(
        "--margin",
        type=float,
        default=2.0,
        metavar="NATS",
        help="learn from a tree if each model alone would choose it, and no other candidate comes "
        "nearer than this (default: %(default)g)",
    )
    parser.add_argument(
        "--epochs",
        type=float,
        default=2.0,
        metavar="N",
        help="passes over the trees to learn from (default: %(default)g)",
    )
    parser.add_argument(
        "--rate",
        type=weight,
        default=0.3,
        metavar="R",
        help="start with this share of the models' own learning rate (default: %(default)g)",
    )
    parser.add_argument(
        "--gold-share",
        type=weight,
        default=0.4,
        metavar="R",
        help="repeat the gold trees until so many of the tokens are theirs (default: %(default)g)",
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument(
        "--threads", type=positive, metavar="N", help="CPU threads (default: one for each core)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Adapt as the flags say; returns the exit code."""
    named = named_models(arguments.models)
    _check(arguments, named.paths)
    with loading("PyTorch"):
        from reranker.adaptation import stages
        from reranker.adaptation.folder import Folder
        from reranker.adaptation.parsing import Parser
        from reranker.adaptation.text import read_text
        from reranker.pipeline import Reranker

    def load() -> Reranker:
        with loading(counted(len(named.paths), "model")):
            return Reranker.load(arguments.models, threads=arguments.threads)

    options = ReadOptions(arguments.format, beam=arguments.beam)
    parser = Parser(arguments.parser, arguments.parser_seconds, options)
    folder = Folder(arguments.out / "work", _settings(arguments, named.paths))
    text = read_text(arguments.text, arguments.longest)
    with Bar("parsing", " sentences") as bar:
        shards = stages.parse(text, parser, arguments.jobs, folder, bar.add)
    refused = [one for shard in range(shards) for one in folder.refused(shard)]
    for one in refused:
        print(f"rerank: {one}", file=sys.stderr)
    with Bar("choosing", total=shards) as bar:
        stages.choose(shards, parser, load, folder, bar.add)
    made = [choice for shard in range(shards) for choice in folder.choices(shard)]
    silver = stages.silver(made, arguments.margin)
    if len(silver.certain) < FEWEST:
        raise InputError(
            f"{counted(len(silver.certain), 'sentence')} to learn from, of {len(made)}; at least "
            f"{FEWEST} are needed: give more text, or a lower --margin"
        )
    models = _train(arguments, named.paths, silver, folder)
    after = _chosen_again(arguments, parser, folder, shards)
    report = _report(made, after, silver, refused, models)
    with open_whole(arguments.out / "report.md") as file:
        file.write(report)
    print(report, end="")
    return 1 if refused else 0


def _check(arguments: argparse.Namespace, models: Sequence[Path]) -> None:
    """Raises InputError for what cannot work, before anything is done."""
    for name in arguments.text:
        if name == "-":
            raise InputError("--text is a file: a run that reads standard input cannot be resumed")
    for name in (*arguments.text, *arguments.train):
        if not os.path.isfile(name):
            raise InputError(f"{name}: there is no such file")
    stems = [path.stem for path in models]
    if len({*stems, "work"}) <= len(stems):
        raise InputError("two of --models have one name, or one is called 'work'; rename it")
    for path in models:
        if path.resolve().parent == arguments.out.resolve():
            raise InputError(f"--out {arguments.out} is where the models are; give another folder")
    if arguments.gold_share == 1:
        raise InputError("--gold-share 1 leaves nothing to learn from the text")


def _settings(arguments: argparse.Namespace, models: Sequence[Path]) -> dict[str, Any]:
    """What the work depends on: a stopped run is resumed only with the same."""
    names = (
        "parser",
        "format",
        "beam",
        "longest",
        "margin",
        "epochs",
        "rate",
        "gold_share",
        "seed",
    )
    return {
        **{name: getattr(arguments, name) for name in names},
        "text": [file_sha256(name) for name in arguments.text],
        "train": [file_sha256(name) for name in arguments.train],
        "models": {path.stem: file_sha256(path) for path in models},
    }


def _train(
    arguments: argparse.Namespace, models: Sequence[Path], silver: Any, folder: Folder
) -> list[Adapted]:
    import torch

    from reranker.adaptation.training import Recipe, adapted
    from reranker.trees.linearize import linearize
    from reranker.trees.treebank import read_treebank

    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    gold = [linearize(tree) for tree in read_treebank(arguments.train)]
    recipe = Recipe(arguments.epochs, arguments.rate, arguments.gold_share, arguments.seed)
    made = []
    for path in models:
        with Bar(f"training {path.stem}", total=1.0) as bar:
            out, work = arguments.out / path.name, folder.training(path.stem)
            report = partial(_reach, bar)
            made.append(
                adapted(path, silver.certain, gold, silver.held_out, out, work, recipe, report)
            )
    return made


def _reach(bar: Bar, progress: Progress, loss: float, done: float) -> None:
    bar.reach(done)


def _chosen_again(
    arguments: argparse.Namespace, parser: Parser, folder: Folder, shards: int
) -> list[Choice]:
    """What the adapted models choose for the sentences held out."""
    from reranker.adaptation.choosing import choices
    from reranker.adaptation.stages import HELD_OUT
    from reranker.pipeline import Reranker

    texts = filter(None, map(folder.lists, range(shards)))
    lists = itertools.chain.from_iterable(map(parser.lists, texts))
    reranker = Reranker.load(arguments.out, threads=arguments.threads)
    return [*choices(reranker, itertools.islice(lists, 0, None, HELD_OUT))]


def _report(
    made: Sequence[Choice],
    after: Sequence[Choice],
    silver: Any,
    refused: Sequence[Refused],
    models: Sequence[Adapted],
) -> str:
    from reranker.adaptation.choosing import shares
    from reranker.adaptation.stages import HELD_OUT

    before = made[::HELD_OUT]
    is_other = sum(one.tree != other.tree for one, other in zip(before, after, strict=True))
    rows = [
        ("sentences parsed", len(made)),
        ("left out", len(refused)),
        ("repeated", silver.repeated),
        ("learned from", len(silver.certain)),
        ("held out", len(silver.held_out)),
    ]
    then, now = shares(before), shares(after)
    return "\n\n".join(
        [
            "# Adapted models",
            grid(["", "number"], [[name, f"{number:,}"] for name, number in rows]),
            "Perplexity per token of the held-out trees, which the models chose before:",
            grid(
                ["model", "before", "after"],
                [[each.name, f"{each.before:.3f}", f"{each.after:.3f}"] for each in models],
            ),
            "Choices for the held-out sentences:",
            grid(
                ["", "before", "after"],
                [
                    ["all models agree", *(_share(one["agreed"], one) for one in (then, now))],
                    [
                        "not the parser's first tree",
                        *(_share(one["changed"], one) for one in (then, now)),
                    ],
                    ["another tree than before", "", _share(is_other, now)],
                ],
            ),
            "A lower perplexity says that the models know the words and constructions of your text "
            "better, not that they choose better trees. To know that, correct the trees of two "
            "hundred sentences or more and compare `rerank --gold` with the models before and "
            "after (`rerank compare` says whether a difference is chance).\n",
        ]
    )


def _share(number: int, of: dict[str, Any]) -> str:
    return f"{number} of {of['sentences']}"
