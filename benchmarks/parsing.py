"""`rerank parse` on the sentences of treebanks: F1, what each stage costs, and how often words are
split as the treebank splits them.

    python -m benchmarks.parsing gum/dev.mrg.gz craft/dev.mrg.gz --every 5

With BLLIP a whole treebank takes hours of CPU time. ``--keep FOLDER`` saves the figures and the
parser's n-best lists after every 100 sentences, and the same command then resumes from there.
The lists do not depend on the models, so a run with other ``--models`` only reranks them;
``--parse-only`` leaves reranking to a later run.

F1 is for the treebank's own words and the parser's own part-of-speech tags, which is what
`rerank parse --tokens` gives. For splitting, words are joined to text by rules (``joined``), since
trees do not know where white space was: the share of sentences whose words come back is an estimate
of what it would be for texts as they were written. Seconds are of a processor, of all processes
together, and on the wall; models are loaded before, the parser's in its own stage, once for every
100 sentences.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import re
import resource
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from reranker.commands.gold_table import GoldTable
from reranker.evaluation.brackets import GoldTrees
from reranker.files.output import open_whole
from reranker.files.table import aligned
from reranker.files.text import TextInMemory, read_lines
from reranker.nbest import NBest, ReadOptions, read_nbest
from reranker.nbest.writing import list_text
from reranker.parsers.choice import ParserChoice
from reranker.parsers.parser import ParserSettings
from reranker.parsers.running import ParsedLists
from reranker.pipeline import Reranker
from reranker.text.reading import Text
from reranker.trees.tree import Tree

T = TypeVar("T")

_BRACKETS = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}
_JOINS_BOTH = frozenset("-/\N{EN DASH}\N{MINUS SIGN}")
_JOINS_NEXT = frozenset(["(", "[", "{", "$", "#", "``", "`", "\N{LEFT DOUBLE QUOTATION MARK}"])
_JOINS_LAST = re.compile(
    "[.,:;?!%)\\]}\N{HORIZONTAL ELLIPSIS}\N{RIGHT DOUBLE QUOTATION MARK}]+|''|['\N{PRIME}]|"
    "(?:n?['\N{RIGHT SINGLE QUOTATION MARK}])(?:t|s|m|re|ve|ll|d)?",
    re.IGNORECASE,
)


class Cost(NamedTuple):
    """What a stage took for so many sentences."""

    stage: str
    sentences: int
    processor: float
    wall: float

    @property
    def row(self) -> tuple[str, ...]:
        rates = (self.sentences / seconds for seconds in (self.processor, self.wall))
        return (self.stage, *(f"{rate:.1f}" if rate < 1000 else f"{rate:.0f}" for rate in rates))


def joined(words: Sequence[str]) -> str:
    """The words as text: no white space before closing and behind opening punctuation, nor around
    hyphens and slashes; straight quotes open and close in turn.

    >>> joined(["He", "did", "n't", "say", '"', "a", "well", "-", "known", "man", '"', "."])
    'He didn\\'t say "a well-known man".'
    """
    text, is_glued, opened = "", True, False
    for word in (_BRACKETS.get(word, word) for word in words):
        joins_last = word in _JOINS_BOTH or _JOINS_LAST.fullmatch(word) is not None
        joins_next = word in _JOINS_BOTH or word in _JOINS_NEXT
        if word == '"':
            joins_last, joins_next, opened = opened, not opened, not opened
        text += word if is_glued or joins_last else f" {word}"
        is_glued = joins_next
    return text


def timed(stage: str, sentences: int, work: Callable[[], T]) -> tuple[T, Cost]:
    """What the work returns and what it cost; processes that it starts have to end in it."""
    processor, wall = _processor(), time.perf_counter()
    result = work()
    return result, Cost(stage, sentences, _processor() - processor, time.perf_counter() - wall)


def _processor() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def split(sentences: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """The words of the sentences as `rerank parse` splits them."""
    text = "\n".join(map(joined, sentences)).encode()
    return [one.sentence.words for one in Text([TextInMemory(text, "text")], "sentences")]


def same_words(sentences: Sequence[Sequence[str]], found: Sequence[Sequence[str]]) -> int:
    """How many sentences are split as in the treebank."""
    return sum(tuple(words) == tuple(again) for words, again in zip(sentences, found, strict=True))


def agreement(same: int, count: int) -> str:
    return f"split into the treebank's words: {same} of {count}, {100 * same / count:.1f} %"


@dataclass(frozen=True, slots=True)
class Parsed:
    """What was measured of splitting and parsing some sentences."""

    lists: Path
    """The parser's, an n-best file in jsonl."""
    same_words: int
    """Sentences that are split as in the treebank."""
    costs: list[Cost]


@dataclass(frozen=True, slots=True)
class MeasuredSentences:
    """What was measured of some sentences."""

    parsed: Parsed
    chosen: list[int | None]
    """The best candidate of each; None if there is none."""
    reranking: Cost

    @property
    def costs(self) -> list[Cost]:
        return [*self.parsed.costs, self.reranking]


def measure(
    trees: Sequence[str],
    choice: ParserChoice,
    jobs: int,
    reranker: Reranker,
    folder: Path,
    of: int = 100,
) -> str:
    """A report for one treebank's sentences, ``of`` so many at a time: what the folder has of them
    is not done again, and what is done is kept there."""
    pieces = [reranked(parsed(piece, choice, jobs, folder), reranker) for piece in cut(trees, of)]
    return report(trees, pieces)


def cut(trees: Sequence[str], of: int = 100) -> list[Sequence[str]]:
    return [trees[start : start + of] for start in range(0, len(trees), of)]


def parsed(trees: Sequence[str], choice: ParserChoice, jobs: int, folder: Path) -> Parsed:
    """The parser's lists for these trees' sentences, from the folder if they are there."""
    name = _digest(repr(choice), str(jobs), *trees)
    lists_file, figures = folder / f"{name}.jsonl", folder / f"{name}.parsing.json"
    if not figures.exists():
        lists, same, costs = _parse(trees, choice, jobs)
        with open_whole(lists_file) as file:
            for position, nbest in enumerate(lists):
                file.write(list_text(nbest, position, "jsonl"))
        _keep(figures, {"same_words": same, "costs": costs})
    kept = json.loads(figures.read_text("utf-8"))
    return Parsed(lists_file, kept["same_words"], [Cost(*cost) for cost in kept["costs"]])


def _parse(
    trees: Sequence[str], choice: ParserChoice, jobs: int
) -> tuple[list[NBest], int, list[Cost]]:
    """The lists, and what a ``Parsed`` has of them."""
    sentences = words_of(trees)
    count = len(trees)

    def parse() -> list[NBest]:
        tokens = "".join(" ".join(words) + "\n" for words in sentences).encode()
        parser = choice.create()
        parsing = ParsedLists(parser, Text([TextInMemory(tokens, "tokens")], "tokens"), jobs)
        try:
            return list(parsing)
        finally:
            parsing.close()

    split(sentences)  # loads the tokeniser
    found, splitting = timed("words", count, lambda: split(sentences))
    lists, parsing = timed("parsing", count, parse)
    return lists, same_words(sentences, found), [splitting, parsing]


def reranked(parsed: Parsed, reranker: Reranker) -> MeasuredSentences:
    """The best candidates of these lists, from the folder they are in if they are there."""
    signature = reranker.signature(reranker.weighing)
    figures = parsed.lists.with_suffix(f".{_digest(signature)}.json")
    if not figures.exists():
        lists = kept_lists(parsed)
        rankings, cost = timed(
            "reranking", len(lists), lambda: list(reranker.rerank_lists(lists, top=1))
        )
        bests = [ranking.best for ranking in rankings]
        _keep(figures, {"chosen": [best and best.index for best in bests], "cost": cost})
    kept = json.loads(figures.read_text("utf-8"))
    return MeasuredSentences(parsed, kept["chosen"], Cost(*kept["cost"]))


def kept_lists(parsed: Parsed) -> list[NBest]:
    return list(read_nbest(parsed.lists, options=ReadOptions("jsonl")))


def _digest(*depends_on: str) -> str:
    return hashlib.sha256("\n".join(depends_on).encode()).hexdigest()[:16]


def _keep(path: Path, figures: dict[str, Any]) -> None:
    with open_whole(path) as file:
        file.write(json.dumps(figures) + "\n")


def report(trees: Sequence[str], pieces: Sequence[MeasuredSentences]) -> str:
    """F1 and costs of all pieces of a treebank."""
    with tempfile.TemporaryDirectory() as temporary:
        gold = Path(temporary, "gold.mrg")
        gold.write_text("".join(trees), "utf-8")
        table = GoldTable(GoldTrees([gold], False))
        flat = 0
        for piece in pieces:
            for nbest, index in zip(kept_lists(piece.parsed), piece.chosen, strict=True):
                table.add_list(nbest)
                table.add_choice(index)
                flat += not nbest.candidates
        table.check_complete()
    costs = [
        Cost(stages[0].stage, *(sum(column) for column in list(zip(*stages, strict=True))[1:]))
        for stages in zip(*(piece.costs for piece in pieces), strict=True)
    ]
    whole = (sum(cost.processor for cost in costs), sum(cost.wall for cost in costs))
    costs.append(Cost("together", len(trees), *whole))
    return "\n".join(
        [
            f"{len(trees)} sentences, {sum(map(len, words_of(trees)))} words, {flat} not parsed",
            agreement(sum(piece.parsed.same_words for piece in pieces), len(trees)),
            table.format(),
            aligned(
                [
                    ("", "sentences/s, processor", "sentences/s, wall"),
                    *(cost.row for cost in costs),
                ]
            ),
        ]
    )


def words_of(trees: Sequence[str]) -> list[tuple[str, ...]]:
    return [tuple(Tree.from_string(tree).leaves()) for tree in trees]


def trees_of(path: str, every: int) -> list[str]:
    return [line for line in read_lines(path) if line.strip()][::every]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("trees", nargs="+")
    parser.add_argument("--every", type=int, default=1, help="take every n-th tree")
    parser.add_argument("--words-only", action="store_true", help="only how words are split")
    parser.add_argument("--parser", action="append", default=[], help="several: pooled")
    parser.add_argument("--parser-model", action="append", default=[])
    parser.add_argument("--candidates", type=int, default=50)
    parser.add_argument("--overparsing", type=int, default=10)
    parser.add_argument("--models", nargs="+")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="go on with what is there")
    parser.add_argument("--parse-only", action="store_true", help="with --keep: rerank later")
    arguments = parser.parse_args()
    if arguments.parse_only and not arguments.keep:
        parser.error("--parse-only needs --keep")
    if arguments.words_only:
        for path in arguments.trees:
            sentences = words_of(trees_of(path, arguments.every))
            same = same_words(sentences, split(sentences))
            print(f"{path}: {agreement(same, len(sentences))}")
        return
    settings = ParserSettings(
        candidates=arguments.candidates, overparsing=arguments.overparsing, seconds=3600
    )
    choice = ParserChoice(arguments.parser, None, arguments.parser_model, settings)
    with contextlib.ExitStack() as stack:
        folder = arguments.keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        if arguments.parse_only:
            for path in arguments.trees:
                for piece in cut(trees_of(path, arguments.every)):
                    print(parsed(piece, choice, arguments.jobs, folder).lists, flush=True)
            return
        reranker = Reranker.load(arguments.models, threads=arguments.jobs)
        print(reranker.signature(reranker.weighing))
        for path in arguments.trees:
            trees = trees_of(path, arguments.every)
            figures = measure(trees, choice, arguments.jobs, reranker, folder)
            print(f"\n{path}\n{figures}", flush=True)


if __name__ == "__main__":
    main()
