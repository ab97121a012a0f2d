"""The topics of a queue manager as they must be: partitions and settings of each kind.

Every kind of topic is a function from its name to a TopicSpec: partitions and explicit settings,
none left to a broker's default that could lose data. This module must not know how topics are
created, nor what is written to them.

Replication 1 is allowed, and can lose what was acknowledged when that broker's disk is lost.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Self

from msgspec import Struct

from adapter.core.contract.lanes import LANES
from adapter.storage.ledger.port import RECORD_BYTES_MAX

COPIES_MAX = 3
TIMESTAMP_MS_MAX = 2**63 - 1
OFF = "-1"
HOUR_MS = 60 * 60 * 1000
DAY_MS = 24 * HOUR_MS


class TopicSettings(Struct, frozen=True, kw_only=True):
    """What is the same for all topics of a queue manager.

    replication: copies of every record. min_insync_replicas: copies that must be there for a write
    to be acknowledged. events_retention_ms: how long events can be read. timeout_s: for Kafka.
    cluster_id: of the Kafka that was asked, which no other one has; "" if none was.
    """

    replication: int
    min_insync_replicas: int
    events_retention_ms: int = 7 * DAY_MS
    timeout_s: float = 30.0
    cluster_id: str = ""

    @classmethod
    def for_brokers(cls, count: int) -> Self:
        """As many copies as brokers, at most three; a write needs all of them but one."""
        copies = min(count, COPIES_MAX)
        return cls(replication=copies, min_insync_replicas=max(1, copies - 1))


class TopicSpec(Struct, frozen=True, kw_only=True):
    """One topic as it must be.

    instead: what to do where a topic of that name is another one. grows: an existing topic with
    fewer partitions gets the missing ones, and one with more is accepted.
    """

    name: str
    partitions: int
    settings: Mapping[str, str]
    instead: str = "use another queue manager name"
    tunable: tuple[str, ...] = ()  # settings that an operator may change
    grows: bool = False


# Nothing is deleted by age or size: what may go is decided by the queue manager, on durable facts.
KEPT: Mapping[str, str] = MappingProxyType(
    {
        "cleanup.policy": "delete",
        "retention.ms": OFF,
        "retention.bytes": OFF,
        "max.message.bytes": str(RECORD_BYTES_MAX),
    }
)

# Stamped by those who write, and then with any time: Kafka refuses by itself what is an hour ahead
# of a broker's clock. A wrong clock of an application must not park its queue, nor one of a broker
# all of them; and if the mark at a transaction's end is refused, Kafka never ends that transaction.
ANY_TIME: Mapping[str, str] = MappingProxyType(
    {
        "message.timestamp.type": "CreateTime",
        "message.timestamp.before.max.ms": str(TIMESTAMP_MS_MAX),
        "message.timestamp.after.max.ms": str(TIMESTAMP_MS_MAX),
    }
)

# What an existing topic is held to: these to the letter ...
EXACT = (
    "cleanup.policy",
    "retention.ms",
    "retention.bytes",
    "message.timestamp.type",
    "unclean.leader.election.enable",
)
# ... these may be larger. All others are the operator's to change.
AT_LEAST = (
    "max.message.bytes",
    "min.insync.replicas",
    "message.timestamp.before.max.ms",
    "message.timestamp.after.max.ms",
)


def ledger_spec(name: str) -> TopicSpec:
    """The ledger: one partition, stamped by its broker, so that its times are of one clock."""
    return TopicSpec(
        name=name, partitions=1, settings={**KEPT, "message.timestamp.type": "LogAppendTime"}
    )


def snapshots_spec(name: str) -> TopicSpec:
    """Snapshots: one partition; the queue manager deletes the older ones itself."""
    return TopicSpec(name=name, partitions=1, settings={**KEPT, **ANY_TIME})


def queue_spec(name: str, lanes: int) -> TopicSpec:
    """A queue's topic: one partition for each lane, stamped with put times."""
    if not 1 <= lanes <= LANES:
        raise ValueError(f"{name}: a queue has 1 to {LANES} lanes, not {lanes}")
    instead = "delete the queue and define it again, which has another topic then"
    settings = {**KEPT, **ANY_TIME}
    return TopicSpec(name=name, partitions=lanes, settings=settings, instead=instead)


def events_spec(name: str, settings: TopicSettings) -> TopicSpec:
    """Events: in one order, kept for a while."""
    kept = {"retention.ms": str(settings.events_retention_ms)}
    return TopicSpec(
        name=name,
        partitions=1,
        settings={**KEPT, **kept, **ANY_TIME},
        tunable=("retention.ms", "retention.bytes"),
    )


def progress_spec(name: str, movers: int) -> TopicSpec:
    """How far each mover has come: a partition for each mover, the last record for each key.

    A later release may have more movers; its partitions stay. Every record needs a key. Deletion is
    allowed beside compaction, so that the queue manager may trim by itself; by age or size nothing
    goes.
    """
    compacted = {
        "cleanup.policy": "compact,delete",
        "segment.bytes": str(16 * 1024 * 1024),
        "segment.ms": str(DAY_MS),
        # Each copying transaction leaves a marker, which a day would keep by the hundred megabytes.
        "delete.retention.ms": str(HOUR_MS),
    }
    return TopicSpec(
        name=name, partitions=movers, settings={**KEPT, **compacted, **ANY_TIME}, grows=True
    )


def schemas_spec(name: str) -> TopicSpec:
    """A schema registry's: one partition, of each key the last record, stamped by its broker."""
    compacted = {"cleanup.policy": "compact", "message.timestamp.type": "LogAppendTime"}
    instead = (
        "name another topic for mqk's schemas if this one is of another schema registry, or use "
        "that registry by its URL"
    )
    return TopicSpec(name=name, partitions=1, settings={**KEPT, **compacted}, instead=instead)


def inbound_spec(name: str) -> TopicSpec:
    """What is sent to a queue manager: in one order, and stamped by its broker.

    The queue manager deletes what it has received.
    """
    instead = "delete the topic, if nothing in it is needed: the queue manager makes it again"
    settings = {**KEPT, "message.timestamp.type": "LogAppendTime"}
    return TopicSpec(name=name, partitions=1, settings=settings, instead=instead)


def directory_spec(name: str) -> TopicSpec:
    """Who is reached where: one partition, of each key the last record."""
    compacted = {"cleanup.policy": "compact", "message.timestamp.type": "LogAppendTime"}
    instead = "delete the topic: every queue manager that starts again writes to it"
    return TopicSpec(name=name, partitions=1, settings={**KEPT, **compacted}, instead=instead)
