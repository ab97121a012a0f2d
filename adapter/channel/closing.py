"""Objects that a with statement closes. This module does not know what they hold."""

from __future__ import annotations

from types import TracebackType
from typing import Protocol, Self


class Closing(Protocol):
    """As a context manager, it is closed when the with statement is left, in whatever way."""

    def close(self) -> None:
        """Give back what it holds."""
        ...

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
