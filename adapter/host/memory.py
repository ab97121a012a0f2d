"""Memory of long messages goes back to the system as soon as it is free.

glibc learns from long blocks that are freed to keep such memory (up to 32 MiB a block, in an arena
of each thread): a process that once had messages of 100 MiB would keep several times as much. With
a threshold of its own it does not learn.

Python keeps free tuples and lists for reuse. One of them is enough to hold a block of 1 MiB: after
a burst these few free objects held much of its memory. A full garbage collection frees them. This
module must not know what the memory was for.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
from collections.abc import Iterator

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


MANY = 5_000
"""Freed objects that are worth a garbage collection."""


CALM_LOOKS = 25
"""Looks in a row that find nothing freed end a burst: 5 s of the owner's. What a steady load pages
out comes in portions, once in a second or two; a collection between two of them is in vain.
"""


class Burst:
    """Notices when a burst of freed objects is over, and gives their memory back then."""

    def __init__(self) -> None:
        self._seen = 0
        self._calm = 0
        self._given_back = 0

    def look(self, freed: int) -> bool:
        """Take how many were freed since the start. Returns whether memory was given back."""
        self._calm = self._calm + 1 if freed == self._seen else 0
        self._seen = freed
        if self._calm < CALM_LOOKS or freed - self._given_back < MANY:
            return False
        self._given_back = freed
        give_back_free_objects()
        return True


@contextlib.contextmanager
def load_without_collecting() -> Iterator[None]:
    """Look for no garbage while modules are imported: that takes a third of the time else.

    Nothing is done where the program has switched garbage collection off by itself.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def keep_what_is_loaded() -> None:
    """Leave everything that exists now out of garbage collections: they take 50 ms else."""
    gc.freeze()


def give_back_free_objects() -> None:
    """Free what Python keeps for reuse, and return free memory to the system."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
