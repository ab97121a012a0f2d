"""Backup files: what was written comes back, and nothing that is damaged does."""

from pathlib import Path

import pytest

from adapter.ledger import backup
from adapter.ledger.backup import BackupError, Header, Raw

RECORDS = [
    Raw(5, 1_700_000_000_000, b"one"),
    Raw(6, -1, None),
    Raw(7, 3, b""),
    Raw(8, 4, b"\0" * 99),
]


def header(end: int = 9) -> Header:
    return Header(
        queue_manager="QM1",
        topic="mq.QM1.ledger",
        first=5,
        end=end,
        made_ms=7,
        versions={"mqk": "1"},
    )


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "ledger.backup"
    assert backup.write(path, header(), RECORDS) == 4
    return path


def test_what_was_written_comes_back(file: Path) -> None:
    assert backup.read_header(file) == header()
    assert list(backup.read(file)) == RECORDS


def test_a_file_is_never_overwritten(file: Path) -> None:
    before = file.read_bytes()
    with pytest.raises(BackupError, match="exists already: remove it, or name another file"):
        backup.write(file, header(), RECORDS)
    assert file.read_bytes() == before


def test_a_file_that_cannot_be_finished_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "half"
    with pytest.raises(ZeroDivisionError):
        backup.write(path, header(), (RECORDS[0] for _ in range(1 // 0)))
    assert not path.exists()


def test_files_that_cannot_be_had_are_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(BackupError, match="cannot be written: No such file or directory"):
        backup.write(tmp_path / "no" / "such", header(), RECORDS)
    with pytest.raises(BackupError, match="cannot be read: No such file or directory"):
        backup.read_header(tmp_path / "none")


def test_every_damaged_byte_is_found(file: Path) -> None:
    whole = file.read_bytes()
    for at in range(len(whole)):
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 0x40]) + whole[at + 1 :])
        with pytest.raises(BackupError):
            list(backup.read(file))


def test_every_torn_file_is_found(file: Path) -> None:
    whole = file.read_bytes()
    for size in range(len(whole)):
        file.write_bytes(whole[:size])
        with pytest.raises(BackupError):
            list(backup.read(file))
    file.write_bytes(whole + b"x")
    with pytest.raises(BackupError, match="other records than the 4 that it names"):
        list(backup.read(file))


@pytest.mark.parametrize(
    ("end", "records", "words"),
    [
        (9, RECORDS[:2] + RECORDS[3:], "offset 7 is missing, 8 comes instead"),
        (10, RECORDS, "it ends before offset 9"),
        (8, RECORDS, "it does not end where it should"),
    ],
)
def test_records_that_are_missing_are_found(
    tmp_path: Path, end: int, records: list[Raw], words: str
) -> None:
    path = tmp_path / "gap"
    backup.write(path, header(end), records)
    with pytest.raises(BackupError, match=words):
        list(backup.read(path))


def test_a_newer_format_names_who_wrote_it(tmp_path: Path) -> None:
    path = tmp_path / "newer"
    newer = header()
    newer.format = 2
    newer.versions = {"mqk": "9.1"}
    backup.write(path, newer, RECORDS)
    with pytest.raises(BackupError, match=r"format 2 and this mqk reads format 1: .*\(9.1\)"):
        backup.read_header(path)
