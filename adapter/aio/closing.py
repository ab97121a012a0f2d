"""Objects that an async with statement closes. This module does not know what they hold."""

from __future__ import annotations

from types import TracebackType
from typing import Protocol, Self


class TaskClosing(Protocol):
    """As a context manager, it is closed when the statement is left, in whatever way."""

    async def close(self) -> None:
        """Give back what it holds."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()
