"""A service on a GPU answers as one on the CPU does."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from benchmarks.servers import serving
from tests.gpu.places import DEVICE, EXAMPLES, IS_CUDA, ON_A_GPU, TOLERANCE, lists

pytestmark = ON_A_GPU


@pytest.fixture(scope="module")
def clients() -> Iterator[list[httpx.Client]]:
    """Yield clients of a service on the CPU and of one on the GPU, which start side by side."""
    with contextlib.ExitStack() as stack:
        servers = [
            stack.enter_context(serving([], "--device", device, "--threads", "2", wait=False))
            for device in ("cpu", DEVICE.partition(":")[0])
        ]
        for server in servers:
            server.logged("ready")
        yield [stack.enter_context(server.client()) for server in servers]


def answers(clients: list[httpx.Client], path: str, body: dict[str, Any]) -> list[Any]:
    found = [client.post(path, json=body) for client in clients]
    assert [each.status_code for each in found] == [200, 200], found[-1].text
    return [each.json()["sentences"] for each in found]


def check_same(found: Any, expected: Any, place: str = "") -> None:
    """Check that two answers are the same but for the rounding of numbers."""
    match expected:
        case dict():
            assert found.keys() == expected.keys(), place
            for name, other in expected.items():
                check_same(found[name], other, f"{place}.{name}")
        case list():
            assert len(found) == len(expected), place
            for number, (one, other) in enumerate(zip(found, expected, strict=True)):
                check_same(one, other, f"{place}[{number}]")
        case float():
            assert math.isclose(found, expected, abs_tol=2 * TOLERANCE, rel_tol=1e-4), place
        case _:
            assert found == expected, place


def test_rerank(clients: list[httpx.Client]) -> None:
    count = 8 if IS_CUDA else 2
    sentences = [
        {"candidates": [each.text for each in nbest.candidates]} for nbest in lists()[:count]
    ]
    there, here = answers(clients, "/rerank", {"sentences": sentences})
    check_same(here, there)


def test_parse(clients: list[httpx.Client]) -> None:
    text = (EXAMPLES / "essay-b.txt").read_text("utf-8")
    there, here = answers(clients, "/parse", {"text": text})
    assert len(here) > 4 and {each["status"] for each in here} == {"ok"}
    check_same(here, there)


def test_the_device_is_named(clients: list[httpx.Client]) -> None:
    there, here = (client.get("/info").json()["device"] for client in clients)
    assert (there, here) == ("cpu", "cuda" if IS_CUDA else "cpu")
