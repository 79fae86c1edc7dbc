"""The form of answers: the text that is written for them."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

A = TypeVar("A")


class Form(Generic[A]):
    """The text of answers, one after another. Subclasses define ``line``."""

    is_table = False
    """False: each answer has a text of its own, and a line break follows it. True: the text of an
    answer may depend on the answers before it, and has its line breaks; ``line`` is given the
    result of ``plain``, which a journal keeps until all answers are there."""
    is_painted = False
    """True for text that is already safe for a terminal, and coloured."""

    def begin(self) -> str:
        """Return the text before the first answer, with its line break."""
        return ""

    def plain(self, answer: A) -> Any:
        """Return an answer of a table as plain data; None if it has no text."""
        return answer

    def line(self, answer: Any, number: int) -> str:
        """Return the text of an answer; ``number`` is the sentence's, counted from 1."""
        raise AssertionError(f"{type(self).__name__} has no line")

    def end(self) -> str:
        """Return the text after the last answer."""
        return ""


class Rows(Form[A]):
    """A table whose rows are text."""

    is_table = True

    def line(self, answer: str, number: int) -> str:
        """Return the rows."""
        return answer
