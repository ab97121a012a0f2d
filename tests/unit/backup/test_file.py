"""Backup files: what was written comes back, and nothing that is damaged does."""

from pathlib import Path

import msgspec
import pytest

from adapter.backup import file as files
from adapter.backup.file import BackupError, Copied, Cut, Entry, Frame, Header, Lane, Part
from tests.support.backup_place import header

FRAMES: list[Frame] = [
    Lane("Q", 1, 4),
    Copied(7, 1_700_000_000_000, [("mqmd", b"\x01x"), ("none", None)], None, b"body"),
    Copied(8, 1, [], b"key", None),
    Cut(5, b"o" * 16, 3, 4, 1),
    Part(b"state"),
    Entry(5, -1, None),
    Entry(6, 4, b"\0" * 99),
]


def write(path: Path, head: Header | None = None, frames: list[Frame] = FRAMES) -> None:
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


def test_frames_that_are_missing_are_found(file: Path) -> None:
    """Each has its checksum; the last one says how many there are."""
    whole = file.read_bytes()
    first = whole.index(msgspec.msgpack.encode(FRAMES[0])) - 8
    second = whole.index(msgspec.msgpack.encode(FRAMES[1])) - 8
    file.write_bytes(whole[:first] + whole[second:])
    with pytest.raises(BackupError, match="damaged: it has other frames than the 7"):
        list(files.read(file))


@pytest.mark.parametrize("number", [1, 3])
def test_another_format_names_who_wrote_it(tmp_path: Path, number: int) -> None:
    path = tmp_path / "other"
    other = header()
    other.format = number
    other.versions = {"mqk": "9.1"}
    write(path, other)
    words = rf"format {number} and this mqk reads format 2: use the mqk that wrote it \(9.1\)"
    with pytest.raises(BackupError, match=words):
        files.read_header(path)


def test_what_is_no_backup_is_said_so(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("hello")
    with pytest.raises(BackupError, match="is no backup of a ledger: name a file that mqk has"):
        files.read_header(path)
