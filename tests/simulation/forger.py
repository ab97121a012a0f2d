"""Another writer of a simulated ledger: it has the right to read and to write, and no key.

It continues the ledger as its owner would, by what it reads there. What it writes is void, so that
a run is the same as without it. It has chance of its own.
"""

from __future__ import annotations

import random
from collections import Counter

from adapter.storage.ledger import envelope as envelopes
from adapter.storage.ledger.memory import LogRecord
from adapter.storage.ledger.seals import NO_KEYS, SealKeys

KEYS = (b"K" * 32, b"L" * 32)
UNSEALED = "forged entry without a seal"
MADE_UP = "forged entry with a made-up seal"
RENUMBERED = "sealed entry with another number"
AGAIN = "sealed record once more"
REPLACED = "forged take-over"
FORGERIES = (UNSEALED, MADE_UP, RENUMBERED, AGAIN, REPLACED)
OFTEN = 0.06
"""Of the owner's records, so many are followed by one of the forger's."""


class Forger:
    """Writes to the ledgers of some seeds, which are sealed; with each owner another key may."""

    def __init__(self, seed: int, met: Counter[str]) -> None:
        self._rng = random.Random(seed)
        self._met = met
        self._is_on = seed % 3 == 0

    def owners_keys(self) -> SealKeys:
        """Return the keys of the next owner; each of them may be first."""
        if not self._is_on:
            return NO_KEYS
        return SealKeys(tuple(self._rng.sample(KEYS, len(KEYS))))

    def readers_keys(self) -> SealKeys:
        """Return the keys of all other readers."""
        return SealKeys(KEYS) if self._is_on else NO_KEYS

    def following(self, value: bytes, before: list[LogRecord]) -> bytes | None:
        """Return what the forger writes behind a record of the owner's. before: the log's."""
        one = envelopes.seal_of(value)
        if not self._is_on or one is None or self._rng.random() >= OFTEN:
            return None
        try:
            last = envelopes.decode(value)
        except envelopes.CorruptRecord:
            return None  # it is torn
        what = self._rng.choice(FORGERIES)
        sample = self._rng.choice(before).value
        self._met[what] += 1
        if what == AGAIN:
            return sample
        if what == REPLACED:
            return envelopes.encode_change(b"forger".ljust(16), last.owner, b"a forger")
        if what == RENUMBERED:
            return self._renumbered(one, last)
        payload = self._payload_of(sample)
        entry = envelopes.encode(envelopes.ENTRY, last.owner, last.n + 1, payload)
        if what == UNSEALED:
            return entry
        return envelopes.put_seal(one.key_id, self._rng.randbytes(envelopes.SEAL_BYTES), entry)

    def _renumbered(self, one: envelopes.Sealed, last: envelopes.Envelope) -> bytes:
        """Give the record as the next one, with the seal that it has."""
        entry = envelopes.encode(envelopes.ENTRY, last.owner, last.n + 1, last.payload)
        return envelopes.put_seal(one.key_id, one.seal, entry)

    def _payload_of(self, value: bytes) -> bytes:
        try:
            found = envelopes.decode(value)
        except envelopes.CorruptRecord:
            return b""
        is_whole = found.kind == envelopes.ENTRY and found.parts == 1
        return found.payload if is_whole else b""
