"""Measure precision and recall of the ends of sentences in running text:

    python eval/texts/sentence_ends.py gum/dev.mrg.gz craft/dev.mrg.gz

The sentences of a treebank become one paragraph: their words without the spaces that nobody writes,
a space between sentences. `--show` prints each end that is wrong, and each that is missed. Headings
have no full stop, nor have most lines of speech, so not all ends can be found. `--table` takes the
table of another run of `end_counts.py`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from reranker.files.opening import read_text
from reranker.files.table import aligned
from reranker.nbest.words import written as unescaped
from reranker.process.flags import reporting_errors, script_parser
from reranker.text.ends import EndTable, end_table, table_rows
from reranker.trees.tree import Tree
from reranker.trees.treebank import read_treebank, treebank_files

_JOINED = frozenset({",", ".", ":", "''", "-RRB-", "POS", "HYPH"})
"""Tags of words that no space precedes."""
_JOINING = frozenset({"``", "-LRB-", "$", "#", "HYPH"})
"""Tags of words that no space follows."""
_SPACED = frozenset({"--", "-", "\N{EN DASH}", "\N{EM DASH}", "...", "\N{HORIZONTAL ELLIPSIS}"})
_CLITICS = frozenset({"n't", "'s", "'m", "'re", "'ve", "'d", "'ll", "%", "na", "ta"})
_CLOSING = frozenset(
    {".", ",", ";", ":", "?", "!", "...", "''", "\N{RIGHT DOUBLE QUOTATION MARK}"}
).union([")", "]", "-RRB-", "-RSB-"])
_OPENING = frozenset({"(", "[", "-LRB-", "-LSB-", "$", "#", "``", "`"}).union(
    ["\N{LEFT DOUBLE QUOTATION MARK}", "\N{LEFT SINGLE QUOTATION MARK}"]
)
_APOSTROPHE = "\N{RIGHT SINGLE QUOTATION MARK}"
_MARKUP = frozenset({"CODE", "SU"})
"""Tags of mark-up, which nobody wrote or said."""
_QUOTES = {"``": '"', "''": '"', "`": "'"}
_AROUND = 40  # characters shown


class Ends(NamedTuple):
    """A text, and the places where its sentences begin, the first left out: true ones and found
    ones."""

    text: str
    right: set[int]
    found: set[int]


def ends(trees: Iterable[Tree], table: EndTable | None = None) -> Ends:
    """Find the ends of the trees' sentences in running text, by the program's table or another."""
    text, right = "", set()
    for sentence in filter(None, map(written, trees)):
        if text:
            text += " "
            right.add(len(text))
        text += sentence
    return Ends(text, right, set((table or end_table()).ends(text)))


def written(tree: Tree) -> str:
    """Return the words of a tree as a text has them.

    >>> text = "(S (-LRB- -LRB-) (PRP It) (VBZ is) (RB n't) (-RRB- -RRB-) (. .))"
    >>> written(Tree.from_string(text))
    "(It isn't)."
    """
    text, joins = "", True
    for word, tag in zip(tree.words(), tree.word_tags(), strict=True):
        if tag in _MARKUP:
            continue
        is_joined = (tag in _JOINED and word not in _SPACED) or tag == "HYPH"
        if not (joins or is_joined or word.replace(_APOSTROPHE, "'").lower() in _CLITICS):
            text += " "
        text += _QUOTES.get(word, unescaped(word))
        joins = tag in _JOINING
    return text


def joined(words: Iterable[str]) -> str:
    """Return the words of a sentence without tags as a text has them.

    >>> joined(["It", "is", "n't", "``", "well", "-", "known", "''", "."])
    'It isn\'t "well-known".'
    """
    text, joins, is_quoted = "", True, False
    for word in words:
        is_joined = joins or word in _CLOSING or word.replace(_APOSTROPHE, "'").lower() in _CLITICS
        joins = word in _OPENING
        if word == '"':
            is_joined, joins = is_joined or is_quoted, not is_quoted
            is_quoted = joins
        elif word == "-":
            is_joined = joins = True
        if word == "." and text.endswith("."):
            continue
        text += ("" if is_joined else " ") + _QUOTES.get(word, unescaped(word))
    return text


@reporting_errors("sentence_ends")
def main(argv: Sequence[str]) -> int:
    """Print the table; return 0, or 2 if files cannot be used."""
    parser = script_parser("sentence_ends.py", __doc__)
    parser.add_argument("files", nargs="+", metavar="FILE", help="treebanks")
    parser.add_argument("--show", action="store_true", help="the ends that are wrong or missed")
    text = "of ends, made by end_counts.py (default: the program's)"
    parser.add_argument("--table", type=Path, metavar="FILE", help=text)
    arguments = parser.parse_args(argv)
    table = arguments.table and EndTable(table_rows(read_text(arguments.table)))
    rows: list[tuple[str, ...]] = [("treebank", "ends", "found", "right", "precision", "recall")]
    for name in treebank_files(arguments.files):
        text, right, found = ends(read_treebank([name]), table)
        counts = len(right), len(found), len(right & found)
        shares = (100 * counts[2] / max(1, all_of) for all_of in (counts[1], counts[0]))
        rows.append((name, *map(str, counts), *(f"{share:.1f}" for share in shares)))
        for place in sorted(right ^ found) if arguments.show else ():
            kind = "missed" if place in right else "wrong"
            around = text[max(0, place - _AROUND) : place], text[place : place + _AROUND]
            print(f"{kind}: {'|'.join(around)}")
    print(aligned(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
