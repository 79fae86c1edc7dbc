"""``rerank clauses``: the clauses of texts and trees, and how probable each is."""

from __future__ import annotations

import argparse
import contextlib
import json
from collections import Counter
from typing import Any

from reranker.commands import tree_flags
from reranker.commands.arguments import add_table
from reranker.errors import InputError
from reranker.files.table import delimited
from reranker.languages import ENGLISH
from reranker.outputs.conllu import to_conllu
from reranker.outputs.form import Form, Rows
from reranker.plugins.clauses.clause import KINDS, Clause, Range, clauses, placed
from reranker.plugins.clauses.sentence import FindClauses, Found
from reranker.ranking.sentence import ParsedSentence, with_words_only

EXAMPLES = """examples:
  rerank clauses essay.txt --csv > clauses.csv
  rerank clauses essays/*.txt --count
  rerank clauses essays/*.txt --out clauses.tsv --resume
  rerank clauses trees.mrg parses.txt.gz --json

start and end count the characters of the text; for trees, of their words joined by spaces.
docs/clauses.md defines the kinds of clauses.

exit status: 0 success; 1 some trees or sentences could not be read; 2 unusable files or flags;
3 out of memory; 130 interrupted; 141 the reader of standard output closed it"""

USAGE = "%(prog)s FILE [FILE ...] [flags]"
GROUPS = tree_flags.groups("files --csv --json --count --conllu --as --out --resume --language")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``rerank clauses`` to ``parser``."""
    tree_flags.add_arguments(parser)
    form = add_table(parser, "sentence")
    text = "write CoNLL-U as `rerank parse` does, with a comment per clause"
    form.add_argument("--conllu", action="store_true", help=text)
    text = "write the number of clauses of each kind in each file"
    parser.add_argument("--count", action="store_true", help=text)


def run(arguments: argparse.Namespace) -> int:
    """Write the clauses of each sentence; return the exit code."""
    if (arguments.language or ENGLISH) != ENGLISH:
        given = f"--language {arguments.language}"
        raise InputError(f"{given}: clauses are defined by the labels of English treebanks")
    if arguments.count and (arguments.json or arguments.conllu):
        raise InputError("--count writes a table; it goes with --csv, not with --json or --conllu")
    form: Form[Found]
    if arguments.count:
        form = _Counts(has_commas=arguments.csv)
    elif arguments.json or arguments.conllu:
        form = _Json() if arguments.json else _CoNLLU()
    else:
        form = _Clauses(has_commas=arguments.csv)
    with contextlib.closing(tree_flags.open_files(arguments)) as files:
        output = {name: getattr(arguments, name) for name in ("csv", "json", "conllu", "count")}
        job = FindClauses(output, is_certain=not arguments.temperature)
        return tree_flags.write(arguments, files, job, form)


class _Json(Rows[Found]):
    """An object for each sentence."""

    def plain(self, answer: Found) -> str:
        _, sentence = answer
        found = [each._asdict() for each in sentence.clauses]
        return json.dumps({**sentence._asdict(), "clauses": found}, ensure_ascii=False) + "\n"


class _Clauses(Rows[Found]):
    """A row for each clause, with its words and the words of its parts. An ellipsis stands where
    words of other clauses are left out."""

    _COLUMNS = (
        *("file", "line", "clause", "parent", "kind", "labels", "finite", "probability"),
        *("start", "end", "words", "own", "subject", "predicate", "sentence", "speaker"),
    )

    def __init__(self, *, has_commas: bool) -> None:
        self._has_commas = has_commas

    def begin(self) -> str:
        return delimited([self._COLUMNS], with_commas=self._has_commas)

    def plain(self, answer: Found) -> str:
        _, sentence = answer

        def words(*places: Range) -> str:
            parts = (sentence.text[slice(*sentence.within(each))] for each in places)
            return " ".join(" … ".join(parts).split())

        rows = [
            (
                *(sentence.file, sentence.line, number, each.parent, each.kind, each.labels),
                *("yes" if each.finite else "no", each.probability, *each.span),
                *(words(each.span), words(*each.own), words(*filter(None, [each.subject]))),
                *(words(*each.predicate), " ".join(sentence.text.split()), sentence.speaker),
            )
            for number, each in enumerate(sentence.clauses)
        ]
        return delimited(rows, with_commas=self._has_commas)


class _Counts(Form[Found]):
    """The numbers of sentences, clauses and clauses of each kind in each file, and their sums if
    there are several."""

    is_table = True

    def __init__(self, *, has_commas: bool) -> None:
        self._has_commas = has_commas
        self._files: dict[str, Counter[str]] = {}

    def plain(self, answer: Found) -> tuple[str, list[str]]:
        """Return the file and the kinds of a sentence's clauses."""
        _, sentence = answer
        return sentence.file, [each.kind for each in sentence.clauses]

    def line(self, answer: tuple[str, list[str]], number: int) -> str:
        """Count a sentence; nothing is written before the end."""
        file, kinds = answer
        names = ["sentences", *["clauses"] * len(kinds), *kinds]
        self._files.setdefault(file, Counter()).update(names)
        return ""

    def end(self) -> str:
        """Return a heading and the rows."""
        columns = ("sentences", "clauses", *KINDS)
        counts = [*self._files.items()]
        if len(counts) > 1:
            counts.append(("all", sum(self._files.values(), Counter())))
        rows = ((file, *(each[name] for name in columns)) for file, each in counts)
        return delimited([("file", *columns), *rows], with_commas=self._has_commas)


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


def _cells(clause: Clause[Range]) -> dict[str, Any]:
    """Return the values of a clause as text, by name."""
    cells = {**clause._asdict(), "finite": "yes" if clause.finite else "no"}
    cells |= {"span": [clause.span], "subject": filter(None, [clause.subject])}
    for name in ("span", "own", "subject", "predicate"):
        cells[name] = ",".join(f"{start}-{end}" for start, end in cells[name])
    return cells
