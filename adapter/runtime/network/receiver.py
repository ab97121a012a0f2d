"""The receiver of one queue manager: reads its inbound topics and the directory in one thread.

It opens the topics that are to be read: the one for any Kafka client, one for each queue manager
that has announced to send, and those that the ledger has positions of. What is whole is handed on;
how much of it waits, of each topic, is bounded, and a topic of which too much waits is paused while
the others go on. What Kafka does not answer is tried again, after longer and longer pauses. The
consumer is made again after a failure, and reads on from where each topic was read up to. A topic
that cannot be opened, the directory's among them, is tried again at each sweep, and keeps no other
one from being read. This module must not know what becomes of what it hands on.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from queue import Empty, SimpleQueue

import structlog
from msgspec import Struct

from adapter.host import logs, watched
from adapter.runtime.network import port
from adapter.runtime.network.collecting import InboundCollector, ReadyUnit
from adapter.runtime.network.directory import Directory
from adapter.runtime.network.figures import ReceiverFigures
from adapter.runtime.network.own_entry import OwnEntry
from adapter.storage.format import names

READ_S = 0.2
PAUSED_READ_S = 0.02
"""While a topic is paused: it is looked at more often whether it can be read on."""
HELD_BYTES = 8 * 1024 * 1024
"""Of one topic: more than a second of small messages."""
SWEEP_S = 5.0
"""How often it is looked at whether topics are still the same ones."""
PAUSES_S = (0.5, 1.0, 2.0, 5.0, 10.0)
"""After failures in a row. A sweep that succeeds ends the row: that something took long proves
nothing, as it may have waited for Kafka."""
STOP_S = 30.0

log = structlog.get_logger("mqk.network")
repetitions = logs.Repetitions()


class ReadPosition(Struct, frozen=True):
    """From where a topic is to be read, if it is still the one of this id."""

    topic_id: str
    offset: int


class FollowedTopic(Struct):
    """A topic that is read, unless a later release has sent what is next."""

    collector: InboundCollector
    is_paused: bool = False


class UntakenBytes:
    """How much of each topic was read and waits. For any thread."""

    def __init__(self) -> None:
        self._term = 0
        self._bytes: dict[str, int] = {}
        self._lock = threading.Lock()

    def begin(self, term: int) -> None:
        """Begin another term, of which nothing waits."""
        with self._lock:
            self._term, self._bytes = term, {}

    def add(self, term: int, topic: str, size: int) -> None:
        """Add to what waits of a topic in a term; less than 0: it waits no more."""
        with self._lock:
            if term == self._term:
                self._bytes[topic] = self._bytes.get(topic, 0) + size

    def of(self, topic: str) -> int:
        """Return how much of a topic waits."""
        with self._lock:
            return self._bytes.get(topic, 0)

    @property
    def total(self) -> int:
        """How much of all topics waits."""
        with self._lock:
            return sum(self._bytes.values())


Deliver = Callable[[int, Sequence[ReadyUnit]], None]
"""Called in the receiver's thread with the term's number and what is whole."""


class NetworkReceiver:
    """Reads for one queue manager, term after term. Every method may be called from any thread."""

    def __init__(
        self, queue_manager: str, transport: port.Transport, directory: Directory, deliver: Deliver
    ) -> None:
        self._name = queue_manager
        self._transport = transport
        self._directory = directory
        self._deliver = deliver
        self._commands: SimpleQueue[Callable[[], object]] = SimpleQueue()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._follower: port.TopicFollower | None = None
        self._term = 0
        self._positions: Mapping[str, ReadPosition] = {}
        self._followed: dict[str, FollowedTopic] = {}
        self._wanted: dict[str, str] = {}
        """Source by topic, of those that are to be followed and are not."""
        self._problems: dict[str, str] = {}
        """Why a topic is not opened or written, until the next sweep."""
        self._entry = OwnEntry(transport, directory)
        self._held = UntakenBytes()
        self._failures = self._in_a_row = 0
        self.trouble = ""
        """Why nothing is read, or ""."""

    def start(self, broke: watched.Ended) -> None:
        """Begin to read the directory; topics from when a term has begun."""
        self._thread = watched.thread(f"receiver-{self._name}", self._run, broke)

    def stop(self, *, wait: bool = True) -> None:
        """End; waits for that within a bound, if it is to."""
        self._stopping.set()
        if wait and self._thread is not None:
            self._thread.join(STOP_S)

    def begin_at(self, term: int, positions: Mapping[str, tuple[str, int]]) -> None:
        """Read from these positions on, for another term; what was read before is void.

        positions: topic id and offset by topic.
        """
        places = {topic: ReadPosition(*at) for topic, at in positions.items()}

        def begin() -> None:
            self._term, self._positions = term, places
            for topic in list(self._followed):
                del self._followed[topic]
                if self._follower is not None:
                    self._follower.leave(topic)
            self._held.begin(term)
            self._want_all()

        self._commands.put(begin)

    def note_taken(self, term: int, topic: str, size: int) -> None:
        """See InboundReader."""
        self._held.add(term, topic, -size)

    def trim(self, offsets: Mapping[tuple[str, str], int], tried: Callable[[bool], object]) -> None:
        """Delete the records before these offsets: what they held is durable elsewhere."""
        self._commands.put(lambda: tried(_trim(self._transport, offsets)))

    def enter(self, entry: Callable[[], port.SentRecord], tried: Callable[[], None]) -> None:
        """Write a record to the directory, as soon as that can be done; see OwnEntry.want()."""

        def enter() -> None:
            self._entry.want(entry, tried)
            self._write_entry()

        self._commands.put(enter)

    def figures(self) -> ReceiverFigures:
        """Return its figures."""
        followed = list(self._followed.values())
        later = {one.collector.topic: one.collector.later for one in followed}
        return ReceiverFigures(
            topics=len(followed),
            paused=sum(one.is_paused for one in followed),
            held_bytes=self._held.total,
            unreadable=sum(one.collector.unreadable for one in followed),
            left_out=sum(one.collector.left_out for one in followed),
            later={topic: why for topic, why in later.items() if why},
            failures=self._failures,
            trouble=self.trouble,
        )

    # The thread.

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._read_on()
            except port.NetworkError as error:
                self._failures += 1
                self.trouble = str(error)
                repetitions.warn(log, "not receiving", queue_manager=self._name, reason=str(error))
            finally:  # both would look for Kafka by themselves, in the pause as well
                self._transport.close()
                if self._follower is not None:
                    self._follower.close()
                    self._follower = None
            pause_s = PAUSES_S[min(self._in_a_row, len(PAUSES_S) - 1)]
            self._in_a_row += 1
            self._stopping.wait(pause_s)

    def _read_on(self) -> None:
        """Read until it is stopped, or something fails."""
        if self._in_a_row:
            own = names.inbound_topic(self._name, "")  # whether Kafka answers: else no consumer
            self._transport.identities([own])
        self._follower = follower = self._transport.follower()
        self._problems.clear()
        self._wanted[names.DIRECTORY_TOPIC] = ""
        for topic, one in self._followed.items():
            if not one.collector.later:
                follower.follow(topic, one.collector.next)
            one.is_paused = False
        sweep_s = time.monotonic() + SWEEP_S
        while not self._stopping.is_set():
            self._obey()
            self._open_wanted(follower)
            self._look_at_room(follower)
            is_paused = any(one.is_paused for one in self._followed.values())
            self._take(follower.read(PAUSED_READ_S if is_paused else READ_S))
            self.trouble = "; ".join(self._problems.values())
            if time.monotonic() > sweep_s:
                self._problems.clear()  # what could not be done is tried again
                self._entry.look()
                self._write_entry()
                self._sweep()
                self._in_a_row = 0
                sweep_s = time.monotonic() + SWEEP_S

    def _obey(self) -> None:
        """Do what other threads want."""
        while True:
            try:
                command = self._commands.get_nowait()
            except Empty:
                return
            command()

    def _write_entry(self) -> None:
        """Write the entry of the directory, if it is not written."""
        if names.DIRECTORY_TOPIC not in self._wanted:
            try:
                self._entry.write()
            except port.NetworkError as error:
                self._note_problem(names.DIRECTORY_TOPIC, error)

    def _note_problem(self, topic: str, error: port.NetworkError) -> None:
        """Note what cannot be done before the next sweep."""
        self._failures += 1
        self._problems[topic] = str(error)
        repetitions.warn(log, "a topic cannot be used yet", topic=topic, reason=str(error))
        if topic == names.DIRECTORY_TOPIC:
            self._entry.note_failed()

    def _take(self, records: list[port.ReceivedRecord | port.TopicLost]) -> None:
        ready: list[ReadyUnit] = []
        for topic in _made_again(self._transport, self._followed, {one.topic for one in records}):
            self._leave_deleted(topic)
        for record in records:
            followed = self._followed.get(record.topic)
            if isinstance(record, port.TopicLost):
                self._lose(record)
            elif record.topic == names.DIRECTORY_TOPIC:
                self._directory.take(record.key, record.value)
                self._entry.note_read(record.offset)
                self._want_all()
            elif followed is not None:
                ready += followed.collector.take(record, time.monotonic())
                if followed.collector.later and self._follower is not None:
                    self._follower.leave(record.topic)
        self._hand_on(ready)

    def _hand_on(self, ready: list[ReadyUnit]) -> None:
        for one in ready:
            self._held.add(self._term, one.given.topic, one.size)
        if ready:
            self._deliver(self._term, ready)

    def _lose(self, lost: port.TopicLost) -> None:
        """A topic cannot be read on: it is opened again, if it is to be read; at the next sweep, if
        it is there.
        """
        if lost.is_there:
            self._note_problem(lost.topic, port.NetworkError(lost.why))
        else:
            log.warning("a topic is lost", topic=lost.topic, why=lost.why)
        if lost.topic == names.DIRECTORY_TOPIC:
            self._wanted[lost.topic] = ""
        followed = self._followed.pop(lost.topic, None)
        if followed is not None:
            collector = followed.collector
            at = ReadPosition(collector.topic_id, collector.position)  # what came of units goes
            self._positions = {**self._positions, lost.topic: at}
            self._wanted[lost.topic] = collector.source

    # Which topics are read.

    def _want_all(self) -> None:
        """Note which topics are to be read and are not."""
        if not self._term:
            return
        for source in ("", *self._directory.sources(self._name)):
            topic = names.inbound_topic(self._name, source)
            if topic not in self._followed:
                self._wanted[topic] = source
        for topic in self._positions:
            known = names.parse_inbound_topic(topic)
            if topic not in self._followed and known is not None:
                self._wanted[topic] = known

    def _open_wanted(self, follower: port.TopicFollower) -> None:
        for topic, source in list(self._wanted.items()):
            if topic not in self._problems:
                try:
                    self._open(follower, topic, source)
                except port.NetworkError as error:
                    self._note_problem(topic, error)

    def _open(self, follower: port.TopicFollower, topic: str, source: str) -> None:
        if topic == names.DIRECTORY_TOPIC:
            self._entry.open_topic()
            first, end = follower.bounds(topic)
            follower.follow(topic, first)
            self._entry.note_opened(first, end)
            del self._wanted[topic]
            self._write_entry()
            return
        identity = self._transport.open(topic)
        first, end = follower.bounds(topic)
        collector = InboundCollector(self._name, topic, identity, source)
        collector.next = offset = first_to_read(self._positions, topic, identity, first, end)
        if (since := lost_since(self._positions, topic, identity, offset)) is not None:
            collector.note_lost(since, time.monotonic())
        follower.follow(topic, offset)
        self._followed[topic] = FollowedTopic(collector)
        del self._wanted[topic]

    # How much of it.

    def _look_at_room(self, follower: port.TopicFollower) -> None:
        for topic, followed in self._followed.items():
            size = self._held.of(topic)
            if not followed.is_paused and size > HELD_BYTES:
                follower.pause(topic)
                followed.is_paused = True
            elif followed.is_paused and size <= HELD_BYTES // 2:
                follower.resume(topic)
                followed.is_paused = False

    def _sweep(self) -> None:
        """See whether the topics are still the same ones; wait no longer for the rest of units."""
        gone = _made_again(self._transport, self._followed, set(self._followed))
        for topic, followed in list(self._followed.items()):
            if topic in gone:
                self._leave_deleted(topic)
            elif not followed.is_paused and not followed.collector.later:
                self._wait_no_longer(topic, followed.collector)
        try:
            if names.DIRECTORY_TOPIC not in self._wanted and self._entry.is_topic_deleted():
                self._leave_deleted(names.DIRECTORY_TOPIC)
        except port.NetworkError as error:
            self._note_problem(names.DIRECTORY_TOPIC, error)  # the others are read on

    def _wait_no_longer(self, topic: str, collector: InboundCollector) -> None:
        """See whether units are complete by now that have waited long for their rest."""
        try:
            self._hand_on(_not_completed(self._follower, topic, collector))
        except port.NetworkError as error:
            self._note_problem(topic, error)  # it is asked again at the next sweep

    def _leave_deleted(self, topic: str) -> None:
        """Open a topic again of which Kafka's client says only minutes later that it is gone."""
        if self._follower is not None:
            self._follower.leave(topic)
        self._lose(port.TopicLost(topic, "it was deleted"))


def _made_again(
    transport: port.Transport, followed: Mapping[str, FollowedTopic], asked: set[str]
) -> list[str]:
    """Return which of these topics are not there, or not the ones that were followed: what was read
    is not of those. Kafka's client reads on at the old one's offset (decision 16). Raises
    NetworkError.
    """
    topics = asked & followed.keys()
    identities = transport.identities(list(topics)) if topics else {}
    return [one for one in topics if identities.get(one) != followed[one].collector.topic_id]


def _not_completed(
    follower: port.TopicFollower | None, topic: str, collector: InboundCollector
) -> list[ReadyUnit]:
    """Let units be waited for no longer, if all that their topic has was read; return what is to be
    given of them. Raises NetworkError.
    """
    now_s = time.monotonic()
    if follower is None or not collector.is_waiting(now_s) or not follower.has_read_all(topic):
        return []
    return collector.wait_no_longer(now_s)


def _trim(transport: port.Transport, offsets: Mapping[tuple[str, str], int]) -> bool:
    """Delete records, and return whether that succeeded; if not, they only take room, and their
    senders take them for not received. offsets: by topic and its id: of one that was made again
    nothing is deleted.
    """
    try:
        known = transport.identities([topic for topic, _ in offsets])
        same = {topic: at for (topic, ident), at in offsets.items() if known.get(topic) == ident}
        if same:
            transport.trim(same)
    except port.NetworkError as error:
        log.warning("received records are not deleted", reason=str(error))
        return False
    return True


def lost_since(
    positions: Mapping[str, ReadPosition], topic: str, identity: str, offset: int
) -> int | None:
    """Return the offset of the first record that is missing before the one to be read; None: none
    is.
    """
    known = positions.get(topic, ReadPosition(identity, 0))
    if known == ReadPosition(identity, offset):
        return None
    return known.offset if known.topic_id == identity else 0


def first_to_read(
    positions: Mapping[str, ReadPosition], topic: str, identity: str, first: int, end: int
) -> int:
    """Return the offset from which a topic is read, which has records from first to before end;
    says what is missing. Raises NetworkError if it was read up to behind its end.
    """
    at = positions.get(topic)
    if at is None:
        return first
    if at.topic_id != identity:
        log.warning(
            "a topic was deleted and made again: what had not been received is lost with it",
            topic=topic,
        )
        return first
    if at.offset < first:
        log.error(
            "records were deleted before they were received",
            topic=topic,
            first=at.offset,
            last=first - 1,
        )
    if at.offset > end:
        raise port.NetworkError(
            f"{topic} ends at offset {end}, and was read up to {at.offset}: Kafka has lost "
            "records; delete the topic, so that it is made again, and send what is missing"
        )
    return max(at.offset, first)
