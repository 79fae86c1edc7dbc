"""One thread and fixed random numbers, so that results do not depend on the machine or the order.

torch is not imported here: the tests of the modules that do without it should too.
"""

import sys

import pytest


@pytest.fixture(autouse=True)
def _reproducible() -> None:
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)
        torch.manual_seed(0)
