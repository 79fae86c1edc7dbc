"""The service under load, on real lists: are its answers right, how fast is it, does it refuse?

    python -m benchmarks.service_load LISTS [--models ckpt/*.pt] [--lists 200] [--minutes 15]
    python -m benchmarks.service_load LISTS --hostile [--models ckpt/*.pt] [--minutes 15]

starts `rerank serve` on a free port. The first prints, in this order:

1. whether its figures for each list are those of `rerank --output ranked`, alone and coalesced;
2. candidates a second of the command and of the service at saturation;
3. latency at half that load, requests arriving at random;
4. answers to ten times that load, and the service's memory meanwhile.

The second lets kind clients ask for small things at a fixed rate, first alone, then among clients
that send huge requests, bombs and rubbish, that hang up and that never finish
(docs/research/performance.md). It exits with status 1 if a target is missed.

`benchmarks.service_load.products` measures a tiny request beside bodies that are short to send
and would be long to read.

The load comes from the same machine, on the same cores.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence


def main(argv: Sequence[str]) -> int:
    arguments = options().parse_args(argv)
    # Imported here: the processes of clients import this file, and need none of it.
    if arguments.hostile:
        from benchmarks.service_load import hostile

        return hostile.run(arguments.nbest, arguments.models, arguments.minutes * 60)
    from benchmarks.service_load import ordinary

    return ordinary.run(arguments.nbest, arguments.models, arguments.lists, arguments.minutes * 60)


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.service_load", description=(__doc__ or "").partition("\n")[0]
    )
    add = parser.add_argument
    add("nbest", help="BLLIP lists, plain or packed")
    add("--models", nargs="+", default=["ckpt/*.pt"])
    add("--lists", type=int, default=200, help="of the file (200); all of it with --hostile")
    add("--minutes", type=float, default=15.0, help="of overload, or among hostile clients (15)")
    add("--hostile", action="store_true", help="kind clients among hostile ones")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
