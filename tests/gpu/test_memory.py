"""Scoring halves its batches and goes on when a GPU runs out of memory."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.checkout import ROOT
from tests.gpu.places import DEVICE, IS_CUDA, ON_A_GPU

pytestmark = ON_A_GPU


@pytest.mark.skipif(
    not IS_CUDA, reason="this machine has no CUDA device; test_halving.py limits a CPU"
)
def test_out_of_memory_halves_the_batch_and_goes_on() -> None:
    """In a process of its own, whose memory is limited for good."""
    program = [sys.executable, str(ROOT / "tests" / "service" / "little_memory.py"), DEVICE]
    done = subprocess.run(program, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    halvings, same = done.stdout.split()
    assert int(halvings) > 0 and same == "True"
