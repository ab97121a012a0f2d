"""Forked children: an inherited connection is refused, and the parent's goes on unharmed."""

import gc
import json
import os
import subprocess
import sys
import warnings
from collections import defaultdict
from collections.abc import Iterator

import pytest

import adapter.testing
from adapter.errors import ConnectionClosed
from adapter.testing import TestQueueManager
from tests.support import forked

COUNT = 30
REFUSAL = "connect after the fork"
END_S = 60.0


@pytest.fixture
def manager() -> Iterator[TestQueueManager]:
    with adapter.testing.queue_manager("QM1") as running:
        with running.connect() as qm:
            qm.define_queue("Q")
        yield running


def run(how: str, address: str, count: int = COUNT) -> dict[str, list[str]]:
    """Run a program of tests.support.forked; return what it said, by kind."""
    command = [sys.executable, "-m", "tests.support.forked", how, address, str(count)]
    ended = subprocess.run(command, capture_output=True, timeout=END_S, check=False)
    assert ended.returncode == 0, ended.stderr.decode()
    said = defaultdict(list)
    for line in ended.stdout.splitlines():
        what, text = json.loads(line)
        said[what].append(text)
    assert not said["failed"]
    assert not said["accepted"]
    assert all(REFUSAL in text for text in said["refused"]), said["refused"]
    return said


def depth(manager: TestQueueManager) -> int:
    with manager.connect() as qm:
        return qm.queue("Q").depth()


@pytest.mark.parametrize(
    ("how", "messages", "refusals"),
    [
        ("forked", (forked.CHILDREN + 1) * COUNT, forked.CHILDREN * 13),
        ("pool", 2 * COUNT + 1, COUNT),
        ("preforking", 2 * COUNT + 1, COUNT),
    ],
)
def test_finding_users_1_every_message_that_was_put_is_there_once(
    manager: TestQueueManager, how: str, messages: int, refusals: int
) -> None:
    said = run(how, manager.address)
    assert len(said["put"]) == messages
    assert sorted(said["got"]) == sorted(said["put"])
    assert len(said["refused"]) == refusals
    assert all(text.startswith("ConnectionClosed: ") for text in said["refused"])
    assert depth(manager) == 0


def test_finding_users_1_every_face_refuses_an_inherited_connection(
    manager: TestQueueManager,
) -> None:
    command = [sys.executable, "-m", "tests.support.forked", "faces", manager.address, "1"]
    ended = subprocess.run(command, capture_output=True, timeout=END_S, check=True)
    said = [json.loads(line) for line in ended.stdout.splitlines()]
    assert [what for what, _ in said] == ["refused"] * 4 + ["got"] * 2
    kinds = [text.partition(":")[0] for what, text in said if what == "refused"]
    assert kinds[:2] == ["MessageQueueException", "ServiceBrokerError"]
    assert all("MQRC_CONNECTION_BROKEN" in text for _, text in said[2:4])
    assert REFUSAL in said[0][1]
    assert REFUSAL in said[1][1]


def test_finding_users_1_a_lock_of_another_thread_does_not_hang_the_child(
    manager: TestQueueManager,
) -> None:
    said = run("locked", manager.address)
    assert len(said["refused"]) == 13
    assert said["got"] == said["put"] == ["parent 0"]


def test_finding_users_1_a_link_within_one_process_is_refused_and_left_alone(
    manager: TestQueueManager,
) -> None:
    qm = manager.connect()
    queue = qm.queue("Q")
    queue.put("parent")
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the process has threads: on purpose
        child = os.fork()
    if child == 0:
        try:
            queue.put("child")
        except ConnectionClosed as error:
            os.write(writing, str(error).encode())
        finally:
            del queue, qm
            gc.collect()
            os._exit(0)
    os.waitpid(child, 0)
    assert REFUSAL in os.read(reading, 1000).decode()
    os.close(reading)
    os.close(writing)
    assert [message.text for message in queue.browse()] == ["parent"]
    qm.close()
