"""The commands of PCF, by their numbers: what each takes and what it is answered with.

A command returns its replies, each a list of parameters. It raises PcfError, or an error of the
SDK, whose reason becomes that of PCF. It must not know how requests come and replies go.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import structlog
from msgspec import Struct

from adapter.administration import objects, senders
from adapter.administration.kinds import ANY_QUEUE, DEFINED, QUEUE_WORDS, FoundObject, Kind
from adapter.administration.mqsc.answers import is_warning
from adapter.administration.mqsc.execute import Script
from adapter.administration.pcf import authority_records, channel_rules
from adapter.administration.pcf.arguments import Arguments, connection_id, reply_of
from adapter.administration.pcf.structures import (
    Integer,
    Integers,
    Parameter,
    PcfError,
    String,
    Strings,
)
from adapter.administration.status import reset_totals
from adapter.administration.status_kinds import (
    CHANNEL_STATUS,
    CONNECTION,
    CONNECTION_HANDLES,
    LISTENER,
    LISTENER_STATUS,
    PUBSUB_STATUS,
    QMGR_STATUS,
    QUEUE_HANDLES,
    QUEUE_STATUS,
    SUBSCRIPTION_STATUS,
    TOPIC_STATUS,
)
from adapter.administration.values import Filter
from adapter.administration.without_effect import ACCEPTED, NOT_STOPPED
from adapter.client.connection import Connection
from adapter.errors import Error

Replies = list[list[Parameter]]
log = structlog.get_logger("mqk.commands")
QUEUE_NAME, QUEUE_TYPE = 2016, 20
EVERY_TYPE = 1001  # MQQT_ALL
LOCAL_TYPE = 1  # MQQT_LOCAL
REPLACE, PURGE, FORCE, REMOVE_AUTHORITIES, CHANNEL_TABLE = 1006, 1007, 1005, 1398, 1526
REPLACE_WRONG, PURGE_WRONG = 3025, 3046  # MQRCCF_REPLACE_VALUE_ERROR, _PURGE_VALUE_ERROR
CONNECTION_ID, GENERIC_CONNECTION_ID, INFO_TYPE, INFO_CONNECTION = 7006, 7007, 1110, 1111
STATUS_TYPE, STATUS_OF_QUEUE = 1103, 1105
OF_QUEUE = {STATUS_OF_QUEUE: QUEUE_STATUS, 1104: QUEUE_HANDLES}
CONNECTION_KINDS = {
    INFO_CONNECTION: (CONNECTION,),
    1112: (CONNECTION_HANDLES,),
    1113: (CONNECTION, CONNECTION_HANDLES),
}
ESCAPE_TYPE, ESCAPE_TEXT, ESCAPE_MQSC = 1017, 3014, 1
QUEUE_TYPES = 1261  # MQIACF_Q_TYPES

# MQRC_* and MQRCCF_*.
NOT_FOUND = 2085
COMMAND_ERROR = 3007
COMMAND_FAILED = 3008
QUEUE_TYPE_ERROR = 3022
CONNECTION_ID_ERROR = 3174
VALUE_ERROR = 3229
CHANNEL_NOT_FOUND = 4032
CHANNEL_EXISTS = 4042
STATUS_NOT_FOUND = 4091
NO_SUBSCRIPTION = 2428  # MQRC_NO_SUBSCRIPTION
SUBSCRIPTION_ID = 7016  # MQBACF_SUB_ID
NOTHING_THERE = {
    153: 2085,  # INQUIRE_SERVICE
    154: 3252,  # INQUIRE_SERVICE_STATUS: MQRCCF_SERV_STATUS_NOT_FOUND
}
"""Inquiries that find nothing, because such objects do not exist here: command and reason."""
ACCEPTED_COMMANDS = {
    31: ("START", "LISTENER"),
    93: ("ALTER", "LISTENER"),
    95: ("DEFINE", "LISTENER"),
    96: ("DELETE", "LISTENER"),
    142: ("STOP", "LISTENER"),
}
"""Commands that are checked and have no effect here."""
LISTENER_NAME, CHANNEL_NAME = 3554, 3501
NAMED = {"LISTENER": LISTENER_NAME}
REASONS = {
    2100: 4001,  # exists already
    2042: 4004,  # open
    2043: 4002,  # of another type
    2152: 4008,  # no name
}
"""MQRCCF_* for reason codes of the SDK; all others are reported as they are."""
CHANNEL_REASONS = {2085: CHANNEL_NOT_FOUND, 2100: CHANNEL_EXISTS}


class Family(Struct, frozen=True):
    """The commands of one kind of object. word: of the kind, or QUEUE for all kinds of queues.

    selector: names which attributes are asked for; names: lists names; source, target: of a copy.
    """

    word: str
    change: int
    copy: int
    create: int
    delete: int
    inquire: int
    inquire_names: int
    selector: int
    names: int
    source: int
    target: int


FAMILIES = (
    Family("QUEUE", 8, 10, 11, 12, 13, 18, 1002, 3011, 3001, 3002),
    Family("PROCESS", 3, 4, 5, 6, 7, 19, 1003, 3012, 3003, 3004),
    Family("NAMELIST", 32, 33, 34, 35, 36, 37, 1004, 3013, 3005, 3006),
    Family("TOPIC", 170, 171, 172, 173, 174, 175, 1269, 3151, 3150, 3149),
    Family("CHANNEL", 21, 22, 23, 24, 25, 20, 1015, 3512, 3007, 3008),
    Family("AUTHINFO", 79, 80, 81, 82, 83, 84, 1019, 3048, 3009, 3010),
    # MQ has neither: the numbers are none of its own.
    Family(
        *("FEED", 900_121, 900_122, 900_123, 900_124, 900_125, 900_126),
        *(900_131, 900_132, 900_133, 900_134),
    ),
    Family(
        *("EXPORT", 900_221, 900_222, 900_223, 900_224, 900_225, 900_226),
        *(900_231, 900_232, 900_233, 900_234),
    ),
)
OF_CHANNELS = range(20, 26)
"""The commands of the family CHANNEL."""
SUBSCRIPTIONS = Family("SUB", 178, 181, 177, 179, 176, 0, 1287, 0, 3163, 3164)
"""Nothing lists their names; and their descriptions have none."""
CHANGE_QMGR, INQUIRE_QMGR, PING_QMGR = 1, 2, 40
CLEAR_TOPIC, TOPIC_STRING, CLEAR_TYPE, CLEAR_SCOPE = 184, 2094, 1305, 1306
CLEAR_RETAINED, SCOPE_LOCAL = 1, 1
CLEAR_QUEUE, RESET_TOTALS, ESCAPE, INQUIRE_STATUS = 9, 17, 38, 41
INQUIRE_CONNECTION, STOP_CONNECTION, INQUIRE_QMGR_STATUS = 85, 86, 161
START_CHANNEL, STOP_CHANNEL, CHANNEL_DISPOSITION, MODE, CHANNEL_STATE = 28, 29, 1580, 1008, 1527
QMGR = DEFINED["QMGR"]
QMGR_SELECTOR, QMGR_STATUS_SELECTOR = 1001, 1229
STATUS_SELECTOR, CONNECTION_SELECTOR = 1026, 1107


class StatusCommand(Struct, frozen=True):
    """An inquiry about what happens now. name, selector: numbers of its parameters.

    missing: why it fails if nothing is found; default: the name, if none is given, "" for needed.
    dropped: parameters that make no difference here.
    """

    kind: Kind
    name: int
    selector: int
    missing: int
    default: str = ""
    dropped: tuple[int, ...] = ()


STATUSES = {
    42: StatusCommand(CHANNEL_STATUS, 3501, 1524, 3065),  # MQRCCF_CHL_STATUS_NOT_FOUND
    97: StatusCommand(LISTENER, 3554, 1222, NOT_FOUND),
    98: StatusCommand(LISTENER_STATUS, 3554, 1223, 3250),  # MQRCCF_LSTR_STATUS_NOT_FOUND
    182: StatusCommand(SUBSCRIPTION_STATUS, 3152, 1294, NO_SUBSCRIPTION, "*", (1274,)),
    183: StatusCommand(TOPIC_STATUS, 2094, 1301, 3308),  # MQRCCF_TOPIC_STRING_NOT_FOUND
    185: StatusCommand(PUBSUB_STATUS, 2015, 1318, NOT_FOUND, "*"),
}
"""By command."""
TOPIC_STATUS_TYPE, STATUS_OF_TOPIC = 1302, 1295
ASKS = frozenset(
    {
        *(INQUIRE_QMGR, PING_QMGR, INQUIRE_QMGR_STATUS, INQUIRE_STATUS, INQUIRE_CONNECTION),
        *(
            number
            for one in (*FAMILIES, SUBSCRIPTIONS)
            for number in (one.inquire, one.inquire_names)
        ),
        *NOTHING_THERE,
        *STATUSES,
        *authority_records.ASKS,
        *channel_rules.ASKS,
    }
)
"""Commands that change nothing."""


class Commands:
    """The commands on one connection."""

    def __init__(self, qm: Connection) -> None:
        self._qm = qm
        self._table: dict[int, Callable[[Arguments], Replies]] = {
            CHANGE_QMGR: self._change_qmgr,
            INQUIRE_QMGR: partial(self._inquire_own, QMGR, QMGR_SELECTOR),
            PING_QMGR: self._ping,
            INQUIRE_QMGR_STATUS: partial(self._inquire_own, QMGR_STATUS, QMGR_STATUS_SELECTOR),
            CLEAR_QUEUE: self._clear,
            CLEAR_TOPIC: self._clear_topics,
            RESET_TOTALS: self._reset_totals,
            ESCAPE: partial(_escape, self._qm),
            INQUIRE_STATUS: self._inquire_status,
            INQUIRE_CONNECTION: self._inquire_connection,
            STOP_CONNECTION: self._stop_connection,
            START_CHANNEL: partial(_start_channel, self._qm),
            STOP_CHANNEL: partial(_stop_channel, self._qm),
        }
        for number, command in (authority_records.COMMANDS | channel_rules.COMMANDS).items():
            self._table[number] = partial(command, self._qm)
        for family in (*FAMILIES, SUBSCRIPTIONS):
            self._table |= self._of_family(family)
        for number, status in STATUSES.items():
            self._table[number] = partial(self._inquire_running, status)

    def execute(self, command: int, parameters: list[Parameter]) -> Replies:
        """Do one command. Raises PcfError, whatever was wrong."""
        if command in NOTHING_THERE:
            raise PcfError(NOTHING_THERE[command], "none exists here")
        if command in ACCEPTED_COMMANDS:
            return _accept(*ACCEPTED_COMMANDS[command], Arguments(parameters))
        work = self._table.get(command)
        if work is None:
            raise PcfError(COMMAND_ERROR, f"unknown command {command}")
        given = Arguments(parameters)
        try:
            replies = work(given)
            if given.without_effect:
                parts = ", ".join(given.without_effect)
                log.warning("not supported, without effect", command=command, given=parts)
            return replies
        except Error as error:
            reason = REASONS.get(error.reason, error.reason)
            if command in OF_CHANNELS:
                reason = CHANNEL_REASONS.get(error.reason, reason)
            raise PcfError(reason, error.text) from error

    def _of_family(self, family: Family) -> dict[int, Callable[[Arguments], Replies]]:
        return {
            family.change: lambda given: self._change(family, given),
            family.copy: lambda given: self._copy(family, given),
            family.create: lambda given: self._create(family, given),
            family.delete: lambda given: self._delete(family, given),
            family.inquire: lambda given: self._inquire(family, given),
        } | (
            {family.inquire_names: lambda given: self._inquire_names(family, given)}
            if family.inquire_names
            else {}
        )

    # Objects of every kind.

    def _create(self, family: Family, given: Arguments) -> Replies:
        name = given.text(_name_number(family))
        kind = _kind_given(family, given) or DEFINED[_plain_word(family)]
        replace = given.flag(REPLACE, REPLACE_WRONG)
        given.drop(FORCE)
        objects.define(self._qm, kind, name, given.attributes(kind), replace)
        return [[]]

    def _copy(self, family: Family, given: Arguments) -> Replies:
        source, target = given.text(family.source), given.text(family.target)
        kind = _kind_given(family, given) or self._kind_of(family, source)
        replace = given.flag(REPLACE, REPLACE_WRONG)
        attributes = objects.attributes_like(self._qm, kind, source) | given.attributes(kind)
        objects.define(self._qm, kind, target, attributes, replace)
        return [[]]

    def _change(self, family: Family, given: Arguments) -> Replies:
        name = self._take_name(family, given)
        kind = _kind_given(family, given) or self._kind_of(family, name)
        given.drop(FORCE)
        objects.alter(self._qm, kind, name, given.attributes(kind))
        return [[]]

    def _delete(self, family: Family, given: Arguments) -> Replies:
        name = self._take_name(family, given)
        kind = _kind_given(family, given) or self._kind_of(family, name)
        purge = given.flag(PURGE, PURGE_WRONG)
        types = (row.attribute.number for row in kind.always)
        if not given.whole(REMOVE_AUTHORITIES, 1):
            text = "authority records with the name of an object go with it"
            raise PcfError(VALUE_ERROR, text, REMOVE_AUTHORITIES)
        given.drop(CHANNEL_TABLE, *types)
        given.finish()
        objects.delete(self._qm, kind, name, purge)
        return [[]]

    def _inquire(self, family: Family, given: Arguments) -> Replies:
        pattern = self._take_name(family, given)
        wanted = given.selectors(family.selector)
        found, filters = self._found(family, pattern, given)
        if not found:
            raise _not_found(family, pattern)
        return [reply_of(one, wanted, filters) for one in found]

    def _take_name(self, family: Family, given: Arguments) -> str:
        """Take the name of an object, or the id of a subscription, and return its name."""
        ident = given.data(SUBSCRIPTION_ID) if family is SUBSCRIPTIONS else b""
        name = given.text(_name_number(family), "*" if ident else None)
        if not ident:
            return name
        found = objects.name_by_id(self._qm, name, ident.hex())
        if found is None:
            text = f"no subscription has the id {ident.hex()}"
            raise PcfError(NO_SUBSCRIPTION, text, SUBSCRIPTION_ID)
        return found

    def _inquire_names(self, family: Family, given: Arguments) -> Replies:
        pattern = given.text(_name_number(family))
        found, _ = self._found(family, pattern, given)
        if not found:
            raise _not_found(family, pattern)
        length = found[0].kind.name_length
        reply: list[Parameter] = [Strings(family.names, tuple(one.name for one in found), length)]
        if family.word == "QUEUE":
            row = DEFINED["QLOCAL"].reported["queue_type"]
            types = [_type_number(one) for one in found]
            assert len(row.attribute.numbers) == len(QUEUE_WORDS)
            reply.append(Integers(QUEUE_TYPES, tuple(types)))
        return [reply]

    def _found(
        self, family: Family, pattern: str, given: Arguments
    ) -> tuple[list[FoundObject], list[Filter]]:
        if family.word == "QUEUE":
            kind = _kind_given(family, given)
            words = QUEUE_WORDS if kind is None else (kind.word,)
            filters = given.filters(ANY_QUEUE)
            given.finish()
            found = objects.find_queues(self._qm, words, pattern)
        else:
            kind = DEFINED[family.word]
            filters = given.filters(kind)
            given.finish()
            found = objects.find(self._qm, kind, pattern)
        return objects.passing(found, filters), filters

    def _kind_of(self, family: Family, name: str) -> Kind:
        """Return the kind of the object of this name."""
        if family.word != "QUEUE":
            return DEFINED[family.word]
        found = objects.find_queues(self._qm, QUEUE_WORDS, name)
        if not found:
            raise PcfError(NOT_FOUND, f"queue {name} does not exist", QUEUE_NAME)
        return found[0].kind

    # The queue manager.

    def _change_qmgr(self, given: Arguments) -> Replies:
        given.drop(FORCE)
        objects.alter(self._qm, QMGR, self._qm.name, given.attributes(QMGR))
        return [[]]

    def _inquire_own(self, kind: Kind, selector: int, given: Arguments) -> Replies:
        wanted = given.selectors(selector)
        given.finish()
        return [reply_of(one, wanted) for one in objects.find(self._qm, kind, self._qm.name)]

    def _ping(self, given: Arguments) -> Replies:
        given.finish()
        return [[]]

    # Queues besides.

    def _clear(self, given: Arguments) -> Replies:
        name = given.text(QUEUE_NAME)
        given.finish()
        objects.clear(self._qm, name)
        return [[]]

    def _clear_topics(self, given: Arguments) -> Replies:
        topic = given.text(TOPIC_STRING)
        for number, only, usual in (
            (CLEAR_TYPE, CLEAR_RETAINED, None),
            (CLEAR_SCOPE, SCOPE_LOCAL, SCOPE_LOCAL),
        ):
            value = given.whole(number, usual)
            if value != only:
                raise PcfError(VALUE_ERROR, f"{value} is not {only}", number)
        given.finish()
        self._qm.clear_retained(topic)
        return [[]]

    def _inquire_status(self, given: Arguments) -> Replies:
        pattern = given.text(QUEUE_NAME)
        queue_type = given.whole(QUEUE_TYPE, EVERY_TYPE)
        if queue_type not in (LOCAL_TYPE, EVERY_TYPE):
            raise PcfError(QUEUE_TYPE_ERROR, "only local queues have a status", QUEUE_TYPE)
        number = given.whole(STATUS_TYPE, STATUS_OF_QUEUE)
        kind = OF_QUEUE.get(number)
        if kind is None:
            raise PcfError(VALUE_ERROR, f"invalid type of status {number}", STATUS_TYPE)
        missing = PcfError(STATUS_NOT_FOUND, f"no queue matches {pattern}", QUEUE_NAME)
        return self._inquire_kinds((kind,), pattern, STATUS_SELECTOR, given, missing)

    def _reset_totals(self, given: Arguments) -> Replies:
        """RESET_Q_STATS: return what was counted since the last reset, and reset it."""
        pattern = given.text(QUEUE_NAME)
        given.finish()
        found = reset_totals(self._qm, pattern)
        if not found:
            raise PcfError(NOT_FOUND, f"no queue matches {pattern}", QUEUE_NAME)
        return [reply_of(one, None) for one in found]

    def _inquire_running(self, status: StatusCommand, given: Arguments) -> Replies:
        """INQUIRE_CHANNEL_STATUS and the like."""
        ident = given.data(SUBSCRIPTION_ID).hex() if status.kind is SUBSCRIPTION_STATUS else ""
        pattern = given.text(status.name, status.default or None)
        if status.kind is TOPIC_STATUS:
            number = given.whole(TOPIC_STATUS_TYPE, STATUS_OF_TOPIC)
            if number != STATUS_OF_TOPIC:
                text = f"{number} is not a supported type of topic status"
                raise PcfError(VALUE_ERROR, text, TOPIC_STATUS_TYPE)
        given.drop(*status.dropped)
        missing = PcfError(
            status.missing, f"no {status.kind.noun} found: {pattern or ident}", status.name
        )
        return self._inquire_kinds(
            *((status.kind,), pattern, status.selector, given, missing),
            lambda one: not ident or one.values["ident"] == ident,
        )

    def _inquire_kinds(
        self,
        kinds: tuple[Kind, ...],
        pattern: str,
        selector: int,
        given: Arguments,
        missing: PcfError,
        fits: Callable[[FoundObject], bool] = lambda _one: True,
    ) -> Replies:
        """Describe what has a name that fits, and passes the filters. missing: if nothing does."""
        wanted = given.selectors(selector)
        filters = given.filters(kinds[0])
        given.finish()
        found = [one for kind in kinds for one in objects.find(self._qm, kind, pattern)]
        found = [one for one in objects.passing(found, filters) if fits(one)]
        if not found:
            raise missing
        return [reply_of(one, wanted, filters) for one in found]

    # Connections.

    def _inquire_connection(self, given: Arguments) -> Replies:
        exact, generic = given.data(CONNECTION_ID), given.data(GENERIC_CONNECTION_ID)
        number = given.whole(INFO_TYPE, INFO_CONNECTION)
        kinds = CONNECTION_KINDS.get(number)
        if kinds is None:
            raise PcfError(
                VALUE_ERROR, f"invalid type of connection information {number}", INFO_TYPE
            )
        missing = PcfError(CONNECTION_ID_ERROR, "the connection does not exist", CONNECTION_ID)
        return self._inquire_kinds(
            *(kinds, "*", CONNECTION_SELECTOR, given, missing),
            lambda one: _has_id(one, exact, generic),
        )

    def _stop_connection(self, given: Arguments) -> Replies:
        ident = given.data(CONNECTION_ID)
        given.finish()
        if len(ident) != 24:
            raise PcfError(CONNECTION_ID_ERROR, "a connection's id has 24 bytes", CONNECTION_ID)
        objects.end_connection(self._qm, ident[16:].hex())
        return [[]]


def _escape(qm: Connection, given: Arguments) -> Replies:
    """MQCMD_ESCAPE: a command of MQSC, answered in its own lines."""
    if given.whole(ESCAPE_TYPE, ESCAPE_MQSC) != ESCAPE_MQSC:
        raise PcfError(3054, "invalid type of escape command: only MQSC is supported", ESCAPE_TYPE)
    text = given.text(ESCAPE_TEXT)
    given.finish()
    script = Script(qm, echo=False, summary=False)
    lines = list(script.run([text]))
    told: Replies = [
        [Integer(ESCAPE_TYPE, ESCAPE_MQSC), String(ESCAPE_TEXT, line)] for line in lines
    ]
    if script.wrong or script.failed:
        raise PcfError(COMMAND_FAILED, " ".join(lines), ESCAPE_TEXT, told)
    if script.without_effect:
        given_in = " ".join(filter(is_warning, lines))
        log.warning("not supported, without effect", command="MQSC", answer=given_in)
    return told


def _start_channel(qm: Connection, given: Arguments) -> Replies:
    """START_CHANNEL: of a sender; channels for clients need no start."""
    name = given.text(CHANNEL_NAME)
    given.drop(CHANNEL_DISPOSITION)
    given.finish()
    is_sender = senders.switch(qm, name, stopped=False)
    if not is_sender and not objects.exists(qm, DEFINED["CHANNEL"], name):
        raise PcfError(CHANNEL_NOT_FOUND, f"channel {name} does not exist", CHANNEL_NAME)
    return [[]]


def _stop_channel(qm: Connection, given: Arguments) -> Replies:
    """STOP_CHANNEL: of a sender, until it is started."""
    name = given.text(CHANNEL_NAME)
    given.drop(CHANNEL_DISPOSITION, MODE, CHANNEL_STATE)
    given.finish()
    if not senders.switch(qm, name, stopped=True):
        text = f"channel {name} is not stopped: {NOT_STOPPED}"
        raise PcfError(CHANNEL_NOT_FOUND, text, CHANNEL_NAME)
    return [[]]


def _accept(verb: str, kind: str, given: Arguments) -> Replies:
    """Check a command that has no effect here."""
    found = ACCEPTED[verb, kind]
    name = given.text(NAMED[kind], "") if kind in NAMED else ""
    given.check(found.rows)
    log.warning(f"{found.noun} accepted without effect", name=name, why=found.why)
    return [[]]


def _plain_word(family: Family) -> str:
    return "QLOCAL" if family.word == "QUEUE" else family.word


def _name_number(family: Family) -> int:
    return DEFINED[_plain_word(family)].name_number


def _kind_given(family: Family, given: Arguments) -> Kind | None:
    """Take which kind of queue is meant; None for any."""
    if family.word != "QUEUE":
        return None
    number = given.whole(QUEUE_TYPE, EVERY_TYPE)
    if number == EVERY_TYPE:
        return None
    types = DEFINED["QLOCAL"].reported["queue_type"]
    if number not in types.attribute.numbers:
        raise PcfError(QUEUE_TYPE_ERROR, f"invalid queue type {number}", QUEUE_TYPE)
    return DEFINED[types.choices[types.attribute.numbers.index(number)]]


def _type_number(found: FoundObject) -> int:
    row = found.kind.reported["queue_type"]
    return row.attribute.numbers[row.choices.index(found.kind.word)]


def _not_found(family: Family, pattern: str) -> PcfError:
    reason = {"CHANNEL": CHANNEL_NOT_FOUND, "SUB": NO_SUBSCRIPTION}.get(family.word, NOT_FOUND)
    return PcfError(reason, f"no {family.word.lower()} matches {pattern}", None)


def _has_id(found: FoundObject, exact: bytes, generic: bytes) -> bool:
    ident = connection_id(found)
    return (not exact or ident == exact) and ident.startswith(generic.rstrip(b"\0"))
