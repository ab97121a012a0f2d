"""Transactional producers in turn, and the question whether a commit is definite.

A mover has two, because Kafka answers a commit before it has written the markers: a producer that
begins its next transaction at once is bounced for 20 ms, while the other one can go on.

**Definite or doubtful.** librdkafka sends a request again when its answer does not come, and does
not tell. The first one may still be on its way: a commit that lands late would commit whatever the
next transaction has written by then. So a transaction is definite only if nothing happened to a
connection while it was open, and its commit was answered sooner than librdkafka gives up, which is
after some seconds, and later where Kafka is slow (SocketTimeout). After any other, all producers
are replaced: initialising a transactional id ends its open transaction and fences what is still on
its way. What became of the doubtful one is then read from the progress.

**One mover at a time.** A new mover initialises id 0, then id 1, then commits a mark on each, and
reads the progress once its mark is visible; its first copies go out on id 0. A producer that
initialises an id later fences the other one's next transaction on it. Of two movers that start at
once, each may end up with one id; the one without id 0 fails at its first mark, the other at its
second. No transaction is committed by one after the other has read the progress, in whatever order
their steps mix: a mover whose id 0 is taken has copied nothing since, but for one transaction on id
1, and that came before the other had both.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from confluent_kafka import KafkaError, KafkaException, Message, Producer
from msgspec import Struct, field

from adapter.storage.ledger.failures import describe, error_of, explain
from adapter.storage.movers.batch import Place
from adapter.storage.movers.errors import Doubtful, Fenced
from adapter.storage.movers.settings import (
    FLUSH_TIMEOUT_S,
    TRANSACTION_TIMEOUT_MS,
    MoverSettings,
    ProducerWatch,
    producer_settings,
)
from adapter.storage.movers.socket_timeout import SocketTimeout

PRODUCERS = 2
FORGET_S = 3600.0
"""A partition forgets a producer that has not written to it for a day (producer.id.expiration.ms):
what is known of partitions is forgotten sooner."""
INIT_TIMEOUT_S = 20.0
"""For ending the transaction that a dead mover left open, with brokers that are failing over."""
COMMIT_TIMEOUT_S = 20.0
FLUSHES = 200
LONG_FLUSHES = 10
"""Parts of waiting for what is written: it ends after each if a record was refused."""
ABORT_TIMEOUT_S = 5.0

FENCED_CODES = frozenset(
    {KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH}
)
FAILED_MARK = "TXNERR"
"""In what librdkafka logs when a transaction can only be aborted: records wait for that."""
FENCED_MARK = "(_FENCED)"
"""In what librdkafka logs of a fatal transaction error."""
REFUSED_CODES = frozenset(
    {
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError._UNKNOWN_TOPIC,
        KafkaError._UNKNOWN_PARTITION,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.TOPIC_EXCEPTION,
        KafkaError.MSG_SIZE_TOO_LARGE,
        KafkaError.RECORD_LIST_TOO_LARGE,
        KafkaError.INVALID_TIMESTAMP,
        KafkaError.INVALID_RECORD,
        KafkaError.INVALID_MSG,
        KafkaError.POLICY_VIOLATION,
    }
)
"""A topic's own refusals. To take one for it that passes by is no harm: see parking."""
PURGED_CODES = frozenset({KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT})
"""Of records that go down with another's failure: they say nothing about the cause."""

T = TypeVar("T")


class Trouble:
    """Hears what librdkafka says: while requests are in flight, every line is a reason to doubt."""

    def __init__(self) -> None:
        self.text = ""
        self.is_fenced = False
        self.is_failed = False
        """Whether the transaction can only be aborted."""

    def log(self, _level: int, text: str, *args: object) -> None:
        """Take a line, as a logger does."""
        self.text = text % args if args else text
        self.is_fenced |= FENCED_MARK in self.text
        self.is_failed |= FAILED_MARK in self.text

    def error(self, error: KafkaError) -> None:
        """Take an error that belongs to no request."""
        self.text = describe(error)


class Transactional(Struct, frozen=True):
    """Who writes in transactions.

    name: for people, "the stream mover of QM1". topic: of its progress. ids: transactional ids, one
    for each of its producers. settings: makes the settings of the producer with an id
    and a socket timeout, in ms.
    socket_timeout: of the writers to this Kafka.
    """

    name: str
    topic: str
    ids: tuple[str, ...]
    settings: Callable[[str, ProducerWatch, int], dict[str, Any]]
    socket_timeout: SocketTimeout = field(default_factory=SocketTimeout)


def of_mover(settings: MoverSettings, mover: str) -> Transactional:
    """Name a mover and its two producers."""
    base = settings.progress_topic.removesuffix(".progress")
    return Transactional(
        f"the {mover} mover of {settings.queue_manager}",
        settings.progress_topic,
        tuple(f"{base}.{mover}.{turn}" for turn in range(PRODUCERS)),
        partial(producer_settings, settings),
    )


class AlternatingProducers:
    """The producers of one writer, each in its turn. For one thread."""

    def __init__(self, writer: Transactional) -> None:
        self._writer = writer
        self._topic = writer.topic
        self._troubles: list[Trouble] = []
        self._producers: list[Producer] = []
        self._timeout_ms = 0
        """socket.timeout.ms of the producers."""
        self.turn = 0
        """Whose transaction is open, or comes next."""
        self._failed = ""
        self.open = False
        self._known: list[set[Place]] = []
        self._forgot_s = 0.0
        self.refused: dict[str, str] = {}
        """Topics, but for that of the progress, that refused records in this term."""

    def renew(self) -> None:
        """Replace all producers: what the old ones, or another mover's, have open is aborted."""
        self._producers, self._troubles = [], []
        self._timeout_ms = self._writer.socket_timeout.next_ms
        self.forget_partitions()
        self.open = False
        self.refused = {}
        for turn, transactional_id in enumerate(self._writer.ids):
            self.turn = turn
            self._troubles.append(Trouble())
            self._producers.append(self._make(transactional_id))
            # With a connection at hand librdkafka goes on at once, else at times on a 500 ms timer.
            self._call("connecting", lambda one: one.list_topics(self._topic, INIT_TIMEOUT_S))
            self._call("initialising", lambda one: one.init_transactions(INIT_TIMEOUT_S))
        self.turn = 0

    @property
    def known(self) -> set[Place]:
        """Partitions that know the producer whose turn it is; see CopyBatch. To be added to."""
        return self._known[self.turn]

    @property
    def current(self) -> Producer:
        """The producer whose turn it is."""
        return self._producers[self.turn]

    def forget_partitions(self) -> None:
        """Take no partition for one that knows the producers: a topic may have been made again."""
        self._known = [set() for _ in self._writer.ids]
        self._forgot_s = time.monotonic()

    def begin(self) -> Producer:
        """Open the next transaction, on the producer whose turn it is."""
        assert not self.open, "one transaction at a time"
        if time.monotonic() - self._forgot_s > FORGET_S:
            self.forget_partitions()
        self._call("polling", lambda one: one.poll(0))
        self._troubles[self.turn].text = ""  # nothing of ours was in flight
        self._troubles[self.turn].is_failed = False
        self._failed = ""
        self._call("beginning a transaction", lambda one: one.begin_transaction())
        self.open = True
        return self.current

    def commit(self) -> None:
        """Commit the open transaction; returns only if that is definite."""
        self._end("a commit", "committing", lambda one: one.commit_transaction(COMMIT_TIMEOUT_S))

    def abort(self) -> None:
        """Abort the open transaction, once its records are written, as definitely."""
        self._end("an abort", "aborting", lambda one: one.abort_transaction(COMMIT_TIMEOUT_S))

    def write(self, meanwhile: Callable[[], None] = lambda: None) -> None:
        """Wait until all that was produced is written; raises Doubtful or Fenced if it is not.

        meanwhile: is called from time to time, if that takes long.
        """
        left = 0
        for number in range(1, FLUSHES + 1):
            left = self._call("writing", lambda one: one.flush(FLUSH_TIMEOUT_S / FLUSHES))
            trouble = self._troubles[self.turn]
            if self._failed or (left and trouble.is_failed):  # what is left is not sent any more
                why = self._failed or trouble.text
                if trouble.is_fenced:
                    raise self.meaning(why, "writing")
                raise Doubtful(f"writing failed: {why}")
            if not left:
                return
            if number % LONG_FLUSHES == 0:
                meanwhile()
        raise Doubtful(f"{left} records were not written in {FLUSH_TIMEOUT_S:g} s")

    def _end(self, what: str, doing: str, end: Callable[[Producer], object]) -> None:
        self.write()
        began_s = time.monotonic()
        self._call(doing, end)
        took_s = time.monotonic() - began_s
        self._call("polling", lambda one: one.poll(0))
        trouble = self._troubles[self.turn].text
        is_sent_once = self._writer.socket_timeout.note_commit(took_s, self._timeout_ms)
        if trouble or not is_sent_once:
            raise Doubtful(f"{what} took {took_s:.3f} s: {trouble or 'slow'}", late=True)
        self.open = False
        self.turn = (self.turn + 1) % len(self._producers)

    def report(self, error: KafkaError | None, message: Message) -> None:
        """Take a delivery report: of a record that was not written."""
        if error is None or error.code() in PURGED_CODES:
            return
        topic = message.topic() or ""
        self.refuse(topic, error)
        if not self._failed:
            self._failed = (
                f"{message.topic()}[{message.partition()}]: {self._explain(error, topic)}"
            )

    def refuse(self, topic: str, failure: BaseException | KafkaError) -> None:
        """Note that a topic did not take a record, if that is the topic's own refusal."""
        error = error_of(failure) if isinstance(failure, KafkaException | KafkaError) else None
        if error is not None and error.code() in REFUSED_CODES and topic != self._topic:
            self.refused.setdefault(topic, self._explain(error, topic))

    def _explain(self, error: KafkaError, topic: str) -> str:
        return explain(error, "Write", topic, transactional_id=self._writer.ids[self.turn])

    def meaning(self, failure: object, doing: str) -> Fenced | Doubtful:
        """Say what it means that a call of the producer raised something."""
        error = error_of(failure) if isinstance(failure, KafkaException | KafkaError) else None
        self._hear()
        trouble = self._troubles[self.turn]
        if trouble.is_fenced or (error is not None and error.code() in FENCED_CODES):
            return Fenced(
                f"{self._writer.name} was fenced while {doing}: another one of this queue manager "
                "has taken over, or this one stood still for over "
                f"{TRANSACTION_TIMEOUT_MS // 1000} s. Nothing is lost; start it again if no other "
                "runs"
            )
        if error is not None and error.code() == KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
            why = self._explain(error, self._topic)
            return Doubtful(f"{doing} failed: {why}", denied=True)
        said = describe(error) if error is not None else repr(failure)
        why = self._failed or trouble.text
        return Doubtful(f"{doing} failed: {said}{'; ' if why else ''}{why}", late=not self._failed)

    def close(self) -> None:
        """Abort what is open, as far as that goes, and let go of the connections."""
        if self.open:
            with contextlib.suppress(Doubtful, Fenced):  # then Kafka's time limit aborts it
                self._call("aborting", lambda one: one.abort_transaction(ABORT_TIMEOUT_S))
        self.open = False
        self._producers = []

    def _hear(self) -> None:
        """Let the log lines in that say why: a produce that fails has heard none of them."""
        if self.turn < len(self._producers):  # or else it could not even be made
            error_of_call(lambda: self._producers[self.turn].poll(0))

    def _make(self, transactional_id: str) -> Producer:
        trouble = self._troubles[self.turn]
        settings = self._writer.settings(transactional_id, trouble, self._timeout_ms)
        try:
            return Producer(settings)
        except KafkaException as error:
            raise self.meaning(error, "making a producer") from error

    def _call(self, doing: str, call: Callable[[Producer], T]) -> T:
        """Call the producer whose turn it is, and give what it raises a meaning."""
        results: list[T] = []
        failure = error_of_call(lambda: results.append(call(self._producers[self.turn])))
        if isinstance(failure, KeyboardInterrupt | SystemExit):
            raise failure
        if failure is None:
            return results[0]
        meaning = self.meaning(failure, doing)
        # Its traceback leads back to here, and holds the producer. In a circle the producer would
        # live on until the garbage is looked for, ask for its id again, and fence its successor.
        del failure
        raise meaning


def error_of_call(call: Callable[[], object]) -> object:
    """Return what a call of a producer raised, or None.

    After an error that is fatal to the producer, its callbacks run while an exception is being
    raised, and what arrives here may be anything: a SystemError, even an object that no class in an
    except clause matches, and that nothing may be raised from.
    """
    try:
        call()
    except:  # noqa: E722
        return sys.exc_info()[1]
    return None
