"""Units ahead and commits in flight on a real Kafka: connections are cut, processes are killed.

A program copies messages in order, as fast as it can. The judge reads what it has put.
"""

import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import adapter
from adapter.core.contract import commands as c
from adapter.core.contract.message import MessageData
from adapter.core.contract.reasons import Reason
from adapter.errors import BackedOut
from mqk_demo.proxy import Proxy
from tests.support.backlog import until
from tests.support.raw_client import RawClient
from tests.support.server_process import ServerProcess
from tests.support.shared_kafka import AnyKafka

MESSAGES = 4_000
BODIES = [b"%06d" % number for number in range(MESSAGES)]
SIZE, AHEAD, IN_FLIGHT = 2, 8, 8
CUTS, KILLS = 8, 3
WITHIN_S = 60.0
PROGRAM = """
import sys
import adapter

queue = adapter.connect(sys.argv[1]).queue("SOURCE")
for turn, unit in enumerate(queue.units(2, prefetch=8, commits=8)):
    with unit:
        if turn == 20:
            print(unit.messages[0].body.decode(), unit.messages[-1].body.decode(), flush=True)
            sys.stdin.read()
"""


@pytest.fixture
def server(
    kafka: AnyKafka, unique_name: Callable[..., str], tmp_path: Path
) -> Iterator[ServerProcess]:
    with ServerProcess(unique_name("QM"), kafka.bootstrap_servers, tmp_path) as running:
        running.start()
        with adapter.connect(running.address) as qm:
            qm.define_queue("SOURCE")
            qm.define_queue("TARGET")
            qm.queue("SOURCE").put_many(BODIES)
        yield running


class Frames:
    """A client that sends its frames by hand, with a session of its own."""

    def __init__(self, client: RawClient, session: bytes) -> None:
        self.client = client
        client.hello()
        client.open_session(session)
        client.ask(c.Open(1, "SOURCE", c.INPUT), c.Open(2, "TARGET", c.OUTPUT))
        self.units = (session + number.to_bytes(8, "big") for number in range(1, 10))

    def get_ahead(self) -> bytes:
        """Begin a unit ahead and get its messages, in one frame."""
        unit = next(self.units)
        begin, get = c.Begin(unit, ahead=True), c.Get(1, unit, limit=SIZE)
        self.client.send_frame([3, [[0, 0, begin], [99, 0, get]], []])
        assert len(self.client.receive()[1][0][1][1]) == SIZE
        return unit


def counts(server: ServerProcess, most: int = 6) -> list[int]:
    """How often the first messages of SOURCE have come back."""
    with adapter.connect(server.address) as qm:
        until(lambda: qm.queue("SOURCE").depth() == MESSAGES)
        shown = [one for one, _ in zip(qm.queue("SOURCE").browse(), range(most), strict=False)]
    assert [one.body for one in shown] == BODIES[:most]
    return [one.backout_count for one in shown]


class Copier:
    """Copies until the source is empty, and begins again when commits have failed."""

    def __init__(self, address: str) -> None:
        self.copied = 0
        self.failed = 0
        self.thread = threading.Thread(target=self._run, args=(address,))
        self.thread.start()

    def _run(self, address: str) -> None:
        with adapter.connect(address, reconnect_timeout_s=WITHIN_S) as qm:
            source, target = qm.queue("SOURCE"), qm.queue("TARGET")
            while source.depth():
                try:
                    self._copy(source, target)
                except BackedOut as lost:
                    self.failed += len(lost.units_failed)

    def _copy(self, source: adapter.Queue, target: adapter.Queue) -> None:
        for unit in source.units(SIZE, timeout=1, prefetch=AHEAD, commits=IN_FLIGHT):
            with unit:
                for message in unit.messages:
                    target.put(message.body, wait=False)
            self.copied += len(unit.messages)

    def at(self, share: float) -> None:
        """Wait until it has copied so much."""
        until(lambda: self.copied >= share * MESSAGES or not self.thread.is_alive())


def check(server: ServerProcess, copier: Copier) -> None:
    copier.thread.join(WITHIN_S)
    assert not copier.thread.is_alive()
    with adapter.connect(server.address) as qm:
        assert [message.body for message in qm.queue("TARGET").browse()] == BODIES
        assert qm.queue("SOURCE").depth() == 0


@pytest.mark.timeout(180)
def test_cut_connections_lose_double_and_reorder_nothing(server: ServerProcess) -> None:
    chance = random.Random(7)
    with Proxy("127.0.0.1", server.port) as proxy:
        copier = Copier(proxy.address)
        for cut in range(1, CUTS + 1):
            copier.at(cut / (CUTS + 1))
            if cut % 2:
                proxy.hold_replies()  # what is executed meanwhile is not heard of
            else:
                proxy.hold_requests()  # what is sent meanwhile never arrives
            threading.Event().wait(chance.uniform(0.005, 0.02))
            proxy.cut()
            proxy.release()
        check(server, copier)
    assert copier.failed


@pytest.mark.timeout(180)
def test_a_killed_queue_manager_loses_doubles_and_reorders_nothing(server: ServerProcess) -> None:
    copier = Copier(server.address)
    for kill in range(1, KILLS + 1):
        copier.at(kill / (KILLS + 1))
        server.kill()
        server.start()
    check(server, copier)


def test_of_a_killed_program_only_what_it_was_shown_is_counted(server: ServerProcess) -> None:
    command = [sys.executable, "-c", PROGRAM, server.address]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
        assert program.stdout is not None
        shown = [body.encode() for body in program.stdout.readline().decode().split()]
        program.send_signal(signal.SIGKILL)
        program.wait(10)
    first = BODIES.index(shown[0])
    with adapter.connect(server.address) as qm:
        until(lambda: qm.queue("SOURCE").depth() == MESSAGES - first)
        counts = [(one.body, one.backout_count) for one in qm.queue("SOURCE").browse()]
    assert counts == [(body, int(body in shown)) for body in BODIES[first:]]


def test_of_a_cut_connection_only_the_unit_that_was_touched_is_counted(
    server: ServerProcess,
) -> None:
    """The frames are sent by hand. The counts outlast the queue manager's process."""
    with RawClient(server.address) as raw:
        client = Frames(raw, b"1" * 16)
        units = [client.get_ahead() for _ in range(3)]
        raw.tell(c.Touch(units[0]))
        raw.ask(c.AskOutcome(units[0]))  # behind the touch: a reset takes what was not read
        raw.break_off()
    assert counts(server) == [1, 1, 0, 0, 0, 0]
    server.kill()
    server.start()
    assert counts(server) == [1, 1, 0, 0, 0, 0]


def test_a_commit_behind_a_refused_deferred_put_leaves_nothing_on_kafka(
    server: ServerProcess,
) -> None:
    with adapter.connect(server.address) as qm:
        qm.alter_queue("TARGET", max_depth=1)
    with RawClient(server.address) as raw:
        client = Frames(raw, b"2" * 16)
        unit = client.get_ahead()
        put = c.Put(2, [MessageData(body=b"x", persistence=1)], unit, c.DEFERRED)
        raw.tell(c.Touch(unit), put, put)
        refused = raw.refused(c.Commit(unit), number=1)
        assert (refused.reason, refused.name) == (Reason.QUEUE_FULL, "TARGET")
    server.kill()
    server.start()
    assert counts(server, 3) == [1, 1, 0]
    with RawClient(server.address) as raw:
        raw.hello()
        raw.ask(c.SessionResume(b"2" * 16, [1], 1))
        assert raw.refused(c.Commit(unit), number=1).reason is Reason.BACKED_OUT
    with adapter.connect(server.address) as qm:
        assert qm.queue("TARGET").depth() == 0
