"""Locks of files and folders between processes, where others may rename or remove what is locked.

A lock goes with its descriptor: also when the process is killed. This module does not know how long
to wait for one, nor what is locked.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path


def lock_if_free(path: Path, flags: int, mode: int = 0o666) -> int | None:
    """Open a path as os.open() does, and lock it; the lock is held until the descriptor is closed.

    Returns None if another process has it, or has renamed or removed it since it was opened. Raises
    OSError.
    """
    held = os.open(path, flags, mode)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(held).st_ino == path.stat().st_ino:
            return held
    except (BlockingIOError, FileNotFoundError):
        pass
    except BaseException:
        os.close(held)
        raise
    os.close(held)
    return None
