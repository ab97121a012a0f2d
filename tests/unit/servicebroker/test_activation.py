"""Readers are started for messages that need one, never too many, and not in a hot loop."""

import logging
import os
import pwd
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from adapter.core.contract.reasons import Reason
from adapter.errors import InvalidOption
from adapter.host.allowed import AllowedPrograms
from adapter.servicebroker import (
    DEFAULT,
    ActivationService,
    QueueActivation,
    ServiceBroker,
    ServiceBrokerError,
    activation,
)
from adapter.servicebroker.catalog import ServiceQueue
from tests.support.backlog import until
from tests.support.broker_site import EXPENSES, BrokerSite, broker_site

WAIT_S = 20.0
HERE = __name__
ALLOWED = [
    f"{HERE}:{name}"
    for name in (
        "receive_all",
        "receive_one",
        "hold_one",
        "wait_then_receive",
        "do_nothing",
        "fail",
        "nowhere",
        "fail_first",
    )
]

seen: list[str] = []
may_end = threading.Event()


def receive_all(session: ServiceBroker, queue: str) -> None:
    while rows := session.receive(queue):
        seen.extend(row.text for row in rows)


def receive_one(session: ServiceBroker, queue: str) -> None:
    with session.transaction() as t:
        seen.extend(row.text for row in t.receive(queue, top=1))


def hold_one(session: ServiceBroker, queue: str) -> None:
    with session.transaction() as t:
        seen.extend(row.text for row in t.receive(queue, top=1))
        may_end.wait(WAIT_S)


def wait_then_receive(session: ServiceBroker, queue: str) -> None:
    may_end.wait(WAIT_S)
    receive_all(session, queue)


def do_nothing(session: ServiceBroker, queue: str) -> None:
    seen.append(queue)


def fail(session: ServiceBroker, queue: str) -> None:
    raise ValueError("no such account")


def fail_first(session: ServiceBroker, queue: str) -> None:
    seen.append("start")
    if len(seen) == 1:
        raise ValueError("no such account")
    receive_all(session, queue)


@pytest.fixture
def at() -> Iterator[BrokerSite]:
    seen.clear()
    may_end.clear()
    with broker_site() as site:
        yield site
        may_end.set()


@pytest.fixture
def service(at: BrokerSite) -> Iterator[ActivationService]:
    with stopped_at_the_end(ActivationService(at.admin, allow=ALLOWED)) as made:
        yield made


@contextmanager
def stopped_at_the_end(service: ActivationService) -> Iterator[ActivationService]:
    try:
        yield service
    finally:
        may_end.set()
        service.stop()


def activate(at: BrokerSite, function: str, readers: int = 1, *, status: bool = True) -> None:
    given = QueueActivation(f"{HERE}:{function}", readers, status)
    at.admin.alter_queue(EXPENSES, activation=given)


@pytest.mark.parametrize("function", ["receive_all", "receive_one"])
def test_messages_before_and_after_the_start(
    at: BrokerSite, service: ActivationService, function: str
) -> None:
    activate(at, function)
    at.submit("one", "two")
    service.start()
    until(lambda: seen == ["one", "two"])
    assert service.wait_idle(WAIT_S)
    at.submit("three")
    until(lambda: seen == ["one", "two", "three"])
    assert service.wait_idle(WAIT_S)
    assert service.statistics()["failures"] == service.statistics()["running"] == 0
    assert at.texts() == []


def test_no_more_readers_than_the_queue_has(at: BrokerSite, service: ActivationService) -> None:
    activate(at, "hold_one")
    service.start()
    at.submit("one")
    until(lambda: seen == ["one"])
    at.submit("two")
    assert not service.wait_idle(0.5)
    assert service.statistics()["running"] == 1
    activate(at, "hold_one", 2)
    until(lambda: sorted(seen) == ["one", "two"])
    may_end.set()
    assert service.wait_idle(WAIT_S)
    assert service.statistics() == {
        "queues": 1,
        "running": 0,
        "started": 2,
        "ended": 2,
        "failures": 0,
    }


def test_a_reader_that_has_not_received_yet(at: BrokerSite, service: ActivationService) -> None:
    activate(at, "wait_then_receive", 5)
    service.start()
    at.submit("one")
    at.submit("two")
    assert not service.wait_idle(0.5)
    assert service.statistics()["started"] == 1
    may_end.set()
    assert service.wait_idle(WAIT_S)
    assert seen == ["one", "two"]


def test_status_off_starts_none_and_stops_none(at: BrokerSite, service: ActivationService) -> None:
    activate(at, "hold_one", 5)
    service.start()
    at.submit("one")
    until(lambda: seen == ["one"])
    activate(at, "hold_one", 5, status=False)
    at.submit("two")
    assert not service.wait_idle(0.5)
    assert service.statistics()["started"] == service.statistics()["running"] == 1
    may_end.set()
    assert service.wait_idle(WAIT_S)
    assert at.texts() == ["two"]


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        ("do_nothing", "it ended without having received a message"),
        ("fail", "no such account"),
        ("nowhere", "has no attribute 'nowhere'"),
    ],
)
def test_a_reader_that_fails_is_not_started_in_a_hot_loop(
    at: BrokerSite, caplog: pytest.LogCaptureFixture, function: str, problem: str
) -> None:
    activate(at, function)
    at.submit("one")
    with (
        stopped_at_the_end(ActivationService(at.admin, allow=ALLOWED, pause_s=3600.0)) as service,
        caplog.at_level(logging.ERROR, "adapter.servicebroker"),
    ):
        service.start()
        until(lambda: service.statistics()["failures"] == 1)
        assert not service.wait_idle(0.3)
        assert service.statistics()["started"] == 1
    (said,) = caplog.messages
    assert problem in said
    assert f"{HERE}:{function} failed for queue {EXPENSES}" in said


def test_the_next_reader_after_one_that_failed(at: BrokerSite, service: ActivationService) -> None:
    activate(at, "fail")
    at.submit("one")
    service.start()
    until(lambda: service.statistics()["failures"] >= 1)
    activate(at, "receive_all")
    until(lambda: "one" in seen)
    assert service.wait_idle(WAIT_S)


def test_the_queue_manager_restarts(at: BrokerSite, service: ActivationService) -> None:
    activate(at, "receive_all")
    service.start()
    handle = at.submit("one")
    until(lambda: seen == ["one"])
    at.manager.crash()
    at.manager.start()
    at.form.send(handle, body="two")
    until(lambda: seen == ["one", "two"])
    at.manager.restart()
    at.form.send(handle, body="three")
    until(lambda: seen == ["one", "two", "three"])


def test_a_program(at: BrokerSite, tmp_path: Path) -> None:
    program, out = tmp_path / "reader", tmp_path / "out"
    program.write_text(
        f"#!{sys.executable}\n"
        "import os, sys\n"
        "from adapter import servicebroker\n"
        "with servicebroker.connect(os.environ['MQK_QMGR']) as broker:\n"
        "    while rows := broker.receive(sys.argv[1]):\n"
        f"        print(*[row.text for row in rows], file=open({str(out)!r}, 'a'))\n"
    )
    program.chmod(0o755)
    at.admin.alter_queue(EXPENSES, activation=QueueActivation(str(program)))
    environment = dict(os.environ) | {"MQK_QMGR": at.manager.address}
    service = ActivationService(
        at.admin,
        [EXPENSES],
        allow=[str(program), str(tmp_path / "nowhere")],
        environment=environment,
    )
    service.start()
    try:
        at.submit("one")
        until(lambda: out.exists() and out.read_text() == "one\n")
        assert service.wait_idle(WAIT_S)
        assert service.statistics()["failures"] == 0
        at.admin.alter_queue(EXPENSES, activation=QueueActivation(str(tmp_path / "nowhere")))
        at.submit("two")
        until(lambda: service.statistics()["failures"] == 1)
    finally:
        service.stop()


def test_a_program_of_another_directory_is_not_started(at: BrokerSite, tmp_path: Path) -> None:
    folder = tmp_path / "programs"
    folder.mkdir(mode=0o755)
    out = tmp_path / "out"
    for name in ("programs/inside", "outside"):
        program = tmp_path / name
        program.write_text(f'#!/bin/sh\necho "$0 $1 $MQK_QUEUE" >>{out}\nexit 3\n')
        program.chmod(0o755)
    inside, outside = str(folder / "inside"), str(tmp_path / "outside")
    service = ActivationService(
        at.admin,
        [EXPENSES],
        allow=[inside, outside],
        pause_s=0.05,
        programs=AllowedPrograms([folder], pwd.getpwuid(os.geteuid()).pw_name),
    )
    at.admin.alter_queue(EXPENSES, activation=QueueActivation(outside))
    service.start()
    try:
        at.submit("one")
        until(lambda: service.statistics()["failures"] == 1)
        assert not out.exists()
        at.admin.alter_queue(EXPENSES, activation=QueueActivation(inside))
        until(lambda: out.exists() and f"{inside} {EXPENSES} {EXPENSES}" in out.read_text())
    finally:
        service.stop()
    assert "outside" not in out.read_text()


def test_queues_that_cannot_be_activated(at: BrokerSite) -> None:
    with pytest.raises(InvalidOption, match="queue ExpenseQueue has no activation"):
        ActivationService(at.admin, [EXPENSES], allow=[]).start()
    with pytest.raises(ServiceBrokerError, match="Nowhere"):
        ActivationService(at.admin, ["Nowhere"], allow=[]).start()
    with pytest.raises(InvalidOption, match="list of names"):
        ActivationService(at.admin, "Q", allow=[])


def test_finding_reliability_d4_what_is_not_allowed_is_refused_and_not_tried_again(
    at: BrokerSite, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    program = tmp_path / "evil"
    program.write_text(f"#!/bin/sh\ntouch {out}\n")
    program.chmod(0o755)
    at.admin.alter_queue(EXPENSES, activation=QueueActivation(str(program), 5))
    at.submit("one")
    allowed = f"{HERE}:receive_all"
    with (
        stopped_at_the_end(ActivationService(at.admin, allow=[allowed])) as service,
        caplog.at_level(logging.ERROR, "adapter.servicebroker"),
    ):
        service.start()
        until(lambda: service.statistics()["failures"] == 1)
        assert service.wait_idle(WAIT_S)
        assert service.statistics()["started"] == 0
        activate(at, "receive_all")
        until(lambda: seen == ["one"])
    (said,) = caplog.messages
    assert f"queue {EXPENSES}: its procedure '{program}' is not started" in said
    assert "start the service with this procedure allowed" in said
    assert not out.exists()
    with pytest.raises(InvalidOption, match="list of procedures"):
        ActivationService(at.admin, allow=allowed)


def test_finding_reliability_d4_a_queue_name_is_no_option_of_its_program(
    at: BrokerSite, tmp_path: Path
) -> None:
    name, out = f"-copen({str(tmp_path / 'x')!r},'w')", tmp_path / "out"
    program = tmp_path / "reader"
    program.write_text(
        f'#!/bin/sh\nprintf \'%s\\n\' "$1" "$MQK_QUEUE" > {out}.new && mv {out}.new {out}\n'
    )
    program.chmod(0o755)
    at.admin.create_queue(name, activation=QueueActivation(str(program)))
    at.admin.create_service("//option", name, contracts=[DEFAULT])
    at.form.send(at.form.begin_dialog("//option", "//option"), body="one")
    with stopped_at_the_end(ActivationService(at.admin, allow=[str(program)])) as service:
        service.start()
        until(out.exists)
    assert out.read_text().splitlines() == [f"dbo.{name}", name]
    assert [row.text for row in at.admin.receive(f"dbo.{name}")] == ["one"]


def test_a_stop_that_comes_before_the_first_run_ends_it(service: ActivationService) -> None:
    service.stop()
    running = threading.Thread(target=service.run, daemon=True)
    running.start()
    running.join(WAIT_S)
    assert not running.is_alive()
    service.start()
    assert service.wait_idle(WAIT_S), "another start is not ended by it"


def test_a_stop_while_it_is_started_ends_it(
    at: BrokerSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    at.admin.create_queue("Q", activation=QueueActivation(f"{HERE}:do_nothing"))
    service = ActivationService(at.admin, ["Q"], allow=ALLOWED)
    asked = at.admin.queue

    def stop_and_ask(name: str) -> ServiceQueue:
        service.stop()
        return asked(name)

    monkeypatch.setattr(at.admin, "queue", stop_and_ask)

    def start_and_run() -> None:
        service.start()
        service.run()

    for start in (start_and_run, service.run):
        thread = threading.Thread(target=start, daemon=True)
        thread.start()
        thread.join(WAIT_S)
        assert not thread.is_alive()


def test_a_queue_that_the_service_may_not_look_at_holds_up_no_other(
    at: BrokerSite, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    activate(at, "receive_all")
    at.admin.create_queue("A", activation=QueueActivation(f"{HERE}:receive_all"))
    looks = activation._queue

    def look(session: ServiceBroker, name: str) -> dict[str, Any]:
        if name == "A":
            problem = ServiceBrokerError(229, "not authorized", name)
            problem.refused = Reason.AUTHORITY_MISSING
            raise problem
        return looks(session, name)

    monkeypatch.setattr(activation, "_queue", look)
    with (
        stopped_at_the_end(ActivationService(at.admin, allow=ALLOWED)) as service,
        caplog.at_level(logging.WARNING, "adapter.servicebroker"),
    ):
        service.start()
        at.submit("one")
        until(lambda: seen == ["one"])
        assert service.wait_idle(WAIT_S)
        assert service.wait_idle(WAIT_S)
    (said,) = caplog.messages
    assert said.startswith("queue A: no reader is started, because this service may not look at it")


def test_queues_that_are_gone_are_forgotten(
    at: BrokerSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if nothing has happened to them since."""
    monkeypatch.setattr(activation, "SWEEP_AT", 4)
    with stopped_at_the_end(ActivationService(at.admin, allow=[])) as service:
        service.start()
        for number in range(30):
            name = f"Q{number}"
            at.admin.create_queue(name, activation=QueueActivation("reader:read"))
            at.admin.create_service(name, name, contracts=[DEFAULT])
            handle = at.submit("one", to=name)
            until(lambda n=number: service.statistics()["failures"] > n)  # type: ignore[misc]
            at.admin.drop_service(name)
            at.form.end_conversation(handle)
            at.admin.drop_queue(name)
            assert service.statistics()["queues"] <= 6
        assert service.wait_idle(WAIT_S)
        assert service.statistics()["queues"] == 0


def test_a_service_that_does_not_run_is_not_waited_for(at: BrokerSite) -> None:
    service = ActivationService(at.admin, [EXPENSES], allow=ALLOWED)
    assert not service.wait_idle()
    with pytest.raises(InvalidOption, match="has no activation"):
        service.start()
    assert not service.wait_idle()
    activate(at, "receive_all")
    with stopped_at_the_end(service):
        service.start()
        assert service.wait_idle(WAIT_S)


def test_a_right_that_is_granted_later_is_noticed(
    at: BrokerSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    activate(at, "receive_all")
    looks, refused = activation._queue, threading.Event()

    def look(session: ServiceBroker, name: str) -> dict[str, Any]:
        if not refused.is_set():
            refused.set()
            problem = ServiceBrokerError(229, "not authorized", name)
            problem.refused = Reason.AUTHORITY_MISSING
            raise problem
        return looks(session, name)

    at.submit("one")
    monkeypatch.setattr(activation, "_queue", look)
    monkeypatch.setattr(activation, "HIDDEN_AGAIN_S", 0.05)
    with stopped_at_the_end(ActivationService(at.admin, allow=ALLOWED)) as service:
        service.start()
        until(lambda: seen == ["one"])


def test_what_comes_when_the_cause_of_a_failure_was_removed(at: BrokerSite) -> None:
    activate(at, "fail_first")
    with stopped_at_the_end(ActivationService(at.admin, allow=ALLOWED, pause_s=0.05)) as service:
        service.start()
        handle = at.submitted("one")
        until(lambda: service.statistics()["failures"] == 1)
        at.admin.end_conversation(handle, error=5, description="it cannot be processed")
        assert service.wait_idle(WAIT_S)
        at.submit("two")
        until(lambda: seen[-1] == "two")


def test_a_service_that_has_ended_is_waited_for_no_longer(service: ActivationService) -> None:
    service.start()
    service.stop()
    ended = threading.Event()

    def wait() -> None:
        assert not service.wait_idle()
        ended.set()

    threading.Thread(target=wait, daemon=True).start()
    assert ended.wait(WAIT_S)


def test_a_reader_that_does_not_receive_is_reported_once(
    at: BrokerSite,
    service: ActivationService,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(activation, "QUIET_S", 0.0)
    activate(at, "wait_then_receive", 5)
    service.start()
    at.submit("one")
    until(lambda: "has not received" in caplog.text)
    may_end.set()
    assert service.wait_idle(WAIT_S)
    assert seen == ["one"]
    (said,) = caplog.messages
    assert said.startswith(f"queue {EXPENSES}: its last reader has not received for 0 s")
