"""The command."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.matrix_units import costs, speed
from benchmarks.scoring.measure import machine
from reranker.checkpoints.memory import keep_freed_memory
from reranker.commands.arguments import positive
from reranker.errors import RerankError

DATA = "../shared/data"


def main(argv: Sequence[str]) -> int:
    arguments = options().parse_args(argv)
    print(machine(1))
    keep_freed_memory()
    try:
        if arguments.what == "speed":
            speed.report(arguments.rounds)
        else:
            costs.report(arguments)
    except RerankError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.matrix_units")
    what = parser.add_subparsers(dest="what", required=True)
    add = what.add_parser("speed", help="one kernel's").add_argument
    add("--rounds", type=positive, default=15, help="after a warm-up (default: %(default)s)")
    add = what.add_parser("costs", help="perplexity, errors, winners").add_argument
    add("--models", nargs="+", type=Path, default=sorted(Path("ckpt").glob("*.pt")))
    add("--lists", type=Path, default=Path(DATA, "nbest/gum_dev_50best.txt.gz"))
    add("--gold", type=Path, help="the lists' gold trees, for F1")
    add("--sentences", type=positive, default=150, help="of the lists (default: %(default)s)")
    add("--exact", type=positive, default=12, help="of these, against float64")
    add("--treebanks", nargs="*", type=Path, help="gold trees, for perplexity")
    add("--trees", type=positive, default=2_000, help="of the treebanks (default: %(default)s)")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
