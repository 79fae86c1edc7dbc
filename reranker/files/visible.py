"""Text for people: safe on a terminal, whatever a file, its name or its words hold, and counts."""

from __future__ import annotations

import re

# C0 except tabs and line breaks, DEL and C1: with these, text moves the cursor, renames the window,
# asks the terminal to type. Marks that turn the direction of the following text, which would read
# as something else. Bytes that are not UTF-8, read as surrogates: some terminals take them for C1.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

_NEW_LINE = re.compile("\n(?!  )")


def visible(text: str) -> str:
    r"""Return ``text`` with an escape, as Python writes it, for every character that could control
    a terminal.

    >>> print(visible("s1\x1b]0;X\x07"))
    s1\x1b]0;X\x07
    """
    return _CONTROL.sub(_escape, text)


def visible_message(text: str) -> str:
    """Return the visible text of one message. Its further lines are indented by two spaces: an
    unindented line break, which only a name can hold, is escaped, so that it cannot fake a
    message."""
    return _NEW_LINE.sub(r"\\n", visible(text))


def shown_id(name: str, number: int) -> str:
    """Return the name of a sentence as people read and type it: its number, from 1, if the name is
    only its place in the file, from 0."""
    return str(number) if name == str(number - 1) else name


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return ``1 sentence`` or ``2 sentences``; a ``plural`` without -s, too."""
    return f"{number} {noun}" if number == 1 else f"{number} {plural or f'{noun}s'}"


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
