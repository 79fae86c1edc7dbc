"""`rerank parse` on the sentences of treebanks: F1, what each stage costs, and how often words are
split as the treebank splits them.

    python -m benchmarks.parsing gum/dev.mrg.gz craft/dev.mrg.gz --every 5

With BLLIP a whole treebank takes hours: `rerank parse --tokens --output ranked --resume` resumes,
and what it writes can be reranked and scored again.

F1 is for the treebank's own words and the parser's own part-of-speech tags, which is what
`rerank parse --tokens` gives. For splitting, words are joined to text by rules (``joined``), since
trees do not know where white space was: the share of sentences whose words come back is an estimate
of what it would be for texts as they were written. Seconds are of a processor, of all processes
together, and on the wall; models are loaded before, the parser's in its own stage.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.costs import Cost, timed
from reranker.evaluation.brackets import GoldTrees
from reranker.evaluation.gold_table import GoldTable
from reranker.files.table import aligned
from reranker.files.text import TextInMemory, read_lines
from reranker.nbest import NBest
from reranker.parsers.choice import ParserChoice
from reranker.parsers.running import ParsedLists
from reranker.pipeline import Reranker
from reranker.text.reading import Text
from reranker.trees.tree import Tree

_BRACKETS = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}
_JOINS_BOTH = frozenset("-/\N{EN DASH}\N{MINUS SIGN}")
_JOINS_NEXT = frozenset(["(", "[", "{", "$", "#", "``", "`", "\N{LEFT DOUBLE QUOTATION MARK}"])
_JOINS_LAST = re.compile(
    "[.,:;?!%)\\]}\N{HORIZONTAL ELLIPSIS}\N{RIGHT DOUBLE QUOTATION MARK}]+|''|['\N{PRIME}]|"
    "(?:n?['\N{RIGHT SINGLE QUOTATION MARK}])(?:t|s|m|re|ve|ll|d)?",
    re.IGNORECASE,
)


def cost_row(stage: str, sentences: int, cost: Cost) -> tuple[str, ...]:
    """Return the name of a stage and its sentences a second, of a processor and on the wall."""
    rates = (sentences / seconds for seconds in cost)
    return (stage, *(f"{rate:.1f}" if rate < 1000 else f"{rate:.0f}" for rate in rates))


def joined(words: Sequence[str]) -> str:
    """Join the words to text: no white space before closing and behind opening punctuation, nor
    around hyphens and slashes; straight quotes open and close in turn.

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


def split(sentences: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """Return the words of the sentences as `rerank parse` splits them."""
    text = "\n".join(map(joined, sentences)).encode()
    return [each.sentence.words for each in Text([TextInMemory(text, "text")], "sentences")]


def same_words(sentences: Sequence[Sequence[str]], again: Sequence[Sequence[str]]) -> int:
    """Return the number of sentences that are split as in the treebank."""
    return sum(tuple(words) == tuple(new) for words, new in zip(sentences, again, strict=True))


def agreement(same: int, count: int) -> str:
    return f"split into the treebank's words: {same} of {count}, {100 * same / count:.1f}%"


def measure(trees: Sequence[str], choice: ParserChoice, jobs: int, reranker: Reranker) -> str:
    """Report on one treebank's sentences."""
    sentences = words_of(trees)
    count = len(trees)
    split(sentences[:1])  # loads the tokeniser
    again, splitting = timed(lambda: split(sentences))
    lists, parsing = timed(lambda: parsed(sentences, choice, jobs))
    rankings, reranking = timed(lambda: list(reranker.rerank_lists(lists, top=1)))
    with tempfile.TemporaryDirectory() as temporary:
        gold = Path(temporary, "gold.mrg")
        gold.write_text("".join(trees), "utf-8")
        table = GoldTable(GoldTrees([gold], False))
        for nbest, ranking in zip(lists, rankings, strict=True):
            table.add(nbest, ranking.best.index if ranking.best else None)
        table.check_complete()
    costs = {"words": splitting, "parsing": parsing, "reranking": reranking}
    costs["together"] = Cost(*map(sum, zip(*costs.values(), strict=True)))
    rows = [cost_row(stage, count, cost) for stage, cost in costs.items()]
    flat = sum(not nbest.candidates for nbest in lists)
    return "\n".join(
        [
            f"{count} sentences, {sum(map(len, sentences))} words, {flat} not parsed",
            agreement(same_words(sentences, again), count),
            table.format(),
            aligned([("", "sentences/s, processor", "sentences/s, wall"), *rows]),
        ]
    )


def parsed(sentences: Sequence[Sequence[str]], choice: ParserChoice, jobs: int) -> list[NBest]:
    """Return the parser's lists."""
    tokens = "".join(" ".join(words) + "\n" for words in sentences).encode()
    text = Text([TextInMemory(tokens, "tokens")], "tokens")
    parsing = ParsedLists(choice.create(), text, jobs)
    try:
        return list(parsing)
    finally:
        parsing.close()


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
    parser.add_argument("--candidates", type=int)
    parser.add_argument("--overparsing", type=int, default=10)
    parser.add_argument("--models", nargs="+")
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.words_only:
        for path in arguments.trees:
            sentences = words_of(trees_of(path, arguments.every))
            same = same_words(sentences, split(sentences))
            print(f"{path}: {agreement(same, len(sentences))}")
        return
    choice = ParserChoice.from_options({**vars(arguments), "parser_seconds": 3600})
    reranker = Reranker.load(arguments.models, threads=arguments.jobs)
    print(reranker.signature(reranker.weighing))
    for path in arguments.trees:
        figures = measure(trees_of(path, arguments.every), choice, arguments.jobs, reranker)
        print(f"\n{path}\n{figures}", flush=True)


if __name__ == "__main__":
    main()
