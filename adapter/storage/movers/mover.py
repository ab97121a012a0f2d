"""A mover: from ledger entries to Kafka transactions, exactly once.

A mover reads valid entries from where its progress says, copies their records in order, and writes
its progress in the same transaction. Transactions end between records, so a unit is never split,
but anywhere within an entry: the progress counts the records of the entry that it stands in.

Whatever goes wrong ends the *term*: producers, reader and all that is remembered are thrown away,
and the next term begins with new producers and the progress as it was committed. There is no other
recovery. Nothing is ever skipped: what cannot be copied is tried again, and holds the mover; or, if
it is known which topic refuses, that topic is *parked*, and its copies are written later, in order
(movers.parking has the theory of that). The modes are a table in movers.lifecycle.

A term, step by step:

1. Both transactional producers are replaced: what an earlier mover has open is aborted, and what it
   has still under way is refused (movers.transactions).
2. A *mark* is committed by each producer. Once the marks are visible, so is every earlier commit,
   and only then is the progress read: marks before progress, or a term may copy twice. If Kafka
   left a progress open that a mark would commit, the lanes are compared with it first, and it is
   aborted if its copies are not on them (movers.open_progress).
3. Topics that refused in the term before are parked, at this progress, in a transaction of its own.
   What Kafka left open in the lanes of the others is ended (movers.open_lanes).
4. Entries are read from the progress on, and copied until something fails or the mover is stopped.
   Between two transactions a parked topic may have its turn.

What is copied, and to where, its projection knows; a mover must not know queues or events.
"""

from __future__ import annotations

import contextlib
import threading

import structlog
from confluent_kafka import KafkaException

from adapter.host import logs
from adapter.storage.format.movable import Movable
from adapter.storage.format.progress import NOWHERE, CopyProgress
from adapter.storage.format.schemas import UnreadableError
from adapter.storage.ledger.port import (
    Entry,
    LedgerMismatch,
    LedgerReader,
    LedgerUnavailable,
    Position,
)
from adapter.storage.movers.errors import Doubtful, MoverError
from adapter.storage.movers.figures import CopyFigures
from adapter.storage.movers.lifecycle import MoverLifecycle
from adapter.storage.movers.open_progress import OpenProgress
from adapter.storage.movers.pace import Pace
from adapter.storage.movers.parking import Held, MakeReader, Parking
from adapter.storage.movers.progress import read_last, with_records
from adapter.storage.movers.projection import Projection
from adapter.storage.movers.settings import PARTITIONS, MoverSettings
from adapter.storage.movers.writer import CopyWriter
from adapter.storage.topics.admin import TopicError

ENDLESS = (
    "if this continues, Kafka cannot end the open transaction, because a topic refuses even the "
    "end of a transaction"
)
IDLE_PROGRESS_S = 5.0
"""How long the progress over entries without anything to copy may stay unwritten."""
BACKOFF_S = 0.1
BACKOFF_S_MAX = 5.0

log = structlog.get_logger("mqk.movers")
repetitions = logs.Repetitions()


class Mover:
    """Copies one projection until it is stopped. run() is for one thread, the rest for any."""

    def __init__(
        self, settings: MoverSettings, projection: Projection, make_reader: MakeReader
    ) -> None:
        self.name = projection.name
        self._settings = settings
        self._projection = projection
        self._make_reader = make_reader
        self._stopping = threading.Event()
        self._moved = threading.Condition()
        self._lifecycle = MoverLifecycle()
        self._figures = CopyFigures()
        self._writer = CopyWriter(settings, projection, self._committed)
        self._parking: Parking | None = None
        if parkable := projection.parkable:
            self._parking = Parking(settings, parkable, self._writer, make_reader, self._stopping)
        self._open_progress = OpenProgress(settings, projection, self._writer, make_reader)
        self._reader: LedgerReader
        self._pace = Pace(settings.interval_ms / 1000, projection.patience_s)
        self._over = False

    def run(self) -> None:
        """Copy until stop(); raises MoverError when that is impossible."""
        try:
            self._run_terms()
        finally:
            self._lifecycle.ended()
            with self._moved:
                self._over = True
                self._moved.notify_all()

    def _run_terms(self) -> None:
        backoff_s = BACKOFF_S
        while not self._stopping.is_set():
            transactions = self._writer.transactions
            try:
                self._term()
            except (Doubtful, LedgerUnavailable, TopicError, KafkaException) as trouble:
                self._note(trouble)
            except LedgerMismatch as mismatch:
                raise self._mismatch(mismatch) from mismatch
            except UnreadableError as newer:
                raise MoverError(
                    f"the {self.name} mover of {self._settings.queue_manager} cannot read what is "
                    f"written: {newer}; start the release that wrote it, or a newer one"
                ) from newer
            if self._writer.transactions > transactions:
                backoff_s = BACKOFF_S
            self._stopping.wait(backoff_s)
            backoff_s = min(2 * backoff_s, BACKOFF_S_MAX)

    def stop(self) -> None:
        """Let run() end after the transaction that is open."""
        self._stopping.set()

    def caught_up(self, offset: int, timeout_s: float) -> bool:
        """Wait until everything up to a ledger offset has been copied; False if not in time."""
        figures = self._figures
        with self._moved:
            self._moved.wait_for(lambda: figures.done >= offset or self._over, timeout_s)
            return figures.done >= offset

    def none_parked(self, timeout_s: float) -> bool:
        """Wait until every topic is written; False if not in time."""
        with self._moved:
            self._moved.wait_for(
                lambda: (self.is_ready and not self.parked) or self._over, timeout_s
            )
            return not self.parked

    def statistics(self) -> dict[str, int]:
        """Figures since the start; see CopyFigures."""
        parking = self._parking
        return self._figures.statistics(
            self._writer.transactions,
            self.parked,
            parking.keeps_from if parking else NOWHERE,
            is_holding=bool(self.holding),
        )

    @property
    def parked(self) -> dict[str, Held]:
        """The topics that cannot be written, by name."""
        return self._parking.held if self._parking else {}

    @property
    def is_ready(self) -> bool:
        """Whether it has found where to go on, and is not beginning again."""
        return self._lifecycle.is_ready

    @property
    def holding(self) -> str:
        """The fault that keeps the mover from copying, or ""."""
        return self._lifecycle.holding

    def _term(self) -> None:
        self._figures.terms += 1
        with contextlib.closing(self._writer.producers):
            self._projection.open()
            try:
                self._writer.producers.renew()
            except Doubtful as trouble:
                if trouble.denied:
                    raise
                # Name the topics that may be the cause.
                blamed = self._parking.refused if self._parking else ""
                hint = f"{ENDLESS}: correct the settings of topic {blamed or 'that does'}"
                raise Doubtful(f"{trouble}; {hint}", late=trouble.late) from trouble
            self._reader = self._make_reader(self._resume())
            with contextlib.closing(self._reader):
                self._copy_on()

    def _resume(self) -> Position | None:
        """Go back to the committed progress; the position where reading goes on."""
        writer = self._writer
        partition = PARTITIONS[self.name]
        self._open_progress.end()
        found = read_last(self._settings, partition, self.name, writer.mark())
        if found is None:
            self._check_that_nothing_was_copied()
        at, turn = found or (CopyProgress(), None)
        writer.resume(at, turn)
        if self._parking:
            self._parking.resume()
        self._is_written()
        return None if at.offset == NOWHERE else Position(at.offset, at.owner, at.n)

    def _copy_on(self) -> None:
        self._lifecycle.copies()
        try:
            while not self._stopping.is_set():
                entries = self._read()
                self._take_all(entries)
                if self._parking and not self._writer.is_open:
                    self._parking.try_parked()
                # Silence alone proves nothing: the reader may not even have found its position.
                if entries or self._reader.offset_and_end()[0] > self._writer.at.offset:
                    self._lifecycle.goes_on()
                self._pause(entries)
            if self._writer.is_open:
                self._writer.commit()
            self._write_idle_progress(0.0)
        finally:
            if self._parking:
                self._parking.end_term()

    @property
    def _is_catching_up(self) -> bool:
        return self._parking is not None and self._parking.is_catching_up

    def _read(self) -> list[Entry]:
        entries = self._pace.read(
            self._reader, is_open=self._writer.is_open, waits=not self._is_catching_up
        )
        self._figures.end = self._reader.offset_and_end()[1]
        return entries

    def _pause(self, entries: list[Entry]) -> None:
        """After a few entries leave time for more to come, but read on at once in a backlog."""
        if entries and not self._is_catching_up:
            self._stopping.wait(self._pace.pause_s(entries, is_open=self._writer.is_open))

    def _take_all(self, entries: list[Entry]) -> None:
        """Copy entries that were read together: in one transaction, unless it gets too large."""
        writer, parking = self._writer, self._parking
        for entry in entries:
            if self._stopping.is_set():
                break
            self._take(entry)
        if writer.is_open and not self._stays_open():
            writer.commit()
        if parking:
            parking.settle()
            if writer.at.parked:
                parking.show()
        if not writer.is_open:
            if not self._stopping.is_set():
                self._is_done(self._reader.offset_and_end()[0] - 1)
            self._write_idle_progress(IDLE_PROGRESS_S)

    def _stays_open(self) -> bool:
        """Whether the open transaction takes in the next read too."""
        if self._writer.at.parked or self._stopping.is_set():
            return False
        return self._pace.keeps_open()

    def _take(self, entry: Entry) -> None:
        """Copy an entry's records, but for those that were copied before."""
        at = self._writer.at
        records = self._projection.read(entry.payload)
        self._figures.entries += 1
        self._figures.bytes += len(entry.payload)
        for number in range(at.records, len(records)):
            record = records[number]
            if record:
                self._copy(record)
            at.records = number + 1
        at.offset, at.owner, at.n, at.records = entry.offset, entry.owner, entry.n, 0

    def _copy(self, record: list[Movable]) -> None:
        writer, parking = self._writer, self._parking
        ends = parking is not None and parking.ends_transaction(record)
        if writer.is_open and (ends or not writer.has_room(record)):
            writer.commit()
        if parking is not None:
            record = parking.take(record)
        if record:
            writer.send(record)

    def _write_idle_progress(self, after_s: float) -> None:
        """Write the progress over entries without anything to copy, now and then."""
        overdue = self._pace.since_progress_s() >= after_s
        if overdue and self._writer.at.offset != self._figures.written_offset:
            self._writer.begin()
            self._writer.commit()

    def _committed(self) -> None:
        self._pace.committed()
        if self._parking:
            self._parking.committed()
        self._is_written()

    def _is_written(self) -> None:
        at, figures = self._writer.at, self._figures
        figures.written_offset = at.offset
        figures.copied = at.copied
        self._pace.wrote_progress()
        if self._parking:
            self._parking.show()
        self._is_done(at.offset)

    def _is_done(self, offset: int) -> None:
        with self._moved:
            self._figures.done = max(offset, self._writer.at.offset)
            self._moved.notify_all()

    def _note(self, trouble: Exception) -> None:
        figures = self._figures
        figures.failures += 1
        if isinstance(trouble, Doubtful) and trouble.late:
            figures.doubtful_commits += 1
        if self._parking and self._parking.is_to_blame(trouble):
            self._lifecycle.begins_again()
            return
        self._lifecycle.holds(str(trouble))
        text = "holds, and tries again from its progress"
        repetitions.warn(log, text, mover=self.name, reason=self.holding)

    def _check_that_nothing_was_copied(self) -> None:
        """Refuse to copy everything once more because the progress was lost."""
        full = with_records(self._settings, self._projection.topics())
        if full:
            raise MoverError(
                f"the {self.name} mover finds no progress in {self._place}, and there are copies "
                f"in {', '.join(full)}: the topic of the progress was deleted. Restore it from a "
                "copy; or delete the topics that hold copies, to have them all written again"
            )

    @property
    def _place(self) -> str:
        return f"{self._settings.progress_topic}[{PARTITIONS[self.name]}]"

    def _mismatch(self, mismatch: LedgerMismatch) -> MoverError:
        at = self._writer.at
        return MoverError(
            f"the {self.name} mover cannot go on from its progress in {self._place} (ledger offset "
            f"{at.offset}, owner {at.owner.hex()}, n {at.n}): {mismatch}. The "
            f"saved position is the topic {self._settings.progress_topic}: with it go the copies "
            "of the old ledger, the topics of the queues and of the events"
        )
