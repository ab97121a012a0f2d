"""What every command is: one row each, for core, for clients, and for the server's audit.

A new command gets a row here and nowhere else; tests compare the table with the union of commands.
This module knows neither the rules that decide commands nor who asks.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, Final

from msgspec import Struct

from adapter.core.contract import broker as b
from adapter.core.contract import commands as c
from adapter.core.contract import msmq as m


class Durable(Enum):
    """Whether the outcome of a command can be asked for again: it has a number of the session."""

    NEVER = "never"
    OUTSIDE_UNITS = "outside units"
    """Within a unit it is not: the outcome of the unit is."""
    ALWAYS = "always"


NEVER, OUTSIDE_UNITS, ALWAYS = Durable.NEVER, Durable.OUTSIDE_UNITS, Durable.ALWAYS


class Direction(Enum):
    """Which way a command moves a message by itself."""

    NOWHERE = ""
    PUT = "put"
    GET = "get"


PUT, GET = Direction.PUT, Direction.GET


class Content(Enum):
    """Which field of a command holds what its type does not bound, so that it is looked at before
    it is decoded, if the command is long."""

    NONE = ""
    """All of its fields are bounded."""
    MESSAGES = "messages"
    MESSAGE = "message"
    BODY = "body"


class Audit(Struct, frozen=True):
    """How the audit calls an administrative command and the object that it is about.

    Both are format strings of the command's fields; {kind} is a kind of object in words, {queue_of}
    the queue that is open under the command's handle.
    """

    command: str
    of: str = "{name}"


class Trait(Struct, frozen=True):
    """What one command is.

    in_unit: it belongs to the unit that it names, if it names one, and is gone with that.
    is_question: it changes nothing that outlives the connection.
    is_new_work: a queue manager that quiesces refuses it; what is durable outside units is new work
    there in any case. opens: it opens or closes the handle that it names. has_cursor: it uses the
    cursor of its handle. may_be_one_way: it may come without a request number, and is not answered
    then. content: what of it has no bound. audit: of an administrative command.
    """

    durable: Durable = NEVER
    moves: Direction = Direction.NOWHERE
    in_unit: bool = False
    is_question: bool = False
    is_new_work: bool = False
    opens: bool = False
    has_cursor: bool = False
    may_be_one_way: bool = False
    content: Content = Content.NONE
    audit: Audit | None = None


def _administrative(command: str, of: str = "{name}") -> Trait:
    return Trait(ALWAYS, is_new_work=True, audit=Audit(command, of))


PLAIN = Trait()
QUESTION = Trait(is_question=True)
OPENING = Trait(opens=True)
ON_CONVERSATION = Trait(in_unit=True)

TRAITS: Final[dict[type, Trait]] = {
    c.SessionOpen: PLAIN,
    c.SessionResume: PLAIN,
    c.Open: OPENING,
    c.Close: OPENING,
    c.Put: Trait(OUTSIDE_UNITS, PUT, in_unit=True, may_be_one_way=True, content=Content.MESSAGES),
    c.Get: Trait(OUTSIDE_UNITS, GET, in_unit=True),
    c.Browse: Trait(is_question=True, is_new_work=True, has_cursor=True),
    c.Begin: Trait(is_new_work=True, may_be_one_way=True),
    c.Touch: Trait(may_be_one_way=True),
    c.Commit: Trait(ALWAYS),
    c.Backout: Trait(ALWAYS),
    c.AskOutcome: QUESTION,
    c.DefineQueue: _administrative("define queue"),
    c.AlterQueue: _administrative("alter queue"),
    c.DeleteQueue: _administrative("delete queue"),
    c.PurgeQueue: _administrative("purge queue"),
    c.SetAttributes: _administrative("set attributes of queue", "{queue_of}"),
    c.DefineObject: _administrative("define {kind}"),
    c.AlterObject: _administrative("alter {kind}"),
    c.DeleteObject: _administrative("delete {kind}"),
    c.Inquire: QUESTION,
    c.AskStatus: QUESTION,
    c.InquireObjects: QUESTION,
    c.AskConnections: QUESTION,
    c.EndConnection: Trait(audit=Audit("end connection", "{connection}")),
    c.OpenTopic: OPENING,
    c.Subscribe: Trait(is_new_work=True, opens=True),
    c.CloseSubscription: OPENING,
    c.SubscriptionRequest: Trait(ALWAYS, is_new_work=True),
    c.ClearRetained: _administrative("clear topic", "{topic_string}"),
    c.OpenConsumer: OPENING,
    c.ClaimBatch: Trait(is_new_work=True),
    c.ReadBatches: QUESTION,
    c.ConsumeBatches: PLAIN,
    c.AskConsumers: QUESTION,
    c.DeleteConsumer: _administrative("delete consumer", "{queue}/{consumer}"),
    c.AskLowest: QUESTION,
    c.AskExports: QUESTION,
    c.SeekFeed: _administrative("seek feed", "{feed}"),
    m.MsmqOpen: OPENING,
    m.MsmqSend: Trait(OUTSIDE_UNITS, PUT, in_unit=True, content=Content.MESSAGE),
    m.MsmqReceive: Trait(OUTSIDE_UNITS, GET, in_unit=True, has_cursor=True),
    m.MsmqCursor: Trait(has_cursor=True),
    m.MsmqMove: Trait(OUTSIDE_UNITS, PUT, in_unit=True),
    m.MsmqReject: Trait(in_unit=True),
    m.MsmqCreate: _administrative("create MSMQ queue", "{path}"),
    m.MsmqAlter: _administrative("alter MSMQ queue"),
    m.MsmqDelete: _administrative("delete MSMQ queue"),
    m.MsmqPurge: _administrative("purge MSMQ queue", "{queue_of}"),
    m.MsmqInquire: QUESTION,
    m.MsmqLocate: QUESTION,
    b.BrokerCreate: _administrative("create Service Broker {kind}"),
    b.BrokerAlter: _administrative("alter Service Broker {kind}"),
    b.BrokerDrop: _administrative("drop Service Broker {kind}"),
    b.BrokerInquire: QUESTION,
    b.BrokerBrowse: QUESTION,
    b.BrokerBegin: ON_CONVERSATION,
    b.BrokerSend: Trait(in_unit=True, content=Content.BODY),
    b.BrokerReceive: ON_CONVERSATION,
    b.BrokerGetGroup: ON_CONVERSATION,
    b.BrokerMove: ON_CONVERSATION,
    b.BrokerTimer: ON_CONVERSATION,
    b.BrokerEnd: ON_CONVERSATION,
    b.BrokerSave: ON_CONVERSATION,
    b.BrokerRollbackTo: ON_CONVERSATION,
    b.BrokerAwaitEvent: Trait(is_question=True, is_new_work=True),
}


def trait_of(command: object) -> Trait:
    """Return what a command is. Requests that core does not know are plain."""
    return TRAITS.get(type(command), PLAIN)


def is_durable(command: Any) -> bool:
    """Say whether a command's outcome can be asked for again, so that it needs a number."""
    durable = trait_of(command).durable
    if durable is OUTSIDE_UNITS:
        return not command.unit and not getattr(command, "peek", False)
    return durable is ALWAYS


def is_part_of_unit(command: Any) -> bool:
    """Say whether a command belongs to a unit, and is gone with that."""
    return trait_of(command).in_unit and bool(command.unit)


def is_one_way(command: object) -> bool:
    """Say whether a command may come without a request number, and is not answered then."""
    if isinstance(command, c.Put):
        return bool(command.unit) and bool(command.options & c.DEFERRED)
    return trait_of(command).may_be_one_way
