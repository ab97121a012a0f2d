"""Seals of a ledger's records: keyed digests, which no program can make without a key. Pure.

A sealed record is a record as it would be without a seal, behind its seal: a version byte, the id
of the key, and the digest. The digest is an HMAC-SHA256, cut to 16 bytes, over the ledger's name
(which says whose ledger it is) and the whole record: owner id, n, part, which owner and key an
OWNER_CHANGED names, payload. A guess fits once in 2^128; a whole digest would be 16 more bytes in
each record, for nothing.

A key's id is computed from the key: two files that call different keys by the same name would have
two processes void each other's records.

Which records need a seal, and by which key, is said by validity. Where keys come from is not known
here.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence

from msgspec import Struct

from adapter.storage.ledger.envelope import (
    KEY_ID_BYTES,
    NO_KEY,
    SEAL_BYTES,
    Sealed,
    encode_change,
    encode_keyed_change,
    put_seal,
)

KEY_BYTES = 32
"""Of a key: as many as the digest has, which are secure whatever an attacker computes."""
_OF_ID = b"mqk ledger key id\0"
_OF_RECORD = b"mqk ledger record\0"


class SealKeys(Struct, frozen=True):
    """The keys of a ledger, of KEY_BYTES each: the first one seals, all are known.

    seals: whether the next owner seals; else it ends the sealing of a ledger that is sealed.
    """

    keys: tuple[bytes, ...] = ()
    seals: bool = True

    def __repr__(self) -> str:
        """Show ids, and no key."""
        return f"SealKeys({[id_of(key).hex() for key in self.keys]}, seals={self.seals})"


NO_KEYS = SealKeys()


def id_of(key: bytes) -> bytes:
    """Return the id of a key, which says nothing of it."""
    return hashlib.sha256(_OF_ID + key).digest()[:KEY_ID_BYTES]


class Seals:
    """Makes and checks the seals of one ledger. For any thread."""

    __slots__ = ("_begun", "begins_with")

    def __init__(self, ledger: str, keys: SealKeys = NO_KEYS) -> None:
        """ledger: its topic's name: a record that is copied to another ledger is not genuine."""
        named = ledger.encode()
        context = _OF_RECORD + len(named).to_bytes(4, "big") + named
        self._begun = {id_of(key): hmac.new(key, context, "sha256") for key in keys.keys}
        self.begins_with = id_of(keys.keys[0]) if keys.keys and keys.seals else NO_KEY
        """The id of the key by which the next owner seals; NO_KEY: it does not."""

    def knows(self, key_id: bytes) -> bool:
        """Whether there is a key with this id."""
        return key_id in self._begun

    def ids(self) -> list[str]:
        """Name the keys, for people."""
        return [key_id.hex() for key_id in self._begun]

    def seal(self, key_id: bytes, record: bytes) -> bytes:
        """Put a seal before a record; as it is with NO_KEY."""
        if key_id == NO_KEY:
            return record
        return put_seal(key_id, self._digest(key_id, record), record)

    def change(self, owner: bytes, replaces: bytes, in_force: bytes, who: bytes) -> bytes:
        """Give the OWNER_CHANGED of an owner. in_force: the id of the key in force before it."""
        next_key = self.begins_with
        if in_force == next_key == NO_KEY:
            return encode_change(owner, replaces, who)
        record = encode_keyed_change(owner, replaces, next_key, who)
        return self.seal(in_force or next_key, record)

    def is_genuine(self, one: Sealed) -> bool:
        """Whether a seal was made with a key that is known here."""
        if one.key_id not in self._begun:
            return False
        return hmac.compare_digest(self._digest(one.key_id, one.record), one.seal)

    def _digest(self, key_id: bytes, record: bytes) -> bytes:
        digest = self._begun[key_id].copy()
        digest.update(record)
        return digest.digest()[:SEAL_BYTES]


def keys_of(keys: Sequence[bytes], *, seals: bool = True) -> SealKeys:
    """Return keys in order. Raises ValueError for one of another length, or one that is twice."""
    for key in keys:
        if len(key) != KEY_BYTES:
            raise ValueError(f"a key has {KEY_BYTES} bytes, not {len(key)}")
    if len(set(keys)) != len(keys):
        raise ValueError("it has a key twice")
    if not keys:
        raise ValueError("it has no key")
    return SealKeys(tuple(keys), seals)
