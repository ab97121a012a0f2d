"""The one table of rights on Kafka: what each role needs, and what each right is for.

A test removes each right in turn on a real broker, and sees what it is for fail. Kafka implies some
rights by others, which are therefore not in the table: Describe by Read, Write, Delete or Alter. No
role needs a right on the cluster: a principal that may write any topic may make an idempotent
producer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from msgspec import Struct

from adapter.storage.format import names

TOPIC, TRANSACTIONAL_ID, GROUP = "Topic", "TransactionalId", "Group"
CREATE, WRITE, READ, DELETE = "Create", "Write", "Read", "Delete"
ALTER, DESCRIBE, DESCRIBE_CONFIGS = "Alter", "Describe", "DescribeConfigs"
"""As Kafka spells them in listings of ACLs."""
OWN_GROUPS = "mqk-"
"""How the groups of mqk's own consumers begin. None joins its group; the client asks for it."""
SPARK_GROUP = "mqk-spark"
"""Of the source `mq`. Spark's own Kafka source needs no right on its groups."""


class NeededOperation(Struct, frozen=True):
    """One operation, and what fails without it."""

    operation: str
    purpose: str


class AclEntry(Struct, frozen=True):
    """What one principal may do with resources. is_prefix: those whose names begin with name."""

    resource: str
    name: str
    is_prefix: bool
    rights: tuple[NeededOperation, ...]

    @property
    def operations(self) -> tuple[str, ...]:
        """The operations, in the order of the table."""
        return tuple(one.operation for one in self.rights)


class AclNeeds(Struct, frozen=True, kw_only=True):
    """What a role works with.

    queue_manager: its name. peers: queue managers that it sends to, or of the role network-peer
    those that send to it. schema_topic: of its schema registry; "" if it has none of its own.
    network: whether it reaches other queue managers. feed_topics, export_topics: of other programs.
    queues: that a reader reads. groups: consumer groups of that reader.
    """

    queue_manager: str = ""
    schema_topic: str = ""
    network: bool = True
    peers: tuple[str, ...] = ()
    feed_topics: tuple[str, ...] = ()
    export_topics: tuple[str, ...] = ()
    queues: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()


def _right(operation: str, purpose: str) -> NeededOperation:
    return NeededOperation(operation, purpose)


OWN_TOPICS = (
    _right(CREATE, "create ledger, snapshots, progress, events, queues' and inbound topics"),
    _right(DESCRIBE_CONFIGS, "check their settings at each start and while it runs"),
    _right(WRITE, "append to the ledger; copy messages to the queues' topics"),
    _right(READ, "replay the ledger; copy from it; read messages back"),
    _right(DELETE, "delete records that are no longer needed, and topics of deleted queues"),
    _right(ALTER, "add the partition of a mover that a new release brings"),
)
CONSUMERS = _right(DESCRIBE, "read anything: the client looks up the coordinator of its group")


def _topic_of_all(topic: str, of: str, kept: str) -> AclEntry:
    """Return the rights on a topic that its first user creates. kept: what is written to it."""
    rights = (
        _right(CREATE, f"create the topic of {of}"),
        _right(DESCRIBE_CONFIGS, "check its settings"),
        _right(WRITE, f"enter {kept}"),
        _right(READ, f"know {kept} of others"),
    )
    return AclEntry(TOPIC, topic, False, rights)


def _schemas(needs: AclNeeds) -> AclEntry:
    return _topic_of_all(needs.schema_topic, "the schema registry", "schemas")


def _queue_manager(needs: AclNeeds) -> Iterator[AclEntry]:
    own = names.own_prefix(needs.queue_manager)
    yield AclEntry(TOPIC, own, True, OWN_TOPICS)
    yield AclEntry(TRANSACTIONAL_ID, own, True, (_right(WRITE, "copy and export in transactions"),))
    yield AclEntry(GROUP, OWN_GROUPS, True, (CONSUMERS,))
    if needs.schema_topic:
        yield _schemas(needs)
    if needs.network:
        yield _topic_of_all(names.DIRECTORY_TOPIC, "the directory", "queue managers")
    for peer in needs.peers:
        yield _inbound(names.inbound_topic(peer, needs.queue_manager), f"send to {peer}")
    for topic in needs.feed_topics:
        yield AclEntry(TOPIC, topic, False, (_right(READ, "read the topic of a feed"),))
    if needs.feed_topics:
        group = names.feed_group(needs.queue_manager, "")
        yield AclEntry(
            GROUP, group, True, (_right(READ, "show the positions of feeds to lag exporters"),)
        )
    for topic in needs.export_topics:
        yield AclEntry(
            TOPIC,
            topic,
            False,
            (
                _right(WRITE, "write the topic of an export"),
                _right(READ, "see, when an export begins again, what it wrote last"),
            ),
        )


def _inbound(topic: str, purpose: str) -> AclEntry:
    return AclEntry(TOPIC, topic, False, (_right(WRITE, purpose),))


def _network_peer(needs: AclNeeds) -> Iterator[AclEntry]:
    for peer in needs.peers:
        topic = names.inbound_topic(needs.queue_manager, peer)
        yield _inbound(topic, f"send to {needs.queue_manager}")


def _registry(needs: AclNeeds) -> Iterator[AclEntry]:
    yield _schemas(needs)
    yield AclEntry(GROUP, OWN_GROUPS, True, (CONSUMERS,))


def _spark(needs: AclNeeds) -> Iterator[AclEntry]:
    queues = names.queue_topic(needs.queue_manager, "")
    yield AclEntry(TOPIC, queues, True, (_right(READ, "read the topics of queues"),))
    yield AclEntry(GROUP, SPARK_GROUP, False, (_right(DESCRIBE, "read with the source `mq`"),))


def _reader(needs: AclNeeds) -> Iterator[AclEntry]:
    for queue in needs.queues:
        topic = names.queue_topic(needs.queue_manager, queue)
        yield AclEntry(TOPIC, topic, False, (_right(READ, "read the queue's topic"),))
    for group in needs.groups:
        purpose = "commit its offsets, and share partitions with others of its group"
        yield AclEntry(GROUP, group, False, (_right(READ, purpose),))


def _inbound_writer(needs: AclNeeds) -> Iterator[AclEntry]:
    yield _inbound(names.inbound_topic(needs.queue_manager), "put by writing a record")


class AclRole(Struct, frozen=True):
    """A role. needs: the fields of AclNeeds without which it has no rights."""

    meaning: str
    entries: Callable[[AclNeeds], Iterator[AclEntry]]
    needs: tuple[str, ...]


ROLES: Mapping[str, AclRole] = MappingProxyType(
    {
        "queue-manager": AclRole("a queue manager's process", _queue_manager, ("queue_manager",)),
        "network-peer": AclRole(
            "another queue manager that sends to this one",
            _network_peer,
            ("queue_manager", "peers"),
        ),
        "registry": AclRole("`mqk registry serve`", _registry, ("schema_topic",)),
        "spark": AclRole("jobs and sources of Spark", _spark, ("queue_manager",)),
        "reader": AclRole(
            "a plain Kafka consumer of queues' topics",
            _reader,
            ("queue_manager", "queues", "groups"),
        ),
        "inbound-writer": AclRole(
            "a plain Kafka producer that puts messages", _inbound_writer, ("queue_manager",)
        ),
    }
)
QUEUE_MANAGER = "queue-manager"


def entries(role: str, needs: AclNeeds) -> list[AclEntry]:
    """Return the rights of a role, in the order of the table."""
    return list(ROLES[role].entries(needs))
