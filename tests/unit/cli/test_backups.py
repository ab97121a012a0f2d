"""mqk ledger backup: the file that it leaves, or leaves not. What it writes: tests/unit/backup."""

from pathlib import Path

import pytest

from adapter.cli.backups import _examine_new
from adapter.storage.backup import contents
from adapter.storage.backup.file import SnapshotHead, new
from adapter.storage.ledger.port import LedgerError
from adapter.storage.ledger.seals import NO_KEYS
from tests.support.backup_place import header


def written(path: Path) -> Path:
    with new(path, header()) as writer:
        writer.write(SnapshotHead(0, bytes(16), 0, 0, 1))
    return path


def test_a_new_backup_that_cannot_be_restored_is_removed(tmp_path: Path) -> None:
    path = written(tmp_path / "backup")
    with pytest.raises(LedgerError, match="its snapshot is not whole"):
        _examine_new(path, NO_KEYS)
    assert not path.exists()


def test_a_new_backup_whose_check_is_interrupted_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another run would find it there, and refuse to write over it."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    path = written(tmp_path / "backup")
    monkeypatch.setattr(contents, "examine", interrupted)
    with pytest.raises(KeyboardInterrupt):
        _examine_new(path, NO_KEYS)
    assert not path.exists()
