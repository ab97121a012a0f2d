"""The example of a poison message: its story, its database, and a handler that dies half-way."""

import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from sqlite3 import Connection, connect
from types import ModuleType
from uuid import UUID

import pytest

from adapter import servicebroker as sb
from adapter import testing

TOP = Path(__file__).parents[2]
PROGRAM = TOP / "examples" / "part-withdrawal" / "run.py"
TIMEOUT_S = 90.0
FAILS = "The update of part gear fails: the part is retired. The transaction rolls back."


def run(*arguments: str) -> list[str]:
    """Run the program to its end; returns the lines that it printed."""
    command = [sys.executable, str(PROGRAM), *arguments]
    environment = os.environ | {"PYTHONPATH": str(TOP)}
    return subprocess.run(
        command, check=True, timeout=TIMEOUT_S, env=environment, stdout=subprocess.PIPE, text=True
    ).stdout.splitlines()


def rows(path: Path, query: str) -> list[tuple[object, ...]]:
    """Look into the database."""
    with closing(connect(path)) as database:
        return database.execute(query).fetchall()


def check_story(printed: list[str]) -> None:
    """The poison message is found after five rollbacks; the others are processed."""
    assert printed.count(FAILS) == 5
    last = max(at for at, line in enumerate(printed) if line == FAILS)
    assert printed[last + 1].endswith("receives BROKER_QUEUE_DISABLED of queue StockQueue.")
    assert printed.index("The stock application withdraws 4 of part bolt.") < last
    assert printed.index("The stock application withdraws 3 of part nut.") > last
    of_gear = "error 127, Unable to process message"
    outcomes = {"bolt": "was fulfilled", "gear": f"failed: {of_gear}", "nut": "was fulfilled"}
    for part, outcome in outcomes.items():
        assert f"The workstation learns that its request of part {part} {outcome}." in printed


def test_the_story_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "stock.db"
    check_story(run("--database", str(path)))
    stock = [("bolt", 6, 0), ("gear", 10, 1), ("nut", 7, 0)]
    assert rows(path, "SELECT name, in_stock, retired FROM parts ORDER BY name") == stock
    assert rows(path, "SELECT part, quantity FROM withdrawals ORDER BY part") == [
        ("bolt", 4),
        ("nut", 3),
    ]
    assert rows(path, "SELECT * FROM pick_lists") == []


def test_the_story_at_a_queue_manager_twice(tmp_path: Path) -> None:
    with testing.queue_manager() as manager:
        for number in range(2):
            check_story(run(manager.address, "--database", str(tmp_path / f"{number}.db")))
        with manager.connect_servicebroker() as broker:
            assert broker.conversation_endpoints() == []
            assert [broker.browse(name) for name in ("StockQueue", "WorkstationQueue")] == [[], []]
            assert broker.queue("StockQueue").status


@pytest.fixture
def example() -> ModuleType:
    """The program as a module."""
    spec = importlib.util.spec_from_file_location("part_withdrawal", PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def manager() -> Iterator[testing.TestQueueManager]:
    with testing.queue_manager() as manager:
        yield manager


@pytest.fixture
def broker(example: ModuleType, manager: testing.TestQueueManager) -> Iterator[sb.ServiceBroker]:
    with manager.connect_servicebroker() as broker:
        example.create_services(broker)
        yield broker


@pytest.fixture
def path(example: ModuleType, tmp_path: Path) -> Path:
    path = tmp_path / "stock.db"
    example.create_database(path)
    return path


@pytest.fixture
def database(path: Path) -> Iterator[Connection]:
    with closing(connect(path)) as database:
        yield database


class Died(BaseException):
    """The program has died."""


def test_a_handler_that_dies_between_the_commits_withdraws_once(
    example: ModuleType,
    manager: testing.TestQueueManager,
    broker: sb.ServiceBroker,
    database: Connection,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    handle: UUID = example.request(broker, "bolt", 4)
    example.handle_next(broker, database)

    def die(*_: object, **__: object) -> None:
        raise Died

    with manager.connect_servicebroker() as dying, monkeypatch.context() as patched:
        patched.setattr(sb.Transaction, "commit", die)
        with pytest.raises(Died):
            example.handle_next(dying, database)
    in_stock = "SELECT in_stock FROM parts WHERE name = 'bolt'"
    assert database.execute(in_stock).fetchall() == [(6,)]
    (again,) = broker.browse("StockQueue")
    assert again.message_type_name == example.WITHDRAW

    assert example.handle_next(broker, database)
    assert database.execute(in_stock).fetchall() == [(6,)]
    answers = [row.message_type_name for row in broker.receive("WorkstationQueue")]
    assert answers == [example.WITHDRAWN, sb.END_DIALOG]
    broker.end_conversation(handle)
    assert broker.conversation_endpoints() == []


def test_state_that_a_dead_detector_left_is_cleared(
    example: ModuleType, broker: sb.ServiceBroker, database: Connection, path: Path
) -> None:
    example.request(broker, "bolt", 4)
    example.handle_next(broker, database)
    with database:
        database.execute("INSERT INTO pick_lists VALUES ('gone', 'W7')")
    example.clear_leftovers(broker, path)
    (kept,) = database.execute("SELECT conversation FROM pick_lists").fetchall()
    assert kept != ("gone",)


def test_a_detector_that_recognizes_no_message_leaves_the_queue_off(
    example: ModuleType, broker: sb.ServiceBroker, path: Path
) -> None:
    example.request(broker, "bolt", 4)
    broker.alter_queue("StockQueue", status=False)
    assert example.recover(broker, path) == 0
    assert not broker.queue("StockQueue").status


def test_an_address_without_a_queue_manager_is_said_in_a_sentence() -> None:
    ended = subprocess.run(
        [sys.executable, str(PROGRAM), "127.0.0.1:1"],
        timeout=TIMEOUT_S,
        env=os.environ | {"PYTHONPATH": str(TOP)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1
    assert ended.stderr.startswith("run.py: no queue manager answers (127.0.0.1:1")
