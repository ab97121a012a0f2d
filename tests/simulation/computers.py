"""Two computers of MSMQ: a core each, and what carries messages from one to the other.

The records between them are those that go over Kafka, written by a sender that may be killed
between any two of its steps, or write on after another one has taken its place, and read by the
collector of the destination. All is durable at once on a core. This module judges nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from adapter.core import inputs
from adapter.core.contract import commands as c
from adapter.core.contract.arrivals import Lowest
from adapter.core.contract.computers import KnownComputer
from adapter.core.contract.limits import Limits
from adapter.core.contract.message import Delivered
from adapter.core.contract.results import LowestPlaces
from adapter.core.rules.msmq.queues import OUTGOING
from adapter.runtime.network.collecting import InboundCollector
from adapter.runtime.network.port import ReceivedRecord, SentRecord
from adapter.storage.format import transfer
from adapter.storage.format.transfer import Transfer
from tests.support.core import Client, Core

TOPIC_ID = "topic 1"


def connected(core: Core) -> Client:
    """Connect a client; its session has an id that no client of another core has."""
    client = core.connect()
    client.open_session(core.qm.name.encode()[:1] + core.new_session_id()[1:])
    return client


class Sender:
    """One session: what it has got, and how much of that it has written."""

    def __init__(self, client: Client, incarnation: int, number: int) -> None:
        self.client = client
        self.incarnation = incarnation
        self.session = number.to_bytes(8, "big")
        self.unit = b""
        self.records: list[SentRecord] = []
        self.written = 0

    @property
    def unwritten(self) -> int:
        """How many records it has still to write."""
        return len(self.records) - self.written


class Route:
    """From one computer to another: the outgoing queue, its sender, the topic and its reader."""

    def __init__(self, source: Core, target: Core) -> None:
        self.source, self.target = source, target
        self.queue = OUTGOING + target.qm.name.lower()
        self.topic = f"mq.{target.qm.name}.in.{source.qm.name}"
        self.records: list[ReceivedRecord] = []
        self.sessions = 0
        self.sender: Sender | None = None
        self.zombies: list[Sender] = []
        self.duplicates = 0
        """Messages that came again."""
        self.begin_to_read()

    # -- the sender

    @property
    def waiting(self) -> int:
        """How many messages have not left the source for good."""
        queue = self.source.qm.queues.get(self.queue)
        return queue.available_count + queue.locked_count if queue is not None else 0

    def get(self, limit: int) -> None:
        """Let the sender get messages: the last unit whole."""
        sender = self._sender()
        if sender is None or sender.records:
            return
        sender.unit = sender.unit or sender.client.begin()
        got = sender.client.take(sender.unit, limit=limit)
        while got and (lacks := got[-1].queue_unit_size - got[-1].queue_unit_index - 1):
            more = sender.client.take(sender.unit, limit=lacks)
            got += more
            if not more:
                break
        asked = sender.client.do(c.AskLowest(1))
        assert isinstance(asked, LowestPlaces)
        behind: list[int] = []
        for _, unit in groupby(got, key=lambda one: one.unit):
            messages = list(unit)
            sender.records += self._records(sender, messages, asked.lanes, behind)
            behind = [messages[-1].lane, messages[-1].seq, messages[-1].n]

    def write(self, count: int) -> None:
        """Let the sender write some records to the topic."""
        if self.sender is not None:
            self._write(self.sender, count)

    def commit(self) -> None:
        """Let the sender commit, if all that it has got is written."""
        sender = self.sender
        if sender is not None and sender.records and not sender.unwritten:
            sender.client.do(c.Commit(sender.unit))
            sender.unit, sender.records, sender.written = b"", [], 0

    def kill_sender(self) -> None:
        """Let the connection of the sender be lost; it may write on."""
        if self.sender is not None:
            self.sender.client.lose()
            self.leave_sender()

    def leave_sender(self) -> None:
        """Another sender is to take the place of this one."""
        if self.sender is not None and self.sender.unwritten:
            self.zombies.append(self.sender)
        self.sender = None

    def write_of_zombie(self, count: int, which: int) -> bool:
        """Let a sender write on that was replaced; return whether there is one."""
        if which >= len(self.zombies):
            return False
        self._write(self.zombies[which], count)
        if not self.zombies[which].unwritten:
            del self.zombies[which]
        return True

    def _sender(self) -> Sender | None:
        if self.sender is None and self.queue in self.source.qm.queues:
            client = connected(self.source)
            client.open(self.queue, c.INPUT | c.EXCLUSIVE)
            self.sessions += 1
            incarnation = self.source.queue(self.queue).incarnation
            self.sender = Sender(client, incarnation, self.sessions)
        return self.sender

    def _write(self, sender: Sender, count: int) -> None:
        for record in sender.records[sender.written : sender.written + count]:
            offset = len(self.records)
            headers = dict(record.headers)
            self.records.append(ReceivedRecord(self.topic, offset, record.value, headers))
            sender.written += 1

    def _records(
        self, sender: Sender, unit: list[Delivered], lowest: list[Lowest], behind: list[int]
    ) -> Iterator[SentRecord]:
        places = [part for one in lowest for part in (one.lane, one.seq, one.n)]
        for part, message in enumerate(unit):
            header = Transfer(
                queue_manager=self.source.qm.name,
                ident=self.source.qm.name,
                queue=self.queue,
                incarnation=sender.incarnation,
                lane=message.lane,
                n=message.n,
                lowest=places if part == len(unit) - 1 else [],
                session=sender.session,
                part=part,
                parts=len(unit),
                behind=behind,
            )
            for headers, value in transfer.encode(message, header):
                yield SentRecord(value, headers)

    # -- the destination

    def begin_to_read(self) -> None:
        """Read from where the ledger of the destination says."""
        name, source = self.target.qm.name, self.source.qm.name
        self.collector = InboundCollector(name, self.topic, TOPIC_ID, source)
        self.collector.next = self.target.qm.arrivals.position(self.topic, TOPIC_ID)

    @property
    def is_amid_unit(self) -> bool:
        """Whether a part of a unit was read, and its rest was not."""
        return self.collector.position < self.collector.next

    def read(self, count: int) -> None:
        """Let the destination read so many records."""
        for record in self.records[self.collector.next :][:count]:
            for ready in self.collector.take(record, 0.0):
                arrivals = self.target.qm.arrivals
                self.duplicates += sum(
                    arrivals.has(ready.given.origin, one.lane, one.seq, one.n)
                    for one in ready.given.messages
                )
                self.target.take(self.target.give(inputs.Arrived(ready.given)))

    def pump(self) -> None:
        """Let all that waits at the source arrive."""
        while self.waiting or self.collector.next < len(self.records):
            if self.waiting:
                self.get(50)
                self.write(1_000)
                self.commit()
            self.read(1_000)


class Computers:
    """Two cores by name, and the routes between them by source."""

    def __init__(self, names: tuple[str, str], limits: Limits) -> None:
        self.cores = {name: Core(limits, name=name) for name in names}
        for core in self.cores.values():
            core.configure()
        for name in names:
            self._introduce(name)
        one, other = names
        self.routes = {
            one: Route(self.cores[one], self.cores[other]),
            other: Route(self.cores[other], self.cores[one]),
        }

    def _introduce(self, name: str) -> None:
        """Let a queue manager know the other one, as from the directory."""
        other = next(one for one in self.cores if one != name)
        computers = {other.casefold(): KnownComputer(other, "127.0.0.1:1414")}
        known = inputs.QueueManagersKnown(frozenset({other}), computers)
        self.cores[name].give(known)

    def advance(self, seconds: float) -> None:
        """Let time pass on both."""
        for core in self.cores.values():
            core.advance(seconds)

    def crash(self, name: str, *, with_snapshot: bool) -> None:
        """Let a queue manager crash and start again."""
        core = self.cores[name]
        if with_snapshot:
            core.crash_with_snapshot()
        else:
            core.crash()
        self._introduce(name)
        for source, route in self.routes.items():
            if source == name:
                route.leave_sender()
            else:
                route.begin_to_read()
