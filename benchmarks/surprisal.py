"""How many words a CPU-second `rerank surprisal` reads, models loaded.

python -m benchmarks.surprisal examples/sentences.txt --models ckpt/rnn-forward.pt --beam 10 100
"""

from __future__ import annotations

import time
from pathlib import Path

import reranker
from reranker.commands.arguments import positive, script_parser


def main() -> None:
    parser = script_parser("benchmarks.surprisal", __doc__)
    parser.add_argument("text", type=Path, help="one sentence a line")
    parser.add_argument("--models", nargs="+", metavar="FILE.pt")
    parser.add_argument("--beam", nargs="+", type=positive, default=[100], metavar="K")
    arguments = parser.parse_args()
    text = arguments.text.read_text("utf-8")
    reranker.surprisal("It rains.", models=arguments.models)
    for beam in arguments.beam:
        begin = time.process_time()
        read = reranker.surprisal(text, form="sentences", models=arguments.models, beam=beam)
        seconds = time.process_time() - begin
        tokens = sum(row["tokens"] for row in read.rows())
        print(f"K = {beam}: {tokens} words, {tokens / seconds:.1f} a CPU-second")


if __name__ == "__main__":
    main()
