"""A kind of file."""

from __future__ import annotations

from typing import NamedTuple


class Kind(NamedTuple):
    """A kind of file that is neither text nor trees in brackets."""

    name: str
    text: str = ""
    """The advice to a user who wants its text."""
    trees: str = ""
    """The advice to a user who wants its trees, if another."""

    def described(self, wanted: str) -> str:
        """Return its name and the advice to a user who wants ``"text"`` or ``"trees"``."""
        advice = (self.trees if wanted == "trees" else "") or self.text
        return f"{self.name}: {advice}" if advice else self.name
