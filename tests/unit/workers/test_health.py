"""The file and the port that say how a worker does."""

import json
import resource
import selectors
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from adapter.errors import InvalidOption, InvalidValue
from adapter.workers import health
from adapter.workers.figures import WorkFigures
from adapter.workers.health import State, WorkerHealth
from adapter.workers.settings import WorkerSettings

STATE = State(
    WorkFigures(done=7, failed=2, seconds=1.5, in_hand=1), processes=2, well=2, restarts=3
)


class Served:
    """WorkerHealth on a port, and a selector that is asked by hand."""

    def __init__(self, file: Path | None = None) -> None:
        self.state = STATE
        self.selector = selectors.DefaultSelector()
        settings = WorkerSettings(queue="Q", connecting={}, health_file=file, health_port=0)
        self.health = WorkerHealth(settings, self.selector, lambda: self.state)
        assert self.health._listener is not None
        self.address = self.health._listener.getsockname()

    def turn(self) -> None:
        for key, _ in self.selector.select(1):
            key.data()

    def ask(self, request: bytes) -> tuple[str, str]:
        """Send a request; return the status and the body."""
        with socket.create_connection(self.address) as visit:
            self.turn()
            visit.sendall(request)
            self.turn()
            head, _, body = visit.makefile().read().partition("\n\n")
        return head.partition("\n")[0].partition(" ")[2], body


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    one = Served(tmp_path / "health")
    yield one
    one.health.close()
    one.health.let_go()
    one.selector.close()


def test_probes(served: Served) -> None:
    status, body = served.ask(b"GET /ready HTTP/1.1\r\n\r\n")
    assert status == "200 OK"
    assert json.loads(body) == {
        "ready": True, "processes": 2, "processes_ready": 2, "restarts": 3, "done": 7,
        "failed": 2, "in_hand": 1,
    }  # fmt: skip
    served.state = State(WorkFigures(), processes=2, well=1, restarts=0)
    assert served.ask(b"GET /ready?x=1 HTTP/1.1\r\n\r\n")[0] == "503 Service Unavailable"
    assert served.ask(b"GET /live HTTP/1.1\r\n\r\n")[0] == "200 OK"
    served.state = State(WorkFigures(), processes=2, well=2, restarts=0, is_stopping=True)
    assert served.ask(b"GET /ready HTTP/1.1\r\n\r\n")[0] == "503 Service Unavailable"


def test_metrics(served: Served) -> None:
    _, body = served.ask(b"GET /metrics HTTP/1.1\r\n\r\n")
    lines = body.splitlines()
    assert "# TYPE mqk_worker_messages_total counter" in lines
    assert 'mqk_worker_messages_total{result="done"} 7' in lines
    assert 'mqk_worker_messages_total{result="failed"} 2' in lines
    assert "mqk_worker_handler_seconds_total 1.5" in lines
    assert "mqk_worker_processes_ready 2" in lines


def test_other_requests(served: Served) -> None:
    assert served.ask(b"GET / HTTP/1.1\r\n\r\n")[0] == "404 Not Found"
    assert served.ask(b"HEAD /live HTTP/1.1\r\n\r\n") == ("200 OK", "")
    assert served.ask(b"nonsense\r\n\r\n") == ("", "")
    assert served.ask(b"POST /live HTTP/1.1\r\n\r\n") == ("", "")


def test_who_says_nothing_is_dropped(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "VISIT_S", -1)
    with socket.create_connection(served.address) as visit:
        served.turn()
        served.health.tell()
        assert visit.recv(1) == b""


def test_the_oldest_of_too_many_makes_room(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "VISITS_MAX", 4)
    silent = []
    for number in range(12):
        silent.append(socket.create_connection(served.address))
        served.turn()
        if number % 3 == 2:
            assert served.ask(b"GET /live HTTP/1.1\r\n\r\n")[0] == "200 OK"
    assert len(served.health._visits) <= 4
    assert silent[0].recv(1) == b""
    for one in silent:
        one.close()


REQUEST = b"GET /live HTTP/1.1\r\nHost: h\r\n\r\n"


@pytest.mark.parametrize("cut", range(1, len(REQUEST)))
def test_a_request_may_come_in_pieces(served: Served, cut: int) -> None:
    with socket.create_connection(served.address) as visit:
        served.turn()
        visit.sendall(REQUEST[:cut])
        served.turn()
        visit.sendall(REQUEST[cut:])
        served.turn()
        assert visit.makefile().readline() == "HTTP/1.1 200 OK\n"
    assert served.health._visits == {}


@pytest.mark.parametrize("request_", [b"GET /live\n", b"GET /live HTTP/1.0\n\n"])
def test_short_forms_are_answered(served: Served, request_: bytes) -> None:
    assert served.ask(request_)[0] == "200 OK"


def test_who_has_said_half_and_goes_is_dropped(served: Served) -> None:
    with socket.create_connection(served.address) as visit:
        served.turn()
        visit.sendall(b"GET /li")
        served.turn()
    served.turn()
    assert served.health._visits == {}


def test_a_request_without_end_is_answered(served: Served) -> None:
    asked = b"GET /live HTTP/1.1\r\n" + b"a" * health.REQUEST_BYTES_MAX
    with socket.create_connection(served.address) as visit:
        served.turn()
        visit.sendall(asked)
        served.turn()
        served.turn()
    assert served.health._visits == {}


def test_the_file_is_there_while_all_is_well(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "TELL_S", 0)
    file = tmp_path / "health"
    served.state = State(WorkFigures(), processes=1, well=0, restarts=0)
    served.health.tell()
    assert not file.exists()
    served.state = STATE
    served.health.tell()
    assert json.loads(file.read_text())["done"] == 7
    assert list(tmp_path.iterdir()) == [file]
    served.health.close()
    assert not file.exists()


def test_a_file_that_cannot_be_written_is_told_and_outlived(
    served: Served, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "health").mkdir()
    (tmp_path / "health" / "in the way").touch()
    served.health.tell()
    assert "the health file cannot be written" in caplog.text
    served.health.close()  # nor can it be removed
    (tmp_path / "health" / "in the way").unlink()
    (tmp_path / "health").rmdir()


def test_what_cannot_be_used_is_refused_at_the_start(served: Served, tmp_path: Path) -> None:
    refused: list[tuple[dict[str, Any], str]] = [
        ({"health_port": served.address[1]}, "cannot be used: .*in use"),
        ({"health_file": tmp_path / "missing" / "health"}, "there is no folder"),
        ({"health_file": tmp_path}, "is not the path of a file"),
        ({"health_file": Path()}, "is not the path of a file"),
        ({"health_file": Path("..")}, "is not the path of a file"),
        ({"health_file": tmp_path / "a\0b"}, "is not the path of a file"),
        ({"health_port": 0, "health_host": "nohost.invalid"}, "cannot be used"),
        ({"health_port": 0, "health_host": "a\0b"}, "cannot be used"),
        ({"health_port": 0, "health_host": "ä" * 64}, "cannot be used"),
    ]
    for given, says in refused:
        settings = WorkerSettings(queue="Q", connecting={}, **given)
        with pytest.raises(InvalidOption, match=says):
            WorkerHealth(settings, served.selector, lambda: STATE)


@pytest.mark.parametrize(
    "wrong",
    [
        {"processes": 0},
        {"threads": 251},
        {"prefetch": 101},
        {"health_port": 65536},
        {"connecting": {"proceses": 2}},
        {"connecting": {"reconnect_timeout_s": -1}},
    ],
)
def test_settings_that_cannot_be_are_refused(wrong: dict[str, Any]) -> None:
    given: dict[str, Any] = {"queue": "Q", "connecting": {}, **wrong}
    with pytest.raises(InvalidValue):
        WorkerSettings(**given)


def test_who_cannot_be_accepted_waits_without_work_for_the_worker(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process without a descriptor left does not turn for it, and answers later."""
    monkeypatch.setattr(health, "FULL_PAUSE_S", 0.0)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with socket.create_connection(served.address) as visit:
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
        try:
            served.turn()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert served.selector.select(0.05) == []
        served.health.tell()
        served.turn()
        visit.sendall(b"GET /live HTTP/1.1\r\n\r\n")
        served.turn()
        assert visit.recv(15) == b"HTTP/1.1 200 OK"
