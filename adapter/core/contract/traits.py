"""What every command is: one row each, for core, for clients, and for the server's audit.

A new command has three places: the union of commands, that its class joins; a row here; and its
rule, in core.tables.DECIDE. Tests compare the three. A row says all that a command is, also what is
true of one command alone. This module knows neither the rules that decide commands nor who asks.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, Final

from adapter.core.contract import authorities as a
from adapter.core.contract import authority_commands as ac
from adapter.core.contract import broker as b
from adapter.core.contract import channel_rules, rights
from adapter.core.contract import commands as c
from adapter.core.contract import msmq as m
from adapter.core.contract.incarnations import AskIncarnations
from adapter.core.contract.rights import BY_HANDLE, BY_RULE, CONNECTED, Need, NeededRight


class Durable(Enum):
    """Whether the outcome of a command can be asked for again: it has a number of the session."""

    NEVER = "never"
    OUTSIDE_UNITS = "outside units"
    """Within a unit it is not: the outcome of the unit is."""
    ALWAYS = "always"


NEVER: Final = Durable.NEVER
OUTSIDE_UNITS: Final = Durable.OUTSIDE_UNITS
ALWAYS: Final = Durable.ALWAYS


class Direction(Enum):
    """Which way a command moves a message by itself."""

    NOWHERE = ""
    PUT = "put"
    GET = "get"


PUT: Final = Direction.PUT
GET: Final = Direction.GET


class OneWay(Enum):
    """Whether a command may come without a request number, and is not answered then."""

    NEVER = "never"
    ALWAYS = "always"
    DEFERRED = "deferred in units"
    """Within a unit, with the option DEFERRED: the end of the unit says what became of it."""


class Content(Enum):
    """Which field of a command holds what its type does not bound, so that it is looked at before
    it is decoded, if the command is long."""

    NONE = ""
    """All of its fields are bounded."""
    MESSAGES = "messages"
    MESSAGE = "message"
    BODY = "body"


class Audit:
    """How the audit calls an administrative command and the object that it is about.

    Both are format strings of the command's fields; {kind} is a kind of object in words, {queue_of}
    the queue that is open under the command's handle.
    """

    __slots__ = ("command", "of")

    def __init__(self, command: str, of: str = "{name}") -> None:
        self.command: Final = command
        self.of: Final = of


class Trait:
    """What one command is.

    right: what a principal needs to give it. asks_right: that is asked for with the command itself,
    and was not at the connect or the open. in_unit: it belongs to the unit that it names, if it
    names one, and is gone with that.
    is_question: it changes nothing that outlives the connection.
    is_new_work: a queue manager that quiesces refuses it; what is durable outside units is new work
    there in any case. opens: it opens or closes the handle that it names. has_cursor: it uses the
    cursor of its handle. has_target: it uses a second handle, its target. may_peek: with peek it
    takes nothing, and is not durable. one_way: whether it needs no answer. is_frequent: it is given
    for each message, unit, handle or connection, of arguments that were checked: the client does
    not decode it to see whether it can be read. content: what of it has no bound. audit: of an
    administrative command. shows_bodies: it shows messages that stay where they are.
    """

    __slots__ = (
        *("asks_right", "audit", "content", "durable", "has_cursor", "has_target", "in_unit"),
        *("is_frequent", "is_new_work", "is_question", "may_peek", "moves", "one_way", "opens"),
        *("right", "shows_bodies"),
    )

    def __init__(
        self,
        right: NeededRight,
        durable: Durable = NEVER,
        moves: Direction = Direction.NOWHERE,
        *,
        in_unit: bool = False,
        is_question: bool = False,
        is_new_work: bool = False,
        opens: bool = False,
        has_cursor: bool = False,
        has_target: bool = False,
        may_peek: bool = False,
        one_way: OneWay = OneWay.NEVER,
        is_frequent: bool = False,
        content: Content = Content.NONE,
        audit: Audit | None = None,
        shows_bodies: bool = False,
    ) -> None:
        self.right: Final = right
        self.asks_right: Final = right.need not in (Need.CONNECTED, Need.HANDLE)
        self.durable: Final = durable
        self.moves: Final = moves
        self.in_unit: Final = in_unit
        self.is_question: Final = is_question
        self.is_new_work: Final = is_new_work
        self.opens: Final = opens
        self.has_cursor: Final = has_cursor
        self.has_target: Final = has_target
        self.may_peek: Final = may_peek
        self.one_way: Final = one_way
        self.is_frequent: Final = is_frequent
        self.content: Final = content
        self.audit: Final = audit
        self.shows_bodies: Final = shows_bodies


def _administrative(command: str, right: NeededRight, of: str = "{name}") -> Trait:
    return Trait(right, ALWAYS, is_new_work=True, audit=Audit(command, of))


def _question(right: NeededRight) -> Trait:
    return Trait(right, is_question=True)


def _opening(right: NeededRight) -> Trait:
    return Trait(right, opens=True)


def _creation(object_type: str = "", of: str = "name") -> NeededRight:
    return NeededRight(Need.CREATION, a.CREATE, object_type, of)


PLAIN: Final = Trait(CONNECTED)
FREQUENT: Final = Trait(CONNECTED, is_frequent=True)
ON_CONVERSATION: Final = Trait(BY_RULE, in_unit=True)
EACH_QUEUE: Final = rights.each(a.QUEUE)

TRAITS: Final[dict[type, Trait]] = {
    c.SessionOpen: FREQUENT,
    c.SessionResume: FREQUENT,
    c.Open: _opening(BY_RULE),
    c.Close: Trait(BY_RULE, opens=True, is_frequent=True),
    c.Put: Trait(
        *(BY_HANDLE, OUTSIDE_UNITS, PUT),
        in_unit=True,
        one_way=OneWay.DEFERRED,
        is_frequent=True,
        content=Content.MESSAGES,
    ),
    c.Get: Trait(BY_HANDLE, OUTSIDE_UNITS, GET, in_unit=True, is_frequent=True),
    c.Browse: Trait(
        BY_HANDLE,
        is_question=True,
        is_new_work=True,
        has_cursor=True,
        is_frequent=True,
        shows_bodies=True,
    ),
    c.Begin: Trait(CONNECTED, is_new_work=True, one_way=OneWay.ALWAYS, is_frequent=True),
    c.Touch: Trait(CONNECTED, one_way=OneWay.ALWAYS, is_frequent=True),
    c.Commit: Trait(CONNECTED, ALWAYS, is_frequent=True),
    c.Backout: Trait(CONNECTED, ALWAYS, is_frequent=True),
    c.AskOutcome: _question(CONNECTED),
    c.DefineQueue: _administrative("define queue", _creation(a.QUEUE)),
    c.AlterQueue: _administrative("alter queue", rights.on_queue(a.CHANGE)),
    c.DeleteQueue: _administrative("delete queue", rights.on_queue(a.DELETE)),
    c.PurgeQueue: _administrative("purge queue", rights.on_queue(a.CLEAR)),
    c.SetAttributes: _administrative("set attributes of queue", BY_HANDLE, "{queue_of}"),
    c.DefineObject: _administrative("define {kind}", BY_RULE),
    c.AlterObject: _administrative("alter {kind}", BY_RULE),
    c.DeleteObject: _administrative("delete {kind}", BY_RULE),
    c.Inquire: _question(EACH_QUEUE),
    c.AskStatus: _question(EACH_QUEUE),
    c.InquireObjects: _question(rights.each()),
    c.AskConnections: _question(rights.on_queue_manager(a.DISPLAY)),
    c.EndConnection: Trait(
        rights.on_queue_manager(a.CONTROL), audit=Audit("end connection", "{connection}")
    ),
    c.OpenTopic: _opening(BY_RULE),
    c.Subscribe: Trait(BY_RULE, is_new_work=True, opens=True),
    c.CloseSubscription: _opening(BY_RULE),
    c.SubscriptionRequest: Trait(BY_HANDLE, ALWAYS, is_new_work=True),
    c.ClearRetained: _administrative("clear topic", BY_RULE, "{topic_string}"),
    c.OpenConsumer: _opening(rights.on_queue(a.GET, "queue")),
    c.ClaimBatch: Trait(BY_HANDLE, is_new_work=True),
    c.ReadBatches: _question(BY_HANDLE),
    c.ConsumeBatches: Trait(BY_HANDLE),
    c.AskConsumers: _question(EACH_QUEUE),
    c.DeleteConsumer: _administrative(
        "delete consumer", rights.on_queue(a.CHANGE, "queue"), "{queue}/{consumer}"
    ),
    c.AskLowest: _question(BY_HANDLE),
    c.AskExports: _question(rights.each(a.QUEUE, "", a.DISPLAY | a.INQUIRE | a.PUT)),
    AskIncarnations: _question(rights.on_queue_manager(a.CHANGE)),
    c.SeekFeed: _administrative(
        "seek feed", NeededRight(Need.OBJECT, a.CONTROL, "feed", "feed"), "{feed}"
    ),
    ac.SetAuthority: _administrative(
        "set authority of {object_type}", rights.on_queue_manager(a.CHANGE), "{profile}"
    ),
    ac.DeleteAuthority: _administrative(
        "delete authority of {object_type}", rights.on_queue_manager(a.CHANGE), "{profile}"
    ),
    ac.RefreshSecurity: _administrative(
        "refresh security", rights.on_queue_manager(a.CHANGE), "of the queue manager"
    ),
    channel_rules.SetChannelRule: _administrative(
        "set channel authentication record", rights.on_queue_manager(a.CHANGE), "{profile} {kind}"
    ),
    channel_rules.InquireChannelRules: _question(rights.on_queue_manager(a.DISPLAY)),
    ac.InquireAuthorities: _question(rights.on_queue_manager(a.DISPLAY)),
    ac.ExplainAuthority: _question(rights.on_queue_manager(a.DISPLAY)),
    ac.InquirePointers: _question(rights.on_queue_manager(a.DISPLAY)),
    m.MsmqOpen: _opening(BY_RULE),
    m.MsmqSend: Trait(
        *(BY_RULE, OUTSIDE_UNITS, PUT), in_unit=True, is_frequent=True, content=Content.MESSAGE
    ),
    m.MsmqReceive: Trait(
        *(BY_HANDLE, OUTSIDE_UNITS, GET),
        in_unit=True,
        has_cursor=True,
        may_peek=True,
        is_frequent=True,
        shows_bodies=True,
    ),
    m.MsmqCursor: Trait(BY_HANDLE, has_cursor=True),
    m.MsmqMove: Trait(
        *(BY_HANDLE, OUTSIDE_UNITS, PUT), in_unit=True, has_target=True, is_frequent=True
    ),
    m.MsmqReject: Trait(BY_HANDLE, in_unit=True),
    m.MsmqCreate: _administrative("create MSMQ queue", BY_RULE, "{path}"),
    m.MsmqAlter: _administrative("alter MSMQ queue", BY_RULE),
    m.MsmqDelete: _administrative("delete MSMQ queue", BY_RULE),
    m.MsmqPermit: _administrative("set permissions of MSMQ queue", BY_RULE),
    m.MsmqPurge: _administrative("purge MSMQ queue", BY_HANDLE, "{queue_of}"),
    m.MsmqInquire: _question(BY_RULE),
    m.MsmqLocate: _question(CONNECTED),
    b.BrokerCreate: _administrative("create Service Broker {kind}", BY_RULE),
    b.BrokerAlter: _administrative("alter Service Broker {kind}", BY_RULE),
    b.BrokerDrop: _administrative("drop Service Broker {kind}", BY_RULE),
    b.BrokerPermit: _administrative("set permissions of Service Broker {kind}", BY_RULE),
    b.BrokerInquire: Trait(BY_RULE, is_question=True, shows_bodies=True),
    b.BrokerBrowse: Trait(BY_RULE, is_question=True, shows_bodies=True),
    b.BrokerBegin: ON_CONVERSATION,
    b.BrokerSend: Trait(BY_RULE, in_unit=True, is_frequent=True, content=Content.BODY),
    b.BrokerReceive: ON_CONVERSATION,
    b.BrokerGetGroup: ON_CONVERSATION,
    b.BrokerMove: ON_CONVERSATION,
    b.BrokerTimer: ON_CONVERSATION,
    b.BrokerEnd: ON_CONVERSATION,
    b.BrokerSave: Trait(CONNECTED, in_unit=True),
    b.BrokerRollbackTo: Trait(CONNECTED, in_unit=True),
    b.BrokerAwaitEvent: Trait(
        rights.on_queue_manager(a.DISPLAY), is_question=True, is_new_work=True
    ),
}


def trait_of(command: object) -> Trait:
    """Return what a command is. Requests that core does not know are plain."""
    return TRAITS.get(type(command), PLAIN)


def is_durable(command: Any) -> bool:
    """Say whether a command's outcome can be asked for again, so that it needs a number."""
    trait = TRAITS.get(type(command), PLAIN)
    durable = trait.durable
    if durable is NEVER:
        return False
    if durable is OUTSIDE_UNITS:
        return not command.unit and not (trait.may_peek and command.peek)
    return durable is ALWAYS


def is_part_of_unit(command: Any) -> bool:
    """Say whether a command belongs to a unit, and is gone with that."""
    return TRAITS.get(type(command), PLAIN).in_unit and bool(command.unit)


def is_one_way(command: Any) -> bool:
    """Say whether a command may come without a request number, and is not answered then."""
    one_way = TRAITS.get(type(command), PLAIN).one_way
    if one_way is OneWay.DEFERRED:
        return bool(command.unit) and bool(command.options & c.DEFERRED)
    return one_way is OneWay.ALWAYS
