"""Whether a broker runs on its data, as its lock says."""

import fcntl
import subprocess
import sys
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


@pytest.mark.parametrize(("kind", "is_broker"), [("LOCK_EX", True), ("LOCK_SH", False)])
def test_a_broker_is_told_from_another_process_that_asks(
    tmp_path: Path, kind: str, is_broker: bool
) -> None:
    (tmp_path / ".lock").touch()
    program = (
        "import fcntl, sys; file = open(sys.argv[1], 'r+b');"
        f"fcntl.lockf(file, fcntl.{kind}); print('locked', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / ".lock")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"locked\n"
        assert is_in_use(tmp_path) == is_broker
        other.communicate(timeout=30)
