"""What movers need of an entry, read fast: bodies and descriptors as the ledger's own bytes.

Nearly every entry of a busy queue manager holds committed units and nothing else, and a mover that
cannot keep up with the owner is of no use: so units are read here by hand, in half the time that
the general reader takes, which still reads all other entries. That both read the same is tested.
"""

from __future__ import annotations

from typing import Any, Final

from adapter.core.contract import records as r
from adapter.storage.format import entries
from adapter.storage.format.avro import read_long
from adapter.storage.format.copied import Copy
from adapter.storage.format.schemas import VERSION, UnreadableError

Movable = Copy | r.QueueDefined | r.QueueDeleted | r.EventRaised

# Of mqk.Entry: where in the union of records a committed unit stands, and its parts of fixed size.
UNIT_BRANCH: Final = 0  # in one byte, as every writer of Avro has it
MORE: Final = 0x80  # set in each byte of a number but its last one
SIGN: Final = 1  # set in the lowest byte of a negative number
UNIT_BYTES: Final = 24
SESSION_BYTES: Final = 16
DESCRIPTOR_AND_BODY: Final = (0, 1)

_NONE_BEFORE: Final = b"\xff" * 11  # matches nothing: an integer has at most ten bytes


def decode_copies(payload: bytes) -> list[list[Movable]]:
    """Read what is to be copied or shapes copying, a list for each record; most of them Copies."""
    units = _units(payload, keep=True)
    return _read_in_general(payload) if units is None else units


def decode_events(payload: bytes) -> list[list[Movable]]:
    """Read an entry without its messages, a list for each record; most of them empty."""
    units = _units(payload, keep=False)
    return _read_in_general(payload) if units is None else units


def _read_in_general(payload: bytes) -> list[list[Movable]]:
    return [_movables(name, value) for name, value in entries.raw_records(payload)]


def _movables(name: str, value: dict[str, Any]) -> list[Movable]:
    if name == "mqk.UnitCommitted":
        return [Copy(**put) for put in value["puts"]]
    if name in ("mqk.QueueDefined", "mqk.QueueDeleted", "mqk.EventRaised"):
        return [entries.read_record(name, value)]
    return []


def _units(payload: bytes, keep: bool) -> list[list[Movable]] | None:
    """Read an entry that holds nothing but units; None for any other."""
    if not payload or payload[0] != VERSION:
        return None  # the general reader says what is wrong
    found: list[list[Movable]] = []
    try:
        count, _, at = _block(payload, 1)
        while count:
            for _ in range(count):
                if payload[at] != UNIT_BRANCH:
                    return None
                at += 1 + UNIT_BYTES
                while payload[at] >= MORE:  # how many messages
                    at += 1
                at += 1
                copies: list[Movable] = []
                if not payload[at]:  # an array without items is one byte
                    at += 1
                elif keep:
                    at = _puts(payload, at, copies)
                else:
                    at = _skip_puts(payload, at)
                at = _skip_gets(payload, at) if payload[at] else at + 1
                while payload[at] >= MORE:  # verb
                    at += 1
                has_outcome = payload[at + 1]
                at = _skip_outcome(payload, at + 2) if has_outcome else at + 2
                found.append(copies)
            count, _, at = _block(payload, at)
    except (IndexError, UnicodeDecodeError) as error:
        raise UnreadableError(f"entry: {len(payload)} damaged bytes ({error})") from error
    if at != len(payload):
        raise UnreadableError(f"entry: {len(payload)} bytes, and {at} were expected")
    return found


def _puts(data: bytes, at: int, found: list[Movable]) -> int:
    """Read an array of puts and return where it ends.

    Within a unit, queue and time are mostly those of the put before: their bytes are compared
    instead of read. Lengths of up to 8191 bytes take two bytes: those are read in place.
    """
    append = found.append
    queue_bytes = time_bytes = _NONE_BEFORE
    queue, time_ms = "", 0
    count, _, at = _block(data, at)
    while count:
        for _ in range(count):
            if data.startswith(queue_bytes, at):
                at += len(queue_bytes)
            else:
                start = at
                size, at = _length(data, at)
                at += size
                queue = data[at - size : at].decode()
                queue_bytes = data[start:at]
            lane = data[at] >> 1
            if data[at] < MORE:
                at += 1
            else:
                lane, at = _length(data, at)
            if data.startswith(time_bytes, at):
                at += len(time_bytes)
            else:
                start = at
                time_ms, at = read_long(data, at)
                time_bytes = data[start:at]
            low, high = data[at], data[at + 1]
            if low >= MORE > high:
                size = (low & 0x7F | high << 7) >> 1
                at += 2
            else:
                size, at = _length(data, at)
            start = at + size
            descriptor = data[at:start]
            low, high = data[start], data[start + 1]
            if low >= MORE > high:
                size = (low & 0x7F | high << 7) >> 1
                start += 2
            else:
                size, start = _length(data, start)
            at = start + size
            append(Copy(queue, lane, time_ms, descriptor, data[start:at]))
        count, _, at = _block(data, at)
    return at


def _skip_puts(data: bytes, at: int) -> int:
    queue_bytes = _NONE_BEFORE
    count, size, at = _block(data, at)
    while count:
        if size:
            at, count = at + size, 0
        for _ in range(count):
            if data.startswith(queue_bytes, at):
                at += len(queue_bytes)
            else:
                size, after = _length(data, at)
                queue_bytes = data[at : after + size]
                at = after + size
            while data[at] >= MORE:  # lane
                at += 1
            at += 1
            while data[at] >= MORE:  # put time
                at += 1
            at += 1
            for _ in DESCRIPTOR_AND_BODY:
                low, high = data[at], data[at + 1]
                if low >= MORE > high:
                    at += 2 + ((low & 0x7F | high << 7) >> 1)
                else:
                    size, at = _length(data, at)
                    at += size
        count, size, at = _block(data, at)
    return at


def _skip_outcome(data: bytes, at: int) -> int:
    at += SESSION_BYTES
    while data[at] >= MORE:  # the command's number
        at += 1
    count, size, at = _block(data, at + 1)
    while count:
        if size:
            at, count = at + size, 0
        for _ in range(count):
            while data[at] >= MORE:
                at += 1
            at += 1
        count, size, at = _block(data, at)
    return at


def _skip_gets(data: bytes, at: int) -> int:
    queue_bytes = _NONE_BEFORE
    count, size, at = _block(data, at)
    while count:
        if size:
            at, count = at + size, 0
        for _ in range(count):
            if data.startswith(queue_bytes, at):
                at += len(queue_bytes)
            else:
                size, after = _length(data, at)
                queue_bytes = data[at : after + size]
                at = after + size
            while data[at] >= MORE:  # lane
                at += 1
            at += 1
            while data[at] >= MORE:  # seq
                at += 1
            at += 2  # and a priority, which is one digit
        count, size, at = _block(data, at)
    return at


def _block(data: bytes, at: int) -> tuple[int, int, int]:
    """Read the head of an array's block: how many items, their bytes (0 if it does not say)."""
    head = data[at]
    if not head & SIGN and head < MORE:
        return head >> 1, 0, at + 1
    count, at = read_long(data, at)
    if count >= 0:
        return count, 0, at
    size, at = _length(data, at)
    return -count, size, at


def _length(data: bytes, at: int) -> tuple[int, int]:
    """Read what cannot be negative; so that no damaged byte leads backwards."""
    value, at = read_long(data, at)
    if value < 0:
        raise IndexError(f"a length of {value} at byte {at}")
    return value, at
