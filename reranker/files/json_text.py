"""JSON whose objects have each name once: of two values, ``json`` silently takes the last."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any


def read_json(text: str) -> Any:
    """Return the value of a JSON text. Raises ValueError, and RecursionError if it is nested too
    deep."""
    return json.loads(text, object_pairs_hook=_unique)


def repeated(pairs: Sequence[tuple[str, Any]]) -> str | None:
    """Return the first name that stands twice among an object's; None if there is none."""
    seen = set[str]()
    for name, _ in pairs:
        if name in seen:
            return name
        seen.add(name)
    return None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if (name := repeated(pairs)) is not None:
        raise ValueError(f"{name[:40]!r} is given twice")
    return dict(pairs)
