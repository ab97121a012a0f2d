"""An exporter: writes the messages of one queue to a topic of Kafka, each once.

It is a client of its own queue manager, connected within the process, with the queue open
exclusively:

1. It gets messages, in a unit.
2. It writes their records and the places that they had on the queue, in one transaction of Kafka.
3. It commits its unit. Only then are they gone from the queue.

A place on a queue is never used twice. After a failure, and after a restart of the queue manager,
the unit has been backed out or not begun: messages whose places the last transaction wrote are
there already, and are got without being written. Until they have gone from the queue, each further
transaction says their places as well: another failure may come first, and messages that are got
before them.

A process that stood still may have been replaced without knowing it, and what its queue has may be
written. So an exporter that has taken the topic over asks for an entry of the ledger before it gets
messages. If its queue manager is replaced after that, its successor takes the topic over from it.

A message that the topic never takes as it is goes to the dead-letter queue, in the unit that got
it. This module must not know how a topic is written.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import cast

from msgspec import Struct

from adapter.connection.channel.channel import Channel
from adapter.connection.channel.requests import Handle, Pending
from adapter.connection.channel.unit import AnyUnit
from adapter.connection.channel.verbs import open_handle
from adapter.core.attributes.export import ExportAttributes
from adapter.core.contract import commands as c
from adapter.core.contract.message import Delivered, Place
from adapter.core.contract.results import LowestPlaces, UnitOutcome
from adapter.runtime.exports.dead_letters import LetterRoomError, put_dead_letter
from adapter.runtime.exports.port import ExportError, ExportTopics, ExportWriter, RecordRefusedError
from adapter.runtime.own_clients.client import GET_MESSAGES, get_messages, incarnation_of
from adapter.storage.format.exports import (
    ExportedRecord,
    ExportProgress,
    NotARecordError,
    record_of,
)

IDLE_MS = 1_000
"""How long to wait for a message before it is looked whether Kafka shows all that was written."""
WAITS = 30
"""After so many waits without a message an exporter ends: its producers cost threads."""
NO_UNIT = bytes(24)
"""The id of a unit that there never was."""
NOT_A_RECORD, TOO_LONG = 2110, 2030
"""MQRC_FORMAT_ERROR and MQRC_MSG_TOO_BIG_FOR_Q, of dead letters."""
WAITING, RUNNING, RETRYING, PAUSED = "waiting", "running", "retrying", "paused"


class Export(Struct, frozen=True):
    """An export as it is defined now. initiates: its queue is an initiation queue: trigger messages
    are put there only while a program has it open, so that its exporter stays.
    """

    name: str
    attributes: ExportAttributes
    initiates: bool = False


class Counts(Struct):
    """What an exporter has done; see ExportFigures. doubtful: the transaction of which it does not
    know whether it was committed: its number, records and bytes.
    """

    state: str = WAITING
    since_s: float = 0.0
    why: str = ""
    records: int = 0
    bytes: int = 0
    dead_letters: int = 0
    failures: int = 0
    ends: dict[int, int] = {}
    doubtful: tuple[int, int, int] = (0, 0, 0)

    def begin(self, number: int, records: list[ExportedRecord]) -> None:
        """Note a transaction that is to be written."""
        self.doubtful = number, len(records), sum(len(one.value or b"") for one in records)

    def committed(self, number: int) -> None:
        """Count the transaction that was begun last, if it is the last one that was committed."""
        begun, records, size = self.doubtful
        if begun == number:
            self.records += records
            self.bytes += size
        self.doubtful = 0, 0, 0

    def enter(self, state: str, why: str = "") -> None:
        """Note what it does from now on."""
        if self.state != state:
            self.state, self.since_s = state, time.monotonic()
        self.why = why


class RefusedMessages(Struct):
    """Messages that the topic did not take, by place: the reason for the dead letter, and why.

    through: how many messages were got in the unit up to the last one of them. They are got by
    themselves the next time, so that their dead letters are committed whatever is refused then: the
    cost of many refused messages is linear.
    """

    by_place: dict[Place, tuple[int, str]] = {}
    through: int = 0

    def note(self, place: Place, error: RecordRefusedError, got: int) -> None:
        """Note that a message was refused. got: how many were got in the unit up to it."""
        self.by_place[place] = _letter_of(error)
        self.through = max(self.through, got)

    def forget(self, places: Iterable[Place]) -> None:
        """Forget those that have gone from the queue."""
        for place in places:
            self.by_place.pop(place, None)
        self.through = 0

    def clear(self) -> None:
        """Forget them: what was refused may be taken the next time."""
        self.by_place.clear()
        self.through = 0


class ExporterEnd:
    """Lets an exporter end between two transactions, and in a wait, but not within a transaction:
    what it has written is then gone from the queue. For two threads.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_writing = False
        self.is_wanted = False

    def want(self) -> bool:
        """Ask for the end; returns whether the connection may be closed now."""
        with self._lock:
            self.is_wanted = True
            return not self._is_writing

    @contextmanager
    def put_off(self) -> Iterator[bool]:
        """Put the end off until this is left; gives whether that is so: it is not wanted yet."""
        with self._lock:
            self._is_writing = not self.is_wanted
        try:
            yield self._is_writing
        finally:
            with self._lock:
                self._is_writing = False


class ExportSession:
    """One attempt: from opening the queue to a failure, or to its end."""

    def __init__(
        self,
        export: Export,
        channel: Channel,
        topics: ExportTopics,
        counts: Counts,
        refused: RefusedMessages,
        ending: ExporterEnd | None = None,
    ) -> None:
        self._export = export
        self._ending = ending or ExporterEnd()
        self._channel = channel
        self._topics = topics
        self._counts = counts
        self._refused = refused
        self._incarnation = 0
        self._number = 0
        """Of the last transaction."""
        self._written: frozenset[Place] = frozenset()
        """Places whose messages are written, and may be on the queue still."""
        self._letters = 0
        """Dead letters of the unit."""
        self._limit = min(refused.through or GET_MESSAGES, GET_MESSAGES)
        """How many messages are got in a unit."""

    def run(self) -> None:
        """Write until the channel is closed, or there has been nothing to write for some time on a
        queue that is no initiation queue.

        Raises Error, ExportError.
        """
        attributes = self._export.attributes
        handle = open_handle(self._channel, attributes.queue, c.INPUT | c.EXCLUSIVE)
        self._incarnation = incarnation_of(self._channel, attributes.queue)
        name = self._channel.queue_manager
        writer = self._topics.writer(name, self._export.name, attributes.topic)
        try:
            progress = writer.resume()
            self._require_owner()
            self._number = progress.number
            self._counts.committed(progress.number)
            if (progress.queue, progress.incarnation) == (attributes.queue, self._incarnation):
                self._written = progress.places
            self._forget_gone(handle)
            waits = 0
            while not self._has_ended and (waits < WAITS or self._export.initiates):
                waits = 0 if self._write_some(handle, writer) else waits + 1
        finally:
            writer.close()

    @property
    def _has_ended(self) -> bool:
        return self._channel.is_closed or self._ending.is_wanted

    def _require_owner(self) -> None:
        """Let the queue manager write to its ledger: one that was replaced cannot. Raises Error."""
        request = Pending(c.AskOutcome(NO_UNIT))
        self._channel.ask([request])
        self._channel.result(request, UnitOutcome)

    def _forget_gone(self, handle: Handle) -> None:
        """Forget the places of messages that are not on the queue any more."""
        if not self._written:
            return
        request = Pending(c.AskLowest(handle.number))
        self._channel.ask([request])
        lanes = self._channel.result(request, LowestPlaces).lanes
        lowest = {one.lane: one for one in lanes}
        self._written = frozenset(
            (lane, seq, n)
            for lane, seq, n in self._written
            if lane in lowest and (n >= lowest[lane].n if n else seq >= lowest[lane].seq)
        )

    def _write_some(self, handle: Handle, writer: ExportWriter) -> bool:
        """Write the next messages; returns whether there are any within some time."""
        unit = AnyUnit(self._channel, ahead=True)  # a message that waits has not been backed out
        unit.begin()
        got = get_messages(handle, unit, IDLE_MS, self._limit)
        if not got:
            unit.backout()
            self._forget_gone(handle)
            writer.check_shown()
            self._counts.enter(WAITING)
            return False
        with self._ending.put_off() as may_write:
            if not may_write:
                unit.backout()
                return False
            self._counts.enter(RUNNING)
            self._letters = 0
            try:
                self._write(unit, writer, got)
            except LetterRoomError:  # before anything was written
                if len(got) == 1:
                    raise
                unit.backout()
                self._limit = len(got) // 2
                return True
            unit.commit()
        self._limit = min(2 * self._limit, GET_MESSAGES)
        self._counts.dead_letters += self._letters
        self._written -= set(map(place_of, got))
        self._refused.forget(map(place_of, got))
        self._counts.ends = {**self._counts.ends, **writer.ends}
        return True

    def _write(self, unit: AnyUnit, writer: ExportWriter, got: list[Delivered]) -> None:
        """Write messages that are not written yet; one that has no record, or whose record the
        topic does not take, becomes a dead letter.
        """
        messages = [one for one in got if place_of(one) not in self._written]
        found = [self._record_of(one) for one in messages]
        sound = [at for at, one in enumerate(found) if isinstance(one, ExportedRecord)]
        for error in writer.refusals([cast("ExportedRecord", found[at]) for at in sound]):
            found[sound[error.at]] = _letter_of(error)
        written: list[Delivered] = []
        records: list[ExportedRecord] = []
        for message, one in zip(messages, found, strict=True):
            if isinstance(one, ExportedRecord):
                written.append(message)
                records.append(one)
            else:
                self._refuse(unit, message, *one)
        if not records:
            return
        progress = ExportProgress(
            self._number + 1,
            self._export.attributes.queue,
            self._incarnation,
            self._written.union(map(place_of, written)),
        )
        self._counts.begin(progress.number, records)
        try:
            writer.write(records, progress)
        except RecordRefusedError as error:
            numbers = {place_of(message): number for number, message in enumerate(got, 1)}
            for refused in (error, *error.others):
                place = place_of(written[refused.at])
                self._refused.note(place, refused, numbers[place])
            raise
        self._number, self._written = progress.number, progress.places
        self._counts.committed(progress.number)

    def _record_of(self, message: Delivered) -> ExportedRecord | tuple[int, str]:
        """Return the record of a message, or the reason for its dead letter, and why."""
        refused = self._refused.by_place.get(place_of(message))
        if refused is not None:
            return refused
        try:
            return record_of(message.message, self._export.attributes)
        except NotARecordError as error:
            return NOT_A_RECORD, str(error)

    def _refuse(self, unit: AnyUnit, message: Delivered, code: int, why: str) -> None:
        """Put a message on the dead-letter queue, or let it wait: then it raises ExportError."""
        ident = message.message.message_id.hex()
        if self._export.attributes.refused == "WAIT":
            self._refused.clear()  # the topic may have been altered when it is tried again
            raise ExportError(f"message {ident} waits: {why}")
        put_dead_letter(self._channel, unit, self._export.attributes, message.message, code, why)
        self._letters += 1


def _letter_of(error: RecordRefusedError) -> tuple[int, str]:
    """Return the reason for the dead letter of a message whose record is refused, and why."""
    return (TOO_LONG if error.is_too_long else NOT_A_RECORD), str(error)


def place_of(message: Delivered) -> Place:
    """Return the place of a message on its queue; no other message ever has it."""
    return message.lane, message.seq, message.n
