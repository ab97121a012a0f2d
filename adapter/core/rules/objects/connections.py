"""Connections as an operator sees them: who is there, which units are stuck, and ending one.

Ending a connection is what losing it is: core has one way to end it, in core.rules.objects.closing.
"""

from __future__ import annotations

from adapter.core.contract.commands import AskConnections, EndConnection, Request
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.results import (
    Connections,
    ConnectionStatus,
    Done,
    HandleStatus,
    Refused,
    UnitStatus,
)
from adapter.core.model.connection import ConnectionState
from adapter.core.model.handles import Handle
from adapter.core.model.manager import QueueManager
from adapter.core.model.msmq_handles import MsmqSender
from adapter.core.model.unit import UnitOfWork
from adapter.core.rules.objects import closing
from adapter.core.rules.primitives.decision import Decision


def decide_ask_connections(qm: QueueManager, request: Request, command: AskConnections) -> Decision:
    """DISPLAY CONN: soft state, shown as it is now, even while nothing becomes durable."""
    known = sorted(qm.connections.values(), key=lambda connection: connection.number)
    found = Connections([_status(one, qm.elapsed_ms, request.connection) for one in known])
    if command.units:
        units = [unit for connection in known for unit in connection.units.values()]
        units.sort(key=lambda unit: (unit.since.elapsed_ms, unit.connection, unit.ident))
        found.units = [_unit_status(unit, qm.elapsed_ms) for unit in units[: qm.limits.units_shown]]
        found.units_left_out = len(units) - len(found.units)
    if command.handles:
        every = [(connection, one) for connection in known for one in connection.handles.values()]
        shown = every[: qm.limits.handles_shown]
        found.handles = [_handle_status(connection, one) for connection, one in shown]
        found.handles_left_out = len(every) - len(shown)
    return Decision([], found)


def _status(connection: ConnectionState, elapsed_ms: int, asking: int) -> ConnectionStatus:
    units = connection.units.values()
    party = connection.party
    return ConnectionStatus(
        connection.number,
        party.application,
        party.user,
        party.address,
        party.since_ms,
        connection.session,
        len(connection.handles),
        len(connection.waiters),
        len(units),
        sum(map(len, units)),
        max((_age_s(unit, elapsed_ms) for unit in units), default=0.0),
        party.channel,
        party.principal.proof.value,
        connection.number == asking,
    )


def _unit_status(unit: UnitOfWork, elapsed_ms: int) -> UnitStatus:
    return UnitStatus(
        unit.ident,
        unit.connection,
        unit.since.time_ms,
        _age_s(unit, elapsed_ms),
        len(unit.puts),
        len(unit.gets),
    )


def _handle_status(connection: ConnectionState, handle: Handle | MsmqSender) -> HandleStatus:
    waiting = sum(
        getattr(one.command, "handle", 0) == handle.number for one in connection.waiters.values()
    )
    return HandleStatus(connection.number, handle.number, handle.name, handle.modes, waiting)


def _age_s(unit: UnitOfWork, elapsed_ms: int) -> float:
    return (elapsed_ms - unit.since.elapsed_ms) / 1000


def decide_end_connection(qm: QueueManager, request: Request, command: EndConnection) -> Decision:
    """STOP CONN: its units are backed out, then its handles closed. The answer counts the units.

    Its program may connect again; what it had asked and not been answered it may then ask again.
    """
    number = command.connection
    if number == request.connection:
        text = f"connection {number} is the one that asks; close it instead"
        raise Refusal(Reason.OPTIONS_ERROR, str(number), text)
    connection = qm.connections.get(number)
    if connection is None:
        raise Refusal(Reason.CONNECTION_NOT_FOUND, str(number))
    count = len(connection.units)
    decision = closing.end_connection(qm, connection, request.now_ms)
    decision.result, decision.after = Done(count), qm.entry_n
    decision.closed = {number: Refused(Reason.CONNECTION_ENDED, str(number))}
    return decision
