"""Bytes that were right, with something changed in them. Pure: all chance is handed in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

LENGTH_MAX = 128 * 1024
"""Of what a stranger sends at once: longer frames are of clients that are known."""
BYTES = (0x00, 0x01, 0x7F, 0x80, 0x90, 0xA0, 0xC0, 0xC1, 0xC6, 0xDC, 0xDD, 0xDF, 0xFE, 0xFF)
"""Among them the bytes that msgpack begins arrays, maps and strings of any length with."""
NUMBERS = (0, 1, 2**7, 2**14 + 1, 2**15, 2**16 - 1, 2**24, 2**31 - 1, 2**31, 2**32 - 1)

Mutation = Callable[[bytearray, Random], None]


def mutated(data: bytes, chance: Random, others: Sequence[bytes] = ()) -> bytes:
    """Return data with one to eight changes. others: what parts may be taken from."""
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 2, 3, 5, 8))):
        chance.choice(MUTATIONS)(changed, chance)
        if others and not chance.randrange(8):
            other = chance.choice(others)
            start = _place(changed, chance)
            changed[start:] = other[chance.randrange(len(other) + 1) :]
    return bytes(changed[:LENGTH_MAX])


def noise(chance: Random) -> bytes:
    """Return bytes that mean nothing."""
    return chance.randbytes(chance.choice((1, 3, 4, 5, 17, 300, 5_000, 70_000)))


def _place(data: bytearray, chance: Random) -> int:
    return chance.randrange(len(data) + 1)


def _flip(data: bytearray, chance: Random) -> None:
    if data:
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def _set(data: bytearray, chance: Random) -> None:
    if data:
        data[chance.randrange(len(data))] = chance.choice((*BYTES, chance.randrange(256)))


def _number(data: bytearray, chance: Random) -> None:
    """Write a length, or what is read as one."""
    width = chance.choice((1, 2, 3, 4))
    value = (chance.choice(NUMBERS) + chance.choice((-1, 0, 0, 1))) % 256**width
    start = _place(data, chance)
    data[start : start + width] = value.to_bytes(width, chance.choice(("big", "little")))


def _leave_out(data: bytearray, chance: Random) -> None:
    start = _place(data, chance)
    del data[start : start + chance.choice((1, 2, 4, 16, 200))]


def _cut(data: bytearray, chance: Random) -> None:
    del data[_place(data, chance) :]


def _insert(data: bytearray, chance: Random) -> None:
    start = _place(data, chance)
    data[start:start] = chance.randbytes(chance.choice((1, 1, 2, 4, 40)))


def _repeat(data: bytearray, chance: Random) -> None:
    start = _place(data, chance)
    part = data[start : start + chance.choice((1, 4, 16, 64, 500))]
    times = chance.choice((1, 2, 5, 300))
    if len(data) + len(part) * times <= LENGTH_MAX:
        data[start:start] = part * times


MUTATIONS: tuple[Mutation, ...] = (
    *(_flip, _flip, _set, _set, _number, _number, _leave_out, _cut, _insert, _repeat),
)
