"""Defining, altering, deleting and asking about queues and their queue manager.

It knows the attribute names only as what the queue manager judges.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, Unpack

from msgspec import Struct

from adapter.client.attributes import QueueDefinition, QueueManagerSettings
from adapter.client.verb import Verb
from adapter.connection.channel import arguments as a
from adapter.connection.channel import requests as rq
from adapter.connection.channel.books import ChannelBooks
from adapter.connection.channel.channel import Channel
from adapter.connection.channel.requests import Handle, Pending
from adapter.connection.channel.steps import Steps, ask, exchange, run
from adapter.connection.wire.frames import AskServer, Figures, Stop, SwitchOwner
from adapter.core.contract import commands as c
from adapter.core.contract.incarnations import (
    AskIncarnations,
    IncarnationState,
    IncarnationStates,
)
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import (
    Connections,
    ConnectionStatus,
    Consumers,
    ConsumerStatus,
    Descriptions,
    Done,
    Exported,
    ExportPlaces,
    HandleStatus,
    ObjectDescription,
    Objects,
    QueueStatus,
    Statuses,
    UnitStatus,
)
from adapter.errors import ConnectionBroken, NotSwitched
from adapter.errors.refusals import refusal

INCARNATIONS_AT_ONCE = 1_000
"""In one question: some tens of kilobytes."""


class Description(Struct):
    """A queue and its attributes; each attribute can also be read as an attribute of this.

    incarnation: how many queues of this name there were before. created_ms, altered_ms: when it was
    defined and last altered, in ms since 1970; 0 if that is not known.
    """

    name: str
    incarnation: int
    attributes: dict[str, Any]
    created_ms: int = 0
    altered_ms: int = 0

    def __getattr__(self, name: str) -> Any:
        try:
            return self.attributes[name]
        except KeyError:
            raise AttributeError(f"a queue has no attribute {name!r}") from None


NamedT = TypeVar("NamedT", Description, QueueStatus)


def durable(channel: ChannelBooks, command: c.Command, handle: Handle | None = None) -> Steps[int]:
    """Have a command done durably; return how many messages it concerned."""
    return (yield from ask(channel, command, Done, handle=handle)).count


def describe(channel: ChannelBooks, pattern: str, system: bool = False) -> Steps[list[Description]]:
    """Return the attributes of the queues whose name fits."""
    return read_descriptions((yield from ask(channel, c.Inquire(pattern, system), Descriptions)))


def read_descriptions(found: Descriptions) -> list[Description]:
    """Return the attributes that an answer has."""
    return [
        Description(
            queue.name, queue.incarnation, queue.attributes, queue.created_ms, queue.altered_ms
        )
        for queue in found.queues
    ]


def describe_one(channel: Channel, name: str) -> Description:
    """Return the attributes of one queue."""
    return one_of(run(channel, describe(channel, name)), name)


def one_of(found: Iterable[NamedT], name: str) -> NamedT:
    """Return the one of this name. Raises QueueNotFound."""
    for one in found:
        if one.name == name:
            return one
    raise refusal(Reason.QUEUE_NOT_FOUND, name)


def export_places(channel: ChannelBooks, topic: str) -> Steps[list[ExportPlaces]]:
    """Return the exports of a topic, and how far each has come."""
    return (yield from ask(channel, c.AskExports(topic), Exported)).exports


def statuses(
    channel: ChannelBooks, pattern: str, system: bool = False, reset: bool = False
) -> Steps[list[QueueStatus]]:
    """Return the figures of the queues whose name fits."""
    return (yield from ask(channel, c.AskStatus(pattern, system, reset), Statuses)).queues


class Administration:
    """What a connection offers to administrators."""

    _channel: ChannelBooks

    @Verb
    def define_queue(
        self, name: str, *, replace: bool = False, **attributes: Unpack[QueueDefinition]
    ) -> Steps[None]:
        """Define a local queue (DEFINE QLOCAL).

        Attributes not given are as SYSTEM.DEFAULT.LOCAL.QUEUE has them, all but its description,
        and but for IBM MQ's defaults: where that object has those, messages are persistent and the
        queue has no limit.
        replace: if it exists, alter it; its messages stay. Raises QueueExists, InvalidName,
        InvalidAttribute.
        """
        name = a.as_name(name)
        given = a.as_attributes(name, attributes)
        yield from durable(self._channel, c.DefineQueue(name, given, a.as_flag("replace", replace)))

    @Verb
    def alter_queue(self, name: str, **attributes: Unpack[QueueDefinition]) -> Steps[None]:
        """Alter a local queue (ALTER QLOCAL). Raises QueueNotFound, InvalidAttribute."""
        name = a.as_name(name)
        given = a.as_attributes(name, attributes)
        yield from durable(self._channel, c.AlterQueue(name, given))

    @Verb
    def delete_queue(self, name: str, purge: bool = False) -> Steps[None]:
        """Delete a local queue (DELETE QLOCAL). purge: with the messages on it.

        Raises QueueNotFound, QueueNotEmpty, QueueInUse.
        """
        yield from durable(self._channel, c.DeleteQueue(a.as_name(name), a.as_flag("purge", purge)))

    @Verb
    def queues(self, pattern: str = "*", *, system: bool = False) -> Steps[list[Description]]:
        """Return the local queues whose name fits the pattern (* and ?), by name.

        system: also the SYSTEM queues, which a pattern that begins with a wildcard leaves out.
        """
        given = a.as_name(pattern, "pattern"), a.as_flag("system", system)
        return (yield from describe(self._channel, *given))

    @Verb
    def queue_status(
        self, pattern: str = "*", *, system: bool = False, reset: bool = False
    ) -> Steps[list[QueueStatus]]:
        """Return the figures of the queues whose name fits the pattern; system: see queues().

        reset: high_depth, put_since_reset and got_since_reset begin anew after the answer, for
        everybody (RESET QSTATS).
        """
        given = a.as_name(pattern, "pattern"), a.as_flag("system", system)
        return (yield from statuses(self._channel, *given, a.as_flag("reset", reset)))

    @Verb
    def define_object(
        self, /, kind: str, name: str, *, replace: bool = False, **attributes: Any
    ) -> Steps[None]:
        """Define an object that is not a local queue (DEFINE QALIAS, QMODEL, PROCESS, ...).

        kind: "alias", "remote", "model", "process", "namelist", "topic", "channel",
        "authinfo", "feed",
        "export".
        Attributes not given are as the kind's default object has them (SYSTEM.DEFAULT.PROCESS).
        replace: if it exists, alter it. Raises ObjectExists, InvalidName, InvalidAttribute,
        InvalidOption.
        """
        yield from self._define(a.as_name(kind, "kind"), name, attributes, replace)

    @Verb
    def alter_object(self, /, kind: str, name: str, **attributes: Any) -> Steps[None]:
        """Alter an object that is not a local queue. Raises ObjectNotFound, InvalidAttribute."""
        yield from self._alter(a.as_name(kind, "kind"), name, attributes)

    @Verb
    def delete_object(self, kind: str, name: str) -> Steps[None]:
        """Delete an object that is not a local queue. Raises ObjectNotFound."""
        yield from durable(self._channel, c.DeleteObject(a.as_name(kind, "kind"), a.as_name(name)))

    @Verb
    def objects(
        self, kind: str, pattern: str = "*", *, system: bool = False
    ) -> Steps[list[ObjectDescription]]:
        """Return the objects of a kind whose name fits, by name; system: see queues().

        kind: as for define_object, or "queue_manager".
        """
        given = a.as_name(kind, "kind"), a.as_name(pattern, "pattern")
        command = c.InquireObjects(*given, a.as_flag("system", system))
        return (yield from ask(self._channel, command, Objects)).objects

    @Verb
    def shows_all(self, kind: str) -> Steps[bool]:
        """Return whether this user may display every object of a kind: queues() and objects() leave
        out the others.

        kind: as for objects(), or "queue".
        """
        kind = a.as_name(kind, "kind")
        if kind == "queue":
            queues = yield from ask(self._channel, c.Inquire("*", system=True), Descriptions)
            return not queues.hides
        found = yield from ask(self._channel, c.InquireObjects(kind, "*", system=True), Objects)
        return not found.hides

    @Verb
    def clear_retained(self, topic: str) -> Steps[int]:
        """Discard the publications retained for a topic, + and # stand for levels (CLEAR TOPICSTR).

        Returns for how many topics there was one.
        """
        return (yield from durable(self._channel, c.ClearRetained(a.as_name(topic, "topic"))))

    @Verb
    def consumers(self, pattern: str = "*", *, system: bool = False) -> Steps[list[ConsumerStatus]]:
        """Return the durable consumers of the queues whose name fits; system: see queues()."""
        command = c.AskConsumers(a.as_name(pattern, "pattern"), a.as_flag("system", system))
        return (yield from ask(self._channel, command, Consumers)).consumers

    @Verb
    def delete_consumer(self, queue: str, consumer: str) -> Steps[int]:
        """Forget a durable consumer that is not open; how many messages go back to the queue.

        Raises ConsumerNotFound, ConsumerInUse.
        """
        names = a.as_name(queue), a.as_name(consumer, "consumer")
        return (yield from durable(self._channel, c.DeleteConsumer(*names)))

    @Verb
    def seek_feed(self, name: str, to: str) -> Steps[None]:
        """Let a feed read from elsewhere: "EARLIEST", "LATEST", a time ("2026-03-01T08:30:00Z"), or
        "partition:offset", for one partition or several, separated by commas.

        What lies between is put again, or never. Raises ObjectNotFound, InvalidOption.
        """
        command = c.SeekFeed(a.as_name(name), a.as_name(to, "place to read from"))
        yield from durable(self._channel, command)

    @Verb
    def export_places(self, topic: str) -> Steps[list[ExportPlaces]]:
        """Return the exports of a topic of Kafka, and how far each has come; Table.sync() asks it.

        What was committed before the call is on their queues, or was written.
        """
        return (yield from export_places(self._channel, a.as_name(topic, "topic")))

    @Verb
    def incarnations(self, queues: Iterable[tuple[str, int]]) -> Steps[list[IncarnationState]]:
        """Return of queues, each a name and an incarnation, whether they are there, in their order.

        Also of those that queues() does not show: of MSMQ, and which this user may not display.
        It needs the right to change the queue manager. Raises NotAuthorized, and InvalidType for
        what is no pair.
        """
        wanted = [a.as_incarnation(one) for one in a.as_many("queues", queues)]
        states: list[IncarnationState] = []
        for first in range(0, len(wanted), INCARNATIONS_AT_ONCE):
            command = AskIncarnations(wanted[first : first + INCARNATIONS_AT_ONCE])
            states += (yield from ask(self._channel, command, IncarnationStates)).states
        return states

    @Verb
    def define_process(
        self,
        name: str,
        *,
        appl_type: int = 6,
        appl_id: str = "",
        env_data: str = "",
        user_data: str = "",
        replace: bool = False,
    ) -> Steps[None]:
        """Define what a trigger monitor is to start (DEFINE PROCESS). Raises ObjectExists.

        appl_type: MQAT_*, 6 is UNIX. appl_id: the program. env_data, user_data: for the monitor
        and for the program.
        """
        given = {"appl_type": appl_type, "appl_id": appl_id}
        given |= {"env_data": env_data, "user_data": user_data}
        yield from self._define("process", name, given, replace)

    @Verb
    def alter_queue_manager(self, **settings: Unpack[QueueManagerSettings]) -> Steps[None]:
        """Alter the queue manager's own attributes (ALTER QMGR): trigger_interval_ms, ...

        Raises InvalidAttribute.
        """
        yield from self._alter("queue_manager", self._channel.queue_manager, settings)

    @Verb
    def connections(self) -> Steps[list[ConnectionStatus]]:
        """Return who is connected, by number: application, address, handles, units in flight."""
        return (yield from self._ask_connections()).connections

    @Verb
    def open_units(self) -> Steps[list[UnitStatus]]:
        """Return the units in flight, the oldest first; 10,000 at most."""
        return (yield from self._ask_connections(units=True)).units

    @Verb
    def open_handles(self) -> Steps[list[HandleStatus]]:
        """Return what connections have open, by connection and handle; 10,000 at most."""
        return (yield from self._ask_connections(handles=True)).handles

    @Verb
    def end_connection(self, number: int) -> Steps[int]:
        """End another connection: its units are backed out, its handles closed.

        Returns how many units were backed out. Its program may connect again, and with the SDK
        does so by itself. Raises ConnectionNotFound.
        """
        command = c.EndConnection(a.as_whole("number", number, 1, a.CONNECTION_MAX))
        request = Pending(command, rq.FROM_START)
        yield from exchange(self._channel, [request])
        if isinstance(request.answer, rq.StartOver):
            raise ConnectionBroken(
                f"this connection was lost before it was known whether connection {number} was "
                "ended: list the connections again; after a restart they have other numbers"
            )
        return self._channel.result(request, Done).count

    @Verb
    def figures(self) -> Steps[dict[str, Any]]:
        """Return the figures of the queue manager's process, by name."""
        return (yield from ask(self._channel, AskServer(), Figures)).figures

    @Verb
    def stop_queue_manager(
        self, *, immediate: bool = False, hand_over: bool = False
    ) -> Steps[None]:
        """Ask the queue manager's process to stop; it has not yet stopped when this returns.

        New work is refused (QueueManagerQuiescing), units in flight get some seconds to end, and
        are backed out then. immediate: at once. hand_over: a standby takes over; without it
        standbys end too.
        """
        stop = Stop(a.as_flag("immediate", immediate), a.as_flag("hand_over", hand_over))
        yield from ask(self._channel, stop, Done)

    @Verb
    def switch_queue_manager(self, to: str = "") -> Steps[dict[str, str]]:
        """Hand the queue manager over to a standby, which is ready when this returns.

        Units in flight get some seconds to end; clients go on there. The process that had it goes
        on as a standby. to: the standby's name or address; "" for the one that goes first. Returns
        its "name" and "address". If it cannot be done nothing is changed (NotSwitched).
        """
        switch = SwitchOwner(a.as_text("to", to))
        answer = yield from ask(self._channel, switch, Figures)
        if "why_not" in answer.figures:
            raise NotSwitched(str(answer.figures["why_not"]))
        return {name: str(value) for name, value in answer.figures.items()}

    def _define(
        self, kind: str, name: str, attributes: Mapping[str, object], replace: bool
    ) -> Steps[int]:
        name = a.as_name(name)
        given = a.as_attributes(name, attributes)
        command = c.DefineObject(kind, name, given, a.as_flag("replace", replace))
        return (yield from durable(self._channel, command))

    def _alter(self, kind: str, name: str, attributes: Mapping[str, object]) -> Steps[int]:
        name = a.as_name(name)
        given = a.as_attributes(name, attributes)
        return (yield from durable(self._channel, c.AlterObject(kind, name, given)))

    def _ask_connections(self, units: bool = False, handles: bool = False) -> Steps[Connections]:
        return (yield from ask(self._channel, c.AskConnections(units, handles), Connections))
