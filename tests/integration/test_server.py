"""The server's process: how it starts or says why not, how it ends, and what its end leaves.

Real processes on a real Kafka, with clients at work meanwhile.
"""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

import adapter
from adapter import Unit
from adapter.errors import BackedOut, QueueManagerQuiescing
from adapter.localkafka import free_port
from adapter.storage.format import names
from tests.support.bystander import Bystander
from tests.support.load import Load
from tests.support.queue_topic import LANES, read_until
from tests.support.server_process import HOST, ServerProcess
from tests.support.shared_kafka import AnyKafka

STOP_S = 10.0
DEPOSED = 3
"""The exit status of an owner that another one has replaced."""
LONG_S = 20.0
"""How long units are given, where nobody is to wait for them."""
MARKER = b"the end"
MakeServer = Callable[..., ServerProcess]


@pytest.fixture
def make(kafka: AnyKafka, unique_name: Callable[..., str], tmp_path: Path) -> Iterator[MakeServer]:
    """Make a server process, of a queue manager of its own unless a name is given."""
    with ExitStack() as ends:

        def make(name: str = "", **options: Any) -> ServerProcess:
            servers = options.pop("bootstrap_servers", kafka.bootstrap_servers)
            process = ServerProcess(name or unique_name(), servers, tmp_path, **options)
            return ends.enter_context(process)

        yield make


def refused(server: ServerProcess, within_s: float = 20.0) -> str:
    """Start a server that does not start; its sentence."""
    server.launch()
    assert server.await_end(within_s) == 1
    assert "Traceback" not in server.said(), server.said()
    return server.sentence()


# -- starting


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_an_address_that_others_can_reach_is_refused(make: MakeServer, host: str) -> None:
    assert "is reachable from other machines: listen on loopback" in refused(make(host=host))


def test_a_port_in_use(make: MakeServer) -> None:
    with socket.create_server((HOST, 0)) as taken:
        port = taken.getsockname()[1]
        sentence = refused(make(port=port))
    assert f"{HOST}:{port} cannot be used to listen" in sentence
    assert "address already in use" in sentence.lower()
    assert "--listen" in sentence


def test_a_server_that_is_started_twice(make: MakeServer) -> None:
    """The second one finds the port taken, and has not touched the ledger by then."""
    first = make()
    first.start()
    with Bystander(first.address, "BYSTANDER") as bystander:
        assert "cannot be used to listen" in refused(make(first.queue_manager, port=first.port))
        bystander.await_turns(10)
    assert "took over" not in first.said()


def test_a_kafka_that_cannot_be_reached(make: MakeServer) -> None:
    nowhere = f"{HOST}:{free_port()}"
    addresses = (nowhere, "", "no host name", "localhost:99999999")
    servers = [make(bootstrap_servers=address) for address in addresses]
    for server in servers:
        server.launch()
    for server, address in zip(servers, addresses, strict=True):
        assert server.await_end() == 1
        assert f"Kafka at {address} does not answer" in server.sentence()
        assert "check that the brokers run and that the address is right" in server.sentence()
        assert "Traceback" not in server.said()


def test_a_setting_that_the_client_of_kafka_does_not_know(make: MakeServer) -> None:
    sentence = refused(make(options={"no.such.setting": "1"}))
    assert "no.such.setting" in sentence


@pytest.mark.parametrize("name", ["no name", "x" * 49, "Ä", "-"])
def test_a_name_that_is_none(make: MakeServer, name: str) -> None:
    assert "is not a name for a queue manager: a name has 1 to 48 of" in refused(make(name))


def test_settings_that_cannot_be_read(make: MakeServer) -> None:
    server = make()
    server.write_settings(b'{"queue_manager": 7}')
    assert "Expected `str`, got `int` - at `$.queue_manager`" in refused(server)


# -- ending


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_told_to_end_under_load(make: MakeServer, number: signal.Signals) -> None:
    """Open units are backed out, clients come back to the next one, nothing is lost or doubled."""
    server = make(quiesce_s=0.3)
    server.start()
    with adapter.connect(server.address) as qm:
        qm.define_queue("LOAD")
        qm.define_queue("Q")
        qm.put("Q", "got in an open unit")
        with Load(server.address, "LOAD") as load:
            load.await_gets(20)
            unit = qm.unit()
            unit.begin()
            assert qm.get("Q", unit=unit) is not None
            qm.put("Q", "never seen", unit=unit)
            began_s = time.monotonic()
            os.kill(server.pid, number)
            assert server.await_end(STOP_S) == 0
            assert time.monotonic() - began_s < STOP_S
            assert "Traceback" not in server.said()
            server.start()
            load.await_gets(20)
            with pytest.raises(BackedOut):
                unit.commit()
            message = qm.get("Q")
            assert message is not None
            assert (message.body, message.backout_count) == (b"got in an open unit", 1)
            assert qm.get("Q") is None
            assert load.finish() > 40


@contextmanager
def frozen_for_a_while(pid: int) -> Iterator[None]:
    """A process that does nothing meanwhile."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@contextmanager
def stuck(address: str) -> Iterator[Unit]:
    """A unit that holds a message and does not end."""
    with adapter.connect(address) as qm:
        qm.define_queue("Q")
        qm.put("Q", "stuck")
        unit = qm.unit()
        unit.begin()
        assert qm.get("Q", unit=unit) is not None
        yield unit


def await_quiescing(address: str) -> None:
    """Wait until no new connection is taken."""
    while True:  # bounded by the test's own time
        try:
            adapter.connect(address).close()
        except QueueManagerQuiescing:
            return


def test_a_unit_that_does_not_end_holds_the_end_up_for_a_while(make: MakeServer) -> None:
    """New work is refused meanwhile; then the unit is backed out."""
    server = make(quiesce_s=1.0)
    server.start()
    with stuck(server.address) as unit, adapter.connect(server.address) as qm:
        began_s = time.monotonic()
        server.ask_to_end()
        await_quiescing(server.address)
        assert server.await_end() == 0
        assert time.monotonic() - began_s > 1.0
        server.start()
        with pytest.raises(BackedOut):
            unit.commit()
        message = qm.get("Q")
        assert message is not None
        assert message.backout_count == 1


def test_told_to_end_twice(make: MakeServer) -> None:
    """The second time it waits for nothing."""
    server = make(quiesce_s=LONG_S)
    server.start()
    with stuck(server.address):
        server.ask_to_end()
        await_quiescing(server.address)
        began_s = time.monotonic()
        server.ask_to_end()
        assert server.await_end() == 0
        assert time.monotonic() - began_s < LONG_S / 2


def test_told_to_end_by_a_client(make: MakeServer) -> None:
    server = make()
    server.start()
    with adapter.connect(server.address, reconnect_timeout_s=0.0) as qm:
        qm.stop_queue_manager()
        assert server.await_end(STOP_S) == 0


def test_told_to_end_at_once_by_a_client(make: MakeServer) -> None:
    server = make(quiesce_s=LONG_S)
    server.start()
    with stuck(server.address), adapter.connect(server.address) as qm:
        began_s = time.monotonic()
        qm.stop_queue_manager(immediate=True)
        assert server.await_end() == 0
        assert time.monotonic() - began_s < LONG_S / 2


def test_told_to_end_while_it_starts(make: MakeServer) -> None:
    """At whatever moment that is: it ends by itself, soon, and without a stack of calls; and with
    a sentence, if Kafka has not answered by then.
    """
    for delay_s in (0.3, 0.6, 0.9, 1.2):
        server = make()
        server.launch()
        time.sleep(delay_s)
        server.ask_to_end()
        status = server.await_end()
        assert "Traceback" not in server.said(), server.said()
        assert status in (0, -signal.SIGTERM) or "was told to stop" in server.sentence()


def test_killed_under_load(make: MakeServer) -> None:
    server = make()
    server.start()
    with adapter.connect(server.address) as qm:
        qm.define_queue("LOAD")
        with Load(server.address, "LOAD") as load:
            for _ in range(2):
                load.await_gets(20)
                server.kill()
                server.start()
            load.await_gets(20)
            load.finish()


# -- another owner


def test_a_start_refuses_while_another_owner_is_alive(make: MakeServer) -> None:
    """The owner goes on undisturbed; once it is dead or has stopped, nobody waits for it."""
    first = make()
    first.start()
    second = make(first.queue_manager)
    with Bystander(first.address, "BYSTANDER") as bystander:
        sentence = refused(second)
        process = f"(process {first.pid} on {socket.gethostname()})"
        owner = f"{first.queue_manager} {process} at {first.address}"
        assert f"is owned by {owner}, which wrote to its ledger" in sentence
        assert "--take-over" in sentence
        bystander.await_turns(10)
    first.kill()
    second.start()
    second.ask_to_end()
    assert second.await_end() == 0
    first.start()


def test_another_server_takes_over_under_load(make: MakeServer) -> None:
    """The older one steps down and says for whom; clients that know both go on with the other."""
    old = make()
    old.start()
    new = make(old.queue_manager, take_over=True)
    with adapter.connect(old.address) as qm:
        qm.define_queue("LOAD")
    with Load(f"{old.address},{new.address}", "LOAD") as load:
        load.await_gets(20)
        new.start()
        assert old.await_end(STOP_S) == DEPOSED
        sentence = old.sentence()
        assert "another owner took over" in sentence
        assert f"{old.queue_manager} (process {new.pid} on {socket.gethostname()})" in sentence
        assert "Traceback" not in old.said()
        load.await_gets(20)
        assert load.finish() > 40
    with adapter.connect(new.address) as qm:
        assert qm.queue("LOAD").depth() == 0


def test_finding_reliability_d2_a_frozen_server_leaves_its_successor_alone(
    make: MakeServer,
) -> None:
    """Also if its ledger was trimmed meanwhile, so that it cannot read what came behind it."""
    frozen = make()
    frozen.start()
    with adapter.connect(frozen.address) as qm:
        qm.define_queue("Q")
        qm.queue("Q").put(b"before")
    with frozen_for_a_while(frozen.pid):
        successor = make(frozen.queue_manager, take_over=True)
        for _ in range(2):  # a stop writes a snapshot, and trims the ledger up to it
            successor.start()
            with adapter.connect(successor.address) as qm:
                qm.queue("Q").put(b"meanwhile")
            successor.ask_to_end()
            assert successor.await_end() == 0
        successor.start()
    assert frozen.await_end(STOP_S) == DEPOSED
    assert "another owner took over" in frozen.sentence()
    with adapter.connect(successor.address) as qm:
        qm.queue("Q").put(b"after")
        assert qm.queue("Q").depth() == len(["before", "meanwhile", "meanwhile", "after"])


# -- movers


def test_its_movers_are_killed(make: MakeServer, kafka: AnyKafka) -> None:
    """They are started again, and copy everything once."""
    server = make()
    server.start()
    count = 300
    with adapter.connect(server.address) as qm:
        qm.define_queue("Q")
        queue = qm.queue("Q")
        killed = []
        for turn in range(3):
            queue.put_many((b"%d" % n for n in range(turn * 100, turn * 100 + 100)), unit_size=10)
            killed.append(server.movers_pid())
            os.kill(killed[-1], signal.SIGKILL)
            while qm.figures()["mover_restarts"] <= turn:
                time.sleep(0.01)  # bounded by the test's own time
        with qm.unit():
            for priority in range(LANES):
                queue.put(MARKER, priority=priority)
    topic = names.queue_topic(server.queue_manager, "Q", 0)
    copies = read_until(kafka.bootstrap_servers, topic, MARKER)
    assert [int(copy.body) for copy in copies] == list(range(count))
    assert len({*killed, server.movers_pid()}) == 4
