"""Random commands of every family: what is refused, or waits for a page, has changed nothing.

And the rule itself is tried: one that changes something before it refuses is found.
"""

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from adapter.core import tables
from adapter.core.contract import commands as c
from adapter.core.contract.details import IN_GROUP, LAST_SEGMENT, SEGMENT, Details
from adapter.core.contract.limits import Limits
from adapter.core.contract.message import MessageData
from adapter.core.contract.pages import PageNeeded
from adapter.core.contract.reasons import Reason, Refusal
from tests.support import purity
from tests.support.core import client_on
from tests.support.examples import examples
from tests.support.hard_state import check_snapshots
from tests.support.topics import core_with_topics
from tests.support.two_clients import TwoClients

LIMITS = Limits(
    window_messages=2,
    unit_messages=5,
    unit_bytes=6_000,
    units_per_connection=2,
    handles_per_connection=6,
    retained_bytes=1_000,
)
ATTRIBUTES: list[dict[str, Any]] = [
    {},
    {"max_depth": 4},
    {"max_depth": 100, "max_message_length": 20},
    {"share": False},
    {"trigger_control": True, "trigger_type": "EVERY", "initiation_queue": "B"},
    {"inhibit_put": True},
    {"def_persistence": True, "def_priority": 3},
]
TOPICS: list[dict[str, Any]] = [
    {"topic_string": "t"},
    {"def_priority": 4},
    {"def_persistence": "YES"},
    {"publish": "DISABLED"},
    {"publish": "ENABLED"},
]
MODES = (
    c.INPUT | c.OUTPUT,
    c.INPUT | c.EXCLUSIVE,
    c.BROWSE | c.INPUT,
    c.BROWSE | c.CO_OP,
    c.OUTPUT,
)
GETS = (0, 0, c.LOGICAL_ORDER, c.COMPLETE, c.UNDER_CURSOR, c.ALL_SEGMENTS, c.BOUNDED)
BROWSES = (0, 0, c.LOCK, c.UNLOCK, c.MARK_CO_OP, c.UNMARKED, c.UNDER_CURSOR, c.LOGICAL_ORDER)
SUBSCRIBES = (
    c.CREATE | c.MANAGED,
    c.CREATE,
    c.CREATE | c.MANAGED | c.DURABLE,
    c.CREATE | c.DURABLE | c.ON_REQUEST,
    c.RESUME,
    c.RESUME | c.ALTER | c.DURABLE,
)
WHO = st.integers(0, 1)
NAME = st.sampled_from(("A", "B", "SYSTEM.DEFAULT.MODEL.QUEUE", "SYSTEM.DELAYED.QUEUE"))
HANDLE = st.integers(1, 4)
UNIT = st.integers(-1, 1)  # -1: outside a unit


class Refusing(TwoClients):
    """Two clients that ask for what may be refused, of a core that has little in memory."""

    @initialize()
    def start(self) -> None:
        self.core = core_with_topics(LIMITS)
        self.come()
        for name in ("A", "B"):
            self.clients[0].define(name)
            for client in self.clients:
                client.open(name, c.INPUT | c.OUTPUT | c.BROWSE, handle=1 + (name == "B"))

    @rule(who=WHO, name=st.sampled_from("AB"), which=st.sampled_from(ATTRIBUTES))
    def alter(self, who: int, name: str, which: dict[str, Any]) -> None:
        self.clients[who].send(c.AlterQueue(name, {"inhibit_put": False} | which))

    @rule(who=WHO, which=st.sampled_from(TOPICS))
    def alter_topic(self, who: int, which: dict[str, Any]) -> None:
        self.clients[who].send(c.DefineObject("topic", "T", which, replace=True))

    @rule(
        who=WHO,
        handle=HANDLE,
        name=NAME,
        modes=st.sampled_from(MODES),
        selection=st.sampled_from(("", "n > 1", "n >", "n = 2")),
    )
    def open(self, who: int, handle: int, name: str, modes: int, selection: str) -> None:
        self.clients[who].send(c.Close(handle))
        self.clients[who].send(c.Open(handle, name, modes, "", selection))

    @rule(who=WHO, handle=HANDLE, name=NAME, is_topic=st.booleans())
    def open_another(self, who: int, handle: int, name: str, is_topic: bool) -> None:
        opened = c.OpenTopic(handle, "t") if is_topic else c.Open(handle, name, c.INPUT)
        self.clients[who].send(opened)

    @rule(who=WHO, slot=st.integers(0, 1))
    def begin(self, who: int, slot: int) -> None:
        self.units[who][slot] = self.clients[who].begin()

    @rule(
        who=WHO,
        handle=HANDLE,
        unit=UNIT,
        flags=st.sampled_from((0, 0, IN_GROUP, SEGMENT, LAST_SEGMENT)),
        options=st.sampled_from((0, 0, c.LOGICAL_ORDER, c.RETAIN)),
        persistence=st.integers(-1, 1),
        priority=st.integers(-1, 11),
        delay_ms=st.sampled_from((0, 0, 5_000, -1)),
        size=st.sampled_from((0, 10, 25, 900)),
        count=st.integers(1, 4),
    )
    def put(
        self,
        who: int,
        handle: int,
        unit: int,
        flags: int,
        options: int,
        persistence: int,
        priority: int,
        delay_ms: int,
        size: int,
        count: int,
    ) -> None:
        messages = [
            MessageData(
                body=bytes(size),
                priority=priority,
                persistence=persistence,
                delay_ms=delay_ms,
                correlation_id=bytes((count,)) * 24,
                properties={"n": count},
                details=Details(flags=flags) if flags else None,
            )
            for _ in range(count if unit >= 0 else 1)
        ]
        self.clients[who].send(c.Put(handle, messages, self.unit(who, unit), options))

    @rule(
        who=WHO,
        handle=HANDLE,
        unit=UNIT,
        options=st.sampled_from(GETS),
        ident=st.integers(0, 4),
        wait_ms=st.sampled_from((0, 0, 5_000)),
    )
    def get(self, who: int, handle: int, unit: int, options: int, ident: int, wait_ms: int) -> None:
        wanted = bytes((ident,)) * 24 if ident else b""
        held = self.unit(who, unit)
        command = c.Get(handle, held, wait_ms, correlation_id=wanted, options=options)
        self.clients[who].send(command)

    @rule(who=WHO, handle=HANDLE, options=st.sampled_from(BROWSES), restart=st.booleans())
    def browse(self, who: int, handle: int, options: int, restart: bool) -> None:
        self.clients[who].send(c.Browse(handle, restart=restart, options=options))

    @rule(
        who=WHO,
        handle=HANDLE,
        topic=st.sampled_from(("t", "#", "")),
        options=st.sampled_from(SUBSCRIBES),
        name=st.sampled_from(("", "s")),
        queue=st.sampled_from(("", "A")),
        opens=st.booleans(),
    )
    def subscribe(
        self, who: int, handle: int, topic: str, options: int, name: str, queue: str, opens: bool
    ) -> None:
        queue_handle = handle + 1 if opens else 0
        self.clients[who].send(
            c.Subscribe(handle, topic, "", name, options, queue, queue_handle, level=1)
        )

    @rule(who=WHO, handle=HANDLE, limit=st.sampled_from((0, 3)))
    def claim(self, who: int, handle: int, limit: int) -> None:
        client = self.clients[who]
        client.send(c.OpenConsumer(handle, "A", "c", 60_000))
        client.send(c.ClaimBatch(handle, limit, 0))

    @rule(who=WHO, handle=HANDLE)
    def close(self, who: int, handle: int) -> None:
        self.clients[who].send(c.Close(handle))

    @rule(who=WHO, slot=st.integers(0, 1), commits=st.booleans())
    def end(self, who: int, slot: int, commits: bool) -> None:
        unit = self.units[who][slot]
        self.clients[who].send(c.Commit(unit) if commits else c.Backout(unit))

    @rule(seconds=st.sampled_from((1, 10)))
    def advance(self, seconds: int) -> None:
        self.core.advance(seconds)

    @rule()
    def forget_what_messages_say(self) -> None:
        """A restart reads a snapshot, which leaves what messages say to the topics."""
        self.core.crash_with_snapshot()
        self.core.configure()
        self.come()


TestRefusing = Refusing.TestCase
TestRefusing.settings = settings(
    max_examples=examples(25),
    stateful_step_count=30,
)


def refused_late(qm: Any, request: c.Request, command: c.Open) -> Any:
    """A rule as it must not be: it counts an open, and then refuses it."""
    qm.queues[command.queue].opens.handles += 1
    raise Refusal(Reason.QUEUE_IN_USE, command.queue)


def paged_late(qm: Any, request: c.Request, command: c.Put) -> Any:
    """Another one: it fills in a message that is looked at again when the page has come."""
    command.messages[0].priority = 3
    raise PageNeeded("Q", 0, 1)


def test_a_rule_that_changes_something_and_refuses_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client = client_on()
    monkeypatch.setitem(tables.DECIDE, c.Open, refused_late)
    purity.watch(monkeypatch)
    with pytest.raises(AssertionError, match=r"refused_late refuses.*opens.handles: 1 -> 2"):
        client.open(handle=2)


def test_a_rule_that_fills_something_in_and_needs_a_page_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client = client_on()
    monkeypatch.setitem(tables.DECIDE, c.Put, paged_late)
    purity.watch(monkeypatch)
    with pytest.raises(AssertionError, match=r"paged_late needs.*priority: -1 -> 3"):
        client.put("a")


@pytest.mark.parametrize(("change", "value"), [("full_reported", True), ("fifo_lane", 7)])
def test_what_a_decision_changes_and_no_record_says_is_found(change: str, value: object) -> None:
    """As when a decision, which no replay runs, clears what an applied record has set."""
    core = client_on(max_depth=1).core
    check_snapshots(core.qm, core.replayed())
    setattr(core.queue(), change, value)
    with pytest.raises(AssertionError, match=change):
        check_snapshots(core.qm, core.replayed())
