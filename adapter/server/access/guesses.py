"""In which order passwords are checked, and how fast one address may guess them.

A check takes a core for a while, so that they wait for each other. Addresses take turns; of one
address, users whose passwords were not wrong before come first. Wrong passwords of a user from an
address cost growing pauses, and many of whatever users cost the address short ones. A client
that guesses delays itself that way, and hardly any other. Times are handed in, in seconds; this
module knows neither passwords nor sockets.
"""

from __future__ import annotations

import ipaddress
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

from msgspec import Struct

WAITING_OF_USER_MAX = 8
"""Of one user from one address that has to pause."""
WAITING_OF_ADDRESS_MAX = 20
"""Of one address that guesses: with PAUSE_OF_ADDRESS_MAX_S a client that connects for the
first time waits less long than it takes a program to give up (5 s)."""
FREE_OF_USER = 3
FREE_OF_ADDRESS = 20
"""Wrong passwords that cost no pause."""
PAUSE_MAX_S = 30.0
"""The longest pause of a user from an address."""
PAUSE_OF_ADDRESS_S = 0.05
PAUSE_OF_ADDRESS_MAX_S = 0.2
FORGET_S = 600.0
"""Wrong passwords count until so long after the last one."""
NETWORK_BITS = 64
"""Of an IPv6 address that one customer of a network has to itself."""
GONE = "the client has gone"

What = TypeVar("What")


class GuessBounds(Struct, frozen=True, kw_only=True):
    """The bounds of one queue manager, each with its reason."""

    waiting: int = 1_000
    """Checks that wait, of all addresses: of more clients at once those are refused whose address
    has most."""
    remembered: int = 10_000
    """Addresses, and users of addresses, with wrong passwords; the longest ago are forgotten
    first."""
    pause_s: float = 0.5
    """The first pause of a user from an address; each is twice the one before."""


GUESS_BOUNDS = GuessBounds()


class Attempt(Struct, Generic[What], frozen=True, eq=False):
    """One password that waits to be checked.

    address: as network_of() gives it. what: the caller's. wanted: whether its client is still
    there.
    """

    address: str
    user: str
    what: What
    wanted: Callable[[], bool] = lambda: True


class Wrong(Struct):
    """How many wrong passwords came, and until when the next one waits."""

    count: int = 0
    last_s: float = 0.0
    until_s: float = 0.0


class Guesses(Generic[What]):
    """What waits to be checked, and who has guessed wrong."""

    def __init__(
        self,
        bounds: GuessBounds = GUESS_BOUNDS,
        refuse: Callable[[Attempt[What], str], None] = lambda _attempt, _why: None,
    ) -> None:
        """refuse: hears of attempts that have waited and may not any more, and why."""
        self._bounds = bounds
        self._refuse = refuse
        self._waiting: OrderedDict[str, list[Attempt[What]]] = OrderedDict()
        self._wrong: OrderedDict[tuple[str, ...], Wrong] = OrderedDict()

    @property
    def waiting(self) -> int:
        """How many attempts wait."""
        return sum(map(len, self._waiting.values()))

    def add(self, attempt: Attempt[What], now_s: float) -> str:
        """Let an attempt wait for its turn; else return why it may not."""
        address, user = attempt.address, attempt.user
        self._drop_unwanted(address)
        mine = self._waiting.get(address, [])
        of_user = self._pause_s((address, user), now_s)
        if of_user and sum(one.user == user for one in mine) >= WAITING_OF_USER_MAX:
            return _too_many(f"for this user came from {address}", of_user)
        if self._guesses(address, now_s) and len(mine) >= WAITING_OF_ADDRESS_MAX:
            return _too_many(f"came from {address}", self._pause_s((address,), now_s))
        if self.waiting >= self._bounds.waiting:
            why = f"{self._bounds.waiting} passwords are being checked: try again"
            most = max(self._waiting, key=lambda one: len(self._waiting[one]), default="")
            if not most or len(mine) + 1 >= len(self._waiting[most]):
                return why
            last = self._waiting[most][-1]
            self._keep(most, self._waiting[most][:-1])
            self._refuse(last, why)
        self._waiting.setdefault(address, []).append(attempt)
        return ""

    def take(self, now_s: float) -> Attempt[What] | None:
        """Return the next attempt to check, of the address whose turn it is; None: none is due."""
        for address in list(self._waiting):
            self._drop_unwanted(address)
            due = [one for one in self._waiting.get(address, []) if self._due_s(one) <= now_s]
            if due:
                found = min(due, key=self._count)
                self._waiting.move_to_end(address)
                self._keep(address, [one for one in self._waiting[address] if one is not found])
                return found
        return None

    def next_s(self) -> float | None:
        """When the first attempt will be due; None if none waits."""
        times = [self._due_s(one) for mine in self._waiting.values() for one in mine]
        return min(times, default=None)

    def right(self, attempt: Attempt[What]) -> None:
        """Note that the password was right: this user has no wrong ones from there any more."""
        self._wrong.pop((attempt.address, attempt.user), None)

    def wrong(self, attempt: Attempt[What], now_s: float) -> None:
        """Note that the password was wrong."""
        address, user = attempt.address, attempt.user
        self._note((address, user), now_s, FREE_OF_USER, self._bounds.pause_s, PAUSE_MAX_S)
        most_s = PAUSE_OF_ADDRESS_MAX_S
        self._note((address,), now_s, FREE_OF_ADDRESS, PAUSE_OF_ADDRESS_S, most_s)

    def _guesses(self, address: str, now_s: float) -> bool:
        """Whether more wrong passwords came from an address than cost nothing."""
        known = self._wrong.get((address,), Wrong())
        return known.count >= FREE_OF_ADDRESS and now_s - known.last_s <= FORGET_S

    def _note(
        self, key: tuple[str, ...], now_s: float, free: int, first_s: float, most_s: float
    ) -> None:
        known = self._wrong.pop(key, Wrong())
        if now_s - known.last_s > FORGET_S:
            known = Wrong()
        known.count += 1
        known.last_s = now_s
        if known.count >= free:
            known.until_s = now_s + min(first_s * 2.0 ** min(known.count - free, 32), most_s)
        self._wrong[key] = known
        if len(self._wrong) > self._bounds.remembered:
            self._wrong.popitem(last=False)

    def _drop_unwanted(self, address: str) -> None:
        """Refuse attempts whose client has gone: what waits for their outcome would do so for
        ever.
        """
        gone: list[Attempt[What]] = []
        there: list[Attempt[What]] = []
        for attempt in self._waiting.get(address, []):
            (there if attempt.wanted() else gone).append(attempt)
        self._keep(address, there)
        for attempt in gone:
            self._refuse(attempt, GONE)

    def _keep(self, address: str, attempts: list[Attempt[What]]) -> None:
        if attempts:
            self._waiting[address] = attempts
        else:
            self._waiting.pop(address, None)

    def _count(self, attempt: Attempt[What]) -> int:
        known = self._wrong.get((attempt.address, attempt.user))
        return known.count if known else 0

    def _due_s(self, attempt: Attempt[What]) -> float:
        address = attempt.address
        keys: tuple[tuple[str, ...], ...] = ((address,), (address, attempt.user))
        return max(known.until_s if (known := self._wrong.get(key)) else 0.0 for key in keys)

    def _pause_s(self, key: tuple[str, ...], now_s: float) -> float:
        known = self._wrong.get(key)
        return max(0.0, known.until_s - now_s) if known else 0.0


def network_of(address: str) -> str:
    """What of an address counts: all of it, or the network of an IPv6 address."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv4Address):
        return address
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.ip_network((found, NETWORK_BITS), strict=False))


def _too_many(what: str, pause_s: float) -> str:
    return f"too many wrong passwords {what}: try again in {max(1, round(pause_s))} s"
