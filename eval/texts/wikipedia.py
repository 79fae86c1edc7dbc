"""The Wikipedia corpus of Daniluk (2016), section 4.1, made of your own articles:

    python eval/texts/wikipedia.py articles/*.txt --out ~/wikipedia

A file is an article, its words separated by spaces, a sentence a line. Numbers become N; each
article gets a line <article> before it and </article> after it; words that are not among the
--words most frequent ones of the training part become <unk>. The parts, wiki.train.txt,
wiki.dev.txt and wiki.test.txt, are of whole articles, drawn at random. Exit status: 0, 1 if lines
were left out, 2 if files cannot be used.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence

from corpus import CorpusFiles, corpus_parser, divided, most_frequent, table, write_part

from reranker.errors import InputError, RerankError

HELD_OUT = 1.2 / 24.9  # of the thesis' words, for each of dev and test
_NUMBER = re.compile(r"[-+]?\d[\d.,]*", re.ASCII)


def without_number(word: str) -> str:
    """N for a number.

    >>> [without_number(word) for word in ("1984", "-1,000.5", "1980s", "N", "3-4")]
    ['N', 'N', '1980s', 'N', '3-4']
    """
    return "N" if _NUMBER.fullmatch(word) else word


def main(argv: Sequence[str]) -> int:
    parser = corpus_parser("wikipedia.py", __doc__, "articles", HELD_OUT, "each of dev and test")
    arguments = parser.parse_args(argv)
    try:
        return _make(arguments)
    except RerankError as error:
        print(f"wikipedia: {error}", file=sys.stderr)
        return 2


def _make(arguments: argparse.Namespace) -> int:
    files = CorpusFiles(without_number)
    counts = {path: files.count(path) for path in arguments.articles}
    if empty := [path for path, words in counts.items() if not words]:
        raise InputError(f"{empty[0]}: an article without words")
    shares = (arguments.held_out, arguments.held_out)
    dev, test, train = divided(counts, shares, arguments.seed)
    known = most_frequent(files, train, arguments.words)
    arguments.out.mkdir(parents=True, exist_ok=True)
    parts = [
        write_part(files, paths, known, arguments.out / f"wiki.{name}.txt", enclosed=True)
        for name, paths in (("train", train), ("dev", dev), ("test", test))
    ]
    print(table(parts, len(known)))
    return 1 if files.refused else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
