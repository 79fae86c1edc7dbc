from __future__ import annotations

import errno
import math
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from reranker.errors import CheckpointError, InputError, lacks_memory, positive


def _raised(call: Callable[[], Any]) -> Exception:
    with pytest.raises(Exception) as error:
        call()
    return error.value


def test_a_count_may_be_of_another_library() -> None:
    assert [positive("top", each) for each in (1, 10**30, np.int64(2))] == [1, 10**30, 2]


@pytest.mark.parametrize("value", [0, -1, 1.0, math.nan, "2", None, True, np.float64(2), [2]])
def test_a_count_is_a_positive_integer(value: Any) -> None:
    with pytest.raises(InputError, match=r"^top "):
        positive("top", value)


def test_lack_of_memory_is_told_from_other_errors() -> None:
    lacking = [
        _raised(lambda: bytearray(1 << 60)),
        _raised(lambda: torch.empty(1 << 55)),
        OSError(errno.ENOMEM, os.strerror(errno.ENOMEM)),
    ]
    assert [type(error) for error in lacking] == [MemoryError, RuntimeError, OSError]
    for error in lacking:
        caused = CheckpointError("a.pt: not a checkpoint")
        caused.__cause__ = error
        assert lacks_memory(error) and lacks_memory(caused)
    others = [
        _raised(lambda: torch.ones(2) + torch.ones(3)),
        _raised(lambda: open("/no/such")),  # noqa: SIM115
        CheckpointError("out of memory.pt: not a checkpoint"),
    ]
    assert not any(map(lacks_memory, others))
    assert not lacks_memory(None)
