"""mqk browse: everything is shown, nothing is taken."""

import json
import signal
import threading
from collections.abc import Callable
from typing import Any

import pytest

import adapter
from adapter.cli import messages
from adapter.client import browse
from adapter.testing import TestQueueManager
from tests.unit.cli.conftest import Mqk


@pytest.fixture
def filled(at: Mqk, manager: TestQueueManager) -> Mqk:
    with manager.connect() as qm:
        for priority in (1, 5, 3):
            qm.put("Q", f"p{priority}\x1b[31m\n", priority=priority)
    return at


def test_shows_all_in_the_order_of_delivery(filled: Mqk, manager: TestQueueManager) -> None:
    said = filled("browse", "Q")
    assert said.status == 0
    lines = said.out.splitlines()
    assert [line[:3] for line in lines] == ["[5]", "[3]", "[1]"]
    with manager.connect() as qm:
        assert qm.queue("Q").depth() == 3


def test_makes_bodies_printable(filled: Mqk) -> None:
    said = filled("browse", "Q", "--limit", 1)
    assert said.out.endswith("  p5\\x1b[31m\\n\n")


def test_shows_how_often_a_message_was_backed_out(filled: Mqk, manager: TestQueueManager) -> None:
    with manager.connect() as qm:
        unit = qm.unit()
        unit.begin()
        assert qm.get("Q", unit=unit) is not None
        unit.backout()
    assert "(backed out 1x)" in filled("browse", "Q", "--limit", 1).out


def test_json_has_an_object_a_line(filled: Mqk) -> None:
    told = [json.loads(line) for line in filled("browse", "Q", "--json").out.splitlines()]
    assert [one["priority"] for one in told] == [5, 3, 1]


def test_an_empty_queue_is_no_failure(at: Mqk) -> None:
    said = at("browse", "Q")
    assert (said.status, said.out) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["browse"], "Missing argument 'QUEUE'"),
        (["browse", "Q", "--limit", "0"], "0 is not in the range x>=1"),
        (["browse", "Q", "--message-id", "q"], "neither hexadecimal digits"),
        (["browse", "Q", "--timeout", "1"], "--timeout goes with --follow"),
        (["browse", "Q", "--follow", "--timeout", "0"], "0.0 is not in the range x>0"),
    ],
)
def test_wrong_use(arguments: list[str], words: str, at: Mqk) -> None:
    said = at(*arguments)
    assert said.status == 2
    assert words in said.err


def test_a_failure_names_its_reason(at: Mqk) -> None:
    said = at("browse", "NO.SUCH")
    assert said.status == 1
    assert "[MQRC_UNKNOWN_OBJECT_NAME]" in said.err


class Shown:
    """Does something in another thread when the command shows a message with this body."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **acts: Callable[[], object]) -> None:
        self._acts = acts
        self._as_line, self._as_json = messages.as_line, messages.as_json
        monkeypatch.setattr(messages, "as_line", self._line)
        monkeypatch.setattr(messages, "as_json", self._json)

    def _line(self, message: adapter.Message) -> str:
        self._act(message)
        return self._as_line(message)

    def _json(self, message: adapter.Message) -> dict[str, object]:
        self._act(message)
        return self._as_json(message)

    def _act(self, message: adapter.Message) -> None:
        act = self._acts.get(message.body.decode())
        if act is not None:
            threading.Thread(target=act, daemon=True).start()


def put(manager: TestQueueManager, body: str, **fields: int) -> Callable[[], object]:
    def act() -> None:
        with manager.connect() as qm:
            qm.put("Q", body, **fields)  # type: ignore[arg-type]

    return act


def test_finding_users_3_follow_shows_what_arrives_and_takes_nothing(
    at: Mqk, manager: TestQueueManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(manager, "a", priority=1)()
    Shown(monkeypatch, a=put(manager, "b", priority=0), b=put(manager, "c", priority=9))
    said = at("browse", "Q", "--follow", "--count", 3)
    assert (said.status, said.err) == (0, "")
    assert [(line[:3], line[-1]) for line in said.out.splitlines()] == [
        ("[1]", "a"),
        ("[0]", "b"),
        ("[9]", "c"),
    ]
    with manager.connect() as qm:
        assert qm.queue("Q").depth() == 3


def test_finding_users_3_follow_ends_in_time(at: Mqk, manager: TestQueueManager) -> None:
    put(manager, "a")()
    said = at("browse", "Q", "-f", "--timeout", 0.01, "--json")
    assert (said.status, said.err) == (0, "")
    assert json.loads(said.out)["body"] == "a"


def test_finding_users_3_ctrl_c_ends_follow(
    at: Mqk, manager: TestQueueManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(manager, "a")()
    main = threading.main_thread().ident
    assert main is not None
    wait = browse._await

    def interrupted(*arguments: Any) -> Any:
        if arguments[2].seen:  # the first message has been shown
            threading.Thread(target=signal.pthread_kill, args=(main, signal.SIGINT)).start()
        return wait(*arguments)

    monkeypatch.setattr(browse, "_await", interrupted)
    said = at("browse", "Q", "--follow")
    assert (said.status, said.err.strip()) == (130, ""), "but for the end of the line with ^C"
    assert said.out.endswith("a\n")


def test_finding_users_3_follow_with_a_selection(
    at: Mqk, manager: TestQueueManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(manager, "a", priority=5)()
    arriving = [put(manager, "b", priority=1), put(manager, "c", priority=7)]
    Shown(monkeypatch, a=lambda: [one() for one in arriving])
    said = at(
        "browse", "Q", "--follow", "--count", 2, "--selection", "Root.MQMD.Priority > 3", "--json"
    )
    assert [json.loads(line)["body"] for line in said.out.splitlines()] == ["a", "c"]


def test_finding_users_3_follow_goes_on_after_a_restart_of_the_queue_manager(
    at: Mqk, manager: TestQueueManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    def restart() -> None:
        manager.crash()
        manager.start()
        put(manager, "b")()

    put(manager, "a")()
    Shown(monkeypatch, a=restart)
    said = at("browse", "Q", "--follow", "--count", 2)
    assert said.status == 0
    assert [line[-1] for line in said.out.splitlines()] == ["a", "b"]
