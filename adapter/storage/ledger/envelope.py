"""The envelope of every ledger record: version, kind, owner and n before an opaque payload.

An entry is one record, or, if it is long, several of the same n in a row: each then says, in eight
bytes more, which part it is and of how many. An OWNER_CHANGED names, in sixteen bytes more, the
owner that it replaces; those of earlier releases name none. A sealed record is a record behind a
seal; a sealed OWNER_CHANGED also names, in eight bytes more, the key of the seals that follow. It
must not know which records count (validity does), nor how seals are made, nor what a payload means.
"""

from collections.abc import Iterator
from struct import Struct as Layout

from msgspec import Struct

VERSION = 1
PARTS_VERSION = 2
"""Of a part: a release that knew no parts must refuse it, and not skip it."""
CHANGE_VERSION = 3
"""Of an OWNER_CHANGED that names the owner it replaces: a release that does not know of that would
count one that is void."""
SEALED_VERSION = 4
"""Of a seal before a record. It is the same in all later releases, so that each can tell a record
that it does not know from one that is forged: what changes is the version of what it seals."""
KEYED_CHANGE_VERSION = 5
"""Of an OWNER_CHANGED, behind a seal, that names the key of its owner's seals too."""
# What a later version of mqk may write in the first byte. Bytes above are text or another program's
# record: such a record is void, while a newer version's must never be skipped.
NEWER_VERSIONS = range(KEYED_CHANGE_VERSION + 1, 32)
RESTORING = 31
"""The mark that a ledger begins with while it is being restored: nothing behind it may be read."""

OWNER_CHANGED = 0
ENTRY = 1
PART = 2
_KINDS = {
    VERSION: (OWNER_CHANGED, ENTRY),
    PARTS_VERSION: (PART,),
    CHANGE_VERSION: (OWNER_CHANGED,),
    KEYED_CHANGE_VERSION: (OWNER_CHANGED,),
}

PART_BYTES = 2 * 1024 * 1024
"""An entry whose payload is longer is written in parts of this length. A broker takes its time for
each request, and a longer one is lost as a whole when a connection is."""

OWNER_BYTES = 16
NOBODY = b""
"""The owner of a ledger that has not had one."""
_HEADER = Layout(f">BB{OWNER_BYTES}sQ")
HEADER_BYTES = _HEADER.size
_N = Layout(">Q")
_N_AT = HEADER_BYTES - _N.size
_PART = Layout(">II")

PROBE_N = 0
"""No owner's entry has this n."""
KEY_ID_BYTES = 8
SEAL_BYTES = 16
NO_KEY = b""
"""The key of what is not sealed."""
_SEAL = Layout(f">B{KEY_ID_BYTES}s{SEAL_BYTES}s")


class CorruptRecord(ValueError):  # noqa: N818 -- it says what the record is
    """The bytes are no ledger record: another program wrote them, or they were torn."""


class NewerVersion(CorruptRecord):
    """A later version of mqk wrote the record. Nothing that it wrote may be skipped."""


class UnknownKey(NewerVersion):
    """The ledger is sealed with a key that is not known here. Nothing in it may be skipped."""


class Sealed(Struct, gc=False):
    """A record behind a seal. key_id: of the key that it is said to be made with."""

    key_id: bytes
    seal: bytes
    record: bytes


class Envelope(Struct, gc=False):
    """One ledger record. owner: 16 random bytes; n: dense from 0 for each owner.

    part, parts: which one of how many records of this entry it is, from 0. replaces: the owner that
    an OWNER_CHANGED takes the ledger over from; None of one that does not say so. next_key: the id
    of the key of its owner's seals, NO_KEY if it seals nothing; None of one that does not say so.
    """

    kind: int
    owner: bytes
    n: int
    payload: bytes
    part: int = 0
    parts: int = 1
    replaces: bytes | None = None
    next_key: bytes | None = None

    @property
    def is_probe(self) -> bool:
        """Whether it asks for the ledger's time: void for every reader, and no sign of anybody."""
        return self.kind == ENTRY and self.n == PROBE_N


class RecordNumber(Struct, gc=False, frozen=True):
    """Which record of an owner's one is: the n of its entry, which part, and of how many."""

    n: int
    part: int = 0
    parts: int = 1

    @property
    def is_last(self) -> bool:
        """Whether the entry is complete with it."""
        return self.part + 1 == self.parts


def encode(kind: int, owner: bytes, n: int, payload: bytes) -> bytes:
    """Put the envelope before a payload."""
    if len(owner) != OWNER_BYTES:
        raise ValueError(f"an owner id has {OWNER_BYTES} bytes, not {len(owner)}: {owner.hex()}")
    return _HEADER.pack(VERSION, kind, owner, n) + payload


def encode_change(owner: bytes, replaces: bytes, who: bytes) -> bytes:
    """Give the OWNER_CHANGED of an owner that replaces another, or NOBODY."""
    header = _HEADER.pack(CHANGE_VERSION, OWNER_CHANGED, owner, 0)
    return b"".join((header, replaces.ljust(OWNER_BYTES, b"\0"), who))


def encode_keyed_change(owner: bytes, replaces: bytes, next_key: bytes, who: bytes) -> bytes:
    """Give the OWNER_CHANGED, to be sealed, of an owner that seals by next_key, or by NO_KEY."""
    header = _HEADER.pack(KEYED_CHANGE_VERSION, OWNER_CHANGED, owner, 0)
    named = replaces.ljust(OWNER_BYTES, b"\0"), next_key.ljust(KEY_ID_BYTES, b"\0")
    return b"".join((header, *named, who))


def put_seal(key_id: bytes, seal: bytes, record: bytes) -> bytes:
    """Put a seal before a record."""
    return _SEAL.pack(SEALED_VERSION, key_id, seal) + record


def seal_of(value: bytes | None) -> Sealed | None:
    """Take the seal off a sealed record; None for one without a seal."""
    if not value or value[0] != SEALED_VERSION or len(value) < _SEAL.size:
        return None
    _version, key_id, seal = _SEAL.unpack_from(value)
    return Sealed(key_id, seal, value[_SEAL.size :])


def encode_entry(
    owner: bytes, n: int, payload: bytes, part_bytes: int = PART_BYTES
) -> Iterator[bytes]:
    """Give the records of an entry, in order: one, or parts of part_bytes of its payload."""
    if len(payload) <= part_bytes:
        return iter((encode(ENTRY, owner, n, payload),))
    return _encode_parts(owner, n, payload, part_bytes)


def _encode_parts(owner: bytes, n: int, payload: bytes, part_bytes: int) -> Iterator[bytes]:
    parts = -(-len(payload) // part_bytes)
    header = _HEADER.pack(PARTS_VERSION, PART, owner, n)
    with memoryview(payload) as view:
        for part in range(parts):
            piece = view[part * part_bytes : (part + 1) * part_bytes]
            yield b"".join((header, _PART.pack(part, parts), piece))


def restoring(ident: bytes) -> bytes:
    """Return the mark of a restore. ident: 16 bytes of its own."""
    return _HEADER.pack(RESTORING, 0, ident, 0)


def decode(value: bytes | None) -> Envelope:
    """Read a record; raises CorruptRecord, or NewerVersion for what a later mqk wrote.

    A part is of kind ENTRY, as the one record of a shorter entry is. A seal is not looked at.
    """
    if value and value[0] == SEALED_VERSION:
        value = _without_seal(value)
    if value is None or len(value) < HEADER_BYTES:
        have = "no value" if value is None else f"{len(value)} bytes"
        raise CorruptRecord(f"a ledger record has at least {HEADER_BYTES} bytes, this has {have}")
    version, kind, owner, n = _HEADER.unpack_from(value)
    if version not in _KINDS:
        raise _wrong_version(version)
    if kind not in _KINDS[version]:
        raise CorruptRecord(f"unknown kind {kind} in version {version}: another program wrote it")
    if kind == PART:
        start = HEADER_BYTES + _PART.size
        part, parts = _PART.unpack_from(value, HEADER_BYTES) if len(value) >= start else (0, 0)
        if part >= parts:
            raise CorruptRecord(f"part {part} of {parts}: another program wrote it")
        return Envelope(ENTRY, owner, n, value[start:], part, parts)
    if kind == OWNER_CHANGED and version != VERSION:
        return _decode_change(value, version, owner, n)
    return Envelope(kind, owner, n, value[HEADER_BYTES:])


def _without_seal(value: bytes) -> bytes:
    one = seal_of(value)
    if one is None or one.record[:1] == bytes((SEALED_VERSION,)):
        raise CorruptRecord("it is no record behind a seal: another program wrote it")
    return one.record


def _decode_change(value: bytes, version: int, owner: bytes, n: int) -> Envelope:
    is_keyed = version == KEYED_CHANGE_VERSION
    key_at = HEADER_BYTES + OWNER_BYTES
    start = key_at + (KEY_ID_BYTES if is_keyed else 0)
    if len(value) < start:
        raise CorruptRecord("it does not say which owner it replaces: another program wrote it")
    replaces, key = value[HEADER_BYTES:key_at], value[key_at:start]
    change = Envelope(OWNER_CHANGED, owner, n, value[start:])
    change.replaces = replaces if any(replaces) else NOBODY
    if is_keyed:
        change.next_key = key if any(key) else NO_KEY
    return change


def text_of(payload: bytes) -> str:
    """Return what an OWNER_CHANGED says of its owner to people: all before a NUL."""
    return payload.partition(b"\0")[0].decode(errors="replace")


def step_of(value: bytes) -> RecordNumber:
    """Read only which record of its owner's it is, of one that encode or encode_entry made."""
    start = _SEAL.size if value[0] == SEALED_VERSION else 0
    n: int = _N.unpack_from(value, start + _N_AT)[0]
    if value[start] != PARTS_VERSION:
        return RecordNumber(n)
    return RecordNumber(n, *_PART.unpack_from(value, start + HEADER_BYTES))


def _wrong_version(version: int) -> CorruptRecord:
    if version == RESTORING:
        return NewerVersion(
            "a restore of this ledger was begun and has not come to its end: run `mqk ledger "
            "restore` again"
        )
    if version in NEWER_VERSIONS:
        return NewerVersion(
            f"the record has version {version} and this mqk reads up to version "
            f"{KEYED_CHANGE_VERSION}: use the newer mqk that wrote it"
        )
    return CorruptRecord(f"unknown version {version}: another program wrote the record")
