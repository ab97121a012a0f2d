"""The order that requests of one connection keep while some of them wait for pages.

A request that waits for a page is overtaken by others, or one queue whose topic is slow would hold
up every thread of a program; but not by one that depends on it: one of the same unit, one that
opens or closes the handle it uses, or a browse with the same cursor. Such a one is held until its
turn has come. This module knows neither what a page is, nor for what else a request may be held.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from adapter.core.contract.commands import Request
from adapter.core.contract.traits import trait_of

Key = tuple[str, bytes | int]


class Turns:
    """The requests of a connection that are suspended for a page, and those that are held."""

    __slots__ = ("_alone", "_shared", "held", "suspended")

    def __init__(self) -> None:
        self.suspended: list[Request] = []
        self.held: list[Request] = []
        """In the order they came."""
        self._alone: Counter[Key] = Counter()
        self._shared: Counter[Key] = Counter()

    def comes_too_early(self, request: Request) -> bool:
        """Whether a request depends on one that has come before, and waits."""
        if not self.suspended and not self.held:
            return False
        alone, shared = _uses(request.command)
        taken = self._alone
        return any(taken[key] or self._shared[key] for key in alone) or any(
            taken[key] for key in shared
        )

    def suspend(self, request: Request) -> None:
        """Note that a request waits for a page."""
        self.suspended.append(request)
        self._count(request, 1)

    def resume(self, request: Request) -> None:
        """Note that a request waits no more."""
        self.suspended.remove(request)
        self._count(request, -1)

    def hold(self, request: Request) -> None:
        """Let a request wait until take_held."""
        self.held.append(request)
        self._count(request, 1)

    def take_held(self) -> list[Request]:
        """Take out what is held, so that each is looked at again, in the same order."""
        taken, self.held = self.held, []
        for request in taken:
            self._count(request, -1)
        return taken

    def _count(self, request: Request, step: int) -> None:
        alone, shared = _uses(request.command)
        for counter, keys in ((self._alone, alone), (self._shared, shared)):
            for key in keys:
                counter[key] += step
                if not counter[key]:
                    del counter[key]


def _uses(command: Any) -> tuple[list[Key], list[Key]]:
    """Say what a command must have for itself, and what it may use along with others."""
    alone: list[Key] = []
    trait = trait_of(command)
    unit, handle = getattr(command, "unit", b""), getattr(command, "handle", 0)
    if unit:
        alone.append(("unit", unit))
    if trait.opens:
        return [*alone, ("handle", handle)], []
    if trait.has_cursor:
        alone.append(("cursor", handle))
    if trait.has_target:
        return alone, [("handle", handle), ("handle", command.target)]
    return alone, [("handle", handle)] if handle else []
