"""An order is one parcel, wherever the programs of examples/sdk/outbox.py are killed on its way.

Each is killed before every line that it executes, in a process of its own, and started again.
"""

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from adapter import testing
from tests.pages.blocks import TOP
from tests.support.killed_at_line import load

PROGRAM = TOP / "examples" / "sdk" / "outbox.py"
QUEUE = "PARCELS"
ROLES = ("order", "relay", "receive")
LINES_MAX = 200
SOME_LINES = 20
HOUR_S = 3600.0


class Place:
    """The databases, the queue manager, and programs that can be killed."""

    def __init__(self, folder: Path, manager: testing.TestQueueManager) -> None:
        self.shop, self.warehouse = folder / "shop.db", folder / "warehouse.db"
        self.manager = manager
        self._programs = subprocess.Popen(
            [sys.executable, "-m", "tests.support.killed_at_line", PROGRAM],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=TOP,
            env=os.environ | {"MQK_QMGR": manager.address},
        )  # fmt: skip

    def run(self, role: str, killed_at: int = 0) -> bool:
        """Run a program; whether it came to its end before it was killed."""
        arguments = {
            "order": ["order", str(self.shop), QUEUE, "42 widgets"],
            "relay": ["relay", str(self.shop)],
            "receive": ["receive", str(self.warehouse), QUEUE],
        }[role]
        assert self._programs.stdin is not None
        assert self._programs.stdout is not None
        self._programs.stdin.write(json.dumps([killed_at, arguments]) + "\n")
        self._programs.stdin.flush()
        return bool(json.loads(self._programs.stdout.readline()) != "killed")

    def count(self, database: Path, table: str) -> int:
        """How many rows there are."""
        with closing(sqlite3.connect(database)) as file:
            found: tuple[int] = file.execute(f"SELECT count(*) FROM {table}").fetchone()
        return found[0]

    def close(self) -> None:
        """End the programs."""
        assert self._programs.stdin is not None
        assert self._programs.stdout is not None
        self._programs.stdin.close()
        self._programs.wait(10)
        self._programs.stdout.close()


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with testing.queue_manager(clock="manual") as manager:
        with manager.connect() as qm:
            qm.define_queue(QUEUE)
        place = Place(tmp_path, manager)
        try:
            yield place
        finally:
            place.close()


@pytest.mark.parametrize("victim", ROLES)
def test_a_program_is_killed_before_each_line(place: Place, victim: str) -> None:
    for line in range(1, LINES_MAX):
        has_ended = [place.run(role, line if role == victim else 0) for role in ROLES]
        assert all(place.run(role) for role in ROLES[1:])  # what was killed is started again
        orders = place.count(place.shop, "orders")
        assert orders == line or victim == "order"
        assert place.count(place.shop, "outbox") == 0
        assert place.count(place.warehouse, "parcels") == orders
        if all(has_ended):
            break
    assert all(has_ended)
    assert orders > 1
    assert line > SOME_LINES
    with place.manager.connect() as qm:
        assert qm.queue(QUEUE).depth() == 0


def test_a_relay_that_is_killed_after_its_commit_has_put_the_message(place: Place) -> None:
    """Only the unit's outcome can say so: its notes are as before the commit."""
    put_once(place)
    assert place.run("relay")
    with place.manager.connect() as qm:
        assert qm.queue(QUEUE).depth() == 1
    assert place.count(place.shop, "outbox") == 0


def test_when_the_outcome_is_forgotten_the_inbox_drops_the_second_message(place: Place) -> None:
    put_once(place)
    place.manager.clock.advance(HOUR_S + 1)
    assert place.run("relay")
    with place.manager.connect() as qm:
        assert qm.queue(QUEUE).depth() == 2
    assert place.run("receive")
    assert place.count(place.warehouse, "parcels") == 1


def test_several_relays_put_a_message_once(place: Place) -> None:
    """One that comes while another has put and not committed leaves its notes; so does one that
    has read them before.
    """
    outbox = load(PROGRAM)
    assert place.run("order")
    with (
        closing(sqlite3.connect(place.shop)) as shop,
        place.manager.connect() as first,
        place.manager.connect() as second,
    ):
        with first.unit() as unit:
            first.put(QUEUE, "42 widgets", message_id="shop-1")
            assert outbox.claim(shop, [1], unit.id)
            assert outbox.relay(second, shop) == 0
            assert not outbox.claim(shop, [1], b"another unit")
        assert outbox.relay(second, shop) == 0
        assert second.queue(QUEUE).depth() == 1
    assert place.count(place.shop, "outbox") == 0


def put_once(place: Place) -> None:
    """Have a message put by a relay that has no time to remove its note."""
    assert place.run("order")
    with place.manager.connect() as qm:
        for line in range(1, LINES_MAX):
            assert not place.run("relay", killed_at=line)
            if list(qm.queue(QUEUE).browse()):  # committed: depth() would count puts before that
                break
    assert place.count(place.shop, "outbox") == 1
