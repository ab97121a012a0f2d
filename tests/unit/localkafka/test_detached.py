"""The state of a detached Kafka, as far as no broker is needed."""

import json
import signal
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from msgspec.structs import replace

from adapter.localkafka import LocalKafkaError, detached, ports, preparation, readiness
from adapter.localkafka.alone import alone_on
from adapter.localkafka.settings import broker_folder, data_folder

WAIT_S = 30.0


def test_where_none_was_started(tmp_path: Path) -> None:
    found = detached.status(tmp_path)
    assert (found.running, found.bootstrap_servers, found.pids) == (False, "", {})
    assert found.data_dir == str(tmp_path)


def test_stopping_what_does_not_run_is_no_error(tmp_path: Path) -> None:
    assert not detached.stop_detached(tmp_path).running


def test_a_stop_waits_for_another_process_that_starts_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else it would say that Kafka is not running, which then runs."""
    brokers: list[str] = []
    found = detached.status(tmp_path)
    monkeypatch.setattr(detached, "_end", lambda *_: brokers.clear())
    monkeypatch.setattr(detached, "status", lambda _: replace(found, running=bool(brokers)))
    said, waits = list[str](), threading.Event()

    def say(text: str) -> None:
        said.append(text)
        waits.set()

    with ThreadPoolExecutor(1) as threads, alone_on(tmp_path, say):
        stopping = threads.submit(detached.find_and_stop, tmp_path, say)
        assert waits.wait(WAIT_S)
        brokers.append("it has come up")
    was_running, after = stopping.result(WAIT_S)
    assert (was_running, after.running) == (True, False)
    assert said == [f"waiting for another process, which starts or stops Kafka on {tmp_path}"]


def test_where_there_is_no_folder_a_stop_makes_none(tmp_path: Path) -> None:
    assert not detached.stop_detached(tmp_path / "none").running
    assert not (tmp_path / "none").exists()


def test_a_process_id_alone_does_not_make_it_run(tmp_path: Path) -> None:
    state = '{"bootstrap_servers": "h:1", "kafka_version": "4", "pids": {"1": 1}}'
    (tmp_path / "localkafka.json").write_text(state)
    found = detached.status(tmp_path)
    assert (found.running, found.bootstrap_servers, found.brokers) == (False, "h:1", 1)
    assert not detached.stop_detached(tmp_path).running


BROKER = """
import fcntl, sys, time
lock = open(sys.argv[1], "w")
fcntl.lockf(lock, fcntl.LOCK_EX)
print("runs", flush=True)
time.sleep(60)
"""


def test_a_stop_signals_no_process_but_the_one_that_was_started_and_holds_its_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its id may be another program's by now, and its data another program's Kafka's."""
    monkeypatch.setattr(detached, "STOP_GRACE_S", 0.1)
    data = data_folder(broker_folder(tmp_path, 1))
    data.mkdir(parents=True)
    with (
        subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as stranger,
        subprocess.Popen(
            [sys.executable, "-c", BROKER, str(data / ".lock")], stdout=subprocess.PIPE
        ) as broker,
    ):
        assert broker.stdout is not None
        assert broker.stdout.readline() == b"runs\n"
        assert readiness.holder_of(data) == broker.pid
        ended = {}
        for process in (stranger, broker):
            state = {"bootstrap_servers": "h:1", "kafka_version": "4", "pids": {"1": process.pid}}
            (tmp_path / "localkafka.json").write_text(json.dumps(state))
            ran = detached.status(tmp_path).running
            assert not detached.stop_detached(tmp_path).running
            ended[process.pid] = (ran, stranger.poll(), broker.poll())
        stranger.kill()
        broker.kill()
    assert ended[stranger.pid] == (False, None, None)
    assert ended[broker.pid] == (True, None, -signal.SIGTERM)
    assert readiness.holder_of(data) is None


LINGERING = """
import fcntl, os, signal, sys, time
lock = open(sys.argv[1], "w")
fcntl.lockf(lock, fcntl.LOCK_EX)
signal.signal(signal.SIGTERM, lambda *_: os.remove(sys.argv[1]))
print("runs", flush=True)
while True:
    time.sleep(60)
"""


def test_a_broker_that_lingers_when_its_data_is_closed_has_ended_when_a_stop_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of three brokers the last ones do, and a start right behind the stop would meet them."""
    monkeypatch.setattr(detached, "LINGER_S", 0.1)
    data = data_folder(broker_folder(tmp_path, 1))
    data.mkdir(parents=True)
    command = [sys.executable, "-c", LINGERING, str(data / ".lock")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as lingering:
        assert lingering.stdout is not None
        assert lingering.stdout.readline() == b"runs\n"
        state = {"bootstrap_servers": "h:1", "kafka_version": "4", "pids": {"1": lingering.pid}}
        (tmp_path / "localkafka.json").write_text(json.dumps(state))
        assert detached.status(tmp_path).running
        assert not detached.stop_detached(tmp_path).running
        status = lingering.poll()
        lingering.kill()
    assert status == -signal.SIGKILL


def test_a_damaged_state_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "localkafka.json").write_text('{"pids": 3}')
    with pytest.raises(LocalKafkaError, match=r"localkafka\.json is damaged"):
        detached.status(tmp_path)


def test_the_default_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert detached.status().data_dir == str(tmp_path / "mqk" / "kafka")
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert detached.default_data_dir() == tmp_path / ".local" / "share" / "mqk" / "kafka"


def test_finding_users_23_a_taken_port_is_found_before_anything_is_downloaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def download(_say: object) -> None:
        raise AssertionError("it was prepared first")

    monkeypatch.setattr(preparation, "find_machine", download)
    with socket.create_server((ports.HOST, 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(LocalKafkaError, match=str(port)):
            detached.start_detached(1, tmp_path, port=port)
