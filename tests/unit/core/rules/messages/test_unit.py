"""Units: nothing shows before the commit, everything at once with it, and backout undoes."""

import pytest

from adapter.core.contract import commands as c
from adapter.core.contract import records as r
from adapter.core.contract.limits import Limits
from adapter.core.contract.message import MessageData
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Done, PutDone, UnitOutcome
from adapter.storage.format import entries
from tests.support.core import Client, Core, client_on


def outcome(client: Client, unit: bytes) -> str:
    answer = client.do(c.AskOutcome(unit))
    assert isinstance(answer, UnitOutcome)
    return answer.state


def own_unit(client: Client, number: int) -> bytes:
    """The unit that the client's command of this number is by itself."""
    return client.session + (1 << 63 | number).to_bytes(8, "big")


def test_puts_are_invisible_before_the_commit() -> None:
    client = client_on()
    unit = client.begin()
    client.put("a", unit=unit)
    assert client.get() == []
    assert client.get(unit) == [], "not even to the unit itself"
    assert client.core.queue().depth == 1, "but they count"
    assert client.do(c.Commit(unit)) == Done(1)
    assert client.get() == ["a"]


def test_gets_are_final_with_the_commit() -> None:
    client = client_on()
    client.put("a")
    unit = client.begin()
    assert client.get(unit) == ["a"]
    assert client.core.queue().depth == 0
    client.do(c.Commit(unit))
    client.core.crash()
    assert client.core.queue().depth == 0


def test_a_unit_spans_queues_and_is_one_entry() -> None:
    client = client_on("A", "B", "C")
    client.put("from a", handle=1)
    unit = client.begin()
    client.get(unit, handle=1)
    client.put("to b", unit=unit, handle=2)
    client.put("to c", unit=unit, handle=3)
    before = len(client.core.entries)
    client.do(c.Commit(unit))
    (payload,) = client.core.entries[before:]
    (record,) = entries.decode(payload)
    assert isinstance(record, r.UnitCommitted)
    assert [put.queue for put in record.puts] == ["B", "C"]
    assert [taken.queue for taken in record.gets] == ["A"]
    assert record.size == 2


def test_a_unit_of_an_unknown_number_is_not_there() -> None:
    client = client_on()
    unit = client.session + bytes(8)
    for command in (
        c.Commit(unit),
        c.Backout(unit),
        c.Put(1, [MessageData()], unit),
        c.Get(1, unit),
    ):
        assert client.refused(command) is Reason.BACKED_OUT


def test_a_unit_ends_once() -> None:
    client = client_on()
    unit = client.begin()
    client.do(c.Backout(unit))
    assert client.refused(c.Commit(unit)) is Reason.BACKED_OUT


def test_a_backout_returns_messages_to_their_places() -> None:
    client = client_on()
    for body in "abc":
        client.put(body)
    unit = client.begin()
    assert client.get(unit, limit=2) == ["a", "b"]
    client.put("never", unit=unit)
    client.put("d")
    client.do(c.Backout(unit))
    assert [client.get() for _ in range(5)] == [["a"], ["b"], ["c"], ["d"], []]


def test_a_backout_counts_and_the_count_is_durable() -> None:
    client = client_on()
    client.put("a")
    for _ in range(3):
        unit = client.begin()
        client.get(unit)
        client.do(c.Backout(unit))
    client.core.crash()
    back = client.core.connect()
    back.open()
    (message,) = back.take()
    assert message.backout_count == 3


def test_a_crash_does_not_count() -> None:
    client = client_on()
    client.put("a")
    client.get(client.begin())
    client.core.crash()
    back = client.core.connect()
    back.open()
    (message,) = back.take()
    assert message.backout_count == 0


def test_a_lost_connection_backs_out_and_counts() -> None:
    client = client_on()
    client.put("a")
    unit = client.begin()
    client.get(unit)
    client.put("never", unit=unit)
    client.lose()
    client.core.crash()
    back = client.core.connect()
    back.open()
    (message,) = back.take()
    assert (message.message.body, message.backout_count) == (b"a", 1)
    assert back.get() == []


def test_a_backout_may_pass_max_depth() -> None:
    client = client_on(max_depth=1)
    client.put("a")
    unit = client.begin()
    client.get(unit)
    client.put("b")
    client.do(c.Backout(unit))
    assert client.core.queue().depth == 2
    assert client.refused(c.Put(1, [MessageData()])) is Reason.QUEUE_FULL


def test_the_threshold_raises_an_event_once() -> None:
    client = client_on(backout_threshold=2)
    client.put("a")
    for _ in range(3):
        unit = client.begin()
        client.get(unit)
        client.do(c.Backout(unit))
    events = [
        record
        for payload in client.core.entries
        for record in entries.decode(payload)
        if isinstance(record, r.EventRaised)
    ]
    assert [(event.kind, event.name) for event in events] == [("backout_threshold_reached", "Q")]
    assert events[0].details["backout_count"] == "2"


def test_a_message_that_expired_in_a_unit_is_found_after_its_backout() -> None:
    client = client_on()
    client.put("a", expiry_ms=1000)
    unit = client.begin()
    client.get(unit)
    client.core.advance(2.0)
    assert client.core.queue().depth == 0
    client.do(c.Backout(unit))
    assert client.core.queue().depth == 1
    assert client.core.next_tick_ms() is not None
    client.core.advance(0.0)
    assert client.core.queue().depth == 0


def test_messages_know_their_unit() -> None:
    client = client_on("A", "B")
    unit = client.begin()
    client.put("a1", unit=unit, handle=1)
    client.put("b1", unit=unit, handle=2)
    client.put("a2", unit=unit, handle=1)
    client.do(c.Commit(unit))
    other = client.begin()
    known = [
        (m.message.body, m.unit, m.unit_index, m.unit_size, m.queue_unit_index, m.queue_unit_size)
        for handle in (1, 2)
        for m in client.take(other, handle, limit=9)
    ]
    assert known == [
        (b"a1", unit, 0, 3, 0, 2),
        (b"a2", unit, 2, 3, 1, 2),
        (b"b1", unit, 1, 3, 0, 1),
    ]


def test_a_mixed_unit_is_complete_and_in_order() -> None:
    client = client_on()
    unit = client.begin()
    for body, persistence in (("a", 0), ("b", 1), ("c", 0), ("d", 1)):
        client.put(body, unit=unit, persistence=persistence)
    assert client.do(c.Commit(unit)) == Done(2), "those that are not persistent do not count"
    assert client.core.replayed().queues["Q"].depth == 2
    assert [client.get()[0] for _ in range(4)] == ["a", "b", "c", "d"]


def test_persistent_messages_of_a_mixed_unit_are_counted_without_the_others() -> None:
    """A reader of the queue's topic never meets the others, and must know the unit complete."""
    client = client_on()
    unit = client.begin()
    for body, persistence in (("a", 0), ("b", 1), ("c", 0), ("d", 1)):
        client.put(body, unit=unit, persistence=persistence)
    client.do(c.Commit(unit))
    stored = list(client.core.queue().in_order())
    assert [(one.unit_index, one.unit_size) for one in stored] == [(0, 2), (0, 2), (1, 2), (1, 2)]
    assert [one.queue_unit_index for one in stored] == [0, 0, 1, 1]
    assert {one.queue_unit_size for one in stored} == {2}


def test_places_in_a_mixed_unit() -> None:
    client = client_on()
    client.put("before", persistence=0)
    unit = client.begin()
    for body, persistence in (("a", 0), ("b", 0), ("c", 1), ("d", 0), ("e", 0), ("f", 1)):
        client.put(body, unit=unit, persistence=persistence)
    client.do(c.Commit(unit))
    client.put("after", persistence=0)
    places = [(stored.place[1], stored.place[2]) for stored in client.core.queue().in_order()]
    assert places == [(0, 1), (0, 2), (0, 3), (1, 0), (1, 4), (1, 5), (2, 0), (2, 6)]


def test_a_unit_of_non_persistent_messages_writes_nothing() -> None:
    client = client_on()
    unit = client.begin()
    client.put("a", unit=unit, persistence=0)
    before = len(client.core.entries)
    assert client.do(c.Commit(unit)) == Done(1)
    assert len(client.core.entries) == before
    assert client.get() == ["a"]


def test_an_empty_unit_can_be_committed() -> None:
    client = client_on()
    unit = client.begin()
    assert client.do(c.Commit(unit)) == Done(0)
    assert outcome(client, unit) == "committed"


def test_units_are_bounded() -> None:
    client = client_on(limits=Limits(unit_messages=2, unit_bytes=10_000, units_per_connection=2))
    unit = client.begin()
    client.put("a", unit=unit)
    assert client.refused(c.Put(1, [MessageData(body=bytes(9_000))], unit)) is Reason.UNIT_TOO_LARGE
    client.put("b", unit=unit)
    assert client.refused(c.Put(1, [MessageData()], unit)) is Reason.UNIT_TOO_LARGE
    assert client.refused(c.Get(1, unit)) is Reason.UNIT_TOO_LARGE
    client.begin()
    assert client.refused(c.Begin(client.session + bytes(8))) is Reason.LIMIT_REACHED
    assert client.do(c.Commit(unit)) == Done(2), "a refusal does no harm to the unit"


def test_the_ids_that_begin_takes() -> None:
    client = client_on()
    committed = client.begin()
    client.do(c.Commit(committed))
    open_unit = client.begin()
    for unit in (
        committed,
        open_unit,
        b"short",
        client.session + (1 << 63).to_bytes(8, "big"),
        b"another session." + bytes(8),
    ):
        assert client.refused(c.Begin(unit)) is Reason.IDENTIFIER_ERROR


def test_a_unit_needs_a_session() -> None:
    client = Core().connect()
    client.session = b"not opened"
    assert client.refused(c.Begin(bytes(24))) is Reason.OUT_OF_ORDER


def test_what_became_of_a_unit() -> None:
    client = client_on()
    committed, backed_out, in_flight = client.begin(), client.begin(), client.begin()
    client.do(c.Commit(committed))
    client.do(c.Backout(backed_out))
    other = client.core.connect()
    for asking in (client, other):
        assert outcome(asking, committed) == "committed"
        assert outcome(asking, backed_out) == "backed out"
        assert outcome(asking, in_flight) == "in flight"
    assert outcome(client, bytes(24)) == "unknown"
    assert client.refused(c.AskOutcome(b"short")) is Reason.IDENTIFIER_ERROR


def test_the_outcome_of_a_unit_is_answered_after_an_entry() -> None:
    """A deposed owner writes none, so it cannot give an outcome that is not true any more."""
    client = client_on()
    before = len(client.core.entries)
    outcome(client, bytes(24))
    assert len(client.core.entries) == before + 1


def test_a_unit_that_may_still_be_on_its_way_is_in_flight() -> None:
    """Its session lives on a connection whose bytes may be held up; when that ends, it is clear."""
    client = client_on()
    unit = client.session + (77).to_bytes(8, "big")
    other = client.core.connect()
    assert outcome(other, unit) == "in flight"
    assert outcome(client, unit) == "backed out", "whose session it is knows better"
    client.lose()
    assert outcome(other, unit) == "backed out"


def test_what_became_of_a_command_outside_any_unit() -> None:
    client = client_on()
    client.put("a")  # number 2
    client.get()
    client.get()
    client.refused(c.DeleteQueue("NONE"))
    waiting = client.send(c.Get(1, wait_ms=-1))
    states = [outcome(client, own_unit(client, number)) for number in range(2, 8)]
    expected = ["committed", "committed", "backed out", "backed out", "in flight", "backed out"]
    assert states == expected
    assert client.answer(waiting) is None
    other = client.core.connect()
    assert outcome(other, own_unit(client, 2)) == "committed"
    assert outcome(other, own_unit(client, 7)) == "in flight", "it may still be on its way"
    client.seen(2)
    assert outcome(client, own_unit(client, 2)) == "unknown"


def test_what_became_of_a_command_that_a_resumption_expects() -> None:
    client = client_on()
    client.issued = 2
    client.lose()
    back = client.core.connect()
    back.resume(client.session, [2], 2)
    back.open()
    back.do(c.Put(1, [MessageData()]), number=2)
    assert outcome(back, own_unit(client, 2)) == "committed"


@pytest.mark.parametrize("crash", [False, True])
def test_a_unit_that_was_said_to_be_backed_out_never_begins(crash: bool) -> None:
    """Its client was cut off before the unit arrived, and sends everything again."""
    client = client_on()
    unit = client.session + (77).to_bytes(8, "big")
    client.lose()
    other = client.core.connect()
    assert outcome(other, unit) == "backed out"
    entries_before = len(client.core.entries)
    assert outcome(other, unit) == "backed out"
    assert len(client.core.entries) == entries_before + 1, "it is fenced once; asking is a barrier"
    if crash:
        client.core.crash()
    back = client.core.connect()
    back.resume(client.session, [], client.issued)
    assert back.refused(c.Begin(unit)) is Reason.BACKED_OUT
    assert outcome(back, unit) == "backed out"


@pytest.mark.parametrize("crash", [False, True])
def test_a_command_that_was_said_to_be_backed_out_is_not_executed(crash: bool) -> None:
    client = client_on()
    client.lose()
    other = client.core.connect()
    assert outcome(other, own_unit(client, 3)) == "backed out"
    if crash:
        client.core.crash()
    back = client.core.connect()
    back.resume(client.session, [2, 3], 3)
    back.open()
    assert isinstance(back.do(c.Put(1, [MessageData()]), number=2), PutDone)
    assert back.refused(c.Put(1, [MessageData()]), 3) is Reason.BACKED_OUT
    assert back.refused(c.Put(1, [MessageData()]), 3) is Reason.BACKED_OUT, "and again"
    assert isinstance(back.do(c.Put(1, [MessageData()]), number=4), PutDone)
    assert back.core.queue().depth == 2


@pytest.mark.parametrize("crash", [False, True])
def test_outcomes_of_units_survive(crash: bool) -> None:
    client = client_on()
    committed, backed_out = client.begin(), client.begin()
    client.put("a", unit=committed)
    client.put("b", unit=backed_out)
    client.do(c.Commit(committed))
    client.do(c.Backout(backed_out))
    if crash:
        client.core.crash()
    other = client.core.connect()
    assert outcome(other, committed) == "committed"
    assert outcome(other, backed_out) == "backed out"


def test_a_unit_that_was_begun_again_is_what_it_became_at_last() -> None:
    client = client_on()
    unit = client.begin()
    client.lose()
    back = client.core.connect()
    back.resume(client.session, [], client.issued)
    back.session, back.issued = client.session, client.issued
    back.open()
    back.do(c.Begin(unit))
    back.put("kept", unit=unit)
    back.do(c.Commit(unit))
    assert back.do(c.AskOutcome(unit)) == UnitOutcome("committed")


def test_what_a_unit_put_to_a_queue_that_is_gone_counts_no_more() -> None:
    client = client_on("Q", "R", limits=Limits(unit_bytes=10_000))
    unit = client.begin()
    for handle, name in ((1, "Q"), (2, "R")):
        put = client.do(c.Put(handle, [MessageData(body=bytes(9_000))], unit))
        assert isinstance(put, PutDone), "it is refused though the unit holds nothing"
        held = client.core.qm.connections[client.number].units[unit]
        held.forget(client.core.queue(name))
        assert (held.weight, held.held_bytes) == (0, 0)
