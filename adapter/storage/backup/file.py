"""Backup files: frames in compressed blocks with a checksum each, between a header and a count.

    magic, then blocks: bytes (4), CRC-32 (4), content
    the first block: the header as JSON
    every other: compressed by zlib, frames: bytes (4), one of Frame as msgpack

In files of format 2, which are read as well, every other block is one frame and not compressed. A
file that was not written to its end has no last frame, and is refused. One block is in memory at a
time. It must not know in which order frames make sense.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from struct import Struct as Layout
from struct import error as StructError  # noqa: N812 -- it is the name of a class
from typing import BinaryIO

import msgspec
from msgspec import Struct

from adapter.storage.ledger.port import LedgerError, Raw

MAGIC = b"mqk ledger backup\n"
FORMAT = 3
"""1 held nothing but the ledger's records."""
UNCOMPRESSED = 2
"""The format before."""
BLOCK_BYTES = 1024 * 1024
"""Frames that are compressed together. More saves hardly more."""
BLOCK_BYTES_MAX = 128 * 1024 * 1024
"""A part of a snapshot may have a message of 100 MiB that was not copied: more than this is damage,
and not to be asked of memory."""
LEVEL = 3
"""Of zlib: higher ones take longer than reading Kafka does."""
MODE = 0o600
"""A backup holds the bodies of all messages."""
_BLOCK = Layout(">II")
_FRAME = Layout(">I")
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What bytes raise that are not what was encoded, no UTF-8, or nested too deep."""


class BackupError(LedgerError):
    """A backup cannot be taken, read or restored; the text says why, and what to do."""


class BackupHeader(Struct, kw_only=True):
    """What a backup says of itself. versions: of what wrote it; made_ms: when, since 1970."""

    queue_manager: str
    made_ms: int
    versions: dict[str, str | int]
    format: int = FORMAT


class BackupLane(Struct, tag=1, array_like=True, frozen=True):
    """Says of which lane the copies are that follow."""

    queue: str
    incarnation: int
    lane: int


class CopiedRecord(Struct, tag=2, array_like=True, gc=False):
    """One record of a queue's topic as it lies there; seq: of its message."""

    seq: int
    time_ms: int
    headers: list[tuple[str, bytes | None]]
    key: bytes | None
    value: bytes | None


class SnapshotHead(Struct, tag=3, array_like=True, gc=False):
    """The head of the snapshot; its parts follow. See ledger.snapshots.Snapshot."""

    offset: int
    owner: bytes
    n: int
    cut_n: int
    parts: int


class SnapshotPart(Struct, tag=4, array_like=True, gc=False):
    """One part of the snapshot."""

    content: bytes


class LedgerRecord(Struct, tag=5, array_like=True, gc=False):
    """One record of the ledger as it lies there: the snapshot's own, and all that follow."""

    offset: int
    time_ms: int
    value: bytes | None

    def raw(self) -> Raw:
        """The same as others know it."""
        return Raw(self.offset, self.time_ms, self.value)


class Last(Struct, tag=6, array_like=True, gc=False):
    """The last frame: it proves that the file was written to its end. frames: all before it."""

    frames: int


Frame = BackupLane | CopiedRecord | SnapshotHead | SnapshotPart | LedgerRecord | Last

_decoder: msgspec.msgpack.Decoder[Frame] = msgspec.msgpack.Decoder(Frame)


class BackupWriter:
    """Writes frames behind a header. Made by new()."""

    def __init__(self, file: BinaryIO, header: BackupHeader) -> None:
        self._file = file
        self._frames = 0
        self._encoder = msgspec.msgpack.Encoder()
        self._block = bytearray()
        file.write(MAGIC)
        self._write(msgspec.json.encode(msgspec.structs.replace(header, format=FORMAT)))

    def write(self, frame: Frame) -> None:
        """Write the next frame."""
        content = self._encoder.encode(frame)
        self._block += _FRAME.pack(len(content))
        self._block += content
        self._frames += 1
        if len(self._block) >= BLOCK_BYTES:
            self._end_block()

    def mark(self) -> tuple[int, int]:
        """Where the file ends now, for back()."""
        self._end_block()
        return self._file.tell(), self._frames

    def back(self, mark: tuple[int, int]) -> None:
        """Take back all that was written since a mark."""
        at, self._frames = mark
        self._block.clear()
        self._file.seek(at)
        self._file.truncate()

    def finish(self) -> None:
        """Write the last frame; the file is on disk when this returns."""
        self.write(Last(self._frames))
        self._end_block()
        self._file.flush()
        os.fsync(self._file.fileno())

    def _end_block(self) -> None:
        if self._block:
            self._write(zlib.compress(self._block, LEVEL))
            self._block.clear()

    def _write(self, content: bytes) -> None:
        self._file.write(_BLOCK.pack(len(content), zlib.crc32(content)))
        self._file.write(content)


@contextmanager
def new(path: Path, header: BackupHeader) -> Iterator[BackupWriter]:
    """Write a new file that only its owner may read; it is finished behind the block.

    Never overwrites; removes a file that could not be finished. Raises BackupError.
    """
    try:
        file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, MODE), "wb")
    except FileExistsError as error:
        raise BackupError(f"{path} exists already: remove it, or name another file") from error
    except OSError as error:
        raise _failure("written", path, error) from error
    try:
        with file:
            writer = BackupWriter(file, header)
            yield writer
            writer.finish()
    except OSError as error:
        path.unlink(missing_ok=True)
        raise _failure("written", path, error) from error
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def read_header(path: Path) -> BackupHeader:
    """Read what a backup says of itself. Raises BackupError."""
    with _open(path) as file:
        return _read_header(path, file)


def read(path: Path) -> Iterator[Frame]:
    """Read all frames but the last one; whatever is damaged or missing raises BackupError."""
    with _open(path) as file:
        is_compressed = _read_header(path, file).format == FORMAT
        frames, last = 0, None
        while last is None:
            for frame in _block(path, file, is_compressed):
                if last is not None:
                    raise damage(path, "frames follow the last one")
                if isinstance(frame, Last):
                    last = frame
                else:
                    yield frame
                    frames += 1
        if last.frames != frames or file.read(1):
            raise damage(path, f"it has other frames than the {last.frames} that it names")


def _block(path: Path, file: BinaryIO, is_compressed: bool) -> Iterator[Frame]:
    """Read the frames of the next block."""
    at = file.tell()
    content = _read_block(path, file)
    try:
        if not is_compressed:
            yield _decoder.decode(content)
            return
        unpacker = zlib.decompressobj()
        frames = memoryview(unpacker.decompress(content, BLOCK_BYTES_MAX))
        if not unpacker.eof or unpacker.unused_data:
            raise damage(path, f"the data at byte {at} is not a single block")
        while frames:
            (size,) = _FRAME.unpack_from(frames)
            frame, frames = frames[_FRAME.size : _FRAME.size + size], frames[_FRAME.size + size :]
            yield _decoder.decode(frame)
    except (*UNREADABLE, zlib.error, StructError) as error:
        raise damage(path, f"what begins at byte {at} is not understood ({error})") from error


def _open(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise _failure("read", path, error) from error


class _Version(Struct):
    """What every header has, whatever its format."""

    format: int
    versions: dict[str, str | int]


def _read_header(path: Path, file: BinaryIO) -> BackupHeader:
    if file.read(len(MAGIC)) != MAGIC:
        raise BackupError(f"{path} is not a backup of a ledger: name a file that mqk has written")
    content = _read_block(path, file)
    try:
        found = msgspec.json.decode(content, type=_Version)
        if found.format in (FORMAT, UNCOMPRESSED):
            return msgspec.json.decode(content, type=BackupHeader)
    except UNREADABLE as error:
        raise damage(path, f"its header is not understood ({error})") from error
    raise BackupError(
        f"{path} has format {found.format} and this mqk reads format {FORMAT}: use the mqk that "
        f"wrote it ({found.versions.get('mqk', 'unknown')})"
    )


def _read_block(path: Path, file: BinaryIO) -> bytes:
    at = file.tell()
    head = file.read(_BLOCK.size)
    if len(head) < _BLOCK.size:
        raise damage(path, f"it ends at byte {at}, before its last frame")
    size, checksum = _BLOCK.unpack(head)
    content = file.read(size) if size <= BLOCK_BYTES_MAX else b""
    if len(content) < size:
        raise damage(path, f"it is cut off: the block at byte {at} is incomplete")
    if zlib.crc32(content) != checksum:
        raise damage(path, f"what begins at byte {at} has a wrong checksum")
    return content


def damage(path: Path, what: str) -> BackupError:
    """Say that a file is not what was written."""
    return BackupError(f"{path} is damaged: {what}. Use another backup")


def _failure(done: str, path: Path, error: OSError) -> BackupError:
    return BackupError(f"{path} cannot be {done}: {error.strerror or error}")
