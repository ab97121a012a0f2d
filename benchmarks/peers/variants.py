"""The ways to put and get that are measured: what each does, and how its clients are run.

A variant's clients put and get on a queue of its own. All bodies have 2 KB; all of them are durable
when the put's unit has ended, with fsync or without, as the servers were started.
"""

from __future__ import annotations

import functools
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
from msgspec import Struct

import adapter
from adapter.localkafka import jars
from adapter.localkafka.jars import kafka_version
from benchmarks import raw, verbs
from benchmarks.clients import WARM_UP_S, Task
from benchmarks.peers import servers
from benchmarks.stack import (
    HERE,
    Code,
    Done,
    Program,
    compiled_here,
    queue_manager,
    run_clients,
    run_programs,
)

CLIENTS = {1: (1, 1), 4: (2, 2), 64: (4, 16)}
"""Processes, and threads of each; the peers' Java clients are one process."""
MODES = {
    "deferred": "deferred puts",
    "ahead": "deferred puts, prefetch",
    "pipelined": "deferred puts, prefetch, commits in flight",
}
"""Of peers/sdk_clients.py."""
SDK_CLIENTS, KAFKA_CLIENTS = "peers/sdk_clients", "peers/kafka_clients"
WARM_UP_RUN = -1
UNIT = 100
SOURCES = Path(__file__).with_name("java") / "peers"


class Amount(Struct, frozen=True):
    """How much is measured.

    clients: how many do round trips, and for how long. messages: put and then got by one client.
    warm_up_s: of clients before they are measured; at most a second of those in Python. With 0
    nothing is run to warm up.
    """

    clients: tuple[int, ...] = tuple(CLIENTS)
    seconds: float = 3.0
    messages: int = 30_000
    warm_up_s: float = 2.0

    @property
    def few(self) -> int:
        """How many where it takes long."""
        return self.messages // 4


class Variant(Struct, frozen=True):
    """One way to put and get.

    atomic: the unit of two gets and the unit of two puts happen or do not. round_trips: of so many
    clients, in the run with this number. put_then_get: in units of 100, by one client.
    """

    system: str
    key: str
    name: str
    atomic: bool
    round_trips: Callable[[int, int], Done]
    put_then_get: Callable[[int], raw.Rate]


def versions() -> dict[str, str]:
    """What is measured; a peer that this machine lacks says how it is installed."""
    found = {"Kafka": kafka_version(), "mqk": adapter.__version__}
    for peer in servers.PEERS:
        try:
            found[peer.name] = peer.version()
        except servers.NotInstalledError as problem:
            found[peer.name] = str(problem)
    return found


@contextmanager
def running(bootstrap: str, amount: Amount, *, fsync: bool) -> Iterator[list[Variant]]:
    """Start every server that this machine has, and warm them up; prints which ones it lacks."""
    found: list[Variant] = []
    with ExitStack() as stack:
        address = stack.enter_context(queue_manager(bootstrap, "PEERS"))
        found += ours(address, amount)
        compiled = compiled_here()
        if compiled is None:
            print("compiled: left out; `make compiled` makes it", file=sys.stderr, flush=True)
        else:
            address = stack.enter_context(queue_manager(bootstrap, "COMPILED", code=compiled))
            found += ours(address, amount, compiled)
        found += kafka(bootstrap, amount)
        programs = stack.enter_context(java_programs())
        for peer in installed(servers.PEERS):
            port = stack.enter_context(peer.running(fsync=fsync))
            found += peer_variants(peer, java_clients(programs, peer.name.lower(), port, amount))
        # Java compiles while it runs; RabbitMQ's Erlang has been compiled before.
        compiling = {one.system: one for one in found[::-1] if one.system != "RabbitMQ"}
        for variant in compiling.values() if amount.warm_up_s else ():
            variant.round_trips(max(amount.clients), WARM_UP_RUN)
        yield found


def ours(address: str, amount: Amount, code: Code = HERE) -> list[Variant]:
    """The SDK's clients, on one queue manager."""
    with adapter.connect(address) as qm:
        for name in ("RT", "PG"):
            qm.define_queue(name)
    system = "mqk compiled" if code.compiled else "mqk"
    put_then_get = functools.partial(verbs.put_then_get, address, "PG", amount.messages, code)

    def round_trips(clients: int, _run: int) -> Done:
        purge(address)
        return run_clients(shared(_rt(address, "rt", amount), clients), code=code)

    waiting = Variant(
        system,
        system.replace(" ", "-"),
        f"{system}, every verb waits",
        True,
        round_trips,
        lambda _run: put_then_get(),
    )
    return [waiting, *(_ours(mode, address, amount, waiting, code) for mode in MODES)]


def _ours(mode: str, address: str, amount: Amount, waiting: Variant, code: Code) -> Variant:
    def round_trips(clients: int, _run: int) -> Done:
        purge(address)
        return run_clients(shared(_rt(address, mode, amount), clients), SDK_CLIENTS, code)

    def put_then_get(_run: int) -> raw.Rate:
        kind = f"{mode}.batches"
        task = Task(address=address, kind=kind, queue="PG", messages=amount.messages)
        done = run_clients([task], SDK_CLIENTS, code)
        return done.rate, done.cpu_us

    key, name = f"{waiting.key}-{mode}", f"{waiting.system}, {MODES[mode]}"
    return Variant(waiting.system, key, name, True, round_trips, put_then_get)


def purge(address: str) -> None:
    """Remove what the clients of earlier measurements left on the queue."""
    with adapter.connect(address) as qm:
        qm.queue("RT").purge()


def _rt(address: str, kind: str, amount: Amount, queue: str = "RT") -> Task:
    warm_up_s = min(amount.warm_up_s, WARM_UP_S)
    return Task(
        address=address, kind=kind, queue=queue, seconds=amount.seconds, warm_up_s=warm_up_s
    )


def shared(task: Task, clients: int) -> list[Task]:
    """A task for each process of so many clients."""
    processes, threads = CLIENTS[clients]
    return [
        msgspec.structs.replace(task, threads=threads, first=number * threads)
        for number in range(processes)
    ]


def kafka(bootstrap: str, amount: Amount) -> list[Variant]:
    """Clients of Kafka alone: topics of a partition for each client, made for each measurement."""

    def clients_of(kind: str) -> Callable[[int, int], Done]:
        def round_trips(clients: int, run: int) -> Done:
            topic = f"{kind}-{clients}-{run}"
            raw.create_topic(bootstrap, topic, clients)
            return run_clients(shared(_rt(bootstrap, kind, amount, topic), clients), KAFKA_CLIENTS)

        return round_trips

    def plain(run: int) -> raw.Rate:
        raw.create_topic(bootstrap, f"plain-batches-{run}")
        return raw.produce_then_consume_per_second(
            bootstrap, f"plain-batches-{run}", amount.messages
        )

    def transactions(run: int) -> raw.Rate:
        topic = f"batches-{run}"
        raw.create_topic(bootstrap, topic)
        task = Task(address=bootstrap, kind="batches", queue=topic, messages=amount.few)
        done = run_clients([task], KAFKA_CLIENTS)
        return done.rate, done.cpu_us

    return [
        Variant("Kafka", "kafka", "Kafka, idempotent producer", False, clients_of("plain"), plain),
        Variant(
            "Kafka",
            "kafka-tx",
            "Kafka, transactions",
            True,
            clients_of("transactional"),
            transactions,
        ),
    ]


def installed(peers: Sequence[servers.Peer]) -> Iterator[servers.Peer]:
    """Give the peers that this machine has; prints what the others lack."""
    for peer in peers:
        try:
            peer.version()
        except servers.NotInstalledError as problem:
            print(f"{peer.name}: {problem}", file=sys.stderr, flush=True)
        else:
            yield peer


JavaPrograms = Callable[..., Program]
"""Makes a client process of a class, with its arguments."""


@contextmanager
def java_programs() -> Iterator[JavaPrograms]:
    """Compile the Java clients of all peers; yields what makes a process of one of their classes.

    Nothing is compiled where no peer is installed: then nothing is asked of it.
    """
    with TemporaryDirectory(prefix="clients-") as classes:

        @functools.cache
        def compiled() -> str:
            libraries = f"{jars.resolve_jars(jars.say_nothing, servers.JARS)}/*"
            sources = sorted(SOURCES.glob("*.java"))
            subprocess.run(["javac", "-d", classes, "-cp", libraries, *sources], check=True)
            return f"{classes}:{libraries}"

        def program(main: str, *arguments: str) -> Program:
            return Program([jars.find_java().path, "-cp", compiled(), main, *arguments])

        yield program


def peer_variants(peer: servers.Peer, load: Load) -> list[Variant]:
    """The Java clients of a peer: that ask for each message, and that are sent messages ahead."""
    return [
        Variant(
            peer.name,
            f"{peer.name.lower()}-{mode}",
            f"{peer.name}, {peer.modes[mode]}",
            peer.atomic,
            functools.partial(_round_trips, load, mode),
            functools.partial(_put_then_get, load, mode),
        )
        for mode in peer.modes
    ]


Load = Callable[[str, str, int], Done]
"""Runs clients: of a kind, in a mode, so many."""


def _round_trips(load: Load, mode: str, clients: int, _run: int) -> Done:
    return load("rt", mode, clients)


def _put_then_get(load: Load, mode: str, _run: int) -> raw.Rate:
    done = load("pg", mode, 1)
    return done.rate, done.cpu_us


def java_clients(programs: JavaPrograms, peer: str, port: int, amount: Amount) -> Load:
    """Return what runs the Java clients of a peer in one process."""

    def load(kind: str, mode: str, clients: int) -> Done:
        arguments = [peer, str(port), kind, mode, kind.upper(), str(clients)]
        arguments += [str(amount.warm_up_s), str(amount.seconds)]
        arguments += [str(amount.few if mode == "asked" else amount.messages), str(UNIT)]
        return run_programs([programs("peers.Load", *arguments)])

    return load
