"""A ledger in memory: for simulation, tests, and a queue manager inside one process.

MemoryLog is the topic: it holds the real bytes of every record and survives its ledgers, so that a
restart is a new MemoryLedger on the same log. MemoryLedger keeps the rules that KafkaLedger keeps,
by the same code (term, scan, validity).

**When reports come.** By default append itself calls on_durable (or on_doubt) before it returns,
as Kafka's thread may. A single-threaded owner that wants its replies parked first makes the ledger
with ``pumped=True``: then nothing is reported until it calls ``pump()``, which reports once, with
the highest n. The fault "slow durable" holds reports back until ``release()`` in both modes.

**Faults** are named in FAULTS and armed with ``log.arm(name, at)``: the at-th append from now on
meets it. A take-over is refused while ``log.unavailable`` holds a text, and its announcement while
``log.unwritable`` does.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from msgspec import Struct

from adapter.storage.ledger import envelope as envelopes
from adapter.storage.ledger import port, signs
from adapter.storage.ledger.attempts import OwnerAttempts
from adapter.storage.ledger.forged import ForgedReports
from adapter.storage.ledger.scan import Scan, check_known, check_known_value
from adapter.storage.ledger.seals import NO_KEYS, SealKeys, Seals
from adapter.storage.ledger.term import Term
from adapter.storage.ledger.trims import reading_anew
from adapter.storage.ledger.validity import Verdict

NOT_AN_OWNER = b"a probe of time".ljust(envelopes.OWNER_BYTES)
READ_ENTRIES_MAX = 10_000  # one read() of a tailing reader; a mover's transaction is smaller


def wall_clock_ms() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


class LogRecord(Struct, gc=False):
    """One record as the log keeps it."""

    time_ms: int
    value: bytes


class DeliveryReport(Struct, gc=False):
    """What a producer says of one record: where it was written, or why it may not have been."""

    step: envelopes.RecordNumber
    offset: int = -1
    failure: str = ""


class MemoryLog:
    """The shared bytes of one ledger topic.

    clock_ms: stamps records (a simulation gives its own); stamps go back if it does, as on Kafka.
    """

    def __init__(
        self, topic: str = "memory.ledger", clock_ms: Callable[[], int] = wall_clock_ms
    ) -> None:
        self.topic = topic
        self.unavailable = self.unwritable = ""
        self._clock_ms = clock_ms
        self._records: list[LogRecord] = []
        self._first = 0
        self._armed: dict[int, str] = {}
        self._appends = 0
        self._late: list[bytes] = []
        self._grown = threading.Condition()

    @property
    def first(self) -> int:
        """The offset of the oldest record that is still there."""
        return self._first

    @property
    def end(self) -> int:
        """The offset of the next record."""
        return self._first + len(self._records)

    def write(self, value: bytes) -> int:
        """Write any bytes at the end, as anybody with access to a topic can; their offset."""
        with self._grown:
            offset = self.end
            late, self._late = self._late, []
            for one in (value, *late):
                self._records.append(LogRecord(self._clock_ms(), one))
            self._grown.notify_all()
            return offset

    def write_late(self, value: bytes) -> None:
        """Let bytes arrive behind the next ones, as a request that was given up may."""
        self._late.append(value)

    def read(self, offset: int, end: int) -> list[LogRecord]:
        """The records from offset up to end, that excluded; less if the log ends before.

        Raises LedgerMismatch if some of them were deleted, as Kafka refuses an offset that is gone.
        """
        with self._grown:
            if offset < self._first:
                raise port.LedgerMismatch(
                    f"{self.topic} begins at offset {self._first}: {offset} was deleted"
                )
            start = offset - self._first
            return self._records[start : max(start, end - self._first)]

    def wait(self, offset: int, timeout_s: float) -> bool:
        """Wait until there is a record at offset."""
        with self._grown:
            return self._grown.wait_for(lambda: self.end > offset, timeout_s)

    def trim(self, before: int) -> None:
        """Delete the records before an offset, as a wrong retention would."""
        with self._grown:
            del self._records[: before - self._first]
            self._first = before

    def recreate(self) -> None:
        """Lose everything, as a topic that is deleted and created again."""
        self._records.clear()
        self._first = 0

    def arm(self, fault: str, at: int = 1) -> None:
        """Let the at-th append from now on (of any ledger) meet a fault; see FAULTS."""
        if fault not in FAULTS:
            raise ValueError(f"no fault {fault!r}: they are {', '.join(FAULTS)}")
        self._armed[self._appends + at] = fault

    def disarm(self) -> None:
        """Let all appends that are still to come go well."""
        self._armed.clear()

    def next_fault(self) -> str:
        """Count an append; the name of the fault that it meets, or ""."""
        self._appends += 1
        return self._armed.pop(self._appends, "")


class MemoryLedger:
    """A Ledger on a MemoryLog; see the module's text for when reports come."""

    def __init__(
        self,
        log: MemoryLog,
        *,
        pumped: bool = False,
        part_bytes: int = envelopes.PART_BYTES,
        keys: SealKeys = NO_KEYS,
    ) -> None:
        """part_bytes: longer payloads are written in parts. keys: of the ledger's seals."""
        self.on_durable: Callable[[int], None] = port.ignore_durable
        self.on_doubt: Callable[[str], None] = port.ignore_doubt
        self.on_forged: Callable[[port.Forged], None] = port.ignore_forged
        self.log = log
        self._seals = Seals(log.topic, keys)
        self._pumped = pumped
        self._part_bytes = part_bytes
        self._term: Term | None = None
        self._confirmed: port.Position | None = None
        self._attempted = OwnerAttempts()
        self._who = b""
        self._reports: deque[DeliveryReport] = deque()
        self._slow = False
        self._late = False
        self._given_up = False
        self._forged = ForgedReports(lambda found: self.on_forged(found))  # noqa: PLW0108
        self._counts = dict.fromkeys(port.COUNTS, 0)

    @property
    def place(self) -> str:
        return self.log.topic

    def give_up(self) -> None:
        self._given_up = True

    def prepare(self) -> None:
        """Nothing takes time here."""

    def take_over(
        self,
        owner: bytes,
        who: str,
        replay: Callable[[port.Entry], None],
        after: port.Position | None = None,
        *,
        again: bool = False,
        instead_of: bytes | None = None,
    ) -> port.TakenOver:
        self.close()
        log = self.log
        if log.unavailable:
            raise port.LedgerUnavailable(f"{log.topic} cannot be taken over: {log.unavailable}")
        scan = Scan(log.topic, after, self._seals, self._forged.through)
        scan.check_bounds(log.first, log.end)
        self._replay(scan, log.end, replay)
        scan.require_confirmed(self._confirmed)
        if again or instead_of is not None:
            scan.require_one_of(self._attempted, instead_of)
        if self._given_up:
            raise port.LedgerUnavailable(f"{log.topic} was not taken over: this was given up")
        replaced = scan.validity.owner
        self._attempted.add(owner)
        if log.unwritable:
            raise port.LedgerUnavailable(f"{log.topic} cannot be written: {log.unwritable}")
        self._who = who.encode()
        offset = log.write(self._seals.change(owner, replaced, scan.validity.key, self._who))
        self._replay(scan, offset, replay)
        scan.require_replaced(replaced, owner, self._attempted)
        self._term = Term(log.topic, owner, offset, self._seals)
        self._forged.report(scan.forged)
        self._counts["takeovers"] += 1
        self._counts["replayed"] += scan.met[Verdict.VALID]
        return scan.taken_over(offset, self._seals.begins_with)

    def _replay(self, scan: Scan, end: int, replay: Callable[[port.Entry], None]) -> None:
        for at, record in enumerate(self.log.read(scan.next_offset, end), scan.next_offset):
            entry = scan.take(at, record.time_ms, record.value)
            if entry is not None:
                replay(entry)

    def check(self, known: Sequence[port.Known]) -> None:
        log = self.log
        for one in known:
            offset = one.position.offset
            check_known(log.topic, one, log.first, log.end)
            check_known_value(log.topic, one, log.read(offset, offset + 1)[0].value)

    def last_record(self) -> port.LastRecord | None:
        def find(first: int, end: int) -> port.LastRecord | None:
            return signs.find_last_record(self.log.topic, first, end, self._seen, self._seals)

        return reading_anew(self.bounds, find)

    def time_ms(self) -> int:
        offset = self.log.write(signs.probe(NOT_AN_OWNER))
        return self.log.read(offset, offset + 1)[0].time_ms

    def announcement_of(self, owner: bytes) -> str:
        def find(first: int, end: int) -> str:
            return signs.announcement(self._seen(first, end), owner, self._seals)[0]

        return reading_anew(self.bounds, find)

    def announce_again(self) -> None:
        term = self._term
        if term is None:
            raise port.LedgerClosed(f"{self.log.topic} is not ours: take over first")
        if self.log.unwritable:
            raise port.LedgerUnavailable(
                f"{self.log.topic} cannot be written: {self.log.unwritable}"
            )
        for record in term.as_written((signs.probe(term.owner, self._who),)):
            self.log.write(record)

    def _seen(self, start: int, end: int) -> list[signs.Seen]:
        records = enumerate(self.log.read(start, end), start)
        return [signs.Seen(offset, record.time_ms, record.value) for offset, record in records]

    def append(self, payload: bytes) -> int:
        term = self._term
        if term is None:
            raise port.LedgerClosed(
                f"{self.log.topic}: this owner's term has ended; take over first"
            )
        port.check_size(self.log.topic, payload)
        n = term.next_n
        term.next_n = n + 1
        self._counts["appends"] += 1
        records = envelopes.encode_entry(term.owner, n, payload, self._part_bytes)
        for value in term.as_written(records):
            self._late = False
            FAULTS[self.log.next_fault()](self, value)
        if not self._pumped and not self._late:
            self.pump()
        return n

    def pump(self) -> None:
        """Report what became durable, once, and then the doubt; nothing when there is nothing."""
        term = self._term
        if term is None or self._slow:
            return
        before = term.durable_n
        doubt = self._look_at_reports(term)
        if term.durable_n > before:
            self._counts["durable"] += term.durable_n - before
            self.on_durable(term.durable_n)
        if doubt:
            self._end_term()
            self._counts["doubts"] += 1
            self.on_doubt(doubt)

    def look(self, wait_s: float) -> bool:  # noqa: ARG002 -- the port's name
        """See the port: nothing is in flight here, or it is reported by pump."""
        return False

    def leave(self) -> None:
        pass

    def durable(self) -> port.Position:
        if self._term is None:
            raise port.LedgerClosed(f"{self.log.topic} is not ours: take over first")
        return self._term.at

    def bounds(self) -> tuple[int, int]:
        return self.log.first, self.log.end

    def trim(self, before: int) -> None:
        if before > self.log.first:
            self.log.trim(before)

    def release(self) -> None:
        """End "slow durable": report what was held back."""
        self._slow = False
        self.pump()

    def close(self) -> None:
        self._end_term()

    def statistics(self) -> dict[str, int]:
        return self._counts | {"forged": self._forged.count}

    def written(self, value: bytes) -> None:
        """For faults: write the record, and queue the report that it was."""
        self._reports.append(DeliveryReport(envelopes.step_of(value), self.log.write(value)))

    def failed(self, value: bytes, *, late: bool = False) -> None:
        """For faults: queue a failure; late: not reported before the next append or pump."""
        self._late = late
        step = envelopes.step_of(value)
        text = f"{self.log.topic}: entry n {step.n} failed, or its confirmation was lost"
        self._reports.append(DeliveryReport(step, failure=text))

    def change_of(self, owner: bytes, replaces: bytes, who: bytes) -> bytes:
        """For faults: give the OWNER_CHANGED of another owner with the keys of this one."""
        return self._seals.change(owner, replaces, self._seals.begins_with, who)

    def hold(self) -> None:
        """For faults: report nothing until release()."""
        self._slow = True

    def _look_at_reports(self, term: Term) -> str:
        while self._reports:
            report = self._reports.popleft()
            if report.failure:
                return report.failure
            if term.follows(report.step, report.offset):
                continue
            gap = term.gap(report.offset)
            try:
                values = [record.value for record in self.log.read(gap.start, gap.stop)]
            except port.LedgerMismatch as error:
                return f"n {report.step.n} is doubtful, for the records before it are gone: {error}"
            doubt = term.judge_gap(report.step, report.offset, values)
            self._forged.report(term.take_forged())
            if doubt:
                return doubt
        return ""

    def _end_term(self) -> None:
        if self._term is not None:
            self._confirmed = self._term.at
        self._term = None
        self._reports.clear()
        self._slow = False


class MemoryLedgerReader:
    """A LedgerReader: tails a MemoryLog from its start, or from the last entry that is done."""

    def __init__(
        self, log: MemoryLog, position: port.Position | None = None, keys: SealKeys = NO_KEYS
    ) -> None:
        self._log = log
        self._scan = Scan(log.topic, position, Seals(log.topic, keys))

    def read(self, timeout_s: float) -> list[port.Entry]:
        log = self._log
        self._scan.check_bounds(log.first, log.end)
        deadline_s = time.monotonic() + timeout_s
        while log.wait(self._scan.next_offset, max(0.0, deadline_s - time.monotonic())):
            if entries := self._take():
                return entries
        return []

    def offset_and_end(self) -> tuple[int, int]:
        return self._scan.next_offset, self._log.end

    def close(self) -> None:
        pass

    def _take(self) -> list[port.Entry]:
        start = self._scan.next_offset
        records = self._log.read(start, start + READ_ENTRIES_MAX)
        taken = (
            self._scan.take(offset, record.time_ms, record.value)
            for offset, record in enumerate(records, start)
        )
        return [entry for entry in taken if entry is not None]


def meet_nothing(ledger: MemoryLedger, value: bytes) -> None:
    """Written and reported."""
    ledger.written(value)


def meet_lost_before_durable(ledger: MemoryLedger, value: bytes) -> None:
    """Never written; reported as doubtful."""
    ledger.failed(value)


def meet_lost_after_durable(ledger: MemoryLedger, value: bytes) -> None:
    """Written, and all the same reported as doubtful: the confirmation was lost."""
    ledger.log.write(value)
    ledger.failed(value)


def meet_doubtful(ledger: MemoryLedger, value: bytes) -> None:
    """Reported as doubtful, and written only behind what is written next: mostly a take-over."""
    ledger.log.write_late(value)
    ledger.failed(value)


def meet_duplicate(ledger: MemoryLedger, value: bytes) -> None:
    """Written twice, as by a producer whose batch timed out; the first is reported."""
    ledger.written(value)
    ledger.log.write(value)


def meet_hole(ledger: MemoryLedger, value: bytes) -> None:
    """Rejected, but that is known only after the next append has been written behind it."""
    ledger.failed(value, late=True)


def meet_rival(ledger: MemoryLedger, value: bytes) -> None:
    """A rival takes over just before the record is written."""
    rival = f"rival-{ledger.log.end}".encode().ljust(envelopes.OWNER_BYTES, b".")
    ledger.log.write(ledger.change_of(rival, ledger.durable().owner, b"a rival"))
    ledger.written(value)


def meet_slow_durable(ledger: MemoryLedger, value: bytes) -> None:
    """Written; this report and all after it wait for release()."""
    ledger.hold()
    ledger.written(value)


def meet_corrupt_tail(ledger: MemoryLedger, value: bytes) -> None:
    """The record is torn, as by a machine that dies; reported as doubtful.

    Torn inside the envelope: a topic's checksums see to it that no reader gets half a payload.
    """
    ledger.log.write(value[: len(value) // 2][: envelopes.HEADER_BYTES - 1])
    ledger.failed(value)


FAULTS: Mapping[str, Callable[[MemoryLedger, bytes], None]] = MappingProxyType(
    {
        "": meet_nothing,
        "lost before durable": meet_lost_before_durable,
        "lost after durable": meet_lost_after_durable,
        "doubtful": meet_doubtful,
        "duplicate": meet_duplicate,
        "hole": meet_hole,
        "rival owner": meet_rival,
        "slow durable": meet_slow_durable,
        "corrupt tail": meet_corrupt_tail,
    }
)
"""What an append can meet: name -> what happens. "" is no fault."""
