"""The settings of a local Kafka's brokers: pure, from a plan to the text of server.properties.

A cluster is planned whole (numbers, folders, ports), because every broker's settings name the
others. Nothing here touches the disk, a socket or a process.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from adapter.localkafka.ports import HOST

# A ledger entry or a message of a queue topic may take 8 MiB; the rest is Kafka's batch header.
MESSAGE_BYTES_MAX = 8 * 1024 * 1024 + 64 * 1024
REPLICATION_MAX = 3

FAILOVER: Mapping[str, str] = {
    "broker.session.timeout.ms": "2000",
    "broker.heartbeat.interval.ms": "300",
    "replica.lag.time.max.ms": "3000",
    "replica.socket.timeout.ms": "3000",
    "replica.fetch.wait.max.ms": "200",
}
"""How long commits stall when a broker fails: 2-4.4 s, where Kafka's defaults take 7-71 s (measured
with three brokers; docs/operations/kafka.md)."""

# The same for every broker.
COMMON: Mapping[str, str] = {
    **FAILOVER,
    "process.roles": "broker,controller",
    "inter.broker.listener.name": "PLAIN",
    "controller.listener.names": "CONTROLLER",
    "unclean.leader.election.enable": "false",
    "auto.create.topics.enable": "false",
    "message.max.bytes": str(MESSAGE_BYTES_MAX),
    "replica.fetch.max.bytes": str(MESSAGE_BYTES_MAX),
    "log.retention.ms": "-1",
    "group.initial.rebalance.delay.ms": "0",
    # The coordinators' own topics: few partitions start, move and clean faster.
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "4",
    "share.coordinator.state.topic.num.partitions": "4",
    # A small process: the cleaner's default buffer alone is 128 MiB of heap.
    "log.cleaner.dedupe.buffer.size": str(16 * 1024 * 1024),
    "num.network.threads": "2",
    "num.io.threads": "4",
    "background.threads": "2",
    "metric.reporters": "",
}


def broker_folder(cluster: Path, number: int) -> Path:
    """Where a cluster keeps what belongs to one of its brokers."""
    return cluster / f"broker-{number}"


def data_folder(broker: Path) -> Path:
    """Where a broker keeps its logs: a folder that holds nothing else."""
    return broker / "data"


class BrokerPlan(Struct, frozen=True, kw_only=True):
    """One broker: its number (from 1), its folder and its loopback ports."""

    number: int
    folder: Path
    port: int
    controller_port: int
    proxied_port: int | None = None  # listens here ...
    proxy_port: int | None = None  # ... and sends clients of that listener there

    @property
    def data(self) -> Path:
        return data_folder(self.folder)

    @property
    def properties_file(self) -> Path:
        return self.folder / "server.properties"

    @property
    def log_file(self) -> Path:
        return self.folder / "broker.log"

    @property
    def output_file(self) -> Path:
        return self.folder / "broker.out"

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port}"


def bootstrap_servers(plans: Sequence[BrokerPlan]) -> str:
    """The addresses that clients start from."""
    return ",".join(plan.address for plan in plans)


def listeners(plan: BrokerPlan) -> dict[str, str]:
    """Where a broker listens and what it tells clients to connect to."""
    listening = {"PLAIN": plan.port, "CONTROLLER": plan.controller_port}
    advertised = {"PLAIN": plan.port}
    if plan.proxied_port is not None and plan.proxy_port is not None:
        listening["PROXIED"] = plan.proxied_port
        advertised["PROXIED"] = plan.proxy_port
    return {
        "listeners": _addresses(listening),
        "advertised.listeners": _addresses(advertised),
        "listener.security.protocol.map": ",".join(f"{name}:PLAINTEXT" for name in listening),
    }


def _addresses(ports: Mapping[str, int]) -> str:
    return ",".join(f"{name}://{HOST}:{port}" for name, port in ports.items())


def replication(brokers: int) -> dict[str, str]:
    """As many copies as brokers up to three; a write needs all of them but one."""
    copies = min(brokers, REPLICATION_MAX)
    in_sync = max(1, copies - 1)
    factor_of = (
        "default.replication.factor",
        "offsets.topic.replication.factor",
        "transaction.state.log.replication.factor",
        "share.coordinator.state.topic.replication.factor",
    )
    in_sync_of = (
        "min.insync.replicas",
        "transaction.state.log.min.isr",
        "share.coordinator.state.topic.min.isr",
    )
    return dict.fromkeys(factor_of, str(copies)) | dict.fromkeys(in_sync_of, str(in_sync))


def properties(
    plan: BrokerPlan, cluster: Sequence[BrokerPlan], extra: Mapping[str, str]
) -> dict[str, str]:
    """All settings of one broker; what the caller gives wins."""
    voters = ",".join(f"{one.number}@{HOST}:{one.controller_port}" for one in cluster)
    return {
        **COMMON,
        **replication(len(cluster)),
        **listeners(plan),
        "node.id": str(plan.number),
        "controller.quorum.voters": voters,
        "log.dirs": str(plan.data),
        **extra,
    }


def render(settings: Mapping[str, str]) -> str:
    """The text of a Java properties file (a backslash begins an escape there)."""
    escaped = {key: value.replace("\\", "\\\\") for key, value in settings.items()}
    return "".join(f"{key}={value}\n" for key, value in sorted(escaped.items()))
