"""What each process of a program has for itself, such as a connection.

Frameworks fork processes after a program was imported: a child must not use the connection of its
parent. This module does not know what a process has.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Generic, TypeVar

OwnedT = TypeVar("OwnedT")


class EachProcess(Generic[OwnedT]):
    """One object for each process: a forked child begins with a new one."""

    def __init__(self, make: Callable[[], OwnedT]) -> None:
        """make: makes that of a process, when it is first asked for."""
        self._make = make
        self._of: dict[int, OwnedT] = {}

    def mine(self) -> OwnedT:
        """Return that of this process. Any thread may call it."""
        return self._of.get(os.getpid()) or self._of.setdefault(os.getpid(), self._make())
