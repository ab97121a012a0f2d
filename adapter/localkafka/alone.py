"""One start or stop at a time on a data folder: only brokers that run hold a lock on their data.

Two starts at once would each write settings and format the folder, and start a broker on what the
other one wrote.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from adapter.host.file_locks import lock_if_free
from adapter.localkafka.errors import LocalKafkaError
from adapter.localkafka.jars import RESOLVE_TIMEOUT_S, Say
from adapter.localkafka.readiness import POLL_S, READY_TIMEOUT_S_MAX

ALONE_TIMEOUT_S = RESOLVE_TIMEOUT_S + READY_TIMEOUT_S_MAX
"""As long as the other start may take: it may have to fetch the jars."""


@contextmanager
def alone_on(folder: Path, say: Say) -> Iterator[None]:
    """Hold the lock of a data folder; another start or stop is waited for, within a bound.

    The folder is made, and removed again if nothing was put there.
    """
    is_new = not folder.exists()
    held = _lock(folder, say)
    try:
        yield
    finally:
        if is_new:
            with suppress(OSError):  # it is not empty
                folder.rmdir()
        os.close(held)


def _lock(folder: Path, say: Say) -> int:
    until_s, is_told = time.monotonic() + ALONE_TIMEOUT_S, False
    while (held := _try(folder)) is None:
        if time.monotonic() > until_s:
            raise LocalKafkaError(
                f"another process has been starting or stopping Kafka on {folder} for "
                f"{ALONE_TIMEOUT_S} s: end it and try again"
            )
        if not is_told:
            say(f"waiting for another process, which starts or stops Kafka on {folder}")
            is_told = True
        time.sleep(POLL_S)
    return held


def _try(folder: Path) -> int | None:
    """Return a descriptor that holds the lock; None while another process has it, or when it has
    removed the folder just now.
    """
    with suppress(FileExistsError):  # it was removed meanwhile, or is a file, which opening refuses
        folder.mkdir(parents=True, exist_ok=True)
    with suppress(FileNotFoundError):  # it has just been removed
        return lock_if_free(folder, os.O_RDONLY | os.O_DIRECTORY)
    return None
