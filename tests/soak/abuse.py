"""What is too long for the tests of every day: Kafka away for a minute under load, and a crowd.

The short forms are tests/integration/test_kafka_paused.py and test_bad_clients.py.
"""

from __future__ import annotations

import random
import resource
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import adapter
from adapter.core.contract import commands as c
from adapter.localkafka import LocalKafka, free_port
from tests.support.bystander import Bystander
from tests.support.load import Load
from tests.support.raw_client import RawClient, framed
from tests.support.server_process import ServerProcess

MEGABYTE = 1024 * 1024
FILES = 20_000
WAIT_S = 60.0
LINES_MAX = 100
"""Of log in a minute: a client that finds no broker would write thousands."""
IN_OUT = c.INPUT | c.OUTPUT

Say = Callable[[str], None]


@contextmanager
def place(name: str, http_port: int = 0) -> Iterator[tuple[LocalKafka, ServerProcess]]:
    """A queue manager on a Kafka of its own."""
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalKafka() as kafka,
        ServerProcess(name, kafka.bootstrap_servers, Path(folder), http_port=http_port) as server,
    ):
        server.start()
        yield kafka, server
        assert "Traceback" not in server.said(), server.said()


def away(seconds: float, say: Say) -> None:
    """No broker for so long, and clients that go on afterwards; nothing lost or doubled."""
    http_port = free_port()
    with place("AWAY", http_port) as (kafka, server), adapter.connect(server.address) as qm:
        qm.define_queue("LOAD")
        with Load(server.address, "LOAD") as load:
            load.await_gets(100)
            kafka.kill(1)
            lines = len(server.said().splitlines())
            time.sleep(seconds)
            reason = not_ready(http_port)
            assert "Kafka has acknowledged no writes for" in reason, reason
            logged = server.said().splitlines()[lines:]
            assert any("Kafka acknowledges no writes" in line for line in logged)
            assert len(logged) < LINES_MAX * max(1, seconds / 60), f"{len(logged)} lines of log"
            kafka.start(1)
            load.await_gets(100)
            count = load.finish()
        assert qm.figures()["terms"] == 1
    say(f"Kafka was away for {seconds:g} s: {count} messages once each, {len(logged)} lines of log")


def not_ready(http_port: int) -> str:
    """What /ready says."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{http_port}/ready") as answer:
            return str(answer.read())
    except urllib.error.HTTPError as refused:
        return refused.read().decode()


def crowd(connections: int, say: Say) -> None:
    """So many connections opened and dropped, then as many at once; others are served meanwhile."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(FILES, most), most))
    chance = random.Random(connections)
    with place("CROWD") as (_, server), adapter.connect(server.address) as qm:
        qm.define_queue("Q")
        with Bystander(server.address, "BYSTANDER"):
            files, memory = server.open_files(), server.rss_bytes()
            for _ in range(connections):
                drop(come(server.address, chance), chance)
            dropped = server.rss_bytes() - memory
            kept = [come(server.address, chance) for _ in range(connections)]
            together = server.rss_bytes() - memory
            for client in kept:
                drop(client, chance)
            deadline_s = time.monotonic() + WAIT_S
            while server.open_files() > files + 2:
                assert time.monotonic() < deadline_s, f"{server.open_files()} files are open"
                time.sleep(0.1)
        status = qm.queue("Q").status()
        assert (status.open_output_count, status.uncommitted, status.current_depth) == (0, 0, 0)
        assert dropped < 60 * MEGABYTE, dropped
        assert together < 300 * MEGABYTE, together
    say(
        f"{connections:,} connections dropped: {dropped // MEGABYTE} MiB; at once: "
        f"{together // MEGABYTE} MiB; no file was left open"
    )


def come(address: str, chance: random.Random) -> RawClient:
    """Connect and go some way: hello, a part of a frame, a unit with a message in it."""
    client = RawClient(address)
    manner = chance.randrange(4)
    if manner:
        client.say_hello()
    if manner == 2:
        client.send(framed(bytes(60_000))[: chance.randrange(1, 50_000)])
    if manner == 3:
        session = chance.randbytes(16)
        unit = session + (1).to_bytes(8, "big")
        client.request([1, session])
        client.request(c.Open(1, "Q", IN_OUT), c.Begin(unit), [5, 1, [[b"never seen"]], unit])
    return client


def drop(client: RawClient, chance: random.Random) -> None:
    """Go without a word, with or without a reset."""
    if chance.randrange(2):
        client.break_off()
    client.sock.close()
