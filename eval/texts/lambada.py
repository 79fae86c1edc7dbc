"""LAMBADA's training text as Daniluk (2016), section 4.1, uses it, from its novels (Paperno et al.
2016), which are published already tokenised:

    python eval/texts/lambada.py train-novels/*/*.txt --out ~/lambada

Writes lambada.train.txt and lambada.dev.txt, some novels drawn at random; words that are not among
the --words most frequent ones of the training part become <unk>. Passages are used as they are
published. Exit status: 0, 1 if lines were left out, 2 if files cannot be used.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from corpus import CorpusFiles, divided, most_frequent, table, write_part

from reranker.commands.arguments import positive, weight
from reranker.errors import RerankError

WORDS = 77_000
HELD_OUT = 0.002  # of the words; 361,000 of 203 million in the thesis' Table 4.1


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="lambada.py",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("novels", nargs="+", type=Path, metavar="NOVEL")
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER")
    text = "size of the vocabulary (default: %(default)s)"
    parser.add_argument("--words", type=positive, default=WORDS, metavar="N", help=text)
    text = "share of the words for dev (default: %(default)s)"
    parser.add_argument("--held-out", type=weight, default=HELD_OUT, metavar="SHARE", help=text)
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the division")
    arguments = parser.parse_args(argv)
    try:
        files = CorpusFiles()
        counts = {path: files.count(path) for path in arguments.novels}
        dev, train = divided(counts, (arguments.held_out,), arguments.seed)
        known = most_frequent(files, train, arguments.words)
        arguments.out.mkdir(parents=True, exist_ok=True)
        parts = [
            write_part(files, paths, known, arguments.out / f"lambada.{name}.txt", enclosed=False)
            for name, paths in (("train", train), ("dev", dev))
        ]
    except RerankError as error:
        print(f"lambada: {error}", file=sys.stderr)
        return 2
    print(table(parts, len(known)))
    return 1 if files.refused else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
