"""A search for the input that costs most: what a stranger would send who wants to hold others up.

It climbs: an input is changed at random, and kept if a byte of it costs more than before. Cost is
CPU time of the thread that reads it, for much of the work is done in C, where steps are not seen.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from random import Random

from msgspec import Struct

from adapter.administration.mqsc.text import NotMqscError
from adapter.administration.pcf.structures import PcfError
from adapter.core.contract.reasons import Refusal
from adapter.errors import Error

CONSTANT_S = 0.02
"""What any input may cost, however short it is."""
BYTE_S = 15e-6
"""And each byte of it; on an idle machine the worst readers take a fifth."""
REFUSALS = (Error, Refusal, ValueError, LookupError, struct.error, NotMqscError, PcfError)
"""An input may be refused: that is no matter here."""
SURE = 3
"""An input costs what the cheapest of so many readings costs: others may disturb one of them."""


class Target(Struct, frozen=True):
    """What reads a stranger's input. words: what inputs are made of; seeds: to begin with. most:
    bytes of an input. reads: reads one, or refuses it.
    """

    words: Sequence[bytes]
    seeds: Sequence[bytes]
    reads: Callable[[bytes], object]
    most: int = 16_384


class Found(Struct, frozen=True):
    """The costliest input of a search."""

    given: bytes
    cost_s: float

    @property
    def per_byte_s(self) -> float:
        """What a byte costs."""
        return self.cost_s / max(len(self.given), 1)

    @property
    def is_too_costly(self) -> bool:
        """Whether it costs more than an input may."""
        return self.cost_s > CONSTANT_S + BYTE_S * len(self.given)


def cost_s(target: Target, given: bytes) -> float:
    """Return the CPU time that reading an input takes."""
    began_s = time.thread_time()
    with suppress(*REFUSALS):
        target.reads(given)
    return time.thread_time() - began_s


def climb(target: Target, budget_s: float, chance: Random) -> Found:
    """Search for so many seconds of CPU time; ends at the first input that is surely too costly."""
    until_s = time.thread_time() + budget_s
    best = max((_surely(target, one) for one in target.seeds), key=_score)
    while time.thread_time() < until_s:
        found = _read(target, changed(target, best.given, chance))
        if _score(found) <= _score(best):
            continue
        found = _surely(target, found.given)
        if found.is_too_costly:
            return found
        best = max(best, found, key=_score)
    return best


def _surely(target: Target, given: bytes) -> Found:
    """Read an input some times: the first time may import what reads it."""
    return min((_read(target, given) for _ in range(SURE)), key=_cost)


def _cost(found: Found) -> float:
    return found.cost_s


def _read(target: Target, given: bytes) -> Found:
    return Found(given, cost_s(target, given))


def _score(found: Found) -> float:
    """Long inputs first: what costs the square of its length shows there."""
    return found.cost_s / (CONSTANT_S / 10 + BYTE_S * len(found.given))


def changed(target: Target, given: bytes, chance: Random) -> bytes:
    """Return an input like another one, and not too long."""
    for _ in range(chance.randint(1, 3)):
        at, to = sorted(chance.randint(0, len(given)) for _ in range(2))
        word = chance.choice(target.words)
        match chance.randrange(6):
            case 0:
                given = given[:at] + word + given[at:]
            case 1:
                given = given[:at] + word * chance.choice((2, 16, 256, 2048)) + given[at:]
            case 2:
                given = given[:at] + given[to:]
            case 3:
                given = given[:to] + given[at:to] * chance.choice((1, 2, 8, 64)) + given[to:]
            case 4:
                given = given[:at] + chance.choice(target.seeds) + given[at:]
            case _:
                given = given[:at] + word + given[at + len(word) :]
    return given[: target.most]
