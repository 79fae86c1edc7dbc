"""``rerank clauses``: the clauses of texts and trees, and how probable each is."""

from __future__ import annotations

import argparse
import contextlib
import json
from typing import Any

from reranker.commands import tree_flags
from reranker.errors import InputError
from reranker.files.table import delimited
from reranker.languages import ENGLISH
from reranker.outputs.conllu import to_conllu
from reranker.outputs.form import Rows
from reranker.plugins.clauses.clause import Clause, Range, clauses, placed
from reranker.plugins.clauses.sentence import FindClauses, Found
from reranker.ranking.sentence import ParsedSentence, with_words_only

EXAMPLES = """examples:
  rerank clauses essay.txt > clauses.jsonl
  rerank clauses essays/*.txt --output tsv --out clauses.tsv --resume
  rerank clauses trees.mrg parses.txt.gz --output conllu

Ranges count the characters of the text; for trees, of their words joined by spaces.
docs/clauses.md defines the kinds of clauses.

exit status: 0 success; 1 some trees or sentences could not be read; 2 unusable files or flags;
3 out of memory; 130 interrupted; 141 the reader of standard output closed it"""

USAGE = "%(prog)s FILE [FILE ...] [flags]"
GROUPS = tree_flags.groups("files --as --output --words --out --resume --language")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``rerank clauses`` to ``parser``."""
    tree_flags.add_arguments(parser)
    text = (
        "json: an object for each sentence; tsv: a row for each clause; conllu: a comment for each "
        "clause, with the words and trees of `rerank parse --output conllu` (default: %(default)s)"
    )
    parser.add_argument("--output", choices=("json", "tsv", "conllu"), default="json", help=text)


def run(arguments: argparse.Namespace) -> int:
    """Write the clauses of each sentence; return the exit code."""
    if (arguments.language or ENGLISH) != ENGLISH:
        given = f"--language {arguments.language}"
        raise InputError(f"{given}: clauses are defined by the labels of English treebanks")
    with contextlib.closing(tree_flags.open_files(arguments)) as files:
        form = _FORMS[arguments.output]()
        job = FindClauses(arguments.output, is_certain=not arguments.temperature)
        return tree_flags.write(arguments, files, job, form)


class _Json(Rows[Found]):
    """An object for each sentence."""

    def plain(self, answer: Found) -> str:
        _, sentence = answer
        found = [each._asdict() for each in sentence.clauses]
        return json.dumps({**sentence._asdict(), "clauses": found}, ensure_ascii=False) + "\n"


class _Tsv(Rows[Found]):
    """A row for each clause."""

    def begin(self) -> str:
        return "\t".join(("file", "line", "clause", *Clause._fields)) + "\n"

    def plain(self, answer: Found) -> str:
        _, sentence = answer
        return delimited(
            (sentence.file, sentence.line, number, *_cells(each).values())
            for number, each in enumerate(sentence.clauses)
        )


class _CoNLLU(Rows[Found]):
    """The sentence in CoNLL-U, with a comment for each clause; numbers of words, from 1 to the
    last, are its rows'."""

    def plain(self, answer: Found) -> str:
        (parses, sentence), comments = answer, []
        for number, (own, each) in enumerate(
            zip(clauses(parses.trees[0]), sentence.clauses, strict=True)
        ):
            words = placed(own, lambda words: (words[0] + 1, words[1]), None)
            cells = _cells(words._replace(probability=each.probability))
            cells["labels"] = own.labels.replace(" ", "+")
            parts = (f"{key}={value}" for key, value in cells.items() if value not in (None, ""))
            comments.append(f"# clause {number} = {' '.join(parts)}\n")
        tree = with_words_only(parses.trees[0])
        text = to_conllu(ParsedSentence(parses.id, tree, origin=parses.origin))
        head, rows = text.split("\n1\t", 1)
        return f"{head}\n{''.join(comments)}1\t{rows}"


_FORMS: dict[str, type[Rows[Found]]] = {"json": _Json, "tsv": _Tsv, "conllu": _CoNLLU}


def _cells(clause: Clause[Range]) -> dict[str, Any]:
    """Return the values of a clause as text, by name."""
    cells = {**clause._asdict(), "finite": "yes" if clause.finite else "no"}
    cells |= {"span": [clause.span], "subject": filter(None, [clause.subject])}
    for name in ("span", "own", "subject", "predicate"):
        cells[name] = ",".join(f"{start}-{end}" for start, end in cells[name])
    return cells
