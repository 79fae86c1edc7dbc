"""``rerank parse``: text in, the best tree of each sentence out."""

from __future__ import annotations

import argparse
import contextlib
from dataclasses import replace
from pathlib import Path

from reranker.commands import answers, parser_flags, text_files
from reranker.errors import InputError
from reranker.files.opening import file_sha256
from reranker.parsers.choice import ParserChoice
from reranker.parsers.parser import ParserSettings
from reranker.process.flags import positive
from reranker.ranking import Weighing

EXAMPLES = """examples:
  echo "They served coffee and cake to the guests." | rerank parse -
  rerank parse notes.txt --output brackets --csv > brackets.csv
  rerank parse book.txt.gz --output ranked --out book.jsonl
  rerank parse notes.txt --parser-command './my-parser --nbest 50' > trees.txt
  rerank parse notes.txt --parser bllip --parser command --parser-command ./my-parser
  rerank parse notes.txt --least-sure 20
  rerank parse one-a-line.txt --sentences --parser-model bllip-model/ --out trees.txt --resume

A sentence that cannot be parsed gets a flat tree and is named on standard error.

exit status: 0 success, 1 a sentence was not parsed or not read as it is written, or candidates were
rejected, 2 unusable files or flags, 3 out of memory, 130 interrupted, 141 the reader of standard
output closed it"""

USAGE = "%(prog)s [flags] FILE [FILE ...]"
GROUPS = {
    "everyday flags": (
        "text --sentences --language --parser --models --output --out --resume --least-sure"
    ),
    "input": "--tokens --words --format --beam",
    "models": (
        "--parser-command --parser-model --candidates --overparsing --sha256 --lm-weight "
        "--criterion --combine"
    ),
    "output": "--csv --top --token-scores",
    "limits": "--longest --parser-seconds --jobs --threads --device --precision",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``rerank parse`` to ``parser``."""
    text_files.add_arguments(parser, "+")
    text = (
        "write, instead of trees, a table of the N sentences whose trees are least sure, each with "
        "the doubtful bracket in words"
    )
    parser.add_argument("--least-sure", type=positive, metavar="N", help=text)
    text = "with --output brackets: commas between columns, not tabs"
    parser.add_argument("--csv", action="store_true", help=text)
    parser_flags.add_arguments(parser, longest=200)
    answers.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Parse and rerank as the flags say; returns the exit code."""
    names = parser_flags.choice(arguments).names
    answers.check(arguments, is_sure="chart" in names)
    if arguments.csv and arguments.output != "brackets":
        raise InputError("--csv needs --output brackets")
    if arguments.least_sure and (arguments.resume or arguments.output != "best"):
        raise InputError("--least-sure cannot be combined with --output or --resume")
    paths = text_files.text_paths(arguments.text)
    choice = parser_flags.choice(arguments)
    if arguments.least_sure and "chart" not in choice.names:
        raise InputError("--least-sure needs the parser chart; no other parser says how sure it is")
    inputs: list[str | Path] = [*paths, *parser_flags.inputs(choice)]
    plan = answers.Plan.of(arguments, inputs, parser_flags.models(arguments))
    if not arguments.least_sure:
        choice = replace(choice, settings=_what_is_needed(arguments.output, choice, plan))
    sources, others = text_files.checked_texts(paths)
    text = text_files.ParsedText(arguments, choice, sources, arguments.form)
    with contextlib.closing(text):
        if text.is_empty:
            raise InputError(f"{', '.join(paths)}: no text")
        if not arguments.resume:  # which sentences to begin with is not known yet
            text.start()
        code = answers.write(plan, text, least_sure_count=arguments.least_sure or 0)
    return 1 if others or text.faults else code


def _what_is_needed(output: str, choice: ParserChoice, plan: answers.Plan) -> ParserSettings:
    """Return the parser's settings, for no more than an output tells: neither probabilities of
    brackets that it leaves out nor trees that cannot be the best."""
    settings = choice.settings
    if output in ("best", "pretty"):
        settings = replace(settings, is_certainty_wanted=False)
    if output in ("best", "pretty", "conllu", "json", "brackets") and _first_is_best(choice, plan):
        settings = replace(settings, candidates=1)
    return settings


def _first_is_best(choice: ParserChoice, plan: answers.Plan) -> bool:
    """Return whether the best tree is the parser's first, since the model that ranks the trees is
    the parser's own (``--models fast``)."""
    models = plan.models
    if choice.names != ["chart"] or choice.settings.candidates is not None:
        return False
    if len(models.paths) != 1 or replace(plan.weighing, member_weights=()) != Weighing():
        return False
    digests = models.sha256 or [file_sha256(path) for path in models.paths]
    return [*digests] == [*choice.model_identities().values()]
