"""Transactions that Kafka left open in lanes: found, and ended, before a mover copies anything.

**The fault.** Kafka ends a transaction in two steps: the coordinator records whether it is
committed or aborted, then sends a marker to the leader of each of its partitions. Kafka 4.3.1 drops
the marker of a partition that has no leader at this moment (its metadata cache answers with no
node, which the coordinator takes for a deleted topic), and records that the transaction is
complete. With one replica, a lane has no leader whenever its broker is down. When the broker is
back, the lane has a transaction open that nothing ends: readers of committed records see nothing
behind its first record. And a leader takes what the same producer writes next for a part of it,
with a newer epoch as well. The producer's next marker ends both alike: if it commits, aborted
copies are shown; if it aborts, committed ones are hidden for ever. (librdkafka 2.16 gets a newer
epoch with each initialisation. Transactions of version 2 get one each, and change nothing here: the
leader compares the epoch, and keeps the first offset.)

**Finding.** Once its producers are initialised, a mover has no transaction open: Kafka says so. A
lane is open if the last stable offset lies before the end. That of a lane without a leader is not
known: nothing is copied to its topic in this term.

**What counts.** A message counts if the progress includes it. Seqs of a lane rise, and each lane's
first copy behind the progress, in the ledger, has the first seq that does not count. So records of
an open lane count, or not, each by itself:

- none of them counts: each producer aborts a transaction in the lane;
- all of them count: each producer commits one;
- some count: the producer that wrote the progress has those that count, because it alternates with
  the other one, which came next and failed. It commits first. If what is left is mixed still, both
  commit: a message that is there twice can be told by its seq, and one that is missing cannot.

A producer commits with a record that is no message: a chunk of a message whose first chunk is
nowhere, which readers leave out (format.chunks). A transaction that stays open is of no mover here;
it is logged, with the tool that ends it.

This module must not know how copies are made.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from enum import Enum
from typing import Protocol

import structlog
from confluent_kafka import (
    IsolationLevel,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)
from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined]  # not in __all__
from msgspec import Struct

from adapter.storage.format import chunks, descriptor
from adapter.storage.format.record_headers import headers_of
from adapter.storage.format.schemas import UnreadableError
from adapter.storage.ledger.answers import answer_of
from adapter.storage.ledger.failures import LASTING, classify, describe
from adapter.storage.ledger.kafka_settings import RECONNECTS_SOON
from adapter.storage.movers.errors import Doubtful
from adapter.storage.movers.progress import uncommitted
from adapter.storage.movers.settings import MoverSettings
from adapter.storage.movers.transactions import PRODUCERS
from adapter.storage.movers.writer import CopyWriter
from adapter.storage.topics.admin import admin_client
from adapter.storage.topics.decoder import RecordDecoder

ANSWER_S = 10.0
LOOK_S = 0.02
SHOWN_S = 3.0
"""How long Kafka may take to write a marker after it has answered."""
ROUNDS = 3
"""To commit what counts, to end what is left, and to see that nothing is."""

log = structlog.get_logger("mqk.movers")


class Ending(Enum):
    """How a transaction ends."""

    COMMIT = "committed"
    ABORT = "aborted"


Endings = tuple[Ending | None, ...]
"""How each producer ends what it may have open in a lane; None: not yet."""
Lane = tuple[str, int]
"""Topic and partition."""


class OpenLane(Struct, frozen=True):
    """A lane in which a transaction is open: from a stable offset on, to the end."""

    topic: str
    lane: int
    stable: int
    end: int

    @property
    def place(self) -> Lane:
        """Its topic and partition."""
        return self.topic, self.lane


class FirstSeqs(Protocol):
    """Finds the first seq in each of some lanes of a topic that the progress does not include.

    A lane without any is left out.
    """

    def __call__(self, topic: str, lanes: Collection[int]) -> dict[int, int]: ...


def endings(seqs: Collection[int], first: int | None, turn: int | None) -> Endings:
    """Decide how each producer ends its transaction in a lane.

    seqs: of the records behind the stable offset. first: that does not count, if there is one.
    turn: the producer that wrote the progress; None: not known, or it has had its turn.
    """
    count = [seq for seq in seqs if first is None or seq < first]
    if not count:
        return (Ending.ABORT,) * PRODUCERS
    if len(count) == len(seqs) or turn is None:
        return (Ending.COMMIT,) * PRODUCERS
    return tuple(Ending.COMMIT if one == turn else None for one in range(PRODUCERS))


class LaneEnds:
    """Asks Kafka where lanes end. For one thread."""

    def __init__(self, settings: MoverSettings) -> None:
        there = settings.destination
        self._admin = admin_client(there.bootstrap_servers, {**RECONNECTS_SOON, **there.options})

    def open_lanes(self, topics: Collection[str]) -> tuple[list[OpenLane], set[str]]:
        """Return the open lanes of these topics, and the topics that cannot be told. Raises
        Doubtful.
        """
        deadline_s = time.monotonic() + ANSWER_S
        while True:
            try:
                lanes, unknown = self._lanes_with_leader(topics)
                return self._open(lanes), unknown
            except KafkaException as error:  # a leader has just changed
                if classify(error) in LASTING or time.monotonic() > deadline_s:
                    raise _unanswered(error) from error
                time.sleep(LOOK_S)

    def open_lane(self, topic: str, lane: int) -> OpenLane | None:
        """Return this lane if it is open. Raises Doubtful, also if it has no leader."""
        try:
            there = self._admin.list_topics(topic, ANSWER_S).topics[topic].partitions
            if lane not in there or there[lane].leader < 0:
                raise Doubtful(f"{topic}[{lane}] has no leader: check that all brokers run")
            found = self._open([(topic, lane)])
        except KafkaException as error:
            raise _unanswered(error) from error
        return found[0] if found else None

    def _lanes_with_leader(self, topics: Collection[str]) -> tuple[list[Lane], set[str]]:
        """Return the lanes that have a leader, and the topics with a lane that has none."""
        there = self._admin.list_topics(timeout=ANSWER_S).topics
        lanes: list[Lane] = []
        unknown: set[str] = set()
        for topic in topics:
            for number, lane in there[topic].partitions.items() if topic in there else ():
                if lane.leader >= 0:
                    lanes.append((topic, number))
                else:
                    unknown.add(topic)
        return lanes, unknown

    def _open(self, lanes: list[Lane]) -> list[OpenLane]:
        stable = self._ends(lanes, IsolationLevel.READ_COMMITTED)
        everything = self._ends(lanes, IsolationLevel.READ_UNCOMMITTED)
        return [
            OpenLane(*lane, stable[lane], end)
            for lane, end in everything.items()
            if stable[lane] < end
        ]

    def _ends(self, lanes: list[Lane], isolation: IsolationLevel) -> dict[Lane, int]:
        if not lanes:
            return {}
        latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
        asked = {TopicPartition(*lane): latest for lane in lanes}
        answers = self._admin.list_offsets(
            asked, isolation_level=isolation, request_timeout=ANSWER_S
        )
        found = {
            (place.topic, place.partition): answer_of(answer, 2 * ANSWER_S).offset
            for place, answer in answers.items()
        }
        if min(found.values()) < 0:  # librdkafka has this in place of an error: a lost connection
            raise KafkaException(KafkaError(KafkaError._TRANSPORT, "no answer"))
        return found


def _unanswered(error: KafkaException) -> Doubtful:
    return Doubtful(f"asking where lanes end failed: {describe(error)}")


class OpenRecords(Struct):
    """What is behind the stable offset of a lane: the seqs, and the last record of a message."""

    seqs: list[int]
    last: Message | None = None


class Planned(Struct):
    """How each producer ends what it may have open in a lane. last: the last message's record."""

    lane: OpenLane
    last: Message | None
    endings: Endings


class OpenLanes:
    """Ends what is open in the lanes of one mover. For the mover's thread."""

    def __init__(self, settings: MoverSettings, writer: CopyWriter, first_seqs: FirstSeqs) -> None:
        self._settings = settings
        self._writer = writer
        self._first_seqs = first_seqs
        self._ends: LaneEnds | None = None

    def end(self, topics: Collection[str], turn: int | None) -> set[str]:
        """End what is open in these topics; returns those of which it is not known.

        turn: see endings(). To be called when the mover has no transaction open. Raises Doubtful.
        """
        ends = self._ends = self._ends or LaneEnds(self._settings)
        found, unknown = ends.open_lanes(topics)
        if not found:
            return unknown
        for _ in range(ROUNDS):
            before = found
            found, turn = self._end_round(ends, found, turn), None
            if not found or found == before:
                break
        self._writer.producers.turn = 0
        for one in found:
            log.warning(
                "a transaction of another producer is open, and hides what comes behind it: end it "
                "with kafka-transactions abort",
                topic=one.topic,
                partition=one.lane,
                start_offset=one.stable,
            )
        return unknown

    def _end_round(self, ends: LaneEnds, found: list[OpenLane], turn: int | None) -> list[OpenLane]:
        """End what is open, of mixed lanes only what counts; the lanes that are still open."""
        firsts: dict[Lane, int] = {}
        for topic in dict.fromkeys(one.topic for one in found):
            lanes_of = [one.lane for one in found if one.topic == topic]
            seqs = self._first_seqs(topic, lanes_of)
            firsts |= {(topic, lane): seq for lane, seq in seqs.items()}
        plan = {one.place: self._plan(one, firsts.get(one.place), turn) for one in found}
        for ending in Ending:
            for number in range(PRODUCERS):
                lanes = [one for one in plan.values() if one.endings[number] is ending]
                if lanes:
                    self._end_lanes(number, ending, lanes)
                    found = self._await_change(ends, found, lanes)
                left = {one.place for one in found}
                plan = {lane: one for lane, one in plan.items() if lane in left}
        return found

    def _plan(self, one: OpenLane, first: int | None, turn: int | None) -> Planned:
        records = self._records(one)
        how = endings(records.seqs, first, turn)
        log.warning(
            "a transaction that Kafka left open hides what comes behind it",
            topic=one.topic,
            partition=one.lane,
            start_offset=one.stable,
            ends=[None if ending is None else ending.value for ending in how],
        )
        return Planned(one, records.last, how)

    def _end_lanes(self, turn: int, ending: Ending, lanes: list[Planned]) -> None:
        """Let one producer end what it may have open in some lanes."""
        producers = self._writer.producers
        producers.turn = turn
        producer = producers.begin()
        for one in lanes:
            topic = one.lane.topic
            time_ms, headers = no_message(one.last)
            try:
                producer.produce(
                    topic, b"", None, one.lane.lane, producers.report, None, time_ms, headers
                )
            except (KafkaException, BufferError) as error:
                producers.refuse(topic, error)
                raise producers.meaning(error, "ending what Kafka left open") from error
        if ending is Ending.COMMIT:
            producers.commit()
        else:
            producers.abort()

    def _await_change(
        self, ends: LaneEnds, before: list[OpenLane], changing: list[Planned]
    ) -> list[OpenLane]:
        """Wait until Kafka shows what was ended; the lanes that are open then."""
        stable = {one.lane.place: one.lane.stable for one in changing}
        deadline_s = time.monotonic() + SHOWN_S
        while True:
            found, _ = ends.open_lanes({one.topic for one in before})
            waiting = any(stable.get(one.place) == one.stable for one in found)
            if not waiting or time.monotonic() > deadline_s:
                return found
            time.sleep(LOOK_S)

    def _records(self, one: OpenLane) -> OpenRecords:
        """Read what is behind the stable offset of a lane."""
        decoder = RecordDecoder()
        found = OpenRecords([])
        for record in uncommitted(self._settings, one.topic, one.lane, one.stable, one.end):
            headers = dict(headers_of(record) or [])
            if headers.get(chunks.HEADER) == chunks.NO_MESSAGE:
                continue
            try:
                found.seqs.append(decoder.position(record).seq)
            except UnreadableError:  # it was not written by a mover
                continue
            found.last = record
        return found


def no_message(last: Message | None) -> tuple[int, chunks.Headers]:
    """Return time and headers of a record that ends a transaction behind a message's record."""
    headers: chunks.Headers = [(chunks.HEADER, chunks.NO_MESSAGE)]
    if last is None:
        return 0, headers
    described = dict(headers_of(last) or [])[descriptor.HEADER]
    return last.timestamp()[1], [(descriptor.HEADER, described), *headers]
