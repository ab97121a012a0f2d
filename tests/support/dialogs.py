"""Service Broker on a core in memory: two queues, their services, and sessions with every verb.

A session is one program. It draws its handles, which are numbers that a test knows.
"""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

from adapter.core import inputs
from adapter.core.attributes import broker as kinds
from adapter.core.contract import broker as b
from adapter.core.contract import commands as c
from adapter.core.contract.arrivals import Arrival, ArrivedUnit, Lowest, Origin
from adapter.core.contract.broker_header import BrokerHeader
from adapter.core.contract.limits import Limits
from adapter.core.contract.message import Delivered, MessageData
from adapter.core.contract.results import Descriptions, Messages, Refused, Result
from adapter.core.contract.transmission import Transmission
from adapter.core.model.broker_queue import BrokerQueue, key_of
from adapter.core.model.manager import QueueManager
from tests.support.core import Client, Core
from tests.support.hard_state import check_snapshots

ASKS, ANSWERS = "asks", "answers"
"""The services, each on the queue that is called so with a capital letter."""


class Dialogs:
    """A queue manager, and its administrator."""

    def __init__(self, **limits: int) -> None:
        self.core = Core(Limits(**limits))
        self.core.configure()
        self.admin = self.core.connect()
        self._drawn = 0
        for service in (ASKS, ANSWERS):
            self.create(service)

    def guid(self) -> bytes:
        """Draw a handle, or a group."""
        self._drawn += 1
        return self._drawn.to_bytes(16, "big")

    def create(self, service: str, queue: str = "") -> None:
        """Create a service, with its queue unless that is named."""
        if not queue:
            queue = service.capitalize()
            done(self.admin.do(b.BrokerCreate(kinds.QUEUE, queue)))
        attributes = {"queue": queue, "contracts": b.DEFAULT}
        done(self.admin.do(b.BrokerCreate(kinds.SERVICE, service, attributes)))

    def alter(self, queue: str, **attributes: Any) -> None:
        """Alter a queue; what that causes is done."""
        done(self.admin.do(b.BrokerAlter(kinds.QUEUE, queue, attributes)))
        self.core.advance(0)

    def drop(self, kind: str, name: str) -> Result:
        """Drop an object."""
        return self.admin.do(b.BrokerDrop(kind, name))

    def session(self) -> Session:
        """Connect a program."""
        return Session(self)

    def restart(self, *, with_snapshot: bool = False) -> None:
        """Crash, and start again."""
        (self.core.crash_with_snapshot if with_snapshot else self.core.crash)()
        self.core.advance(0)
        self.admin = self.core.connect()

    def states(self) -> dict[str, str]:
        """Return the states of the endpoints, by the hex of their handles."""
        return {one.name: one.attributes["state"] for one in self.view(b.ENDPOINTS)}

    def view(self, kind: str, name: str = "") -> list[Any]:
        """Return all that a view shows."""
        answer = self.admin.do(b.BrokerInquire(kind, name))
        assert isinstance(answer, Descriptions), answer
        return answer.queues

    def waiting(self) -> list[str]:
        """Return the bodies of what is in transmission."""
        return [bytes.fromhex(one.attributes["body"]).decode() for one in self.view(b.TRANSMISSION)]

    def far_of(self, handle: bytes) -> bytes:
        """Return the handle of the other side."""
        state = self.core.qm.conversations.endpoints[handle].state
        return self.core.qm.conversations.by_side[state.conversation, not state.is_initiator]

    def check(self) -> None:
        """The ledger says what the live core says; so does a snapshot."""
        check_snapshots(self.core.qm, self.core.replayed())


class Session:
    """A program, and its unit. Verbs answer at once, or the test asks for what they answer."""

    def __init__(self, at: Dialogs) -> None:
        self.at = at
        self.client: Client = at.core.connect()
        self.client.open_session(at.core.new_session_id())
        self.unit = b""

    def begin(self) -> bytes:
        """Return the unit, begun if there is none."""
        if not self.unit:
            self.unit = self.client.begin()
        return self.unit

    def start(self, command: Any) -> int:
        """Give a verb of the unit; returns the request, which may wait."""
        command.unit = self.begin()
        return self.client.send(command)

    def do(self, command: Any) -> Result:
        """Give a verb of the unit; its answer, which may be a refusal."""
        command.unit = self.begin()
        return self.client.do(command)

    def answer(self, request: int) -> Result | None:
        """Return the answer to a verb that waited; None: it waits."""
        return self.client.answer(request)

    def commit(self) -> None:
        """Commit the unit."""
        unit, self.unit = self.unit, b""
        done(self.client.do(c.Commit(unit)))

    def rollback(self) -> None:
        """Back the unit out."""
        unit, self.unit = self.unit, b""
        done(self.client.do(c.Backout(unit)))

    def dialog(
        self, *bodies: str, to: str = ANSWERS, group: bytes = b"", lifetime_s: int = 0
    ) -> bytes:
        """Begin a dialog and send on it; returns its handle."""
        handle = self.at.guid()
        command = b.BrokerBegin(b"", handle, ASKS, to, group=group or self.at.guid())
        command.lifetime_ms = 1_000 * lifetime_s
        done(self.do(command))
        self.send(handle, *bodies)
        return handle

    def send(self, handle: bytes, *bodies: str) -> None:
        """Send messages."""
        for body in bodies:
            done(self.do(b.BrokerSend(b"", [handle], body=body.encode())))

    def end(self, handle: bytes, error: int | None = None, *, cleanup: bool = False) -> None:
        """End a conversation."""
        done(self.do(b.BrokerEnd(b"", handle, error, cleanup=cleanup)))

    def move(self, handle: bytes, group: bytes) -> None:
        """Move a conversation."""
        done(self.do(b.BrokerMove(b"", handle, group)))

    def timer(self, handle: bytes, seconds: int) -> None:
        """Begin a conversation's timer."""
        done(self.do(b.BrokerTimer(b"", handle, 1_000 * seconds)))

    def save(self, name: str = "s") -> None:
        """Note a savepoint."""
        done(self.do(b.BrokerSave(b"", name)))

    def return_to(self, name: str = "s") -> None:
        """Go back to a savepoint."""
        done(self.do(b.BrokerRollbackTo(b"", name)))

    def receive(self, queue: str, **options: Any) -> list[str]:
        """Receive; returns the bodies, or the last word of the types of system messages."""
        return bodies_of(self.do(b.BrokerReceive(b"", queue, **options)))

    def receive_all(self, queue: str) -> list[str]:
        """Receive and commit until nothing is left."""
        found: list[str] = []
        while more := self.receive(queue):
            found += more
            self.commit()
        self.rollback()
        return found


def of_initiator(conversation: bytes, **told: Any) -> BrokerHeader:
    """Return the header of a message of an initiator elsewhere. told: fields that are others."""
    usual: dict[str, Any] = {
        "message_type": b.DEFAULT,
        "service": ANSWERS,
        "contract": b.DEFAULT,
        "from_service": "elsewhere",
        "from_initiator": True,
        "from_queue_manager": "QMA",
    }
    return BrokerHeader(conversation=conversation, **usual | told)


class Afar:
    """A program at another queue manager, whose units arrive one by one."""

    def __init__(self, at: Dialogs) -> None:
        self._at = at
        self._units = itertools.count()
        self._sent = Counter[str]()

    def send(
        self, dialog: str = "m", count: int = 1, *, lifetime_ms: int = 0, padding: int = 0
    ) -> None:
        """Let the next messages of a dialog arrive: m0, m1, ... padding: blanks behind each."""
        for _ in range(count):
            header = of_initiator(
                dialog.encode().ljust(16), sequence=self._sent[dialog], lifetime_ms=lifetime_ms
            )
            self.say(header, f"{dialog}{self._sent[dialog]}" + " " * padding)
            self._sent[dialog] += 1

    def say(self, header: BrokerHeader, body: str) -> None:
        """Let a message with any header arrive."""
        number = next(self._units)
        message = MessageData(
            body=body.encode(),
            message_id=bytes(20) + number.to_bytes(4, "big"),
            correlation_id=bytes(24),
            group_id=bytes(24),
            persistence=1,
            broker=header,
            transmission=Transmission("", "QM1"),
        )
        arrivals = [Arrival(message, 0, number + 1, 0, 0)]
        unit = ArrivedUnit(
            *("mq.QM1.in.QMA", "topic id", number + 1, Origin("id of QMA", "QM1", 0)),
            *(arrivals, "QMA", number.to_bytes(24, "big"), [Lowest(0, 0, 0)]),
        )
        self._at.core.take(self._at.core.give(inputs.Arrived(unit)))


def rows_of(answer: Result | None) -> list[Delivered]:
    """Return the messages of an answer."""
    assert isinstance(answer, Messages), answer
    return answer.messages


def bodies_of(answer: Result | None) -> list[str]:
    """Return the bodies of an answer, or the last word of the types of system messages."""
    found = []
    for one in rows_of(answer):
        header = one.message.broker
        assert header is not None
        kind = header.message_type
        found.append(one.message.body.decode() if kind == b.DEFAULT else kind.rpartition("/")[2])
    return found


def done(answer: Result) -> Result:
    """Return an answer that is no refusal."""
    assert not isinstance(answer, Refused), answer
    return answer


def held_key(queue: str) -> str:
    """Return the name of the queue of what is held while a queue is OFF."""
    return f"{key_of(queue)};held"


def groups_of(qm: QueueManager) -> dict[tuple[str, bytes], set[bytes]]:
    """Return the endpoints of each group of each queue."""
    return {
        (queue.name, group.ident): set(group.endpoints)
        for queue in qm.queues.values()
        if isinstance(queue, BrokerQueue)
        for group in queue.groups
    }
