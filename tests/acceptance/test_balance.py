"""examples/kafka-topics/balance.py: balances are exact, wherever its workers are killed."""

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path

import pytest

import adapter
from tests.pages.blocks import TOP
from tests.support.examples import few
from tests.support.export_site import ExportedTopic
from tests.support.server_process import ServerProcess
from tests.support.shared_kafka import AnyKafka

PROGRAM = TOP / "examples" / "kafka-topics" / "balance.py"
QUEUE = "SHOP.BOOKINGS"
LINES_MAX = 60
BOOKINGS, MORE_BOOKINGS = 150, 30
KILLS = 3
WORKERS = 2
WITHIN_S = 100.0


class Place:
    """A queue manager, the topic of balances, and the program."""

    def __init__(self, qm: adapter.Connection, address: str, topic: ExportedTopic) -> None:
        self.qm, self.topic = qm, topic
        self.environment = os.environ | {
            "MQK_QMGR": address,
            "BALANCES": topic.name,
            "BOOKINGS": QUEUE,
            "PYTHONPATH": str(TOP),
        }

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, PROGRAM, *arguments],
            stdout=subprocess.PIPE,
            text=True,
            env=self.environment,
        )

    def run(self, *arguments: str) -> str:
        """Run it to its end; return what it printed."""
        with self.start(*arguments) as running:
            printed, _ = running.communicate(timeout=WITHIN_S)
        assert running.returncode == 0
        return printed

    def book(self, account: str, amount: Decimal) -> None:
        self.qm.put(QUEUE, str(amount), properties={"account": account})

    def balances(self) -> dict[str, Decimal]:
        rows = (line.split() for line in self.run("show").splitlines())
        return {account: Decimal(balance) for account, balance in rows}


@pytest.fixture
def place(kafka: AnyKafka, unique_name: Callable[..., str], tmp_path: Path) -> Iterator[Place]:
    topic = ExportedTopic(kafka.bootstrap_servers, unique_name("balances"), 3)
    topic.set(cleanup_policy="compact")
    with ServerProcess(unique_name("QM"), kafka.bootstrap_servers, tmp_path) as server:
        server.start()
        with adapter.connect(server.address) as qm:
            qm.define_queue(QUEUE)
            yield Place(qm, server.address, topic)


def test_bookings_are_added_up(place: Place) -> None:
    assert place.run("book", "ada", "12.50", "-2") == ""
    assert place.run("book", "bob", "1") == ""
    place.run("work")
    assert place.run("show") == "ada 10.50\nbob 1\n"


def test_workers_that_are_killed_at_random_lose_nothing(place: Place) -> None:
    """Bookings come as long as workers are to be killed, however fast these are."""
    chance = random.Random(7)
    totals: dict[str, Decimal] = {}

    def book(count: int) -> None:
        for _ in range(count):
            account = chance.choice(("ada", "bob", "eve"))
            amount = Decimal(chance.randint(-999, 999)) / 100
            place.book(account, amount)
            totals[account] = totals.get(account, Decimal(0)) + amount

    book(BOOKINGS)
    queue = place.qm.queue(QUEUE)
    workers = [place.start("work") for _ in range(WORKERS)]
    kills, deadline_s = 0, time.monotonic() + WITHIN_S
    while kills < KILLS or queue.depth():
        assert time.monotonic() < deadline_s
        book(MORE_BOOKINGS if kills < KILLS else 0)
        time.sleep(0.3 + chance.random())
        victim = chance.randrange(WORKERS)
        workers[victim].kill()
        workers[victim].communicate()
        kills += 1
        workers[victim] = place.start("work")
        time.sleep(1.5)  # it has to begin
    for worker in workers:
        worker.communicate(timeout=WITHIN_S)
    assert place.balances() == totals


def test_a_worker_that_is_killed_before_any_line_counts_a_booking_once(place: Place) -> None:
    """Before a third of the lines in most runs."""
    programs = subprocess.Popen(
        [sys.executable, "-m", "tests.support.killed_at_line", PROGRAM],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=TOP,
        env=place.environment | {"WAIT_S": "0.1"},
    )  # fmt: skip
    assert programs.stdin is not None
    assert programs.stdout is not None
    total, has_ended = 0, False
    try:
        for line in few(range(1, LINES_MAX), LINES_MAX // 3):
            place.book("ada", Decimal(line))
            total += line
            programs.stdin.write(json.dumps([line, ["work"]]) + "\n")
            programs.stdin.flush()
            has_ended = json.loads(programs.stdout.readline()) != "killed"
            if has_ended:
                break
    finally:
        programs.stdin.close()
        programs.wait(WITHIN_S)
        programs.stdout.close()
    assert has_ended
    assert line > 15
    assert place.balances() == {"ada": Decimal(total)}
    assert place.qm.queue(QUEUE).depth() == 0
