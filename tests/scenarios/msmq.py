"""What transcripts say of MSMQ: queues, sends, receives and peeks, cursors.

A queue is opened by the handle of its name. The label of a message is its body too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from adapter.core.contract import msmq as m
from adapter.core.contract.commands import Command
from adapter.core.contract.message import MessageData
from adapter.core.contract.msmq_header import MsmqHeader
from tests.scenarios.language import Call

if TYPE_CHECKING:
    from tests.scenarios.people import Person
    from tests.scenarios.world import World

ACCESS = {
    "receive": m.RECEIVE_ACCESS,
    "send": m.SEND_ACCESS,
    "peek": m.PEEK_ACCESS,
    "move": m.MOVE_ACCESS,
}
STARTS = {"next": m.NEXT, "rewinding": m.REWINDING}


def path(name: str) -> str:
    """Return the path of a private queue of the queue manager."""
    return rf".\private$\{name}"


def create(_: World, __: Person, call: Call) -> Command:
    """Create a queue."""
    transactional = "transactional" in call.words[1:]
    return m.MsmqCreate(path(call.words[0]), {"transactional": transactional})


def open_queue(_: World, person: Person, call: Call) -> Command:
    """Open a queue, by the handle of its name."""
    name = call.options.pop("as", call.words[0])
    handle = person.handles.setdefault(name, len(person.handles) + 1)
    access = sum(ACCESS[word] for word in call.words[1:])
    return m.MsmqOpen(handle, path(call.words[0]), access)


def send(world: World, person: Person, call: Call) -> Command:
    """Send a message."""
    handle, label = person.handles.get(call.words[0], 99), call.words[1]
    message = MessageData(
        body=label.encode(),
        priority=int(call.options.pop("p", -1)),
        msmq=MsmqHeader(label=label),
    )
    unit = world.unit(call.options.pop("unit", ""))
    return m.MsmqSend(handle, message, unit, "single" in call.words[2:])


def receive(world: World, person: Person, call: Call) -> Command:
    """Receive, or peek at, the first message, or one at a cursor."""
    cursor = call.options.pop("cursor", "")
    start = m.CURRENT if cursor else m.FIRST
    for word in call.words[1:]:
        start = STARTS.get(word, start)
    return m.MsmqReceive(
        person.handles.get(call.words[0], 99),
        world.unit(call.options.pop("unit", "")),
        -1 if "wait" in call.words else 0,
        call.verb == "peek",
        start,
        person.handles.get(f"cursor {cursor}", 99) if cursor else 0,
    )


def cursor(_: World, person: Person, call: Call) -> Command:
    """Create a cursor before the first message of a handle's queue."""
    name = f"cursor {call.words[1]}"
    number = person.handles.setdefault(name, len(person.handles) + 1)
    return m.MsmqCursor(person.handles.get(call.words[0], 99), number)


COMMANDS = {
    "create": create,
    "mopen": open_queue,
    "send": send,
    "receive": receive,
    "peek": receive,
    "cursor": cursor,
}
