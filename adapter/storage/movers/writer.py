"""Writes the copies of one mover and its progress: together, in one transaction after another.

The progress says of each transaction up to where it copied; it is written in the transaction that
it speaks of, as its last record. So after a commit the two agree, and after anything else neither
counts. It must not know what is copied, nor when.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection

from confluent_kafka import KafkaException, Producer

from adapter.storage.format import progress as progress_format
from adapter.storage.format.movable import Movable
from adapter.storage.format.progress import CopyProgress
from adapter.storage.movers.batch import CopyBatch
from adapter.storage.movers.projection import OnDelivery, Projection
from adapter.storage.movers.settings import PARTITIONS, MoverSettings
from adapter.storage.movers.transactions import PRODUCERS, AlternatingProducers, of_mover

Send = Callable[[list[Movable], Producer, OnDelivery, CopyBatch], None]


class CopyWriter:
    """The open transaction of one mover, and its progress. For the mover's thread.

    committed is called after each commit that counts.
    """

    def __init__(
        self, settings: MoverSettings, projection: Projection, committed: Callable[[], None]
    ) -> None:
        self._projection = projection
        self._committed = committed
        self._topic = settings.progress_topic
        self._partition = PARTITIONS[projection.name]
        self._batch: CopyBatch
        self._producer: Producer
        self.producers = AlternatingProducers(of_mover(settings, projection.name))
        self.at = CopyProgress()
        """Up to where everything was taken; the open transaction included."""
        self.progress_turn: int | None = None
        """Which producer wrote the progress that the term began with, if that is known."""
        self.transactions = 0

    @property
    def is_open(self) -> bool:
        """Whether a transaction is open."""
        return self.producers.open

    def resume(self, at: CopyProgress, turn: int | None) -> None:
        """Go on from the progress as it was committed, by the producer whose turn it was."""
        self.at = at
        self.progress_turn = turn

    def mark(self, aborted: Collection[int] = (), lanes: Collection[tuple[str, int]] = ()) -> bytes:
        """Commit a record that means nothing on each producer in turn; its value.

        Once it is visible, so is all that was ever committed before it. Without it too little may
        be: a broker that comes back can forget to say in the log that a transaction has ended. The
        next commit of the same producer says it (docs/decisions/0003).

        aborted: producers that abort the record instead, and with it what they have open here and
        in these lanes.
        """
        mark = os.urandom(16)
        for turn in range(PRODUCERS):
            self.begin()
            self._produce_progress(mark, progress_format.mark_key(self._projection.name))
            if turn not in aborted:
                self.producers.commit()
                continue
            for topic, lane in lanes:
                self._produce(topic, b"", None, lane)
            self.producers.abort()
        return mark

    def begin(self) -> None:
        """Open a transaction; there must be none."""
        self._producer = self.producers.begin()
        self._batch = CopyBatch(self.producers.known, self.producers.write)

    def has_room(self, record: list[Movable]) -> bool:
        """Whether a record still fits into the open transaction."""
        return self._batch.has_room(record, self._projection.partitions)

    def send(self, record: list[Movable], send: Send | None = None) -> None:
        """Produce copies, in the open transaction or in a new one. send: if not as usual."""
        producers = self.producers
        if not producers.open:
            self.begin()
        try:
            (send or self._projection.send)(record, self._producer, producers.report, self._batch)
        except (KafkaException, BufferError) as error:
            producers.refuse(self._projection.last_topic(), error)
            raise producers.meaning(error, f"copying {len(record)} records") from error
        self.at.copied += len(record)

    def commit(self) -> None:
        """End the open transaction with the progress that it makes."""
        producers = self.producers
        self._produce_progress(progress_format.encode(self.at), self._projection.name)
        producers.commit()
        self._batch.written()
        self.transactions += 1
        self._committed()

    def _produce_progress(self, value: bytes, key: str) -> None:
        turn: list[tuple[str, str | bytes | None]] = [
            (progress_format.TURN, bytes([self.producers.turn]))
        ]
        self._produce(self._topic, value, key, self._partition, turn)

    def _produce(
        self,
        topic: str,
        value: bytes,
        key: str | None,
        partition: int,
        headers: list[tuple[str, str | bytes | None]] | None = None,
    ) -> None:
        producers = self.producers
        try:
            self._producer.produce(
                topic, value, key, partition, on_delivery=producers.report, headers=headers or []
            )
        except (KafkaException, BufferError) as error:
            raise producers.meaning(error, "writing the progress") from error
