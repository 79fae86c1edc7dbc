"""Each change in ``table.toml`` makes a test fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mutations.__main__ import Mutation, copied, mutations, problem


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copied(tmp_path_factory.mktemp("mutations"))


@pytest.mark.slow
@pytest.mark.parametrize("mutation", mutations(), ids=str)
def test_it_is_noticed(mutation: Mutation, copy: Path) -> None:
    assert problem(mutation, copy) is None
