"""The places where the queue manager of one connection may be, and in which order they are tried.

A place that gave a link comes first next time. A queue manager that ends a connection, or refuses
one because it is a standby, may say where its owner is now (moved_to): that place is tried at once,
before all others. Where a link ended because nothing came any more, the process is frozen or its
machine is gone: what connects there may wait for long, while another process has taken over. So
that place is tried last, and for SUSPECT_S at most, as long as there are others.

Threads and tasks dial in their own ways, and use these places alike. This module waits for nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final, Generic, Protocol, TypeVar

from adapter.connection.channel.addresses import Address, parse_addresses
from adapter.connection.channel.link.port import LinkLost, LinkSilent
from adapter.errors import InvalidValue
from adapter.host import addresses

SUSPECT_S: Final = 1.0
LEARNED_MAX: Final = 4
"""ManagerPlaces that a queue manager has named, and the program has not."""
NAMED_MAX: Final = 4
"""Of one answer: more would be tried before the program's own."""


def may_lead(by: Address | None, to: Address, *, with_tls: bool) -> bool:
    """Whether a program that named one address may be led to another in the same way: a socket of
    this machine leads over no network in the clear, and has no TLS. by: None: it is looked up.
    """
    if to.path:
        return not with_tls
    return by is None or not by.path or addresses.is_loopback(to.host)


class ManagerPlace(Protocol):
    """What opens links to one place."""

    @property
    def place(self) -> str:
        """The address, as Link.peer has it; "" if it is not known before it is dialed."""

    def toward(self, address: Address) -> Any:
        """Return what opens links to another address in the same way, with TLS or without.

        None if the program has not allowed to connect there in this way. It raises nothing: what
        is wrong with the address is no error of the program.
        """


PlaceT = TypeVar("PlaceT", bound=ManagerPlace)


class ManagerPlaces(Generic[PlaceT]):
    """Of one connection."""

    def __init__(self, given: Sequence[PlaceT]) -> None:
        self.given = tuple(given)
        """By the program."""
        self._places = list(given)
        self._named: list[PlaceT] = []
        """Where the queue manager is now, as it has said since the last link."""
        self._suspect = ""

    def lost(self, peer: str, why: str | LinkLost) -> None:
        """The link to a place has ended."""
        if isinstance(why, LinkSilent):
            self._suspect = peer
        moved_to = why.moved_to if isinstance(why, LinkLost) else ""
        self._named = self.toward(self._places[0], moved_to)

    def attempts(self) -> Attempts[PlaceT]:
        """Return one try of every place."""
        order = [*self._named, *(one for one in self._places if one not in self._named)]
        order.sort(key=self.is_suspect)
        return Attempts(self, order)

    def is_suspect(self, place: PlaceT) -> bool:
        """Whether the last link was lost there by silence."""
        return bool(self._suspect) and place.place == self._suspect

    def limit_s(self, peer: str, timeout_s: float) -> float:
        """Return how long to wait for an answer of a place."""
        has_others = len(self._places) > 1 or not self._places[0].place  # it is looked up anew
        if peer and peer == self._suspect and has_others:
            return min(timeout_s, SUSPECT_S)
        return timeout_s

    def reached(self, place: PlaceT) -> None:
        """A place has given a link."""
        self._named, self._suspect = [], ""
        places = [place, *(one for one in self._places if one is not place)]
        learned = [one for one in places if one not in self.given]
        for one in learned[LEARNED_MAX:]:
            places.remove(one)
        self._places = places  # at once: a signal handler may raise between any two steps

    def toward(self, by: PlaceT, text: str) -> list[PlaceT]:
        """Return the places that the answer of one names. What is no address, or may not be dialed
        in the same way, is left out.
        """
        found: list[PlaceT] = []
        named: list[Address] = []
        with suppress(InvalidValue):  # a later release may have addresses of other forms
            named = parse_addresses(text)[:NAMED_MAX] if text else []
        for address in named:
            known = next((one for one in self._places if one.place == str(address)), None)
            made = known or by.toward(address)
            if made is not None:
                found.append(made)
        return found


class Attempts(Generic[PlaceT]):
    """One try of every place, and of those that are named meanwhile. problems: why not, of each."""

    def __init__(self, places: ManagerPlaces[PlaceT], order: Sequence[PlaceT]) -> None:
        self.problems: list[LinkLost] = []
        self._places = places
        self._left = deque(order)
        self._tried: set[str] = set()

    def next(self) -> PlaceT | None:
        """Return the place to try now; None when all were tried."""
        while self._left:
            place = self._left.popleft()
            if place.place not in self._tried:
                return place
        return None

    def failed(self, place: PlaceT, problem: LinkLost) -> None:
        """A place gave no link; it may have named others."""
        self.problems.append(problem)
        if place.place:
            self._tried.add(place.place)
        for one in reversed(self._places.toward(place, problem.moved_to)):
            if one.place in self._tried or self._places.is_suspect(one):
                continue
            self._left.appendleft(one)
