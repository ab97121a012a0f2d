"""Work that take-overs give to other threads, done at once: for tests with thousands of take-overs.

It does not know what the work is.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AbstractContextManager
from typing import Self, TypeVar
from unittest import mock

from adapter.runtime.owner import replay

T = TypeVar("T")


class WorkedAtOnce:
    """Stands for ThreadPoolExecutor."""

    def __init__(self, *_settings: object) -> None:
        pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def submit(self, work: Callable[[], T]) -> Future[T]:
        """See Executor."""
        future: Future[T] = Future()
        try:
            future.set_result(work())
        except Exception as error:  # noqa: BLE001 -- whoever asks for the result has to hear of it
            future.set_exception(error)
        return future


def in_one_thread() -> AbstractContextManager[object]:
    """Let take-overs ask Kafka for one thing after the other."""
    return mock.patch.object(replay, "ThreadPoolExecutor", WorkedAtOnce)
