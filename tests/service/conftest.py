"""Checkpoints, lists and a server for all tests that leave it as it was."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.reranker.ensembles import save, untrained
from tests.service.servers import LIMITS, Gate, Server, serving

BOSS = {"X-API-Key": "boss"}
EXAMPLE = Path(__file__).parents[2] / "examples" / "parses.txt"


def shorter_lists(number: int) -> list[str]:
    """Return the first ten candidates of the example's first lists."""
    shorter = []
    for block in EXAMPLE.read_text(encoding="utf-8").split("\n\n")[:number]:
        (head, *rest) = block.splitlines()
        count, name = head.split("\t")
        shorter.append("\n".join([f"{min(int(count), 10)}\t{name}", *rest[:20]]))
    return shorter


def save_models(folder: Path, *seeds: int) -> list[str]:
    """Write untrained checkpoints that know the words of the example."""
    words = sorted(set(EXAMPLE.read_text(encoding="utf-8").replace(")", " ").split()))
    known = tuple(word for word in words if word[0] not in "()")
    return [save(folder / f"model-{seed}.pt", untrained(seed, known)) for seed in seeds]


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return save_models(tmp_path_factory.mktemp("models"), 1, 2)


@pytest.fixture(scope="session")
def server(models: list[str]) -> Iterator[Server]:
    # A slow machine may take long to send, read or answer a body.
    flags = ("--body-seconds", "600", "--request-seconds", "600")
    with serving(models, *flags, real_parser=True) as server:
        yield server


@pytest.fixture(scope="session")
def fragile(models: list[str]) -> Iterator[Server]:
    """Yield a server that scores a list at a time, has narrow limits, and fails on command: see the
    folder of that name."""
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in LIMITS.items()]
    with serving(models, "--batch-tokens", "5", *flags, fragile=True) as server:
        yield server


@pytest.fixture(scope="session")
def crowded(models: list[str]) -> Iterator[Server]:
    """Yield a server with room for twenty connections and for a megabyte of bodies, which may take
    long. Its children may be killed."""
    flags = ("--connections", "20", "--queue-bytes", "1000000")
    with serving(models, *flags, "--body-seconds", "600", "--request-seconds", "600") as server:
        yield server


@pytest.fixture(scope="session")
def served_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the models that ``reloading`` serves."""
    return tmp_path_factory.mktemp("reloaded")


@pytest.fixture(scope="session")
def _serving_a_folder(served_folder: Path) -> Iterator[Server]:
    save_models(served_folder, 1)
    key = BOSS["X-API-Key"]
    with serving([str(served_folder / "*.pt")], RERANK_ADMIN_KEYS=key) as server:
        yield server


@pytest.fixture
def reloading(_serving_a_folder: Server, served_folder: Path) -> Server:
    """Return a server with one model, whatever another test has made it serve."""
    for file in served_folder.glob("*.pt"):
        file.unlink()
    save_models(served_folder, 1)
    with _serving_a_folder.client(headers=BOSS) as client:
        client.post("/models/reload?fewer=true").raise_for_status()
    return _serving_a_folder


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    """Yield a gate, closed at first, and open it after the test."""
    made = Gate(tmp_path)
    yield made
    made.open()


@pytest.fixture(scope="session")
def http(server: Server) -> Iterator[httpx.Client]:
    with server.client() as client:
        yield client
