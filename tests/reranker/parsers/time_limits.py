"""Time limits that only sentences with the word ``hang`` meet, however slow the machine is."""

from __future__ import annotations

import subprocess

from reranker.parsers.program import exchange


def impatient(
    process: subprocess.Popen[bytes], given: bytes, seconds: float, most: int
) -> tuple[bytes, bytes]:
    """Call ``exchange`` while time passes quickly for it."""
    return exchange(process, given, 0.2 if b"hang" in given else seconds, most)
