"""Reads the topic of one feed, in one thread, until the feed is another one.

First it learns which partitions there are, and from where each is read; what is not decided yet is
decided now, and told. Then it reads all of them, and hands on batches of one partition each,
which follow each other without a gap. How much of a partition waits is bounded: one of which too
much waits is paused, and the others are read on. What Kafka does not answer, or refuses, is tried
again, after longer and longer pauses.

Theory. A client of Kafka asks for records by the name of a topic. If the topic is deleted and made
again, it goes on reading the new one at the old offset, without a word. So the topic's id is asked
for after each read, before what was read is handed on: an id is never used again, so if it still is
the one of the positions, the topic was the same all the time, and what was read is of it.

This module must not know what becomes of a message.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping, Sequence

import structlog
from msgspec import Struct

from adapter.core.attributes.feed import FeedAttributes
from adapter.core.contract.feeds import FedBatch, FedMessage, FeedStart, time_of
from adapter.core.contract.weights import weight
from adapter.host import logs, watched
from adapter.runtime.feeds.port import (
    Deliver,
    FeedConsumer,
    FeedError,
    FeedFigures,
    FeedReading,
    FeedStopped,
    FeedTopic,
    FeedTopics,
    PartitionEnd,
    PartitionLost,
    Preparation,
    Read,
    SizedBatch,
)
from adapter.runtime.feeds.undecided import UndecidedPartitions
from adapter.runtime.feeds.waiting import PausedPartitions, WaitingBytes
from adapter.storage.format.feeds import TopicRecord, dead_letter_of, message_of

READ_S = 0.2
PAUSED_READ_S = 0.02
"""While a partition is paused: it is looked at more often whether it can be read on."""
HELD_BYTES = 8 * 1024 * 1024
"""Of one feed, shared by its partitions: more than a second of small messages."""
HELD_BYTES_LEAST = 64 * 1024
"""Of one partition, however many there are."""
BATCH_BYTES = 1024 * 1024
BATCH_RECORDS = 500
SWEEP_S = 5.0
"""How often it is looked for new partitions, and how far away the ends are."""
PAUSES_S = (0.5, 1.0, 2.0, 5.0, 10.0)
"""After failures in a row. A sweep that succeeds ends the row."""
UNDECIDED_S = 60.0
"""So long a consumer waits for a registry that does not answer, before another one reads."""
STOP_S = 30.0

LISTED = 3
"""Partitions whose records are missing, in a sentence; the command in it has all of them."""
NOT_SHOWN = "the positions of a feed are not shown in its consumer group"

log = structlog.get_logger("mqk.feeds")
repetitions = logs.Repetitions()


class ShownPositions(Struct):
    """Positions as those who watch consumer groups see them: wanted, and last committed.

    problem: why they do not see them, or "".
    """

    wanted: dict[int, int] = {}
    last: dict[int, int] = {}
    problem: str = ""


class FeedReader:
    """Reads for one version of a feed. Every method may be called from any thread."""

    def __init__(
        self,
        queue_manager: str,
        reading: FeedReading,
        topics: FeedTopics,
        deliver: Deliver,
    ) -> None:
        self.reading = reading
        self._queue_manager = queue_manager
        self._topics = topics
        self._deliver = deliver
        self._topic_id = reading.topic_id
        self._next = dict(reading.offsets)
        """Up to where each partition was read and handed on."""
        self._ends: dict[int, int] = {}
        self._waiting = WaitingBytes()
        self._paused = PausedPartitions(self._waiting)
        self._held = UndecidedPartitions(self._ask_for_schemas, self._note_undecided)
        self._shown = ShownPositions()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._is_read = False
        self._trouble = self._undecided = self._stopped = ""
        """Why it is not read: of Kafka, of the schemas of its values, until an operator decides."""
        self._records = self._failures = self._in_a_row = 0

    def start(self, broke: watched.Ended) -> None:
        """Begin to read."""
        self._thread = watched.thread(f"feed-{self.reading.feed}", self._run, broke)

    def tell_to_stop(self) -> None:
        """Read nothing more, soon."""
        self._stopping.set()

    def join(self, within_s: float = STOP_S) -> None:
        """Wait until nothing more is read; bounded."""
        if self._thread is not None:
            self._thread.join(within_s)

    @property
    def is_alive(self) -> bool:
        """Whether its thread runs."""
        return self._thread is not None and self._thread.is_alive()

    def note_taken(self, partition: int, size: int) -> None:
        """So many bytes of what was handed on wait no more."""
        self._waiting.add(partition, -size)

    def show(self, offsets: dict[int, int]) -> None:
        """Let those who watch consumer groups see these positions, at the next sweep."""
        self._shown.wanted = offsets

    def figures(self, positions: dict[int, int]) -> FeedFigures:
        """Return its figures. positions: as the queue manager has them."""
        ends = dict(self._ends)
        waits = self._trouble or self._undecided or self._held.why
        if self._stopped:
            state = "stopped"
        elif waits:
            state = "retrying"
        else:
            state = "running" if self._is_read else "starting"
        return FeedFigures(
            state=state,
            why=self._stopped or waits or self._shown.problem,
            topic=self.reading.attributes.topic,
            queue=self.reading.attributes.target,
            positions=positions,
            ends=ends,
            lag=sum(max(0, end - positions.get(n, end)) for n, end in ends.items()),
            records=self._records,
            held_bytes=sum(self._waiting.by_partition().values()),
            failures=self._failures,
        )

    # The thread.

    def _run(self) -> None:
        name, topic = self.reading.feed, self.reading.attributes.topic
        while not self._stopping.is_set():
            try:
                consumer = self._topics.consumer(self._queue_manager, name, topic)
                try:
                    self._read_on(consumer)
                finally:
                    consumer.close()
            except FeedStopped as stopped:
                self._stopped = str(stopped)
                log.error("a feed has stopped", feed=name, topic=topic, reason=str(stopped))
                return
            except FeedError as error:
                self._failures += 1
                self._trouble = str(error)
                repetitions.warn(log, "a feed is not read", feed=name, reason=str(error))
            pause_s = PAUSES_S[min(self._in_a_row, len(PAUSES_S) - 1)]
            self._in_a_row += 1
            self._stopping.wait(pause_s)

    def _read_on(self, consumer: FeedConsumer) -> None:
        """Read until it is stopped, or something fails."""
        self._paused.begin()
        self._held.begin()
        assigned = self._sweep(consumer, set())
        next_s = time.monotonic() + SWEEP_S
        while not self._stopping.is_set():
            most = max(HELD_BYTES_LEAST, HELD_BYTES // max(1, len(assigned)))
            held = assigned if self._held.is_full else self._held.held
            self._paused.look(consumer, assigned, most, held)
            self._held.add(consumer.read(PAUSED_READ_S if self._paused else READ_S))
            self._hand_on(consumer, self._decide())
            if time.monotonic() > next_s:
                assigned = self._sweep(consumer, assigned)
                next_s = time.monotonic() + SWEEP_S

    def _sweep(self, consumer: FeedConsumer, assigned: set[int]) -> set[int]:
        """Begin to read partitions that are not read yet, and see where the ends are; returns which
        ones are read. Those without a leader are read when they have one, from their position.
        """
        found = self._look_at_topic(consumer)
        left = _left_for_now(found, self._next, self.reading)
        partitions = [n for n in found.partitions if n not in left]
        new = [n for n in partitions if n not in assigned]
        undecided = [n for n in new if n not in self._next]
        if undecided:
            self._begin(consumer, undecided)
        if new:
            offsets = {n: self._next[n] for n in new}
            self._check(consumer, offsets)
            consumer.assign(offsets)
        self._ends = self._ends | consumer.ends(partitions)
        self._show(consumer)
        self._is_read, self._in_a_row = True, 0
        self._trouble = _say_leaderless(left, self.reading) if left else ""
        return assigned | set(partitions)

    def _show(self, consumer: FeedConsumer) -> None:
        """Show new positions, and those that were not shown at the last sweep."""
        shown, problem = self._shown, consumer.not_shown
        shown.problem = problem and f"its positions are not shown: {problem}"
        if problem:
            repetitions.warn(log, NOT_SHOWN, feed=self.reading.feed, reason=problem)
        if shown.wanted and (problem or shown.wanted != shown.last):
            shown.last = shown.wanted
            consumer.show(shown.last)

    def _look_at_topic(self, consumer: FeedConsumer) -> FeedTopic:
        """Return the topic, if it is still the one that was read."""
        found = consumer.describe()
        if not self._next:
            self._topic_id = found.topic_id
        if found.topic_id != self._topic_id:
            reading = self.reading
            raise FeedStopped(
                f"topic {reading.attributes.topic} was deleted and made again, and what had not "
                f"been read of it is lost: `mqk feed seek {reading.feed} EARLIEST` reads the new "
                "one from its beginning"
            )
        return found

    def _begin(self, consumer: FeedConsumer, partitions: list[int]) -> None:
        """Decide from where partitions are read. Those that were added to a topic that is read
        already are read from their beginning, as nothing in them was there before.
        """
        begin = self.reading.begin
        time_ms = time_of(begin)
        if self._next or begin == "EARLIEST":
            offsets = consumer.first(partitions)
        elif time_ms is not None:
            offsets = consumer.since(partitions, time_ms)
        else:
            offsets = consumer.ends(partitions)
        if consumer.describe().topic_id != self._topic_id:
            raise FeedError(f"topic {self.reading.attributes.topic} was made again just now")
        self._next |= offsets
        reading = self.reading
        self._deliver([FeedStart(reading.feed, reading.version, self._topic_id, offsets)])

    def _check(self, consumer: FeedConsumer, offsets: dict[int, int]) -> None:
        """Stop if the records from these offsets on are not there any more, in any partition."""
        partitions = list(offsets)
        first, ends = consumer.first(partitions), consumer.ends(partitions)
        missing = _say_missing(self.reading, offsets, first, ends)
        if missing:
            self._look_at_topic(consumer)  # they are not of a topic that was made again meanwhile
            raise FeedStopped(missing)

    # What is read.

    def _hand_on(self, consumer: FeedConsumer, found: Sequence[Read]) -> None:
        if not found:
            return
        batches = list(self._batches(found))
        lost = [one.partition for one in found if isinstance(one, PartitionLost)]
        if batches or lost:
            self._look_at_topic(consumer)  # what was read is of the topic that it was before
        if lost:
            self._check(consumer, self._next)
            raise FeedError(f"partitions {lost} of {self.reading.attributes.topic} were lost")
        if not batches:
            return
        for one in batches:
            self._waiting.add(one.batch.partition, one.size)
            self._next[one.batch.partition] = one.batch.next
        self._deliver(batches)

    def _decide(self) -> list[Read]:
        """Return what can be made messages. Waits, with all partitions, while it cannot be asked
        how values are decoded; those whose schemas may be on their way wait by themselves.
        """
        until_s = time.monotonic() + UNDECIDED_S
        in_a_row = 0
        while not self._stopping.is_set():
            try:
                found = self._held.decide()
            except FeedError as error:
                self._undecided = str(error)
                self._note_undecided(self._undecided)
                if time.monotonic() > until_s:
                    raise
                self._stopping.wait(PAUSES_S[min(in_a_row, len(PAUSES_S) - 1)])
                in_a_row += 1
            else:
                self._undecided = ""
                return found
        return []

    def _ask_for_schemas(self, records: Sequence[TopicRecord], wait: Preparation) -> None:
        self._topics.decoder.prepare(records, self.reading.attributes, wait)

    def _note_undecided(self, why: str) -> None:
        self._failures += 1
        repetitions.warn(log, "a feed is not read", feed=self.reading.feed, reason=why)

    def _batches(self, found: Iterable[Read]) -> Iterable[SizedBatch]:
        """Make batches of what was read, in the order of each partition."""
        by_partition: dict[int, list[TopicRecord]] = {}
        ends: dict[int, int] = {}
        for one in found:
            if isinstance(one, TopicRecord):
                by_partition.setdefault(one.partition, []).append(one)
            elif isinstance(one, PartitionEnd):
                ends[one.partition] = one.offset
        for n in by_partition.keys() | ends.keys():
            start = self._next[n]
            for records in _parts(by_partition.get(n, [])):
                yield self._batch(n, start, records[-1].offset + 1, records)
                start = records[-1].offset + 1
            if ends.get(n, 0) > start:  # what lies between is no record: ends of transactions, ...
                yield self._batch(n, start, ends[n], [])

    def _batch(
        self, partition: int, start: int, until: int, records: list[TopicRecord]
    ) -> SizedBatch:
        reading = self.reading
        self._records += len(records)
        feed = reading.attributes
        made = (self._message(one, feed) for one in records)
        messages: list[FedMessage] = [one for one in made if one is not None]
        batch = FedBatch(
            reading.feed, reading.version, self._topic_id, partition, start, until, messages
        )
        grown = sum(weight(one.message) for one in messages) if feed.value == "AVROJSON" else 0
        return SizedBatch(batch, max(grown, sum(one.size for one in records)))

    def _message(self, record: TopicRecord, feed: FeedAttributes) -> FedMessage | None:
        """Return the message of a record, None for none. What fails at it, besides the registry, is
        of this record: the ones behind it are read all the same.
        """
        try:
            return message_of(record, feed, self._topics.decoder.decode(record, feed))
        except FeedError:
            raise
        except Exception as error:
            place = f"{feed.topic}[{record.partition}] at offset {record.offset}"
            log.exception("a record cannot be made a message", feed=self.reading.feed, record=place)
            return dead_letter_of(record, feed, f"no message can be made of it: {error!r:.200}")


def _parts(records: list[TopicRecord]) -> Iterable[list[TopicRecord]]:
    """Cut records into parts that core puts in one step."""
    part: list[TopicRecord] = []
    size = 0
    for one in records:
        if part and (len(part) >= BATCH_RECORDS or size + one.size > BATCH_BYTES):
            yield part
            part, size = [], 0
        part.append(one)
        size += one.size
    if part:
        yield part


def _left_for_now(
    topic: FeedTopic, positions: Mapping[int, int], reading: FeedReading
) -> list[int]:
    """Return the partitions without a leader. Raises FeedError if one has no position: where that
    is, its leader says.
    """
    if any(n not in positions for n in topic.leaderless):
        raise FeedError(_say_leaderless(topic.leaderless, reading))
    return list(topic.leaderless)


def _say_leaderless(partitions: Sequence[int], reading: FeedReading) -> str:
    which = ", ".join(map(str, partitions))
    topic = reading.attributes.topic
    return f"partition {which} of topic {topic} has no leader: it is read when a broker leads it"


def _say_missing(
    reading: FeedReading, offsets: dict[int, int], first: dict[int, int], ends: dict[int, int]
) -> str:
    """Say which records are missing from offsets on, and which command goes on; "" if none are."""
    seek = f"`mqk feed seek {reading.feed}"
    topic = f"topic {reading.attributes.topic}"
    deleted = {n: first[n] for n, offset in offsets.items() if offset < first[n]}
    if deleted:
        which = _list_first(
            [f"records {offsets[n]} to {at - 1} of partition {n}" for n, at in deleted.items()],
            "records of {} more partitions",
        )
        return (
            f"{which} of {topic} were deleted before they were read: {seek} {_as_places(deleted)}` "
            "goes on behind them"
        )
    beyond = {n: ends[n] for n, offset in offsets.items() if offset > ends[n]}
    if not beyond:
        return ""
    which = _list_first(
        [
            f"partition {n} ends at offset {at}, and is to be read from {offsets[n]} on"
            for n, at in beyond.items()
        ],
        "{} more partitions end too soon",
    )
    return (
        f"{topic}: {which}. Kafka has lost records, or the feed was told to read from too far: "
        f"{seek} {_as_places(beyond)}` goes on at the end"
    )


def _list_first(parts: list[str], others: str) -> str:
    """List what is wrong with partitions; others: says how many more there are than it lists."""
    more = len(parts) - LISTED
    return ", ".join(parts[:LISTED] + ([f"and {others.format(more)}"] if more > 0 else []))


def _as_places(offsets: dict[int, int]) -> str:
    return ",".join(f"{n}:{offset}" for n, offset in sorted(offsets.items()))
