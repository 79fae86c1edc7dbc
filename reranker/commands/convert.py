"""``rerank convert``: converts n-best files from one dialect to another."""

from __future__ import annotations

import argparse
import contextlib
import sys
from pathlib import Path

from reranker.commands import nbest_files
from reranker.commands.arguments import positive
from reranker.errors import InputError
from reranker.files.output import open_whole, output_path
from reranker.nbest import FORMATS
from reranker.nbest.dialects.registry import DIALECTS
from reranker.nbest.writing import list_text, tokens_text

EXAMPLES = """examples:
  rerank convert samples.rnng --tokens sentences.txt --to bllip --out parses.txt
  rerank convert bllip.txt.gz berkeley.txt --to jsonl --out pooled.jsonl
  rerank convert parses.txt --to seq2seq --tokens-out sentences.tsv --out beams.txt
  rerank convert parses.txt --to trees > first.txt

exit status: 0 success, 1 some candidates were rejected, 2 unusable files or flags, 3 out of
memory"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``rerank convert`` to ``parser``."""
    nbest_files.add_arguments(parser, required=False)
    parser.add_argument(
        "--to",
        required=True,
        choices=FORMATS,
        metavar="NAME",
        help=f"format to write: {', '.join(FORMATS)}",
    )
    parser.add_argument(
        "--to-beam", type=positive, metavar="K", help="lines per list, for --to opennmt"
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="write here instead of stdout")
    parser.add_argument(
        "--tokens-out",
        type=Path,
        metavar="FILE",
        help="write words and tags here, for formats that leave them out",
    )


def run(arguments: argparse.Namespace) -> int:
    """Convert as the flags say; returns the exit code."""
    inputs = nbest_files.inputs(arguments)
    out_path = output_path(arguments.out, inputs)
    tokens_path = output_path(arguments.tokens_out, inputs)
    if out_path is not None and out_path == tokens_path:
        raise InputError("--out and --tokens-out are the same file")
    if DIALECTS[arguments.to].needs_beam and arguments.to_beam is None:
        raise InputError(f"--to {arguments.to} needs --to-beam K")
    lists = nbest_files.open_lists(arguments)
    sentences = candidates = rejected = 0
    with contextlib.ExitStack() as files:
        out = files.enter_context(open_whole(out_path))
        tokens_out = None
        if tokens_path is not None:
            tokens_out = files.enter_context(open_whole(tokens_path))
        for nbest in lists:
            nbest_files.print_rejected(nbest)
            out.write(list_text(nbest, sentences, arguments.to, arguments.to_beam))
            if tokens_out is not None:
                tokens_out.write(tokens_text(nbest))
            sentences += 1
            candidates += len(nbest.candidates)
            rejected += len(nbest.rejected)
    print(
        f"rerank: {sentences} sentences, {candidates} candidates written, {rejected} rejected",
        file=sys.stderr,
    )
    return 1 if rejected else 0
