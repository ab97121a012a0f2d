"""Every wrong argument gets an error that is an adapter.Error and says what is wrong with it.

None of them costs the connection: each test ends with a put that goes through.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import adapter
from adapter import DeadLetter
from adapter import errors as e
from adapter.connection.channel import arguments as a
from adapter.core.contract.details import Details

WRONG: Any = object()
NONE: Any = None
ABC: Any = "abc"
NAIVE = datetime.fromisoformat("2030-01-01")
Call = Callable[[Any, Any], object]

PUTS: list[tuple[str, dict[str, Any], type[adapter.Error], str]] = [
    ("priority", {"priority": 10}, e.InvalidPriority, "priority is 0 to 9, not 10"),
    ("priority -1", {"priority": -1}, e.InvalidPriority, "not -1"),
    ("priority text", {"priority": "9"}, e.InvalidType, "priority"),
    ("priority bool", {"priority": True}, e.InvalidType, "priority"),
    ("persistent", {"persistent": 1}, e.InvalidType, "persistent is True or False"),
    ("expiry zero", {"expiry_s": 0}, e.InvalidExpiry, "expiry_s"),
    ("expiry negative", {"expiry_s": -1.5}, e.InvalidExpiry, "expiry_s"),
    ("expiry for ever", {"expiry_s": float("inf")}, e.InvalidExpiry, "expiry_s"),
    ("expiry no number", {"expiry_s": float("nan")}, e.InvalidExpiry, "expiry_s"),
    ("expiry too long", {"expiry_s": 1e12}, e.InvalidExpiry, "expiry"),
    ("delay negative", {"deliver_after": -1}, e.InvalidOption, "deliver_after"),
    ("delay for ever", {"deliver_after": float("inf")}, e.InvalidOption, "deliver_after"),
    ("delay no number", {"deliver_after": float("nan")}, e.InvalidOption, "deliver_after"),
    ("delay text", {"deliver_after": "1"}, e.InvalidType, "deliver_after"),
    ("time no time", {"deliver_at": 1_700_000_000}, e.InvalidType, "deliver_at"),
    ("time naive", {"deliver_at": NAIVE}, e.InvalidOption, "time zone"),
    (
        "delay and time",
        {"deliver_after": 1, "deliver_at": datetime(2030, 1, 1, tzinfo=UTC)},
        e.InvalidOption,
        "not both",
    ),
    ("time too late", {"deliver_at": datetime(2999, 1, 1, tzinfo=UTC)}, e.InvalidOption, "delay"),
    ("expiry text", {"expiry_s": "1"}, e.InvalidType, "expiry_s"),
    ("message id long", {"message_id": bytes(25)}, e.InvalidIdentifier, "24 bytes, not 25"),
    ("message id type", {"message_id": 7}, e.InvalidType, "message_id is bytes, a str"),
    ("correlation id", {"correlation_id": "ä" * 13}, e.InvalidIdentifier, "not 26"),
    ("correlation id no text", {"correlation_id": "\ud800"}, e.InvalidIdentifier, "Unicode"),
    ("group id", {"group_id": b"x" * 25}, e.InvalidIdentifier, "group_id"),
    ("group seq", {"group_seq": 0}, e.InvalidOption, "group_seq is 1 to"),
    ("group seq type", {"group_seq": 1.0}, e.InvalidType, "group_seq"),
    ("last in group", {"last_in_group": 1}, e.InvalidType, "last_in_group"),
    ("format type", {"format": b"MQSTR"}, e.InvalidType, "format"),
    ("format long", {"format": "123456789"}, e.InvalidOption, "format has more than 8"),
    ("format no text", {"format": "\ud800"}, e.InvalidOption, "not valid Unicode"),
    ("reply to", {"reply_to": 1}, e.InvalidType, "reply_to"),
    ("reply to long", {"reply_to": "x" * 49}, e.InvalidOption, "reply_to"),
    ("reply qm", {"reply_to_queue_manager": []}, e.InvalidType, "reply_to_queue_manager"),
    ("message type", {"message_type": 3}, e.InvalidMessageType, "message_type 3"),
    ("message type type", {"message_type": "8"}, e.InvalidType, "message_type"),
    ("report", {"report": 2**31}, e.InvalidOption, "report"),
    ("report huge", {"report": 2**70}, e.InvalidOption, "report"),
    ("feedback", {"feedback": None}, e.InvalidType, "feedback"),
    ("encoding", {"encoding": "UTF-8"}, e.InvalidType, "encoding"),
    ("ccsid", {"ccsid": -(2**31) - 1}, e.InvalidOption, "ccsid"),
    ("properties", {"properties": [("a", 1)]}, e.InvalidType, "properties is a dict"),
    ("property name", {"properties": {1: 1}}, e.InvalidProperty, "name"),
    ("property unnamed", {"properties": {"": 1}}, e.InvalidProperty, "not empty"),
    ("property value", {"properties": {"a": object()}}, e.InvalidProperty, "property a"),
    ("property nested", {"properties": {"a": {}}}, e.InvalidProperty, "property a"),
    ("property big", {"properties": {"a": 2**63}}, e.InvalidProperty, "64 bits"),
    ("too many properties", {"properties": {str(i): i for i in range(257)}}, e.InvalidProperty,
     "at most 256 properties, not 257"),
    ("far too many", {"properties": dict.fromkeys(map(str, range(1_001)))}, e.InvalidProperty,
     "at most 256 properties, not 1001"),
    ("expiry huge", {"expiry_s": 1e17}, e.InvalidExpiry, "expiry_s"),
    ("expiry of many digits", {"expiry_s": 10**400}, e.InvalidExpiry, "expiry_s"),
    ("delay of many digits", {"deliver_after": 10**5000}, e.InvalidOption, "of the type int"),
    ("priority of many digits", {"priority": 10**5000}, e.InvalidPriority, "of the type int"),
    ("message id of words", {"message_id": memoryview(bytes(40)).cast("I")}, e.InvalidIdentifier,
     "not 40"),
    ("details type", {"details": 5}, e.InvalidType, "details is a Details"),
    ("details text", {"details": Details(identity_data=WRONG)}, e.InvalidType, "identity_data"),
    ("details text none", {"details": Details(origin_data=NONE)}, e.InvalidType, "origin_data"),
    ("details text long", {"details": Details(identity_data="x" * 33)}, e.InvalidOption,
     "identity_data has more than 32"),
    ("details number", {"details": Details(flags=WRONG)}, e.InvalidType, "flags of details"),
    ("details huge", {"details": Details(original_length=2**70)}, e.InvalidOption,
     "original_length of details"),
    ("details token", {"details": Details(accounting_token=WRONG)}, e.InvalidType,
     "accounting_token"),
    ("details token short", {"details": Details(accounting_token=b"x")}, e.InvalidIdentifier,
     "accounting_token is not 32 bytes"),
    ("header type", {"dead_letter": 5}, e.InvalidType, "dead_letter is an adapter.DeadLetter"),
    ("header reason", {"dead_letter": DeadLetter(reason=2**40)}, e.InvalidOption, "reason of the"),
    ("header reason text", {"dead_letter": DeadLetter(reason=WRONG)}, e.InvalidType, "reason of"),
    ("header text none", {"dead_letter": DeadLetter(destination=NONE)}, e.InvalidType,
     "destination of the dead-letter header is a str"),
    ("header text long", {"dead_letter": DeadLetter(destination="x" * 49)}, e.InvalidOption,
     "at most 48 bytes in UTF-8, not 49"),
    ("header bytes", {"dead_letter": DeadLetter(application="é" * 15)}, e.InvalidOption,
     "at most 28 bytes in UTF-8, not 30"),
    ("header no text", {"dead_letter": DeadLetter(put_date="\ud800")}, e.InvalidOption, "Unicode"),
    ("header format", {"dead_letter": DeadLetter(), "format": "123456789"}, e.InvalidOption,
     "format of the dead-letter header has at most 8 bytes"),
    ("unknown argument", {"prioritty": 1}, e.InvalidType, "'prioritty'"),
    ("unit", {"unit": "mine"}, e.InvalidType, "unit is a unit"),
    ("unit id", {"unit": bytes(24)}, e.InvalidType, "unit is a unit"),
]  # fmt: skip

CALLS: list[tuple[str, Call, type[adapter.Error], str]] = [
    ("body int", lambda qm, q: q.put(1), e.InvalidType, "not int"),
    ("body none", lambda qm, q: q.put(None), e.InvalidType, "not NoneType"),
    ("body list", lambda qm, q: q.put([b"x"]), e.InvalidType, "not list"),
    ("body no text", lambda qm, q: q.put("\ud800"), e.InvalidOption, "not valid Unicode"),
    ("body long", lambda qm, q: q.put(bytes(4 * 1024 * 1024 + 1)), e.MessageTooLong, "queue Q"),
    ("body very long", lambda qm, q: q.put(bytes(110_000_000)), e.MessageTooLong, "109051904"),
    ("message", lambda qm, q: adapter.Message(WRONG), e.InvalidType, "not object"),
    ("message priority", lambda qm, q: q.put(adapter.Message(b"", priority=11)),
     e.InvalidPriority, "not 11"),
    ("timeout negative", lambda qm, q: q.get(timeout=-0.1), e.InvalidTimeout, "timeout"),
    ("timeout delta", lambda qm, q: q.get(timeout=timedelta(seconds=-1)), e.InvalidTimeout, ""),
    ("timeout too long", lambda qm, q: q.get(timeout=3e6), e.InvalidTimeout, "None waits without"),
    ("timeout for ever", lambda qm, q: q.get(timeout=float("inf")), e.InvalidTimeout, "inf"),
    ("timeout no number", lambda qm, q: q.get(timeout=float("nan")), e.InvalidTimeout, "nan"),
    ("timeout of many digits", lambda qm, q: q.get(timeout=10**400), e.InvalidTimeout, "timeout"),
    ("timeout text", lambda qm, q: q.get(timeout="1"), e.InvalidType, "timeout"),
    ("timeout bool", lambda qm, q: q.get(timeout=True), e.InvalidType, "timeout"),
    ("get message id", lambda qm, q: q.get(message_id=bytes(25)), e.InvalidIdentifier,
     "message_id"),
    ("get correlation id", lambda qm, q: q.get(correlation_id=1.5), e.InvalidType, "correlation"),
    ("get group id", lambda qm, q: q.get(group_id="x" * 25), e.InvalidIdentifier, "group_id"),
    ("logical order", lambda qm, q: q.get(logical_order=2), e.InvalidType, "logical_order"),
    ("all messages", lambda qm, q: q.get(all_messages=None), e.InvalidType, "all_messages"),
    ("if persistent", lambda qm, q: q.get(if_persistent="no"), e.InvalidType, "if_persistent"),
    ("take id", lambda qm, q: q.take((0, 1, 0), 5), e.InvalidType, "message_id is bytes"),
    ("take id long", lambda qm, q: q.take((0, 1, 0), b"x" * 25), e.InvalidIdentifier, "24 bytes"),
    ("take place", lambda qm, q: q.take((1, 2), b"x" * 24), e.InvalidType, "three ints"),
    ("take no place", lambda qm, q: q.take(None, b"x" * 24), e.InvalidType, "three ints"),
    ("take place text", lambda qm, q: q.take((0, "1", 0), b"x"), e.InvalidType, "seq of the"),
    ("take place below", lambda qm, q: q.take((0, -1, 0), b"x"), e.InvalidOption, "seq of the"),
    ("get unit", lambda qm, q: q.get(unit=1), e.InvalidType, "unit"),
    ("one get timeout", lambda qm, q: qm.get("Q", timeout=-1), e.InvalidTimeout, "timeout"),
    ("one get id", lambda qm, q: qm.get("Q", message_id="x" * 25), e.InvalidIdentifier,
     "message_id"),
    ("one get name", lambda qm, q: qm.get(None), e.InvalidType, "queue name"),
    ("one put name", lambda qm, q: qm.put(b"Q", b""), e.InvalidType, "queue name"),
    ("one put unknown", lambda qm, q: qm.put("NONE", b""), e.QueueNotFound, "NONE"),
    ("one get unknown", lambda qm, q: qm.get("NONE"), e.QueueNotFound, "NONE"),
    ("queue name", lambda qm, q: qm.queue(7), e.InvalidType, "queue name"),
    ("queue name empty", lambda qm, q: qm.queue(""), e.InvalidName, "at least one"),
    ("queue name no text", lambda qm, q: qm.put("\ud800", b""), e.InvalidValue, "cannot be sent"),
    ("open for a list", lambda qm, q: qm.queue("Q", open_for=[]), e.InvalidType, "open_for"),
    ("open for", lambda qm, q: qm.queue("Q", open_for="put"), e.InvalidOption, "'put'"),
    ("open unknown", lambda qm, q: qm.queue("NONE", open_for="input"), e.QueueNotFound, "NONE"),
    ("put unknown", lambda qm, q: qm.queue("NONE").put(b""), e.QueueNotFound, "NONE"),
    ("depth unknown", lambda qm, q: qm.queue("NONE").depth(), e.QueueNotFound, "NONE"),
    ("inquire unknown", lambda qm, q: qm.queue("NONE").inquire(), e.QueueNotFound, "NONE"),
    ("purge unknown", lambda qm, q: qm.queue("NONE").purge(), e.QueueNotFound, "NONE"),
    ("browse unknown", lambda qm, q: next(qm.queue("NONE").browse()), e.QueueNotFound, "NONE"),
    ("browse id", lambda qm, q: q.browse(message_id=bytes(25)), e.InvalidIdentifier, "message_id"),
    ("unit size", lambda qm, q: q.put_many([], unit_size=0), e.InvalidOption, "unit_size"),
    ("unit size big", lambda qm, q: q.put_many([], unit_size=10_001), e.InvalidOption, "10000"),
    ("put logical order", lambda qm, q: q.put(b"", logical_order=1), e.InvalidType,
     "logical_order is True or False"),
    ("put wait", lambda qm, q: q.put(b"", wait=0), e.InvalidType, "wait is True or False"),
    ("put many nothing", lambda qm, q: q.put_many(5), e.InvalidType, "messages are several"),
    ("put many body", lambda qm, q: q.put_many([b"a", 1]), e.InvalidType, "not int"),
    ("units size", lambda qm, q: q.units(size=0), e.InvalidOption, "size"),
    ("units timeout", lambda qm, q: q.units(timeout=-1), e.InvalidTimeout, "timeout"),
    ("units delay", lambda qm, q: q.units(retry_delay_s=-1), e.InvalidTimeout, "retry_delay_s"),
    ("units delay none", lambda qm, q: q.units(retry_delay_s=None), e.InvalidType, "retry_delay"),
    ("define name", lambda qm, q: qm.define_queue(None), e.InvalidType, "queue name"),
    ("define bad name", lambda qm, q: qm.define_queue("NO SPACE"), e.InvalidName, "NO SPACE"),
    ("define long name", lambda qm, q: qm.define_queue("X" * 49), e.InvalidName, "48"),
    ("define again", lambda qm, q: qm.define_queue("Q"), e.QueueExists, "queue Q already exists"),
    ("define unknown", lambda qm, q: qm.define_queue("R", depth=1), e.InvalidAttribute, "'depth'"),
    ("define bounds", lambda qm, q: qm.define_queue("R", max_depth=-1), e.InvalidAttribute,
     "max_depth"),
    ("define huge", lambda qm, q: qm.define_queue("R", max_depth=2**40), e.InvalidAttribute,
     "32 bits"),
    ("define bool", lambda qm, q: qm.define_queue("R", inhibit_get=1), e.InvalidAttribute,
     "inhibit_get takes bool"),
    ("define choice", lambda qm, q: qm.define_queue("R", msg_delivery_sequence="LIFO"),
     e.InvalidAttribute, "PRIORITY, FIFO"),
    ("define object", lambda qm, q: qm.define_queue("R", description=object()),
     e.InvalidAttribute, "description"),
    ("define replace", lambda qm, q: qm.define_queue("R", replace="yes"), e.InvalidType, "replace"),
    ("alter unknown", lambda qm, q: qm.alter_queue("NONE", max_depth=1), e.QueueNotFound, "NONE"),
    ("alter attribute", lambda qm, q: qm.alter_queue("Q", nothing=1), e.InvalidAttribute,
     "'nothing'"),
    ("delete unknown", lambda qm, q: qm.delete_queue("NONE"), e.QueueNotFound, "NONE"),
    ("delete purge", lambda qm, q: qm.delete_queue("Q", purge=1), e.InvalidType, "purge"),
    ("delete open", lambda qm, q: qm.delete_queue("Q"), e.QueueInUse, "queue Q"),
    ("set", lambda qm, q: q.set(max_depth=1), e.InvalidAttribute, "alter the queue"),
    ("pattern", lambda qm, q: qm.queues(1), e.InvalidType, "pattern"),
    ("status pattern", lambda qm, q: qm.queue_status(None), e.InvalidType, "pattern"),
    ("outcome", lambda qm, q: qm.outcome(b"short"), e.InvalidIdentifier, "unit_id"),
    ("outcome zero", lambda qm, q: qm.outcome(bytes(24)), e.InvalidIdentifier, "unit_id"),
    ("outcome type", lambda qm, q: qm.outcome("x"), e.InvalidType, "unit_id"),
    ("authority users", lambda qm, q: qm.set_authority("Q", users=5), e.InvalidType,
     "users are several"),
    ("authority words", lambda qm, q: qm.set_authority("Q", users="u", add=None), e.InvalidType,
     "add are several"),
    ("authority type", lambda qm, q: qm.set_authority("Q", [], users="u"), e.InvalidType,
     "object_type is a str"),
    ("role", lambda qm, q: qm.set_role([], users="u"), e.InvalidType, "role is a str"),
    ("revoke", lambda qm, q: qm.set_role("app-put", "Q", revoke="no"), e.InvalidType, "revoke"),
    ("groups", lambda qm, q: qm.explain_authority("u", "Q", groups=5), e.InvalidType, "groups are"),
    ("rule users", lambda qm, q: qm.set_channel_rule("C", users=5), e.InvalidType, "users are"),
    ("rule warn", lambda qm, q: qm.set_channel_rule("C", warn=1), e.InvalidType, "warn is True"),
    ("backoff", lambda qm, q: adapter.Retry(backoff=10**400), e.InvalidTimeout, "backoff"),
    ("reply", lambda qm, q: qm.reply(adapter.Message(b"", message_id=ABC), b""),
     e.InvalidOption, "'abc' names no queue"),
    ("disconnect", lambda qm, q: qm.disconnect("now"), e.InvalidType, "abrupt"),
    ("address", lambda qm, q: adapter.connect("nowhere:x"), e.InvalidValue, "nowhere:x"),
    ("address type", lambda qm, q: adapter.connect(WRONG), e.InvalidType, "address"),
    ("queue manager", lambda qm, q: adapter.connect(queue_manager=WRONG), e.InvalidType,
     "queue_manager"),
    ("application", lambda qm, q: adapter.connect(application=WRONG), e.InvalidType,
     "application"),
    ("application long", lambda qm, q: adapter.connect(application="x" * 65), e.InvalidOption,
     "at most 64"),
    ("application no text", lambda qm, q: adapter.connect(application="\ud800"), e.InvalidOption,
     "application is not valid Unicode"),
    ("password no text", lambda qm, q: adapter.connect(password="\ud800"), e.InvalidOption,
     "password is not valid Unicode"),
    ("heartbeat", lambda qm, q: adapter.connect(heartbeat_s=10**400), e.InvalidTimeout,
     "heartbeat_s"),
    ("address with a NUL", lambda qm, q: adapter.connect("unix:/a\0b"), e.InvalidValue, "NUL"),
    ("connect timeout", lambda qm, q: adapter.connect(connect_timeout_s=WRONG), e.InvalidType,
     "connect_timeout_s"),
    ("reconnect timeout", lambda qm, q: adapter.connect(reconnect_timeout_s=-1),
     e.InvalidTimeout, "reconnect_timeout_s"),
]  # fmt: skip


def ids(cases: list[Any]) -> list[str]:
    return [case[0] for case in cases]


def refused(
    qm: adapter.Connection, queue: adapter.Queue, call: Callable[[], object],
    error: type[adapter.Error], says: str,
) -> None:  # fmt: skip
    with pytest.raises(adapter.Error) as caught:
        call()
    assert type(caught.value) is error
    assert says in caught.value.text
    assert queue.put(b"and on it goes").message_id
    assert qm.statistics()["connections_lost"] == 0


@pytest.fixture
def queue(qm: adapter.Connection) -> adapter.Queue:
    return qm.queue("Q", open_for="output")


@pytest.mark.parametrize(("fields", "error", "says"), [p[1:] for p in PUTS], ids=ids(PUTS))
def test_of_put(
    qm: adapter.Connection, queue: adapter.Queue, fields: dict[str, Any],
    error: type[adapter.Error], says: str,
) -> None:  # fmt: skip
    refused(qm, queue, lambda: queue.put(b"", **fields), error, says)
    refused(qm, queue, lambda: qm.put("Q", b"", **fields), error, says)


@pytest.mark.parametrize(("call", "error", "says"), [p[1:] for p in CALLS], ids=ids(CALLS))
def test_of_everything_else(
    qm: adapter.Connection, queue: adapter.Queue, call: Call, error: type[adapter.Error], says: str
) -> None:
    refused(qm, queue, lambda: call(qm, queue), error, says)


def test_a_closed_queue(qm: adapter.Connection, queue: adapter.Queue) -> None:
    closed = qm.queue("Q")
    closed.put(b"x")
    closed.close()
    closed.close()
    calls: list[Callable[[], object]] = [
        lambda: closed.put(b""), closed.get, closed.browse, closed.depth, closed.inquire,
        closed.status, closed.purge, closed.units, lambda: closed.set(inhibit_get=True),
        lambda: closed.put_many([b"x"]),
    ]  # fmt: skip
    for call in calls:
        refused(qm, queue, call, e.NotOpen, "queue Q is closed")


def test_a_closed_connection(qm: adapter.Connection, queue: adapter.Queue) -> None:
    message = next(iter(qm.queue("Q").browse()), None)
    assert message is None
    unit = qm.unit()
    unit.begin()
    queue.put(b"x", unit=unit)
    qm.close()
    qm.close()
    calls: list[Callable[[], object]] = [
        lambda: queue.put(b""), queue.get, queue.depth, lambda: list(queue.browse()),
        lambda: qm.put("Q", b""), lambda: qm.get("Q"), lambda: qm.define_queue("R"), qm.queues,
        lambda: qm.outcome(b"x" * 24), unit.commit, lambda: qm.queue("Q", open_for="input"),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(e.ConnectionClosed, match="connect again"):
            call()


def test_a_unit_of_another_connection(
    qm: adapter.Connection, queue: adapter.Queue, connect: Callable[..., adapter.Connection]
) -> None:
    with connect().unit() as other:
        refused(qm, queue, lambda: queue.put(b"", unit=other), e.InvalidOption, "another conn")
        refused(qm, queue, lambda: queue.get(unit=other), e.InvalidOption, "another connection")


def test_a_unit_that_has_ended_or_not_begun(qm: adapter.Connection, queue: adapter.Queue) -> None:
    new, committed, backed_out = qm.unit(), qm.unit(), qm.unit()
    with committed:
        queue.put(b"")
    with backed_out:
        queue.put(b"")
        backed_out.backout()
    for unit, says in ((new, "has not begun"), (committed, "has been committed"),
                       (backed_out, "has been backed out")):  # fmt: skip
        for call in (
            lambda u=unit: queue.put(b"", unit=u), lambda u=unit: queue.get(unit=u), unit.commit,
            unit.backout,
        ):  # fmt: skip
            refused(qm, queue, call, e.UnitEnded, says)
    refused(qm, queue, committed.begin, e.UnitEnded, "has been committed")


def test_units_do_not_nest(qm: adapter.Connection, queue: adapter.Queue) -> None:
    with qm.unit() as outer:
        queue.put(b"kept")
        with pytest.raises(e.UnitInProgress, match="do not nest"), qm.unit():
            pass
        with pytest.raises(e.UnitInProgress, match="do not nest"), outer:
            pass
        outer.begin()
        with pytest.raises(e.UnitInProgress, match="has begun already"):
            outer.begin()
    assert queue.depth() == 1


TIMES_MS = (*range(1, 20_000), *range(99_000, 100_000), *range(86_399_000, 86_401_000))


@pytest.mark.parametrize("given", ["float", "timedelta", "sum"])
def test_a_time_in_whole_milliseconds_is_just_that(given: str) -> None:
    """As a float has no 2.007, it is the nearest one; what is between takes the longer time."""
    for ms in TIMES_MS:
        value: Any = timedelta(milliseconds=ms)
        if given == "float":
            value = ms / 1000
        elif given == "sum":
            value = (ms - 1) / 1000 + 0.001
        assert a.as_wait_ms(value) == a.as_delay_ms(value) == a.as_expiry_ms(value) == ms
        end = a.EPOCH + timedelta(milliseconds=ms)
        assert a.as_time_ms(end) == ms
        assert a.as_time_ms(end + timedelta(microseconds=1)) == ms + 1


@pytest.mark.parametrize(
    ("seconds", "ms"),
    [(0, 0), (1e-9, 1), (1e-6, 1), (0.0011, 2), (2.0070001, 2007), (2.00701, 2008)],
)
def test_a_time_between_two_milliseconds_is_the_longer_one(seconds: float, ms: int) -> None:
    assert a.as_wait_ms(seconds) == a.as_delay_ms(seconds) == ms
