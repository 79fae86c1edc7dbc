"""LAMBADA's training text as Daniluk (2016), section 4.1, uses it, from its novels (Paperno et al.
2016), which are published already tokenised:

    python eval/texts/lambada.py train-novels/*/*.txt --out ~/lambada

Writes lambada.train.txt and lambada.dev.txt, some novels drawn at random; words that are not among
the --words most frequent ones of the training part become <unk>. Passages are used as they are
published. Exit status: 0, 1 if lines were left out, 2 if files cannot be used.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from corpus import CorpusFiles, corpus_parser, divided, most_frequent, table, write_part

from reranker.errors import RerankError

HELD_OUT = 0.002  # of the words; 361,000 of 203 million in the thesis' Table 4.1


def main(argv: Sequence[str]) -> int:
    parser = corpus_parser("lambada.py", __doc__, "novels", HELD_OUT, "dev")
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
