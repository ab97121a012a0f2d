"""Which authority the commands of MSMQ and Service Broker need, in the bits of MQ.

A queue of MSMQ is known by its key, a subqueue and a journal by that of their queue; the rights of
MSMQ are MQ's: peek is browse, receive is get, write is put. Of Service Broker, SEND is put on the
service, RECEIVE is get on the queue, and a conversation belongs to the queue of its side. The
objects of its catalog but queues are of the type service. This module does not know how records are
kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from adapter.core.attributes import broker as kinds
from adapter.core.contract import authorities as a
from adapter.core.contract import broker as b
from adapter.core.contract import format_names
from adapter.core.contract import msmq as m
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.results import Descriptions
from adapter.core.model.broker_queue import key_of
from adapter.core.model.manager import QueueManager
from adapter.core.model.msmq_handles import MsmqReader, MsmqSender
from adapter.core.rules.broker import catalog, views
from adapter.core.rules.msmq import computers, queues
from adapter.core.rules.network import put_rights
from adapter.core.rules.objects import pointers
from adapter.core.rules.primitives.access import Asker

Created = Callable[[QueueManager, Any, Any], tuple[str, str] | None]
"""The type and name of what a command, with its answer, has created."""

ACCESS: Final = (
    (m.RECEIVE_ACCESS | m.MOVE_ACCESS, a.GET),
    (m.SEND_ACCESS, a.PUT),
    (m.PEEK_ACCESS, a.BROWSE),
)


OF_EVERYONE: Final = a.PUT | a.INQUIRE | a.DISPLAY
"""What everyone may do with a new queue of MSMQ."""
OVER_AN_OBJECT: Final = a.CHANGE | a.DELETE
"""What others must not have on a new object of Service Broker; below, on a new service."""
OVER_A_SERVICE: Final = OVER_AN_OBJECT | a.PUT


def _name_of(qm: QueueManager, text: str, computer: str) -> str:
    return queues.checked_name(qm, queues.parse_name(qm, text, computer))


def _open(qm: QueueManager, asker: Asker, command: m.MsmqOpen) -> None:
    bits = 0
    for access, bit in ACCESS:
        if command.access & access:
            bits |= bit
    computer = command.computer or computers.computer_of(qm)
    for name in format_names.parse_all(command.name, computer):
        put_rights.require(qm, asker, queues.checked_name(qm, name), bits=bits)
    if command.access & m.SEND_ACCESS:
        _require_source(qm, asker, computer)


def _msmq_send(qm: QueueManager, asker: Asker, command: m.MsmqSend) -> None:
    """A computer may have got a queue manager since a handle was opened by its name."""
    handle = qm.connections[asker.connection].handles.get(command.handle)
    if isinstance(handle, (MsmqSender, MsmqReader)):
        _require_source(qm, asker, handle.computer)


def _require_source(qm: QueueManager, asker: Asker, computer: str) -> None:
    """Who sends for a computer that has a queue manager of its own needs a right there: dead
    letters go to its system queue, where programs do not send.
    """
    if computers.known(qm, computer) is None or computers.is_own(qm, computer):
        return
    letters = format_names.FormatName(computer, format_names.TRANSACTIONAL_DEAD_LETTERS)
    put_rights.require(qm, asker, queues.checked_name(qm, letters))


def _create(qm: QueueManager, asker: Asker, command: m.MsmqCreate) -> None:
    asker.require(a.QUEUE, _name_of(qm, command.path, command.computer), a.CREATE)


def _alter(qm: QueueManager, asker: Asker, command: m.MsmqAlter) -> None:
    asker.require(a.QUEUE, _name_of(qm, command.name, command.computer), a.CHANGE)


def _delete(qm: QueueManager, asker: Asker, command: m.MsmqDelete) -> None:
    asker.require(a.QUEUE, _name_of(qm, command.name, command.computer), a.DELETE)


def subject(qm: QueueManager, command: m.MsmqPermit | b.BrokerPermit) -> tuple[str, str]:
    """Return the type and name of the object whose permissions a command changes."""
    if isinstance(command, b.BrokerPermit):
        return broker_object(command.kind, command.name)
    return a.QUEUE, _name_of(qm, command.name, command.computer)


def _permit(qm: QueueManager, asker: Asker, command: m.MsmqPermit | b.BrokerPermit) -> None:
    """Who has every authority on an object (full control) may give of it; and who may give all."""
    of = subject(qm, command)
    missing = asker.missing(*of, a.APPLICABLE[of[0]])
    if missing and not asker.may(a.QUEUE_MANAGER, qm.name, a.CHANGE):
        raise asker.refusal(*of, missing)


def _inquire(qm: QueueManager, asker: Asker, command: m.MsmqInquire) -> None:
    """A pattern shows all queues: that is for who may look at the queue manager."""
    if "*" in command.name:
        asker.require(a.QUEUE_MANAGER, qm.name, a.DISPLAY)
        return
    name = _name_of(qm, command.name, command.computer)
    if not asker.may_any(a.QUEUE, name, a.INQUIRE | a.DISPLAY):
        raise asker.refusal(a.QUEUE, name, a.INQUIRE | a.DISPLAY)


def broker_object(kind: str, name: str) -> tuple[str, str]:
    """Return the type and name by which an object of the catalog is checked."""
    return (a.QUEUE, key_of(name)) if kind == kinds.QUEUE else (a.SERVICE, name)


def _new_of_catalog(qm: QueueManager, command: b.BrokerCreate, _: Any) -> tuple[str, str] | None:
    """Return what is new; None of a name that another object of the type service has already: by
    its records who created this one could do everything with that one too.
    """
    if command.kind != kinds.QUEUE and catalog.namesakes(qm, command.kind, command.name):
        return None
    return broker_object(command.kind, command.name)


def _create_in_catalog(qm: QueueManager, asker: Asker, command: b.BrokerCreate) -> None:
    """Refuse an object with which others could do everything from the beginning, as they have
    rights by its name: they have created an object of another kind that is called so. Only who
    controls a service controls what is called as the service.
    """
    _CREATE_WITH_POINTERS(qm, asker, command)
    others = catalog.namesakes(qm, command.kind, command.name)
    if command.kind == kinds.QUEUE or not others or kinds.SERVICE in others:
        return
    counts = OVER_A_SERVICE if command.kind == kinds.SERVICE else OVER_AN_OBJECT
    for entity in qm.authorities.entities_named(a.SERVICE, command.name):
        bits = qm.authorities.get(command.name, a.SERVICE, *entity) or 0
        if bits & counts and entity != (asker.principal.user, False):
            what = others[0].replace("_", " ")
            text = f"others have rights by this name, on the {what} that is called so"
            raise Refusal(Reason.OBJECT_EXISTS, command.name, text)


def _of_catalog(bits: int) -> Callable[[QueueManager, Asker, Any], None]:
    def check(_: QueueManager, asker: Asker, command: Any) -> None:
        asker.require(*broker_object(command.kind, command.name), bits)

    return check


def _with_pointers(bits: int) -> Callable[[QueueManager, Asker, Any], None]:
    """Who may send to a service has a right on that alone, as on an alias of MQ. So only who has
    rights on a queue, an export or a service may lead others there: see pointers.
    """

    def check(qm: QueueManager, asker: Asker, command: b.BrokerCreate | b.BrokerAlter) -> None:
        asker.require(*broker_object(command.kind, command.name), bits)
        kind = kinds.PREFIX + command.kind
        pointers.check(qm, asker, kind, command.name, command.attributes)

    return check


def _look(qm: QueueManager, asker: Asker, command: b.BrokerInquire) -> None:
    """One object of the catalog may be seen by who may see it; all else by who may look at all."""
    bits = a.DISPLAY | a.INQUIRE
    if command.name and command.kind in kinds.TABLES:
        of = broker_object(command.kind, command.name)
        if asker.may_any(*of, bits):
            return
        raise asker.refusal(*of, bits)
    asker.require(a.QUEUE_MANAGER, qm.name, a.DISPLAY)


def leave_out_bodies(qm: QueueManager, asker: Asker, found: Descriptions) -> None:
    """Take from rows in transmission the bodies that only who may browse their queue may read."""
    for row in found.queues:
        queue = views.queue_of_row(qm, row)
        if row.attributes and not (queue and asker.may(a.QUEUE, queue, a.BROWSE)):
            row.attributes["body"] = ""


def _browse(_: QueueManager, asker: Asker, command: b.BrokerBrowse) -> None:
    asker.require(a.QUEUE, key_of(command.queue), a.BROWSE)


def _receive(_: QueueManager, asker: Asker, command: b.BrokerReceive | b.BrokerGetGroup) -> None:
    asker.require(a.QUEUE, key_of(command.queue), a.GET)


def _begin(qm: QueueManager, asker: Asker, command: b.BrokerBegin) -> None:
    """SEND on the far service, and RECEIVE on the queue of the own one."""
    service = catalog.service(qm, command.from_service)
    asker.require(a.QUEUE, key_of(service.queue), a.GET)
    asker.require(a.SERVICE, command.to_service, a.PUT)


def _send(qm: QueueManager, asker: Asker, command: b.BrokerSend) -> None:
    for handle in command.handles:
        _of_conversation(qm, asker, command.unit, handle)


def _on_conversation(
    qm: QueueManager, asker: Asker, command: b.BrokerMove | b.BrokerTimer | b.BrokerEnd
) -> None:
    _of_conversation(qm, asker, command.unit, command.handle)


def _of_conversation(qm: QueueManager, asker: Asker, ident: bytes, handle: bytes) -> None:
    """Only who may receive the answers of a conversation may go on with it."""
    unit = qm.connections[asker.connection].units.get(ident)
    changes = unit.broker.changes if unit is not None and unit.broker is not None else {}
    endpoint = qm.conversations.endpoints.get(handle)
    begun = changes[handle].begun if handle in changes else None
    state = begun or (endpoint.state if endpoint is not None else None)
    if state is not None:
        asker.require(a.QUEUE, state.queue, a.GET)


_CREATE_WITH_POINTERS: Final = _with_pointers(a.CREATE)

RULES: Final[dict[type, Callable[[QueueManager, Asker, Any], None]]] = {
    m.MsmqOpen: _open,
    m.MsmqSend: _msmq_send,
    m.MsmqCreate: _create,
    m.MsmqAlter: _alter,
    m.MsmqDelete: _delete,
    m.MsmqPermit: _permit,
    m.MsmqInquire: _inquire,
    b.BrokerCreate: _create_in_catalog,
    b.BrokerAlter: _with_pointers(a.CHANGE),
    b.BrokerDrop: _of_catalog(a.DELETE),
    b.BrokerPermit: _permit,
    b.BrokerInquire: _look,
    b.BrokerBrowse: _browse,
    b.BrokerBegin: _begin,
    b.BrokerSend: _send,
    b.BrokerReceive: _receive,
    b.BrokerGetGroup: _receive,
    b.BrokerMove: _on_conversation,
    b.BrokerTimer: _on_conversation,
    b.BrokerEnd: _on_conversation,
}
CREATED: Final[dict[type, Created]] = {
    m.MsmqCreate: lambda qm, command, _: (a.QUEUE, _name_of(qm, command.path, command.computer)),
    b.BrokerCreate: _new_of_catalog,
}
