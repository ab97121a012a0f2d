"""A durable consumer as a program opens it, over connections that break."""

from collections.abc import Callable

import pytest

import adapter
from adapter import errors as e
from tests.support.loopback import Loopback

Connect = Callable[..., adapter.Connection]


def test_batches_are_claimed_read_and_consumed(qm: adapter.Connection) -> None:
    for number in range(5):
        qm.put("Q", str(number), persistent=True)
    with qm.consumer("Q", "C") as consumer:
        assert consumer.claim_batch(3) == 1
        (batch,) = consumer.read(0, 1).batches
        assert (batch.number, batch.spans) == (1, [0, 1, 3])
        consumer.consume(1)
        assert (consumer.consumed, consumer.last) == (1, 1)
        with pytest.raises(e.BatchNotFound, match="consumer C has no such batch"):
            consumer.read(0, 1)
        with pytest.raises(e.ConsumerInUse):
            qm.consumer("Q", "C")
    assert qm.queue("Q").status().current_depth == 2
    again = qm.consumer("Q", "C")
    assert (again.consumed, again.last, again.claim) == (1, 1, consumer.claim)
    with pytest.raises(e.NotOpen, match="consumer 'C' is closed"):
        consumer.claim_batch()
    assert repr(again) == "<Consumer 'C' of 'Q'>"


def test_it_is_opened_again_when_the_connection_was_lost(
    connect: Connect, server: Loopback
) -> None:
    qm = connect()
    qm.define_queue("Q")
    qm.put("Q", "a", persistent=True)
    consumer = qm.consumer("Q", "C")
    assert consumer.claim_batch() == 1
    server.cut_all()
    assert [batch.spans for batch in consumer.read(0, 1).batches] == [[0, 1, 1]]
    consumer.consume(1)
    (told,) = qm.consumers()
    assert (told.name, told.messages, told.timeout_ms) == ("C", 0, 300_000)


def test_finding_client_6_it_is_opened_once_when_the_answer_is_lost(
    connect: Connect, server: Loopback
) -> None:
    qm = connect()
    qm.define_queue("Q")
    server.cut_after(sent=0)  # with the answer
    with qm.consumer("Q", "C") as consumer:
        assert consumer.claim
    qm.consumer("Q", "C").close()


def test_a_claim_that_was_lost(connect: Connect, server: Loopback) -> None:
    qm = connect()
    qm.define_queue("Q")
    qm.put("Q", "a", persistent=True)
    consumer = qm.consumer("Q", "C", timeout=1)
    consumer.claim_batch()
    server.call(lambda: _taken_away(server))
    with pytest.raises(e.ClaimLost, match="gone longer than its timeout"):
        consumer.consume(1)
    assert qm.get("Q") is None, "it is with who has the claim"


def _taken_away(server: Loopback) -> None:
    server.qm.queues["Q"].consumers["C"].claim = bytes(24)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"queue": "NONE", "name": "C"}, e.QueueNotFound),
        ({"queue": "Q", "name": "no name"}, e.InvalidName),
        ({"queue": "Q", "name": "C", "timeout": -1}, e.InvalidTimeout),
        ({"queue": "Q", "name": "C", "timeout": 0.5}, e.InvalidOption),
        ({"queue": "Q", "name": 7}, e.InvalidType),
    ],
)
def test_what_cannot_be_opened(
    qm: adapter.Connection, arguments: dict[str, object], error: type[e.Error]
) -> None:
    with pytest.raises(error):
        qm.consumer(**arguments)  # type: ignore[arg-type]
    assert qm.consumers() == []


@pytest.mark.parametrize("limit", [0, 10_001, "7"])
def test_how_much_may_be_asked_for(qm: adapter.Connection, limit: object) -> None:
    consumer = qm.consumer("Q", "C")
    with pytest.raises((e.InvalidOption, e.InvalidType)):
        consumer.claim_batch(limit)  # type: ignore[arg-type]


def test_one_is_deleted(qm: adapter.Connection) -> None:
    qm.consumer("Q", "C").close()
    assert qm.delete_consumer("Q", "C") == 0
    with pytest.raises(e.ConsumerNotFound):
        qm.delete_consumer("Q", "C")
