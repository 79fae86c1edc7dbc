"""The stages of an adaptation: parses and choices are kept in a journaled file
(reranker.files.journal), so that each resumes where an earlier run stopped."""

from __future__ import annotations

import glob
import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from reranker.checkpoints.ensemble_file import WeighedModels
from reranker.errors import InputError
from reranker.files.output import always, check_own, make_folder, never, open_whole, record_in
from reranker.files.text import read_lines
from reranker.nbest import NBest, ReadOptions, read_nbest
from reranker.pipeline import Reranker
from reranker.text.reading import Refused
from reranker.trees.linearize import TaggedTree, linearize_tagged
from reranker.trees.tree import Tree
from reranker.work import loop
from reranker.work.loop import Progress
from reranker.work.ranking import Rank, RankSettings
from reranker.work.sinks import Destination, TextSink
from reranker.work.texts import ParsedText

REPORT, TITLE = "report.md", "# Adapted models"
_OTHER_OUT = "choose another --out"
_MOVE = f"rename or delete it, or {_OTHER_OUT}"
HELD_OUT = 20  # one sentence in this many is held out, to measure the training


@dataclass(frozen=True, slots=True)
class Choice:
    """The choice of an ensemble for a sentence, and its certainty (McClosky, Charniak and Johnson
    2006, *Effective Self-Training for Parsing*)."""

    tree: str
    margin: float | None  # the lead over the runner-up in nats; None if it is the only candidate
    do_agree: bool  # whether each member alone would choose it, too
    is_first: bool  # whether it is the first of the parser's trees that can be used

    @classmethod
    def of(cls, ranking: Mapping[str, Any]) -> Choice:
        """Return the choice of a ``Ranking.to_dict()`` with at least one candidate."""
        best, *_ = entries = ranking["ranking"]
        by_member = zip(
            *(entry.get("member_nll") or [entry["nll"]] for entry in entries), strict=True
        )
        do_agree = all(min(nlls) >= nlls[0] for nlls in by_member)
        is_first = best["index"] == min(entry["index"] for entry in entries)
        return cls(best["tree"], ranking["margin"], do_agree, is_first)

    def is_certain(self, margin: float) -> bool:
        """Return whether to learn from the choice: all members agree, and no other tree comes as
        near as ``margin`` nats."""
        return self.do_agree and (self.margin is None or self.margin >= margin)


def choices(reranker: Reranker, lists: Iterable[NBest]) -> Iterator[Choice]:
    """Yield the choice for each list, in order; each list must have a candidate."""
    for ranking in reranker.rerank_lists(lists):
        yield Choice.of(ranking.to_dict())


def begin(work: Path, settings: Mapping[str, Any], models: Iterable[str]) -> None:
    """Create the folder, or continue in it; ``models`` are the names of the models to be trained.
    Raises InputError if the folder is that of a run with other settings, if a file in or beside it
    would be overwritten that no run has made, and if the folder cannot be written."""
    known, out = work / "settings.json", work.parent
    text = json.dumps(settings, indent=1, sort_keys=True) + "\n"
    before = record_in(known)
    if before not in (None, text):
        raise InputError(
            f"{work} belongs to a run with a different text, parser or models: choose another --out"
        )
    others = [*out.glob("*.pt"), *out.glob(REPORT), *work.glob("*")]
    if before is None and any(each.suffix != ".tmp" for each in others):  # left by a kill
        raise InputError(f"{out} contains files of another kind: {_OTHER_OUT}")
    for model in models:
        # A run trains in a folder of its own before it writes the model.
        has_run = any(work.glob(f"{glob.escape(model)}-????????/"))
        check_own(out / f"{model}.pt", always if has_run else never, _MOVE)
    check_own(out / REPORT, is_report, _MOVE)
    if before is None:
        make_folder(work)
        with open_whole(known, never) as file:
            file.write(text)


def is_report(path: Path) -> bool:
    """Return whether a file is the report of an adaptation."""
    with path.open("rb") as file:
        return file.readline() == f"{TITLE}\n".encode()


def training_folder(work: Path, model: str, settings: Mapping[str, Any]) -> Path:
    """Return the folder in which the training of a model with these settings keeps its state."""
    text = json.dumps(settings, sort_keys=True)
    return work / f"{model}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def rank(
    lists: ParsedText, models: WeighedModels, reranker: Reranker, out: Path, progress: Progress
) -> None:
    """Rank the lists of every sentence with the loaded models and write the rankings to ``out``, as
    `rerank --output ranked` does; the same call resumes an interrupted one."""
    job = Rank(reranker, RankSettings(models, models.weighing, output="ranked"))
    sink = TextSink(job.settings.form, Destination(out, is_resumed=True))
    loop.run(lists, job, sink, progress)


def chosen(ranked: Path) -> tuple[list[Choice], list[Refused]]:
    """Read the file that ``rank`` wrote: the choices in order, and the sentences without a choice.
    Raises InputError if a list cannot be weighed."""
    made: list[Choice] = []
    refused: list[Refused] = []
    for line in read_lines(ranked):
        ranking = json.loads(line)
        unparsed = [each for each in ranking["rejected"] if each["code"] == "unparsed"]
        if ranking["ranking"]:
            made.append(Choice.of(ranking))
        elif unparsed:
            refused += [Refused(each["file"], each["line"], each["message"]) for each in unparsed]
        else:
            raise InputError(
                "the ensemble was tuned with parser scores, which this parser does not print"
            )
    return made, refused


def lists_of(ranked: Path) -> Iterator[NBest]:
    """Yield the lists that ``chosen`` has a choice for, in order."""
    return (each for each in read_nbest(ranked, options=ReadOptions("jsonl")) if each.candidates)


class Silver(NamedTuple):
    """Linearised trees."""

    learned: list[TaggedTree]  # the trees to learn from
    held_out: list[TaggedTree]
    repeated: int  # sentences left out because they occur earlier or among the held-out ones


def silver(made: Sequence[Choice], margin: float | None) -> Silver:
    """Return the trees of which the ensemble is certain (``Choice.is_certain``), or all trees if
    the margin is None; every ``HELD_OUT``-th tree is held out."""
    trees = [linearize_tagged(Tree.from_string(choice.tree)) for choice in made]
    held_out = trees[::HELD_OUT]
    seen = Counter(map(_words, held_out))
    learned, repeated = [], 0
    for place, (choice, tree) in enumerate(zip(made, trees, strict=True)):
        if place % HELD_OUT == 0:
            continue
        if seen[words := _words(tree)]:
            repeated += 1
        elif margin is None or choice.is_certain(margin):
            seen[words] += 1
            learned.append(tree)
    return Silver(learned, held_out, repeated)


def without(trees: Sequence[TaggedTree], others: Sequence[TaggedTree]) -> list[TaggedTree]:
    """Return the trees of sentences that are not among the others' sentences."""
    known = set(map(_words, others))
    return [tree for tree in trees if _words(tree) not in known]


def _words(tree: TaggedTree) -> tuple[str, ...]:
    return tuple(word.lower() for word in tree.words)
