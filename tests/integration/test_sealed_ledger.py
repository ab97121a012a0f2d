"""Another writer's records in a ledger, open and sealed: real processes on a real Kafka.

The forger is a plain Kafka producer, which reads the ledger and continues it: with the id of its
owner and the n that comes next.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

import adapter
from adapter.cli.main import run
from adapter.core.contract import audit
from adapter.host.settings import ledger_keys
from adapter.storage.format import names
from adapter.storage.ledger import envelope as envelopes
from adapter.storage.ledger.kafka_reader import Whole
from adapter.storage.ledger.kafka_settings import LedgerSettings
from adapter.storage.ledger.validity import Validity, Verdict
from tests.support.backlog import until
from tests.support.server_process import ServerProcess
from tests.support.shared_kafka import AnyKafka

Named = Callable[..., str]
HEARTBEAT_S = 0.5
"""So that the owner finds soon what was written behind its last record."""
REAL, FORGED = b"GENUINE", b"FORGERY"
"""Names of queues, of the same length: an entry that defines one becomes one that defines the
other."""


class Forger:
    """Has Write and Read on the ledger of a queue manager, and no key."""

    def __init__(self, kafka: AnyKafka, queue_manager: str) -> None:
        self.topic = names.ledger_topic(queue_manager)
        self._kafka = kafka
        self.settings = LedgerSettings(bootstrap_servers=kafka.bootstrap_servers, topic=self.topic)

    def values(self) -> list[bytes]:
        """All records of the ledger."""
        return [raw.value or b"" for raw in Whole(self.settings).records()]

    def write(self, *values: bytes) -> None:
        """Write records to the ledger."""
        producer = Producer({"bootstrap.servers": self._kafka.bootstrap_servers})
        for value in values:
            producer.produce(self.topic, value, partition=0)
        assert not producer.flush(30)

    def next_entry(self) -> bytes:
        """Make the entry that would come next, which defines a queue of another name."""
        found = [envelopes.decode(value) for value in self.values()]
        owner = [one.owner for one in found if one.kind == envelopes.OWNER_CHANGED][-1]
        n = max(one.n for one in found if one.owner == owner)
        definition = next(one for one in found if REAL in one.payload)
        payload = definition.payload.replace(REAL, FORGED)
        return envelopes.encode(envelopes.ENTRY, owner, n + 1, payload)

    def continue_ledger(self) -> None:
        """Write the next entry before the owner does."""
        while True:
            forged = self.next_entry()
            self.write(forged)
            validity = Validity()
            verdicts = {value: validity.judge_value(value)[0] for value in self.values()}
            if verdicts[forged] is Verdict.VALID:
                return

    def offsets_of(self, values: list[bytes]) -> list[int]:
        """Say where these records are."""
        return [at for at, value in enumerate(self.values()) if value in values]


def names_in(qm: adapter.Connection) -> set[str]:
    return {one.name for one in qm.queues()}


def copies(servers: str, topic: str, count: int) -> set[bytes]:
    """Read what movers have copied, until there are so many messages."""
    settings = {
        "bootstrap.servers": servers,
        "group.id": "any",
        "isolation.level": "read_committed",
    }
    consumer = Consumer(settings)
    try:
        until(lambda: bool(consumer.list_topics(topic, 10).topics[topic].partitions))
        partitions = consumer.list_topics(topic, 10).topics[topic].partitions
        consumer.assign([TopicPartition(topic, one, 0) for one in partitions])
        bodies: set[bytes] = set()
        while len(bodies) < count:
            record = consumer.poll(30)
            assert record is not None, f"only {bodies} came"
            bodies.add(record.value() or b"")
        assert consumer.poll(0.2) is None
    finally:
        consumer.close()
    return bodies


def test_in_an_open_ledger_what_another_writer_continues_counts(
    kafka: AnyKafka, unique_name: Named, tmp_path: Path
) -> None:
    """The threat model says so: (owner id, n) are readable, and so they prove nothing."""
    name = unique_name("QM")
    with ServerProcess(name, kafka.bootstrap_servers, tmp_path) as server:
        server.start()
        forger = Forger(kafka, name)
        with adapter.connect(server.address) as qm:
            qm.define_queue(REAL.decode())
            forger.continue_ledger()
        server.kill()
        server.start()
        with adapter.connect(server.address) as qm:
            assert FORGED.decode() in names_in(qm)


class SealedPair:
    """An owner and its standby, that seal their ledger with the keys of one file."""

    def __init__(self, kafka: AnyKafka, name: str, folder: Path) -> None:
        self.keys = folder / "keys"
        self.key_id = bytes.fromhex(ledger_keys.add(self.keys))
        self.owner, self.standby = (
            ServerProcess(
                name,
                kafka.bootstrap_servers,
                folder,
                ledger_key_file=str(self.keys),
                heartbeat_s=HEARTBEAT_S,
                audit=True,
                standby=is_standby,
            )
            for is_standby in (False, True)
        )

    @property
    def addresses(self) -> str:
        return f"{self.owner.address},{self.standby.address}"


def forgeries(forger: Forger, key_id: bytes) -> list[bytes]:
    """Make the next entry, without a seal and with seals that are made up or of another record; a
    take-over; and a record of a version that only a later release could write.
    """
    entry = forger.next_entry()
    *_, seal = (one for value in forger.values() if (one := envelopes.seal_of(value)))
    owner = envelopes.decode(entry).owner
    return [
        entry,
        envelopes.put_seal(key_id, b"0" * envelopes.SEAL_BYTES, entry),
        envelopes.put_seal(key_id, seal.seal, entry),
        envelopes.put_seal(b"unknown?", seal.seal, entry),
        envelopes.encode_change(b"f" * envelopes.OWNER_BYTES, owner, b"a forger"),
        bytes((envelopes.NEWER_VERSIONS[0],)) + entry[1:],
        b"",
    ]


def test_in_a_sealed_ledger_it_is_void_for_all_and_reported(
    kafka: AnyKafka, unique_name: Named, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, servers = unique_name("QM"), kafka.bootstrap_servers
    pair = SealedPair(kafka, name, tmp_path)
    queue, bodies = REAL.decode(), [b"before the take-over", b"after it"]

    def shown(*command: str) -> str:
        capsys.readouterr()
        assert run([*command, "--bootstrap-server", servers, "--json"]) == 0
        return capsys.readouterr().out

    with pair.owner, pair.standby:
        pair.owner.start()
        pair.standby.start()
        forger = Forger(kafka, name)
        with adapter.connect(pair.addresses, reconnect_timeout_s=60) as qm:
            qm.define_queue(queue)
            made = forgeries(forger, pair.key_id)
            forger.write(*made)
            pair.owner.await_said("forged ledger records")
            qm.put(queue, bodies[0])
            pair.owner.kill()
            pair.standby.await_said("ledger taken over")
            qm.put(queue, bodies[1])
            pair.standby.kill()
            pair.owner.start()
            assert names_in(qm) & {queue, FORGED.decode()} == {queue}
            assert [one.body for one in qm.queue(queue).browse()] == bodies
        assert copies(servers, names.queue_topic(name, queue, 0), 2) == set(bodies)
        offsets = forger.offsets_of(made)
        assert len(offsets) == len(made)
        audited = ("audit", "--name", name, "--kind", audit.FORGED)
        until(lambda: last_offset(shown(*audited)) == offsets[-1])
        assert json.loads(shown(*audited).splitlines()[0])["first_offset"] == str(offsets[0])

        verify = ["ledger", "verify", name]
        said = shown(*verify, "--ledger-key-file", str(pair.keys))
        assert said.count("forged") == len(made)
        assert run([*verify, "--bootstrap-server", servers]) == 1
        assert "sealed with key" in capsys.readouterr().err


def last_offset(events: str) -> int:
    return max((int(json.loads(one)["last_offset"]) for one in events.splitlines()), default=-1)
