"""Memory of long messages goes back to the system as soon as it is free.

glibc learns from long blocks that are freed to keep such memory (up to 32 MiB a block, in an arena
of each thread): a process that once had messages of 100 MiB would keep several times as much. With
a threshold of its own it does not learn. This module must not know what the memory was for.
"""

from __future__ import annotations

import contextlib
import ctypes

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
LONG_BYTES = 512 * 1024
"""A block of this length or more is mapped by itself, and unmapped when it is freed."""
TRIM_BYTES = 16 * 1024 * 1024
"""Of free memory at the end of the heap: what is beyond goes back."""


def give_back_long_blocks() -> bool:
    """Set malloc's thresholds for this process; False where there is another malloc."""
    with contextlib.suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        return bool(mallopt(M_MMAP_THRESHOLD, LONG_BYTES)) and bool(
            mallopt(M_TRIM_THRESHOLD, TRIM_BYTES)
        )
    return False
