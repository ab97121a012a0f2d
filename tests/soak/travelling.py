"""Messages travel both ways between two queue managers, and either is killed now and then.

Each queue manager is a process of its own on one Kafka. A program at each puts units for the other;
a program at each gets what comes, in units too. The judge knows only what was committed: every
message exactly once, a source's in their order, and its units whole.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from msgspec import Struct

import adapter
from adapter.administration.mqsc import execute
from adapter.errors import BackedOut
from tests.support.sending import send
from tests.support.server_process import ServerProcess

QUEUE = "ARRIVED"
UNIT_MAX = 40
WITHIN_S = 60.0
"""For the next message, over the restart of both."""
RECONNECT_S = 60.0
GET_AT_ONCE = 25
PACE_S = 3 * WITHIN_S
"""A writer waits at most so long for the next kill."""


class Travel(Struct, frozen=True):
    """messages: one way, at least. kills: of both together."""

    messages: int
    kills: int
    seed: int = 1


def connected(server: ServerProcess) -> adapter.Connection:
    """Connect to one of them, and again whenever it was killed."""
    return adapter.connect(server.address, reconnect_timeout_s=RECONNECT_S)


def prepare(server: ServerProcess, other: str) -> None:
    """Define what one of them needs."""
    with connected(server) as qm:
        answer = execute.run(
            qm,
            f"DEFINE QLOCAL({QUEUE}) MSGDLVSQ(FIFO) MAXDEPTH(999999999)\n"
            f"DEFINE QLOCAL({other}) USAGE(XMITQ) MSGDLVSQ(FIFO) MAXDEPTH(999999999)\n",
        )
        assert "No command failed" in answer, answer


class Pace:
    """How many messages each writer may have put: so many more after each kill.

    So each kill meets messages that are under way, however fast they travel.
    """

    def __init__(self, plan: Travel) -> None:
        self._plan = plan
        self._changed = threading.Condition()
        self._kills = 0

    @property
    def may_be_put(self) -> int:
        """How many messages one writer may have put by now."""
        return self._plan.messages * (self._kills + 2) // (self._plan.kills + 1)

    def after_kill(self) -> None:
        """Allow more."""
        with self._changed:
            self._kills += 1
            self._changed.notify_all()

    def wait(self, put: int) -> None:
        """Wait until one more message may be put."""
        with self._changed:
            allowed = self._changed.wait_for(lambda: put < self.may_be_put, PACE_S)
        assert allowed, f"{put} messages were put, and no kill followed in {PACE_S:g} s"


class Writer:
    """Puts units of numbered messages; body: number, place in its unit, size of its unit."""

    def __init__(self, server: ServerProcess, to: str, count: int, seed: int, pace: Pace) -> None:
        self._server = server
        self._to = to
        self._count = count
        self._chance = random.Random(seed)
        self._pace = pace
        self.written = 0

    def __call__(self) -> None:
        """Put all of them."""
        with connected(self._server) as qm:
            while self.written < self._count:
                self._pace.wait(self.written)
                size = self._chance.randint(1, UNIT_MAX)
                bodies = [b"%d %d %d" % (self.written + n, n, size) for n in range(size)]
                self._put(qm, bodies)
                self.written += size

    def _put(self, qm: adapter.Connection, bodies: list[bytes]) -> None:
        while True:
            try:
                send(qm, self._to, QUEUE, bodies)
            except BackedOut:
                continue  # the queue manager was killed before the commit
            else:
                return


class Reader:
    """Gets what comes, and keeps what it has committed."""

    def __init__(self, server: ServerProcess, wanted: Callable[[], int | None]) -> None:
        """wanted: how many there are, when that is known."""
        self._server = server
        self._wanted = wanted
        self.got: list[tuple[bytes, bytes]] = []
        """Body and unit."""

    def __call__(self) -> None:
        """Get until all have come."""
        with connected(self._server) as qm:
            queue = qm.queue(QUEUE)
            last_s = time.monotonic()
            while (wanted := self._wanted()) is None or len(self.got) < wanted:
                before = len(self.got)
                self._get_some(qm, queue)
                if len(self.got) > before:
                    last_s = time.monotonic()
                assert time.monotonic() - last_s < WITHIN_S, f"{len(self.got)} of {wanted} came"
            assert queue.get() is None

    def _get_some(self, qm: adapter.Connection, queue: adapter.Queue) -> None:
        got: list[tuple[bytes, bytes]] = []
        try:
            with qm.unit():
                message = queue.get(timeout=1.0)
                while message is not None and len(got) < GET_AT_ONCE:
                    got.append((message.body, message.unit_id))
                    message = queue.get() if len(got) < GET_AT_ONCE else None
        except BackedOut:
            return
        self.got += got


def judge(got: list[tuple[bytes, bytes]], written: int) -> None:
    """Every message once, in order, and its unit whole."""
    told = [tuple(map(int, body.split())) for body, _ in got]
    assert [number for number, _, _ in told] == list(range(written))
    units: dict[bytes, list[tuple[int, int]]] = {}
    for (_, place, size), (_, unit) in zip(told, got, strict=True):
        units.setdefault(unit, []).append((place, size))
    for parts in units.values():
        assert parts == [(place, len(parts)) for place in range(len(parts))]


def travel(
    plan: Travel,
    names: tuple[str, str],
    bootstrap_servers: str,
    folder: Path,
    say: Callable[[str], object] = print,
) -> int:
    """Let messages travel both ways through the kills, and return how many did.

    Raises AssertionError for a message that is lost, doubled, out of order or out of its unit.
    """
    chance = random.Random(plan.seed)
    a, b = (
        ServerProcess(name, bootstrap_servers, folder, network=True, take_over=True)
        for name in names
    )
    with a, b, ThreadPoolExecutor(4) as programs:
        for server, other in ((a, b), (b, a)):
            server.start()
            prepare(server, other.queue_manager)
        pace = Pace(plan)
        writers = [
            Writer(one, other.queue_manager, plan.messages, plan.seed + at, pace)
            for at, (one, other) in enumerate(((a, b), (b, a)))
        ]
        putting = [programs.submit(writer) for writer in writers]

        def wanted(at: int) -> int | None:
            return writers[at].written if putting[at].done() else None

        readers = [Reader(b, lambda: wanted(0)), Reader(a, lambda: wanted(1))]
        getting = [programs.submit(reader) for reader in readers]
        for kill in range(plan.kills):
            _await_progress(readers, plan.messages * 2 * (kill + 1) // (plan.kills + 1), getting)
            victim = chance.choice((a, b))
            victim.kill()
            came = [len(one.got) for one in readers]
            pace.after_kill()
            victim.start()
            say(f"kill {kill + 1}: {victim.queue_manager}; {came[0]:,} and {came[1]:,} had come")
        for one in (*putting, *getting):
            one.result(10 * WITHIN_S)
        for writer, reader in zip(writers, readers, strict=True):
            judge(reader.got, writer.written)
    return sum(writer.written for writer in writers)


def _await_progress(readers: list[Reader], count: int, getting: Sequence[Future[None]]) -> None:
    """Wait until so many have come in all."""
    deadline_s = time.monotonic() + 3 * WITHIN_S
    while sum(len(one.got) for one in readers) < count:
        assert time.monotonic() < deadline_s, [len(one.got) for one in readers]
        if all(one.done() for one in getting):
            return
        time.sleep(0.01)
