"""What taking a ledger over needs of Kafka, and how a standby has it before it is wanted.

A new producer connects, asks where the topic is, and asks for an id; a new consumer connects and
asks too. That takes longer than the take-over itself. A standby makes both when it begins to
follow. Nothing is written by them, and nothing is read but where the topic is: a producer that has
written nothing is a new one, for its sequence numbers start with its first record. Both find
leaders that have moved meanwhile as any client does.
"""

from __future__ import annotations

import contextlib

import msgspec
from confluent_kafka import KafkaException, Producer

from adapter.storage.ledger.kafka_producers import end
from adapter.storage.ledger.kafka_reader import LedgerSource, ledger_failure, wrong_settings
from adapter.storage.ledger.kafka_settings import LastError, LedgerSettings, owner_settings


class OwnerProducer:
    """The producer of one term, before its first record. Raises LedgerUnavailable."""

    def __init__(self, settings: LedgerSettings) -> None:
        self.last_error = LastError()
        self._settings = settings
        try:
            self.producer = Producer(owner_settings(settings, self.last_error))
        except KafkaException as error:
            raise wrong_settings(settings, error) from error

    def reach(self) -> None:
        """Ask where the topic is; librdkafka asks for the producer's id then. Blocking."""
        settings = self._settings
        try:
            self.producer.list_topics(settings.topic, settings.take_over_timeout_s)
        except KafkaException as failure:
            more = self.last_error.text
            raise ledger_failure(settings, "reaching it", failure, more=more) from failure

    def close(self) -> None:
        """Let go of the connections."""
        end(self.producer)


SOON = {"fetch.wait.max.ms": 10}
"""How long a broker keeps a question for records that are not there. One that the source no longer
wants an answer to holds up the next one for so long: it jumps, and is asked by last_record too."""


class ReadyClients:
    """A producer and a consumer for one take-over. Blocking; raises LedgerError."""

    def __init__(self, settings: LedgerSettings) -> None:
        soon = msgspec.structs.replace(settings, reader={**settings.reader, **SOON})
        self.source = LedgerSource(soon)
        try:
            self.writes = OwnerProducer(settings)
        except BaseException:
            self.source.close()
            raise

    def find(self) -> None:
        """Find the ledger's topic and its leader, once more if they were found before: a client
        that asks nothing does not hear that the leader has changed.
        """
        self.source.check_topic()  # first: a producer that asks for a topic may create it
        self.source.bounds()
        self.writes.reach()

    def serve(self) -> None:
        """Take what the clients have reported, of which they keep more and more else."""
        with contextlib.suppress(KafkaException):  # the take-over meets it again
            self.writes.producer.poll(0.0)
        self.source.serve()

    def close(self) -> None:
        """Let go of the connections."""
        self.source.close()
        self.writes.close()
