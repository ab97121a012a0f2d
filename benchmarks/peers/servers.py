"""RabbitMQ and Artemis as processes of their own: on loopback ports, with data of their own.

RabbitMQ is Debian's package, Artemis comes from Maven as Kafka does. Neither needs root to run.
"""

from __future__ import annotations

import os
import shutil
import socket
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from ctypes import util
from pathlib import Path

from msgspec import Struct

from adapter.host import launch
from adapter.localkafka import jars
from adapter.localkafka.ports import HOST, free_port, free_ports

RABBITMQ = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
ERLANG = Path("/usr/lib/erlang/releases/start_erl.data")
JARS = jars.Jars(Path(__file__).with_name("pom.xml"), "peers", "artemis.version", 20)
# A quorum queue has no switch for fsync; this confirms what is written before it is synced.
CONFIRM_WRITTEN = "[{ra, [{wal_write_strategy, sync_after_notify}]}]."
# As `artemis create` sets it up; what it leaves out is Artemis's default.
BROKER_XML = """\
<configuration xmlns="urn:activemq">
  <core xmlns="urn:activemq:core">
    <persistence-enabled>true</persistence-enabled>
    <security-enabled>false</security-enabled>
    <journal-type>{journal}</journal-type>
    <journal-datasync>{fsync}</journal-datasync>
    <journal-buffer-timeout>{flush_ns}</journal-buffer-timeout>
    <journal-min-files>2</journal-min-files>
    <journal-pool-files>10</journal-pool-files>
    <acceptors>
      <acceptor name="core">tcp://{host}:{port}?protocols=CORE</acceptor>
    </acceptors>
  </core>
</configuration>
"""
TUNING_WRITES = 200
READY_S = 60.0
POLL_S = 0.05
STOP_S = 20.0


class NotInstalledError(Exception):
    """What a peer needs is not on this machine; says how to install it."""


def rabbitmq_version() -> str:
    """RabbitMQ's version and Erlang's; raises NotInstalledError."""
    if not RABBITMQ.exists():
        raise NotInstalledError("not installed: apt-get install rabbitmq-server")
    _require_javac()
    newest = max(RABBITMQ.parents[1].glob("lib/rabbitmq_server-*"))
    return f"{newest.name.rpartition('-')[2]} on Erlang {ERLANG.read_text().split()[1]}"


def artemis_version() -> str:
    """Artemis's version, and with what it writes its journal; raises NotInstalledError."""
    _require_javac()
    return f"{JARS.version}, journal {_journal()}"


def _require_javac() -> None:
    """The clients of both are compiled."""
    if shutil.which("javac") is None:
        raise NotInstalledError("no javac: apt-get install openjdk-17-jdk-headless")


def _journal() -> str:
    """The better journal needs a library of the system."""
    return "ASYNCIO" if util.find_library("aio") else "NIO (ASYNCIO: apt-get install libaio1)"


@contextmanager
def rabbitmq(*, fsync: bool) -> Iterator[int]:
    """Run RabbitMQ, one node; yields its port."""
    with tempfile.TemporaryDirectory(prefix="rabbitmq-") as work:
        folder = Path(work)
        names, port, distribution = free_ports(3)
        environment = _rabbitmq_environment(folder, names, port, distribution, fsync=fsync)
        # Else the node starts one that outlives it.
        names_command = ["epmd", "-port", str(names), "-address", HOST]
        with (
            _running(names_command, folder / "epmd.out", names),
            _running([str(RABBITMQ)], folder / "rabbitmq.out", port, environment),
        ):
            yield port


def _rabbitmq_environment(
    folder: Path, names: int, port: int, distribution: int, *, fsync: bool
) -> Mapping[str, str]:
    (folder / "environment.conf").touch()
    (folder / "plugins").write_text("[].")
    (folder / "rabbitmq.conf").touch()
    (folder / "advanced.config").write_text("[]." if fsync else CONFIRM_WRITTEN)
    return {
        **os.environ,
        "HOME": str(folder),
        "ERL_EPMD_ADDRESS": HOST,
        "ERL_EPMD_PORT": str(names),
        "RABBITMQ_ADVANCED_CONFIG_FILE": str(folder / "advanced.config"),
        "RABBITMQ_CONFIG_FILE": str(folder / "rabbitmq.conf"),
        "RABBITMQ_CONF_ENV_FILE": str(folder / "environment.conf"),
        "RABBITMQ_DIST_PORT": str(distribution),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "plugins"),
        "RABBITMQ_LOG_BASE": str(folder / "log"),
        "RABBITMQ_MNESIA_BASE": str(folder / "data"),
        "RABBITMQ_NODENAME": "bench@localhost",
        "RABBITMQ_NODE_IP_ADDRESS": HOST,
        "RABBITMQ_NODE_PORT": str(port),
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
    }


@contextmanager
def artemis(*, fsync: bool) -> Iterator[int]:
    """Run Artemis, one broker with its journal on disk; yields its port."""
    folder = jars.resolve_jars(jars.say_nothing, JARS)
    with tempfile.TemporaryDirectory(prefix="artemis-") as work:
        port = free_port()
        text = BROKER_XML.format(
            journal=_journal().split()[0],
            fsync=str(fsync).lower(),
            flush_ns=_sync_ns(Path(work)) if fsync else 0,
            host=HOST,
            port=port,
        )
        (Path(work) / "etc").mkdir()
        (Path(work) / "etc/broker.xml").write_text(text)
        command = [jars.find_java().path, "-Xms512m", "-Xmx2g", "-XX:+UseParallelGC"]
        command += ["-cp", f"{folder}/*", "org.apache.activemq.artemis.core.server.embedded.Main"]
        with _running([*command, work], Path(work) / "artemis.out", port):
            yield port


def _sync_ns(folder: Path) -> int:
    """How long a write of 4 KB with its sync takes when nothing disturbs it.

    Artemis waits so long for more to write.
    """
    with (folder / "tuning").open("wb", buffering=0) as file:
        file.write(bytes(4096 * TUNING_WRITES))
        os.fsync(file.fileno())
        file.seek(0)
        took = []
        for _ in range(TUNING_WRITES):
            began = time.perf_counter_ns()
            file.write(bytes(4096))
            os.fdatasync(file.fileno())
            took.append(time.perf_counter_ns() - began)
    return int(statistics.median_low(sorted(took)[: TUNING_WRITES // 2]))


@contextmanager
def _running(
    command: list[str], output: Path, port: int, environment: Mapping[str, str] | None = None
) -> Iterator[None]:
    """Run a server; it listens when the block begins."""
    child = launch.start(command, output=output, environment=environment)
    try:
        began = time.monotonic()
        while not _listens(port):
            if child.exit_status() is not None or time.monotonic() - began > READY_S:
                raise RuntimeError(f"{command[0]} does not listen: {output.read_text()[-2000:]}")
            time.sleep(POLL_S)
        yield
    finally:
        child.stop_group(STOP_S)


def _listens(port: int) -> bool:
    try:
        socket.create_connection((HOST, port), 1).close()
    except OSError:
        return False
    return True


class Peer(Struct, frozen=True):
    """Another queue manager.

    version: raises NotInstalledError. modes: what its clients are asked for, and in words. atomic:
    whether its units are.
    """

    name: str
    version: Callable[[], str]
    running: Callable[..., AbstractContextManager[int]]
    modes: Mapping[str, str]
    atomic: bool


PEERS = [
    Peer(
        "RabbitMQ",
        rabbitmq_version,
        rabbitmq,
        {
            "asked": "quorum queue, basic.get",
            "ahead": "quorum queue, prefetch",
            "pipelined": "quorum queue, prefetch, confirms in flight",
        },
        atomic=False,
    ),
    Peer(
        "Artemis",
        artemis_version,
        artemis,
        {"asked": "transactions, window 0", "ahead": "transactions, window 1 MiB"},
        atomic=True,
    ),
]
