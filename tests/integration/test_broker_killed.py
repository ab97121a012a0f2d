"""Either of two queue managers is killed while programs at both converse by Service Broker.

Each queue manager is a process of its own on one Kafka. A program at each receives from its queue,
and answers every message in the transaction that received it. The judge knows only what was
committed: every message of a conversation exactly once and in order, and both sides ended.
"""

import random
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar
from uuid import UUID

import pytest

from adapter import servicebroker
from adapter.errors import BackedOut, Error
from adapter.servicebroker import END_DIALOG, Row, ServiceBroker, Transaction
from tests.soak.travelling import prepare
from tests.support.backlog import until
from tests.support.server_process import ServerProcess
from tests.support.shared_kafka import AnyKafka

ResultT = TypeVar("ResultT")
QUEUE = "Conversing"
CONVERSATIONS = 5
"""Begun at each queue manager."""
MESSAGES = 60
"""That each side sends on each conversation."""
AT_ONCE = 5
"""Messages of a conversation that are not answered yet."""
KILLS = 3
WITHIN_S = 40.0
RECEIVE_MS = 500


def service_of(server: ServerProcess) -> str:
    """Return the name of the service at a queue manager."""
    return f"//{server.queue_manager}/Talk"


def session(server: ServerProcess) -> ServiceBroker:
    """Connect to one of them, and again whenever it was killed."""
    return servicebroker.connect(server.address, reconnect_timeout_s=WITHIN_S)


class Program:
    """Begins conversations with the other queue manager's program, and answers its messages."""

    def __init__(self, server: ServerProcess, other: ServerProcess) -> None:
        self._server = server
        self._other = other
        self.got: dict[UUID, list[tuple[int, str]]] = {}
        """Sequence number and text of what was received, by conversation."""
        self.ended: list[UUID] = []
        """Handles of the conversations that it has ended, each once."""

    def prepare(self) -> None:
        """Create its queue, its service and the route to the other service."""
        prepare(self._server, self._other.queue_manager)
        with session(self._server) as broker:
            broker.create_queue(QUEUE)
            broker.create_service(
                service_of(self._server), QUEUE, contracts=[servicebroker.DEFAULT]
            )
            broker.create_route(
                "other",
                service=service_of(self._other),
                address=self._other.queue_manager,
            )

    @property
    def count(self) -> int:
        """How many messages it has received."""
        return sum(map(len, self.got.values()))

    def __call__(self) -> None:
        """Converse until all conversations have ended."""
        with session(self._server) as broker:
            own = {self._committed(broker, self._begin) for _ in range(CONVERSATIONS)}
            deadline_s = time.monotonic() + 2 * WITHIN_S
            while len(self.ended) < 2 * CONVERSATIONS:
                rows, ended = self._committed(broker, lambda t: self._answer(t, own))
                self._note(rows)
                self.ended += ended
                assert time.monotonic() < deadline_s, f"{self.count} messages came"
            assert broker.receive(QUEUE) == []

    @staticmethod
    def _committed(broker: ServiceBroker, work: Callable[[Transaction], ResultT]) -> ResultT:
        """Do something in a transaction, again if the queue manager was killed meanwhile."""
        while True:
            try:
                with broker.transaction() as t:
                    return work(t)
            except Error as error:
                if not isinstance(error.__cause__, BackedOut):
                    raise

    def _begin(self, t: Transaction) -> UUID:
        handle = t.begin_dialog(service_of(self._server), service_of(self._other))
        for number in range(AT_ONCE):
            t.send(handle, body=str(number))
        return handle

    def _answer(self, t: Transaction, own: set[UUID]) -> tuple[list[Row], list[UUID]]:
        """Answer: the target with the same number, the initiator with its next one. The target ends
        with the last one, and then the initiator. Returns what was received and what was ended.
        """
        ended = []
        rows = t.receive(QUEUE, timeout_ms=RECEIVE_MS)
        for row in rows:
            handle = row.conversation_handle
            if row.message_type_name == END_DIALOG:
                t.end_conversation(handle)
                ended.append(handle)
                continue
            number = int(row.text)
            if handle not in own:
                t.send(handle, body=row.text)
                if number == MESSAGES - 1:
                    t.end_conversation(handle)
                    ended.append(handle)
            elif number + AT_ONCE < MESSAGES:
                t.send(handle, body=str(number + AT_ONCE))
        return rows, ended

    def _note(self, rows: list[Row]) -> None:
        """Keep rows whose transaction was committed."""
        for row in rows:
            assert row.conversation_handle not in self.ended, f"{row} came after the end"
            if row.message_type_name != END_DIALOG:
                got = self.got.setdefault(row.conversation_handle, [])
                got.append((row.message_sequence_number, row.text))


def judge(program: Program) -> None:
    """Every message of every conversation was received once, in order."""
    wanted = [(number, str(number)) for number in range(MESSAGES)]
    assert len(program.got) == 2 * CONVERSATIONS
    assert sorted(program.ended) == sorted(program.got)
    for got in program.got.values():
        assert got == wanted


def await_count(programs: Sequence[Program], count: int, running: Sequence[Future[None]]) -> None:
    """Wait until so many messages have been received."""
    deadline_s = time.monotonic() + 2 * WITHIN_S
    while sum(one.count for one in programs) < count:
        assert time.monotonic() < deadline_s, [one.count for one in programs]
        for one in running:
            if one.done():
                one.result()
        time.sleep(0.005)


@pytest.mark.timeout(240)
def test_conversations_lose_double_and_reorder_nothing_when_a_queue_manager_is_killed(
    kafka: AnyKafka, unique_name: Callable[..., str], tmp_path: Path
) -> None:
    chance = random.Random(4)
    a, b = (
        ServerProcess(
            unique_name(name), kafka.bootstrap_servers, tmp_path, network=True, take_over=True
        )
        for name in ("QMA", "QMB")
    )
    with a, b, ThreadPoolExecutor(2) as threads:
        a.start()
        b.start()
        programs = Program(a, b), Program(b, a)
        for program in programs:
            program.prepare()
        running = [threads.submit(program) for program in programs]
        total = 4 * CONVERSATIONS * MESSAGES
        for kill in range(KILLS):
            await_count(programs, total * (kill + 1) // (KILLS + 1), running)
            victim = chance.choice((a, b))
            victim.kill()
            victim.start()
        for one in running:
            one.result(2 * WITHIN_S)
        for program in programs:
            judge(program)
        for server in (a, b):
            with session(server) as broker:
                until(lambda: broker.conversation_endpoints() == [])
                assert broker.transmission_queue() == []
                assert broker.queue(QUEUE).status
