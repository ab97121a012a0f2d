"""Put: what is admitted, what is filled in, and what is refused without a trace."""

import math
from typing import Any

import pytest

from adapter.core.contract import commands as c
from adapter.core.contract import records as r
from adapter.core.contract.limits import Limits
from adapter.core.contract.message import NO_ID, PROPERTIES_MAX, MessageData
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import PutDone, put_done
from adapter.core.rules.messages.put import EXPIRY_MAX_MS
from adapter.storage.format import entries
from tests.support.core import START_MS, Core, client_on


def test_what_the_put_leaves_open_is_filled_in() -> None:
    client = client_on(def_priority=4)
    answer = client.do(c.Put(1, [MessageData(body=b"a", put_time_ms=1, expires_at_ms=1)]))
    assert isinstance(answer, PutDone)
    (got,) = client.take()
    message = got.message
    assert answer == put_done([message.message_id], message)
    assert (answer.put_time_ms, answer.priority, answer.persistence) == (START_MS, 4, 1)
    assert len(message.message_id) == 24
    assert message.message_id != NO_ID
    assert (message.priority, message.persistence, got.lane) == (4, 1, 4)
    assert (message.correlation_id, message.group_id) == (NO_ID, NO_ID)
    assert (message.put_time_ms, message.expires_at_ms) == (START_MS, 0), "the client does not say"


def test_what_the_put_says_is_kept() -> None:
    client = client_on(def_priority=4)
    said: dict[str, Any] = {
        "message_id": b"m" * 24,
        "correlation_id": b"c" * 24,
        "group_id": b"g" * 24,
        "group_seq": 7,
        "last_in_group": True,
        "priority": 0,
        "persistence": 0,
        "expiry_ms": 5000,
        "format": "MQSTR",
        "message_type": 1,
        "report": -5,
        "feedback": 70_000,
        "encoding": 273,
        "ccsid": 1208,
        "reply_to": "REPLIES",
        "reply_to_queue_manager": "QM2",
        "user": "me",
        "application": "test",
        "properties": {"n": None, "b": True, "i": -(2**63), "f": 1.5, "s": "ü", "y": b"\0"},
    }
    client.put("a", **said)
    (got,) = client.take()
    assert {name: getattr(got.message, name) for name in said} == said
    assert got.message.expires_at_ms == START_MS + 5000


def test_the_queue_says_whether_messages_are_persistent() -> None:
    client = client_on(def_persistence=False)
    client.put("soft")
    client.put("hard", persistence=1)
    client.core.crash()
    assert client.core.queue().depth == 1


def test_message_ids_differ_also_between_owners() -> None:
    client = client_on()
    ids = {client.put("a")[0] for _ in range(10)}
    client.core.crash()
    back = client.core.connect()
    back.open()
    ids |= {back.put("a")[0] for _ in range(10)}
    assert len(ids) == 20


LONG = "x" * 65
BAD: list[tuple[dict[str, Any], Reason]] = [
    ({"body": b"x" * 101}, Reason.MESSAGE_TOO_LONG),
    ({"priority": 2**31}, Reason.PRIORITY_ERROR),
    ({"priority": -2}, Reason.PRIORITY_ERROR),
    ({"persistence": 2}, Reason.PERSISTENCE_ERROR),
    ({"persistence": -2}, Reason.PERSISTENCE_ERROR),
    ({"expiry_ms": 0}, Reason.EXPIRY_ERROR),
    ({"expiry_ms": -2}, Reason.EXPIRY_ERROR),
    ({"expiry_ms": EXPIRY_MAX_MS + 1}, Reason.EXPIRY_ERROR),
    ({"message_id": b"short"}, Reason.IDENTIFIER_ERROR),
    ({"correlation_id": b"x" * 25}, Reason.IDENTIFIER_ERROR),
    ({"group_id": b"x"}, Reason.IDENTIFIER_ERROR),
    ({"group_seq": 0}, Reason.GROUP_NUMBER_ERROR),
    ({"group_seq": 10**9}, Reason.GROUP_NUMBER_ERROR),
    ({"message_type": 3}, Reason.MESSAGE_TYPE_ERROR),
    ({"message_type": 10**9}, Reason.MESSAGE_TYPE_ERROR),
    ({"format": LONG[:9]}, Reason.OPTIONS_ERROR),
    ({"reply_to": LONG[:49]}, Reason.OPTIONS_ERROR),
    ({"reply_to_queue_manager": LONG[:49]}, Reason.OPTIONS_ERROR),
    ({"user": LONG}, Reason.OPTIONS_ERROR),
    ({"application": LONG}, Reason.OPTIONS_ERROR),
    ({"report": 2**31}, Reason.OPTIONS_ERROR),
    ({"feedback": -(2**31) - 1}, Reason.OPTIONS_ERROR),
    ({"encoding": 2**63}, Reason.OPTIONS_ERROR),
    ({"ccsid": -(2**63)}, Reason.OPTIONS_ERROR),
    ({"properties": {"": 1}}, Reason.PROPERTY_ERROR),
    ({"properties": {"list": [1]}}, Reason.PROPERTY_ERROR),
    ({"properties": {"map": {}}}, Reason.PROPERTY_ERROR),
    ({"properties": {"large": 2**63}}, Reason.PROPERTY_ERROR),
    ({"properties": {str(n): n for n in range(PROPERTIES_MAX + 1)}}, Reason.PROPERTY_ERROR),
]


@pytest.mark.parametrize(("fields", "reason"), BAD)
@pytest.mark.parametrize("in_unit", [False, True])
def test_what_is_refused(fields: dict[str, Any], reason: Reason, in_unit: bool) -> None:
    """Also the good message before it in the same put is not taken."""
    client = client_on(max_message_length=100)
    unit = client.begin() if in_unit else b""
    messages = [MessageData(**fields)]
    if in_unit:
        messages.insert(0, MessageData(body=b"good"))
    assert client.refused(c.Put(1, messages, unit, c.SET_CONTEXT)) is reason
    queue = client.core.queue()
    assert (queue.depth, queue.uncommitted_puts) == (0, 0)


@pytest.mark.parametrize(("fields", "reason"), BAD)
def test_one_message_among_others_that_say_the_same_is_refused(
    fields: dict[str, Any], reason: Reason
) -> None:
    client = client_on(max_message_length=100)
    messages = [MessageData(body=b"%d" % number) for number in range(3)]
    messages.insert(2, MessageData(**fields))
    assert client.refused(c.Put(1, messages, client.begin(), c.SET_CONTEXT)) is reason
    bad = {name: value for name, value in fields.items() if name not in ("body", "message_id")}
    if bad:
        like = [MessageData(body=b"%d" % number, **bad) for number in range(2)]
        assert client.refused(c.Put(1, like, client.begin(), c.SET_CONTEXT)) is reason


def test_what_is_left_open_is_filled_in_for_each_of_many_messages() -> None:
    client = client_on(def_priority=4)
    unit = client.begin()
    kinds: list[dict[str, Any]] = [{}, {}, {"priority": 7}, {"priority": 7}, {"persistence": 0}]
    kinds += [{}, {"expiry_ms": 500}, {"expiry_ms": 500}]
    kinds += [{"priority": 12}, {"priority": 12}, {"properties": {"n": 1}}, {"properties": {}}]
    messages = [MessageData(body=b"%d" % at, **kind) for at, kind in enumerate(kinds)]
    assert isinstance(client.do(c.Put(1, messages, unit)), PutDone)
    client.do(c.Commit(unit))
    found = client.take(client.begin(), limit=len(kinds))
    got = {one.message.body: one.message for one in found}
    assert len(got) == len(kinds)
    for at, kind in enumerate(kinds):
        message, asked = got[b"%d" % at], kind.get("priority", 4)
        assert message.priority == min(asked, 9)
        assert (message.details is not None) == (asked > 9)
        assert message.persistence == kind.get("persistence", 1)
        assert message.expiry_ms == kind.get("expiry_ms", -1)


GOOD: list[dict[str, Any]] = [
    {"body": b"x" * 100},
    {"body": b""},
    {"priority": 9},
    {"expiry_ms": EXPIRY_MAX_MS},
    {"expiry_ms": 1},
    {"group_seq": 999_999_999},
    {"message_type": 65_536},
    {"message_type": 999_999_999},
    {"report": -(2**31), "feedback": 2**31 - 1},
    {"user": LONG[:64], "application": "\U0001f600" * 64},
    {"properties": {str(n): n for n in range(PROPERTIES_MAX)}},
    {"properties": {"f": math.inf, "n": -(2**63), "x" * 1000: "y" * 1000}},
    {"properties": {}},
]


@pytest.mark.parametrize("fields", GOOD)
def test_what_is_taken_at_the_bounds(fields: dict[str, Any]) -> None:
    client = client_on(max_message_length=100)
    assert isinstance(client.do(c.Put(1, [MessageData(**fields)])), PutDone)
    (live,) = client.take(client.begin())
    (stored,) = client.core.replayed().queues["Q"].stored.values()
    assert stored.message == live.message or not fields.get("properties", True)


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (c.Put(9, [MessageData()]), Reason.HANDLE_NOT_OPEN),
        (c.Put(2, [MessageData()]), Reason.NOT_OPEN_FOR_OUTPUT),
        (c.Put(1, []), Reason.OPTIONS_ERROR),
        (c.Put(1, [MessageData(), MessageData()]), Reason.OPTIONS_ERROR),
        (c.Put(1, [MessageData() for _ in range(10_001)], b"u"), Reason.OPTIONS_ERROR),
        (c.Put(1, [MessageData()], b"no unit"), Reason.BACKED_OUT),
    ],
)
def test_puts_that_are_refused(command: c.Put, reason: Reason) -> None:
    client = client_on()
    client.open(modes=c.INPUT, handle=2)
    assert client.refused(command) is reason
    assert client.core.queue().depth == 0


def test_an_inhibited_queue_takes_nothing() -> None:
    client = client_on()
    unit = client.begin()
    client.put("before", unit=unit)
    client.do(c.AlterQueue("Q", {"inhibit_put": True}))
    assert client.refused(c.Put(1, [MessageData()])) is Reason.PUT_INHIBITED
    assert client.refused(c.Put(1, [MessageData()], unit)) is Reason.PUT_INHIBITED
    client.do(c.Commit(unit))
    assert client.get() == ["before"], "what it had taken, it keeps"


def test_a_message_larger_than_a_unit_may_be() -> None:
    client = client_on(limits=Limits(unit_bytes=10_000))
    message = MessageData(body=bytes(9_600))
    assert client.refused(c.Put(1, [message])) is Reason.MESSAGE_TOO_LONG
    assert client.refused(c.Put(1, [message], client.begin())) is Reason.UNIT_TOO_LARGE


def test_a_full_queue_refuses_and_says_so_once_until_it_takes_a_put() -> None:
    client = client_on(max_depth=2)
    unit = client.begin()
    client.put("a", unit=unit)
    assert client.refused(c.Put(1, [MessageData(), MessageData()], unit)) is Reason.QUEUE_FULL
    client.put("b")
    for _ in range(3):
        assert client.refused(c.Put(1, [MessageData()])) is Reason.QUEUE_FULL
    assert client.get() == ["b"]
    client.put("c")
    assert client.refused(c.Put(1, [MessageData()])) is Reason.QUEUE_FULL
    events = [
        record
        for payload in client.core.entries
        for record in entries.decode(payload)
        if isinstance(record, r.EventRaised)
    ]
    assert [(event.kind, event.name) for event in events] == [("queue_full", "Q")] * 3


def full_events(core: Core) -> list[str]:
    records = [record for payload in core.entries for record in entries.decode(payload)]
    return [one.name for one in records if isinstance(one, r.EventRaised)]


@pytest.mark.parametrize("crashes", [False, True], ids=["live", "after a crash"])
@pytest.mark.parametrize("persistence", [0, 1])
def test_a_queue_that_took_a_put_reports_again_that_it_is_full(
    *, persistence: int, crashes: bool
) -> None:
    client = client_on(max_depth=1)
    core = client.core
    full = c.Put(1, [MessageData()])
    client.put("a", persistence=persistence)
    assert client.refused(full) is Reason.QUEUE_FULL
    client.get()
    client.put("b", persistence=persistence)
    if crashes:
        core.crash()
        client = core.connect()
        client.open()
        if not persistence:
            client.put("c", persistence=0)
    for _ in range(2):
        assert client.refused(full) is Reason.QUEUE_FULL
    assert full_events(core) == ["Q", "Q"]


def test_an_uncommitted_put_does_not_end_what_was_reported() -> None:
    """Nobody can get it yet, and a backout takes it away again."""
    client = client_on(max_depth=1)
    client.put("a")
    assert client.refused(c.Put(1, [MessageData()])) is Reason.QUEUE_FULL
    assert client.get() == ["a"]
    unit = client.begin()
    client.put("b", unit=unit)
    assert client.refused(c.Put(1, [MessageData()])) is Reason.QUEUE_FULL
    assert full_events(client.core) == ["Q"]
    client.do(c.Commit(unit))
    assert client.refused(c.Put(1, [MessageData()])) is Reason.QUEUE_FULL
    assert full_events(client.core) == ["Q", "Q"]


def test_a_delayed_message_is_one_that_its_queue_took() -> None:
    core = Core()
    core.configure()
    client = core.connect()
    client.define(max_depth=1)
    client.open()
    client.put("a")
    assert client.refused(c.Put(1, [MessageData()])) is Reason.QUEUE_FULL
    assert client.get() == ["a"]
    client.put("b", delay_ms=60_000)
    core.crash()
    client = core.connect()
    client.open()
    assert client.refused(c.Put(1, [MessageData()])) is Reason.QUEUE_FULL
    assert full_events(core) == ["Q", "Q"]


def test_got_messages_make_room_when_the_unit_gets_them() -> None:
    """Depth is what is stored, and uncommitted puts, less locked gets."""
    client = client_on(max_depth=1)
    client.put("a")
    unit = client.begin()
    client.get(unit)
    client.put("b")
    client.do(c.Commit(unit))
    assert client.get() == ["b"]


@pytest.mark.parametrize(
    ("reply_to", "manager", "resolved"), [("R", "", "QM1"), ("R", "QM9", "QM9"), ("", "", "")]
)
def test_a_reply_comes_to_this_queue_manager_unless_another_is_named(
    reply_to: str, manager: str, resolved: str
) -> None:
    client = client_on()
    client.put("x", reply_to=reply_to, reply_to_queue_manager=manager)
    (got,) = client.take()
    assert got.message.reply_to_queue_manager == resolved


@pytest.mark.parametrize(("asked_ms", "found_ms"), [(-1, 5000), (9000, 5000), (300, 300)])
def test_finding_mq_capexpry_caps_the_expiry_of_what_is_put(asked_ms: int, found_ms: int) -> None:
    client = client_on(expiry_cap=50)
    client.do(c.Put(1, [MessageData(body=b"a", expiry_ms=asked_ms)]))
    (got,) = client.take()
    assert got.message.expiry_ms == found_ms
    assert got.message.expires_at_ms == START_MS + found_ms


def test_finding_mq_the_lowest_capexpry_on_the_way_holds() -> None:
    client = client_on(expiry_cap=50)
    client.do(c.DefineObject("alias", "A", {"target": "Q", "expiry_cap": 20}))
    client.do(c.Open(2, "A", c.OUTPUT))
    client.do(c.Put(2, [MessageData(body=b"a")]))
    (got,) = client.take()
    assert got.message.expires_at_ms == START_MS + 2000


def test_finding_mq_capexpry_caps_publications_too() -> None:
    client = client_on(expiry_cap=50)
    client.do(c.DefineObject("subscription", "S", {"topic_string": "a", "destination": "Q"}))
    client.do(c.OpenTopic(2, "a"))
    client.do(c.Put(2, [MessageData(body=b"a")]))
    (got,) = client.take()
    assert got.message.expires_at_ms == START_MS + 5000
