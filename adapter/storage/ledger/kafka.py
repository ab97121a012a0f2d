"""The ledger on Kafka: one topic, one partition, one idempotent producer for each term.

How it works, and why it is safe without clocks and without Kafka's transactions:

**Taking over.** The ledger is read to its present end, which says who its owner is. A new producer
(its sequence numbers start anew; nothing that the old one has in flight can slip in between)
appends OWNER_CHANGED with a random owner id, and names the owner it replaces. From that offset on,
no record of any other owner is valid for any reader. So what lies before it is final: reading up
to exactly that record gives the same state to us now and to anybody later. If another one has
replaced that owner before it, it is void, and this take-over has failed. An owner that takes over
*again* replaces only itself: one that was frozen, and was replaced meanwhile, ends.

**Appending.** The loop's thread calls produce and goes on. A thread of ours sits in poll; its
callbacks get each record's delivery report. An entry may be promised when it is *durable* (acks=all
said so) and *valid*. It is valid if no other OWNER_CHANGED lies before it and no n of ours is
missing before it. While each report's n and offset are one past the ones before, nothing of anybody
else lies between: valid, without reading. That is the whole cost of the usual path.

**A gap** in the offsets is read. Void records (a deposed owner's last ones, duplicates that the
producer wrote after a lost response, another program's text) are harmless. An OWNER_CHANGED means
that we were deposed *before* the reported record: it is void, nothing more is promised. Reports
that come in meanwhile wait.

**Doubt.** An append that failed, timed out, was purged or was reported without an offset may be in
the log or not (a request can sit in a socket and land later). Its later neighbours may have been
written behind the hole it left, which makes them void. So the first such report ends the term:
inside that callback the producer is purged, so that it sends and retries nothing more; nothing is
promised after it; the owner hears on_doubt once, and takes over again to read what happened. What
still lands after the next OWNER_CHANGED is void; what landed before it is replayed. That is why
"unknown" never has to be guessed.

A record that Kafka refuses by itself (too large for the topic) ends the term too; another take-over
would not cure that, and the doubt says so. One that it refuses for a missing right is in doubt like
others: the take-over fails until the right is granted, and is tried until then.

**Threads.** append runs on the owner's loop; take_over and close on any thread, one at a time; the
poll thread calls on_durable and on_doubt. poll raises there what is fatal to the producer: whatever
ends that thread is a doubt. It blocks in librdkafka without the GIL and is woken by a condition
variable, so an append pays one thread switch more than produce and flush would; one poll serves all
reports that wait, and on_durable is called once for them, with the highest n.

An owner that has nothing else to do saves that switch: look takes the reports on the owner's own
thread, which waits for them, and the poll thread rests. `_polling` is locked by the one that polls,
so that reports are taken in order. The poll thread is back at work when an append is not reported
within the wait of look, when there is a gap to read or a doubt to tell, and when the owner calls
leave; while it rests, it polls every POLL_S all the same, for what concerns no append.
"""

import contextlib
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from adapter.host import watched
from adapter.storage.ledger import kafka_signs
from adapter.storage.ledger.attempts import OwnerAttempts
from adapter.storage.ledger.envelope import RecordNumber, encode_entry, step_of
from adapter.storage.ledger.failures import Failure, classify, describe, explain
from adapter.storage.ledger.forged import ForgedReports
from adapter.storage.ledger.kafka_announcing import announce, announce_again, check_wanted
from adapter.storage.ledger.kafka_producers import POLL_S
from adapter.storage.ledger.kafka_reader import (
    NO_OFFSET,
    PARTITION,
    KafkaLedgerReader,
    LedgerSource,
    check_known_entries,
    delete_before,
    offset_of,
    read_values,
    take_all,
)
from adapter.storage.ledger.kafka_ready import OwnerProducer, ReadyClients
from adapter.storage.ledger.kafka_settings import LedgerSettings
from adapter.storage.ledger.port import (
    COUNTS,
    RECORD_BYTES_MAX,
    Entry,
    Forged,
    Known,
    LastRecord,
    LedgerClosed,
    LedgerError,
    LedgerFull,
    Position,
    RefusedByKafka,
    TakenOver,
    check_size,
    ignore_doubt,
    ignore_durable,
    ignore_forged,
)
from adapter.storage.ledger.scan import Scan
from adapter.storage.ledger.seals import Seals
from adapter.storage.ledger.term import Term

__all__ = ["KafkaLedger", "KafkaLedgerReader", "LedgerSettings"]

STOP_TIMEOUT_S: Final = 10.0
IN_USE_S: Final = 1.0
"""How long a take-over or a close waits for clients that are in use."""
TOO_LARGE: Final = frozenset({KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.RECORD_LIST_TOO_LARGE})

Durable = Callable[[int], None]
Doubt = Callable[[str], None]
OnForged = Callable[[Forged], None]


class LedgerWriter:
    """One producer and the term it writes."""

    def __init__(
        self,
        settings: LedgerSettings,
        owner: bytes,
        writes: OwnerProducer,
        given_up: threading.Event | None = None,
        seals: Seals | None = None,
    ) -> None:
        """given_up: the owner wants no take-over any more."""
        self._seals = seals
        self.promised_n = 0
        self.doubted = False
        self._settings = settings
        self._owner = owner
        self._given_up = given_up or threading.Event()
        self._last_error = writes.last_error
        self._producer: Producer | None = writes.producer
        self._failure = ""  # why the term is over
        self._ended = False
        self._stopped = False
        self._polling = threading.Lock()
        self._rests = False  # the poll thread: the owner looks for reports itself
        self._wanted = threading.Event()  # the poll thread, at once
        self._unread: deque[tuple[RecordNumber, int]] = deque()  # reports from the first gap on
        self._poller: threading.Thread | None = None
        self._on_durable: Durable = ignore_durable
        self._on_doubt: Doubt = ignore_doubt
        self._on_forged: OnForged = ignore_forged
        self._term: Term | None = None

    def change_owner(self, change: bytes) -> int:
        """Append our OWNER_CHANGED and wait for it; its offset."""
        assert self._producer is not None, "a stopped writer was used"
        return announce(self._settings, self._producer, self._last_error, self._given_up, change)

    def announce_again(self, who: bytes) -> None:
        """Append once more what we say of ourselves. From any thread."""
        producer, term = self._producer, self._term
        if self._ended or term is None or producer is None:
            raise LedgerClosed(f"{self._settings.topic}: this owner's term has ended")
        passes = partial(self._pass_over, term)
        announce_again(self._settings, producer, term, who, passes, lambda: self._ended)

    def _pass_over(self, term: Term, offset: int) -> None:
        """Take the report of a record of ours that is no entry, in poll, in the order of all."""
        if not self._unread:  # else it lies in a gap, which is read
            term.pass_over(offset)

    def start(
        self, offset: int, on_durable: Durable, on_doubt: Doubt, on_forged: OnForged = ignore_forged
    ) -> None:
        """Begin the term behind our OWNER_CHANGED."""
        self._term = Term(self._settings.topic, self._owner, offset, self._seals)
        self._on_durable, self._on_doubt, self._on_forged = on_durable, on_doubt, on_forged
        self._poller = watched.thread("ledger", self._serve, self._broke)

    def append(self, payload: bytes) -> int:
        term = self._term
        topic = self._settings.topic
        producer = self._producer
        if self._ended or term is None or producer is None:
            raise LedgerClosed(f"{topic}: this owner's term has ended; take over first")
        check_size(topic, payload)
        n = term.next_n
        self._produce(producer, n, term.as_written(encode_entry(term.owner, n, payload)))
        term.next_n = n + 1
        return n

    def _produce(self, producer: Producer, n: int, records: Iterable[bytes]) -> None:
        topic = self._settings.topic
        for number, value in enumerate(records):
            try:
                producer.produce(topic, value, partition=PARTITION, on_delivery=self._reported)
            except BufferError as full:
                if number:  # what is begun and not finished must not stand in the way
                    self._fail(f"{topic}: entry n {n} is too long for the producer's queue")
                    raise LedgerClosed(self._failure) from full
                raise LedgerFull(
                    f"{topic}: {len(producer)} records wait for their durability; append more "
                    "when on_durable has been called"
                ) from full
            except KafkaException as error:  # the producer is of no more use: the thread says so
                self._fail(f"{topic}: entry n {n} was refused: {describe(error)}")
                raise LedgerClosed(self._failure) from error

    def durable(self) -> Position:
        assert self._term is not None, "the term has begun"
        return self._term.at

    def stop(self) -> None:
        """End without a word; what is in flight stays unknown."""
        self._stopped = self._ended = True
        self._purge()
        self._wanted.set()
        thread = self._poller
        if thread is not None and thread is not threading.current_thread():
            thread.join(STOP_TIMEOUT_S)
        if self._producer is not None:
            # What was purged is reported now: untaken reports would keep this object for ever.
            with contextlib.suppress(KafkaException):
                self._producer.poll(0)
        # Destroyed here, and not by a garbage collection on the loop's thread: it takes its time.
        self._producer = None

    def _serve(self) -> None:
        """Serve delivery reports until the term ends."""
        producer, term = self._producer, self._term
        assert producer is not None, "the term has begun"
        assert term is not None, "the term has begun"
        while not self._ended:
            if self._rests:
                self._wanted.wait(POLL_S)
                self._wanted.clear()
            with self._polling:
                works = bool(self._unread) or self._take_reports(producer)
                if works and self._unread and not self._failure:
                    self._read_gaps(term)
                if works:
                    self._promise(term)
            if not works:
                break
        self._tell_doubt()

    def _take_reports(self, producer: Producer) -> bool:
        """Poll; False if the producer is of no more use, which ends the term."""
        try:
            producer.poll(0.0 if self._rests else POLL_S)
        except KafkaException as error:
            self._fail(
                f"{self._settings.topic}: the producer of the ledger failed for good: "
                f"{describe(error)}; what is not acknowledged is in doubt, and the ledger is taken "
                "over again. If this is repeated, check the topic and the brokers that keep it"
            )
            return False
        return True

    def _promise(self, term: Term) -> None:
        if term.durable_n > self.promised_n and not self._stopped:
            self.promised_n = term.durable_n
            self._on_durable(term.durable_n)

    def look(self, wait_s: float) -> bool:
        producer, term = self._producer, self._term
        if self._ended or producer is None or term is None:
            return False
        self._rests = True
        is_all = False
        if self._polling.acquire(timeout=wait_s):
            try:
                if term.has_undurable and not self._unread:
                    producer.poll(wait_s)
                is_all = not term.has_undurable and not self._ended
                if is_all:
                    self.promised_n = term.durable_n
                else:
                    self._promise(term)
            except Exception as error:  # noqa: BLE001 -- as what ends the poll thread: a doubt
                self._fail(f"{self._settings.topic}: taking reports failed: {error!r}")
            finally:
                self._polling.release()
        if not is_all:
            self.leave()
        return is_all

    def leave(self) -> None:
        self._rests = False
        self._wanted.set()

    def _broke(self, what: str) -> None:
        """Doubt, when the thread has ended."""
        self._fail(f"{self._settings.topic}: {what}")
        self._tell_doubt()

    def _tell_doubt(self) -> None:
        if self._failure and not self._stopped and not self.doubted:
            self.doubted = True
            self._on_doubt(self._failure)

    def _reported(self, error: KafkaError | None, message: Message) -> None:
        """Take one delivery report, in poll, in the order of the appends."""
        if self._failure or self._term is None:
            return
        step = step_of(message.value() or b"")
        n = step.n
        offset = offset_of(message)
        if error is not None:
            self._fail(self._meaning(n, error))
        elif offset == NO_OFFSET:
            self._fail(f"{self._settings.topic}: entry n {n} is doubtful: reported without offset")
        elif self._unread or not self._term.follows(step, offset):
            self._unread.append((step, offset))

    def _meaning(self, n: int, error: KafkaError) -> str:
        """Say what it means that an entry was not written."""
        topic = self._settings.topic
        if error.code() < 0 or classify(error) is not Failure.FATAL:
            return f"{topic}: entry n {n} is doubtful: {explain(error, 'Write', topic)}"
        remedy = "change what Kafka names"
        if error.code() in TOO_LARGE:
            remedy = f"set max.message.bytes of {topic} to {RECORD_BYTES_MAX} or more"
        return RefusedByKafka(
            f"Kafka refuses what is written to {topic}: {describe(error)}; {remedy}, and start the "
            "queue manager again. Nothing that was acknowledged is lost"
        )

    def _fail(self, why: str) -> None:
        """End the term; called in the producer's callback, so that nothing more is sent."""
        self._failure = self._failure or why
        self._ended = True
        self._purge()
        self._wanted.set()

    def _purge(self) -> None:
        if self._producer is not None:
            self._producer.purge(blocking=False)

    def _read_gaps(self, term: Term) -> None:
        """Judge the reports that did not follow, by what lies between."""
        while self._unread and not self._failure:
            step, offset = self._unread.popleft()
            if term.follows(step, offset):
                continue
            try:
                values = read_values(self._settings, term.gap(offset))
            except LedgerError as error:
                doubt = f"n {step.n} is doubtful, for the records before it are unread: {error}"
            else:
                doubt = term.judge_gap(step, offset, values)
                if (forged := term.take_forged()) is not None:
                    self._on_forged(forged)
            if doubt:
                self._fail(doubt)


class KafkaLedger:
    """The Ledger of one queue manager on Kafka; see the module's text.

    The topic must exist (adapter.storage.topics.admin makes it).
    """

    def __init__(self, settings: LedgerSettings) -> None:
        self.on_durable: Durable = ignore_durable
        self.on_doubt: Doubt = ignore_doubt
        self.on_forged: OnForged = ignore_forged
        self._settings = settings
        self._seals = settings.seals()
        self._writer: LedgerWriter | None = None
        self._ready: ReadyClients | None = None
        self._readying = threading.Lock()
        self._takes = 0
        """How often ready clients were taken: those that were made meanwhile are not kept."""
        self._confirmed: Position | None = None
        """The last entry of our last term that Kafka confirmed."""
        self._attempted = OwnerAttempts()
        self._who = b""
        """What the owner of the last term says of itself."""
        self._given_up = threading.Event()
        self._forged = ForgedReports(lambda found: self.on_forged(found))  # noqa: PLW0108
        self._counts = dict.fromkeys(COUNTS, 0)

    @property
    def place(self) -> str:
        return f"{self._settings.topic} on {self._settings.bootstrap_servers}"

    def give_up(self) -> None:
        self._given_up.set()

    def prepare(self) -> None:
        with self._readying:
            ready, takes = self._ready, self._takes
            if ready is not None:
                ready.serve()
                return
        made = ReadyClients(self._settings)
        try:
            made.find()
        except BaseException:
            made.close()
            raise
        with self._readying:
            is_late = takes != self._takes or self._given_up.is_set()
            if self._ready is None and not is_late:
                self._ready = made
                return
        made.close()

    def _take_ready(self) -> ReadyClients | None:
        """Take them, unless another thread waits for Kafka's answer by them: then it keeps them."""
        self._takes += 1
        if not self._readying.acquire(timeout=IN_USE_S):
            return None
        ready, self._ready = self._ready, None
        self._readying.release()
        return ready

    def take_over(
        self,
        owner: bytes,
        who: str,
        replay: Callable[[Entry], None],
        after: Position | None = None,
        *,
        again: bool = False,
        instead_of: bytes | None = None,
    ) -> TakenOver:
        ready = self._take_ready()
        self._end_term()
        if ready is None:
            ready = ReadyClients(self._settings)
        with ready.source as source:
            scan = Scan(self._settings.topic, after, self._seals, self._forged.through)
            try:
                ready.find()
                writer = LedgerWriter(
                    self._settings, owner, ready.writes, self._given_up, self._seals
                )
                self._read(source, scan, replay)
                if again or instead_of is not None:
                    scan.require_one_of(self._attempted, instead_of)
                check_wanted(self._settings, self._given_up)
                replaced = scan.validity.owner
                self._attempted.add(owner)
                in_force = scan.validity.key
                self._who = who.encode()
                change = self._seals.change(owner, replaced, in_force, self._who)
                offset = writer.change_owner(change)
                self._read_tail(source, scan, owner, offset, replay)
                scan.require_replaced(replaced, owner, self._attempted)
                taken = scan.taken_over(offset, self._seals.begins_with)
            except BaseException:
                ready.writes.close()
                raise
        self._forged.report(scan.forged)
        writer.start(offset, self.on_durable, self.on_doubt, self._forged.report)
        self._writer = writer
        self._counts["takeovers"] += 1
        self._counts["replayed"] += taken.entries
        return taken

    def check(self, known: Sequence[Known]) -> None:
        check_known_entries(self._settings, known)

    def last_record(self) -> LastRecord | None:
        with self._readying:
            ready = self._ready
            source = ready.source if ready is not None else None
            return kafka_signs.find_last_record(self._settings, source)

    def time_ms(self) -> int:
        return kafka_signs.time_ms(self._settings)

    def announcement_of(self, owner: bytes) -> str:
        return kafka_signs.find_announcement(self._settings, owner)

    def announce_again(self) -> None:
        if self._writer is None:
            raise LedgerClosed(f"{self._settings.topic} is not ours: take over first")
        self._writer.announce_again(self._who)

    def append(self, payload: bytes) -> int:
        if self._writer is None:
            raise LedgerClosed(f"{self._settings.topic} is not ours: take over first")
        n = self._writer.append(payload)
        self._counts["appends"] += 1
        return n

    def look(self, wait_s: float) -> bool:
        return self._writer is not None and self._writer.look(wait_s)

    def leave(self) -> None:
        if self._writer is not None:
            self._writer.leave()

    def durable(self) -> Position:
        if self._writer is None:
            raise LedgerClosed(f"{self._settings.topic} is not ours: take over first")
        return self._writer.durable()

    def bounds(self) -> tuple[int, int]:
        with LedgerSource(self._settings) as source:
            source.check_topic()
            return source.bounds()

    def trim(self, before: int) -> None:
        delete_before(self._settings, before)

    def close(self) -> None:
        ready = self._take_ready()
        if ready is not None:
            ready.close()
        self._end_term()

    def _end_term(self) -> None:
        writer = self._writer
        if writer is None:
            return
        writer.stop()
        self._confirmed = writer.durable()
        self._writer = None
        self._counts["durable"] += writer.promised_n
        self._counts["doubts"] += writer.doubted

    def statistics(self) -> dict[str, int]:
        counts = self._counts | {"forged": self._forged.count}
        if self._writer is not None:
            counts["durable"] += self._writer.promised_n
            counts["doubts"] += self._writer.doubted
        return counts

    def _read(self, source: LedgerSource, scan: Scan, replay: Callable[[Entry], None]) -> None:
        """Read what is there. Nothing is written to a ledger that has lost entries."""
        first, end = source.bounds()
        scan.check_bounds(first, end)
        source.start(scan.next_offset)
        while scan.next_offset < end:
            check_wanted(self._settings, self._given_up)
            for entry in take_all(scan, source.take_some()):
                replay(entry)
        scan.require_confirmed(self._confirmed)

    def _read_tail(
        self,
        source: LedgerSource,
        scan: Scan,
        owner: bytes,
        offset: int,
        replay: Callable[[Entry], None],
    ) -> None:
        """Read up to our own record, which must be there."""
        while True:
            check_wanted(self._settings, self._given_up)
            batch = source.take_some()
            before = [one for one in batch if offset_of(one) < offset]
            for entry in take_all(scan, before):
                replay(entry)
            if len(before) < len(batch):
                scan.require_own(offset, owner, batch[len(before)].value())
                return
