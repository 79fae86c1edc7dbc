"""``rerank spoken``: a transcript in, the best tree of each of its sentences out."""

from __future__ import annotations

import argparse
import contextlib
from pathlib import Path

from reranker.commands import answers, parser_flags, text_files
from reranker.errors import InputError
from reranker.languages import ENGLISH
from reranker.plugins.spoken.transcript import LONGEST, MOST_LONGEST, Transcript

EXAMPLES = """examples:
  rerank spoken call.txt
  rerank spoken call.txt --output json | jq -r '[.end_probability, .text] | @tsv'
  rerank spoken calls/*.txt --output ranked --out calls.jsonl --resume

Sentences go on from line to line, but not beyond a blank line or a speaker's name as in "A: well".

exit status: 0 success, 1 a sentence was not parsed or not read as it is written, 2 unusable files
or flags, 3 out of memory, 130 interrupted, 141 the reader of standard output closed it"""

USAGE = "%(prog)s [flags] FILE [FILE ...]"
GROUPS = {
    "everyday flags": "text --longest --language --models --output --out --resume --top",
    "input": "--words --format --beam",
    "models": (
        "--parser --parser-command --parser-model --candidates --overparsing --sha256 --lm-weight "
        "--criterion --combine"
    ),
    "output": "--token-scores",
    "limits": "--parser-seconds --jobs --threads --device --precision",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``rerank spoken`` to ``parser``."""
    text = "transcripts, plain, .gz or .zst; - reads standard input"
    parser.add_argument("text", nargs="+", metavar="FILE", help=text)
    text_files.add_words(parser)
    parser_flags.add_arguments(parser, longest=LONGEST)
    answers.add_arguments(parser)
    parser.set_defaults(form="sentences")


def run(arguments: argparse.Namespace) -> int:
    """Parse and rerank as the flags say; returns the exit code."""
    choice = parser_flags.choice(arguments)
    answers.check(arguments, is_sure=True)
    if choice.names != ["chart"]:
        raise InputError(f"the parser chart finds the sentences, not {', '.join(choice.names)}")
    if (arguments.language or ENGLISH) != ENGLISH:
        given = f"--language {arguments.language}"
        raise InputError(f"{given}: ends of sentences were learned from English talk")
    if arguments.longest > MOST_LONGEST:
        raise InputError(f"--longest must be at most {MOST_LONGEST}, got {arguments.longest}")
    paths = text_files.text_paths(arguments.text)
    inputs: list[str | Path] = [*paths, *parser_flags.inputs(choice)]
    plan = answers.Plan.of(arguments, inputs, parser_flags.models(arguments))
    sources, others = text_files.checked_texts(paths)
    with contextlib.closing(Transcript(arguments, choice, sources)) as text:
        if text.is_empty:
            raise InputError(f"{', '.join(paths)}: no text")
        if not arguments.resume:  # which sentences to begin with is not known yet
            text.start()
        code = answers.write(plan, text)
    return 1 if others or text.faults else code
