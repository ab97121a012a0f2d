"""Workers on a real Kafka: processes are killed, the worker is stopped and started again.

The function puts each body on another queue, in the unit that has got it. The judge reads that.
"""

import os
import random
import signal
import statistics
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from msgspec import Struct

import adapter
from tests.support.backlog import until
from tests.support.server_process import ServerProcess
from tests.support.shared_kafka import AnyKafka
from tests.support.worker_process import WorkerProcess, bodies

PROCESSES = 3
RETRY = ("--retry-times", 1000, "--retry-backoff", 0.05, "--retry-backoff-max", 0.2)
POISONS = 9
BACKOFF_S = 1.0
NEXT_WITHIN_S = BACKOFF_S / 4


@pytest.fixture
def server(
    kafka: AnyKafka, unique_name: Callable[..., str], tmp_path: Path
) -> Iterator[ServerProcess]:
    with ServerProcess(unique_name("QM"), kafka.bootstrap_servers, tmp_path) as running:
        running.start()
        with adapter.connect(running.address) as qm:
            for name in ("Q", "OUT", "FAILED"):
                qm.define_queue(name)
        yield running


class Harm(Struct):
    """How much is done to how many messages."""

    messages: int
    children_killed: int
    stops: int
    servers_killed: int


class Chaos:
    """Does harm at even shares of the work, in a random order."""

    def __init__(
        self, qm: adapter.Connection, server: ServerProcess, worker: WorkerProcess, harm: Harm
    ) -> None:
        self._harm = harm
        self._out = qm.queue("OUT")
        self._server = server
        self._worker = worker
        self._chance = random.Random(11)

    def run(self) -> None:
        harm = [
            *[self._kill_child] * self._harm.children_killed,
            *[self._stop_and_start] * self._harm.stops,
            *[self._kill_server] * self._harm.servers_killed,
        ]
        self._chance.shuffle(harm)
        for number, harm_done in enumerate(harm, 1):
            share = number / (len(harm) + 1) * self._harm.messages
            until(lambda share=share: self._out.depth() >= share)  # type: ignore[misc]
            harm_done()

    def _kill_child(self) -> None:
        until(lambda: bool(self._worker.children()))
        with suppress(ProcessLookupError):
            os.kill(self._chance.choice(self._worker.children()), signal.SIGKILL)

    def _stop_and_start(self) -> None:
        assert self._worker.stop() == 0
        self._worker.start()

    def _kill_server(self) -> None:
        self._server.kill()
        threading.Event().wait(0.2)
        self._server.start()


@pytest.mark.timeout(240)
@pytest.mark.parametrize(
    ("function", "harm"),
    [("copy", Harm(3_000, 12, 3, 2)), ("copy_in_loop", Harm(1_500, 6, 1, 1))],
    ids=["function", "coroutine"],
)
def test_each_message_has_its_effect_once_whatever_is_killed(
    server: ServerProcess, tmp_path: Path, function: str, harm: Harm
) -> None:
    log = tmp_path / "worker.log"
    sent = [b"%06d" % number for number in range(harm.messages)]
    with adapter.connect(server.address) as qm:
        qm.queue("Q").put_many(sent)
        options = ("--processes", PROCESSES, "--threads", 2, "--prefetch", 4, *RETRY)
        with WorkerProcess(server.address, function, *options, log=log) as worker:
            Chaos(qm, server, worker, harm).run()
            queue, out = qm.queue("Q"), qm.queue("OUT")
            until(lambda: out.depth() + qm.queue("FAILED").depth() >= harm.messages)
            assert worker.stop() == 0
        assert sorted(bodies(qm, "OUT")) == sent
        status = queue.status()
        assert (status.current_depth, status.delayed, status.uncommitted) == (0, 0, 0)
    said = log.read_text()
    assert said.count("was ended by SIGKILL") >= harm.children_killed // 2
    assert said.count("stopping:") == harm.stops + 1


def test_poison_hardly_delays_the_next_message(server: ServerProcess, tmp_path: Path) -> None:
    """It has put something when it fails, so that its unit is backed out first."""
    with adapter.connect(server.address) as qm:
        for number in range(POISONS):
            qm.queue("Q").put_many([b"before", b"poison %d" % number, b"after %d" % number])
        retry = ("--retry-times", 1, "--retry-backoff", BACKOFF_S, "--retry-then", "FAILED")
        with WorkerProcess(server.address, "copy", *retry, log=tmp_path / "log") as worker:
            out = qm.queue("OUT")
            until(lambda: out.depth() == 2 * POISONS)
            first_errors = _first_errors_ns(worker)
            until(lambda: qm.queue("FAILED").depth() == POISONS)
            assert worker.stop() == 0
        failed = list(qm.queue("FAILED").browse())
        after = [one for one in out.browse() if one.body.startswith(b"after")]
    assert [one.properties["mqk.attempts"] for one in failed] == [2] * POISONS
    shown = [one.properties["shown_ns"] for one in after]
    delays_s = [
        (int(shown_ns) - failed_ns) / 1e9  # type: ignore[arg-type]
        for failed_ns, shown_ns in zip(first_errors, shown, strict=True)
    ]

    assert min(delays_s) > 0
    assert statistics.median(delays_s) < NEXT_WITHIN_S


def _first_errors_ns(worker: WorkerProcess) -> list[int]:
    """When the first attempts failed, by the poisons' numbers: an attempt is logged when it is
    backed out, and again when it is tried again, be that before other poisons were met.
    """

    def found() -> dict[str, int]:
        errors: dict[str, int] = {}
        for line in worker.log().splitlines(keepends=True):
            if line.startswith("ValueError: poison ") and line.endswith("\n"):
                poison, _, at_ns = line.partition(" at ")
                errors.setdefault(poison, int(at_ns))
        return errors

    until(lambda: len(found()) == POISONS)
    return list(found().values())
