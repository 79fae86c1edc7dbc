"""``rerank augment``: trees of sentences that treebanks hardly have, made of a treebank's trees."""

from __future__ import annotations

import argparse
import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from random import Random

from reranker.commands.progress import message
from reranker.errors import InputError, TreeError
from reranker.files.opening import text_digest
from reranker.files.output import output_path
from reranker.files.records import AnswerCounts
from reranker.files.visible import counted
from reranker.outputs.form import Rows
from reranker.plugins.augmenting.chat import amounts, chat, thanks
from reranker.plugins.augmenting.headlines import headings, headlines
from reranker.plugins.augmenting.infinitives import commands, subjects
from reranker.plugins.augmenting.marks import items, questions, stops
from reranker.plugins.augmenting.rewriting import Transformation, is_usable
from reranker.process.flags import whole_number
from reranker.trees.linearize import cleaned
from reranker.trees.tree import Tree
from reranker.trees.treebank import TreeText, placed_trees, treebank_files
from reranker.work import loop
from reranker.work.loop import Counts, Job
from reranker.work.sinks import WholeFiles
from reranker.work.treebanks import Treebanks

logger = logging.getLogger(__name__)

KINDS: Mapping[str, Transformation] = {
    "commands": commands,
    "headlines": headlines,
    "headings": headings,
    "stops": stops,
    "questions": questions,
    "chat": chat,
    "items": items,
    "amounts": amounts,
    "thanks": thanks,
    "subjects": subjects,
}

EXAMPLES = """examples:
  rerank augment train.mrg --not-in dev.mrg --out made.mrg
  rerank augment train.mrg --kinds commands headlines stops=0.3 --seed 2

Traces and function tags are left out. Kinds of trees:
  commands   from infinitives: (VP (TO to) (VP (VB see) ...)) becomes (S (VP (VB See) ...))
  headlines  from clauses, without articles and forms of be, some In Title Case
  headings   from noun phrases
  stops      sentences without their last mark, or with several
  questions  questions without their last mark, or with several
  chat       small letters, no apostrophes, emoji
  items      items of a list, with a number or bullet
  amounts    ranges of amounts: 20 - 25 mins
  thanks     thanks for the objects of for
  subjects   infinitives after it, moved to the beginning

exit status: 0 success, 1 some trees were rejected, 2 unusable files or flags, 3 out of memory"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``rerank augment`` to ``parser``."""
    add = parser.add_argument
    text = "treebanks: files, folders, quoted patterns; plain, .gz or .zst; - reads standard input"
    add("files", nargs="+", metavar="FILE", help=text)
    text = (
        "kinds of trees to make, each with the share to keep, drawn at random (default: all "
        "trees of all kinds)"
    )
    add("--kinds", type=_kind, nargs="+", default=None, metavar="KIND[=SHARE]", help=text)
    text = (
        "treebanks that the parser will be measured on: their sentences are not made, whatever "
        "their capitals"
    )
    add("--not-in", nargs="+", default=[], metavar="FILE", help=text)
    text = "random seed (default: %(default)s)"
    add("--seed", type=whole_number(0, 2**32 - 1), default=1, metavar="N", help=text)
    add("--out", type=Path, metavar="FILE", help="write to FILE (default: standard output)")


def _kind(text: str) -> tuple[str, float]:
    """Read ``stops`` or ``stops=0.3``. Raises ArgumentTypeError."""
    name, _, share = text.partition("=")
    if name not in KINDS:
        raise argparse.ArgumentTypeError(f"no kind {name!r}; there are {', '.join(KINDS)}")
    try:
        number = float(share or 1)
    except ValueError:
        number = -1
    if not 0 < number <= 1:
        raise argparse.ArgumentTypeError(f"the share of {name} must be above 0, at most 1")
    return name, number


def run(arguments: argparse.Namespace) -> int:
    """Make trees as the flags say; return the exit code."""
    trees = Treebanks(arguments.files)
    others = treebank_files(arguments.not_in)
    out = output_path(arguments.out, [*trees.files, *others])
    kinds = dict(arguments.kinds or dict.fromkeys(KINDS, 1.0))
    job = Augment(kinds, arguments.seed, (tree for _, tree in placed_trees(others)))
    sink: WholeFiles[str | None] = WholeFiles((out, Rows()))
    counts = loop.run(trees, job, sink)
    made = ", ".join(f"{name} {job.made[name]}" for name in kinds)
    left_out = f"left out: {job.known} of --not-in, {job.repeated} made before"
    rejected = counts["rejected"] + trees.faults
    message(f"rerank: {counted(job.made.total(), 'tree')} made: {made}; {left_out}")
    message(f"rerank: of {counted(counts['sentences'], 'tree')}, {rejected} rejected")
    return 1 if rejected else 0


class Augment(Job[TreeText, str | None]):
    """The trees made of each tree, a line each; "" if there are none."""

    def __init__(self, shares: Mapping[str, float], seed: int, known: Iterable[Tree] = ()) -> None:
        """Take the share of each kind that is kept, and trees whose sentences are left out."""
        self._shares, self._seed = shares, seed
        self._known = {_sentence(tree) for tree in known}
        self._seen: set[str] = set()
        self.made: Counter[str] = Counter()
        self.known, self.repeated = 0, 0
        """Made trees that were left out: sentences known before, and sentences made before."""

    def answer(self, sentence: TreeText) -> str | None:
        """Return the made trees; log a tree that is rejected, which has None."""
        try:
            tree = cleaned(sentence.tree())
        except TreeError as error:
            logger.warning("%s: tree rejected, %s: %s", sentence, error.code, error)
            return None
        return "".join(f"{each.to_string()}\n" for each in self.of(tree))

    def of(self, tree: Tree) -> Iterator[Tree]:
        """Yield the trees made of a tree, the same whichever trees are beside it, but for those
        whose sentences were made before."""
        if not is_usable(tree):
            return
        for kind, share in self._shares.items():
            draw = Random(f"{self._seed} {kind} {tree.to_string()}")
            for made in KINDS[kind](tree, draw):
                if share < 1 and draw.random() >= share:
                    continue
                sentence = _sentence(made)
                if sentence in self._known:
                    self.known += 1
                elif sentence in self._seen:
                    self.repeated += 1
                else:
                    self._seen.add(sentence)
                    self.made[kind] += 1
                    yield made

    def counts(self, sentence: TreeText, answer: str | None) -> AnswerCounts:
        """Count the tree as a candidate unless it is rejected."""
        return AnswerCounts(0, int(answer is not None), int(answer is None), 0)

    def end(self, counts: Counts) -> None:
        """Raise InputError if nothing was made."""
        if not self.made:
            known = ", but for known sentences" if self.known else ""
            raise InputError(f"nothing to make: no tree matches a kind{known}")


def _sentence(tree: Tree) -> str:
    """Return a digest of a tree's words without regard to capitals."""
    return text_digest(" ".join(tree.words()).lower())
