"""``rerank --nbest ... --models ...``: chooses the best of each sentence's candidates."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from reranker.commands import nbest_flags, ranking_flags
from reranker.commands.arguments import add_restore, destination, exit_code, summary
from reranker.commands.progress import ProgressBar, message
from reranker.errors import InputError
from reranker.files.output import write_line
from reranker.work import loop
from reranker.work.nbest_files import NBestLists, log_rejected
from reranker.work.ranking import Rank
from reranker.work.sinks import TextSink

if TYPE_CHECKING:
    from reranker.evaluation.gold_table import GoldTable

LESS_MEMORY = "fewer --threads or a smaller ensemble (--models) take less"

EXAMPLES = """examples:
  rerank --nbest parses.txt > best.txt
  rerank --nbest parses.txt.gz --models ckpt/*.pt --lm-weight 0.3 --output ranked --out ranked.jsonl
  rerank --nbest parses.txt --models ckpt/*.pt --sha256 21506e9b b7d228a2 > best.txt
  rerank --nbest parses.txt --models ckpt/*.pt --gold gold.mrg --gold-tags --out best.txt
  rerank --nbest large.txt.zst --models ckpt/*.pt --out best.txt --resume
  rerank --nbest samples.txt --tokens sentences.txt --models ckpt/*.pt
  rerank --nbest bllip.txt berkeley.txt --models ckpt/*.pt
  parseIt -N50 DATA sentences | rerank --nbest - --models ckpt/*.pt

exit status: 0 success, 1 candidates were rejected or a sentence has none left, 2 unusable files or
flags, 3 out of memory, 130 interrupted, 141 the reader of standard output closed it"""

USAGE = "%(prog)s COMMAND [flags] ...\n       %(prog)s --nbest FILE [FILE ...] [flags]"
GROUPS = {
    "everyday flags": "--nbest --models --output --out --resume --gold --lm-weight --tokens",
    "input": "--format --repair --no-repair --beam --restore",
    "models": "--sha256 --criterion --combine",
    "output": "--top --token-scores --gold-tags",
    "limits": "--threads --device --precision",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``rerank`` to ``parser``."""
    add = parser.add_argument
    nbest_flags.add_arguments(parser, required=True)
    ranking_flags.add_arguments(parser)
    add_restore(parser)
    text = (
        "gold trees (files, folders, quoted patterns): print F1 of the parser's first trees, the "
        "chosen ones, and the best ones"
    )
    add("--gold", nargs="+", metavar="FILE", help=text)
    text = "for the F1 of --gold, give every candidate the gold part-of-speech tags"
    add("--gold-tags", action="store_true", help=text)


def run(arguments: argparse.Namespace) -> int:
    """Rerank as the flags say; returns the exit code."""
    if arguments.gold_tags and not arguments.gold:
        raise InputError("--gold-tags needs --gold")
    table = None
    if arguments.gold:
        from reranker.evaluation.brackets import GoldTrees
        from reranker.evaluation.gold_table import GoldTable

        table = GoldTable(GoldTrees(arguments.gold, arguments.gold_tags))
    settings = ranking_flags.settings(arguments)
    inputs = nbest_flags.inputs(arguments)
    out = destination(arguments, inputs)
    restore = arguments.restore or settings.form.needs_brackets
    # Before models are loaded: a wrong file is reported at once, and so are other gold trees.
    lists = NBestLists(arguments.nbest, nbest_flags.options(arguments, restore=restore))
    if table is not None and (same := lists.read_ahead()) is not None:
        table.check(same)
    reranker = ranking_flags.load(settings)
    job = Rank(reranker, settings, table=table)
    progress = ProgressBar(lists, log_rejected)
    counts = loop.run(lists, job, TextSink(settings.form, out), progress)
    message(summary(counts))
    if table is not None:
        _print_table(table, arguments, f"{reranker.signature(settings.weighing)} evalb=COLLINS")
    return exit_code(counts)


def _print_table(table: GoldTable, arguments: argparse.Namespace, signature: str) -> None:
    """Print the F1 table and its signature. The table goes to standard error, as the signature
    does, if standard output has the trees."""
    for line in table.format().splitlines():
        (write_line if arguments.out else message)(line)
    message(f"rerank: signature {signature} tags={'gold' if arguments.gold_tags else 'parser'}")
