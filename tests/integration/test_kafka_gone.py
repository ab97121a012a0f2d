"""A queue manager whose Kafka is gone for good, or was never what it seemed.

Real processes; each has a Kafka of its own, which is stopped, or something that listens in its
place and is no Kafka.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

import adapter
from adapter.localkafka import LocalKafka, free_port
from adapter.runtime.owner.stall import SLOW_S
from adapter.storage.format import names
from tests.support.server_process import HOST, ServerProcess

STOP_S = 15.0
"""About five seconds; on a busy machine still far less than one call that waits for Kafka."""
BODIES = [b"1", b"2", b"3"]


def test_finding_reliability_kafka_gone_a_stop_takes_seconds_and_says_what_is_missing(
    killable_kafka: LocalKafka, unique_name: Callable[..., str], tmp_path: Path
) -> None:
    """A put waits for Kafka meanwhile: it is in the ledger or not, and what was answered is."""
    name = unique_name("GONE")
    server = ServerProcess(name, killable_kafka.bootstrap_servers, tmp_path, network=True)
    with server:
        server.start()
        with adapter.connect(server.address) as qm:
            qm.define_queue("Q")
            qm.queue("Q").put_many(BODIES)
        killable_kafka.stop()
        putting = threading.Thread(target=put_in_vain, args=(server.address,), daemon=True)
        putting.start()
        time.sleep(2 * SLOW_S)
        server.ask_to_end()
        assert server.await_end(STOP_S) == 1
        sentence = server.sentence()
        assert f"queue manager {name} has stopped without Kafka" in sentence
        assert f"{names.ledger_topic(name)} on {killable_kafka.bootstrap_servers}" in sentence
        assert "Nothing that was acknowledged is lost" in sentence
        assert "requests whose outcome is unknown: " in sentence
        killable_kafka.start()
        server.start()
        with adapter.connect(server.address) as qm:
            assert qm.queue("Q").depth() >= len(BODIES)


def put_in_vain(address: str) -> None:
    with (
        suppress(adapter.errors.Error),
        adapter.connect(address, reconnect_timeout_s=0.0) as qm,
    ):
        qm.queue("Q").put(b"in doubt")


@contextmanager
def away() -> Iterator[str]:
    yield f"{HOST}:{free_port()}"


@contextmanager
def listening(serve: Callable[[socket.socket], object]) -> Iterator[str]:
    """Listen in a Kafka's place; serve is called with each connection."""

    def accept() -> None:
        with suppress(OSError):
            while True:
                serve(listener.accept()[0])

    with closing(socket.create_server((HOST, 0))) as listener:
        threading.Thread(target=accept, daemon=True).start()
        yield f"{HOST}:{listener.getsockname()[1]}"
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("kind", ["away", "closing", "silent"])
def test_finding_reliability_kafka_gone_a_start_says_so(kind: str, tmp_path: Path) -> None:
    held: list[socket.socket] = []
    places = {"away": away(), "closing": listening(socket.socket.close)}
    with (
        places.get(kind) or listening(held.append) as address,
        ServerProcess("GONE", address, tmp_path) as server,
    ):
        server.launch()
        assert server.await_end() == 1
        assert address in server.sentence()
        assert "Traceback" not in server.said()
    for one in held:
        one.close()
