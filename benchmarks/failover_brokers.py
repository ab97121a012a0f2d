"""How long programs wait when a broker of Kafka fails: the leader of the ledger, or a follower.

Brokers that fail stop the ledger and not its owner, so that no standby takes over, and the whole
gap is Kafka's. So a plain producer writes beside the program of failover.py, record after record,
to a topic whose replicas are where the ledger's are: what it waits is what Kafka takes by itself.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from confluent_kafka import KafkaError, KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from msgspec import Struct

from adapter.localkafka import LocalKafka
from adapter.storage.ledger.kafka_settings import TIMINGS
from benchmarks.failover import (
    LOOK_S,
    TRIALS,
    WAIT_S,
    Trials,
    await_back,
    programs_at,
    rows_of,
    steady,
    tell,
)
from benchmarks.numbered import NumberedProgram, PuttingProgram
from benchmarks.results import Rows, show
from benchmarks.stack import started

ABOUT = "gaps that programs see when a broker of three fails, beside a plain producer"
NAME = "FAILB"
LEDGER = f"mq.{NAME}.ledger"
PLAIN = "plain"


class BrokerFault(Struct, frozen=True):
    """A broker that fails: the leader of the ledger, or a follower.

    limit_s: what 99 of 100 gaps are to be at most.
    """

    name: str
    leads: bool
    freezes: bool
    limit_s: float


FAULTS = {
    "leader-kill": BrokerFault("SIGKILL of the ledger's leader", True, False, 4.0),
    "leader-freeze": BrokerFault("SIGSTOP of the ledger's leader", True, True, 5.0),
    "follower-kill": BrokerFault("SIGKILL of a follower", False, False, 2.5),
    "follower-freeze": BrokerFault("SIGSTOP of a follower", False, True, 2.5),
}


class PlainProgram(PuttingProgram):
    """Writes record after record to a topic, each when the one before is acknowledged.

    Its timings are those of the queue manager's own clients.
    """

    def __init__(self, bootstrap: str, topic: str) -> None:
        super().__init__(f"writes to {topic}")
        self._topic = topic
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "linger.ms": 0,
                "log_level": 0,
                **TIMINGS,
            }
        )

    def _put_one(self) -> bool:
        answers: list[KafkaError | None] = []

        def note(error: KafkaError | None, _record: Message) -> None:
            answers.append(error)

        self._producer.produce(self._topic, b"record", partition=0, on_delivery=note)
        while not answers:
            self._producer.poll(LOOK_S)
        if answers[0] is not None:
            raise KafkaException(answers[0])
        return True


def measure(kafka: LocalKafka, trials: int = TRIALS, faults: Sequence[str] = ()) -> Rows:
    """Break a broker of three so many times, in each way. faults: all, if none is named."""
    rows: Rows = {}
    found: dict[str, Trials] = {}
    with started(kafka.bootstrap_servers, NAME) as running, plain_beside(kafka) as plain:
        for key in faults or FAULTS:
            fault = FAULTS[key]
            found[key] = Trials()
            queue = key.upper().replace("-", ".")
            with programs_at(running.address, [queue], found[key]) as programs:
                try_broker(kafka, fault, trials, programs, plain, found[key])
            rows |= rows_of(key, fault.name, fault.limit_s, found[key])
            show(rows, f"after {trials} times {fault.name}")
    tell({key: FAULTS[key].name for key in found}, found)
    return rows


@contextmanager
def plain_beside(kafka: LocalKafka) -> Iterator[PlainProgram]:
    """Run a plain producer on a topic that has the ledger's replicas, the same one leading."""
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers, "log_level": 0})
    replicas = admin.list_topics(LEDGER, timeout=WAIT_S).topics[LEDGER].partitions[0].replicas
    topic = NewTopic(
        PLAIN,
        num_partitions=1,
        replica_assignment=[list(replicas)],
        config={"min.insync.replicas": str(max(1, len(replicas) - 1))},
    )
    admin.create_topics([topic])[PLAIN].result(WAIT_S)
    program = PlainProgram(kafka.bootstrap_servers, PLAIN)
    program.start()
    try:
        yield program
    finally:
        program.stop()


def try_broker(
    kafka: LocalKafka,
    fault: BrokerFault,
    trials: int,
    programs: Sequence[NumberedProgram],
    plain: PlainProgram,
    found: Trials,
) -> None:
    """Break one broker again and again while programs put."""
    for _ in range(trials):
        await_in_sync(kafka, PLAIN)
        leader, followers = await_in_sync(kafka, LEDGER)
        broker = leader if fault.leads else followers[0]
        steady([*programs, plain])
        struck_s = time.monotonic()
        (kafka.pause if fault.freezes else kafka.kill)(broker)
        found.gaps_s.append(await_back(programs, struck_s))
        found.plain_s.append(await_back([plain], struck_s))
        (kafka.resume if fault.freezes else kafka.start)(broker)


def await_in_sync(kafka: LocalKafka, topic: str) -> tuple[int, list[int]]:
    """Wait until all replicas of a topic's partition are in sync; its leader and followers."""
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers, "log_level": 0})
    deadline_s = time.monotonic() + WAIT_S
    while time.monotonic() < deadline_s:
        place = admin.list_topics(topic, timeout=WAIT_S).topics[topic].partitions[0]
        if len(place.isrs) == len(place.replicas) and place.leader in place.isrs:
            return place.leader, [one for one in place.replicas if one != place.leader]
        time.sleep(LOOK_S)
    raise RuntimeError(f"the replicas of {topic} are not in sync after {WAIT_S:.0f} s")
