"""Random work on objects of all kinds: whatever can be reached can be written, read and left.

No answer is judged. After every step all that core counts is counted again (recount.py); now and
then the ledger is replayed, a snapshot restored, and a standby asked, and each must say what the
live core says. At the end everything that waits for a page is answered, and every queue can be
deleted.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

from adapter.core import dispatch
from adapter.core.contract import commands as c
from adapter.core.contract.details import IN_GROUP, LAST_SEGMENT, SEGMENT, Details
from adapter.core.contract.limits import Limits
from adapter.core.contract.message import MessageData
from adapter.core.contract.records import QueueDeleted
from adapter.core.contract.results import ConsumerState, Messages, Refused, Result, Subscribed
from adapter.core.model.handles import QueueHandle, SubscriptionHandle
from adapter.core.model.manager import QueueManager
from adapter.storage.format import entries
from tests.simulation import recount
from tests.support.core import Client, Core
from tests.support.hard_state import check_snapshots, hard, snapshot_of

PROGRAMS = ("ada", "bob", "eve")
HANDLES = range(1, 5)
"""What each program has open from the start."""
QUEUES: dict[str, dict[str, Any]] = {
    "A": {"max_depth": 60},
    "F": {"msg_delivery_sequence": "FIFO"},
    "M": {
        "backout_action": "MOVE",
        "backout_threshold": 1,
        "backout_requeue_queue": "ASIDE",
        "harden_get_backout": True,
    },
    "ASIDE": {"max_depth": 6},
    "DEAD": {"max_depth": 4},
    "T": {
        "trigger_control": True,
        "trigger_type": "EVERY",
        "initiation_queue": "START",
        "process": "P",
    },
    "START": {},
}
MODELS = {"TEMPORARY": "TEMPDYN", "PERMANENT": "PERMDYN"}
GROUPS = (b"1" * 24, b"2" * 24)
CORRELATIONS = (b"a" * 24, b"b" * 24)
SELECTION = "colour = 'red'"
WHOLE = (c.LOGICAL_ORDER, c.ALL_MESSAGES, c.ALL_SEGMENTS, c.COMPLETE)
CHANGES: tuple[dict[str, Any], ...] = (
    *({"max_depth": 3}, {"max_depth": 5_000}, {"inhibit_get": True}, {"inhibit_get": False}),
    *({"inhibit_put": True}, {"inhibit_put": False}, {"def_priority": 5}, {"backout_threshold": 2}),
    *({"backout_action": "MOVE", "backout_threshold": 1}, {"backout_action": "PROGRAM"}),
    *({"msg_delivery_sequence": "FIFO"}, {"msg_delivery_sequence": "PRIORITY"}),
)
ALL_MODES = c.INPUT | c.OUTPUT | c.BROWSE
DAY_S = 86_400
AT_REST = 400
"""Pages that may be read until nothing waits for one: more than there are messages."""


class Told:
    """What is told of a run, and what it met."""

    def __init__(self) -> None:
        self.trace: Callable[[str], object] | None = None
        self.met: Counter[str] = Counter()


class StateWork:
    """One run; a seed says everything that happens."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.focus = tuple(FOCUSES)[seed % len(FOCUSES)]
        self.auditor = Told()
        self.core = Core(Limits(window_messages=3, unit_messages=16))
        self.core.reads_pages = False
        self.core.configure()
        self.people: dict[str, Client] = {}
        self.units: dict[str, list[bytes]] = {}
        self.idents: list[bytes] = []
        self.claims: dict[str, tuple[str, ConsumerState]] = {}
        self._numbers = itertools.count(100)
        """Of handles; those before are opened with a connection."""
        self.standby, self.followed, self.of = QueueManager("QM1", b"s" * 16), 0, self.core.entries
        first = self.core.connect()
        for name, attributes in QUEUES.items():
            first.do(c.DefineQueue(name, dict(attributes)))
        for name, kind in MODELS.items():
            first.do(c.DefineObject("model", name, {"definition_type": kind}))
        first.do(c.AlterObject("qmgr", "QM1", {"dead_letter_queue": "DEAD"}))
        first.lose()
        self._connect_all()

    @property
    def met(self) -> Counter[str]:
        """What has been met, and how often."""
        return self.auditor.met

    def run(self, operations: int) -> None:
        """Do so many operations, and look at everything after each."""
        verbs = list(OPERATIONS)
        more = FOCUSES[self.focus]
        weights = list(
            itertools.accumulate(
                weight * more.get(verb.__name__, 1) for verb, weight in OPERATIONS.items()
            )
        )
        for _ in range(operations):
            verb = self.rng.choices(verbs, cum_weights=weights)[0]
            self._tell(verb.__name__)
            verb(self)
            recount.check(self.core)
            self._check_left_over()
        self.compare()
        self._come_to_rest()

    def _tell(self, text: str) -> None:
        if self.auditor.trace is not None:
            self.auditor.trace(text)

    def _meet(self, event: str, *, when: object = True) -> None:
        self.met[event] += bool(when)

    def _do(self, name: str, command: c.Command) -> Result | None:
        """Send a command; None if it waits."""
        self._tell(f"{name}: {command}")
        client = self.people[name]
        answer = client.answer(client.send(command))
        self._meet(type(command).__name__, when=answer and not isinstance(answer, Refused))
        return answer

    def _one(self) -> str:
        return self.rng.choice(PROGRAMS)

    def _seldom(self, part: float = 0.2) -> bool:
        return self.rng.random() < part

    def _connect_all(self) -> None:
        for name in PROGRAMS:
            self._connect(name)

    def _connect(self, name: str) -> None:
        self.people[name], self.units[name] = self.core.connect(), []
        self.people[name].open_session(self.core.new_session_id())
        for handle in HANDLES:
            queue = "A" if self.focus == GROUPED else self.rng.choice(("A", "F", "M", "T", "A"))
            self._do(name, c.Open(handle, queue, ALL_MODES))

    def _unit(self, name: str) -> bytes:
        units = self.units[name]
        return self.rng.choice(units) if units and not self._seldom() else b""

    def _handle(self, name: str, kind: type = QueueHandle) -> int:
        """A handle of a program, of those of a kind if there are any."""
        handles = self.core.qm.connections[self.people[name].number].handles
        found = [number for number, one in handles.items() if isinstance(one, kind)]
        return self.rng.choice(found or list(HANDLES))

    def _queue_name(self) -> str:
        """A queue that there is, or was: often one that a program has had made."""
        dynamic = [name for name in self.core.qm.queues if name not in QUEUES]
        made = [name for name in dynamic if not name.startswith("SYSTEM.") or "MANAGED" in name]
        return self.rng.choice([*QUEUES, *made, *made, self.rng.choice(dynamic)])

    # -- messages

    def put(self) -> None:
        name, unit = self._one(), b""
        unit = self._unit(name)
        count = self.rng.randint(1, 4) if unit else 1
        messages = [self._message() for _ in range(count)]
        answer = self._do(name, c.Put(self._handle(name), messages, unit))
        if answer is not None and hasattr(answer, "message_ids"):
            self.idents = (self.idents + answer.message_ids)[-20:]

    def fill(self) -> None:
        """Put more than stays in memory."""
        name = self._one()
        unit = self.people[name].new_unit()
        self._do(name, c.Begin(unit))
        for _ in range(3):
            messages = [self._message() for _ in range(5)]
            self._do(name, c.Put(self._handle(name), messages, unit))
        self._do(name, c.Commit(unit))

    def _message(self) -> MessageData:
        rng = self.rng
        message = MessageData(
            body=b"x" * rng.randint(1, 2),
            correlation_id=rng.choice(CORRELATIONS),
            priority=rng.choice((3, 3, 5)),
            persistence=rng.choice((0, 1, 1, 1)),
            expiry_ms=rng.choice((-1, -1, -1, 1_000, 90_000)),
            properties={"colour": rng.choice(("red", "blue"))},
        )
        if self._seldom(0.15):
            message.delay_ms = rng.choice((500, 70_000))
        if self._seldom(0.95 if self.focus == GROUPED else 0.5):
            message.group_id = rng.choice(GROUPS)
            message.group_seq = rng.randint(1, 2)
            message.last_in_group = self._seldom(0.5)
            message.details = Details(flags=IN_GROUP)
            if self._seldom(0.5):
                message.details.offset = rng.randint(0, 1)
                is_last = LAST_SEGMENT * bool(message.details.offset)
                message.details.flags |= SEGMENT | is_last
                message.body = b"x"
        return message

    def _conditions(self) -> dict[str, Any]:
        """What a get or a browse asks for."""
        rng = self.rng
        asked: dict[str, Any] = {"group_seq": rng.randint(1, 3), "offset": rng.randint(0, 2)}
        if self.idents and self._seldom():
            asked["message_id"] = rng.choice(self.idents)
        if self._seldom():
            asked["correlation_id"] = rng.choice(CORRELATIONS)
        if self._seldom():
            asked["group_id"] = rng.choice(GROUPS)
        options = rng.choice((0, 0, c.MATCH_GROUP_SEQ, c.MATCH_OFFSET))
        for _ in range(rng.randint(0, 2)):
            options |= rng.choice(WHOLE)
        return {**asked, "options": options}

    def get(self) -> None:
        name, asked = self._one(), self._conditions()
        if self._seldom(0.4):
            asked = {"options": 0}
        if not asked["options"] and self._seldom():
            asked["limit"] = self.rng.randint(1, 5)
        asked["wait_ms"] = self.rng.choice((0, 0, 0, 1_000))
        asked["alone"] = self._seldom(0.1)
        if self._seldom(0.1):
            asked["options"] = c.UNDER_CURSOR
        answer = self._do(name, c.Get(self._handle(name), self._unit(name), **asked))
        self._meet("message got", when=isinstance(answer, Messages) and answer.messages)
        self._meet("get waits", when=answer is None)

    def browse(self) -> None:
        name, asked, rng = self._one(), self._conditions(), self.rng
        how = rng.choice((0, 0, c.LOCK, c.UNLOCK, c.MARK_HANDLE | c.UNMARKED, c.UNDER_CURSOR))
        if how & (c.UNLOCK | c.UNDER_CURSOR | c.UNMARKED):
            asked = {"options": how}
        asked["options"] |= how
        asked["restart"] = self._seldom(0.5)
        self._do(name, c.Browse(self._handle(name), **asked))

    # -- units

    def begin(self) -> None:
        name = self._one()
        if len(self.units[name]) < 2:
            unit = self.people[name].new_unit()
            self._do(name, c.Begin(unit, self._seldom()))
            self.units[name].append(unit)

    def end(self) -> None:
        name = self._one()
        if self.units[name]:
            unit = self.units[name].pop(0)
            self._do(name, c.Commit(unit) if self._seldom(0.5) else c.Backout(unit))

    # -- handles and objects

    def open(self) -> None:
        rng, name = self.rng, self._one()
        handle = next(self._numbers)
        modes = rng.choice((ALL_MODES, c.BROWSE, c.OUTPUT, c.INPUT | c.BROWSE))
        if self._seldom():
            model = rng.choice(tuple(MODELS))
            dynamic = rng.choice(("D1", "D2", "DYNAMIC.*"))
            self._do(name, c.Open(handle, model, modes, dynamic_name=dynamic))
            return
        selection = SELECTION if self._seldom() else ""
        self._do(name, c.Open(handle, self._queue_name(), modes, selection=selection))

    def close(self) -> None:
        name, how = self._one(), self.rng.choice((c.KEEP, c.KEEP, c.DELETE, c.PURGE))
        handles = self.core.qm.connections[self.people[name].number].handles
        queues = {n: one.queue for n, one in handles.items() if isinstance(one, QueueHandle)}
        gone = [number for number, queue in queues.items() if queue.is_deleted]
        number = self.rng.choice(gone) if gone else self._handle(name)
        self._meet("close of a deleted queue", when=gone)
        self._do(name, c.Close(number, how))

    def subscribe(self) -> None:
        rng, name = self.rng, self._one()
        options = c.CREATE | rng.choice((c.MANAGED, c.MANAGED | c.DURABLE | c.RESUME))
        named = rng.choice(("S1", "S2")) if options & c.DURABLE else ""
        handle, queue_handle = next(self._numbers), next(self._numbers)
        queue_handle = queue_handle if self._seldom(0.7) else 0
        command = c.Subscribe(handle, "t", "", named, options, queue_handle=queue_handle)
        answer = self._do(name, command)
        if isinstance(answer, Subscribed) and self._seldom(0.7):  # another program opens it, too
            modes = rng.choice((c.BROWSE, c.INPUT, c.OUTPUT))
            self._do(self._one(), c.Open(next(self._numbers), answer.queue, modes))

    def unsubscribe(self) -> None:
        if self._seldom():
            self._do(self._one(), c.DeleteObject("sub", self.rng.choice(("S1", "S2"))))
            return
        name, remove = self._one(), self._seldom(0.5)
        self._do(name, c.CloseSubscription(self._handle(name, SubscriptionHandle), remove))

    def publish(self) -> None:
        name = self._one()
        self._do(name, c.OpenTopic(50, "t"))
        unit = self._unit(name)
        messages = [self._message() for _ in range(3 if unit else 1)]
        self._do(name, c.Put(50, messages, unit))
        self._do(name, c.Close(50))

    def define(self) -> None:
        name = self._queue_name()
        attributes = dict(QUEUES.get(name, {}))
        self._do(self._one(), c.DefineQueue(name, attributes, replace=self._seldom()))

    def change(self) -> None:
        change = dict(self.rng.choice(CHANGES))
        self._do(self._one(), c.AlterQueue(self._queue_name(), change))

    def delete(self) -> None:
        self._do(self._one(), c.DeleteQueue(self._queue_name(), self._seldom(0.7)))

    def purge(self) -> None:
        self._do(self._one(), c.PurgeQueue(self._queue_name()))

    # -- durable consumers

    def open_consumer(self) -> None:
        name = self._one()
        handle = next(self._numbers)
        command = c.OpenConsumer(handle, self.rng.choice(("A", "F", "M")), "C", 60_000)
        answer = self._do(name, command)
        if isinstance(answer, ConsumerState):
            self.claims[f"{name} {handle}"] = name, answer

    def consume(self) -> None:
        if not self.claims:
            return
        key = self.rng.choice(sorted(self.claims))
        name, state = self.claims[key]
        handle, rng = int(key.split()[1]), self.rng
        way = rng.randrange(3)
        answer: Result | None
        if way == 0:
            answer = self._do(name, c.ClaimBatch(handle, rng.randint(1, 8)))
        elif way == 1:
            through = state.last
            answer = self._do(name, c.ReadBatches(handle, state.claim, state.consumed, through))
        else:
            answer = self._do(name, c.ConsumeBatches(handle, state.claim, state.last))
        if isinstance(answer, ConsumerState):
            self.claims[key] = name, answer
        elif isinstance(answer, Refused):
            del self.claims[key]

    def delete_consumer(self) -> None:
        self._do(self._one(), c.DeleteConsumer(self.rng.choice(("A", "F", "M")), "C"))

    # -- time, pages, ends

    def pass_time(self) -> None:
        self.core.advance(self.rng.choice((0.1, 0.5, 1, 5, 61)))

    def set_clock(self) -> None:
        self.core.step(self.rng.choice((-DAY_S, -60, -1, 1, 60)))
        self._meet("clock set")
        self.core.advance(0)

    def wrong_clock(self) -> None:
        """The clock is wrong for as long as a tick takes."""
        ahead = self.rng.choice((60, DAY_S))
        self.core.step(ahead)
        self.core.advance(0)
        self.core.step(-ahead)
        self.core.advance(0)

    def read_page(self) -> None:
        if self.core.to_read:
            self.core.read_page(self.rng.choice(list(self.core.to_read)))
            self._meet("page read")

    def evict(self) -> None:
        before = self.core.evicted
        self.core.evict()
        self._meet("paged out", when=self.core.evicted > before)

    def acknowledge(self) -> None:
        client = self.people[self._one()]
        session = self.core.qm.sessions[client.session]
        client.seen(*[number for number in session.outcomes if number in session.written])

    def lose(self) -> None:
        name = self._one()
        self.people[name].lose()
        self._forget(name)
        self._connect(name)

    def _forget(self, name: str) -> None:
        self.units[name] = []
        self.claims = {key: one for key, one in self.claims.items() if one[0] != name}

    def crash(self) -> None:
        self.compare()
        with_snapshot = self._seldom(0.5)
        self._meet("crash with a snapshot", when=with_snapshot)
        self._meet("crash")
        if with_snapshot:
            self.core.crash_with_snapshot()
        else:
            self.core.crash()
        for name in PROGRAMS:
            self._forget(name)
        self._connect_all()
        self.core.advance(0)
        self.compare()

    def compare(self) -> None:
        """The ledger says of everything hard what the live core says, and so does a standby."""
        live = self.core.qm
        again = self.core.replayed()
        self._follow()
        for other in (again, self.standby):
            check_snapshots(live, other)
            _check_contents(live, other)
        restored = QueueManager("QM1", b"r" * 16)
        for record in dispatch.snapshot(live):
            for decoded in entries.decode(entries.encode([record])):
                dispatch.replay(restored, decoded)
        known, read = snapshot_of(live), snapshot_of(restored)
        differ = {
            key: (one, read.get(key))
            for key, one in known.items()
            if key[0] != "HeadsRestored" and read.get(key) != one
        }
        assert not differ, f"in a snapshot, and when it is read: {differ}"

    def _follow(self) -> None:
        """Let the standby apply what it has not; it begins again with each snapshot."""
        if self.core.entries is not self.of:
            self.standby, self.followed = QueueManager("QM1", b"s" * 16), 0
            self.of = self.core.entries
        for payload in self.core.entries[self.followed :]:
            for record in entries.decode(payload):
                if isinstance(record, QueueDeleted):
                    assert record.name in self.standby.queues, f"no ledger knows {record.name}"
                dispatch.replay(self.standby, record)
        self.followed = len(self.core.entries)
        self.core.load_outcomes(self.standby)

    def _check_left_over(self) -> None:
        assert not list(recount.left_over(self.core.qm)), "a temporary queue that nobody keeps"

    def _come_to_rest(self) -> None:
        """Nothing waits for a page for ever, and every queue can be deleted."""
        pages = 0
        while self.core.to_read:
            pages += 1
            assert pages <= AT_REST, "pages are read in a circle"
            self.core.read_page(next(iter(self.core.to_read)))
            self.core.evict()
        recount.check(self.core)
        for queue in self.core.qm.queues.values():
            assert not queue.suspended, f"{queue.suspended} waits for a page that nobody reads"
        for name in PROGRAMS:
            self.people[name].lose()
        recount.check(self.core)
        client = self.core.connect()
        client.do(c.DeleteConsumer("A", "C"))
        kept = [name for name in self.core.qm.queues if not name.startswith("SYSTEM.")]
        for name in kept:
            self._tell(f"delete {name}")
            answer = client.do(c.DeleteQueue(name, purge=True))
            assert not isinstance(answer, Refused), answer
        recount.check(self.core)
        self.compare()


def _check_contents(live: QueueManager, other: QueueManager) -> None:
    """What both have in memory says the same."""
    for name, queue in live.queues.items():
        again = other.queues.get(name)
        for place, stored in queue.stored.items() if again is not None else ():
            if not place[2] and place in again.stored:  # type: ignore[union-attr]
                assert hard(again.stored[place]) == hard(stored), place  # type: ignore[union-attr]


OPERATIONS: dict[Callable[[StateWork], None], float] = {
    StateWork.put: 12,
    StateWork.fill: 3,
    StateWork.get: 12,
    StateWork.browse: 8,
    StateWork.begin: 4,
    StateWork.end: 4,
    StateWork.open: 5,
    StateWork.close: 6,
    StateWork.subscribe: 5,
    StateWork.unsubscribe: 5,
    StateWork.publish: 3,
    StateWork.define: 2,
    StateWork.change: 2,
    StateWork.delete: 3,
    StateWork.purge: 2,
    StateWork.open_consumer: 1,
    StateWork.consume: 3,
    StateWork.delete_consumer: 0.5,
    StateWork.pass_time: 2,
    StateWork.set_clock: 0.5,
    StateWork.wrong_clock: 0.5,
    StateWork.read_page: 12,
    StateWork.evict: 5,
    StateWork.acknowledge: 1,
    StateWork.lose: 1,
    StateWork.crash: 0.6,
    StateWork.compare: 1.5,
}
"""What is drawn from, each with its weight."""

GROUPED = "groups"
FOCUSES: dict[str, dict[str, float]] = {
    "everything": {},
    GROUPED: {"put": 2, "get": 2, "browse": 1.5, "open": 0.2, "subscribe": 0.2, "delete": 0.2},
    "objects": {"subscribe": 3, "unsubscribe": 3, "open": 2, "close": 3, "delete": 3, "fill": 0.3},
}
"""What a seed does more often than others, or less."""
