"""The trigger monitor on a queue manager in memory: each trigger message is carried out once."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

import adapter
import adapter.testing
from adapter.client.unit import Unit
from adapter.core.attributes.objects import KINDS
from adapter.errors import (
    CommandFailed,
    ConnectionClosed,
    Error,
    InDoubt,
    InvalidOption,
    LimitReached,
    NotAuthorized,
    QueueNotFound,
)
from adapter.mqi import TriggerMessage
from adapter.services.trigger_monitor import TriggerMonitor
from tests.drivers import Threads
from tests.support.few_rights import as_ann
from tests.unit.services.conftest import DEAD, INITQ, ask

WAIT_S = 20.0


class Launcher:
    """Notes what it is to start."""

    def __init__(self) -> None:
        self.asked: list[TriggerMessage] = []
        self.problem: Exception | None = None
        self.change = threading.Condition()

    def __call__(self, trigger: TriggerMessage) -> None:
        with self.change:
            self.asked.append(trigger)
            self.change.notify_all()
        if self.problem is not None:
            raise self.problem

    def await_queues(self, *queues: str) -> None:
        """Wait until just these queues' programs were started, in this order."""
        with self.change:
            assert self.change.wait_for(lambda: len(self.asked) >= len(queues), WAIT_S)
        assert [one.queue for one in self.asked] == list(queues)


PAUSE_S = 0.02
PROCESS = KINDS["process"]


@pytest.fixture
def launcher() -> Launcher:
    return Launcher()


@pytest.fixture
def monitor(qm: adapter.Connection, launcher: Launcher) -> TriggerMonitor:
    return TriggerMonitor(qm, INITQ, launcher, dead_letter_queue=DEAD, pause_s=PAUSE_S)


@contextmanager
def running(monitor: TriggerMonitor) -> Iterator[None]:
    """Run it in a thread of its own; it must end when it is told to, with no error."""
    ended: list[BaseException | None] = []

    def run() -> None:
        try:
            monitor.run()
        except BaseException as problem:
            ended.append(problem)
            raise
        ended.append(None)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        monitor.stop()
        thread.join(WAIT_S)
    assert ended == [None]


def await_that(check: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + WAIT_S
    while not check():
        assert time.monotonic() < deadline_s
        time.sleep(0.01)


def dead(qm: adapter.Connection) -> adapter.Message:
    message = qm.get(DEAD, timeout=WAIT_S)
    assert message is not None
    assert message.dead_letter is not None
    return message


def test_what_is_asked_for_is_started_in_order(
    qm: adapter.Connection, monitor: TriggerMonitor, launcher: Launcher
) -> None:
    first = ask(qm, "A", env_data="-v", user_data="u", trigger_data="t")
    ask(qm, "B")
    assert monitor.run_once(0)
    assert monitor.run_once(0)
    assert not monitor.run_once(0)
    launcher.await_queues("A", "B")
    assert launcher.asked[0] == first.of_queue_manager("QM1")
    assert qm.queue(INITQ).depth() == 0


def test_it_waits_for_what_comes_and_ends_when_told(
    qm: adapter.Connection, monitor: TriggerMonitor, launcher: Launcher
) -> None:
    with running(monitor):
        await_that(lambda: qm.queue(INITQ).status().waiting_gets == 1)
        assert qm.queue(INITQ).status().open_input_count == 1
        ask(qm, "A")
        launcher.await_queues("A")
    assert qm.queue(INITQ).status().open_input_count == 0


def test_a_unit_around_it_does_not_hold_its_messages(
    qm: adapter.Connection, monitor: TriggerMonitor, launcher: Launcher
) -> None:
    ask(qm, "A")
    with qm.unit() as unit:
        assert monitor.run_once(0)
        unit.backout()
    assert not monitor.run_once(0)
    launcher.await_queues("A")


@pytest.mark.parametrize(
    "body", [b"", b"TM  ", bytes(684), TriggerMessage(queue="Q").to_bytes() + b"x"]
)
def test_what_is_no_trigger_message_goes_to_the_dead_letter_queue_whole(
    qm: adapter.Connection, monitor: TriggerMonitor, launcher: Launcher, body: bytes
) -> None:
    """The size must be that of an MQTM (MQFB_TM_ERROR)."""
    qm.put(INITQ, body, format="MQTRIG", priority=3, correlation_id=b"c" * 24)
    assert monitor.run_once(0)
    message = dead(qm)
    assert (message.feedback, message.body, message.format) == (266, body, "MQTRIG")
    assert (message.priority, message.correlation_id) == (3, b"c" * 24)
    assert message.dead_letter is not None
    assert (message.dead_letter.reason, message.dead_letter.destination) == (266, INITQ)
    assert message.dead_letter.destination_queue_manager == "QM1"
    assert message.dead_letter.application == "mqk trigger-monitor"
    assert not launcher.asked


def test_a_report_starts_nothing(
    qm: adapter.Connection, monitor: TriggerMonitor, launcher: Launcher
) -> None:
    trigger = ask(qm)
    assert monitor.run_once(0)
    qm.put(INITQ, trigger.to_bytes(), format="MQTRIG", message_type=4)
    assert monitor.run_once(0)
    assert (dead(qm).feedback, len(launcher.asked)) == (266, 1)


@pytest.mark.parametrize(
    ("forged", "why"),
    [
        ({"process": "", "appl_id": "touch forged"}, "no process '' is defined"),
        ({"process": "NONE", "appl_id": "touch forged"}, "no process 'NONE' is defined"),
        ({"process": "P*"}, "no process 'P*' is defined"),
        (
            {"process": "P", "appl_id": "touch forged;true"},
            "differs from the definition of process P in",
        ),
        ({"process": "P", "env_data": ";touch forged"}, "in env_data"),
        ({"process": "P", "user_data": "x"}, "in user_data"),
        ({"process": "P", "appl_type": 25}, "in appl_type"),
    ],
)
def test_what_no_process_definition_says_is_not_started(
    qm: adapter.Connection,
    monitor: TriggerMonitor,
    launcher: Launcher,
    forged: dict[str, Any],
    why: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A client may put whatever it likes to the initiation queue (MQFB_TM_ERROR)."""
    qm.define_process("P", appl_id="worker", appl_type=6)
    fields: dict[str, Any] = {"appl_type": 6, "appl_id": "worker"} | forged
    body = TriggerMessage(queue="A", **fields).to_bytes()
    qm.put(INITQ, body, format="MQTRIG", persistent=False)
    assert monitor.run_once(0)
    message = dead(qm)
    assert (message.feedback, message.body) == (266, body)
    assert not launcher.asked
    assert why in caplog.text
    assert monitor.statistics()["trigger_messages_dead_lettered"] == 1


def test_what_the_queue_manager_asks_for_is_what_is_defined(
    qm: adapter.Connection, monitor: TriggerMonitor, launcher: Launcher
) -> None:
    """As long as each attribute may be."""
    qm.define_process("P" * 48, appl_id="a" * 256, env_data="é" * 64, user_data=" u" * 64)
    qm.define_queue(
        "Q", trigger_control=True, trigger_type="EVERY", initiation_queue=INITQ, process="P" * 48
    )
    qm.alter_object("process", "P" * 48, appl_type=6)
    ready = threading.Event()
    with running(monitor):
        await_that(lambda: qm.queue(INITQ).status().open_input_count == 1)
        qm.put("Q", "1")
        launcher.await_queues("Q")
        ready.set()
    assert qm.queue(DEAD).depth() == 0


def trigger_once(qm: adapter.Connection, monitor: TriggerMonitor, **process: Any) -> None:
    """Let a queue trigger a process with these attributes, and carry that out."""
    qm.define_process("P", **process)
    qm.define_queue(
        "Q", trigger_control=True, trigger_type="EVERY", initiation_queue=INITQ, process="P"
    )
    monitor.open()
    qm.put("Q", "1")
    assert monitor.run_once(WAIT_S)


@pytest.mark.parametrize("name", ["appl_id", "env_data", "user_data"])
@pytest.mark.parametrize(
    "text", ["/opt/grüße", "é" * 64, "🙂" * 32, "/bin/true  ", " x", "a\t", " "]
)
def test_every_text_that_a_definition_takes_is_started(
    qm: adapter.Connection, monitor: TriggerMonitor, launcher: Launcher, name: str, text: str
) -> None:
    trigger_once(qm, monitor, **{"appl_id": "worker"} | {name: text})
    (started,) = launcher.asked
    assert getattr(started, name) == text.rstrip(" ")


def test_a_definition_that_no_trigger_message_holds_is_not_started(
    qm: adapter.Connection,
    monitor: TriggerMonitor,
    launcher: Launcher,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Its beginning is another program; earlier versions took such definitions."""
    row = PROCESS["appl_id"]
    earlier = structs.replace(row, attribute=structs.replace(row.attribute, length=1_000))
    monkeypatch.setitem(PROCESS, "appl_id", earlier)
    trigger_once(qm, monitor, appl_id="/bin/" + "é" * 126)
    assert not launcher.asked
    assert "is longer in appl_id than a trigger message can be" in caplog.text
    assert dead(qm).feedback == 266


@pytest.mark.parametrize("number", [-1, 0, 1, 2, 11, 65_535])
def test_a_type_of_another_platform_goes_to_the_dead_letter_queue(
    qm: adapter.Connection, monitor: TriggerMonitor, launcher: Launcher, number: int
) -> None:
    """MQFB_APPL_TYPE_ERROR."""
    ask(qm, "A", appl_type=number)
    assert monitor.run_once(0)
    assert dead(qm).feedback == 267
    assert not launcher.asked


@pytest.mark.parametrize("number", [6, 15, 25, 28, 65_536, 999_999_999])
def test_types_of_this_platform_and_of_users_are_started(
    qm: adapter.Connection, monitor: TriggerMonitor, launcher: Launcher, number: int
) -> None:
    ask(qm, "A", appl_type=number)
    assert monitor.run_once(0)
    launcher.await_queues("A")


def test_what_cannot_be_started_goes_to_the_dead_letter_queue(
    qm: adapter.Connection, monitor: TriggerMonitor, launcher: Launcher
) -> None:
    """MQFB_APPL_CANNOT_BE_STARTED."""
    launcher.problem = OSError("no more processes")
    wanted = ask(qm, "A")
    assert monitor.run_once(0)
    message = dead(qm)
    assert (message.feedback, message.body) == (265, wanted.to_bytes())
    assert monitor.statistics()["trigger_messages_dead_lettered"] == 1


@pytest.mark.parametrize("env_data", ["", "&"])
def test_a_program_that_is_not_there_goes_to_the_dead_letter_queue(
    qm: adapter.Connection, env_data: str
) -> None:
    monitor = TriggerMonitor(qm, INITQ, dead_letter_queue=DEAD)
    wanted = ask(qm, "A", appl_id="/nowhere/worker", env_data=env_data)
    assert monitor.run_once(0)
    message = dead(qm)
    assert (message.feedback, message.body, message.format) == (265, wanted.to_bytes(), "MQTRIG")
    monitor.stop()


@pytest.mark.parametrize("error", [NotAuthorized, CommandFailed, LimitReached, InvalidOption])
def test_a_message_that_cannot_be_compared_ends_no_monitor(
    qm: adapter.Connection,
    monitor: TriggerMonitor,
    launcher: Launcher,
    monkeypatch: pytest.MonkeyPatch,
    error: type[Error],
) -> None:
    objects = adapter.Connection.objects

    def refuse(self: adapter.Connection, kind: str, name: str = "*", **how: bool) -> object:
        if name == "P.A":
            raise error("not this one")
        return objects(self, kind, name, **how)

    monkeypatch.setattr(adapter.Connection, "objects", refuse)
    ask(qm, "A")
    ask(qm, "B")
    with running(monitor):
        launcher.await_queues("B")
    assert dead(qm).feedback == 266
    assert monitor.statistics()["trigger_messages_dead_lettered"] == 1


def test_a_process_that_the_monitors_user_may_not_see_is_a_dead_letter(
    tmp_path: Path, launcher: Launcher
) -> None:
    with as_ann(Threads(), tmp_path, "get") as (operator, ann):
        operator.define_queue(INITQ)
        operator.set_authority(INITQ, users=["ann"], add=["get"])
        ask(operator, "A")
        ask(operator, "B")
        operator.set_authority("P.B", "process", users=["ann"], add=["dsp"])
        monitor = TriggerMonitor(ann, INITQ, launcher, dead_letter_queue="FAILED")
        with running(monitor):
            launcher.await_queues("B")
        letter = operator.get("FAILED")
        assert letter is not None
        assert letter.feedback == 266


def test_the_dead_letter_queue_is_the_queue_managers_unless_said(
    qm: adapter.Connection, launcher: Launcher
) -> None:
    qm.alter_queue_manager(dead_letter_queue=DEAD)
    ask(qm, "A", appl_type=1)
    assert TriggerMonitor(qm, INITQ, launcher).run_once(0)
    assert dead(qm).feedback == 267


def test_without_a_dead_letter_queue_the_log_has_it_and_work_goes_on(
    qm: adapter.Connection, launcher: Launcher, caplog: pytest.LogCaptureFixture
) -> None:
    monitor = TriggerMonitor(qm, INITQ, launcher, dead_letter_queue="NOT.THERE")
    ask(qm, "A", appl_type=1)
    ask(qm, "B")
    assert monitor.run_once(0)
    assert monitor.run_once(0)
    launcher.await_queues("B")
    assert monitor.statistics()["trigger_messages_lost"] == 1
    assert "queue A" in caplog.text
    assert "NOT.THERE" in caplog.text


def test_a_program_ends_before_the_next_trigger_message_is_taken(
    qm: adapter.Connection, monitor: TriggerMonitor, launcher: Launcher
) -> None:
    """But for one in the background: that is the launcher's business."""
    gate, begun = threading.Event(), threading.Event()

    def slow(trigger: TriggerMessage) -> None:
        begun.set()
        assert gate.wait(WAIT_S)
        launcher(trigger)

    monitor = TriggerMonitor(qm, INITQ, slow, dead_letter_queue=DEAD)
    ask(qm, "A")
    ask(qm, "B")
    with running(monitor):
        assert begun.wait(WAIT_S)
        assert qm.queue(INITQ).depth() == 1
        gate.set()
        launcher.await_queues("A", "B")


def test_more_programs_than_allowed_wait_on_the_queue(
    qm: adapter.Connection, tmp_path: Path
) -> None:
    monitor = TriggerMonitor(qm, INITQ, dead_letter_queue=DEAD, programs_max=1, stop_grace_s=0.1)
    script = tmp_path / "worker"
    script.write_text("echo here >>$0.out; while [ ! -e $0.go ]; do sleep 0.02; done")
    for queue in ("A", "B"):
        ask(qm, queue, appl_id=f"sh {script}", env_data="&")
    assert monitor.run_once(WAIT_S)
    assert not monitor.run_once(0.05)
    assert qm.queue(INITQ).depth() == 1
    Path(f"{script}.go").touch()
    assert monitor.run_once(WAIT_S)
    await_that(lambda: monitor.statistics()["programs_running"] == 0)
    assert Path(f"{script}.out").read_text() == "here\nhere\n"
    assert monitor.statistics()["programs_started"] == 2


def test_a_restart_of_the_queue_manager_is_waited_out(
    manager: adapter.testing.TestQueueManager,
    qm: adapter.Connection,
    monitor: TriggerMonitor,
    launcher: Launcher,
) -> None:
    with running(monitor):
        ask(qm, "A")
        launcher.await_queues("A")
        manager.restart()
        await_that(lambda: qm.queue(INITQ).status().open_input_count == 1)
        ask(qm, "B")
        launcher.await_queues("A", "B")
        manager.crash()
        manager.start()
        ask(qm, "C")
        launcher.await_queues("A", "B", "C")


def test_it_waits_until_gets_are_allowed_again_and_keeps_the_queue_open(
    qm: adapter.Connection, monitor: TriggerMonitor, launcher: Launcher
) -> None:
    """Lifting the inhibition is a trigger event, for a monitor that has the queue open."""
    with running(monitor):
        await_that(lambda: qm.queue(INITQ).status().waiting_gets == 1)
        qm.alter_queue(INITQ, inhibit_get=True)
        await_that(lambda: qm.queue(INITQ).status().waiting_gets == 0)
        assert qm.queue(INITQ).status().open_input_count == 1
        ask(qm, "A")
        qm.alter_queue(INITQ, inhibit_get=False)
        launcher.await_queues("A")


def test_a_lost_connection_neither_loses_nor_doubles_a_start(
    manager: adapter.testing.TestQueueManager,
    qm: adapter.Connection,
    monitor: TriggerMonitor,
    launcher: Launcher,
) -> None:
    """Whichever reply is lost: that to the get, or that to the commit."""
    names = [f"Q{number}" for number in range(6)]
    for name in names:
        ask(qm, name)
        manager.drop_next_reply()
        while not monitor.run_once(0):
            pass
    launcher.await_queues(*names)
    assert not monitor.run_once(0)


def test_a_trigger_message_that_came_as_it_was_stopped_stays(
    qm: adapter.Connection, monitor: TriggerMonitor, launcher: Launcher
) -> None:
    ask(qm, "A")
    monitor.stop()
    assert not monitor.run_once(0)
    monitor.run()
    assert qm.queue(INITQ).depth() == 1
    assert not launcher.asked


def test_one_that_was_got_as_the_monitor_was_stopped_is_put_back(
    qm: adapter.Connection,
    monitor: TriggerMonitor,
    launcher: Launcher,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read = TriggerMessage.from_bytes

    def read_and_stop(data: bytes) -> TriggerMessage:
        monitor.stop()
        return read(data)

    monkeypatch.setattr(TriggerMessage, "from_bytes", read_and_stop)
    ask(qm, "A")
    assert not monitor.run_once(0)
    assert qm.queue(INITQ).depth() == 1
    assert not launcher.asked


def test_looking_for_messages_leaves_no_unit_open(
    qm: adapter.Connection, monitor: TriggerMonitor
) -> None:
    for _ in range(3):
        assert not monitor.run_once(0)
    assert qm.open_units() == []


def test_a_queue_manager_that_is_away_for_long_is_waited_for(
    manager: adapter.testing.TestQueueManager,
    qm: adapter.Connection,
    launcher: Launcher,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Longer than the connection itself has patience."""
    waits = threading.Event()
    monkeypatch.setattr("adapter.services.trigger_monitor.log.warning", lambda *_: waits.set())
    with (
        manager.connect(reconnect_timeout_s=0.0) as impatient,
        running(TriggerMonitor(impatient, INITQ, launcher, pause_s=PAUSE_S)),
    ):
        await_that(lambda: qm.queue(INITQ).status().waiting_gets == 1)
        manager.stop()
        assert waits.wait(WAIT_S)
        manager.start()
        ask(qm, "A")
        launcher.await_queues("A")


def test_a_commit_without_an_answer_is_asked_for(
    qm: adapter.Connection,
    monitor: TriggerMonitor,
    launcher: Launcher,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    commit = Unit.commit

    def commit_in_doubt(unit: Unit) -> None:
        commit(unit)
        raise InDoubt("no answer came", "", unit.id)

    ask(qm, "A")
    monkeypatch.setattr(Unit, "commit", commit_in_doubt)
    assert monitor.run_once(0)
    launcher.await_queues("A")


def test_a_commit_that_did_not_come_to_pass_starts_nothing(
    qm: adapter.Connection,
    monitor: TriggerMonitor,
    launcher: Launcher,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def in_doubt(unit: Unit) -> None:
        raise InDoubt("no answer came", "", unit.id)

    ask(qm, "A")
    with monkeypatch.context() as patched:
        patched.setattr(Unit, "commit", in_doubt)
        with pytest.raises(InDoubt):
            monitor.run_once(0)
    assert not launcher.asked
    assert monitor.run_once(0)
    launcher.await_queues("A")


def test_stop_ends_the_program_in_the_foreground(qm: adapter.Connection, tmp_path: Path) -> None:
    monitor = TriggerMonitor(qm, INITQ, dead_letter_queue=DEAD, stop_grace_s=WAIT_S)
    script = tmp_path / "worker"
    script.write_text(
        "trap 'sleep 0.3; echo told >$0.told; exit 0' TERM; touch $0.ready; "
        "while :; do sleep 0.02; done"
    )
    with running(monitor):
        ask(qm, "A", appl_id=f"sh {script}")
        await_that(lambda: monitor.statistics()["programs_running"] == 1)
        await_that((tmp_path / "worker.ready").exists)
    assert monitor.statistics()["programs_running"] == 0
    assert (tmp_path / "worker.told").read_text() == "told\n"
    assert qm.queue(DEAD).depth() == 0


def test_what_cannot_be_waited_out_is_raised(qm: adapter.Connection) -> None:
    with pytest.raises(QueueNotFound, match=r"NO\.INITQ"):
        TriggerMonitor(qm, "NO.INITQ").run()
    with pytest.raises(InvalidOption, match="programs_max is 1 to 10000"):
        TriggerMonitor(qm, INITQ, programs_max=0)
    closed = TriggerMonitor(qm, INITQ)
    qm.close()
    with pytest.raises(ConnectionClosed):
        closed.run()


def test_the_queue_is_the_default_one_unless_said(
    qm: adapter.Connection, launcher: Launcher
) -> None:
    default = "SYSTEM.DEFAULT.INITIATION.QUEUE"
    qm.define_queue(default, replace=True)
    qm.define_process("P", appl_type=6, appl_id="worker")
    trigger = TriggerMessage(queue="A", process="P", appl_type=6, appl_id="worker")
    qm.put(default, trigger.to_bytes())
    assert TriggerMonitor(qm, launch=launcher).run_once(0)
    launcher.await_queues("A")
