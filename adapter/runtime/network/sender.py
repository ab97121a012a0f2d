"""A sender: takes the messages of one transmission queue to the queue manager it leads to.

A transmission queue named as a queue manager of the directory leads to that one, whichever queue
manager its messages name: there aliases are resolved, and what is for a third one goes on. Any
other transmission queue leads to the queue manager that each message names, and so it is with what
MSMQ and Service Broker send. A message goes to one of them only, because each knows only what came
to itself: nothing is sent before the directory was read, and what may have been sent is sent again
where it was sent to.

A sender is a client of its own queue manager, connected within the process, with the queue open
exclusively:

1. It gets whole units, in a unit of its own: what one unit put stays together. A unit of which the
   rest has no room there is got next, before any other; only one that is too large alone, or with
   its dead letters, is cut.
2. It appends them to the inbound topics of their destinations, as many units at a time as there
   are, and waits until they are durable.
3. It commits its unit. Only then are they gone here.

A message that a program put there itself, without a valid transmission-queue header, goes to the
dead-letter queue in the same unit.

After any failure it backs out and begins again, under the number of a new session: messages may so
be sent twice, and the destination drops what it has by its place on the transmission queue. A place
is never used twice. With each unit goes from which places on the queue still has messages, so that
the destination need not remember what is below. Of what is sent between two commits a failure may
leave out any records, so each unit says which message is the last before it there: a destination
that has not received that one leaves the unit out.

Senders of one process write to a topic one after the other (TopicTurns), so that units are seldom
mixed; collecting.py says what becomes of them if they are.
A destination that is not there yet is waited for: the sender announces itself in the directory, and
the destination makes the topic. This module must not know how a destination takes what is sent.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from itertools import groupby

import structlog
from msgspec import Struct

from adapter.connection.channel.channel import Channel
from adapter.connection.channel.requests import Handle, Pending
from adapter.connection.channel.unit import AnyUnit
from adapter.connection.channel.verbs import open_handle
from adapter.core.contract import commands as c
from adapter.core.contract.arrivals import Lowest
from adapter.core.contract.message import Delivered
from adapter.core.contract.results import LowestPlaces
from adapter.errors import Error, UnitTooLarge
from adapter.runtime.network import port
from adapter.runtime.network.backlog import AWAY_S, Backlog
from adapter.runtime.network.dead_letters import has_destination, put_dead_letter
from adapter.runtime.network.directory import Directory, route_record
from adapter.runtime.network.figures import SenderFigures
from adapter.runtime.own_clients.client import (
    GET_MESSAGES,
    Dial,
    OwnClient,
    get_messages,
    incarnation_of,
)
from adapter.storage.format import names, transfer
from adapter.storage.format.transfer import Transfer

APPEND_BYTES = 8 * 1024 * 1024
"""Of units that are appended together, but for the last one: it is a second's work for Kafka."""
PAUSE_S_MAX = 5.0
"""Between attempts, each pause twice as long as the one before."""
MISSING_S_MAX = 1.0
"""While a destination is not there: what is waited for is seldom longer than its start."""
UNKNOWN_S_MAX = 30.0
"""While the directory does not have a destination. A change of the directory ends the pause; by
itself it ends in case that the message has expired, or that another one is next.
"""
MISSING_ATTEMPTS = 5
"""A destination that has just been named makes its topic within the first ones."""
STEADY_S = 10.0
"""A sender that has worked so long begins with short pauses again."""
APPLICATION = "mqk sender"
WAITING, SENDING, RETRYING, MISSING, STOPPED = (
    "waiting",
    "sending",
    "retrying",
    "waiting for the destination",
    "stopped",
)

log = structlog.get_logger("mqk.network")


MessagePlace = tuple[int, int, int, int]
"""Incarnation of the transmission queue, lane, seq and n."""


class TopicTurns:
    """A lock for each topic: one unit is appended at a time."""

    def __init__(self) -> None:
        self._locks: dict[str, threading.Lock] = {}
        self._lock = threading.Lock()

    def of(self, topic: str) -> threading.Lock:
        """Return the lock of a topic."""
        with self._lock:
            return self._locks.setdefault(topic, threading.Lock())


class SenderParts(Struct, kw_only=True):
    """What all senders of a queue manager share.

    ident: asks for the queue manager's unique id. dial: connects a client to it. Both block.
    next_session: draws the number of a session, larger than any of an earlier one of this queue
    manager, also in earlier terms; called when the queue is open in this term.
    """

    queue_manager: str
    ident: Callable[[], str]
    transport: port.Transport
    directory: Directory
    dial: Dial
    next_session: Callable[[], bytes]
    turns: TopicTurns


class UnfinishedSending(Struct):
    """What one attempt leaves to the next.

    limit: how many messages are got at once. cut: the unit that is sent in parts, because it is too
    large; empty: none. destinations: of messages that may have been sent.
    """

    limit: int = GET_MESSAGES
    cut: bytes = b""
    destinations: dict[MessagePlace, str] = {}


class SenderProgress(Struct):
    """state: see above. since_s: monotonic time since when. error: the last one; "" since the
    destination took something.
    """

    state: str = WAITING
    since_s: float = 0.0
    error: str = ""
    messages: int = 0
    units: int = 0
    bytes: int = 0
    failures: int = 0
    dead_letters: int = 0
    destination: str = ""


class DueUnits(Struct):
    """Whole units that are to be appended together. records: by topic. bytes: of their values."""

    records: dict[str, list[port.SentRecord]] = {}
    bytes: int = 0
    units: int = 0


class SenderSession:
    """One attempt: from opening the queue to a failure, or to its end."""

    def __init__(
        self,
        parts: SenderParts,
        queue: str,
        channel: Channel,
        figures: SenderProgress,
        left: UnfinishedSending,
    ) -> None:
        """left: by the attempt before, and for the next one."""
        self._parts = parts
        self._queue = queue
        self._channel = channel
        self._figures = figures
        self._session = b""
        self._ident = parts.ident()
        self._writer: port.TopicWriter | None = None
        self._handle: Handle | None = None
        self._incarnation = 0
        self._open_topics: set[str] = set()
        self._left = left
        self._behind: dict[str, list[int]] = {}
        """The last message sent to each topic since the last commit: lane, seq, n."""

    def run(self) -> None:
        """Send until the channel is closed. Raises Error, NetworkError."""
        if not self._parts.directory.is_read:
            raise port.NetworkError(
                f"{names.DIRECTORY_TOPIC} has not been read, which says where {self._queue} leads: "
                "the log says why, as `not receiving` or `a topic cannot be used yet`"
            )
        self._handle = handle = open_handle(self._channel, self._queue, c.INPUT | c.EXCLUSIVE)
        self._incarnation = incarnation_of(self._channel, self._queue)
        self._session = self._parts.next_session()
        self._writer = self._parts.transport.writer()
        try:
            while not self._channel.is_closed:
                self._send_some(handle)
        finally:
            self._writer.close()

    def _send_some(self, handle: Handle) -> None:
        """Send the next units, one at least, when there is one."""
        unit = AnyUnit(self._channel, ahead=True)  # a message that waits has not been backed out
        unit.begin()
        got = get_messages(handle, unit, -1, self._left.limit)
        if not got:
            return  # the channel was closed
        self._set(SENDING)
        before = sum(one.unit != got[-1].unit for one in got)
        try:
            lowest = self._get_rest(handle, unit, got)
        except UnitTooLarge:
            if before:
                unit.backout()
                self._left.limit = before
                return
            self._left.cut = got[-1].unit
            raise
        self._send_got(unit, got, lowest)
        self._left.limit = min(2 * self._left.limit, GET_MESSAGES)
        sent = sum(map(has_destination, got))
        self._figures.messages += sent
        self._figures.dead_letters += len(got) - sent
        self._figures.error = ""
        self._set(WAITING)

    def _send_got(self, unit: AnyUnit, got: list[Delivered], lowest: list[Lowest]) -> None:
        """Send whole units, and commit."""
        self._behind = {}
        try:
            self._send_units(unit, got, lowest)
            unit.commit()
        except (Error, port.NetworkError) as error:
            if _is_too_large(error) and got[0].unit == got[-1].unit:
                self._left.cut = got[0].unit
            raise
        for message in got:
            self._left.destinations.pop(self._place(message), None)
        if self._left.destinations:
            self._forget_gone(lowest)

    def _forget_gone(self, lowest: list[Lowest]) -> None:
        """Forget the destinations of messages that are not on the queue any more."""
        first = {one.lane: one for one in lowest}

        def is_there(place: MessagePlace) -> bool:
            incarnation, lane, seq, n = place
            at = first.get(lane, Lowest(lane, 0, 0))
            return incarnation == self._incarnation and (n >= at.n if n else seq >= at.seq)

        left = self._left
        left.destinations = {at: to for at, to in left.destinations.items() if is_there(at)}

    def _place(self, message: Delivered) -> MessagePlace:
        return self._incarnation, message.lane, message.seq, message.n

    def _get_rest(self, handle: Handle, unit: AnyUnit, got: list[Delivered]) -> list[Lowest]:
        """Get what the last unit lacks, and no more; return what the queue's lanes still have.

        Persistent messages of a unit are counted apart from the others: what is next on the queue
        says whether the unit goes on.
        """
        while True:
            request = Pending(c.AskLowest(handle.number))
            self._channel.ask([request])
            left = self._channel.result(request, LowestPlaces)
            last = got[-1]
            if left.following != last.unit or not self._is_to_go_on(got, last.unit):
                return left.lanes
            lacks = last.queue_unit_size - last.queue_unit_index - 1
            more = get_messages(handle, unit, 0, min(max(lacks, 1), GET_MESSAGES))
            if not more:
                raise port.NetworkError(f"the rest of a unit on {self._queue} was not available")
            got += more

    def _is_to_go_on(self, got: list[Delivered], unit: bytes) -> bool:
        """Whether the rest of a unit belongs to what was got of it: dead letters go each alone."""
        return unit != self._left.cut and any(has_destination(m) for m in got if m.unit == unit)

    # To the topics.

    def _with_destination(self, unit: AnyUnit, messages: Iterator[Delivered]) -> list[Delivered]:
        """Return the messages that can be sent; the others become dead letters, in this unit."""
        sent = []
        for message in messages:
            if has_destination(message):
                sent.append(message)
                continue
            put_dead_letter(self._channel, unit, self._queue, message)
        return sent

    def _send_units(self, unit: AnyUnit, got: list[Delivered], lowest: list[Lowest]) -> None:
        """Append whole units, in their order; those before one that cannot be sent all the same."""
        due = DueUnits()
        try:
            for _, one in groupby(got, key=lambda message: message.unit):
                self._add_unit(due, self._with_destination(unit, one), lowest)
                if due.bytes > APPEND_BYTES:
                    full, due = due, DueUnits()
                    self._append_all(full)
        finally:
            self._append_all(due)

    def _add_unit(self, due: DueUnits, unit: list[Delivered], lowest: list[Lowest]) -> None:
        by_destination: dict[str, list[Delivered]] = {}
        for message in unit:
            by_destination.setdefault(self._destination(message), []).append(message)
        topics: dict[str, str] = {}
        for destination in by_destination:
            self._figures.destination = destination
            topics[destination] = self._topic_to(destination)
        for destination, messages in by_destination.items():
            topic, last = topics[destination], messages[-1]
            records = list(self._records(messages, lowest, self._behind.get(topic, [])))
            self._behind[topic] = [last.lane, last.seq, last.n]
            self._left.destinations |= {self._place(one): destination for one in messages}
            due.records.setdefault(topic, []).extend(records)
            due.bytes += sum(len(record.value or b"") for record in records)
        due.units += bool(unit)

    def _append_all(self, due: DueUnits) -> None:
        for topic, records in due.records.items():
            with self._parts.turns.of(topic):
                self._append(topic, records)
        self._figures.bytes += due.bytes
        self._figures.units += due.units

    def _append(self, topic: str, records: list[port.SentRecord]) -> None:
        assert self._writer is not None
        try:
            self._writer.append(topic, records)
        except port.TopicMissing:
            self._open_topics.discard(topic)
            raise

    def _leads_to(self) -> str:
        """Return the queue manager that all of MQ's messages go to; "": each says it itself."""
        parts = self._parts
        is_known = parts.directory.entry(self._queue) is not None
        return self._queue if is_known and self._queue != parts.queue_manager else ""

    def _destination(self, sent: Delivered) -> str:
        known = self._left.destinations.get(self._place(sent))
        if known is not None:
            return known
        message = sent.message
        to = message.transmission
        assert to is not None, "the others are dead letters"
        if message.msmq is None and message.broker is None:
            found = self._leads_to() or to.queue_manager
            if found:
                return found
        found = to.queue_manager or self._parts.directory.of_computer(to.computer)
        if not found:
            text = f"no queue manager in the directory has the computer {to.computer}"
            raise port.DestinationUnknown(text)
        return found

    def _topic_to(self, destination: str) -> str:
        """Return the topic to a destination, which has made it."""
        parts = self._parts
        topic = names.inbound_topic(destination, parts.queue_manager)
        if topic not in self._open_topics:
            if topic not in parts.transport.identities([topic], to_write=True):
                self._announce(destination)
                raise port.TopicMissing(
                    f"queue manager {destination} has not made the topic {topic}: is it running, "
                    "and on the same Kafka?"
                )
            self._open_topics.add(topic)
        return topic

    def _announce(self, destination: str) -> None:
        """Enter in the directory that this queue manager sends to another."""
        parts = self._parts
        if parts.queue_manager not in parts.directory.sources(destination):
            assert self._writer is not None
            parts.transport.open_directory(names.DIRECTORY_TOPIC)
            record = route_record(parts.queue_manager, destination)
            self._writer.append(names.DIRECTORY_TOPIC, [record])

    def _records(
        self, unit: list[Delivered], lowest: list[Lowest], behind: list[int]
    ) -> Iterator[port.SentRecord]:
        lanes = {message.lane for message in unit}
        known = [x for one in lowest if one.lane in lanes for x in (one.lane, one.seq, one.n)]
        last = len(unit) - 1
        for part, message in enumerate(unit):
            header = Transfer(
                queue_manager=self._parts.queue_manager,
                ident=self._ident,
                queue=self._queue,
                incarnation=self._incarnation,
                lane=message.lane,
                n=message.n,
                lowest=known if part == last else [],
                session=self._session,
                part=part,
                parts=len(unit),
                behind=behind,
            )
            for headers, value in transfer.encode(message, header):
                yield port.SentRecord(value, headers)

    def _set(self, state: str) -> None:
        self._figures.state, self._figures.since_s = state, time.monotonic()


class TransmissionSender:
    """Sends from one transmission queue, in a thread of its own, until it is stopped."""

    def __init__(
        self, parts: SenderParts, queue: str, left: UnfinishedSending | None = None
    ) -> None:
        """left: by the one before that has ended, if there is one."""
        self.queue = queue
        self.left = left or UnfinishedSending()
        self._parts = parts
        self._figures = SenderProgress(since_s=time.monotonic())
        self._backlog = Backlog()
        self._began_s = time.monotonic()
        self._longest_s = PAUSE_S_MAX
        """The longest pause, after the last failure."""
        self._alike = 0
        """Failures for the same reason, one after the other."""
        self._client = OwnClient(f"sender-{queue}", parts.dial, self._run, self._failed)

    def stop(self) -> None:
        """Let it end: what it has got and not committed is backed out."""
        self._client.stop()

    def join(self) -> None:
        """Wait for its end; bounded."""
        self._client.join()

    @property
    def is_alive(self) -> bool:
        """Whether its thread runs."""
        return self._client.is_alive

    def retry(self) -> None:
        """Pause no longer: something has changed."""
        self._client.retry()

    def look_at_backlog(self) -> None:
        """See what its destination has not received. Blocking. Raises NetworkError."""
        figures, parts = self._figures, self._parts
        sent, destination = figures.messages, figures.destination
        topic = names.inbound_topic(destination, parts.queue_manager) if destination else ""
        if self._backlog.is_due(topic, sent):
            bounds = parts.transport.bounds(topic)
            self._backlog.note(topic, sent, bounds, time.monotonic())

    @property
    def is_without_destination(self) -> bool:
        """Whether it failed because its destination is not there."""
        return self._figures.state == MISSING

    def figures(self) -> SenderFigures:
        """Return its figures."""
        at, now_s = self._figures, time.monotonic()
        state, since_s, error = at.state, at.since_s, at.error
        waits_s = self._backlog.waits_s(now_s)
        if waits_s > AWAY_S and state in (WAITING, SENDING):
            state, since_s = MISSING, self._backlog.since_s
            error = (
                f"queue manager {at.destination} has received nothing for {waits_s:.0f} s: is it "
                "running, and has it room?"
            )
        return SenderFigures(
            state=state,
            for_s=round(now_s - since_s, 1),
            error=error,
            not_received=self._backlog.records,
            destination=at.destination,
            messages=at.messages,
            units=at.units,
            bytes=at.bytes,
            failures=at.failures,
            dead_letters=at.dead_letters,
            running_s=round(now_s - self._began_s, 1),
        )

    def _failed(self, why: str) -> None:
        """Note that the thread has ended unexpectedly; another sender takes its place."""
        self._note(RETRYING, why)
        self._figures.failures += 1

    def _run(self, client: OwnClient) -> None:
        while not client.is_stopping():
            began_s = time.monotonic()
            sent = self._figures.messages
            try:
                client.connected(self._send)
            except (Error, port.NetworkError) as error:
                if client.is_stopping():
                    break
                self._take_failure(error)
            if self._figures.messages > sent or time.monotonic() - began_s > STEADY_S:
                client.pauses.begin_again()
            client.pause(self._longest_s)
        self._note(STOPPED, self._figures.error)

    def _send(self, channel: Channel) -> None:
        SenderSession(self._parts, self.queue, channel, self._figures, self.left).run()

    def _take_failure(self, error: Error | port.NetworkError) -> None:
        state = MISSING if isinstance(error, port.TopicMissing) else RETRYING
        text = str(error)
        self._alike = self._alike + 1 if text == self._figures.error else 1
        if self._alike == (MISSING_ATTEMPTS if state == MISSING else 1):
            log.warning("not sending", queue=self.queue, reason=text)
        self._note(state, text)
        self._figures.failures += 1
        self._longest_s = MISSING_S_MAX if state == MISSING else PAUSE_S_MAX
        if isinstance(error, port.DestinationUnknown):
            self._longest_s = UNKNOWN_S_MAX
        # What comes before the unit that failed is sent without it, and leaves the queue: else it
        # would be sent again by each attempt, as long as its destination is not there.
        self.left.limit = 1

    def _note(self, state: str, why: str) -> None:
        figures = self._figures
        if figures.state != state:
            figures.state, figures.since_s = state, time.monotonic()
        figures.error = why


def _is_too_large(error: BaseException) -> bool:
    """Whether something was refused because a unit has too many messages, or bytes."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, UnitTooLarge):
        cause = cause.__cause__
    return cause is not None
