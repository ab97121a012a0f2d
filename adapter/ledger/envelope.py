"""The envelope of every ledger record: version, kind, owner and n before an opaque payload.

It knows 26 bytes. It must not know which records count (validity does) nor what a payload means.
"""

from struct import Struct as Layout

from msgspec import Struct

VERSION = 1
# What a later version of mqk may write in the first byte. Bytes above are text or another program's
# record: such a record is void, while a newer version's must never be skipped.
NEWER_VERSIONS = range(VERSION + 1, 32)
RESTORING = 31
"""The mark that a ledger begins with while it is being restored: nothing behind it may be read."""

OWNER_CHANGED = 0
ENTRY = 1
KINDS = (OWNER_CHANGED, ENTRY)

OWNER_BYTES = 16
_HEADER = Layout(f">BB{OWNER_BYTES}sQ")
HEADER_BYTES = _HEADER.size
_N = Layout(">Q")
_N_AT = HEADER_BYTES - _N.size


class CorruptRecord(ValueError):  # noqa: N818 -- it says what the record is
    """The bytes are no ledger record: another program wrote them, or they were torn."""


class NewerVersion(CorruptRecord):
    """A later version of mqk wrote the record. Nothing that it wrote may be skipped."""


class Envelope(Struct, gc=False):
    """One ledger record. owner: 16 random bytes; n: dense from 0 for each owner."""

    kind: int
    owner: bytes
    n: int
    payload: bytes


def encode(kind: int, owner: bytes, n: int, payload: bytes) -> bytes:
    """Put the envelope before a payload."""
    if len(owner) != OWNER_BYTES:
        raise ValueError(f"an owner id has {OWNER_BYTES} bytes, not {len(owner)}: {owner.hex()}")
    return _HEADER.pack(VERSION, kind, owner, n) + payload


def restoring(ident: bytes) -> bytes:
    """Return the mark of a restore. ident: 16 bytes of its own."""
    return _HEADER.pack(RESTORING, 0, ident, 0)


def decode(value: bytes | None) -> Envelope:
    """Undo encode; raises CorruptRecord, or NewerVersion for what a later mqk wrote."""
    if value is None or len(value) < HEADER_BYTES:
        have = "no value" if value is None else f"{len(value)} bytes"
        raise CorruptRecord(f"a ledger record has at least {HEADER_BYTES} bytes, this has {have}")
    version, kind, owner, n = _HEADER.unpack_from(value)
    if version != VERSION:
        raise _wrong_version(version)
    if kind not in KINDS:
        raise CorruptRecord(f"kind {kind} is none of version {VERSION}: another program wrote it")
    return Envelope(kind, owner, n, value[HEADER_BYTES:])


def n_of(value: bytes) -> int:
    """Read only the n of a record that encode made."""
    n: int = _N.unpack_from(value, _N_AT)[0]
    return n


def _wrong_version(version: int) -> CorruptRecord:
    if version == RESTORING:
        return NewerVersion(
            "a restore of this ledger was begun and has not come to its end: run `mqk ledger "
            "restore` again"
        )
    if version in NEWER_VERSIONS:
        return NewerVersion(
            f"the record has version {version} and this mqk reads version {VERSION}: "
            "use the newer mqk that wrote it"
        )
    return CorruptRecord(f"version {version} is none of mqk's: another program wrote the record")
