"""Text on a terminal: nothing of a file controls it."""

from __future__ import annotations

import pytest

from reranker.files.visible import visible, visible_message

CONTROLS = [
    *map(chr, [*range(0x09), *range(0x0B, 0x20), *range(0x7F, 0xA0)]),
    *"\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\udc9b\ud800",
]


@pytest.mark.parametrize("control", CONTROLS, ids=ascii)
def test_every_control_is_escaped(control: str) -> None:
    assert (
        visible(f"a{control}b")
        == f"a{ascii(control)[1:-1].replace(chr(92) + 'r', chr(92) + 'x0d')}b"
    )


def test_text_of_all_scripts_stays() -> None:
    text = "tab\t, break\n, café, 中文, می\u200cروم, क्\u200dष, \u00a0\u200e\u200f\U0001f600"
    assert visible(text) == text


def test_a_line_break_in_a_name_begins_no_message() -> None:
    assert visible_message("a\nrerank: fine") == r"a\nrerank: fine"
    assert visible_message("pattern\n  NP <\n     ^") == "pattern\n  NP <\n     ^"
