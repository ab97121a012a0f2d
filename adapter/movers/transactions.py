"""Two transactional producers in turn, and the question whether a commit is definite.

Two, because Kafka answers a commit before it has written the markers: a producer that begins its
next transaction at once is bounced for 20 ms, while the other one can go on.

**Definite or doubtful.** librdkafka sends a request again when its answer does not come, and does
not tell. The first one may still be on its way: a commit that lands late would commit whatever the
next transaction has written by then. So a transaction is definite only if nothing happened to a
connection while it was open, and its commit was answered sooner than librdkafka gives up. After any
other, both producers are replaced: initialising a transactional id ends its open transaction and
fences what is still on its way. What became of the doubtful one is then read from the progress.

**One mover at a time.** A new mover initialises id 0, then id 1, then reads the progress, and its
first transaction is on id 0. Whoever initialises an id later fences the other one's next
transaction on it. Of two movers that start at once, each may end up with one id; the one without
id 0 fails at its first transaction, the other at its second. No transaction is committed by one
after the other has read the progress, in whatever order their steps mix.
"""

from __future__ import annotations

import time

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from adapter.ledger.failures import describe, error_of
from adapter.movers.errors import Doubtful, Fenced
from adapter.movers.settings import SOCKET_TIMEOUT_MS, MoverSettings, producer_settings

INIT_TIMEOUT_S = 20.0
"""For ending the transaction that a dead mover left open, with brokers that are failing over."""
FLUSH_TIMEOUT_S = 20.0
COMMIT_TIMEOUT_S = 20.0
ABORT_TIMEOUT_S = 5.0
DOUBTFUL_AFTER_S = SOCKET_TIMEOUT_MS / 1000 * 0.6
"""A commit that took longer may have been sent twice."""

FENCED_CODES = frozenset(
    {
        KafkaError._FENCED,
        KafkaError.PRODUCER_FENCED,
        KafkaError.INVALID_PRODUCER_EPOCH,
        KafkaError.FENCED_INSTANCE_ID,
    }
)


class Watch:
    """Hears what librdkafka logs: while requests are in flight, every line is a reason to doubt."""

    def __init__(self) -> None:
        self.trouble = ""

    def log(self, _level: int, text: str, *args: object) -> None:
        """Take a line, as a logger does."""
        self.trouble = text % args if args else text


class Turns:
    """The two producers of one mover. For one thread."""

    def __init__(self, settings: MoverSettings, mover: str) -> None:
        self._settings = settings
        self._mover = f"{settings.queue_manager}'s {mover} mover"
        base = settings.progress_topic.removesuffix(".progress")
        self._ids = [f"{base}.{mover}.{turn}" for turn in range(2)]
        self._watches = [Watch(), Watch()]
        self._producers: list[Producer] = []
        self._turn = 0
        self._failed = ""
        self.open = False

    def renew(self) -> None:
        """Replace both producers: what the old ones, or another mover's, have open is aborted."""
        self._producers = []
        self.open = False
        self._turn = 0
        for transactional_id, watch in zip(self._ids, self._watches, strict=True):
            try:
                producer = Producer(producer_settings(self._settings, transactional_id, watch))
                producer.init_transactions(INIT_TIMEOUT_S)
            except KafkaException as error:
                raise self._look_at(error, f"initialising {transactional_id}") from error
            self._producers.append(producer)

    def begin(self) -> Producer:
        """Open the next transaction, on the producer whose turn it is."""
        assert not self.open, "one transaction at a time"
        producer = self._producers[self._turn]
        producer.poll(0)
        self._watches[self._turn].trouble = ""  # nothing of ours was in flight
        self._failed = ""
        try:
            producer.begin_transaction()
        except KafkaException as error:
            raise self._look_at(error, "beginning a transaction") from error
        self.open = True
        return producer

    def commit(self) -> None:
        """Commit the open transaction; returns only if that is definite."""
        producer = self._producers[self._turn]
        try:
            left = producer.flush(FLUSH_TIMEOUT_S)
            began_s = time.monotonic()
            if left == 0:
                producer.commit_transaction(COMMIT_TIMEOUT_S)
            took_s = time.monotonic() - began_s
            producer.poll(0)
        except KafkaException as error:
            raise self._look_at(error, "committing") from error
        if left:
            raise Doubtful(f"{left} records were not written in {FLUSH_TIMEOUT_S:g} s", late=True)
        trouble = self._watches[self._turn].trouble
        if trouble or took_s >= DOUBTFUL_AFTER_S:
            raise Doubtful(f"a commit took {took_s:.3f} s: {trouble or 'slow'}", late=True)
        self.open = False
        self._turn = 1 - self._turn

    def report(self, error: KafkaError | None, message: Message) -> None:
        """Take a delivery report: of a record that was not written."""
        if error is not None and not self._failed:
            self._failed = f"{message.topic()}[{message.partition()}]: {describe(error)}"

    def look_at(self, error: KafkaException | BufferError, doing: str) -> Fenced | Doubtful:
        """Say what an error means that a produce raised."""
        if isinstance(error, BufferError):
            return Doubtful(f"{doing}: {error}")
        return self._look_at(error, doing)

    def close(self) -> None:
        """Abort what is open, as far as that goes, and let go of the connections."""
        producers, self._producers = self._producers, []
        if self.open and producers:
            self.open = False
            try:
                producers[self._turn].abort_transaction(ABORT_TIMEOUT_S)
            except KafkaException:
                return  # the next mover, or Kafka's time limit, aborts it

    def _look_at(self, error: KafkaException, doing: str) -> Fenced | Doubtful:
        cause = error_of(error)
        if cause.code() in FENCED_CODES:
            return Fenced(
                f"{self._mover} was fenced while {doing}: another mover of this queue manager has "
                f"taken over, or this one stood still for {TRANSACTION_STALL}; nothing is lost, "
                "start it again if no other runs"
            )
        why = self._failed or self._watches[min(self._turn, 1)].trouble
        return Doubtful(f"{doing} failed: {describe(error)}{'; ' if why else ''}{why}", late=True)


TRANSACTION_STALL = "longer than a transaction may take"
