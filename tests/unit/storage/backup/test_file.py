"""Backup files: what was written comes back, and nothing that is damaged does."""

import stat
import struct
import zlib
from pathlib import Path

import msgspec
import pytest

from adapter.core.attributes.queue import MESSAGE_LENGTH_MAX
from adapter.storage.backup import file as files
from adapter.storage.backup.file import (
    BackupError,
    BackupHeader,
    BackupLane,
    CopiedRecord,
    Frame,
    Last,
    LedgerRecord,
    SnapshotHead,
    SnapshotPart,
)
from tests.support.backup_place import header

FRAMES: list[Frame] = [
    BackupLane("Q", 1, 4),
    CopiedRecord(7, 1_700_000_000_000, [("mqmd", b"\x01x"), ("none", None)], None, b"body"),
    CopiedRecord(8, 1, [], b"key", None),
    SnapshotHead(5, b"o" * 16, 3, 4, 1),
    SnapshotPart(b"state"),
    LedgerRecord(5, -1, None),
    LedgerRecord(6, 4, b"\0" * 99),
]


def write(path: Path, head: BackupHeader | None = None, frames: list[Frame] = FRAMES) -> None:
    with files.new(path, head or header()) as writer:
        for frame in frames:
            writer.write(frame)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "ledger.backup"
    write(path)
    return path


def test_what_was_written_comes_back(file: Path) -> None:
    assert files.read_header(file) == header()
    assert list(files.read(file)) == FRAMES


def test_a_part_of_a_snapshot_with_the_longest_message_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "long"
    part = SnapshotPart(bytes(MESSAGE_LENGTH_MAX + 1024 * 1024))
    write(path, frames=[FRAMES[0], part])
    assert list(files.read(path)) == [FRAMES[0], part]


def test_what_was_taken_back_does_not(tmp_path: Path) -> None:
    path = tmp_path / "back"
    with files.new(path, header()) as writer:
        writer.write(FRAMES[0])
        mark = writer.mark()
        writer.write(FRAMES[1])
        writer.back(mark)
        writer.write(FRAMES[2])
    assert list(files.read(path)) == [FRAMES[0], FRAMES[2]]


def test_a_file_is_never_overwritten(file: Path) -> None:
    before = file.read_bytes()
    with pytest.raises(BackupError, match="exists already: remove it, or name another file"):
        write(file)
    assert file.read_bytes() == before


def test_a_file_that_cannot_be_finished_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "half"
    with pytest.raises(ZeroDivisionError), files.new(path, header()):
        assert 1 // 0
    assert not path.exists()


def test_files_that_cannot_be_had_are_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(BackupError, match="cannot be written: No such file or directory"):
        write(tmp_path / "no" / "such")
    with pytest.raises(BackupError, match="cannot be read: No such file or directory"):
        files.read_header(tmp_path / "none")


def test_every_damaged_byte_is_found(file: Path) -> None:
    whole = file.read_bytes()
    for at in range(len(whole)):
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 0x40]) + whole[at + 1 :])
        with pytest.raises(BackupError):
            list(files.read(file))


def test_every_torn_file_is_found(file: Path) -> None:
    whole = file.read_bytes()
    for size in range(len(whole)):
        file.write_bytes(whole[:size])
        with pytest.raises(BackupError):
            list(files.read(file))
    file.write_bytes(whole + b"x")
    with pytest.raises(BackupError, match="other frames than the 7 that it names"):
        list(files.read(file))


def block(content: bytes) -> bytes:
    return struct.pack(">II", len(content), zlib.crc32(content)) + content


def by_hand(path: Path, number: int, *blocks: bytes) -> None:
    """Write a file of another format, or with other blocks, than are written now."""
    head = msgspec.structs.replace(header(), format=number, versions={"mqk": "9.1"})
    path.write_bytes(files.MAGIC + b"".join(map(block, (msgspec.json.encode(head), *blocks))))


def compressed(*frames: Frame) -> bytes:
    """One block."""
    raw = [msgspec.msgpack.encode(one) for one in frames]
    return zlib.compress(b"".join(struct.pack(">I", len(one)) + one for one in raw))


def compressed_as(frame: bytes) -> bytes:
    """One block of bytes that are meant to be a frame."""
    return zlib.compress(struct.pack(">I", len(frame)) + frame)


def test_frames_that_are_missing_are_found(tmp_path: Path) -> None:
    """Each block has its checksum; the last frame says how many there are."""
    path = tmp_path / "less"
    by_hand(path, 3, compressed(*FRAMES[:3]), compressed(Last(7)))
    with pytest.raises(BackupError, match="damaged: it has other frames than the 7"):
        list(files.read(path))
    by_hand(path, 3, compressed(FRAMES[0], Last(1), FRAMES[1]))
    with pytest.raises(BackupError, match="damaged: frames follow the last one"):
        list(files.read(path))
    by_hand(path, 3, compressed(FRAMES[0], Last(1)))
    assert list(files.read(path)) == FRAMES[:1]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not compressed",
        zlib.compress(b""),
        compressed(*FRAMES)[:-1],
        compressed(*FRAMES) + b"x",
        zlib.compress(struct.pack(">I", 99) + b"short"),
        zlib.compress(b"ab"),
        zlib.compress(bytes(files.BLOCK_BYTES_MAX + 1)),
        zlib.compress(struct.pack(">I", 50_000) + b"\x91" * 50_000),
        compressed_as(msgspec.msgpack.encode(FRAMES[0]).replace(b"Q", b"\xff")),
    ],
)
def test_a_block_that_is_none_is_damage(tmp_path: Path, content: bytes) -> None:
    """Also one that would take more memory than any that is written."""
    path = tmp_path / "bad"
    by_hand(path, 3, content)
    with pytest.raises(BackupError, match="is damaged"):
        list(files.read(path))


def test_files_of_the_format_before_are_read(tmp_path: Path) -> None:
    path = tmp_path / "old"
    by_hand(path, 2, *map(msgspec.msgpack.encode, (*FRAMES, Last(len(FRAMES)))))
    assert list(files.read(path)) == FRAMES


def test_only_its_owner_may_read_it(file: Path) -> None:
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_bodies_are_compressed(tmp_path: Path) -> None:
    path = tmp_path / "long"
    body = b'{"order": 42, "customer": "somebody"}'
    frames: list[Frame] = [CopiedRecord(seq, 1, [], None, body) for seq in range(50_000)]
    write(path, frames=frames)
    assert path.stat().st_size < len(body) * len(frames) / 4
    assert list(files.read(path)) == frames


@pytest.mark.parametrize("number", [1, 4])
def test_another_format_names_who_wrote_it(tmp_path: Path, number: int) -> None:
    path = tmp_path / "other"
    by_hand(path, number)
    words = rf"format {number} and this mqk reads format 3: use the mqk that wrote it \(9.1\)"
    with pytest.raises(BackupError, match=words):
        files.read_header(path)


def test_what_is_no_backup_is_said_so(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("hello")
    with pytest.raises(BackupError, match="is not a backup of a ledger: name a file that mqk has"):
        files.read_header(path)
