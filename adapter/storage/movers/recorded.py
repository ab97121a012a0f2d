"""What the movers have recorded of their progress, for those who check a ledger by it.

The progress outlives the ledger's topic: it says which entries have been copied, so that a ledger
that has lost them is not taken for whole.

Of entries, a progress tells in a transaction that is open or aborted as well: a mover reads what
Kafka has confirmed, whatever becomes of its copies. Behind a crash of Kafka the last transaction is
open for a while, or for ever (open_lanes), and the committed progress would tell of an older end.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager

from confluent_kafka import Message

from adapter.storage.format import names
from adapter.storage.format import progress as progress_format
from adapter.storage.format.progress import NOWHERE, CopyProgress
from adapter.storage.format.schemas import UnreadableError
from adapter.storage.ledger.port import Known, LedgerMismatch, LedgerUnavailable, Position
from adapter.storage.movers.errors import Doubtful
from adapter.storage.movers.progress import Committed
from adapter.storage.movers.settings import PARTITIONS, STREAM, MoverSettings
from adapter.storage.topics.decoder import RecordDecoder, is_no_message

LISTED_MAX = 5


@contextmanager
def _reading(settings: MoverSettings) -> Iterator[Committed]:
    """Read what is committed. Raises LedgerUnavailable."""
    with _explain(), Committed(settings) as committed:
        yield committed


def _all_of(settings: MoverSettings) -> Committed:
    """Read what is not committed as well; see above."""
    return Committed(settings, "read_uncommitted")


@contextmanager
def _explain() -> Iterator[None]:
    """Raise LedgerUnavailable in place of Doubtful."""
    try:
        yield
    except Doubtful as trouble:
        raise LedgerUnavailable(
            f"{trouble}; check that the brokers run, and try again"
        ) from trouble


class RecordedProgress:
    """The last entry that each mover has recorded as copied. For any thread."""

    def __init__(self, settings: MoverSettings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._ready: Committed | None = None

    def prepare(self) -> None:
        """Be connected, so that the next read is faster. Raises LedgerUnavailable.

        To be called again now and then: what the connection reports is taken then.
        """
        with self._lock:
            if self._ready is not None:
                self._ready.serve()
                return
            with _explain(), ExitStack() as if_it_fails:
                committed = if_it_fails.enter_context(_all_of(self._settings))
                _read_recorded(committed, self._settings.progress_topic)
                committed.rest()
                if_it_fails.pop_all()
                self._ready = committed

    def read(self) -> list[Known]:
        """Return the last entry of each mover that has recorded one.

        It may have copied more. Raises LedgerUnavailable, or LedgerMismatch for what a later mqk
        wrote.
        """
        with self._lock:
            committed, self._ready = self._ready or _all_of(self._settings), None
        with _explain(), committed:
            return _read_recorded(committed, self._settings.progress_topic)


def read_recorded(settings: MoverSettings) -> list[Known]:
    """Return the last entry that each mover has recorded as copied, as RecordedProgress does."""
    return RecordedProgress(settings).read()


def _read_recorded(committed: Committed, topic: str) -> list[Known]:
    known = []
    try:
        there = committed.partitions(topic)
        for mover, partition in PARTITIONS.items():
            last = committed.last(topic, partition, mover) if there > partition else None
            if last is None:
                continue
            at = progress_format.decode(last.value() or b"")
            if at.offset != NOWHERE:
                how = f"was copied up to offset {at.offset} by the {mover} mover"
                known.append(Known(Position(at.offset, at.owner, at.n), how))
    except UnreadableError as newer:
        raise LedgerMismatch(f"{topic}: {newer}") from newer
    return known


def copied_messages(settings: MoverSettings) -> CopyProgress | None:
    """Return how far messages were copied, if anything was. Raises as read_recorded() does."""
    topic, partition = settings.progress_topic, PARTITIONS[STREAM]
    with _reading(settings) as committed:
        if committed.partitions(topic) <= partition:
            return None
        last = committed.last(topic, partition, STREAM)
    return None if last is None else progress_format.decode(last.value() or b"")


def lanes_behind(settings: MoverSettings, wanted: Mapping[tuple[str, int], int]) -> list[str]:
    """Say which lanes lack copies that the progress says were made. Raises LedgerUnavailable.

    wanted: the seq of the last copy, by topic and lane. To be read before: lanes only grow. A topic
    that does not exist is left out, and a lane of which all was deleted.
    """
    decoder = RecordDecoder()
    behind: list[str] = []
    with _reading(settings) as committed:
        there = set(committed.topics())
        for (topic, lane), seq in sorted(wanted.items()):
            if topic not in there:
                continue
            last = committed.last_that(topic, lane, lambda one: seq_of(decoder, one))
            if last is None and not committed.is_untrimmed(topic, lane):
                continue
            if (last or 0) < seq:
                behind.append(
                    f"{topic}[{lane}] ends with message {last or 0}, and the stream mover has "
                    f"recorded that {seq} was copied: copies are missing"
                )
    return behind


def seq_of(decoder: RecordDecoder, record: Message) -> int | None:
    """Return the seq of the message that a record belongs to; None if it is no copy."""
    if is_no_message(record):
        return None
    try:
        return decoder.position(record).seq
    except UnreadableError:  # it was not written by a mover
        return None


def check_ledger_is_there(settings: MoverSettings) -> None:
    """Refuse a queue manager whose ledger is gone while its other topics hold records.

    What others have sent to it says nothing of a ledger. Raises LedgerMismatch, LedgerUnavailable.
    To be called before the ledger's topic is created.
    """
    ledger = settings.ledger.topic
    with _reading(settings) as committed:
        ours = [one for one in committed.topics() if names.is_own(one, settings.queue_manager)]
        if ledger in ours and not committed.is_new(ledger, 1):
            return
        others = [one for one in ours if one != ledger and not committed.is_new(one, 0)]
    if others:
        state = "is empty" if ledger in ours else "does not exist"
        named = ", ".join(others[:LISTED_MAX]) + (", ..." if len(others) > LISTED_MAX else "")
        raise LedgerMismatch(
            f"the ledger {ledger} {state}, and other topics of queue manager "
            f"{settings.queue_manager} hold records ({named}): it was deleted. Restore the queue "
            'manager from a backup (mqk ledger restore). Without one, see "The ledger has lost '
            'entries" in the runbook'
        )
