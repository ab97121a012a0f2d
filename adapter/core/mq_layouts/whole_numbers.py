"""Whole numbers as the structures of MQ hold them: 32 bits, with a sign.

Programs of other faces, and this queue manager, have numbers that are longer: a time to live of ten
years, a sequence number of Service Broker. A structure says the nearest number that it can hold,
because what cannot be written down cannot be got either. This module knows no structure.
"""

from __future__ import annotations

from typing import Final

LEAST: Final = -(2**31)
MOST: Final = 2**31 - 1
UNLIMITED: Final = -1  # MQEI_UNLIMITED
EXPIRY_MAX: Final = 999_999_999  # MQMD.Expiry: nine digits of tenths of a second
TENTH_MS: Final = 100


def in_32_bits(number: int) -> int:
    """Return the number, or the nearest one that a field holds.

    >>> in_32_bits(2**40), in_32_bits(-7)
    (2147483647, -7)
    """
    return min(max(number, LEAST), MOST)


def expiry_of(life_ms: int) -> int:
    """Return a life as MQMD.Expiry says it; -1 has no end. One that has an end is never -1.

    >>> expiry_of(250), expiry_of(-1)
    (3, -1)
    """
    return UNLIMITED if life_ms == UNLIMITED else min(max(1, -(-life_ms // TENTH_MS)), EXPIRY_MAX)
