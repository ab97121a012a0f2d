"""Clients that behave badly: that never read, never finish, come in crowds, die, or make no sense.

Each time: another client goes on working, and the server's memory and open files stay bounded.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

import adapter
from adapter.core.contract import commands as c
from adapter.core.contract.reasons import Reason
from tests.support.bystander import Bystander
from tests.support.nonsense import SAFE, Nonsense
from tests.support.raw_client import REFUSED, WELCOME, RawClient, framed, refusal
from tests.support.server_process import ServerProcess
from tests.support.shared_kafka import AnyKafka

MEGABYTE = 1024 * 1024
WAIT_S = 20.0
IN_OUT = c.INPUT | c.OUTPUT | c.BROWSE


@pytest.fixture
def start(
    kafka: AnyKafka, unique_name: Callable[..., str], tmp_path: Path
) -> Iterator[Callable[..., ServerProcess]]:
    """Start a server of its own for a test; what it must never say is looked for at the end."""
    with ExitStack() as ends:

        def start(files: int = 0) -> ServerProcess:
            server = ServerProcess(unique_name(), kafka.bootstrap_servers, tmp_path, files=files)
            ends.enter_context(server)
            server.start()
            ends.callback(check_log, server)
            return server

        yield start


def check_log(server: ServerProcess) -> None:
    assert "Traceback" not in server.said(), server.said()


@contextmanager
def bounded(server: ServerProcess, growth_bytes: int) -> Iterator[None]:
    """Another client goes on, and memory does not grow by more than this."""
    with Bystander(server.address, "BYSTANDER"):
        server.forget_peak()
        before = server.rss_bytes()
        yield
        grown = server.peak_rss_bytes() - before
    assert grown < growth_bytes, f"memory grew by {grown / MEGABYTE:.0f} MiB"


def wait_until(happened: Callable[[], bool], what: str) -> None:
    """Look again and again at something outside this process that tells of no change."""
    deadline_s = time.monotonic() + WAIT_S
    while not happened():
        assert time.monotonic() < deadline_s, what
        time.sleep(0.01)


def test_a_client_that_reads_late(start: Callable[..., ServerProcess]) -> None:
    """It asks for 480 MB in one frame, and only then begins to read: it gets all of it."""
    server = start()
    asked = 60
    with adapter.connect(server.address) as qm, RawClient(server.address) as client:
        qm.define_queue("BIG")
        for number in range(4):
            qm.put("BIG", bytes([number]) * (2 * MEGABYTE))
        client.hello()
        client.ask(c.Open(1, "BIG", c.BROWSE))
        with bounded(server, 40 * MEGABYTE):  # an answer has 6 MB, and two of them may be there
            browse = c.Browse(1, True, 10)
            last = client.request(*[browse] * asked)
            with Bystander(server.address, "OTHER") as other:
                other.await_turns(50)
            answered: list[int] = []
            while len(answered) < asked:
                for request, result in client.receive()[1]:
                    bodies = [delivered[0][0] for delivered in result[1]]
                    assert [(body[0], len(body)) for body in bodies] == [
                        (number, 2 * MEGABYTE) for number in range(len(bodies))
                    ]
                    assert len(bodies) == 3, "as many as 8 MiB have room for"
                    answered.append(request)
        assert answered == list(range(last - asked + 1, last + 1))


def test_clients_that_never_finish_a_frame(start: Callable[..., ServerProcess]) -> None:
    """Each of 40 sends as much of 15 MiB as is taken: nobody is refused, and memory is bounded."""
    server = start()
    begun = framed(bytes(16 * MEGABYTE))[: 15 * MEGABYTE]
    held_back = 0
    for _ in range(2):
        with ExitStack() as ends, bounded(server, 400 * MEGABYTE):
            for _ in range(40):
                client = ends.enter_context(RawClient(server.address))
                client.hello()
                client.sock.settimeout(0.2)
                try:
                    client.send(begun)
                except TimeoutError:
                    held_back += 1
            with Bystander(server.address, "OTHER") as other:
                other.await_turns(50)
    assert held_back > 20


def test_a_crowd_that_comes_and_goes(start: Callable[..., ServerProcess]) -> None:
    server = start()
    chance = random.Random(3)
    files = server.open_files()
    with bounded(server, 60 * MEGABYTE):
        for _ in range(2000):
            client = RawClient(server.address)
            manner = chance.randrange(4)
            if manner:
                client.say_hello()
            if manner > 1:
                client.request(c.AskStatus("*"), c.Open(1, "BYSTANDER", IN_OUT))
            if manner > 2:
                client.break_off()
            client.sock.close()
    wait_until(lambda: server.open_files() <= files, "connections were left open")
    with adapter.connect(server.address) as qm:
        assert qm.figures()["connections"] == 1
        assert qm.queue("BYSTANDER").status().open_output_count == 0


def test_more_clients_than_files(start: Callable[..., ServerProcess]) -> None:
    """A limit of the system on open files is a limit on clients, and they are told."""
    server = start(files=300)
    with ExitStack() as ends, bounded(server, 60 * MEGABYTE):
        answers = []
        for _ in range(400):
            client = ends.enter_context(RawClient(server.address))
            client.say_hello()
            answers.append(client.receive())
        welcome = [answer for answer in answers if answer[0] == WELCOME]
        refused = [refusal(answer[1]) for answer in answers if answer[0] != WELCOME]
        assert len(welcome) > 100
        assert refused
        assert {one.reason for one in refused} == {Reason.LIMIT_REACHED}
        assert all("clients are connected" in one.detail for one in refused)
    with Bystander(server.address, "BYSTANDER"):
        pass


def test_a_client_that_dies_inside_a_unit(start: Callable[..., ServerProcess]) -> None:
    server = start()
    session = random.Random(5).randbytes(16)
    unit = session + (1).to_bytes(8, "big")
    with adapter.connect(server.address) as qm, bounded(server, 60 * MEGABYTE):
        qm.define_queue("Q")
        queue = qm.queue("Q")
        queue.put_many(str(number) for number in range(5))
        with RawClient(server.address) as client:
            client.hello()
            client.open_session(session)
            client.ask(c.Open(1, "Q", IN_OUT), c.Begin(unit))
            client.ask([5, 1, [[b"never seen"]], unit])
            got = client.ask(c.Get(1, unit, 0, 3))[1]
            assert [delivered[0][0] for delivered in got] == [b"0", b"1", b"2"]
            waits = client.request(c.Get(1, unit, -1, 10, correlation_id=b"x" * 24))
            assert waits
            status = queue.status()
            assert (status.uncommitted_gets, status.uncommitted_puts) == (3, 1)
            client.break_off()
        wait_until(lambda: not queue.status().uncommitted, "its unit was not backed out")
        assert queue.status().waiting_gets == 0
        left = [(m.body, m.backout_count) for m in iter(queue.get, None)]
    assert left == [(b"0", 1), (b"1", 1), (b"2", 1), (b"3", 0), (b"4", 0)]


@pytest.mark.parametrize("seed", [1, 2])
def test_requests_that_make_no_sense(start: Callable[..., ServerProcess], seed: int) -> None:
    """Each gets its answer; and what came of them is there when the queue manager starts again."""
    server = start()
    chance = random.Random(seed)
    with adapter.connect(server.address) as qm:
        qm.define_queue(SAFE)
    with bounded(server, 100 * MEGABYTE):
        for _ in range(5):
            with RawClient(server.address) as client:
                client.hello()
                client.open_session(chance.randbytes(16))
                reasons = ask_nonsense(client, chance)
                assert len(reasons) > 10, "it made too little sense to be of use"
    with adapter.connect(server.address) as qm:
        wait_until(lambda: not any(s.uncommitted for s in qm.queue_status()), "units are left")
        qm.put(SAFE, b"stays, whatever was got")
        queues, depths = what_is_there(qm)
    assert depths[SAFE]
    server.kill()
    server.start()
    with adapter.connect(server.address) as qm:
        assert what_is_there(qm) == (queues, depths)


def ask_nonsense(client: RawClient, chance: random.Random) -> set[Reason]:
    """Ask a few hundred made-up things, one after the other; why those were refused that were."""
    nonsense = Nonsense(chance, client.session)
    reasons = set()
    number = 1
    for _ in range(200):
        command = nonsense.command()
        wanted = number if nonsense.is_durable(command) else 0
        if chance.random() < 0.03:
            wanted = chance.choice((0, number - 1, number + 1, 2**63, 2**64 - 1))
        answer = client.ask(command, number=wanted)
        why = refusal(answer).reason if answer[0] == REFUSED else None
        if why is not None:
            reasons.add(why)
        if wanted == number and why not in (Reason.MALFORMED_REQUEST, Reason.OUT_OF_ORDER):
            number += 1
    return reasons


def what_is_there(qm: adapter.Connection) -> tuple[list[Any], dict[str, int]]:
    """The queues with their attributes, and how much is on each."""
    queues = [queue for queue in qm.queues() if queue.name != "BYSTANDER"]
    return queues, {queue.name: qm.queue(queue.name).depth() for queue in queues}
