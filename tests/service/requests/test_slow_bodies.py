"""JSON bodies take time in proportion to their length, whatever they repeat."""

from __future__ import annotations

import contextlib
import itertools
import time
from dataclasses import replace

import pytest

from reranker.process.cancellation import Cancellation
from reranker.service.errors import RequestError
from reranker.service.limits import Limits
from reranker.service.requests.reading import Body, read
from reranker.service.settings import load_settings

LIMITS = Limits.from_settings(load_settings({}))
# Bodies with ``MARKS`` have more of them than this, so that those outside strings are counted.
FEW = replace(LIMITS, max_values=3)
MARKS = '{"query": ":,:,", '
HEADS = (
    "", '"', MARKS, MARKS + '"', MARKS + '"documents": ["', MARKS + '"nbest": "',
    MARKS + '"sentences": [{"tokens": ["', MARKS + '"trees": ["', MARKS + '"text": "',
)  # fmt: skip
PARTS = (
    '\\"', "\\", "\\\\", '"', '""', '" ', '",', '", "', '":', '": "', '\\",', '"\\', "{", '{"a":',
    "[", "[[]", "]", ",", ":", "\\u0041", "\\ud800", "\\u", "1", "1e", "-", " ", "\n", "\x00", "x",
    "\xe9", "\u4e2d",
)  # fmt: skip
SHORT, LONG = 1 << 14, 1 << 16
LEAST = 0.3  # CPU seconds: less is not measured well


def cpu_seconds(path: str, limits: Limits, text: str) -> float:
    begun = time.process_time()
    with contextlib.suppress(RequestError):
        read(Body(path, text.encode(), "application/json", None), limits, Cancellation())
    return time.process_time() - begun


@pytest.mark.parametrize(
    "path, limits",
    [("/rerank", FEW), *((path, LIMITS) for path in ("/rerank", "/v2/rerank", "/parse", "/score"))],
)
def test_four_times_the_body_takes_four_times_as_long(path: str, limits: Limits) -> None:
    for head, part in itertools.product(HEADS, PARTS):
        texts = [head + part * (size // len(part)) + "x" for size in (SHORT, LONG)]
        short, long = (cpu_seconds(path, limits, text) for text in texts)
        assert long < max(LEAST, 8 * short), f"{long:.2f} s for {part!r} after {head!r}"
