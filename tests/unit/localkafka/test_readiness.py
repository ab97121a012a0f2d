"""Whether a broker runs on its data, as its lock says."""

import fcntl
from pathlib import Path

import pytest

from adapter.localkafka.readiness import await_unused, is_in_use


def test_data_without_a_lock_is_not_in_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if the broker removes it just now."""
    monkeypatch.setattr(Path, "exists", lambda _: True)
    assert not is_in_use(tmp_path)
    assert await_unused(tmp_path, 0.0)


def test_a_lock_that_no_process_has_is_left_over(tmp_path: Path) -> None:
    (tmp_path / ".lock").touch()
    assert not is_in_use(tmp_path)


def test_a_lock_that_cannot_be_had(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise BlockingIOError

    (tmp_path / ".lock").touch()
    monkeypatch.setattr(fcntl, "lockf", refuse)
    assert is_in_use(tmp_path)
