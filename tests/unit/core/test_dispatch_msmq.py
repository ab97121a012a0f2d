"""Random commands of MSMQ: what is refused, or needs a page, changes nothing; the ledger says all.

Memory is little, two clients ask, and the queue manager crashes now and then. What the answers are
is judged by the simulation of MSMQ.
"""

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from adapter.core.contract import commands as c
from adapter.core.contract import msmq as m
from adapter.core.contract.limits import Limits
from adapter.core.contract.message import MessageData
from adapter.core.contract.msmq_header import MsmqHeader
from adapter.core.model.msmq_queue import lookup_id_of
from tests.support.core import Core
from tests.support.examples import examples
from tests.support.two_clients import TwoClients

LIMITS = Limits(
    window_messages=2, unit_messages=6, units_per_connection=2, handles_per_connection=6
)
PATHS = (
    ".\\private$\\a",
    ".\\private$\\b",
    ".\\private$\\a;sub",
    ".\\private$\\a;journal",
    "QM1\\system$;deadxact",
    "OTHER\\private$\\a",
    "no path",
)
WHO = st.integers(0, 1)
HANDLE = st.integers(1, 5)
UNIT = st.integers(-1, 1)  # -1: outside a unit
PATH = st.sampled_from(PATHS)
ACCESS = st.sampled_from((0, 1, 2, 3, 5, 7, 32, 64))
ATTRIBUTES = st.sampled_from(
    ({}, {"transactional": True}, {"journaling": True}, {"quota_kb": 1}, {"label": "x" * 200})
)
HEADERS = st.sampled_from(
    (
        None,
        MsmqHeader(acknowledge=15, administration_queue=PATHS[1]),
        MsmqHeader(journal=3),
        MsmqHeader(label="x" * 300),
    )
)


class AnyMsmq(TwoClients):
    """Two clients that ask for what may be refused."""

    @initialize()
    def start(self) -> None:
        self.core = Core(LIMITS)
        self.core.configure()
        self.come()
        self.clients[0].do(m.MsmqCreate(PATHS[0], {"transactional": True, "journaling": True}))
        self.clients[0].do(m.MsmqCreate(PATHS[1]))
        self.open_all()

    def open_all(self) -> None:
        for client in self.clients:
            for handle, path in enumerate(PATHS[:2], 1):
                client.send(m.MsmqOpen(handle, path, 7))
                client.send(m.MsmqCursor(handle, 1))
            client.send(m.MsmqOpen(3, PATHS[2], 5))

    @rule(who=WHO, path=PATH, attributes=ATTRIBUTES, alters=st.booleans())
    def define(self, who: int, path: str, attributes: dict[str, Any], alters: bool) -> None:
        command = m.MsmqAlter(path, attributes) if alters else m.MsmqCreate(path, attributes)
        self.clients[who].send(command)

    @rule(who=WHO, path=PATH)
    def delete(self, who: int, path: str) -> None:
        self.clients[who].send(m.MsmqDelete(path))

    @rule(who=WHO, handle=HANDLE, path=PATH, access=ACCESS, deny=st.booleans())
    def open(self, who: int, handle: int, path: str, access: int, deny: bool) -> None:
        self.clients[who].send(c.Close(handle))
        self.clients[who].send(m.MsmqOpen(handle, path, access, deny and access == 1))

    @rule(who=WHO, handle=HANDLE, number=st.integers(0, 2), closes=st.booleans())
    def cursor(self, who: int, handle: int, number: int, closes: bool) -> None:
        self.clients[who].send(m.MsmqCursor(handle, number, closes))

    @rule(
        who=WHO,
        handle=HANDLE,
        unit=UNIT,
        count=st.integers(1, 4),
        priority=st.integers(-2, 8),
        single=st.booleans(),
        header=HEADERS,
        size=st.sampled_from((1, 400)),
        expiry_ms=st.sampled_from((-1, -1, 0, 2_000)),
    )
    def send(
        self,
        who: int,
        handle: int,
        unit: int,
        count: int,
        priority: int,
        single: bool,
        header: MsmqHeader | None,
        size: int,
        expiry_ms: int,
    ) -> None:
        for _ in range(count):
            message = MessageData(
                body=b"x" * size, priority=priority, expiry_ms=expiry_ms, msmq=header
            )
            self.clients[who].send(m.MsmqSend(handle, message, self.unit(who, unit), single))

    @rule(
        who=WHO,
        handle=HANDLE,
        unit=UNIT,
        peek=st.booleans(),
        start=st.integers(0, 5),
        cursor=st.integers(0, 1),
        seq=st.integers(-1, 6),
        waits=st.sampled_from((0, 0, 2_000)),
        single=st.booleans(),
    )
    def receive(
        self,
        who: int,
        handle: int,
        unit: int,
        peek: bool,
        start: int,
        cursor: int,
        seq: int,
        waits: int,
        single: bool,
    ) -> None:
        command = m.MsmqReceive(
            handle,
            self.unit(who, unit),
            waits,
            peek=peek,
            start=start,
            cursor=cursor,
            single=single and start == m.FIRST,
        )
        if seq >= 0 and not cursor:
            command.lookup_id = lookup_id_of((0, seq, 0))
        self.clients[who].send(command)

    @rule(who=WHO, handle=HANDLE, to=HANDLE, unit=UNIT, seq=st.integers(-1, 6))
    def move(self, who: int, handle: int, to: int, unit: int, seq: int) -> None:
        number = lookup_id_of((0, seq, 0))
        self.clients[who].send(m.MsmqMove(handle, to, number, self.unit(who, unit)))

    @rule(who=WHO, handle=HANDLE, unit=UNIT, seq=st.integers(0, 6))
    def reject(self, who: int, handle: int, unit: int, seq: int) -> None:
        number = lookup_id_of((0, seq, 0))
        self.clients[who].send(m.MsmqReject(handle, number, self.unit(who, unit)))

    @rule(who=WHO, handle=HANDLE)
    def purge(self, who: int, handle: int) -> None:
        self.clients[who].send(m.MsmqPurge(handle))

    @rule(who=WHO, path=st.sampled_from((*PATHS, "private$\\*", "*")))
    def inquire(self, who: int, path: str) -> None:
        self.clients[who].send(m.MsmqInquire(path))

    @rule(who=WHO, slot=st.integers(0, 1))
    def begin(self, who: int, slot: int) -> None:
        self.units[who][slot] = self.clients[who].begin()

    @rule(who=WHO, unit=UNIT, commits=st.booleans())
    def end(self, who: int, unit: int, commits: bool) -> None:
        ident = self.unit(who, unit)
        self.clients[who].send(c.Commit(ident) if commits else c.Backout(ident))

    @rule(seconds=st.sampled_from((0, 1, 3)))
    def pass_time(self, seconds: int) -> None:
        self.core.advance(seconds)

    @rule(who=WHO)
    def lose(self, who: int) -> None:
        self.clients[who].lose()
        self.clients[who] = self.core.connect()
        self.clients[who].open_session(self.core.new_session_id())
        self.units[who] = [b"?" * 24, b"?" * 24]

    @rule(with_snapshot=st.booleans())
    def crash(self, with_snapshot: bool) -> None:
        if with_snapshot:
            self.core.crash_with_snapshot()
        else:
            self.core.crash()
        self.come()
        self.open_all()


TestAnyMsmq = AnyMsmq.TestCase
TestAnyMsmq.settings = settings(
    max_examples=examples(25),
    stateful_step_count=30,
)
