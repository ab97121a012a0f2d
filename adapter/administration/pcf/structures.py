"""Messages of PCF as bytes: a header (MQCFH) and parameters (MQCFIN, MQCFST, ... MQCFGR).

Whatever comes from a message is checked before it is used: lengths, counts, nesting. Numbers may be
in either byte order; what is written is in the order that was asked for. This module knows no
command.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

from msgspec import Struct

from adapter.character_sets import CCSID_UTF_8, Order, codec_of

LITTLE_ENCODING, BIG_ENCODING = 546, 273
"""MQENC_*: what a message in one byte order or the other says of itself."""
HEADER_LENGTH = 36
HEAD_OF_STRINGS = 24
"""Bytes of a list of strings before them. So many empty strings it may have, and their padding."""
COMMAND, RESPONSE, COMMAND_XR = 1, 2, 16
INTEGER, STRING, INTEGER_LIST, STRING_LIST, BYTES = 3, 4, 5, 6, 9
INTEGER_FILTER, STRING_FILTER, BYTES_FILTER, GROUP = 13, 14, 15, 20
INTEGER_64, INTEGER_64_LIST = 23, 25
LAST, NOT_LAST = 1, 0
# MQRCCF_*: why a message is not PCF.
TYPE_ERROR = 3001
LENGTH_ERROR = 3002
VERSION_ERROR = 3003
SEQUENCE_ERROR = 3004
CONTROL_ERROR = 3005
COUNT_ERROR = 3006
STRUCTURE_TYPE_ERROR = 3013
MESSAGE_LENGTH_ERROR = 3016
CCSID_ERROR = 3049
LENGTH_ERRORS = {
    INTEGER: 3009,
    STRING: 3010,
    STRING_LIST: 3024,
    INTEGER_LIST: 3028,
    BYTES: 3255,
    INTEGER_FILTER: 3241,
    STRING_FILTER: 3245,
    BYTES_FILTER: 3264,
    GROUP: 3258,
}
"""By type of structure; MESSAGE_LENGTH_ERROR for the others."""


class PcfError(Exception):
    """A request cannot be done. reason: MQRC or MQRCCF; parameter: the number of the culprit.

    told: what else the reply says, a message each.
    """

    def __init__(
        self,
        reason: int,
        text: str,
        parameter: int | None = None,
        told: Sequence[list[Parameter]] = (),
    ) -> None:
        super().__init__(text)
        self.reason = reason
        self.text = text
        self.parameter = parameter
        self.told = told


class CommandHeader(Struct, kw_only=True):
    """MQCFH without its lengths."""

    type: int = RESPONSE
    version: int = 1
    command: int = 0
    sequence: int = 1
    control: int = LAST
    comp_code: int = 0
    reason: int = 0
    count: int = 0


class Integer(Struct, frozen=True):
    """MQCFIN, or MQCFIN64 for wide ones."""

    number: int
    value: int
    wide: bool = False


class String(Struct, frozen=True):
    """MQCFST. length: it is filled up with blanks to this many bytes."""

    number: int
    value: str
    length: int = 0


class Integers(Struct, frozen=True):
    """MQCFIL."""

    number: int
    values: tuple[int, ...]


class Strings(Struct, frozen=True):
    """MQCFSL. length: each is filled up with blanks to this many bytes."""

    number: int
    values: tuple[str, ...]
    length: int = 0


class Bytes(Struct, frozen=True):
    """MQCFBS."""

    number: int
    value: bytes


class FilterParameter(Struct, frozen=True):
    """MQCFIF, MQCFSF or MQCFBF: a filter."""

    number: int
    operator: int
    value: int | str | bytes


class GroupParameter(Struct, frozen=True):
    """MQCFGR: parameters under one number."""

    number: int
    members: tuple[Parameter, ...]


Parameter = Integer | String | Integers | Strings | Bytes | FilterParameter | GroupParameter


class CommandRequest(Struct):
    """A message taken apart. order: the byte order that it was in."""

    header: CommandHeader
    parameters: list[Parameter]
    order: Order


def byte_order(data: bytes) -> Order:
    """Say which byte order a message is in, by the length that every header names."""
    if len(data) < HEADER_LENGTH:
        raise PcfError(MESSAGE_LENGTH_ERROR, f"{len(data)} bytes are less than a header has")
    return ">" if struct.unpack_from(">i", data, 4) == (HEADER_LENGTH,) else "<"


def decode(data: bytes, ccsid: int = CCSID_UTF_8) -> CommandRequest:
    """Take a message apart. ccsid: of its strings that name none. PcfError if it is not PCF."""
    order = byte_order(data)
    fields = struct.unpack_from(f"{order}9i", data)
    kind, length, version, command, sequence, control, comp_code, reason, count = fields
    if length != HEADER_LENGTH:
        raise PcfError(LENGTH_ERROR, f"a header has {HEADER_LENGTH} bytes, not {length}")
    header = CommandHeader(
        type=kind,
        version=version,
        command=command,
        sequence=sequence,
        control=control,
        comp_code=comp_code,
        reason=reason,
        count=count,
    )
    reader = _Reader(data, order, ccsid)
    if not 0 <= count <= len(data):
        raise PcfError(COUNT_ERROR, f"{count} parameters are not in {len(data)} bytes")
    parameters = [reader.parameter() for _ in range(count)]
    if reader.at != len(data):
        raise PcfError(MESSAGE_LENGTH_ERROR, f"{len(data) - reader.at} bytes are left over")
    return CommandRequest(header, parameters, order)


def check_request(header: CommandHeader) -> None:
    """Refuse a header that is not that of a command."""
    if header.type not in (COMMAND, COMMAND_XR):
        raise PcfError(TYPE_ERROR, f"{header.type} is not the type of a command")
    if header.version not in (1, 2, 3):
        raise PcfError(VERSION_ERROR, f"invalid version {header.version} of the header")
    if header.sequence != 1:
        raise PcfError(SEQUENCE_ERROR, "a command is one message, and its number is 1")
    if header.control != LAST:
        raise PcfError(CONTROL_ERROR, "a command is one message, and it is the last")


class _Reader:
    """Goes through the parameters of a message."""

    def __init__(self, data: bytes, order: Order, ccsid: int) -> None:
        self._data = data
        self._order = order
        self._ccsid = ccsid
        self.at = HEADER_LENGTH
        self._kind = 0
        self._end = 0

    def parameter(self, nested: bool = False) -> Parameter:
        if len(self._data) - self.at < 12:
            raise PcfError(COUNT_ERROR, "the message ends before its parameters do")
        self._kind, length, number = struct.unpack_from(f"{self._order}3i", self._data, self.at)
        begin = self.at
        self._end = begin + length
        self._check(12 <= length <= len(self._data) - begin, number)
        self.at += 12
        parameter = self._of_kind(number, nested)
        if self._kind != GROUP:
            self._check(self.at <= self._end, number)
            self.at = begin + length
        return parameter

    def _of_kind(self, number: int, nested: bool) -> Parameter:
        kind = self._kind
        if kind == INTEGER:
            (value,) = self._numbers(1, number)
            return Integer(number, value)
        if kind == STRING:
            ccsid, length = self._numbers(2, number)
            return String(number, self._text(length, ccsid, number))
        if kind == INTEGER_LIST:
            (count,) = self._numbers(1, number)
            return Integers(number, self._numbers(count, number))
        if kind == STRING_LIST:
            return self._strings(number)
        if kind == BYTES:
            (length,) = self._numbers(1, number)
            return Bytes(number, self._bytes(length, number))
        if kind == GROUP and not nested:
            return self._group(number)
        if kind in (INTEGER_FILTER, STRING_FILTER, BYTES_FILTER):
            return self._condition(number)
        if kind == INTEGER_64:
            self._check(self._end - self.at >= 12, number)
            (wide,) = struct.unpack_from(f"{self._order}q", self._data, self.at + 4)
            self.at += 12
            return Integer(number, wide, wide=True)
        raise PcfError(
            STRUCTURE_TYPE_ERROR, f"structure type {kind} is not valid in a command", number
        )

    def _strings(self, number: int) -> Strings:
        ccsid, count, length = self._numbers(3, number)
        left = self._end - self.at
        self._check(0 <= count <= left + HEAD_OF_STRINGS and count * length <= left, number)
        return Strings(number, tuple(self._text(length, ccsid, number) for _ in range(count)))

    def _condition(self, number: int) -> FilterParameter:
        if self._kind == INTEGER_FILTER:
            return FilterParameter(number, *self._numbers(2, number))
        if self._kind == STRING_FILTER:
            operator, ccsid, length = self._numbers(3, number)
            return FilterParameter(number, operator, self._text(length, ccsid, number))
        operator, length = self._numbers(2, number)
        return FilterParameter(number, operator, self._bytes(length, number))

    def _group(self, number: int) -> GroupParameter:
        (count,) = self._numbers(1, number)
        self._check(0 <= count <= len(self._data), number)
        self.at = self._end
        group = GroupParameter(number, tuple(self.parameter(nested=True) for _ in range(count)))
        self._kind = GROUP
        return group

    def _numbers(self, count: int, number: int) -> tuple[int, ...]:
        self._check(0 <= 4 * count <= self._end - self.at, number)
        values = struct.unpack_from(f"{self._order}{count}i", self._data, self.at)
        self.at += 4 * count
        return values

    def _bytes(self, length: int, number: int) -> bytes:
        self._check(0 <= length <= self._end - self.at, number)
        value = self._data[self.at : self.at + length]
        self.at += length
        return value

    def _text(self, length: int, ccsid: int, number: int) -> str:
        raw = self._bytes(length, number)
        used = ccsid if ccsid > 0 else self._ccsid
        try:
            return raw.decode(codec_of(used, self._order) or "ascii").rstrip(" \0")
        except UnicodeDecodeError as problem:
            raise PcfError(CCSID_ERROR, f"a string is not in character set {used}") from problem

    def _check(self, right: bool, number: int) -> None:
        if not right:
            reason = LENGTH_ERRORS.get(self._kind, MESSAGE_LENGTH_ERROR)
            raise PcfError(reason, "a length or a count is wrong", number)


def encode(header: CommandHeader, parameters: Iterable[Parameter], order: Order = "<") -> bytes:
    """Put a message together; the count of parameters is written by itself."""
    listed = list(parameters)
    parts = [
        struct.pack(
            f"{order}9i",
            header.type,
            HEADER_LENGTH,
            header.version,
            header.command,
            header.sequence,
            header.control,
            header.comp_code,
            header.reason,
            len(listed),
        )
    ]
    parts.extend(_encode(one, order) for one in listed)
    return b"".join(parts)


def _encode(one: Parameter, order: Order) -> bytes:
    if isinstance(one, Integer):
        if one.wide:
            return struct.pack(f"{order}4iq", INTEGER_64, 24, one.number, 0, one.value)
        return struct.pack(f"{order}4i", INTEGER, 16, one.number, one.value)
    if isinstance(one, String):
        raw = one.value.encode().ljust(one.length)
        return _structure(order, STRING, one.number, (CCSID_UTF_8, len(raw)), raw)
    if isinstance(one, Integers):
        fixed = (len(one.values), *one.values)
        return _structure(order, INTEGER_LIST, one.number, fixed, b"")
    if isinstance(one, Strings):
        raws = [value.encode() for value in one.values]
        longest = max([one.length, *map(len, raws)])
        length = longest + -longest % 4  # readers of lists take each for padded
        raw = b"".join(value.ljust(length) for value in raws)
        return _structure(order, STRING_LIST, one.number, (CCSID_UTF_8, len(raws), length), raw)
    if isinstance(one, Bytes):
        return _structure(order, BYTES, one.number, (len(one.value),), one.value)
    if isinstance(one, FilterParameter):
        return _encoded_condition(one, order)
    head = struct.pack(f"{order}4i", GROUP, 16, one.number, len(one.members))
    return head + b"".join(_encode(member, order) for member in one.members)


def _encoded_condition(one: FilterParameter, order: Order) -> bytes:
    if isinstance(one.value, int):
        fixed = (one.operator, one.value)
        return _structure(order, INTEGER_FILTER, one.number, fixed, b"")
    if isinstance(one.value, str):
        raw = one.value.encode()
        return _structure(
            order, STRING_FILTER, one.number, (one.operator, CCSID_UTF_8, len(raw)), raw
        )
    fixed = (one.operator, len(one.value))
    return _structure(order, BYTES_FILTER, one.number, fixed, one.value)


def _structure(order: Order, kind: int, number: int, fixed: tuple[int, ...], raw: bytes) -> bytes:
    padded = raw + bytes(-len(raw) % 4)
    head = (kind, 12 + 4 * len(fixed) + len(padded), number, *fixed)
    return struct.pack(f"{order}{len(head)}i", *head) + padded
