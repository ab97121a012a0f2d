"""Pages from the queues' topics on Kafka.

A lane is a partition whose messages are numbered densely (seq, in the descriptor), but not its
offsets: transactions leave markers between, and a long message is several records. So an offset is
guessed from the nearest message whose offset is known, and what is found there corrects the guess.
It is too far only where numbers are missing, in what was restored from a backup: then the message
lies between, and is found by halving.

What is known of offsets is of one topic, and a topic can be made again under its name, with other
offsets. So what is known only says where to look first: where that leads behind the message, or to
nothing, all of it is forgotten, and the message is looked for between the partition's bounds.

A record that is no copy of a message was written by another program, or was damaged. It is passed
over, with a line in the log: a message whose copy it was is missing, and is refused as such.
"""

from __future__ import annotations

import threading
import time
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from math import isqrt
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, TopicPartition

from adapter.core.contract.pages import Paged
from adapter.storage.format import names
from adapter.storage.format.schemas import UnreadableError
from adapter.storage.ledger.failures import error_of
from adapter.storage.ledger.kafka_settings import ASSIGNED, LOG, TIMINGS
from adapter.storage.topics.decoder import RecordDecoder, chunk_of, is_no_message
from adapter.storage.topics.partition_consumer import BEYOND, CLIENT, Partition, PartitionConsumer
from adapter.storage.topics.port import MessageMissingError, Page, PagesUnavailableError, paged

SHOWN_S = 60.0
"""How long Kafka may take to show what was committed: while a partition's leader moves, seconds."""
SHOWN_POLL_S = 0.02
IN_USE_S = 1.0
"""How long a close waits for a read that is under way; one that is not over by then closes."""
PAGE_BYTES = 4 * 1024 * 1024
STRIDE = 256
"""Seqs between two messages whose offsets are remembered."""
POINTS_MAX = 8_192
"""For each lane; then every other one is forgotten."""
READ_ON = 512
SINGLE_READ_ON = 32
"""A message that is at most so far ahead is read up to; further ones are jumped to. A jump costs a
fetch, about as much as decoding so many messages."""
GUESSES = 4
"""What is not found by so many, in a lane strewn with gaps, is found by halving."""
SINGLE_BYTES = 16 * 1024
AHEAD = 1_000
FOREIGN_MAX = 100
"""Lanes of which the log says that they have records of others: behind these it repeats itself."""

Point = tuple[int, int]
"""A message's seq and its offset."""


class Points:
    """Offsets of some messages of one lane, by seq.

    In arrays, which are long blocks: a list has an object for each number, which is made between
    the messages of a page, and holds a block of 1 MiB when these have gone.
    """

    def __init__(self) -> None:
        self._seqs = array("q")
        self._offsets = array("q")

    def add(self, seq: int, offset: int) -> None:
        """Remember a message's offset, unless one near it is known.

        What cannot be on one topic with it is forgotten: it was of an earlier topic of the name.
        """
        at = bisect_right(self._seqs, seq)
        if at and self._offsets[at - 1] + (self._seqs[at - 1] < seq) > offset:
            del self._seqs[:at], self._offsets[:at]
            at = 0
        if at < len(self._seqs) and offset >= self._offsets[at]:
            del self._seqs[at:], self._offsets[at:]
        if at and seq - self._seqs[at - 1] < STRIDE:
            return
        self._seqs.insert(at, seq)
        self._offsets.insert(at, offset)
        if len(self._seqs) > POINTS_MAX:
            del self._seqs[1::2], self._offsets[1::2]

    def around(self, seq: int) -> tuple[Point | None, Point | None]:
        """Return the nearest messages that are known: not behind this one, and behind it."""
        at = bisect_right(self._seqs, seq)
        before = (self._seqs[at - 1], self._offsets[at - 1]) if at else None
        behind = (self._seqs[at], self._offsets[at]) if at < len(self._seqs) else None
        return before, behind


def search(
    seq: int, low: Point, high: Point | None, look: Callable[[int], Point | None], read_on: int
) -> None:
    """Look at offsets until one is not behind a message, and at most read_on records before it.

    low, high: what is known not to be behind it, and to be behind it. look: stand at an offset; the
    message that comes there, if one does. It ends at low if the message is not there at all.
    """
    steps = 0
    while True:
        offset = guess(seq, low, high, steps)
        found = look(offset)
        steps += 1
        if found is None or found[0] > seq:
            if offset <= low[1]:
                return
            high = found[0] if found else 0, offset
        elif seq - found[0] <= read_on or (high and high[1] - found[1] <= read_on):
            return
        else:
            low = found


def guess(seq: int, low: Point, high: Point | None, steps: int) -> int:
    """Say at which offset to look next.

    Markers and missing numbers are taken to lie evenly between two known messages, and the guess to
    be wrong by what is usual then: reading on a little is cheaper than looking once more.
    """
    if high is None:
        return low[1] + seq - low[0]
    offsets, seqs = high[1] - low[1], high[0] - low[0]
    if seqs <= 0 or steps >= GUESSES:
        return low[1] + offsets // 2
    passed = offsets * (seq - low[0]) // seqs - isqrt(abs(offsets - seqs))
    return low[1] + min(max(passed, 0), max(offsets - 1, 0))


class Cursor(PartitionConsumer):
    """A consumer that stands at one place. Points are shared with other cursors.

    read_on: how far it rather reads on than jumps. ahead, closed: see PartitionConsumer. For one
    thread at a time.
    """

    def __init__(
        self,
        settings: dict[str, Any],
        points: dict[Partition, Points],
        read_on: int,
        ahead: int,
        closed: threading.Event | None = None,
    ) -> None:
        super().__init__(settings, ahead, closed)
        self._points = points
        self._read_on = read_on
        self._firsts: dict[Partition, int] = {}
        self._decoder = RecordDecoder()
        self._next = 0
        """The seq that the consumer gives next, if it stands at _place; 0: it does not."""
        self._foreign: set[Partition] = set()
        """Where the log says already that there are records of others."""

    def read(self, place: Partition, seq: int, count: int) -> Page:
        try:
            return self._read_where_it_is(place, seq, count)
        except KafkaException as error:
            self._next = 0
            self._firsts.pop(place, None)
            raise self._failure(place, seq, error) from error

    def records(self, place: Partition, seq: int) -> Iterator[tuple[int, Message]]:
        self._next = 0  # the topic may be another one of its name since the last read
        try:
            self._go_to(place, seq)
            while (found := self._poll_copy()) is not None:
                record, at = found
                self._next = at + 1
                if at >= seq and not is_no_message(record):
                    yield at, record
            if self._is_late:
                raise self._unread(place, self._next or seq, self._error.text or "no answer")
        except KafkaException as error:
            raise self._failure(place, seq, error) from error
        finally:
            self._next = 0

    def blocks(self, place: Partition, seq: int, through: int) -> Iterator[list[Message]]:
        shown = seq - 1
        until_s = time.monotonic() + SHOWN_S
        self._next = 0  # the topic may be another one of its name since the last read
        try:
            self._go_to(place, seq)
            while True:
                taken, end = self._take_block(place, seq)
                if taken:
                    yield taken
                    with suppress(UnreadableError):  # its reader says so
                        shown = max(shown, self._decoder.position(taken[-1]).seq)
                    until_s = time.monotonic() + SHOWN_S
                if end is None:
                    continue
                if shown >= through or end >= self._written(place):
                    return
                if time.monotonic() > until_s:
                    raise self._unread(
                        place,
                        shown + 1,
                        f"Kafka does not show it yet, after {SHOWN_S:.0f} s: a transaction on the "
                        "topic has not ended",
                    )
                time.sleep(SHOWN_POLL_S)
                self._read_again(place, end)
        except KafkaException as error:
            raise self._failure(place, seq, error) from error
        finally:
            self._next = 0

    def _take_block(self, place: Partition, seq: int) -> tuple[list[Message], int | None]:
        """Return the records that have come, and the offset of the partition's end, if it came."""
        if not self._left:
            self._fetch()
        if self._is_late:
            raise self._unread(place, seq, self._error.text or "no answer")
        taken = list(self._left)
        self._left.clear()
        failed = next((at for at, one in enumerate(taken) if one.error()), None)
        if failed is None:
            return taken, None
        error = taken[failed].error()
        if error is not None and error.code() == KafkaError._PARTITION_EOF:
            return taken[:failed], taken[failed].offset() or 0
        raise KafkaException(error)

    def _read_again(self, place: Partition, offset: int) -> None:
        """Read on from an end, that shows whether there is more by now."""
        self._open().assign([TopicPartition(*place, offset)])

    def rest(self) -> None:
        """Keep nothing, and have nothing fetched, until the next read, which jumps.

        Where a batch waits that no program takes, librdkafka looks at it a thousand times a second.
        """
        if self._consumer is not None:
            self._left.clear()
            self._decoder.clear()
            self._next = 0
            self._consumer.unassign()

    def _read_where_it_is(self, place: Partition, seq: int, count: int) -> Page:
        """Read on; once more, by a jump, if numbers are missing where the consumer stood.

        The records there may have been deleted, or be of another topic of that name by now. Else
        numbers are missing only in what was restored from a backup, which is read twice then.
        """
        stood = self._stands_before(place, seq)
        try:
            page = self._read(place, seq, count)
            if not stood or page.through - seq + 1 == len(page.messages):
                return page
        except MessageMissingError:
            if not stood:
                raise
        except KafkaException as error:
            if error_of(error).code() not in BEYOND:
                raise
            self._forget(place)
        self._next = 0
        return self._read(place, seq, count)

    def _read(self, place: Partition, seq: int, count: int) -> Page:
        self._go_to(place, seq)
        page = Page(seq - 1, [])
        size = 0
        while len(page.messages) < count and size < PAGE_BYTES:
            found = self._read_one()
            if found is None:
                break
            self._next = found.seq + 1
            if found.seq >= seq:
                page.messages.append(found)
                page.through = found.seq
                size += len(found.message.body)
        if not page.messages:
            self._next = 0
            self._firsts.pop(place, None)
            if self._is_late:
                raise self._unread(place, seq, self._error.text or "no answer")
            why = "it is not there, or behind a transaction that has not ended"
            raise self._unread(place, seq, why, MessageMissingError)
        return page

    def _go_to(self, place: Partition, seq: int) -> None:
        """Let the consumer stand at a message, or not far before it."""
        if self._stands_before(place, seq):
            return
        if place in self._firsts or place in self._points:
            if self._jump_as_known(place, seq):
                return
            self._forget(place)
        self._jump(place, seq)

    def _stands_before(self, place: Partition, seq: int) -> bool:
        """Whether the consumer stands at a message, or not far before it, as far as is known."""
        is_here = place == self._place and self._next > 0
        return is_here and 0 <= seq - self._next <= self._read_on

    def _jump_as_known(self, place: Partition, seq: int) -> bool:
        """Jump, and return whether that led to a message or before it: what is known is right."""
        try:
            self._jump(place, seq)
        except KafkaException as error:
            if error_of(error).code() not in BEYOND:
                raise
            return False
        return 0 < self._next <= seq

    def _forget(self, place: Partition) -> None:
        """Forget what is known of offsets: records were deleted, or the topic is another one."""
        self._next = 0
        self._firsts.pop(place, None)
        self._points.pop(place, None)

    def _jump(self, place: Partition, seq: int) -> None:
        """Let the consumer stand at or before a message by what is known, if it is there at all."""
        low, high = self._points_of(place).around(seq)
        first = self._first(place)
        if low is None or low[1] < first:
            low = seq, first
        search(seq, low, high, lambda offset: self._look(place, offset), self._read_on)

    def _look(self, place: Partition, offset: int) -> Point | None:
        """Stand at an offset; the seq and offset of the message that comes there, if one does."""
        self._error.text = ""
        self._left.clear()
        self._decoder.clear()
        self._place, self._next = place, 0
        self._open().assign([TopicPartition(*place, offset)])
        try:
            found = self._poll_copy()
        except KafkaException as error:
            if error_of(error).code() not in BEYOND or offset <= self._bounds(place)[1]:
                raise
            return None
        if found is None:
            return None
        message, seq = found
        chunk, _ = chunk_of(message)
        self._left.appendleft(message)
        self._next = seq if chunk == 0 else seq + 1  # within a message comes the next one
        return self._next, message.offset() or 0

    def _points_of(self, place: Partition) -> Points:
        points = self._points.get(place)
        if points is None:  # never, or another cursor has forgotten them
            points = self._points[place] = Points()
        return points

    def _first(self, place: Partition) -> int:
        """Return the partition's first offset, as it was when it was asked for."""
        first = self._firsts.get(place)
        if first is None:
            first = self._firsts[place] = self._bounds(place)[0]
        return first

    def _poll_copy(self) -> tuple[Message, int] | None:
        """Return the next record of a message, and its seq; else as _poll."""
        while True:
            record = self._poll()
            if record is None:
                return None
            try:
                chunk_of(record)
                return record, self._decoder.position(record).seq
            except UnreadableError as error:
                self._pass_over(record, error)

    def _pass_over(self, record: Message, error: UnreadableError) -> None:
        """Note a record that is no copy of a message, once for each lane."""
        if self._place in self._foreign or len(self._foreign) == FOREIGN_MAX:
            return
        self._foreign.add(self._place)
        topic, lane = self._place
        LOG.warning(
            "a record of queue topic %s[%d] is not a message, and is passed over: offset %s: %s; "
            "only the queue manager's movers may write to it", topic, lane, record.offset(), error,
        )  # fmt: skip

    def _read_one(self) -> Paged | None:
        """Return the next message, joined if it is several records; else as _poll."""
        while True:
            record = self._poll()
            if record is None:
                return None
            try:
                found = self._decoder.take(record)
            except UnreadableError as error:
                self._pass_over(record, error)
                continue
            if found is None:
                continue
            message, at = found
            if len(record.value() or b"") == len(message.body):  # it is one record
                self._points_of(self._place).add(at.seq, record.offset() or 0)
            return paged(message, at)


class KafkaPageReader:
    """A PageReader of one queue manager's queues. One read waits for the other.

    Threads that read at once are rare, as of a term that has ended and of the next one.

    Single messages, which selective gets ask for, are fetched by a consumer of their own that
    fetches little at a time: a page's worth for each of them would take several times as long.
    """

    def __init__(
        self,
        queue_manager: str,
        bootstrap_servers: str,
        options: Mapping[str, str],
        group: str = CLIENT,
    ) -> None:
        """group: of the consumers, which may have the right to describe just that."""
        self._queue_manager = queue_manager
        settings: dict[str, Any] = {
            **TIMINGS,
            "client.id": CLIENT,
            "fetch.wait.max.ms": 20,
            "queued.min.messages": 1,  # nothing is fetched ahead, and kept for nobody
            "fetch.queue.backoff.ms": 1,
            "fetch.error.backoff.ms": 20,
            **options,
            "bootstrap.servers": bootstrap_servers,
            "group.id": group,  # asked for by the client, never used
            **ASSIGNED,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
            "logger": LOG,
        }
        points: dict[Partition, Points] = {}
        few = {"fetch.message.max.bytes": SINGLE_BYTES}
        self._closed = threading.Event()
        self._turn = threading.Lock()
        """Locked by the thread that uses the consumers."""
        self._pages = Cursor(settings, points, READ_ON, AHEAD, self._closed)
        self._singles = Cursor(settings | few, points, SINGLE_READ_ON, 1, self._closed)

    def read(self, queue: str, incarnation: int, lane: int, seq: int, count: int) -> Page:
        place = (names.queue_topic(self._queue_manager, queue, incarnation), lane)
        cursor = self._singles if count == 1 else self._pages
        with self._turn:
            if self._closed.is_set():
                raise PagesUnavailableError(f"{place[0]} was not read: the reader was closed")
            try:
                return cursor.read(place, seq, count)
            finally:
                if self._closed.is_set():  # meanwhile, and it did not wait
                    self._close()

    def records(
        self, queue: str, incarnation: int, lane: int, seq: int
    ) -> Iterator[tuple[int, Message]]:
        """Read a lane's records as they are, from a message on to what is its end by then.

        For a reader that one thread uses. Each with the seq of its message. Raises
        PagesUnavailableError.
        """
        place = (names.queue_topic(self._queue_manager, queue, incarnation), lane)
        return self._pages.records(place, seq)

    def blocks(
        self, queue: str, incarnation: int, lane: int, seq: int, through: int
    ) -> Iterator[list[Message]]:
        """Read a lane's records, as many together as have come, from one message to another at
        least. They begin at the first, or not far before it.

        Where they end before the last, the lane has no more: all that was written there is shown.
        A commit is answered before Kafka shows it. As records, for one thread. Raises
        PagesUnavailableError, also while Kafka does not show what was written.
        """
        place = (names.queue_topic(self._queue_manager, queue, incarnation), lane)
        return self._pages.blocks(place, seq, through)

    def rest(self) -> None:
        with self._turn:
            if not self._closed.is_set():
                self._pages.rest()
                self._singles.rest()

    def close(self) -> None:
        self._closed.set()
        if self._turn.acquire(timeout=IN_USE_S):
            try:
                self._close()
            finally:
                self._turn.release()

    def _close(self) -> None:
        self._pages.close()
        self._singles.close()
