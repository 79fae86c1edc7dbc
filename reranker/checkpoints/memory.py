"""Keep freed memory in the process: on Linux, tensor code otherwise spends its time in page faults.

glibc gives blocks over 128 KiB back to the system when they are freed and takes fresh, zeroed pages
for the next one; every training step and every scored batch would pay for all its pages again.
"""

from __future__ import annotations

import ctypes

_M_TRIM_THRESHOLD, _M_MMAP_MAX = -1, -4


def keep_freed_memory() -> None:
    """Ask glibc to keep and reuse what tensors free; does nothing with another C library."""
    try:
        mallopt = ctypes.CDLL("libc.so.6").mallopt
    except (OSError, AttributeError):
        return
    mallopt(_M_MMAP_MAX, 0)
    mallopt(_M_TRIM_THRESHOLD, 2**31 - 1)
