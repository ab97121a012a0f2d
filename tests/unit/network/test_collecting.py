"""Collecting units from the records of an inbound topic."""

import random

import pytest

from adapter.core.contract.arrivals import Lowest, Origin
from adapter.core.contract.message import Delivered, MessageData
from adapter.core.contract.transmission import Transmission
from adapter.format import chunks, descriptor, transfer
from adapter.format.transfer import Transfer
from adapter.network.collecting import (
    INCOMPLETE_MS,
    INVALID_RECORD,
    INVALID_TRANSFER,
    NOT_AUTHORIZED,
    InboundCollector,
    ReadyUnit,
)
from adapter.network.port import ReceivedRecord

TOPIC = "mq.QMB.in.QMA"
Record = tuple[dict[str, bytes | None], bytes]


def sent(
    session: bytes,
    first_seq: int,
    size: int,
    body: bytes = b"",
    lowest: int = 1,
    queue: str = "QMB",
) -> list[Record]:
    """The records of a unit: its messages have the seqs from first_seq on."""
    records: list[Record] = []
    for part in range(size):
        seq = first_seq + part
        message = MessageData(
            body=body or b"%d" % seq,
            message_id=b"%024d" % seq,
            correlation_id=bytes(24),
            group_id=bytes(24),
            priority=0,
            persistence=1,
            transmission=Transmission("ORDERS", "QMB"),
        )
        unit = b"%024d" % first_seq
        delivered = Delivered(message, 0, seq, 0, 0, unit, part, size, part, size)
        header = Transfer(
            queue_manager="QMA",
            ident="ident",
            queue=queue,
            incarnation=2,
            lane=0,
            n=0,
            lowest=[0, lowest, 7] if part == size - 1 else [],
            session=session,
            part=part,
            parts=size,
        )
        records += [(dict(headers), value) for headers, value in transfer.encode(delivered, header)]
    return records


class Topic:
    """A topic as it lies there, and what reads it from any offset."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    def read(self, start: int = 0, source: str = "QMA") -> list[ReadyUnit]:
        collector = InboundCollector("QMB", TOPIC, "topic 1", source)
        found: list[ReadyUnit] = []
        for offset in range(start, len(self.records)):
            headers, value = self.records[offset]
            found += collector.take(ReceivedRecord(TOPIC, offset, value, headers, time_ms=offset))
        return found


def seqs(ready: ReadyUnit) -> list[int]:
    return [arrival.seq for arrival in ready.given.messages]


def test_a_unit_is_given_when_it_is_whole() -> None:
    topic = Topic()
    topic.records = sent(b"s", 10, 3, lowest=4)
    (one,) = topic.read()
    given = one.given
    assert (given.topic, given.topic_id, given.offset) == (TOPIC, "topic 1", 3)
    assert given.origin == Origin("ident", "QMB", 2)
    assert given.source == "QMA"
    assert given.unit == b"%024d" % 10
    assert given.lowest == [Lowest(0, 4, 7)]
    assert [(a.lane, a.seq, a.n, a.code, a.message.body) for a in given.messages] == [
        (0, seq, 0, 0, b"%d" % seq) for seq in (10, 11, 12)
    ]
    assert one.size > 1_500
    del topic.records[-1]
    assert topic.read() == []


def test_a_body_in_chunks_is_one_message() -> None:
    topic = Topic()
    body = bytes(range(256)) * (chunks.CHUNK_BYTES // 100)
    topic.records = sent(b"s", 1, 2, body)
    assert len(topic.records) == 6
    (one,) = topic.read()
    assert [arrival.message.body for arrival in one.given.messages] == [body, body]
    assert topic.read(1) == []


def test_units_of_sessions_that_are_mixed_stay_apart() -> None:
    topic = Topic()
    late, new = sent(b"1", 1, 3), sent(b"2", 1, 3)
    for mixed in (
        [late[0], new[0], late[1], new[1], late[2], new[2]],
        [new[0], late[0], late[1], new[1], late[2], new[2]],
        [late[0], late[1], *new, late[2]],
    ):
        topic.records = list(mixed)
        (one,) = topic.read()
        assert seqs(one) == [1, 2, 3]


def test_a_unit_that_is_sent_again_in_its_session_begins_anew() -> None:
    topic = Topic()
    unit = sent(b"s", 1, 3)
    topic.records = [unit[0], unit[1], *unit]
    assert [seqs(one) for one in topic.read()] == [[1, 2, 3]]


def test_a_unit_without_its_first_part_is_left_out() -> None:
    topic = Topic()
    topic.records = [*sent(b"s", 1, 3), *sent(b"s", 4, 2)]
    assert [seqs(one) for one in topic.read(1)] == [[4, 5]]


def test_a_unit_with_a_hole_is_left_out() -> None:
    topic = Topic()
    first = sent(b"s", 1, 3)
    topic.records = [first[0], first[2], *sent(b"s", 4, 2)]
    assert [seqs(one) for one in topic.read()] == [[4, 5]]


@pytest.mark.parametrize("source", ["", "QMA"])
def test_a_plain_record_is_a_message(source: str) -> None:
    topic = Topic()
    topic.records = [({"mq.queue": b"ORDERS"}, b"body")]
    (one,) = topic.read(source=source)
    (arrival,) = one.given.messages
    assert arrival.message.transmission == Transmission("ORDERS")
    assert (arrival.seq, arrival.code, one.given.offset) == (1, 0, 1)
    assert one.given.origin == Origin("topic 1")


def test_a_plain_record_is_not_for_queues_of_the_queue_manager() -> None:
    topic = Topic()
    topic.records = [({"mq.queue": b"SYSTEM.ADMIN.COMMAND.QUEUE"}, b"a command")]
    (one,) = topic.read(source="")
    assert one.given.messages[0].code == NOT_AUTHORIZED


def test_what_is_no_message_says_why() -> None:
    topic = Topic()
    headers, _ = sent(b"s", 1, 1)[0]
    broken: list[dict[str, bytes | None]] = [
        {},
        headers | {transfer.HEADER: b"\x01broken"},
        headers | {descriptor.HEADER: b""},
        headers | {chunks.HEADER: b"?"},
    ]
    topic.records = [(one, b"%d" % at) for at, one in enumerate(broken)]
    found = [one.given.messages[0] for one in topic.read()]
    assert [arrival.code for arrival in found] == [INVALID_RECORD, *[INVALID_TRANSFER] * 3]
    assert [arrival.message.body for arrival in found] == [value for _, value in topic.records]


def test_a_transfer_is_no_message_where_any_client_writes() -> None:
    topic = Topic()
    topic.records = sent(b"s", 1, 1)
    (one,) = topic.read(source="")
    assert one.given.messages[0].code == INVALID_RECORD


def test_a_record_within_a_unit_moves_no_position_behind_the_unit() -> None:
    topic = Topic()
    unit = sent(b"s", 1, 3)
    alone: Record = {"mq.queue": b"Q"}, b"alone"
    topic.records = [unit[0], alone, unit[1], alone, unit[2]]
    found = topic.read()
    assert [len(one.given.messages) for one in found] == [1, 1, 3]
    assert [one.given.offset for one in found] == [0, 0, 5]


def test_no_position_waits_for_a_unit_that_nobody_completes() -> None:
    collector = InboundCollector("QMB", TOPIC, "topic 1", "QMA")
    headers, value = sent(b"s", 1, 3)[0]
    collector.take(ReceivedRecord(TOPIC, 7, value, headers, time_ms=1_000))
    collector.give_up(1_000 + INCOMPLETE_MS)
    assert collector.position == 7
    collector.give_up(1_001 + INCOMPLETE_MS)
    assert collector.position == 8


@pytest.mark.parametrize("seed", range(30))
def test_nothing_is_lost_whatever_is_mixed_and_wherever_reading_begins(seed: int) -> None:
    """Sessions die within units, late records come between, other records too; readers restart."""
    chance = random.Random(seed)
    topic, late = Topic(), list[Record]()
    first = {"A": 1, "B": 1}
    for number in range(12):
        queue = chance.choice("AB")
        unit = sent(b"%04d" % number, first[queue], chance.randint(1, 4), queue=queue)
        died = chance.randint(0, len(unit)) if chance.random() < 0.5 else len(unit)
        others: list[Record] = [({"mq.queue": b"Q"}, b"x")] * chance.randint(0, 2)
        written = [unit[:died], late, others]
        while any(written):
            some = chance.choice([one for one in written if one])
            topic.records.append(some.pop(0))
        late = unit[died:] if chance.random() < 0.5 else []
        if died == len(unit):
            first[queue] += len(unit)  # the sender knows that all of it is there, and commits
    came: dict[str, set[int]] = {"A": set(), "B": set(), "": set()}
    position = 0
    for taken in [chance.randint(1, 9) for _ in range(30)] + [999]:
        for ready in topic.read(position)[:taken]:
            position = max(position, ready.given.offset)
            came[ready.given.origin.queue].update(seqs(ready))
    assert all(came[queue] >= set(range(1, first[queue])) for queue in "AB")
    plain = {at + 1 for at, (headers, _) in enumerate(topic.records) if "mq.queue" in headers}
    assert came[""] == plain
