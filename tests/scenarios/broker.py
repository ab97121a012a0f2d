"""What transcripts say of Service Broker: its catalog, dialogs, and what is received.

A program names the handles of the dialogs that it begins (h1); those that the queue manager draws
are c1, c2, ... in the order in which they appear.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from adapter.core.attributes import broker as kinds
from adapter.core.contract import broker as b
from adapter.core.contract.broker_header import READY, RETAINED_RECEIVED, RETAINED_SENT, WAITING
from adapter.core.contract.commands import Command
from adapter.core.contract.message import Delivered
from adapter.core.contract.results import QueueDescription
from adapter.core.rules.broker.texts import shown
from tests.scenarios.language import Call
from tests.scenarios.values import duration_ms, value_of

if TYPE_CHECKING:
    from tests.scenarios.people import Person
    from tests.scenarios.world import World

GUID_LENGTH = 16
STATUSES = {READY: "", RETAINED_RECEIVED: " received", RETAINED_SENT: " sent", WAITING: " waits"}
_ELEMENT = "<{0}>(.*?)</{0}>"


class Guids:
    """The names of handles: those that programs give, and those that the queue manager draws."""

    def __init__(self) -> None:
        self._names: dict[bytes, str] = {}

    def of(self, name: str) -> bytes:
        """Return the handle that has this name; an empty one if there is no name."""
        known = [guid for guid, known in self._names.items() if known == name]
        return known[0] if known else name.encode().ljust(GUID_LENGTH, b".") if name else b""

    def draw(self, name: str) -> bytes:
        """Give a handle a name."""
        guid = self.of(name)
        self._names[guid] = name
        return guid

    def name(self, guid: bytes) -> str:
        """Return the name of a handle."""
        drawn = sum(name.startswith("c") for name in self._names.values())
        return self._names.setdefault(guid, f"c{drawn + 1}")

    def named_in(self, text: str) -> str:
        """Write names instead of handles in a text."""
        for guid, name in self._names.items():
            text = text.replace(shown(guid), name)
        return text


def create_queue(_: World, __: Person, call: Call) -> Command:
    """CREATE QUEUE, ALTER QUEUE."""
    make = b.BrokerCreate if call.verb == "create_queue" else b.BrokerAlter
    return make(kinds.QUEUE, call.words[0], _attributes(call))


def create_service(_: World, __: Person, call: Call) -> Command:
    """CREATE SERVICE: others begin dialogs with it by contract DEFAULT."""
    name, queue = call.words
    return b.BrokerCreate(kinds.SERVICE, name, {"queue": queue, "contracts": b.DEFAULT})


def notify(_: World, __: Person, call: Call) -> Command:
    """CREATE EVENT NOTIFICATION about disabled queues."""
    name, queue = call.words
    return b.BrokerCreate(
        kinds.NOTIFICATION, name, {"event": b.QUEUE_DISABLED, "queue": queue, "object": ""}
    )


def _attributes(call: Call) -> dict[str, object]:
    given = {name: value_of(value) for name, value in call.options.items()}
    call.options.clear()
    return given


def begin_dialog(world: World, _: Person, call: Call) -> Command:
    """BEGIN DIALOG, in a group of its own or another one."""
    name, from_service, to_service = call.words
    group = world.guids.of(call.options.pop("group", f"group of {name}"[:GUID_LENGTH]))
    unit = world.unit(call.options.pop("unit"))
    return b.BrokerBegin(unit, world.guids.draw(name), from_service, to_service, group=group)


def send_on(world: World, _: Person, call: Call) -> Command:
    """SEND ON CONVERSATION."""
    handle, body = call.words
    unit = world.unit(call.options.pop("unit"))
    return b.BrokerSend(unit, [world.guids.of(handle)], body=body.encode("utf-16-le"))


def receive_from(world: World, _: Person, call: Call) -> Command:
    """RECEIVE: all of a group, or so many."""
    options = call.options
    wait = options.pop("wait", "")
    return b.BrokerReceive(
        world.unit(options.pop("unit")),
        call.words[0],
        int(options.pop("top", -1)),
        world.guids.of(options.pop("handle", "")),
        wait_ms=-1 if "wait" in call.words else duration_ms(wait) if wait else 0,
    )


def end_conversation(world: World, _: Person, call: Call) -> Command:
    """END CONVERSATION."""
    error = call.options.pop("error", "")
    return b.BrokerEnd(
        world.unit(call.options.pop("unit")),
        world.guids.of(call.words[0]),
        int(error) if error else None,
        call.options.pop("text", ""),
        "cleanup" in call.words[1:],
    )


def savepoint(world: World, _: Person, call: Call) -> Command:
    """SAVE TRANSACTION, ROLLBACK TRANSACTION to a savepoint."""
    make = b.BrokerSave if call.verb == "save" else b.BrokerRollbackTo
    return make(world.unit(call.options.pop("unit")), call.words[0])


def select(_: World, __: Person, call: Call) -> Command:
    """Look at the rows of a queue."""
    return b.BrokerBrowse(call.words[0])


def show_queue(_: World, __: Person, call: Call) -> Command:
    """Ask for a queue as it is, for the conversations, or what is in transmission."""
    if call.verb == "queue_of":
        return b.BrokerInquire(kinds.QUEUE, call.words[0])
    return b.BrokerInquire(b.ENDPOINTS if call.verb == "endpoints" else b.TRANSMISSION)


COMMANDS = {
    "create_queue": create_queue,
    "alter_queue": create_queue,
    "create_service": create_service,
    "notify": notify,
    "begin_dialog": begin_dialog,
    "send_on": send_on,
    "receive_from": receive_from,
    "end_conversation": end_conversation,
    "save": savepoint,
    "rollback_to": savepoint,
    "select": select,
    "queue_of": show_queue,
    "endpoints": show_queue,
    "transmission": show_queue,
}


def row_line(guids: Guids, each: Delivered) -> str:
    """Print a row: conversation, number, and what it is."""
    header = each.message.broker
    assert header is not None, "a row of a queue"
    text = each.message.body.decode("utf-16-le")
    said = f'"{text}"'
    if header.message_type == b.ERROR:
        said = f'Error {_element(text, "Code")} "{_element(text, "Description")}"'
    elif header.message_type == b.EVENT_NOTIFICATION:
        said = f"{_element(text, 'EventType')} {_element(text, 'ObjectName')}"
    elif header.message_type == b.END_DIALOG:
        said = "EndDialog"
    return f"{guids.name(header.handle)} #{header.sequence} {said}{STATUSES[header.status]}"


def _element(text: str, name: str) -> str:
    found = re.search(_ELEMENT.format(name), text)
    return found[1] if found else ""


def described(guids: Guids, rows: list[QueueDescription]) -> list[str] | None:
    """Print queues, conversations, or what is in transmission; None if that is not what it is."""
    if not rows or "rollback_count" in rows[0].attributes:
        return [_queue_line(one) for one in rows] or None
    if "state" in rows[0].attributes:
        rows.sort(key=_order)
        return [_endpoint_line(guids, one) for one in rows]
    if "sequence" in rows[0].attributes:
        return [_transmission_line(one) for one in rows]
    return None


def _order(one: QueueDescription) -> tuple[bool, str, bool]:
    """By conversation; last those of notifications, whose ids are others in every run."""
    shown = one.attributes
    is_notification = not shown["service"]
    conversation = "" if is_notification else shown["conversation"]
    return is_notification, conversation, not shown["is_initiator"]


def _queue_line(one: QueueDescription) -> str:
    shown = one.attributes
    figures = [
        "ON" if shown["status"] else "OFF",
        f"{shown['message_count']} messages",
        f"rolled back {shown['rollback_count']}",
        f"receiving {shown['receiving']}" * bool(shown["receiving"]),
    ]
    return f"{one.name}: " + ", ".join(filter(None, figures))


def _endpoint_line(guids: Guids, one: QueueDescription) -> str:
    shown = one.attributes
    return f"{guids.name(bytes.fromhex(shown['handle']))} of {shown['service']}: {shown['state']}"


def _transmission_line(one: QueueDescription) -> str:
    shown = one.attributes
    body = bytes.fromhex(shown["body"]).decode("utf-16-le")
    return f'to {shown["to_service"]} #{shown["sequence"]} "{body}"'
