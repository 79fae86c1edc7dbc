"""A program: sentences on standard input, one per line, a space between words; for each, on one
line of standard output, its n-best list in our own JSON. An empty line says that the model is
loaded.

It is run by its path, in a process that imports nothing of ours, so that it starts quickly and may
crash.
"""

from __future__ import annotations

import json
import math
import os
import sys


def main() -> None:
    model, candidates, overparsing = sys.argv[1:]
    # Text that the parser's own code prints must not come between the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    try:
        from bllipparser import RerankingParser

        parser = RerankingParser()
        parser.load_parser_model(model, nbest=int(candidates), overparsing=int(overparsing))
    except (ImportError, OSError, RuntimeError, ValueError) as error:
        sys.exit(f"{model}: {error}")
    print(file=answers, flush=True)
    for line in sys.stdin.buffer:
        words = line.decode().rstrip("\n").split(" ")
        try:
            trees = parser.parse(words, rerank=False)
        except (RuntimeError, ValueError):  # its own kinds of failure
            trees = []
        lists = [
            # Its scores are logarithms to the base 2.
            {"tree": str(tree.ptb_parse), "score": tree.parser_score * math.log(2)}
            for tree in trees
        ]
        print(json.dumps({"candidates": lists}), file=answers, flush=True)


if __name__ == "__main__":
    main()
