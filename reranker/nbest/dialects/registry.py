"""The dialects by name, and the detection of a file's dialect.

Packages add dialects, each a ``Dialect``; ``--format NAME`` chooses one, which is not detected::

    [project.entry-points."reranker.dialects"]
    mine = "my_package.lists:MINE"

A file has the first dialect that recognises it: dialects that a single line identifies come first,
dialects with little more than trees last. A dialect's own file is imported when lists are read or
written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from reranker import registry
from reranker.files.kinds import is_treebank, kind_of
from reranker.nbest.dialects import recognition
from reranker.nbest.dialects.recognition import Head
from reranker.nbest.notation import Notation

if TYPE_CHECKING:
    from reranker.nbest.data import NBest, RawList
    from reranker.nbest.lines import NumberedLines


@dataclass(frozen=True, slots=True)
class Dialect:
    """A way of writing n-best lists."""

    read: Callable[[NumberedLines], Iterator[RawList]]
    write: Callable[[NBest, int], str]
    """Return the text of a list at a position counted from 0, line breaks included."""
    notation: Notation | None = Notation.BRACKETS
    """The notation of candidates, or None if it is found for each."""
    candidate_texts: Callable[[Iterable[str]], Iterable[str]] = lambda head: filter(str.strip, head)
    """Return the candidates in a file's head, for ``notation`` None; by default, every line."""
    layout: Callable[[Sequence[str], int | None], str] | None = None
    """Describe in words how lines form lists, from the head and the beam; None if lists are always
    formed alike."""
    looks_for_blank_line: bool = False
    """True if the head must reach the first blank line, since blank lines may end lists."""


class DialectEntry(NamedTuple):
    """The part of a dialect that is known before its file is imported."""

    target: str | Dialect  # file:object
    description: str  # one line for users
    recognise: Callable[[Head], bool]
    """Tell whether a file with this head has this dialect, and none before it."""
    shows_in_a_line: bool = False
    """True if a single line identifies the dialect, whatever else a file looks like."""
    needs_beam: bool = False  # the user must give the number of lines of a list


class _Dialects(dict[str, DialectEntry]):
    """The dialects of this repository; those of other packages can be asked for, too."""

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or registry.has("dialects", str(name))

    def __missing__(self, name: str) -> DialectEntry:
        return DialectEntry(registry.load("dialects", name), name, lambda head: False)


DIALECTS = _Dialects()
DIALECTS |= {
    "jsonl": DialectEntry(
        "json_lines:JSONL",
        "one JSON object a sentence, ours (docs/formats.md)",
        recognition.is_json,
        shows_in_a_line=True,
    ),
    "fairseq": DialectEntry(
        "fairseq:FAIRSEQ",
        "S-id, H-id, P-id lines of fairseq-generate, linearised trees",
        recognition.is_fairseq,
        shows_in_a_line=True,
    ),
    "rnng": DialectEntry(
        "rnng:RNNG",
        "id ||| score ||| tree, with or without part-of-speech nodes",
        recognition.is_rnng,
    ),
    "corenlp": DialectEntry(
        "corenlp:CORENLP",
        "CoreNLP's k-best trees and text output, Stanza's CoNLL-U",
        recognition.is_corenlp,
        shows_in_a_line=True,
    ),
    "bllip": DialectEntry(
        "counted:BLLIP",
        "BLLIP/Charniak: N<TAB>id, then scores and trees; also its Python interface's",
        lambda head: recognition.is_counted(head, with_id=True),
    ),
    "choe-charniak": DialectEntry(
        "counted:CHOE_CHARNIAK",
        "N, then N trees, each after its loss or not",
        lambda head: recognition.is_counted(head, with_id=False),
    ),
    "berkeley": DialectEntry(
        "berkeley:BERKELEY",
        "score and tree on a line, a blank line after each list",
        recognition.is_berkeley,
    ),
    "seq2seq": DialectEntry(
        "seq2seq:SEQ2SEQ",
        "linearised trees, one per line, in lists after a count or before a blank line",
        recognition.is_seq2seq,
    ),
    "opennmt": DialectEntry(
        "seq2seq:OPENNMT",
        "linearised trees, --beam K lines a sentence",
        lambda head: False,
        needs_beam=True,
    ),
    "trees": DialectEntry(
        "trees:TREES",
        "one tree per sentence, on a line or pretty-printed",
        recognition.are_trees,
    ),
}
FORMATS = {name: entry.description for name, entry in DIALECTS.items()}
"""A line about each dialect."""


def load(name: str) -> Dialect:
    """Import the dialect of that name."""
    target = DIALECTS[name].target
    if isinstance(target, Dialect):
        return target
    file, _, attribute = target.partition(":")
    dialect: Dialect = getattr(import_module(f"{__package__}.{file}"), attribute)
    return dialect


def recognise(lines: Sequence[str]) -> str | None:
    """Return the name of the first dialect that a file with these first lines can have; None for a
    file of another kind, which may have numbers and brackets, too."""
    if name := recognise_by_a_line(lines):
        return name
    if kind := kind_of("".join(lines)):
        return "trees" if is_treebank(kind) else None
    head = Head(lines)
    return next((name for name, entry in DIALECTS.items() if entry.recognise(head)), None)


def recognise_by_a_line(lines: Sequence[str]) -> str | None:
    """Return the name of the dialect that a single line of these gives away, if any."""
    head = Head(lines)
    shown = (name for name, each in DIALECTS.items() if each.shows_in_a_line)
    return next((name for name in shown if DIALECTS[name].recognise(head)), None)
