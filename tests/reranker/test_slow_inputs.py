"""All that reads text from outside takes time in proportion to it, whatever it repeats.

CPU seconds, as multiples of what reading as much of ordinary lists or sentences takes: the margin
is far above what anything linear needs, and what is quadratic exceeds it by far at these sizes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest

from tests.reranker.repetitions import (
    HEADS,
    PARTS,
    READERS,
    SIGNS,
    TEXTS,
    cpu_seconds,
    ordinary_seconds,
    pairs,
    repeated,
)

_SHORT, _LONG, _LONG_TEXT, _MARKS = 1 << 15, 1_000_000, 1 << 17, 1 << 18
_MARGIN = 30
_LEAST = 0.3  # seconds: less is not measured well, in a process with a large heap

Kind = tuple[str, str]
"""A head, and what is repeated behind it."""


def assert_linear(name: str, kinds: Iterable[Kind], characters: int) -> None:
    """Assert linear time at each size from ``_SHORT`` up, so that quadratic readers fail soon."""
    sizes = [_SHORT]
    while sizes[-1] < characters:
        sizes.append(min(characters, 4 * sizes[-1]))
    allowed = {size: _LEAST + _MARGIN * ordinary_seconds(name, size) for size in sizes}
    for head, part in kinds:
        for size in sizes:
            seconds = cpu_seconds(READERS[name], repeated(part, size, head))
            assert seconds < allowed[size], (
                f"{name}: {seconds:.2f} s for {size} characters of {part!r} after {head!r}"
            )


def behind_heads() -> Iterator[Kind]:
    return ((head, part) for head in HEADS for part in (*SIGNS, *PARTS))


def readers_of_files() -> list[str]:
    """Return the readers but for texts and for what the reader "auto" calls."""
    return [name for name in READERS if name not in TEXTS and not name.startswith("recognise ")]


@pytest.mark.parametrize("name", readers_of_files())
def test_repeated_signs(name: str) -> None:
    assert_linear(name, (("", sign) for sign in SIGNS), _SHORT)


@pytest.mark.parametrize("name", ["words", "a word of any language"])
def test_marks_of_one_letter(name: str) -> None:
    """Normalising Unicode sorts them in quadratic time."""
    assert_linear(name, [("a", "\u0300\u0316")], _MARKS)


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_a_megabyte(name: str) -> None:
    most = _LONG_TEXT if name in TEXTS else _LONG
    assert_linear(name, (("", part) for part in (*SIGNS, *PARTS)), most)


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_pairs_and_what_comes_behind_a_head(name: str) -> None:
    assert_linear(name, (("", part) for part in pairs()), _SHORT)
    assert_linear(name, behind_heads(), _SHORT)
