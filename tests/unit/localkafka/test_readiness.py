"""Whether a broker runs on its data, as its lock says, and when it is ready."""

import fcntl
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from adapter.localkafka import readiness
from adapter.localkafka.readiness import await_ready, await_unused, is_in_use


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


def test_a_broker_that_answers_slowly_is_given_longer_each_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A machine with too much to do never answers a client that gives up too early."""
    given: list[float] = []

    class Slow:
        def list_topics(self, timeout: float) -> SimpleNamespace:
            given.append(timeout)
            if timeout < readiness.REQUEST_TIMEOUT_S_MAX or len(given) < 7:
                raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
            return SimpleNamespace(brokers={1: None})

    monkeypatch.setattr(readiness, "_listens", lambda _plan: True)
    monkeypatch.setattr(readiness, "_quiet_admin", lambda _address: Slow())
    monkeypatch.setattr(readiness.Patience, "check", lambda *_: None)
    plan: Any = SimpleNamespace(number=1, address="", port=1)
    await_ready([plan], lambda: None)
    assert given == [2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0]
