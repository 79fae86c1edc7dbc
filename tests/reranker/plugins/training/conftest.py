"""Fixtures shared by the tests of training."""

from collections.abc import Iterator

import pytest

from tests.reranker.plots import no_plots


@pytest.fixture(scope="module", autouse=True)
def without_plots() -> Iterator[None]:
    with no_plots():
        yield
