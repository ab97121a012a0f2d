"""Reading a ledger topic from Kafka: whole, a gap of it, or its tail.

One plainly assigned consumer on partition 0, from an offset, in order. Offsets of a ledger are
dense (nothing is compacted, no transaction leaves markers), so a missing one is a loss: scan sees
to that. Nothing here decides which records count.
"""

import contextlib
import time
from collections.abc import Iterator, Sequence
from typing import Any, Self

import msgspec
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition
from confluent_kafka.admin import AdminClient

from adapter.storage.ledger.failures import LASTING, Failure, classify, describe, error_of, explain
from adapter.storage.ledger.kafka_settings import (
    READER,
    LastError,
    LedgerSettings,
    admin_settings,
    consumer_settings,
)
from adapter.storage.ledger.port import (
    Entry,
    Known,
    LedgerMismatch,
    LedgerUnavailable,
    Position,
    Raw,
)
from adapter.storage.ledger.scan import RESTORE, Scan, check_known, check_known_value

PARTITION = 0
NO_OFFSET = -1
BATCH_RECORDS_MAX = 10_000
# How long one wait for records may be while there is more to do than to wait.
POLL_S = 0.5
RETRY_S = 0.05
KNOWN_S = 5.0
"""How long a topic may be unknown: one that was just made is not known to every broker at once."""
UNKNOWN = frozenset(
    {KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION}
)
# For a question to a broker that only makes an error's text clearer.
ANSWER_S = 3.0
AT_ONCE = {"fetch.wait.max.ms": 1}
"""For readers that jump: an empty fetch is answered at once."""


DAMAGED = frozenset(
    {
        KafkaError._BAD_MSG,
        KafkaError._BAD_COMPRESSION,
        KafkaError._NOT_IMPLEMENTED,  # of a batch whose format is none that there is
        KafkaError._UNDERFLOW,
        KafkaError.INVALID_MSG,
        KafkaError.INVALID_RECORD,
    }
)
"""Errors of librdkafka for bytes that were changed on a broker's disk."""
REACH_S = 0.5
"""For the question that connects; what comes after it is waited for as long as it is told."""
PERSISTS_S = 5.0
"""A broker whose bytes are damaged fails every read of them; other failures pass sooner."""


class Persisting:
    """Tells a failure that passes from one that meets every read of an offset. For one thread."""

    def __init__(self) -> None:
        self._offset = NO_OFFSET
        self._since_s = self._last_s = 0.0

    def fails(self, offset: int, now_s: float) -> bool:
        """Note a failed read; whether reads of this offset have failed for PERSISTS_S by now."""
        if offset != self._offset or now_s - self._last_s > PERSISTS_S:
            self._offset, self._since_s = offset, now_s
        self._last_s = now_s
        return now_s - self._since_s >= PERSISTS_S


class LedgerSource:
    """A consumer of one ledger topic; a context manager. For one thread."""

    def __init__(self, settings: LedgerSettings) -> None:
        self._settings = settings
        self._last_error = LastError()
        self._persisting = Persisting()
        self._is_reached = False
        self._next = 0
        try:
            self._consumer = Consumer(consumer_settings(settings, self._last_error))
        except KafkaException as error:
            raise wrong_settings(settings, error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_problem: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the connections."""
        self._consumer.close()

    def check_topic(self) -> None:
        """Refuse a topic that does not exist or is no ledger's."""
        settings = self._settings
        deadline_s = time.monotonic() + min(KNOWN_S, settings.read_timeout_s)
        topic = self._asked_topic()
        while topic.error is not None and passes(topic.error) and time.monotonic() < deadline_s:
            time.sleep(RETRY_S)
            topic = self._asked_topic()
        if topic.error is not None and topic.error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            raise LedgerUnavailable(
                f"topic {settings.topic} does not exist on {settings.bootstrap_servers}: start the "
                "queue manager that creates it, or check its name and the address",
                retriable=False,
            )
        if topic.error is not None:
            raise ledger_failure(settings, "asking for the topic", topic.error)
        if len(topic.partitions) != 1:
            raise LedgerMismatch(
                f"{settings.topic} has {len(topic.partitions)} partitions and a ledger has one: "
                "another program created it; give the queue manager another name, or delete it"
            )

    def _reach(self) -> None:
        """Connect. A first question about topics would wait for half of reconnect.backoff.ms (see
        RECONNECTS_AT_ONCE), this one does not; an answer that does not come is no failure yet.
        """
        self._is_reached = True
        place = TopicPartition(self._settings.topic, PARTITION)
        with contextlib.suppress(KafkaException):
            self._consumer.get_watermark_offsets(place, min(REACH_S, self._settings.read_timeout_s))

    def _asked_topic(self) -> Any:
        settings = self._settings
        if not self._is_reached:
            self._reach()
        try:
            found = self._consumer.list_topics(settings.topic, settings.read_timeout_s)
        except KafkaException as error:
            raise ledger_failure(settings, "asking for the topic", error) from error
        return found.topics[settings.topic]

    def is_there(self, within_s: float | None = None) -> bool:
        """Whether the topic exists. Asked for all of them: by its name it might be created."""
        timeout_s = self._settings.read_timeout_s
        try:
            found = self._consumer.list_topics(
                timeout=timeout_s if within_s is None else max(0.0, min(timeout_s, within_s))
            )
        except KafkaException as error:
            raise ledger_failure(self._settings, "asking for the topics", error) from error
        return self._settings.topic in found.topics

    def bounds(self) -> tuple[int, int]:
        """The first offset, and the one after the last."""
        place = TopicPartition(self._settings.topic, PARTITION)
        doing = "asking for its first and last offset"
        timeout_s = self._settings.read_timeout_s
        try:
            found = watermarks(self._consumer, place, timeout_s, time.monotonic() + timeout_s)
        except KafkaException as error:
            raise ledger_failure(self._settings, doing, error) from error
        if found is None:
            raise self._too_slow(doing)
        return found

    def known_end(self) -> int:
        """The offset after the last record, as the last answer from Kafka had it; 0 before one."""
        place = TopicPartition(self._settings.topic, PARTITION)
        return max(0, self._consumer.get_watermark_offsets(place, cached=True)[1])

    def start(self, offset: int) -> None:
        """Read from an offset."""
        self._next = offset
        self._consumer.assign([TopicPartition(self._settings.topic, PARTITION, offset)])

    def rest(self) -> None:
        """Read no more, until the next start."""
        self._consumer.unassign()

    def serve(self) -> None:
        """Take what the client has reported, while it rests."""
        self._consumer.poll(0.0)

    def take(self, timeout_s: float) -> list[Message]:
        """Return the next records in order, waiting for the first; [] if none came."""
        first = self._consumer.poll(timeout_s)
        if first is None:
            return []
        # consume alone would wait for a full batch; so only what has already arrived.
        batch = [first, *self._consumer.consume(BATCH_RECORDS_MAX - 1, 0)]
        failed = [message for message in batch if message.error() is not None]
        for message in failed:
            self._look_at(message)
        records = [message for message in batch if message.error() is None] if failed else batch
        if records:
            self._next = offset_of(records[-1]) + 1
        return records

    def take_some(self) -> list[Message]:
        """Like take, for records that are known to be there; raises when none comes in time."""
        deadline_s = time.monotonic() + self._settings.read_timeout_s
        while time.monotonic() < deadline_s:
            if batch := self.take(POLL_S):
                return batch
        raise self._nothing_came()

    def _look_at(self, message: Message) -> None:
        """Raise an error that waiting does not resolve; the consumer itself retries the others."""
        error = message.error()
        if error is None:
            return
        if error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):
            raise LedgerMismatch(
                f"{self._settings.topic} has no record at the next offset "
                f"({describe(error)}): its records were deleted or it was created again. Restore "
                "the topic from a copy, or remove the reader's saved position to read the new "
                "ledger from its start"
            )
        if self._is_damage(error, offset_of(message)):
            raise self._damage(error, offset_of(message))
        if not passes(error) and classify(error) in LASTING:
            raise ledger_failure(self._settings, "reading", error, "Read")
        self._last_error(error)

    def _is_damage(self, error: KafkaError, offset: int) -> bool:
        """Whether reads fail because of the bytes at an offset.

        A broker has no code for some of it. It takes a batch whose magic byte is damaged for one
        of an old format, and by the bytes that come next answers INVALID_RECORD or UNKNOWN.
        """
        if error.code() == KafkaError.UNKNOWN:
            return self._persisting.fails(offset, time.monotonic())
        return error.code() in DAMAGED

    def _damage(self, error: KafkaError, offset: int) -> LedgerMismatch:
        is_clients = error.code() < KafkaError.UNKNOWN
        how_near = "at" if is_clients else "near"  # a broker names where it was asked
        where = f" {how_near} offset {offset}" if offset != NO_OFFSET else ""
        return LedgerMismatch(
            f"{self._settings.topic} is damaged{where}: its bytes are not those that were "
            f"written, as by a broker's disk ({describe(error)}). If another replica is whole, "
            f"let it lead (kafka-leader-election); else {RESTORE}"
        )

    def _nothing_came(self) -> LedgerUnavailable:
        """Say why no record came in time. Kafka reports nothing if a length is damaged."""
        end = 0 if self._last_error.text else self._asked_end()
        if end <= self._next:
            return self._too_slow("reading")
        why = (
            f"nothing came from offset {self._next} on within {self._settings.read_timeout_s:g} s, "
            f"and the topic ends at offset {end}: the brokers have too much to do, or the bytes of "
            "that record are damaged"
        )
        return unavailable(self._settings, "reading", why, Failure.RETRY)

    def _asked_end(self) -> int:
        """The offset after the last record, if a broker answers; else 0."""
        place = TopicPartition(self._settings.topic, PARTITION)
        try:
            found = watermarks(self._consumer, place, ANSWER_S, time.monotonic())
        except KafkaException:
            return 0
        return 0 if found is None else found[1]

    def _too_slow(self, doing: str) -> LedgerUnavailable:
        why = self._last_error.text or "no answer"
        within = f"{why} within {self._settings.read_timeout_s:g} s"
        return unavailable(self._settings, doing, within, Failure.RETRY)


def unavailable(
    settings: LedgerSettings, doing: str, why: str, failure: Failure
) -> LedgerUnavailable:
    """Say what could not be done on the ledger, and what to do."""
    remedy = "; check that the brokers run and can be reached, then try again"
    if failure is Failure.FATAL:
        remedy = "; it will not work until what Kafka names is changed"
    elif failure is Failure.DENIED:
        remedy = ""  # explain names it
    return LedgerUnavailable(
        f"{settings.topic} on {settings.bootstrap_servers}: {doing} failed: {why}{remedy}",
        retriable=failure is not Failure.FATAL,
    )


def ledger_failure(
    settings: LedgerSettings,
    doing: str,
    error: KafkaError | KafkaException,
    operation: str = "Describe",
    more: str = "",
) -> LedgerUnavailable:
    """Say what Kafka answered. operation: the right that is needed. more: what it said besides."""
    why = explain(error, operation, settings.topic, group=READER)
    return unavailable(settings, doing, f"{why} {more}".strip(), classify(error))


def wrong_settings(settings: LedgerSettings, error: KafkaException) -> LedgerUnavailable:
    """Say that a client could not even be made."""
    return unavailable(settings, "making a client", describe(error), Failure.FATAL)


def read_values(settings: LedgerSettings, offsets: range) -> list[bytes | None]:
    """Read the raw records of some offsets; LedgerUnavailable if they do not come in time."""
    values: list[bytes | None] = []
    if not offsets:
        return values
    with LedgerSource(settings) as source:
        source.start(offsets.start)
        while len(values) < len(offsets):
            batch = source.take_some()
            values += [message.value() for message in batch if message.offset() in offsets]
    return values


def check_known_entries(settings: LedgerSettings, known: Sequence[Known]) -> None:
    """Refuse a ledger that has lost an entry that it is known to have had; see the port."""
    if not known:
        return
    # They lie at the end, and what comes next waits for a fetch there that finds nothing more.
    hasty = msgspec.structs.replace(settings, reader={**settings.reader, **AT_ONCE})
    with LedgerSource(hasty) as source:
        source.check_topic()
        first, end = source.bounds()
        for one in known:
            check_known(settings.topic, one, first, end)
            source.start(one.position.offset)
            check_known_value(settings.topic, one, source.take_some()[0].value())


def delete_before(settings: LedgerSettings, offset: int) -> None:
    """Delete the records of a topic's partition before an offset; LedgerUnavailable if it fails."""
    place = TopicPartition(settings.topic, PARTITION, offset)
    try:
        with AdminClient(admin_settings(settings)) as admin:
            # Asking who leads a partition before there is any connection can take for ever. By its
            # name a topic that has been deleted would be created again by asking.
            admin.list_topics(timeout=settings.read_timeout_s)
            for future in admin.delete_records([place]).values():
                future.result(settings.read_timeout_s)
    except (KafkaException, TimeoutError) as error:
        doing = f"deleting records before offset {offset}"
        if isinstance(error, KafkaException):
            raise ledger_failure(settings, doing, error, "Delete") from error
        raise unavailable(settings, doing, "no answer", Failure.RETRY) from error


class KafkaLedgerReader:
    """A LedgerReader: tails a topic from its start, or from the last entry that is done.

    For one thread. Nothing is asked of Kafka before the first read.
    """

    def __init__(self, settings: LedgerSettings, position: Position | None = None) -> None:
        self._settings = settings
        self._scan = Scan(settings.topic, position, settings.seals())
        self._source: LedgerSource | None = None

    def read(self, timeout_s: float) -> list[Entry]:
        source = self._source or self._open()
        deadline_s = time.monotonic() + timeout_s
        while True:
            batch = source.take(max(0.0, deadline_s - time.monotonic()))
            if entries := take_all(self._scan, batch):
                return entries
            if time.monotonic() >= deadline_s:
                return []

    def offset_and_end(self) -> tuple[int, int]:
        at = self._scan.next_offset
        return at, at if self._source is None else max(at, self._source.known_end())

    def close(self) -> None:
        if self._source is not None:
            self._source.close()
            self._source = None

    def _open(self) -> LedgerSource:
        source = LedgerSource(self._settings)
        try:
            source.check_topic()
            self._scan.check_bounds(*source.bounds())
            source.start(self._scan.next_offset)
        except BaseException:
            source.close()
            raise
        self._source = source
        return source


class Whole:
    """The records that a ledger topic holds now: offsets first to end, end excluded."""

    def __init__(self, settings: LedgerSettings) -> None:
        self._settings = settings
        with LedgerSource(settings) as source:
            source.check_topic()
            self.first, self.end = source.bounds()

    def records(self, first: int | None = None) -> Iterator[Raw]:
        """Read them in order, raw; first: from this one on."""
        following = self.first if first is None else first
        if following >= self.end:
            return
        with LedgerSource(self._settings) as source:
            source.start(following)
            while following < self.end:
                for message in source.take_some():
                    following = offset_of(message) + 1
                    if following <= self.end:
                        yield Raw(following - 1, message.timestamp()[1], message.value())


def watermarks(
    consumer: Consumer, place: TopicPartition, timeout_s: float, deadline_s: float
) -> tuple[int, int] | None:
    """Ask for a partition's first offset, and the one after its last; None if no answer came.

    timeout_s: for an answer. Raises KafkaException, but tries until the deadline again what passes.
    """
    while True:
        try:
            return consumer.get_watermark_offsets(place, timeout_s)
        except KafkaException as error:  # a new topic's leader is not known everywhere at once
            if not passes(error_of(error)) or time.monotonic() > deadline_s:
                raise
            time.sleep(RETRY_S)
            # Of itself the client answers from memory that there is none, for five minutes.
            with contextlib.suppress(KafkaException):
                consumer.list_topics(place.topic, timeout_s)


def passes(error: KafkaError) -> bool:
    """Whether a failure is one that passes, as that a broker does not know a topic yet."""
    return error.code() in UNKNOWN or classify(error) is Failure.RETRY


def offset_of(message: Message) -> int:
    """The offset of a record or a delivery report; NO_OFFSET if it has none."""
    offset = message.offset()
    return NO_OFFSET if offset is None or offset < 0 else offset


def take_all(scan: Scan, batch: list[Message]) -> list[Entry]:
    """Take a batch of records; the valid entries among them."""
    take = scan.take
    taken = (take(offset_of(one), one.timestamp()[1], one.value()) for one in batch)
    return [entry for entry in taken if entry is not None]
