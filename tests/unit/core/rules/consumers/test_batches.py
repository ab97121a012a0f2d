"""Durable consumers: batches that stay as they are, whatever restarts, until they are consumed."""

import itertools

import pytest

from adapter.core.contract import commands as c
from adapter.core.contract import records as r
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import (
    Batches,
    Consumers,
    Done,
    Statuses,
)
from adapter.core.model.due import SWEEP_AT
from adapter.core.rules.consumers import batches
from adapter.storage.format import entries
from tests.support.batches import (
    TIMEOUT_MS,
    H,
    back,
    claim,
    claim_of,
    consume,
    consumer_on,
    opened,
    read,
    restarted,
    spans,
    status,
)
from tests.support.core import IN_OUT, Client, client_on


def test_a_batch_is_what_the_queue_has_in_the_order_of_delivery() -> None:
    client = client_on()
    for body, priority in (("a", 0), ("b", 5), ("c", 5), ("d", 0), ("e", 5)):
        client.put(body, persistence=1, priority=priority)
    assert opened(client).last == 0
    assert claim(client, limit=4) == 1
    assert spans(client, 1) == [5, 1, 3, 0, 1, 1]
    assert claim(client) == 2
    assert spans(client, 2) == [0, 2, 2]
    assert status(client).messages == 1
    assert client.core.queue().depth == 0
    assert client.get() == []
    told = client.do(c.AskStatus("Q"))
    assert isinstance(told, Statuses)
    assert told.queues[0].claimed == 1


def test_what_is_not_persistent_or_held_by_a_unit_is_left_to_others() -> None:
    client = client_on()
    client.put("held", persistence=1)
    unit = client.begin()
    assert client.get(unit) == ["held"]
    client.put("soft", persistence=0)
    client.put("a", persistence=1)
    opened(client)
    assert claim(client) == 1
    assert spans(client, 1) == [0, 2, 2]
    assert client.get() == ["soft"]
    client.do(c.Backout(unit))
    assert claim(client, planned=1) == 2
    (batch,) = read(client, 1, 2)
    assert (batch.spans, batch.counts) == ([0, 1, 1], [0, 1, 1])


def test_what_is_not_on_its_topic_yet_waits_and_what_lies_behind_it() -> None:
    client = client_on()
    client.put("a", persistence=1)
    client.put("b", persistence=1)
    opened(client)
    qm = client.core.qm
    client.core.queue().stored[0, 1, 0].entry_n = qm.moved_n + 1
    assert claim(client) == 0
    client.core.queue().stored[0, 1, 0].entry_n = qm.moved_n
    client.core.queue().stored[0, 2, 0].entry_n = qm.moved_n + 1
    assert claim(client) == 1
    assert spans(client, 1) == [0, 1, 1]


def test_a_batch_is_the_same_for_every_program_of_the_name() -> None:
    client = consumer_on("a", "b", "c")
    assert claim(client, limit=2) == 1
    client = back(client)
    assert spans(client, 1) == [0, 1, 2]
    assert claim(client, planned=1) == 2
    assert [batch.spans for batch in read(client, 0, 2)] == [[0, 1, 2], [0, 3, 3]]


@pytest.mark.parametrize("with_snapshot", [False, True])
def test_batches_outlive_the_queue_manager(with_snapshot: bool) -> None:
    client = consumer_on("a", "b", "c", "d")
    client.do(c.AlterQueue("Q", {"description": "x"}))
    claim(client, limit=1)
    claim(client, limit=2, planned=1)
    consume(client, 1)
    before = claim_of(client)
    client = restarted(client, with_snapshot)
    found = status(client)
    assert (found.claim, found.consumed, found.last, found.messages) == (before, 1, 2, 2)
    assert spans(client, 2) == [0, 2, 3]
    assert client.core.queue().depth == 1
    assert client.core.queue().depth_by_priority[0] == 1
    assert client.get() == ["d"]
    consume(client, 2)
    client = restarted(client, with_snapshot)
    assert status(client).messages == 0
    assert client.get() == []


@pytest.mark.parametrize("with_snapshot", [False, True])
def test_what_a_program_lost_comes_back_with_a_raised_count(with_snapshot: bool) -> None:
    client = consumer_on("a", "b", "c")
    claim(client, limit=2)
    read(client, 0, 1)
    before = claim_of(client)
    client.lose()
    client.core.advance(TIMEOUT_MS / 1000 - 1)
    other = client.core.connect()
    other.open()
    assert other.get(place=(0, 1, 0)) == []
    other.core.advance(1)
    assert client.core.queue().depth == 3
    other = restarted(other, with_snapshot)
    found = other.take(limit=1) + other.take() + other.take()
    assert [(one.message.body, one.backout_count) for one in found] == [
        (b"a", 1),
        (b"b", 1),
        (b"c", 0),
    ]
    late = c.ReadBatches(H, before, 0, 1)
    assert other.refused(late) is Reason.CLAIM_LOST
    assert other.refused(c.ConsumeBatches(H, before, 1)) is Reason.CLAIM_LOST
    assert claim_of(other) != before


def test_who_went_away_twice_loses_it_once() -> None:
    client = consumer_on("a")
    claim(client)
    read(client, 0, 1)
    client = back(client)
    read(client, 0, 1)
    client.do(c.Close(H))
    client.core.advance(2 * TIMEOUT_MS / 1000)
    assert client.core.queue().lanes[0].counts == {1: 1}


def test_who_comes_and_goes_all_day_is_noted_a_bounded_number_of_times() -> None:
    client = consumer_on("a")
    claim(client)
    for _ in range(SWEEP_AT + 100):
        read(client, 0, 1)
        client.do(c.Close(H))
        client.core.advance(0.001)
        opened(client)
    assert len(client.core.qm.due.claims) <= SWEEP_AT
    client.do(c.Close(H))
    client.core.advance(TIMEOUT_MS / 1000)
    assert client.core.queue().lanes[0].counts == {1: 1}


def test_a_consumer_that_holds_nothing_may_be_away_for_ever() -> None:
    client = consumer_on("a")
    claim(client)
    consume(client, 1)
    before = claim_of(client)
    client.lose()
    client.core.advance(10 * TIMEOUT_MS)
    other = back(client.core.connect())
    assert claim_of(other) == before


def test_a_consumer_that_is_open_keeps_what_it_has() -> None:
    client = consumer_on("a")
    claim(client)
    client = back(client)
    client.core.advance(10 * TIMEOUT_MS)
    assert spans(client, 1) == [0, 1, 1]


def test_its_time_begins_anew_with_the_queue_manager() -> None:
    client = consumer_on("a")
    claim(client)
    client.lose()
    client.core.advance(TIMEOUT_MS / 1000 - 1)
    client.core.crash()
    client.core.advance(TIMEOUT_MS / 1000 - 1)
    other = client.core.connect()
    assert status(other).messages == 1
    client.core.advance(1)
    assert status(other).messages == 0


def test_those_of_other_names_share_the_queue() -> None:
    client = consumer_on("a", "b", "c")
    claim(client, limit=1)
    other = client.core.connect()
    opened(other, "D")
    assert claim(other, limit=1) == 1
    found = other.do(c.ReadBatches(H, status(other, "D").claim, 0, 1))
    assert isinstance(found, Batches)
    assert found.batches[0].spans == [0, 2, 2]
    assert other.refused(c.OpenConsumer(8, "Q", "C", TIMEOUT_MS)) is Reason.CONSUMER_IN_USE
    other.do(c.Close(H))
    client.do(c.Close(H))
    assert opened(other).last == 1


def test_batches_before_those_that_are_read_are_consumed() -> None:
    client = consumer_on("a", "b")
    claim(client, limit=1)
    claim(client, limit=1, planned=1)
    read(client, 0, 1)
    read(client, 1, 2)
    assert (status(client).consumed, status(client).messages) == (1, 1)
    ident = claim_of(client)
    assert client.refused(c.ReadBatches(H, ident, 0, 1)) is Reason.BATCH_NOT_FOUND
    assert client.refused(c.ReadBatches(H, ident, 1, 3)) is Reason.BATCH_NOT_FOUND
    assert client.refused(c.ConsumeBatches(H, ident, 3)) is Reason.BATCH_NOT_FOUND
    assert read(client, 2, 2) == []
    consume(client, 2)
    consume(client, 2)


def test_an_empty_batch_ends_the_one_before() -> None:
    client = consumer_on("a")
    assert claim(client) == 1
    assert claim(client, planned=1) == 2
    assert claim(client, planned=2) == 2
    assert [batch.spans for batch in read(client, 0, 2)] == [[0, 1, 1], []]
    consume(client, 1)
    assert claim(client, planned=2) == 2
    client.put("b", persistence=1)
    assert claim(client, planned=2) == 3


def test_a_program_that_takes_no_note_of_batches_is_given_so_many() -> None:
    client = consumer_on(*"abcdefghij")
    assert [claim(client, limit=1) for _ in range(10)] == [1, 2, 3, 4, 5, 6, 7, 8, 8, 8]
    assert claim(client, limit=1, planned=8) == 9


def poisoned(client: Client, times: int) -> Client:
    """The program dies of batch 1 so often."""
    for _ in range(times):
        read(client, 0, 1)
        client = back(client)
    return client


def test_a_batch_that_fails_too_often_is_broken_up() -> None:
    client = consumer_on(*"abcdefghijkl", backout_threshold=3, backout_requeue_queue="B")
    client.define("B")
    claim(client)
    client = poisoned(client, 3)
    assert status(client).deliveries == 3
    assert spans(client, 1) == []
    assert client.core.queue().depth == 12
    assert claim(client, planned=1) == 2
    assert spans(client, 2) == [0, 1, 1]
    for _ in range(3):
        client = back(client)
        read(client, 1, 2)
    assert client.core.queue().depth == 12
    assert client.core.queue().lanes[0].counts == {1: 3}
    assert claim(client, planned=2) == 3
    assert spans(client, 3) == [0, 2, 2]
    assert client.core.queue("B").depth == 1
    client.open("B", handle=3)
    assert client.get(handle=3) == ["a"]
    consume(client, 3)
    assert claim(client, planned=3) == 4
    assert spans(client, 4) == [0, 3, 12]


def test_a_batch_that_went_well_is_followed_by_larger_ones() -> None:
    client = consumer_on(*map(str, range(200)), backout_threshold=1)
    assert claim(client, limit=150) == 1
    client = poisoned(client, 1)
    assert spans(client, 1) == []
    for number, limit, size, size_max in ((2, 100, 15, 150), (3, 40, 40, 1500), (4, 99, 99, 0)):
        assert claim(client, limit, planned=number - 1) == number
        (batch,) = read(client, number - 1, number)
        assert batch.spans[2] - batch.spans[1] + 1 == size
        consume(client, number)
        assert status(client).size_max == size_max


def test_without_a_threshold_it_comes_again_and_again() -> None:
    client = poisoned(consumer_on("a"), 0)
    claim(client)
    client = poisoned(client, 20)
    assert spans(client, 1) == [0, 1, 1]


def test_what_the_backout_queue_does_not_take_stays_and_is_passed_over() -> None:
    client = consumer_on("a", "b", backout_threshold=1, backout_requeue_queue="B")
    claim(client, limit=1)
    client = poisoned(client, 1)
    assert spans(client, 1) == []
    assert claim(client, planned=1) == 2
    assert spans(client, 2) == [0, 2, 2]
    assert client.browse() == ["a"]


def test_several_that_came_back_too_often_go_to_places_of_their_own() -> None:
    client = consumer_on(*"abc", backout_threshold=1, backout_requeue_queue="B")
    client.define("B", max_depth=2)
    claim(client)
    read(client, 0, 1)
    client.lose()
    client.core.advance(TIMEOUT_MS / 1000)
    client = back(client.core.connect())
    assert claim(client) == 1, "there is no batch, and what was lost was number 1"
    client.open("B", handle=3)
    assert (client.get(handle=3), client.get(handle=3)) == (["a"], ["b"])
    assert client.browse() == ["c"]


def test_so_much_that_came_back_too_often_is_passed_over_at_once() -> None:
    client = consumer_on(*"abc", backout_threshold=1)
    claim(client, limit=3)
    client = poisoned(client, 1)
    read(client, 0, 1)
    for number in (2, 3):
        claim(client, limit=1, planned=number - 1)
        read(client, number - 1, number)
        client = back(client)
        read(client, number - 1, number)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(batches, "BATCH_MAX", 2)
        assert claim(client, limit=1, planned=3) == 3
    assert claim(client, limit=1, planned=3) == 4
    assert spans(client, 4) == [0, 3, 3]


def test_what_has_expired_is_not_given_and_ends_when_it_comes_back() -> None:
    client = client_on()
    client.put("short", persistence=1, expiry_ms=30_000)
    client.put("long", persistence=1, expiry_ms=2 * TIMEOUT_MS)
    opened(client)
    client.core.advance(30)
    assert claim(client) == 1
    assert spans(client, 1) == [0, 2, 2]
    client.lose()
    client.core.advance(TIMEOUT_MS / 1000)
    assert client.core.queue().depth == 1
    client.core.advance(TIMEOUT_MS / 1000 + 120)
    assert client.core.queue().depth == 0


def test_messages_that_are_not_in_memory() -> None:
    client = client_on(limits=None)
    client.core.qm.limits = type(client.core.qm.limits)(window_messages=16)
    for number in range(200):
        client.put(str(number), persistence=1)
    assert client.core.evicted
    opened(client)
    request = client.send(c.ClaimBatch(H, 150))
    assert client.answer(request) is not None
    assert spans(client, 1) == [0, 1, 150]
    client.lose()
    client.core.advance(TIMEOUT_MS / 1000)
    other = client.core.connect()
    other.open()
    assert other.get() == ["0"]
    assert other.core.queue().depth == 199


def test_a_purge_leaves_what_is_claimed() -> None:
    client = consumer_on("a", "b")
    claim(client, limit=1)
    client.do(c.PurgeQueue("Q"))
    assert spans(client, 1) == [0, 1, 1]
    client = restarted(client, with_snapshot=False)
    assert spans(client, 1) == [0, 1, 1]
    assert client.core.queue().depth == 0


def test_a_queue_is_not_empty_while_a_consumer_has_something() -> None:
    client = consumer_on("a")
    claim(client)
    client.lose()
    other = client.core.connect()
    assert other.refused(c.DeleteQueue("Q")) is Reason.QUEUE_NOT_EMPTY
    assert other.do(c.DeleteQueue("Q", purge=True)) == Done(1)
    other.define()
    assert other.do(c.AskConsumers("Q")) == Consumers([])
    client.core.advance(TIMEOUT_MS)


def test_a_dynamic_queue_is_not_empty_either() -> None:
    client = client_on()
    client.do(c.DefineObject("model", "M", {"definition_type": "PERMDYN"}))
    client.do(c.Open(2, "M", IN_OUT, "D"))
    client.put("a", handle=2, persistence=1)
    client.do(c.OpenConsumer(H, "D", "C", TIMEOUT_MS))
    assert claim(client) == 1
    client.do(c.Close(H))
    assert client.refused(c.Close(2, c.DELETE)) is Reason.QUEUE_NOT_EMPTY
    assert client.do(c.Close(2, c.PURGE)) == Done()


def test_a_consumer_is_deleted_by_hand() -> None:
    client = consumer_on("a", "b")
    claim(client)
    assert client.refused(c.DeleteConsumer("Q", "C")) is Reason.CONSUMER_IN_USE
    client.do(c.Close(H))
    assert client.refused(c.DeleteConsumer("Q", "D")) is Reason.CONSUMER_NOT_FOUND
    assert client.do(c.DeleteConsumer("Q", "C")) == Done(2)
    assert client.do(c.AskConsumers("Q")) == Consumers([])
    assert client.core.queue().depth == 2
    client = restarted(client, with_snapshot=False)
    assert claim(client) == 1


def test_who_waits_is_served_when_messages_come_back() -> None:
    client = consumer_on("a")
    claim(client)
    other = client.core.connect()
    other.open()
    waiting = other.send(c.Get(1, wait_ms=-1))
    client.lose()
    assert other.answer(waiting) is None
    other.core.advance(TIMEOUT_MS)
    assert other.answer(waiting) is not None


def test_selective_gets_find_what_came_back() -> None:
    client = client_on()
    client.core.qm.limits = type(client.core.qm.limits)(window_messages=16)
    for number in range(100):
        client.put(str(number), persistence=1, correlation_id=bytes([number]) * 24)
    other = client.core.connect()
    other.open()
    assert other.get(correlation_id=b"\x63" * 24) == ["99"]
    opened(client)
    claim(client, limit=50)
    assert other.get(correlation_id=b"\x09" * 24) == []
    client.lose()
    client.core.advance(TIMEOUT_MS)
    assert other.get(correlation_id=b"\x09" * 24) == ["9"]


def test_an_inhibited_queue_gives_nothing() -> None:
    client = consumer_on("a")
    client.do(c.AlterQueue("Q", {"inhibit_get": True}))
    assert client.refused(c.ClaimBatch(H, 1)) is Reason.GET_INHIBITED


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (c.OpenConsumer(H, "Q", "D", TIMEOUT_MS), Reason.HANDLE_IN_USE),
        (c.OpenConsumer(8, "NONE", "D", TIMEOUT_MS), Reason.QUEUE_NOT_FOUND),
        (c.OpenConsumer(8, "Q", "no name", TIMEOUT_MS), Reason.NAME_ERROR),
        (c.OpenConsumer(8, "Q", "D", 999), Reason.OPTIONS_ERROR),
        (c.OpenConsumer(8, "T", "D", TIMEOUT_MS), Reason.OPTIONS_ERROR),
        (c.ClaimBatch(1, 1), Reason.HANDLE_NOT_OPEN),
        (c.ClaimBatch(H, 0), Reason.OPTIONS_ERROR),
        (c.ClaimBatch(H, 10_001), Reason.OPTIONS_ERROR),
        (c.ReadBatches(9, b"", 0, 0), Reason.HANDLE_NOT_OPEN),
        (c.ConsumeBatches(9, b"", 0), Reason.HANDLE_NOT_OPEN),
        (c.DeleteConsumer("NONE", "C"), Reason.QUEUE_NOT_FOUND),
    ],
)
def test_what_is_refused(command: c.Command, reason: Reason) -> None:
    client = consumer_on("a")
    client.do(c.DefineObject("model", "M", {"definition_type": "TEMPDYN"}))
    client.do(c.Open(2, "M", c.OUTPUT, "T"))
    assert client.refused(command) is reason


def test_a_queue_has_so_many_consumers() -> None:
    client = client_on()
    for number in range(100):
        opened(client, f"C{number}", handle=10 + number)
    refused = client.refused(c.OpenConsumer(200, "Q", "D", TIMEOUT_MS))
    assert refused is Reason.LIMIT_REACHED


def test_a_handle_of_a_queue_that_was_deleted() -> None:
    client = consumer_on()
    client.core.qm.queues["Q"].is_deleted = True
    assert client.refused(c.ClaimBatch(H, 1)) is Reason.QUEUE_DELETED


def test_the_entries_say_all_of_it() -> None:
    client = consumer_on(*"abc", backout_threshold=1)
    claim(client, limit=1)
    read(client, 0, 1)
    consume(client, 1)
    claim(client, limit=1, planned=1)
    read(client, 1, 2)
    client = back(client)
    read(client, 1, 2)
    client.do(c.Close(H))
    client.do(c.DeleteConsumer("Q", "C"))
    written = {
        type(record)
        for record in itertools.chain.from_iterable(map(entries.decode, client.core.entries))
    }
    assert written >= {
        r.ConsumerSet,
        r.BatchClaimed,
        r.BatchDelivered,
        r.BatchesConsumed,
        r.BatchReturned,
        r.ConsumerDeleted,
    }


def test_an_alias_that_is_inhibited_gives_no_batch() -> None:
    client = client_on()
    client.put("a", persistence=1)
    client.core.evict()
    client.do(c.DefineObject("alias", "A", {"target": "Q", "inhibit_get": True}))
    client.do(c.OpenConsumer(7, "A", "C", 60_000))
    assert client.refused(c.ClaimBatch(7, 10, 0)) is Reason.GET_INHIBITED
