"""Seed 4 again, from outside: a server on Kafka, a trigger monitor, real programs, and kills."""

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import adapter
from adapter.client.attributes import QueueDefinition
from tests.support.monitored_site import MonitoredSite, await_that
from tests.support.server_process import ServerProcess
from tests.support.shared_kafka import AnyKafka


@pytest.fixture(scope="module")
def server(kafka: AnyKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """One server for all: each test has queues and a monitor of its own."""
    folder = tmp_path_factory.mktemp("server")
    with ServerProcess("PROGRAMS", kafka.bootstrap_servers, folder) as running:
        running.start()
        yield running


@pytest.fixture
def at(
    server: ServerProcess, tmp_path: Path, unique_name: Callable[..., str]
) -> Iterator[MonitoredSite]:
    with MonitoredSite(server.address, tmp_path, unique_name()) as site:
        yield site


def begun(at: MonitoredSite, *names: str) -> adapter.Unit:
    """Begin a unit and put a message to each of these queues in it."""
    unit = at.app.unit()
    unit.begin()
    at.put(*names, unit=unit)
    return unit


def test_s4_04_s4_06_a_program_is_started_on_the_first_message_or_at_the_depth(
    at: MonitoredSite,
) -> None:
    """S4.4: FIRST: 0 to 1 fires, 1 to 2 does not. S4.6: DEPTH: the put that reaches it fires."""
    at.define("FIRST")
    at.define("DEPTH", trigger_type="DEPTH", trigger_depth=3)
    at.put("FIRST", "FIRST", "DEPTH", "DEPTH")
    assert at.started() == ["FIRST"]
    at.put("DEPTH")
    assert at.started() == ["DEPTH"]


def test_s4_27_s4_28_s4_29_s4_30_a_program_is_started_when_the_transaction_completes(
    at: MonitoredSite,
) -> None:
    """S4.27: not before. S4.28: on commit. S4.29: FIRST, DEPTH: on rollback too. S4.30: EVERY: on
    rollback not."""
    types = ("DEPTH", "EVERY", "FIRST")
    for name in types:
        at.define(name, trigger_type=name, trigger_depth=1)
    unit = begun(at, *types)
    assert at.started() == []
    unit.backout()
    assert at.started() == ["DEPTH", "FIRST"]
    unit = begun(at, *types)
    assert at.started() == []
    unit.commit()
    assert at.started() == ["DEPTH", "EVERY", "FIRST"]


def test_s4_33_s4_37_a_program_is_started_again_after_the_interval_or_a_restart(
    at: MonitoredSite, server: ServerProcess
) -> None:
    """S4.33: inside TriggerInterval none, after it the next put gives one. S4.37: a restart of the
    queue manager resets the timer. (Opening the monitor fires by 12d, and begins an interval; so
    the queue has no process then.)"""
    at.define()
    at.put("Q", "Q")
    assert at.started() == ["Q"]
    at.app.alter_queue_manager(trigger_interval_ms=1)
    await_that(lambda: another_put_starts(at))
    at.app.alter_queue_manager(trigger_interval_ms=999_999_999)
    at.put()
    assert at.started() == []
    at.app.alter_queue(at.named("Q"), process="AWAY")
    server.kill()
    server.start()
    await_that(lambda: at.monitors() == 1)
    at.app.alter_queue(at.named("Q"), process="NOTE")
    at.put("Q", "Q")
    assert at.started() == ["Q"]


def another_put_starts(at: MonitoredSite) -> bool:
    at.put()
    return bool(at.started())


def test_s4_38_s4_39_s4_40_s4_41_s4_42_s4_43_s4_44_a_program_is_started_when_the_last_server_closes(
    at: MonitoredSite,
) -> None:
    """S4.38: (11) the single application that serves a queue closes it. S4.39, S4.40: enough
    messages are there. S4.41: of the priority. S4.42: nobody else serves it. S4.43: EVERY does
    not. S4.44: also if they came between the last get and the close."""
    for name, messages, attributes in (
        ("ONE", 1, {}),
        ("NONE", 0, {}),
        ("TWO OF 3", 2, {"trigger_type": "DEPTH", "trigger_depth": 3}),
        ("THREE OF 3", 3, {"trigger_type": "DEPTH", "trigger_depth": 3}),
        ("TOO LOW", 1, {"trigger_msg_priority": 9}),
        ("EVERY", 1, {"trigger_type": "EVERY"}),
        ("LATE", 0, {}),
    ):
        name = name.replace(" ", "_")
        at.define(name, messages=messages, **attributes)
        with at.serving(name) as last:
            with at.serving(name) as other:
                assert last.get(timeout=0) is None if name == "LATE" else True
                other.close()
            if name == "LATE":
                at.put(name)
        assert at.started() == ([name] if name in ("ONE", "THREE_OF_3", "LATE") else []), name


def test_s4_45_s4_46_a_program_that_does_not_drain_its_queue_is_started_again(
    at: MonitoredSite,
) -> None:
    """S4.45: (a) each close makes a further trigger message. S4.46: (b) so it does if the get is
    rolled back before the close, or the application terminates abnormally."""
    at.define(messages=9)
    for end, left in (("commit", 8), ("commit", 7), ("rollback", 7), ("kill", 7), ("kill", 7)):
        program = adapter.connect(at.address, application="program")
        queue = program.queue(at.named("Q"), open_for="input")
        unit = program.unit()
        unit.begin()
        assert queue.get(unit=unit) is not None
        if end == "commit":
            unit.commit()
        elif end == "rollback":
            unit.backout()
        program.disconnect(abrupt=end == "kill")
        await_that(lambda: at.app.queue(at.named("Q")).status().open_input_count == 0)
        assert at.started() == ["Q"]
        assert at.app.queue(at.named("Q")).depth() == left


def test_s4_53_s4_54_s4_55_s4_56_s4_57_programs_are_started_when_the_inhibition_is_lifted(
    at: MonitoredSite,
) -> None:
    """S4.53: (12b) puts to the initiation queue are allowed again. S4.56: (12c) gets from it.
    S4.54: one for each queue. S4.55, S4.57: what was suppressed meanwhile appears."""
    for name in ("C", "A", "B", "EMPTY"):
        at.define(name)
    both: list[QueueDefinition] = [{"inhibit_put": True}, {"inhibit_get": True}]
    for inhibited in both:
        at.app.alter_queue(at.initiation, **inhibited)
        at.put("A", "B", "C", "C")
        assert at.app.queue(at.initiation).depth() == 0
        at.app.alter_queue(at.initiation, inhibit_put=False, inhibit_get=False)
        assert at.started() == ["A", "B", "C"]


def test_s4_58_s4_59_s4_60_s4_61_programs_are_started_when_the_monitor_is(
    at: MonitoredSite,
) -> None:
    """S4.58: (12d) the monitor opens the initiation queue. S4.60: one for each queue. S4.61: the
    purpose: what came while no monitor was there. S4.59: a second monitor makes none."""
    for name in ("C", "A", "B", "EMPTY"):
        at.define(name)
    at.stop_monitor(signal.SIGKILL)
    at.put("A", "A", "A", "B", "C")
    at.start_monitor()
    assert at.started() == ["A", "B", "C"]
    at.start_monitor()
    assert at.started() == []


def test_s4_62_a_trigger_message_that_a_restart_has_lost_is_made_again(
    at: MonitoredSite, server: ServerProcess
) -> None:
    """S4.62: trigger messages are not persistent: a restart of the queue manager empties the
    initiation queue, and the monitor's open makes them again. The monitor is busy meanwhile."""
    at.define("BUSY")
    at.define("LOST")
    at.hold()
    at.put("BUSY")
    at.await_held("BUSY")
    at.put("LOST")
    assert at.app.queue(at.initiation).depth() == 1
    with at.serving("BUSY") as served:
        assert served.get() is not None
        server.kill()
        server.start()
        assert at.app.queue(at.initiation).depth() == 0
        at.release()
        await_that(lambda: at.monitors() == 1)
        assert at.started() == ["BUSY", "LOST"]
