"""The corpora of Daniluk (2016), section 4.1, made of your own files:

    python eval/texts/corpus.py wikipedia articles/*.txt --out ~/wikipedia
    python eval/texts/corpus.py lambada train-novels/*/*.txt --out ~/lambada

Words are separated by spaces, one sentence per line; words that are not among the --words most
frequent ones of the training part become <unk>. Of wikipedia, a file is an article, numbers become
N, and each article gets a line <article> before it and </article> after it; wiki.train.txt,
wiki.dev.txt and wiki.test.txt are of whole articles, drawn at random. LAMBADA's novels (Paperno et
al. 2016) are published already tokenised; some of them, drawn at random, are lambada.dev.txt, the
others lambada.train.txt. Exit status: 0, 1 if lines were left out, 2 if files cannot be used.

Files are read line by line, several times, so that a corpus need not fit into memory.
"""

from __future__ import annotations

import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from reranker.errors import InputError
from reranker.files.output import check_own, make_folder, never, open_whole
from reranker.files.table import aligned
from reranker.files.text import open_text
from reranker.nbest.words import split_words
from reranker.process.flags import positive, reporting_errors, script_parser, weight
from reranker.text.running import MARKS, line_fault

UNKNOWN = "<unk>"
WORDS = 77_000
_NUMBER = re.compile(r"[-+]?\d[\d.,]*", re.ASCII)


def without_number(word: str) -> str:
    """Return N for a number.

    >>> [without_number(word) for word in ("1984", "-1,000.5", "1980s", "N", "3-4")]
    ['N', 'N', '1980s', 'N', '3-4']
    """
    return "N" if _NUMBER.fullmatch(word) else word


class CorpusKind(NamedTuple):
    """The way in which a corpus is made of files."""

    prefix: str  # of the parts' names
    held_out: dict[str, float]  # the parts besides the training part, and their shares of the words
    word_of: Callable[[str], str]  # maps a word
    articles: bool  # whether a file is an article, which has words and is enclosed in marks


KINDS = {
    # 1.2 of the thesis' 24.9 million words.
    "wikipedia": CorpusKind("wiki", {"dev": 1.2 / 24.9, "test": 1.2 / 24.9}, without_number, True),
    # 361,000 of 203 million in the thesis' Table 4.1.
    "lambada": CorpusKind("lambada", {"dev": 0.002}, str, False),
}


@dataclass
class CorpusFiles:
    """Text files, one sentence per line; ``word_of`` is what becomes of a word."""

    word_of: Callable[[str], str]
    refused: dict[tuple[Path, int], str] = field(default_factory=dict)  # by file and line

    def lines(self, path: Path) -> Iterator[list[str]]:
        """Yield the words of every line that has words. A line that cannot be used is left out,
        and named on standard error, once. Raises InputError for a file that cannot be read to
        its end."""
        with open_text(path) as file:
            number = 0
            for number, text in enumerate(file, 1):
                words = split_words(text)
                reason = line_fault(text)
                if reason is None and len(words) == 1 and words[0] in MARKS:
                    reason = f"{words[0]} marks articles in what is written"
                if reason is not None:
                    if (path, number) not in self.refused:
                        print(f"{path}:{number}: left out: {reason}", file=sys.stderr)
                    self.refused[path, number] = reason
                elif words:
                    yield [self.word_of(word) for word in words]
            if file.damage is not None:
                raise InputError(f"{path}:{number + 1}: the file is cut short: {file.damage}")

    def count(self, path: Path) -> int:
        """Return the number of words."""
        return sum(map(len, self.lines(path)))


class CorpusPart(NamedTuple):
    """The words and files of a part of the corpus."""

    name: str
    files: int
    lines: int
    words: int
    known: int  # of the words, how many are in the vocabulary


def divided(counts: Mapping[Path, int], shares: Sequence[float], seed: int) -> list[list[Path]]:
    """Draw files at random until they have each of ``shares`` of the words (and at least one file),
    then the rest, each part in the given order. Raises InputError if nothing is left."""
    order = list(counts)
    random.Random(seed).shuffle(order)
    total = sum(counts.values())
    parts: list[list[Path]] = []
    for share in shares:
        drawn: list[Path] = []
        while order and (not drawn or sum(counts[path] for path in drawn) < share * total):
            drawn.append(order.pop())
        parts.append(drawn)
    parts.append(order)
    if not all(parts):
        raise InputError(f"{len(counts)} files are too few to be divided into {len(parts)} parts")
    return [[path for path in counts if path in set(part)] for part in parts]


def most_frequent(files: CorpusFiles, paths: Iterable[Path], words: int) -> set[str]:
    """Return the most frequent words; of equally frequent ones, the alphabetically first."""
    counts: Counter[str] = Counter()
    for path in paths:
        for line in files.lines(path):
            counts.update(line)
    counts.pop(UNKNOWN, None)
    return set(sorted(counts, key=lambda word: (-counts[word], word))[:words])


def write_part(
    files: CorpusFiles, paths: Sequence[Path], known: set[str], out: Path, enclosed: bool
) -> CorpusPart:
    """Write the lines of the files with ``<unk>`` for words that are not ``known``; each file as an
    article if ``enclosed``."""
    lines = words = of_known = 0
    with open_whole(out, never) as file:
        for path in paths:
            if enclosed:
                file.write("<article>\n")
            for line in files.lines(path):
                lines, words = lines + 1, words + len(line)
                kept = [word if word in known else UNKNOWN for word in line]
                of_known += len(kept) - kept.count(UNKNOWN)
                file.write(" ".join(kept) + "\n")
            if enclosed:
                file.write("</article>\n")
    return CorpusPart(out.name, len(paths), lines, words, of_known)


def table(parts: Iterable[CorpusPart], vocabulary: int) -> str:
    """Return the table, in the form of Table 4.1 of Daniluk (2016)."""
    rows = [("part", "files", "lines", "words", "in vocabulary")]
    for part in parts:
        share = f"{100 * part.known / part.words:.1f}%" if part.words else ""
        counts = (f"{part.files:,}", f"{part.lines:,}", f"{part.words:,}")
        rows.append((part.name, *counts, share))
    return f"{aligned(rows)}\nvocabulary: {vocabulary:,} words"


@reporting_errors("corpus")
def main(argv: Sequence[str]) -> int:
    """Make a corpus."""
    parser = script_parser("corpus.py", __doc__)
    add = parser.add_argument
    add("kind", choices=KINDS)
    add("files", nargs="+", type=Path, metavar="FILE")
    add("--out", type=Path, required=True, metavar="FOLDER")
    text = "size of the vocabulary (default: %(default)s)"
    add("--words", type=positive, default=WORDS, metavar="N", help=text)
    text = "share of the words for each part but the training part (default: the thesis')"
    add("--held-out", type=weight, metavar="SHARE", help=text)
    add("--seed", type=int, default=1, metavar="N", help="of the division")
    arguments = parser.parse_args(argv)
    kind, out = KINDS[arguments.kind], arguments.out
    files = CorpusFiles(kind.word_of)
    shares = [
        share if arguments.held_out is None else arguments.held_out
        for share in kind.held_out.values()
    ]
    for name in ("train", *kind.held_out):
        check_own(out / f"{kind.prefix}.{name}.txt", never)
    counts = {path: files.count(path) for path in arguments.files}
    if kind.articles and (empty := [path for path, words in counts.items() if not words]):
        raise InputError(f"{empty[0]}: an article without words")
    *held_out, train = divided(counts, shares, arguments.seed)
    known = most_frequent(files, train, arguments.words)
    make_folder(out)
    named = {"train": train, **dict(zip(kind.held_out, held_out, strict=True))}
    parts = [
        write_part(files, paths, known, out / f"{kind.prefix}.{name}.txt", kind.articles)
        for name, paths in named.items()
    ]
    print(table(parts, len(known)))
    return 1 if files.refused else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
