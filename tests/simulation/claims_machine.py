"""Programs count up the values of a table's keys, each in a unit that has claimed the key. Units
are backed out, connections are cut, also while a program does not notice, and the queue manager is
killed. Judged by claims_model.py.

Tables, connections and exporters are those of the product. A table reads topics in memory, and
while it waits for what is to come, an exporter works.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any
from unittest.mock import patch

from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule
from msgspec import Struct

import adapter
from adapter.client.context import Context
from adapter.client.unit import Unit
from adapter.core.attributes.export import EXPORT, ExportAttributes
from adapter.core.contract import commands as c
from adapter.errors import ClaimNotFree, Error
from adapter.kafka import Table, table
from adapter.runtime.exports import exporter
from adapter.runtime.exports.exporter import Counts, Export, ExportSession, RefusedMessages
from adapter.runtime.exports.memory import MemoryExports
from adapter.storage.format.feeds import TopicRecord
from adapter.storage.topics.memory import MemoryTopics
from tests.simulation.claims_model import ClaimsModel
from tests.simulation.judged_machine import JudgedMachine
from tests.support.core import Core
from tests.support.core_link import channel_on

KEYS = ("a", "b", "c")
SHARING = (0, 0, 1, 1)
"""Of each program: which table it has."""
PROGRAM, KEY = st.integers(0, len(SHARING) - 1), st.sampled_from(KEYS)
STEPS = (
    *("before Open", "after Open", "before Get", "after Get", "before Put", "after Put"),
    "before Commit",
)
MEANWHILE = st.one_of(
    st.none(),
    st.tuples(
        st.sampled_from(STEPS), st.sampled_from((1, 1, 1, 2, 3)), PROGRAM, KEY, st.booleans()
    ),
)
"""At which step of a claim, and which time it is come to, another program claims a key; and whether
it ends then.
"""
Meanwhile = tuple[str, int, int, str, bool]
GOES_ON = st.sampled_from(("commit", "claim", "later"))
"""What a program does first when its connection was cut."""
SELDOM = st.sampled_from((False, False, False, True))
WAIT_S = 1_000.0
"""For a claim, in the time of the queue manager, where it passes at once."""


class MemoryFollower:
    """Stands for TableFollower: reads a topic in memory. write: lets an exporter work."""

    is_ended = False

    def __init__(
        self, topic: str, take: Callable[[list[TopicRecord]], None], topics: MemoryTopics,
        write: Callable[[], None],
    ) -> None:  # fmt: skip
        self._topic = topic
        self._take = take
        self._topics = topics
        self._write = write
        self._position = 0

    def check(self) -> None:
        """See TableFollower."""

    def ends(self, until_s: float) -> dict[int, int]:
        return self._topics.ends(self._topic)

    def reach(self, ends: Mapping[int, int], until_s: float) -> None:
        found = self._topics.next_records(self._topic, {0: self._position}, ends[0], 0.0)
        self._position = ends[0]
        self._take([TopicRecord(0, one.offset, one.key, one.value) for one in found])

    def await_records(self, seconds: float) -> None:
        self._write()

    def close(self, why: str) -> None:
        self.is_ended = True

    def let_go(self) -> None:
        self.is_ended = True


class CountingProgram(Struct):
    """A program: its connection, and its unit with what it has claimed, and is to commit."""

    qm: adapter.Connection
    unit: Unit | None = None
    values: dict[str, int] = {}


class ClaimsMachine(JudgedMachine):
    """One queue manager, one table, and programs that count."""

    events = (
        *("claimed", "claimed by another", "committed", "backed out", "crash", "cut"),
        *("restart from a snapshot", "commit of a unit that is gone", "another claims meanwhile"),
        "claim of a unit that is gone",
    )
    model: ClaimsModel

    def __init__(self) -> None:
        super().__init__()
        logging.getLogger("adapter.client").setLevel(logging.ERROR)
        self.model = ClaimsModel()
        self.core = Core()
        self.topics = MemoryTopics()
        self.topics.create("T")
        self.exports = MemoryExports(self.topics)
        self.programs: list[CountingProgram] = []
        self.tables: list[Table] = []
        self.meanwhile: Meanwhile | None = None
        self.times = 0

    @initialize()
    def define(self) -> None:
        client = self.core.connect()
        client.define("QUEUE", msg_delivery_sequence="FIFO")
        client.do(c.DefineObject(EXPORT, "E", {"queue": "QUEUE", "topic": "T"}))
        client.lose()
        self._begin_again()

    def _begin_again(self) -> None:
        """Start every program, and its table."""
        self._stop()
        self.tables = [self._table() for _ in set(SHARING)]
        self.programs = [CountingProgram(self._connection()) for _ in SHARING]

    def _stop(self) -> None:
        for at, program in enumerate(self.programs):
            program.qm.disconnect(abrupt=True)
            self.model.end(at)
        for one in self.tables:
            one.close()

    def _table(self) -> Table:
        def follow(topic: str, _servers: str, _options: object, take: Any) -> MemoryFollower:
            return MemoryFollower(topic, take, self.topics, self._write)

        with patch.object(table, "TableFollower", follow):
            return Table("T", bootstrap_servers="none", claims="CLAIMS", value_deserializer=int)

    def _connection(self) -> adapter.Connection:
        channel = channel_on(self.core, self._at_core)
        return adapter.Connection(Context(channel, "", adapter.Schemas(None)))

    def _write(self) -> None:
        """Let an exporter write all that is on its queue."""
        export = Export("E", ExportAttributes(queue="QUEUE", topic="T"))
        with patch.multiple(exporter, WAITS=1):
            channel = channel_on(self.core)
            try:
                ExportSession(export, channel, self.exports, Counts(), RefusedMessages()).run()
            finally:
                channel.close()

    def _at_core(self, when: str, command: c.Command | None) -> bool:
        """Let another program claim a key at the step at which that was to be."""
        if command is None or self.meanwhile is None:
            return True
        step, times, at, key, ends = self.meanwhile
        if step == f"{when} {type(command).__name__}":
            self.times += 1
            if self.times == times:
                self.meanwhile = None
                self.meet("another claims meanwhile")
                self._write()
                self._claim(at, key, 0.0)  # what the other one does cannot be waited for
                if ends:
                    self._connect(at)
        return True

    @rule(at=PROGRAM, key=KEY, meanwhile=MEANWHILE)
    def claim(self, at: int, key: str, meanwhile: Meanwhile | None) -> None:
        """Let a program claim a key, and produce the next value for it."""
        if meanwhile is not None and meanwhile[2] != at:
            self.meanwhile, self.times = meanwhile, 0
        try:
            self._claim(at, key, WAIT_S)
        finally:
            self.meanwhile = None

    def _claim(self, at: int, key: str, wait_s: float) -> None:
        program = self.programs[at]
        try:
            if program.unit is None:
                program.unit = program.qm.unit()
                program.unit.begin()
            value = self.tables[SHARING[at]].claim(program.unit, key, wait_s) or 0
        except ClaimNotFree:
            self.meet("claimed by another")
            self.back_out(at)
            return
        except Error:
            self._connect(at)
            return
        if self._is_known(program.unit):
            self.meet("claimed")
            self.model.claim(at, key, value)
        else:  # its connection was made again: what it has claimed counts for nothing
            self.meet("claim of a unit that is gone")
        if key not in program.values:
            program.values[key] = value + 1
            body, properties = str(value + 1), {"KafkaKey": key}
            program.qm.put("QUEUE", body, unit=program.unit, persistent=True, properties=properties)

    @rule(at=PROGRAM, key=KEY)
    def count(self, at: int, key: str) -> None:
        self.claim(at, key, None)
        self.commit(at)

    @rule(at=PROGRAM)
    def commit(self, at: int) -> None:
        """Let a program commit; a unit that is gone cannot be."""
        program = self.programs[at]
        unit, values, program.unit, program.values = program.unit, program.values, None, {}
        if unit is None:
            return
        try:
            unit.commit()
        except Error:
            self.meet("commit of a unit that is gone")
            self._connect(at)
        else:
            self.meet("committed")
            self.model.commit(at, values)

    @rule(at=PROGRAM)
    def back_out(self, at: int) -> None:
        program = self.programs[at]
        unit, program.unit, program.values = program.unit, None, {}
        if unit is None:
            return
        try:
            unit.backout()
        except Error:
            self._connect(at)
        self.meet("backed out")
        self.model.end(at)

    def _connect(self, at: int) -> None:
        """Let a program connect again that has lost its connection."""
        self.programs[at].qm.disconnect(abrupt=True)
        self.programs[at] = CountingProgram(self._connection())
        self.model.end(at)

    @rule(seldom=SELDOM, chosen=st.integers(0, 9), then=GOES_ON, key=KEY)
    def cut(self, seldom: bool, chosen: int, then: str, key: str) -> None:
        """Cut a connection. The program does not know, and goes on, at once or later."""
        connections = self.core.qm.connections
        known = [n for n, one in connections.items() if one.units] or list(connections)
        if not seldom or not known:
            return
        self.core.disconnect(known[chosen % len(known)])
        self.meet("cut")
        for at, program in enumerate(self.programs):
            if program.unit is not None and not self._is_known(program.unit):
                self.model.end(at)
                if then == "commit":
                    self.commit(at)
                elif then == "claim":
                    self.claim(at, key, None)

    def _is_known(self, unit: Unit) -> bool:
        return any(unit.id in one.units for one in self.core.qm.connections.values())

    @rule(seldom=SELDOM, snapshot=st.booleans())
    def crash(self, seldom: bool, snapshot: bool) -> None:
        """Let the queue manager go on with what the ledger says, and all programs be started."""
        if not seldom:
            return
        if snapshot:
            self.core.crash_with_snapshot()
        else:
            self.core.crash()
        self.meet("restart from a snapshot" if snapshot else "crash")
        self._begin_again()

    @precondition(lambda self: self.programs)
    @rule()
    def write(self) -> None:
        self._write()

    def teardown(self) -> None:
        """End all units; then every key can be claimed."""
        self._begin_again()
        for key in KEYS:
            self.claim(0, key, None)
        if self.programs:
            assert self.programs[0].values.keys() == set(KEYS), "a claim is lost"
        self._stop()
