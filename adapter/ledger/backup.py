"""Backup files of a ledger: its raw records, framed and checksummed, between a header and a count.

    magic, then frames: bytes (4), CRC-32 (4), content
    the first frame: the header as JSON; the last: how many records there are, as JSON
    every other: offset (8), time in ms (8), 1 if there is a value (1), the value

A file that was not written to its end has no last frame and is refused. It knows records as bytes;
it must not know which of them count, nor what they mean.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from struct import Struct as Layout
from typing import BinaryIO

import msgspec
from msgspec import Struct

from adapter.ledger.port import LedgerError

MAGIC = b"mqk ledger backup\n"
FORMAT = 1
FRAME_BYTES_MAX = 64 * 1024 * 1024
"""A record has 8 MiB at most: more than this is damage, and not to be asked of memory."""
_FRAME = Layout(">II")
_RECORD = Layout(">QqB")


class BackupError(LedgerError):
    """A backup file cannot be written or read; the text says why, and what to do."""


class Raw(Struct, gc=False):
    """One record of a ledger topic as it lies there. time_ms: when the ledger took it."""

    offset: int
    time_ms: int
    value: bytes | None


class Header(Struct, kw_only=True):
    """What a backup says of itself. first, end: the offsets it holds, end excluded.

    versions: of what wrote it: mqk, envelope, entry; made_ms: when, in ms since 1970.
    """

    queue_manager: str
    topic: str
    first: int
    end: int
    made_ms: int
    versions: dict[str, str | int]
    format: int = FORMAT


class Last(Struct):
    """The last frame: it proves that the file was written to its end."""

    records: int


def write(path: Path, header: Header, records: Iterable[Raw]) -> int:
    """Write a new file and return how many records it holds; it is on disk when this returns.

    Never overwrites; removes a file that could not be finished. Raises BackupError.
    """
    try:
        file = path.open("xb")
    except FileExistsError as error:
        raise BackupError(f"{path} exists already: remove it, or name another file") from error
    except OSError as error:
        raise _failed("written", path, error) from error
    try:
        with file:
            return _write(file, header, records)
    except OSError as error:
        path.unlink(missing_ok=True)
        raise _failed("written", path, error) from error
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def _write(file: BinaryIO, header: Header, records: Iterable[Raw]) -> int:
    count = 0
    file.write(MAGIC)
    _write_frame(file, msgspec.json.encode(header))
    for raw in records:
        head = _RECORD.pack(raw.offset, raw.time_ms, raw.value is not None)
        _write_frame(file, head + (raw.value or b""))
        count += 1
    _write_frame(file, msgspec.json.encode(Last(count)))
    file.flush()
    os.fsync(file.fileno())
    return count


def _write_frame(file: BinaryIO, content: bytes) -> None:
    file.write(_FRAME.pack(len(content), zlib.crc32(content)))
    file.write(content)


def read_header(path: Path) -> Header:
    """Read what a backup says of itself. Raises BackupError."""
    with _open(path) as file:
        return _read_header(path, file)


def read(path: Path) -> Iterator[Raw]:
    """Read a backup's records in order; whatever is damaged or missing raises BackupError."""
    with _open(path) as file:
        header = _read_header(path, file)
        for offset in range(header.first, header.end):
            content = _read_frame(path, file)
            if len(content) < _RECORD.size:
                raise _damaged(path, f"it ends before offset {offset}")
            found, time_ms, has_value = _RECORD.unpack_from(content)
            if found != offset:
                raise _damaged(path, f"offset {offset} is missing, {found} comes instead")
            yield Raw(offset, time_ms, content[_RECORD.size :] if has_value else None)
        _check_end(path, file, header.end - header.first)


def _check_end(path: Path, file: BinaryIO, records: int) -> None:
    try:
        last = msgspec.json.decode(_read_frame(path, file), type=Last)
    except msgspec.DecodeError as error:
        raise _damaged(path, "it does not end where it should") from error
    if last.records != records or file.read(1):
        raise _damaged(path, f"it has other records than the {records} that it names")


def _open(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise _failed("read", path, error) from error


def _read_header(path: Path, file: BinaryIO) -> Header:
    if file.read(len(MAGIC)) != MAGIC:
        raise BackupError(f"{path} is no backup of a ledger: name a file that mqk has written")
    try:
        header = msgspec.json.decode(_read_frame(path, file), type=Header)
    except msgspec.DecodeError as error:
        raise _damaged(path, f"its header is not understood ({error})") from error
    if header.format != FORMAT:
        raise BackupError(
            f"{path} has format {header.format} and this mqk reads format {FORMAT}: use the mqk "
            f"that wrote it ({header.versions.get('mqk', 'unknown')})"
        )
    return header


def _read_frame(path: Path, file: BinaryIO) -> bytes:
    at = file.tell()
    head = file.read(_FRAME.size)
    if len(head) < _FRAME.size:
        raise _damaged(path, f"it ends at byte {at}, before its last record")
    size, checksum = _FRAME.unpack(head)
    content = file.read(size) if size <= FRAME_BYTES_MAX else b""
    if len(content) < size:
        raise _damaged(path, f"it ends within what begins at byte {at}")
    if zlib.crc32(content) != checksum:
        raise _damaged(path, f"what begins at byte {at} has a wrong checksum")
    return content


def _damaged(path: Path, what: str) -> BackupError:
    return BackupError(f"{path} is damaged: {what}. Use another backup")


def _failed(done: str, path: Path, error: OSError) -> BackupError:
    return BackupError(f"{path} cannot be {done}: {error.strerror or error}")
