"""An export is written by exporters that are cut off, replaced, frozen and awake again, to a topic
of which transactions are lost, doubtful or hidden; meanwhile the queue manager is killed, and
programs put, lock and purge. Judged by exports_model.py.

Exporters are those of the product. Each runs until it has nothing to do, in one thread: at any step
of its work something else may happen.
"""

from __future__ import annotations

import copy
import logging
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from unittest.mock import patch

from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule
from msgspec import Struct

from adapter.core.attributes.export import EXPORT, ExportAttributes
from adapter.core.contract import commands as c
from adapter.core.contract.exports import has_written
from adapter.core.contract.message import MessageData
from adapter.core.contract.results import Done, Exported, ExportPlaces, Refused
from adapter.core.contract.traits import is_durable
from adapter.core.model.handles import QueueHandle
from adapter.errors import Error
from adapter.runtime.exports import exporter
from adapter.runtime.exports.exporter import Counts, Export, ExportSession, RefusedMessages
from adapter.runtime.exports.port import ExportError
from adapter.storage.format.exports import ExportedRecord
from adapter.storage.topics.memory import MemoryRecord, MemoryTopics
from tests.simulation.exports_model import DEAD, ExportsModel
from tests.simulation.judged_machine import JudgedMachine
from tests.support.core import Client, Core
from tests.support.core_link import channel_on
from tests.support.export_topics import HIDDEN, LANDED, LOST, UNSHOWN, FaultyExports
from tests.support.hard_state import check_snapshots

RECORD_BYTES = 400
"""A longer record is not taken."""
EXPIRY_MS, LONG_S = 30_000, 60.0
GET_MESSAGES, WAITS = 2, 2
TRANSACTION = (LOST, LANDED, HIDDEN, UNSHOWN)
PROGRAMS = ("put", "commit", "purge", "lock", "time passes", "sync")
PROCESSES = ("another", "crash", "crash with a snapshot", "cut", "frozen", "deposed")
STEPS = (
    *("before Open", "after Open", "resume", "before AskOutcome", "before Get", "after Get"),
    *("before AskLowest", "before Put", "write", "written", "before Commit", "after Commit"),
)
"""Of an exporter's work, at which something may happen."""
BEGINNING = STEPS[:4]
FAULT = st.one_of(
    st.tuples(st.sampled_from(STEPS), st.integers(1, 2), st.sampled_from(PROCESSES + PROGRAMS)),
    st.tuples(st.sampled_from(BEGINNING), st.just(1), st.sampled_from(PROCESSES)),
)
COMMIT = st.sampled_from(("", "", *TRANSACTION))
FAULTS, COMMITS = st.tuples(FAULT, FAULT), st.tuples(COMMIT, COMMIT, COMMIT)
Fault = tuple[str, int]
"""A step, and which time it is come to."""
FaultAt = tuple[str, int, str]
PRIORITY = st.integers(0, 2)
NEEDS_AN_ENTRY = (c.SessionOpen, c.SessionResume, c.AskOutcome)
"""What no owner answers that has been replaced, beside what is durable."""
AWAITED_MAX = 3
SELDOM = st.sampled_from((False, False, True))
KIND = st.sampled_from(("", "", "", "", "property", "long"))


class Kept(Struct):
    """A unit of a program: what it has put. client: it ends with that."""

    client: Client
    unit: bytes
    puts: list[tuple[str, str]]
    """Lane and body."""


class Awaited(Struct):
    """What a table waits for. then: how far the export had come; bodies: what was committed."""

    then: ExportPlaces
    bodies: set[str]


class ExportsMachine(JudgedMachine):
    """One queue manager, one export, and all exporters that there ever were."""

    events = (
        *(f"transaction {one}" for one in TRANSACTION),
        *(f"program: {one}" for one in PROGRAMS),
        *(f"process: {one}" for one in PROCESSES),
        "aborted what Kafka left open",
        "dead letter",
        "locked by another program",
        "queue defined again",
        "refused to another program",
        "synced",
        "synced later",
        *("unit: backout", "unit: commit", "unit: lost"),
        "written by a later transaction",
    )
    model: ExportsModel

    def __init__(self) -> None:
        super().__init__()
        logging.getLogger("adapter.client").setLevel(logging.ERROR)
        self.model = ExportsModel()
        self.core = Core()
        self.topics = MemoryTopics()
        self.topics.create("T", 1, RECORD_BYTES)
        self.exports = FaultyExports(self.topics, self._at_topic, RECORD_BYTES)
        self.export = Export("E", ExportAttributes(queue="QUEUE", topic="T"))
        self.refused = RefusedMessages()
        self.bodies = 0
        self.steps = Counter[str]()
        self.faults: dict[Fault, str] = {}
        self.commits: list[str] = []
        self.units: list[Kept] = []
        self.awaited: list[Awaited] = []
        self.locking: Client | None = None
        self.is_priority = False
        self.times = 1

    @initialize(is_priority=st.booleans())
    def define(self, is_priority: bool) -> None:
        self.is_priority = is_priority
        with self._connected() as client:
            self._define_queue(client)
            client.define("DEAD", msg_delivery_sequence="FIFO")
            client.do(c.AlterObject("queue_manager", "QM1", {"dead_letter_queue": "DEAD"}))
            client.do(c.DefineObject(EXPORT, "E", {"queue": "QUEUE", "topic": "T"}))

    def _define_queue(self, client: Client) -> None:
        order = "PRIORITY" if self.is_priority else "FIFO"
        client.define("QUEUE", msg_delivery_sequence=order)

    # What programs do.

    def _client(self, modes: int) -> Client:
        client = self.core.connect()
        client.open_session(self.core.new_session_id())
        client.open("QUEUE", modes)
        return client

    @contextmanager
    def _connected(self) -> Iterator[Client]:
        client = self.core.connect()
        yield client
        client.lose()

    def _message(self, kind: str, priority: int, persistence: int, *, expires: bool) -> MessageData:
        self.bodies += 1
        body = f"{DEAD if kind else ''}{self.times} {self.bodies}"
        if kind == "long":
            body = body.ljust(RECORD_BYTES, ".")
        return MessageData(
            body=body.encode(),
            priority=priority,
            persistence=persistence,
            expiry_ms=EXPIRY_MS if expires else -1,
            properties={"KafkaToTimestamp": -1} if kind == "property" else {"name": self.bodies},
        )

    def _lane(self, message: MessageData) -> str:
        soft = "" if message.persistence else " soft"
        return f"{self.times} {message.priority if self.is_priority else ''}{soft}"

    @rule(
        kinds=st.lists(KIND, min_size=1, max_size=4),
        priority=PRIORITY,
        persistence=st.sampled_from((1, 1, 1, 0)),
        expires=SELDOM,
        commits=st.booleans(),
    )
    def put(
        self, kinds: list[str], priority: int, persistence: int, expires: bool, commits: bool
    ) -> None:
        """Put messages in a unit."""
        client = self._client(c.OUTPUT)
        unit = client.begin()
        kept = Kept(client, unit, [])
        for kind in kinds:
            message = self._message(kind, priority, persistence, expires=expires)
            body = message.body.decode()
            if expires:
                self.model.remove([body])
            if not persistence:
                self.model.remove([body])
            kept.puts.append((self._lane(message), body))
            client.do(c.Put(1, [message], unit))
        self.units.append(kept)
        if commits:
            self._commit(self.units.pop())

    def _commit(self, kept: Kept) -> None:
        for lane, body in kept.puts:
            self.model.commit(lane, body)
        assert isinstance(kept.client.do(c.Commit(kept.unit)), Done)
        kept.client.lose()

    @precondition(lambda self: self.units)
    @rule(how=st.sampled_from(("commit", "backout", "lost")))
    def end_unit(self, how: str) -> None:
        kept = self.units.pop(0)
        self.meet(f"unit: {how}")
        if how == "commit":
            self._commit(kept)
            return
        if how == "backout":
            kept.client.do(c.Backout(kept.unit))
        kept.client.lose()

    @rule(seldom=SELDOM)
    def purge(self, seldom: bool) -> None:
        if not seldom:
            return
        self.model.empty_queue(self._written())
        with self._connected() as client:
            assert isinstance(client.do(c.PurgeQueue("QUEUE")), Done)

    @rule()
    def lock(self) -> None:
        """Let a program browse a message and lock it, or let go of it."""
        locking, self.locking = self.locking, None
        if locking is not None:
            locking.lose()
            return
        client = self.core.connect()
        if isinstance(client.open("QUEUE", c.BROWSE | c.INPUT), Refused):
            self.meet("refused to another program")
            client.lose()
            return
        bodies = client.browse(options=c.LOCK)
        self.model.lock(bodies)
        self.locking = client
        self.meet("locked by another program", when=bodies)

    @rule(seldom=SELDOM)
    def get_and_back_out(self, seldom: bool) -> None:
        """Let a program get messages, and back out."""
        if not seldom:
            return
        client = self._client(c.INPUT)
        unit = client.begin()
        self.model.lock(client.get(unit, limit=2))
        client.do(c.Backout(unit))
        client.lose()

    @rule(seldom=SELDOM)
    def define_again(self, seldom: bool) -> None:
        """Delete the queue with its messages, and define it again."""
        if not seldom:
            return
        for kept in self.units:
            kept.client.lose()
        self.units.clear()
        if self.locking is not None:
            self.lock()
        self.model.empty_queue(self._written())
        with self._connected() as client:
            assert isinstance(client.do(c.DeleteQueue("QUEUE", purge=True)), Done)
            self._define_queue(client)
        self.times += 1
        self.meet("queue defined again")

    @rule()
    def sync(self) -> None:
        """Let a table ask what it waits for, and see what those before it waited for."""
        now = self._places()
        if len(self.awaited) < AWAITED_MAX:
            self.awaited.append(Awaited(now, self.model.committed()))
        awaited, self.awaited = self.awaited, []
        for one in awaited:
            if not has_written(one.then, now):
                self.awaited.append(one)
                continue
            unshown = [_body(record) for record in self.exports.unshown(("QM1", "E"))]
            self.model.check_synced(one.bodies, self._written() + unshown)
            self.meet("synced" if one.then == now else "synced later", when=one.bodies)

    def _places(self) -> ExportPlaces:
        """Return how far the export has come."""
        with self._connected() as client:
            answer = client.do(c.AskExports("T"))
        assert isinstance(answer, Exported)
        (found,) = answer.exports
        return found

    @rule(seldom=SELDOM, snapshot=SELDOM)
    def crash(self, seldom: bool, snapshot: bool) -> None:
        if seldom:
            self._crash(snapshot=snapshot)

    def _crash(self, *, snapshot: bool) -> None:
        """Go on with what the ledger says, and with new exporters."""
        check_snapshots(self.core.qm, self.core.replayed())
        if snapshot:
            self.core.crash_with_snapshot()
        else:
            self.core.crash()
        self._begin_again()

    def _begin_again(self) -> None:
        self.units.clear()
        self.locking = None
        self.refused = RefusedMessages()

    # What exporters do.

    @rule(priority=PRIORITY, faults=FAULTS, commits=COMMITS)
    def put_and_write(
        self, priority: int, faults: tuple[FaultAt, FaultAt], commits: tuple[str, str, str]
    ) -> None:
        self.put(["", "", ""], priority, 1, False, True)
        self.write(faults, commits)

    @rule(faults=FAULTS, commits=COMMITS)
    def write(self, faults: tuple[FaultAt, FaultAt], commits: tuple[str, str, str]) -> None:
        """Let an exporter work. faults: at which step what happens. commits: what becomes of
        transactions.
        """
        self.steps.clear()
        self.faults = {(step, time): what for step, time, what in faults}
        self.commits = list(commits)
        self._run()
        self.faults, self.commits = {}, []
        self.model.check_written(self._written())

    def _run(self) -> None:
        """Run one exporter to its end."""
        counts = Counts()
        core = self.core
        few = patch.multiple(exporter, GET_MESSAGES=GET_MESSAGES, WAITS=WAITS)
        with suppress(Error, ExportError), few:
            channel = channel_on(core, partial(self._at_core, core))
            try:
                ExportSession(self.export, channel, self.exports, counts, self.refused).run()
            finally:
                channel.close()
        self.meet("dead letter", when=counts.dead_letters)

    def _written(self) -> list[str]:
        return [_body(one) for one in self.topics.records("T")]

    def _at_core(self, core: Core, when: str, command: c.Command | None) -> bool:
        if command is None:
            return True
        if core is self.core:
            self._happens(f"{when} {type(command).__name__}")
        if core is self.core:
            return True
        return not (is_durable(command) or isinstance(command, NEEDS_AN_ENTRY))

    def _at_topic(self, when: str) -> str:
        self._happens(when)
        what = self.commits.pop(0) if when == "write" and self.commits else ""
        self.meet(f"transaction {what}", when=what)
        return what

    def _happens(self, step: str) -> None:
        """Let happen what happens at this step of an exporter's work."""
        self.steps[step] += 1
        what = self.faults.pop((step, self.steps[step]), "")
        if what in PROCESSES:
            self.meet(f"process: {what}")
            self._disturb(what)
        elif what in PROGRAMS:
            self.meet(f"program: {what}")
            self._work(what)

    def _work(self, what: str) -> None:
        """Let a program do something while an exporter works."""
        match what:
            case "put":
                self.put(["", ""], 2, 1, False, True)
            case "commit" if self.units:
                self._commit(self.units.pop(0))
            case "purge":
                self.purge(True)
            case "lock":
                self.lock()
            case "sync":
                self.sync()
            case "time passes":
                self.core.advance(LONG_S)

    def _disturb(self, what: str) -> None:
        """Let something happen to the process, or to the exporter's connection."""
        match what:
            case "crash" | "crash with a snapshot":
                self._crash(snapshot=what != "crash")
                raise ExportError("the process is dead")
            case "another":
                self._run()
            case "cut":
                self._cut()
            case "frozen":
                self._cut()
                self._run()
            case "deposed":
                self._depose()
                self._run()

    def _cut(self) -> None:
        """Cut the connections of exporters: those of clients with QUEUE open exclusively."""
        for number, known in list(self.core.qm.connections.items()):
            handles = [one for one in known.handles.values() if isinstance(one, QueueHandle)]
            if any(one.modes & c.EXCLUSIVE for one in handles):
                self.core.disconnect(number)

    def _depose(self) -> None:
        """Let another owner go on with the ledger; the old one stands still, and does not know."""
        old = self.core
        self.core = copy.copy(old)
        self.core.entries = list(old.entries)
        self.core.topics = {at: dict(lane) for at, lane in old.topics.items()}
        self.core.answers = {}
        self.core.crash()
        self._begin_again()

    def teardown(self) -> None:
        """End all units, write what is left, and judge."""
        if self.locking is not None:
            self.lock()
        while self.units:
            self.end_unit("commit")
        for _ in range(20):
            self._run()
        assert not self.core.queue("QUEUE").depth, "it does not go on"
        self.sync()
        assert not self.awaited, "a table waits for what is written, or gone"
        self.meet("aborted what Kafka left open", when=self.exports.aborted)
        self.meet("written by a later transaction", when=self.exports.shown_later)
        client = self.core.connect()
        client.open("DEAD", c.INPUT)
        dead = []
        while found := client.take():
            dead += [one.message.body[172:].decode() for one in found]
        self.model.check(self._written(), dead)


def _body(record: MemoryRecord | ExportedRecord) -> str:
    return (record.value or b"").decode()
