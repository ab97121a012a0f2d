"""Objects that a with statement closes, and transactions that it ends.

This module does not know what they hold.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import suppress
from types import TracebackType
from typing import Protocol, Self

from adapter.errors import Error


class Closing(Protocol):
    """As a context manager, it is closed when the with statement is left, in whatever way."""

    def close(self) -> None:
        """Give back what it holds."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class CommitOnExit(ABC):
    """As a context manager: leaving it normally commits, any exception rolls back.

    After an explicit outcome leaving does nothing. A commit that fails leaves nothing open.
    """

    @property
    @abstractmethod
    def is_open(self) -> bool:
        """Whether it has begun and not ended."""

    @abstractmethod
    def commit(self) -> None:
        """Make everything in it take effect."""

    @abstractmethod
    def _undo(self) -> None:
        """Roll it back."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if not self.is_open:
            return
        if error is not None:
            self._undo_quietly()
            return
        try:
            self.commit()
        except BaseException:  # also Ctrl-C
            if self.is_open:
                self._undo_quietly()
            raise

    def _undo_quietly(self) -> None:
        """Roll back on the way of an exception, which is what the caller is to see."""
        with suppress(Error):  # it is gone with its connection
            self._undo()
