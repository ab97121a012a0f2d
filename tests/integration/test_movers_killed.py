"""Movers that die, freeze, are fenced or doubted within a transaction: the copies are exact."""

import os
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Self

import msgspec
import pytest

from adapter.localkafka import LocalKafka
from adapter.storage.movers.process import MoverProcess
from adapter.storage.movers.settings import KafkaCluster
from adapter.storage.movers.thread import MoverThread
from mqk_demo.proxy import Mode, Proxy
from tests.support.examples import few
from tests.support.mover_place import LANES, WAIT_S, MoverPlace

END_TXN = 26
"""Kafka's number of the request that commits or aborts a transaction."""


def freeze_in_transaction(place: MoverPlace, process: MoverProcess, queue: str) -> None:
    """Stop the process at a moment when it has a transaction open on the queue's topic."""
    assert process.pid is not None
    deadline_s = time.monotonic() + WAIT_S
    while time.monotonic() < deadline_s:
        os.kill(process.pid, signal.SIGSTOP)
        # It stays open, and is not one whose markers are on their way to a slow broker.
        if all(place.is_open(place.topic(queue)) and not process.wait(0.05) for _ in range(10)):
            return
        os.kill(process.pid, signal.SIGCONT)
        assert process.failure() is None
    pytest.fail("no transaction was met open")


class Writing:
    """Writes units to all lanes of some queues, one after the other; a context manager."""

    def __init__(self, place: MoverPlace, *queues: str, units_min: int = 0) -> None:
        self.units = 0
        self._place = place
        self._queues = queues
        self._units_min = units_min
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_problem: object) -> None:
        """Stop once there are enough."""
        self._stop.set()
        self._thread.join(WAIT_S)
        assert not self._thread.is_alive()

    def _run(self) -> None:
        while not self._stop.is_set() or self.units < self._units_min:
            self._place.append(self._place.unit(self._queues))
            self._place.flush()
            self.units += 1


def test_a_process_that_is_killed_in_a_transaction_is_gone_without_a_trace(
    place: MoverPlace,
) -> None:
    """Twice, and in a long run five times, while 20,000 messages are being copied."""
    place.define("A", "B")
    process = MoverProcess(place.settings)
    try:
        process.start()
        assert process.caught_up(place.flush(), WAIT_S), process.failure()
        with Writing(place, "A", "B", units_min=1000) as writing:
            for _ in few(range(5), 2):
                process.start()
                assert process.wait_ready(WAIT_S)
                freeze_in_transaction(place, process, "A")
                process.kill()
                assert "status -9" in (process.failure() or "")
                assert place.is_open(place.topic("A")), "the kill was to leave a transaction open"
            process.start()
        assert process.caught_up(place.flush(), WAIT_S), process.failure()
    finally:
        process.stop()
    place.check("A", "B")
    assert place.progress()[-1].copied == writing.units * 2 * LANES


def test_of_several_movers_one_goes_on(place: MoverPlace) -> None:
    """Started at the same moment, again and again: each takes over from another somewhere."""
    place.define("A")
    fenced: list[str] = []
    units = 0
    for _ in range(4):
        rivals = [MoverThread(place.settings) for _ in range(3)]
        for rival in rivals:
            rival.start()
        with Writing(place, "A", units_min=100) as writing:
            assert all(rival.caught_up(0, WAIT_S) or rival.failure() for rival in rivals)
        units += writing.units
        for rival in rivals:
            rival.stop()
            if text := rival.failure():
                fenced.append(text)
    assert fenced, "they were to meet"
    assert all("was fenced" in text and "taken over" in text for text in fenced), fenced
    last = MoverThread(place.settings)
    last.start()
    assert last.caught_up(place.flush(), WAIT_S), last.failure()
    last.stop()
    place.check("A")
    assert place.progress()[-1].copied == units * LANES


def test_the_older_mover_is_fenced(place: MoverPlace) -> None:
    place.define("A")
    place.append(place.unit(["A"]))
    older, newer = MoverThread(place.settings), MoverThread(place.settings)
    older.start()
    assert older.caught_up(place.flush(), WAIT_S)
    newer.start()
    assert newer.caught_up(place.flush(), WAIT_S)
    place.append(place.unit(["A"]))
    assert newer.caught_up(place.flush(), WAIT_S), newer.failure()
    assert older.wait(WAIT_S)
    assert "the stream mover of" in (older.failure() or "")
    assert "was fenced" in (older.failure() or "")
    assert newer.failure() is None
    for movers in (older, newer):
        movers.stop()
    place.check("A")


def test_a_broker_that_is_killed_costs_time_and_nothing_else(
    killable_kafka: LocalKafka,
    unique_name: Callable[..., str],
) -> None:
    place = MoverPlace(killable_kafka.bootstrap_servers, unique_name())
    place.define("A")
    for _ in range(400):
        place.append(*(place.unit(["A"]) for _ in range(5)))
    end = place.flush()
    place.close()
    movers = MoverThread(place.settings)
    movers.start()
    assert movers.caught_up(1, WAIT_S)
    killable_kafka.kill(1)
    assert movers.failure() is None
    killable_kafka.start(1)
    assert movers.caught_up(end, 2 * WAIT_S), movers.failure()
    movers.stop()
    place.check("A")
    assert place.progress()[-1].copied == 400 * 5 * LANES


class CommitTap:
    """Watches for commits on their way to Kafka, and disturbs one of them through the proxy."""

    def __init__(self, skip: int) -> None:
        self.proxy: Proxy | None = None
        self.disturb: Callable[[Proxy], None] = lambda _proxy: None
        self.seen = threading.Event()
        self.frame = b""
        self._skip = skip
        self._buffers: dict[int, bytes] = defaultdict(bytes)

    def __call__(self, connection: int, from_client: bool, data: bytes) -> None:
        if not from_client or self.seen.is_set():
            return
        buffer = self._buffers[connection] + data
        while len(buffer) >= 6 and len(buffer) >= 4 + struct.unpack_from(">i", buffer)[0]:
            size, number = struct.unpack_from(">ih", buffer)
            if number == END_TXN:
                self._skip -= 1
            if number == END_TXN and self._skip < 0:
                self.frame = buffer[: 4 + size]
                assert self.proxy is not None
                self.disturb(self.proxy)
                self.seen.set()
                return
            buffer = buffer[4 + size :]
        self._buffers[connection] = buffer


def hold_replies(proxy: Proxy) -> None:
    proxy.replies.mode = Mode.HOLD  # on the proxy's own thread already


def hold_requests(proxy: Proxy) -> None:
    proxy.requests.mode = Mode.HOLD


def answer_late(proxy: Proxy) -> None:
    """Beyond the time after which librdkafka sends the request again."""
    threading.Event().wait(4.0)
    proxy.release()


def lose_answer(proxy: Proxy) -> None:
    """At once: the commit is sent again within milliseconds, and succeeds."""
    proxy.cut()
    proxy.release()


def end_transaction_again(place: MoverPlace, frame: bytes) -> int:
    """Send a commit's bytes as they were sent before; Kafka's error code."""
    host, _, port = place.servers.partition(":")
    with socket.create_connection((host, int(port)), WAIT_S) as connection:
        connection.sendall(frame)
        answer = connection.recv(14, socket.MSG_WAITALL)
    _size, _correlation, _throttle, error = struct.unpack(">iiih", answer)
    assert isinstance(error, int)
    return error


INVALID_PRODUCER_EPOCH, PRODUCER_FENCED = 47, 90


@pytest.mark.parametrize(
    ("disturb", "undo"),
    [(hold_replies, answer_late), (hold_replies, lose_answer), (hold_requests, lose_answer)],
    ids=["the answer comes late", "the answer is lost", "the request is lost"],
)
def test_a_commit_in_doubt_is_read_back(
    killable_kafka: LocalKafka,
    unique_name: Callable[..., str],
    disturb: Callable[[Proxy], None],
    undo: Callable[[Proxy], None],
) -> None:
    """And should its request land after all, when nobody waits for it, Kafka refuses it."""
    place = MoverPlace(killable_kafka.bootstrap_servers, unique_name())
    place.define("A")
    place.flush()
    port = int(killable_kafka.proxied_bootstrap_servers.partition(":")[2])
    tap = CommitTap(skip=5)
    tap.disturb = disturb
    proxied = KafkaCluster(killable_kafka.proxied_bootstrap_servers)
    settings = msgspec.structs.replace(place.settings, source=proxied, destination=proxied)
    with Proxy(*killable_kafka.behind_proxy(1), listen_port=port, tap=tap) as proxy:
        tap.proxy = proxy
        movers = MoverThread(settings)
        movers.start()
        try:
            with Writing(place, "A"):
                assert tap.seen.wait(WAIT_S), movers.failure()
                undo(proxy)
            assert movers.caught_up(place.flush(), WAIT_S), movers.failure()
        finally:
            movers.stop()
        figures = movers.statistics().values()
    assert end_transaction_again(place, tap.frame) in (INVALID_PRODUCER_EPOCH, PRODUCER_FENCED)
    assert sum(one["doubtful_commits"] for one in figures) >= 1
    place.check("A")
    place.close()


ORPHAN = """
import sys, msgspec
from adapter.storage.movers.process import MoverProcess, MoverSettings
process = MoverProcess(msgspec.json.decode(sys.argv[1], type=MoverSettings))
process.start()
assert process.wait_ready(30)
print(process.pid, flush=True)
sys.stdin.read()
"""


def test_movers_end_with_their_parent(place: MoverPlace) -> None:
    """However that went."""
    place.define("A")
    settings = msgspec.json.encode(place.settings).decode()
    parent = subprocess.Popen(
        [sys.executable, "-c", ORPHAN, settings], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert parent.stdout is not None
    assert parent.stdin is not None
    pid = int(parent.stdout.readline())
    orphan = os.pidfd_open(pid)
    parent.kill()
    parent.wait(WAIT_S)
    readable, _, _ = select.select([orphan], [], [], WAIT_S)
    os.close(orphan)
    parent.stdin.close()
    parent.stdout.close()
    assert readable, "the movers outlive their parent"
