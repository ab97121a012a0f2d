"""The tab key: names of queues, and nothing at all where nobody answers."""

import socket
import time

import pytest
from click.shell_completion import ShellComplete

from adapter.cli import completion
from adapter.cli.main import mqk as command
from adapter.testing import TestQueueManager


def completed(*words: str, incomplete: str) -> list[str]:
    shell = ShellComplete(command, {}, "mqk", "_MQK_COMPLETE")
    return [one.value for one in shell.get_completions(list(words), incomplete)]


@pytest.fixture
def named(manager: TestQueueManager, monkeypatch: pytest.MonkeyPatch) -> TestQueueManager:
    monkeypatch.setenv("MQK_QMGR", manager.address)
    with manager.connect() as qm:
        for name in ("ORDERS", "ORDERS.FAILED", "PARCELS"):
            qm.define_queue(name)
    return manager


@pytest.mark.parametrize(
    "words",
    [
        ["put"], ["get"], ["browse"], ["move"], ["move", "PARCELS"], ["queue", "alter"],
        ["queue", "show"], ["queue", "delete"], ["queue", "purge"], ["consumer", "delete"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_finding_users_3_names_of_queues(words: list[str], named: TestQueueManager) -> None:
    assert completed(*words, incomplete="ORD") == ["ORDERS", "ORDERS.FAILED"]


def test_finding_users_3_the_queue_manager_of_the_line_is_asked(
    named: TestQueueManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MQK_QMGR", "127.0.0.1:1")
    assert completed("get", "--qmgr", named.address, incomplete="P") == ["PARCELS"]
    assert completed("get", incomplete="P") == []


def test_a_name_that_is_none_completes_to_nothing(named: TestQueueManager) -> None:
    assert completed("get", incomplete="\x00 x" * 20) == []


def test_finding_users_3_nobody_waits_longer_than_a_second(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(completion, "ANSWER_S", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("MQK_QMGR", f"127.0.0.1:{silent.getsockname()[1]}")
        begun_s = time.monotonic()
        assert completed("put", incomplete="") == []
    assert time.monotonic() - begun_s < 5
    assert capfd.readouterr() == ("", "")
