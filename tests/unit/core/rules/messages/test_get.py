"""Get: which message it is given, selection, expiry, batches and waits."""

from typing import Any

import pytest

from adapter.connection.wire import codec, frames
from adapter.core.contract import commands as c
from adapter.core.contract.limits import Limits
from adapter.core.contract.message import NO_ID, MessageData
from adapter.core.contract.reasons import Reason
from adapter.core.contract.records import MessagesDiscarded
from adapter.core.contract.results import Messages, Refused
from adapter.core.model.report import CONFIRM_ON_DELIVERY
from adapter.core.rules.messages import unit as unit_rules
from adapter.core.rules.primitives.selection import BYTES_MAX
from adapter.storage.format import entries
from tests.support.core import Client, client_on


def second(client: Client) -> Client:
    """Another client of the same queue."""
    other = client.core.connect()
    other.open()
    return other


def bodies(client: Client, request: int) -> list[str] | None:
    """What a get was answered with; None while it waits."""
    answer = client.answer(request)
    if answer is None:
        return None
    assert isinstance(answer, Messages), answer
    return [each.message.body.decode() for each in answer.messages]


def options(name: str, value: object) -> dict[str, Any]:
    """One argument by name."""
    return {name: value}


def test_priority_comes_before_age() -> None:
    client = client_on()
    for body, priority in (("a0", 0), ("b9", 9), ("c0", 0), ("d9", 9), ("e5", 5)):
        client.put(body, priority=priority)
    assert [client.get() for _ in range(6)] == [["b9"], ["d9"], ["e5"], ["a0"], ["c0"], []]


def test_a_fifo_queue_knows_no_priority() -> None:
    client = client_on(msg_delivery_sequence="FIFO")
    for body, priority in (("a0", 0), ("b9", 9), ("c0", 0)):
        client.put(body, priority=priority)
    (first,) = client.take()
    (then,) = client.take()
    assert [first.message.body, then.message.body, *client.get()] == [b"a0", b"b9", "c0"]
    assert then.message.priority == 9, "it keeps its own priority"
    assert then.lane == 0, "and lies in the lane of the queue's"


def test_persistent_and_other_messages_are_in_one_order() -> None:
    client = client_on()
    for body, persistence in (("a", 1), ("b", 0), ("c", 0), ("d", 1), ("e", 0)):
        client.put(body, persistence=persistence)
    assert [client.get() for _ in range(5)] == [["a"], ["b"], ["c"], ["d"], ["e"]]


@pytest.mark.parametrize("field", ["message_id", "correlation_id", "group_id"])
def test_ids_select(field: str) -> None:
    client = client_on()
    other, wanted, none = (options(field, letter * 24) for letter in (b"o", b"w", b"n"))
    client.put("other", **other)
    client.put("wanted", **wanted, priority=0)
    client.put("wanted first", **wanted, priority=5)
    assert client.get(**none) == []
    assert client.get(**wanted) == ["wanted first"]
    assert client.get(**wanted) == ["wanted"]
    assert client.get(**wanted) == []
    assert client.get() == ["other"]


def test_all_ids_given_must_fit() -> None:
    client = client_on()
    client.put("half", correlation_id=b"c" * 24)
    client.put("whole", correlation_id=b"c" * 24, group_id=b"g" * 24)
    assert client.get(correlation_id=b"c" * 24, group_id=b"g" * 24) == ["whole"]
    assert client.get(correlation_id=b"c" * 24, group_id=b"g" * 24) == []


def test_an_index_keeps_up_with_what_comes_and_goes() -> None:
    client = client_on()
    assert client.get(correlation_id=b"c" * 24) == []
    client.put("a", correlation_id=b"c" * 24)
    unit = client.begin()
    assert client.get(unit, correlation_id=b"c" * 24) == ["a"]
    assert client.get(correlation_id=b"c" * 24) == []
    client.do(c.Backout(unit))
    assert client.get(correlation_id=b"c" * 24) == ["a"]
    assert client.get(correlation_id=NO_ID) == []


def test_a_get_by_place_takes_that_message_and_no_other() -> None:
    client = client_on()
    client.put("a")
    client.put("b")
    answer = client.do(c.Browse(1, limit=2))
    assert isinstance(answer, Messages)
    b = answer.messages[1]
    place = (b.lane, b.seq, b.n)
    assert client.get(place=place) == ["b"]
    assert client.get(place=place) == []
    unit = client.begin()
    assert client.get(unit, place=(0, 1, 0)) == ["a"]
    assert client.get(place=(0, 1, 0)) == [], "a unit holds it"


def test_a_get_by_place_and_id_takes_no_other_message() -> None:
    client = client_on()
    ident, other = client.put("a")[0], client.put("b")[0]
    assert client.get(place=(0, 1, 0), message_id=other) == []
    assert client.get(place=(0, 1, 0), message_id=ident) == ["a"]


def test_an_expired_message_is_discarded_when_it_is_met() -> None:
    client = client_on()
    client.put("short", expiry_ms=1000)
    client.put("long", expiry_ms=5000)
    client.core.now_ms += 1000
    assert client.core.queue().depth == 2
    assert client.get() == ["long"]
    assert client.core.queue().depth == 0
    assert client.core.replayed().queues["Q"].depth == 0


def test_a_message_expires_at_its_time_and_not_before() -> None:
    client = client_on()
    client.put("a", expiry_ms=1000)
    client.core.now_ms += 999
    assert client.get() == ["a"]


def test_a_batch_in_a_unit() -> None:
    client = client_on()
    for body in "abcde":
        client.put(body)
    unit = client.begin()
    assert client.get(unit, limit=3) == ["a", "b", "c"]
    assert client.get(unit, limit=10) == ["d", "e"]
    client.do(c.Backout(unit))
    assert client.get() == ["a"]


def test_a_batch_takes_no_more_than_the_unit_has_room_for() -> None:
    client = client_on(limits=Limits(unit_messages=3))
    for body in "abcde":
        client.put(body)
    unit = client.begin()
    client.put("x", unit=unit)
    assert client.get(unit, limit=10) == ["a", "b"]
    assert client.refused(c.Get(1, unit, limit=10)) is Reason.UNIT_TOO_LARGE
    client.do(c.Commit(unit))
    assert client.core.queue().depth == 4


def test_a_wait_takes_no_more_than_the_unit_has_room_for() -> None:
    client = client_on(limits=Limits(unit_messages=2))
    unit = client.begin()
    waits = [client.send(c.Get(1, unit, -1, 2)) for _ in range(2)]
    other = second(client)
    bulk = other.begin()
    other.put("a", "b", unit=bulk)
    other.do(c.Commit(bulk))
    other.put("c")
    assert [bodies(client, each) for each in waits] == [["a", "b"], None]
    assert client.core.queue().depth == 1


def test_a_batch_of_messages_with_properties_still_is_one_frame() -> None:
    client = client_on()
    large = {"p": "x" * (BYTES_MAX // 16)}
    for _ in range(40):
        client.put("", properties=large)
    unit = client.begin()
    answer = client.do(c.Get(1, unit, limit=10_000))
    assert isinstance(answer, Messages)
    assert 1 <= len(answer.messages) < 40
    frame = codec.encode(frames.Replies([frames.Answer(1, answer)]))
    assert len(frame) <= BYTES_MAX + codec.LENGTH_BYTES


def test_the_largest_message_comes_although_it_passes_the_bound_of_a_batch() -> None:
    client = client_on(limits=Limits(unit_bytes=10 * 1024 * 1024), max_message_length=10**8)
    client.put("x" * (BYTES_MAX + 1))
    client.put("b")
    unit = client.begin()
    assert len(client.get(unit, limit=10)) == 1
    assert client.get(unit, limit=10) == ["b"]


def returned(client: Client, *ids: bytes) -> None:
    """Back these messages out once."""
    unit = client.begin()
    for message_id in ids:
        client.get(unit, message_id=message_id)
    client.do(c.Backout(unit))


def test_a_message_that_came_back_comes_alone() -> None:
    client = client_on()
    ids = [client.put(body)[0] for body in "abcd"]
    returned(client, ids[1])
    unit = client.begin()
    assert client.get(unit, limit=10, alone=True) == ["a"]
    assert client.get(unit, limit=10, alone=True) == [], "b waits for a unit of its own"
    other = client.begin()
    assert client.get(other, limit=10, alone=True) == ["b"]
    assert client.get(other, limit=10, alone=True) == [], "and nothing comes beside it"
    third = client.begin()
    assert client.get(third, limit=10, alone=True) == ["c", "d"]


def test_who_does_not_ask_for_it_gets_it_in_the_batch() -> None:
    client = client_on()
    ids = [client.put(body)[0] for body in "abc"]
    returned(client, ids[1])
    assert client.get(client.begin(), limit=10) == ["a", "b", "c"]


def test_waits_are_served_in_their_order() -> None:
    client = client_on()
    waits = [client.send(c.Get(1, wait_ms=-1)) for _ in range(3)]
    other = second(client)
    for body in "abc":
        other.put(body)
    assert [bodies(client, each) for each in waits] == [["a"], ["b"], ["c"]]


def test_a_wait_for_something_else_lets_others_pass() -> None:
    client = client_on()
    picky = client.send(c.Get(1, wait_ms=-1, correlation_id=b"c" * 24))
    plain = client.send(c.Get(1, wait_ms=-1))
    other = second(client)
    other.put("a")
    assert bodies(client, picky) is None
    assert bodies(client, plain) == ["a"]
    other.put("b", correlation_id=b"c" * 24)
    assert bodies(client, picky) == ["b"]


def test_one_commit_serves_several_waits() -> None:
    client = client_on()
    waits = [client.send(c.Get(1, wait_ms=-1)) for _ in range(3)]
    other = second(client)
    unit = other.begin()
    other.put("a", "b", unit=unit)
    assert [bodies(client, each) for each in waits] == [None, None, None]
    other.do(c.Commit(unit))
    assert [bodies(client, each) for each in waits] == [["a"], ["b"], None]


def test_a_backout_serves_a_wait() -> None:
    client = client_on()
    client.put("a")
    unit = client.begin()
    client.get(unit)
    other = second(client)
    waiting = other.send(c.Get(1, wait_ms=-1))
    client.do(c.Backout(unit))
    assert bodies(other, waiting) == ["a"]


def test_what_has_expired_serves_no_wait() -> None:
    client = client_on()
    client.put("old", expiry_ms=10)
    unit = client.begin()
    client.get(unit)
    other = second(client)
    waiting = other.send(c.Get(1, wait_ms=-1))
    client.core.now_ms += 10
    client.do(c.Backout(unit))
    assert bodies(other, waiting) is None
    assert client.core.queue().depth == 0


def test_a_wait_ends_in_time() -> None:
    client = client_on()
    waiting = client.send(c.Get(1, wait_ms=1000))
    client.core.advance(0.999)
    assert bodies(client, waiting) is None
    client.core.advance(0.001)
    assert bodies(client, waiting) == []
    second(client).put("late")
    assert client.core.queue().depth == 1


def test_a_wait_in_a_unit_holds_the_message() -> None:
    client = client_on()
    unit = client.begin()
    waiting = client.send(c.Get(1, unit, wait_ms=-1))
    second(client).put("a")
    assert bodies(client, waiting) == ["a"]
    client.do(c.Backout(unit))
    assert client.core.queue().depth == 1


@pytest.mark.parametrize("end", [c.Commit, c.Backout])
def test_a_wait_ends_with_its_unit(end: type[c.Commit] | type[c.Backout]) -> None:
    """Otherwise the next put of anybody would meet a unit that is not there."""
    client = client_on()
    unit = client.begin()
    waiting = client.send(c.Get(1, unit, wait_ms=-1))
    elsewhere = client.send(c.Get(1, wait_ms=-1))
    client.do(end(unit))
    assert bodies(client, waiting) == []
    assert bodies(client, elsewhere) is None
    second(client).put("a")
    assert bodies(client, elsewhere) == ["a"]


def test_a_wait_ends_with_its_handle() -> None:
    client = client_on()
    client.open(handle=2)
    waiting = client.send(c.Get(1, wait_ms=-1))
    other = client.send(c.Get(2, wait_ms=-1))
    client.do(c.Close(1))
    assert bodies(client, waiting) == []
    assert bodies(client, other) is None


def test_a_wait_ends_with_its_connection() -> None:
    client = client_on()
    waiting = client.send(c.Get(1, wait_ms=-1))
    other = second(client)
    client.lose()
    other.put("a")
    assert client.answer(waiting) is None
    assert client.core.queue().depth == 1


def test_a_wait_ends_when_gets_are_inhibited() -> None:
    client = client_on()
    waiting = client.send(c.Get(1, wait_ms=-1))
    second(client).do(c.AlterQueue("Q", {"inhibit_get": True}))
    answer = client.answer(waiting)
    assert isinstance(answer, Refused)
    assert answer.reason == Reason.GET_INHIBITED


def test_a_request_that_waits_cannot_be_asked_twice() -> None:
    """Two waits under one number would leave one behind when the connection ends."""
    client = client_on()
    unit = client.begin()
    first = c.Request(client.number, 77, 0, c.Get(1, unit, wait_ms=-1))
    client.core.execute(first)
    client.core.execute(first)
    answer = client.core.answers[client.number, 77]
    assert isinstance(answer, Refused)
    assert answer.reason == Reason.OUT_OF_ORDER
    client.lose()
    assert not client.core.qm.waiters.count(client.core.queue())


def test_served_waits_leave_nothing_behind() -> None:
    client = client_on()
    other = second(client)
    for number in range(1100):
        waiting = client.send(c.Get(1, wait_ms=2**31 - 1))
        other.put(str(number))
        assert bodies(client, waiting) == [str(number)]
        client.seen(client.issued)
        other.seen(other.issued)
    assert len(client.core.qm.due.deadlines) <= 1024


def test_the_number_of_waits_is_bounded() -> None:
    client = client_on(limits=Limits(waiters_per_queue=3, waiters_per_connection=2))
    client.send(c.Get(1, wait_ms=-1))
    client.send(c.Get(1, wait_ms=-1))
    assert client.refused(c.Get(1, wait_ms=-1)) is Reason.LIMIT_REACHED
    other = second(client)
    other.send(c.Get(1, wait_ms=-1))
    assert other.refused(c.Get(1, wait_ms=-1)) is Reason.LIMIT_REACHED


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (c.Get(9), Reason.HANDLE_NOT_OPEN),
        (c.Get(2), Reason.NOT_OPEN_FOR_INPUT),
        (c.Get(1, limit=2), Reason.OPTIONS_ERROR),
        (c.Get(1, limit=0), Reason.OPTIONS_ERROR),
        (c.Get(1, limit=10_001), Reason.OPTIONS_ERROR),
        (c.Get(1, wait_ms=-2), Reason.WAIT_INTERVAL_ERROR),
        (c.Get(1, wait_ms=2**31), Reason.WAIT_INTERVAL_ERROR),
        (c.Get(1, message_id=b"short"), Reason.IDENTIFIER_ERROR),
        (c.Get(1, b"no unit"), Reason.BACKED_OUT),
    ],
)
def test_what_is_refused(command: c.Get, reason: Reason) -> None:
    client = client_on()
    client.open(modes=c.OUTPUT, handle=2)
    client.put("a")
    assert client.refused(command) is reason
    assert client.core.queue().depth == 1


def test_an_inhibited_queue_gives_nothing() -> None:
    client = client_on()
    client.put("a")
    client.do(c.AlterQueue("Q", {"inhibit_get": True}))
    assert client.refused(c.Get(1)) is Reason.GET_INHIBITED
    client.do(c.AlterQueue("Q", {"inhibit_get": False}))
    assert client.get() == ["a"]


def test_many_expired_messages_are_recorded_in_bounded_records(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A record over what the ledger takes would be the end of the owner."""
    monkeypatch.setattr(unit_rules, "DISCARDED_PER_RECORD", 20)
    client = client_on()
    unit = client.begin()
    client.do(c.Put(1, [MessageData(expiry_ms=1) for _ in range(30)], unit))
    client.do(c.Commit(unit))
    client.core.now_ms += 1
    assert client.get() == []
    assert client.core.queue().depth == 0
    records = entries.decode(client.core.entries[-1])
    sizes = [len(record.places) for record in records if isinstance(record, MessagesDiscarded)]
    assert sizes == [20, 10]


def test_in_a_unit_only_if_it_is_persistent() -> None:
    client = client_on()
    client.put("soft", persistence=0)
    client.put("hard", persistence=1)
    unit = client.begin()
    gets = [client.get(unit, options=c.IF_PERSISTENT) for _ in range(3)]
    assert gets == [["soft"], ["hard"], []]
    client.do(c.Backout(unit))
    assert client.get() == ["hard"], "the other one is gone for good"
    assert client.get() == []


def test_what_is_got_if_persistent_needs_a_unit_and_has_its_bounds() -> None:
    client = client_on(limits=Limits(unit_messages=1))
    assert client.refused(c.Get(1, options=c.IF_PERSISTENT)) is Reason.OPTIONS_ERROR
    for body, persistence in (("1", 0), ("2", 0), ("3", 1)):
        client.put(body, persistence=persistence)
    unit = client.begin()
    gets = [client.get(unit, options=c.IF_PERSISTENT) for _ in range(3)]
    assert gets == [["1"], ["2"], ["3"]], "what is not persistent takes no room in the unit"


def test_a_wait_in_a_unit_is_served_with_what_is_not_persistent_for_good() -> None:
    client = client_on()
    unit = client.begin()
    waiting = client.send(c.Get(1, unit, -1, options=c.IF_PERSISTENT))
    client.put("soft", persistence=0)
    assert bodies(client, waiting) == ["soft"]
    client.do(c.Backout(unit))
    assert client.get() == []


def test_a_group_in_logical_order_goes_on_whatever_its_persistence() -> None:
    client = client_on()
    for persistence in (0, 1):
        for body, last in (("1", False), ("2", True)):
            group = b"%d" % persistence * 24
            client.put(
                body,
                persistence=persistence,
                group_id=group,
                group_seq=int(body),
                last_in_group=last,
            )
    unit = client.begin()
    asked = c.IF_PERSISTENT | c.LOGICAL_ORDER
    assert [client.get(unit, options=asked) for _ in range(4)] == [["1"], ["2"], ["1"], ["2"]]
    client.do(c.Backout(unit))
    assert [client.get(options=c.LOGICAL_ORDER) for _ in range(3)] == [["1"], ["2"], []]


def test_delivery_of_what_is_got_for_good_is_confirmed_at_once() -> None:
    client = client_on("Q", "REPLIES")
    client.put("soft", persistence=0, report=CONFIRM_ON_DELIVERY, reply_to="REPLIES")
    unit = client.begin()
    assert client.get(unit, options=c.IF_PERSISTENT) == ["soft"]
    (report,) = client.take(handle=2)
    assert report.message.feedback == 260
