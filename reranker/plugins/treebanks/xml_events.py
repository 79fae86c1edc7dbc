"""The elements of an XML file from a stranger, line by line: without document types and entities,
of bounded depth and size."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple
from xml.parsers import expat

from reranker.errors import TreeError
from reranker.files.encoding import told
from reranker.files.text import MAX_LINE

_MOST_OPEN = 100
_MOST_LINES = 2_000  # of a tag or remark, which is read again from its start with each of its lines
_UTF8 = re.compile(r"\A(<\?xml [^>]*utf)8", re.IGNORECASE)  # a name that expat does not know


class Event(NamedTuple):
    """The start of an element, or its end."""

    line: int
    name: str
    attributes: Mapping[str, str] | None
    """The element's attributes; None at its end."""
    text: str = ""
    """The text right before the element's end; empty at its start."""


class Fault(NamedTuple):
    """A place where a file is not XML."""

    line: int
    is_of_sentence: bool
    """True if the fault loses a sentence, which begins in that line or is cut by the file's end."""
    error: TreeError


class _Parser:
    encoding: str | None = None
    """The encoding that the file declares."""

    def __init__(self, encoding: str | None) -> None:
        """Read bytes in ``encoding``, None: in the one that the file declares."""
        self._parser = expat.ParserCreate(encoding)
        self._parser.XmlDeclHandler = self._declare
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._add
        self._parser.StartDoctypeDeclHandler = self._refuse
        self.depth = self._line = self._size = self._place = self._waiting = 0
        self._text: list[str] = []
        self._events: list[Event] = []

    def feed(self, line: int, text: str) -> list[Event]:
        """Return the events of a line. Raises TreeError if it is not XML, or too much of it."""
        self._line, self._events = line, []
        content = f"{text}\n" if text[-1:] != "\n" else text
        content = _UTF8.sub(r"\1-8", content)
        try:
            self._parser.Parse(content.encode("utf-8", "surrogateescape"), False)
        except expat.ExpatError as error:
            message = expat.ErrorString(error.code)
            raise TreeError("not-a-tree", f"not XML: line {line}: {message}") from error
        except (LookupError, ValueError) as error:  # Python's, of the encoding in the declaration
            reason = f"line {line}: an encoding that is not known: {error}"
            raise TreeError("not-a-tree", reason) from error
        place = self._parser.CurrentByteIndex
        self._waiting = self._waiting + 1 if place == self._place else 0
        self._place = place
        if self._waiting > _MOST_LINES:
            raise TreeError("too-long", f"a tag or remark of more than {_MOST_LINES:,} lines")
        return self._events

    def _declare(self, version: str, encoding: str | None, standalone: int) -> None:
        self.encoding = encoding

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self.depth += 1
        if self.depth > _MOST_OPEN:
            raise TreeError("too-deep", f"more than {_MOST_OPEN} elements of XML are open")
        self._text, self._size = [], 0
        self._events.append(Event(self._line, name, attributes))

    def _end(self, name: str) -> None:
        self.depth -= 1
        self._events.append(Event(self._line, name, None, "".join(self._text)))
        self._text, self._size = [], 0

    def _add(self, text: str) -> None:
        self._size += len(text)
        if self._size <= MAX_LINE:
            self._text.append(text)

    def _refuse(self, *_: object) -> None:
        raise TreeError("not-a-tree", "a document type (DTD) in XML is not read: take it out")


def events(lines: Iterable[str], sentence: str) -> Iterator[Event | Fault]:
    """Yield the starts and ends of elements. For text that is not XML, yield the fault, and
    continue at the next line that begins a ``sentence``, in the same encoding."""
    is_first, encoding = True, None if told() is None else "utf-8"
    parser: _Parser | None = _Parser(encoding)
    number = 0
    for number, line in enumerate(lines, 1):
        if parser is None:
            if not line.lstrip().startswith((f"<{sentence} ", f"<{sentence}>")):
                continue
            parser, is_first = _Parser(encoding), False
            parser.feed(number, "<all>")
        try:
            yield from parser.feed(number, line)
        except TreeError as error:
            if is_first or parser.depth > 1 or not line.lstrip().startswith("</"):
                begins = f"<{sentence} " in line or f"<{sentence}>" in line
                yield Fault(number, begins, error)
            if is_first and parser.depth:  # else the encoding itself may be the fault
                encoding = encoding or parser.encoding
            parser = None
    if parser and is_first and parser.depth:
        yield Fault(number, True, TreeError("truncated", "the file ends within an element"))
