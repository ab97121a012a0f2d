"""mqk broker activate: procedures are started until a signal comes, and failures are said."""

import json
import signal
import sys
from pathlib import Path

import pytest

import adapter.testing
from adapter.servicebroker import DEFAULT, QueueActivation, ServiceBroker
from tests.unit.cli.conftest import Mqk
from tests.unit.cli.test_trigger_monitor import signal_when

READER = """#!{python}
import os, sys
from adapter import servicebroker
with servicebroker.connect(os.environ["MQK_QMGR"]) as broker:
    while rows := broker.receive(sys.argv[1]):
        print(*[row.text for row in rows], file=open({out!r}, "a"))
"""


def prepare(session: ServiceBroker, procedure: object = None) -> None:
    """Create queue and service, and send a message there."""
    activation = None if procedure is None else QueueActivation(str(procedure))
    session.create_queue("Orders", activation=activation)
    session.create_service("//orders", "Orders", contracts=[DEFAULT])
    handle = session.begin_dialog("//orders", "//orders")
    session.send(handle, body="für zwei")


def reader(folder: Path) -> Path:
    program = folder / "reader"
    program.write_text(READER.format(python=sys.executable, out=str(folder / "out")))
    program.chmod(0o755)
    return program


@pytest.mark.parametrize(
    ("names", "shown"), [((), "all queues"), (("Orders",), "queue Orders")], ids=["all", "one"]
)
@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_it_starts_a_program_until_a_signal_comes(
    at: Mqk,
    manager: adapter.testing.TestQueueManager,
    tmp_path: Path,
    names: tuple[str, ...],
    shown: str,
    number: int,
    status: int,
) -> None:
    program = reader(tmp_path)
    with manager.connect_servicebroker() as session:
        prepare(session, program)
    thread = signal_when(tmp_path / "out", "für zwei\n", number)
    said = at("broker", "activate", "--allow", str(program), *names)
    thread.join()
    lines = said.err.splitlines()
    assert said.status == status
    assert f"mqk: activation of {shown} of QM1" in lines
    assert f"mqk: started {program} for queue Orders" in lines
    if number == signal.SIGTERM:
        assert lines[-1] == "mqk: activation has ended"


def test_a_program_that_fails_is_said_in_a_sentence(
    at: Mqk, manager: adapter.testing.TestQueueManager, tmp_path: Path
) -> None:
    program, out = tmp_path / "fails", tmp_path / "out"
    program.write_text(f"#!/bin/sh\necho ran >> {out}\nexit 3\n")
    program.chmod(0o755)
    with manager.connect_servicebroker() as session:
        prepare(session, program)
    thread = signal_when(out, "ran\nran\n", signal.SIGTERM)
    said = at("broker", "activate", "Orders", "--allow", str(program))
    thread.join()
    assert said.status == 0
    failed = [line for line in said.err.splitlines() if "failed" in line]
    assert failed[0] == (
        f"mqk: {program} failed for queue Orders: it ended with status 3; "
        "the next reader is started after 1 s at the earliest"
    )
    assert "Traceback" not in said.err


def test_queues_that_cannot_be_activated(
    at: Mqk, manager: adapter.testing.TestQueueManager
) -> None:
    with manager.connect_servicebroker() as session:
        prepare(session)
    for name, text in (("Orders", "queue Orders has no activation"), ("Nowhere", "Nowhere")):
        said = at("broker", "activate", "--allow", "a:b", name)
        assert said.status == 1
        assert text in said.err
        assert len(said.err.splitlines()) == 1
        assert "Traceback" not in said.err


def test_no_queue_manager(mqk: Mqk) -> None:
    said = mqk("broker", "activate", "--allow", "a:b", "--qmgr", "127.0.0.1:1")
    assert said.status == 1
    assert "no queue manager answers" in said.err
    assert "Traceback" not in said.err


@pytest.mark.parametrize("is_on", [True, False])
def test_the_activation_of_a_queue_is_shown(
    at: Mqk, manager: adapter.testing.TestQueueManager, is_on: bool
) -> None:
    with manager.connect_servicebroker() as session:
        activation = QueueActivation("orders:read", 3, is_on)
        session.create_queue("Orders", activation=activation)
        session.create_queue("Plain")
    shown = json.loads(at("broker", "queue", "Orders", "--json").out)
    found = shown["activation"], shown["procedure"], shown["max_queue_readers"]
    assert found == ("ON" if is_on else "OFF", "orders:read", 3)
    assert json.loads(at("broker", "queue", "Plain", "--json").out)["activation"] == "none"
    assert "orders:read" in at("broker", "queue", "Orders").out


def test_finding_reliability_d4_procedures_have_to_be_allowed(at: Mqk) -> None:
    said = at("broker", "activate")
    assert said.status == 2
    assert "--allow" in said.err
