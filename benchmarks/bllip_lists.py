"""Lists of up to 500 candidates from the BLLIP parser, for the table of list sizes.

    pip install bllipparser
    python benchmarks/bllip_lists.py MODEL dev.mrg.gz > lists.txt

MODEL is the folder (or, packed, the .tar.gz) of a parser model; the sentences are the words of
every n-th tree. Needs nothing else of ours, so any environment with the parser will do.
"""

from __future__ import annotations

import argparse
import gzip
import re
import tarfile
import tempfile
from pathlib import Path
from typing import Any

WORD = re.compile(r"\([^()\s]+ ([^()\s]+)\)")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("trees", type=Path)
    parser.add_argument("--sentences", type=int, default=12)
    parser.add_argument("--candidates", type=int, default=500)
    arguments = parser.parse_args()
    open_trees = gzip.open if arguments.trees.suffix == ".gz" else open
    with open_trees(arguments.trees, "rt", encoding="utf-8") as file:
        sentences = [(number, WORD.findall(line)) for number, line in enumerate(file, 1)]
    # A list of 500 takes more than a few words.
    long_enough = [(number, words) for number, words in sentences if len(words) > 5]
    spread = long_enough[:: max(1, len(long_enough) // arguments.sentences)][: arguments.sentences]
    with tempfile.TemporaryDirectory() as folder:
        reranking_parser = load(unpacked(arguments.model, folder), arguments.candidates)
        for number, words in spread:
            _, _, rest = str(reranking_parser.parse(words)).strip().partition("\n")
            print(f"{(rest.count(chr(10)) + 1) // 2}\t{number}\n{rest}\n", flush=True)


def unpacked(model: Path, folder: str) -> Path:
    if model.is_dir():
        return model
    with tarfile.open(model) as archive:
        archive.extractall(folder, filter="data")
    (inside,) = Path(folder).iterdir()
    return inside


def load(folder: Path, candidates: int) -> Any:
    from bllipparser import RerankingParser

    parser = RerankingParser()
    parser.load_parser_model(str(folder), nbest=candidates)
    return parser


if __name__ == "__main__":
    main()
