"""Collecting units from the records of an inbound topic."""

import random
import struct

import pytest

from adapter.core import inputs
from adapter.core.contract.arrivals import ArrivedUnit, Lowest, Origin
from adapter.core.contract.message import Delivered, MessageData
from adapter.core.contract.transmission import Transmission
from adapter.core.model.arrivals import Arrivals
from adapter.runtime.network.collecting import (
    INCOMPLETE_S,
    INVALID_RECORD,
    INVALID_TRANSFER,
    InboundCollector,
    ReadyUnit,
)
from adapter.runtime.network.port import ReceivedRecord
from adapter.storage.format import chunks, descriptor, transfer
from adapter.storage.format.transfer import Transfer
from tests.support.core import Core
from tests.support.examples import examples

TOPIC = "mq.QMB.in.QMA"
Record = tuple[dict[str, bytes | None], bytes]


def sent(
    session: bytes,
    first_seq: int,
    size: int,
    body: bytes = b"",
    lowest: int = 1,
    queue: str = "QMB",
    behind: int = 0,
) -> list[Record]:
    """The records of a unit: its messages have the seqs from first_seq on. behind: the seq of the
    last message before it, if that is to have arrived.
    """
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
            behind=[0, behind, 0] if behind else [],
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
            found += collector.take(ReceivedRecord(TOPIC, offset, value, headers), 0.0)
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
    found = [arrival for one in topic.read() for arrival in one.given.messages]
    assert [arrival.code for arrival in found] == [INVALID_RECORD, *[INVALID_TRANSFER] * 3]
    assert [arrival.message.body for arrival in found] == [value for _, value in topic.records]


@pytest.mark.parametrize("source", ["", "QMA"])
def test_a_record_whose_headers_cannot_be_read_is_a_dead_letter(source: str) -> None:
    """Any program that may write to the topic may write such a name of a header."""
    collector = InboundCollector("QMB", TOPIC, "topic 1", source)
    (one,) = collector.take(ReceivedRecord(TOPIC, 0, b"body", None), 0.0)
    (arrival,) = one.given.messages
    assert (arrival.code, arrival.message.body) == (INVALID_RECORD, b"body")
    assert one.given.offset == 1


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


def test_no_position_waits_for_ever_for_a_unit_that_nobody_completes() -> None:
    """And what came of it is kept: its rest may come all the same."""
    collector = InboundCollector("QMB", TOPIC, "topic 1", "QMA")
    unit = [
        ReceivedRecord(TOPIC, at, value, head) for at, (head, value) in enumerate(sent(b"s", 1, 3))
    ]
    assert collector.take(unit[0], 1.0) == []
    assert not collector.is_waiting(1.0 + INCOMPLETE_S)
    assert collector.wait_no_longer(1.0 + INCOMPLETE_S) == []
    assert collector.position == 0
    assert collector.is_waiting(1.1 + INCOMPLETE_S)
    assert collector.wait_no_longer(1.1 + INCOMPLETE_S) == []
    assert collector.position == 1
    (whole,) = [found for one in unit[1:] for found in collector.take(one, 500.0)]
    assert seqs(whole) == [1, 2, 3]


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


def later(header: str, records: list[Record]) -> list[Record]:
    """Records as a later release writes them: another version of a header."""
    return [
        (headers | {header: bytes((31,)) + (headers[header] or b"")[1:]}, value)
        for headers, value in records
    ]


@pytest.mark.parametrize("header", [transfer.HEADER, descriptor.HEADER])
def test_what_a_later_release_has_sent_is_waited_for(header: str) -> None:
    """Nothing of it is a dead letter, and nothing behind it overtakes it."""
    for at in range(3):
        unit = sent(b"s", 2, 3)
        unit[at : at + 1] = later(header, unit[at : at + 1])
        topic = Topic()
        topic.records = [*sent(b"s", 1, 1), *unit, *sent(b"s", 5, 1)]
        collector = InboundCollector("QMB", TOPIC, "topic 1", "QMA")
        found = [
            one
            for offset, (headers, value) in enumerate(topic.records)
            for one in collector.take(ReceivedRecord(TOPIC, offset, value, headers), 0.0)
        ]
        assert [seqs(one) for one in found] == [[1]]
        assert "a later release wrote it" in collector.later
        assert (collector.position, collector.unreadable) == (1, 0)


def in_chunks(record: Record, count: int) -> list[Record]:
    """A record as the chunks of a body that consists of parts."""
    headers, value = record
    parts = [value + b".%d;" % at for at in range(count)]
    if count == 1:
        return [(headers, parts[0])]
    place = struct.Struct(">II").pack
    return [(headers | {chunks.HEADER: place(at, count)}, one) for at, one in enumerate(parts)]


class CoreOfArrivals:
    """What core makes of what is given: it drops what came, and reads on from positions."""

    def __init__(self) -> None:
        self.arrivals = Arrivals()
        self.position = 0
        self.good: list[bytes] = []
        self.dead: list[bytes] = []
        self.units: list[set[bool]] = []

    def take(self, given: ArrivedUnit) -> None:
        self.position = max(self.position, given.offset)
        if given.behind and not self.arrivals.has(given.origin, *given.behind):
            return
        new = [
            one
            for one in given.messages
            if not self.arrivals.has(given.origin, one.lane, one.seq, one.n)
        ]
        self.good += [one.message.body for one in new if not one.code]
        self.dead += [one.message.body for one in new if one.code]
        self.units.append({bool(one.code) for one in new})
        for one in new:
            self.arrivals.lane(given.origin, one.lane).add(one.seq, one.n)
        self.arrivals.forget_below(given.origin, given.lowest)


@pytest.mark.parametrize("seed", range(examples(150)))
def test_what_is_damaged_is_a_dead_letter_with_all_of_its_unit(seed: int) -> None:
    """Units of several messages of several records, mixed with those of another queue; some headers
    are damaged, and the reader begins again now and then. Every record of a unit that was sent is
    somewhere, once; a unit is on the queue whole, or dead.
    """
    chance = random.Random(seed)
    topic, expected, first = Topic(), list[bytes](), {"A": 1, "B": 1}
    sends_at_once = chance.random() < 0.7
    units: list[list[bytes]] = []
    written: dict[str, list[Record]] = {"A": [], "B": []}
    for _ in range(8):
        queue = chance.choice("AB")
        size = chance.randint(1, 4)
        behind = first[queue] - 1 if sends_at_once else 0
        unit = sent(b"s", first[queue], size, queue=queue, body=queue.encode(), behind=behind)
        records = [
            piece
            for at, (headers, _) in enumerate(unit)
            for piece in in_chunks(
                (headers, b"%s%d" % (queue.encode(), first[queue] + at)),
                chance.choice([1, 1, 2, 3]),
            )
        ]
        first[queue] += size
        units.append([value for _, value in records])
        expected += units[-1]
        written[queue] += records
    while any(written.values()):
        topic.records.append(chance.choice([one for one in written.values() if one]).pop(0))
    damaged = chance.sample(range(len(topic.records)), chance.randint(0, 3))
    for at in damaged:
        headers, value = topic.records[at]
        names = [
            name for name in headers if name in (transfer.HEADER, descriptor.HEADER, chunks.HEADER)
        ]
        topic.records[at] = headers | {chance.choice(names): b"?"}, value
    core = CoreOfArrivals()
    while core.position < len(topic.records):
        collector = InboundCollector("QMB", TOPIC, "topic 1", "QMA")
        collector.next = core.position
        until = chance.choice([core.position + chance.randint(1, 30), len(topic.records)])
        for offset in range(core.position, min(until, len(topic.records))):
            headers, value = topic.records[offset]
            for one in collector.take(ReceivedRecord(TOPIC, offset, value, headers), 0.0):
                core.take(one.given)
        if until >= len(topic.records):
            for one in collector.wait_no_longer(INCOMPLETE_S + 1):
                core.take(one.given)
            break
    found = b"".join(core.good + core.dead).split(b";")
    assert sorted(found[:-1]) == sorted(b"".join(expected).split(b";")[:-1])
    good = set(b"".join(core.good).split(b";"))
    for values in units:
        pieces = {piece for value in values for piece in value.split(b";") if piece}
        assert pieces <= good or not pieces & good
    if not damaged:
        assert not core.dead


@pytest.mark.parametrize("damaged", range(3))
@pytest.mark.parametrize("read", range(5))
def test_a_unit_with_a_damaged_record_is_dead_wherever_reading_begins_again(
    damaged: int, read: int
) -> None:
    topic, core = Topic(), CoreOfArrivals()
    topic.records = [*sent(b"s", 1, 3), *sent(b"s", 4, 1, behind=3)]
    headers, value = topic.records[damaged]
    topic.records[damaged] = headers | {transfer.HEADER: b"?"}, value
    for one in topic.read()[: -1 if read < 4 else None]:
        if one.given.offset <= read:
            core.take(one.given)
    for one in topic.read(core.position):
        core.take(one.given)
    assert sorted(core.dead) == [b"1", b"2", b"3"]
    assert core.good == [b"4"]


def test_damage_explains_no_hole_behind_later_records_of_the_queue() -> None:
    topic = Topic()
    topic.records = [*sent(b"1", 1, 1), *sent(b"1", 2, 1, behind=1), *sent(b"2", 4, 1, behind=3)]
    headers, value = topic.records[0]
    topic.records[0] = headers | {transfer.HEADER: b"?"}, value
    assert [one.given.behind for one in topic.read()] == [None, None, (0, 3, 0)]


def test_damage_is_not_waited_for_for_ever() -> None:
    collector = InboundCollector("QMB", TOPIC, "topic 1", "QMA")
    headers, value = sent(b"s", 1, 1)[0]
    broken = ReceivedRecord(TOPIC, 0, value, headers | {transfer.HEADER: b"?"})
    assert [one.given.offset for one in collector.take(broken, 1.0)] == [0]
    assert not collector.is_waiting(1.0 + INCOMPLETE_S)
    assert collector.is_waiting(1.1 + INCOMPLETE_S)
    assert collector.wait_no_longer(1.1 + INCOMPLETE_S) == []
    assert (collector.position, collector.is_waiting(500.0)) == (1, False)


def test_what_comes_behind_records_that_a_topic_has_lost_is_not_asked_what_was_before() -> None:
    """Its source has committed the message before it, and does not send it again."""
    for offset in (0, 7):
        collector = InboundCollector("QMB", TOPIC, "topic 2", "QMA")
        collector.next = offset
        collector.note_lost(0, 1.0)
        behind: list[object] = []
        for at in range(2):
            ((headers, value),) = sent(b"s", 5 + at, 1, behind=4 + at)
            record = ReceivedRecord(TOPIC, offset + at, value, headers)
            behind += [one.given.behind for one in collector.take(record, 1.0)]
        assert behind == [None, (0, 5, 0)]


def test_a_loss_is_known_wherever_reading_begins_again() -> None:
    """Two queues send in turns, and the first record of one was lost. Its others are not left out
    because of that, whether this queue manager restarts meanwhile or not.
    """
    lost, others = sent(b"y", 1, 1, queue="Y"), sent(b"x", 1, 1, queue="X")
    rest = [*sent(b"y", 2, 1, queue="Y", behind=1), *sent(b"y", 3, 1, queue="Y", behind=2)]
    records = [*lost, *others, *rest]
    for restarts_at in range(1, 4):
        known, behind = 0, list[object]()
        collector = opened(known)
        for at in range(1, 4):
            headers, value = records[at]
            for one in collector.take(ReceivedRecord(TOPIC, at, value, headers), 1.0):
                known = max(known, one.given.offset)
                behind.append(one.given.behind)
            if at == restarts_at:
                collector = opened(known)
                assert known < 1, "what explains the hole is met again"
                break
        for again in range(1, 4):
            headers, value = records[again]
            for one in collector.take(ReceivedRecord(TOPIC, again, value, headers), 1.0):
                behind.append(one.given.behind)
        assert behind[-3:] == [None, None, (0, 2, 0)]


def opened(position: int) -> InboundCollector:
    """Begin to read a topic whose first record is gone."""
    collector = InboundCollector("QMB", TOPIC, "topic 1", "QMA")
    collector.next = max(1, position)
    if position < 1:
        collector.note_lost(position, 1.0)
    return collector


def test_records_of_two_units_are_not_joined() -> None:
    """Of what a sender writes at once any records may be missing; releases before did not say what
    a unit is behind.
    """
    for behind in (0, 1):
        topic = Topic()
        one, other = sent(b"1", 1, 2), sent(b"1", 3, 3, behind=2 * behind)
        alike = sent(b"1", 3, 2, behind=2 * behind)
        again = [*sent(b"2", 1, 2), *sent(b"2", 3, 3)]
        for partly in ([one[0], *other[1:]], [one[0], alike[1]]):
            topic.records = [*partly, *again]
            assert [seqs(ready) for ready in topic.read()] == [[1, 2], [3, 4, 5]]


def test_chunks_of_two_bodies_are_not_joined() -> None:
    for behind in (0, 1):
        topic = Topic()
        one = in_chunks(sent(b"1", 1, 1)[0], 2)
        other = in_chunks(sent(b"1", 2, 1, behind=behind)[0], 2)
        again = [*in_chunks(sent(b"2", 1, 1)[0], 2), *in_chunks(sent(b"2", 2, 1)[0], 2)]
        topic.records = [one[0], other[1], *again]
        found = [arrival for ready in topic.read() for arrival in ready.given.messages]
        assert [arrival.message.body for arrival in found] == [b"1.0;1.1;", b"2.0;2.1;"]


class Sending:
    """Sessions of one sender at random, what of them is written and when, and who receives it.

    A session sends some units at once, and then commits, or fails: then any of their records may be
    there, also later. names_last: whether units say what they are behind; earlier releases do not.
    """

    def __init__(self, seed: int, *, names_last: bool) -> None:
        self.chance = random.Random(seed)
        self.names_last = names_last
        self.seqs: list[list[int]] = []
        self.topic = Topic()
        self.late: list[list[Record]] = []
        self.now_s = 0.0
        self.core = Core(name="QMB")
        self.client = self.core.connect()
        self.client.define("ORDERS", msg_delivery_sequence="FIFO")
        self.came: list[list[int]] = []
        self.restart()

    def restart(self) -> None:
        """Let another one receive from where the ledger says."""
        self.collector = InboundCollector("QMB", TOPIC, "topic 1", "QMA")
        self.collector.next = self.core.qm.arrivals.position(TOPIC, "topic 1")

    def give(self, ready: list[ReadyUnit]) -> None:
        for one in ready:
            records = self.core.take(self.core.give(inputs.Arrived(one.given))).records
            puts = [put for record in records for put in getattr(record, "puts", ())]
            if puts:
                self.came.append([int(put.message.body.split(b".")[0]) for put in puts])

    def receive(self, count: int) -> None:
        chance = self.chance
        for offset in range(self.collector.next, len(self.topic.records))[:count]:
            headers, value = self.topic.records[offset]
            record = ReceivedRecord(TOPIC, offset, value, headers)
            self.give(self.collector.take(record, self.now_s))
        if self.collector.next == len(self.topic.records) and chance.random() < 0.3:
            self.give(self.collector.wait_no_longer(self.now_s))
        if chance.random() < 0.2:
            self.restart()

    def send(self, session: int, at: int) -> int:
        """Let one session send from a unit on; return which ones are committed then."""
        chance, ident = self.chance, struct.pack(">QQ", 1, session)
        while at < len(self.seqs):
            some = self.seqs[at : at + chance.randrange(1, 4)]
            records, behind = list[Record](), 0
            for seqs_of_unit in some:
                first, size = seqs_of_unit[0], len(seqs_of_unit)
                for one in sent(ident, first, size, lowest=some[0][0], behind=behind):
                    records += in_chunks(one, chance.choice([1, 1, 1, 2, 3]))
                behind = seqs_of_unit[-1] if self.names_last else 0
            outcome = chance.random()
            if outcome < 0.7:
                self.topic.records += records
                if outcome >= 0.5:
                    return at  # all is there, and the commit was not
                at += len(some)
                self.receive(chance.randrange(6))
            else:
                written, missing = list[Record](), list[Record]()
                cut, any_is_missing = chance.randrange(len(records) + 1), outcome < 0.85
                for number, one in enumerate(records):
                    is_there = chance.random() < 0.6 if any_is_missing else number < cut
                    (written if is_there else missing).append(one)
                self.topic.records += written
                if chance.random() < 0.5:
                    self.late.append(missing)
                return at
        return at

    def play(self) -> None:
        chance, first = self.chance, 1
        for _ in range(chance.randrange(3, 12)):
            size = chance.choice([1, 1, 2, 3, 5])
            self.seqs.append(list(range(first, first + size)))
            first += size
        at = session = 0
        while at < len(self.seqs) or self.late:
            self.now_s += chance.choice([0, 1, 30, 70])
            for one in list(self.late):
                if chance.random() < 0.4:
                    self.late.remove(one)
                    self.topic.records += one
            session += 1
            at = self.send(session, at)
            self.receive(chance.randrange(10))
        for _ in range(5):
            self.now_s += 100
            self.receive(len(self.topic.records))


@pytest.mark.parametrize("names_last", [True, False])
def test_what_sessions_send_comes_once_whole_and_in_order(names_last: bool) -> None:
    """Whatever of them is written, and when, and wherever reading begins again. Earlier releases
    keep no order of units if records of one of them were refused.
    """
    for seed in range(examples(300)):
        sending = Sending(seed, names_last=names_last)
        sending.play()
        if names_last:
            assert sending.came == sending.seqs, seed
        assert sorted(sending.came) == sending.seqs, seed
