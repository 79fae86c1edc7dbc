"""The kind of a file."""

from __future__ import annotations

from typing import NamedTuple


class Kind(NamedTuple):
    """A kind of file that is neither text nor trees in brackets."""

    name: str
    text: str = ""
    """The advice to a user who wants text."""
    trees: str = ""
    """The advice to a user who wants trees, if it differs."""

    def described(self, wanted: str) -> str:
        """Return the kind's name and the advice to a user who wants ``"text"`` or ``"trees"``."""
        advice = (self.trees if wanted == "trees" else "") or self.text
        return f"{self.name}: {advice}" if advice else self.name
