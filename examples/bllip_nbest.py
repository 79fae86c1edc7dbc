"""N-best lists by the BLLIP parser, for `rerank adapt --parser`.

    pip install bllipparser
    rerank adapt --parser 'python examples/bllip_nbest.py MODEL' ...

Reads sentences from standard input, one a line, a space between words; MODEL is the folder of a
parser model. A sentence that it cannot parse gets an empty list.
"""

from __future__ import annotations

import argparse
import sys

from bllipparser import RerankingParser


def main() -> None:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    arguments.add_argument("model")
    arguments.add_argument("--candidates", type=int, default=50)
    arguments.add_argument(
        "--overparsing",
        type=int,
        default=10,
        help="how thoroughly it searches; its own default, 21, takes three times as long",
    )
    given = arguments.parse_args()
    parser = RerankingParser()
    parser.load_parser_model(given.model, nbest=given.candidates, overparsing=given.overparsing)
    for number, line in enumerate(sys.stdin):
        try:
            lists = parser.parse(line.rstrip("\n").split(" "), rerank=False)
        except RuntimeError:  # its own kind of failure
            lists = []
        print(f"{len(lists)}\t{number}")
        for tree in lists:
            print(tree.parser_score)
            print(tree.ptb_parse)
        print(flush=True)


if __name__ == "__main__":
    main()
