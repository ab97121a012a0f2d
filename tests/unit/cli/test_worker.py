"""mqk worker: what its options become; that it works is seen in tests/unit/workers."""

from pathlib import Path
from typing import Any

import pytest

import adapter
from tests.unit.cli.conftest import Mqk


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    """The calls of run_worker(), which does nothing."""
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
    monkeypatch.setattr(
        "adapter.cli.worker.run_worker", lambda *given, **named: calls.append((given, named))
    )
    return calls


def test_options(mqk: Mqk, called: list[tuple[tuple[Any, ...], dict[str, Any]]]) -> None:
    options = "--processes 3 --threads 2 --prefetch 8 --stop-timeout 5 --reload --retry-times 7"
    more = "--retry-backoff 2 --retry-backoff-max 60 --retry-jitter 0.5 --retry-then FAILED"
    health = "--health-file /tmp/mqk-health --health-port 9500 --health-host 0.0.0.0 --qmgr host:1"
    said = mqk("worker", "shop:handle", "-q", "Q", *f"{options} {more} {health}".split())
    assert said.status == 0
    ((given, named),) = called
    assert given == ("shop:handle", "Q")
    assert named == {
        "address": "host:1",
        "processes": 3,
        "threads": 2,
        "prefetch": 8,
        "retry": adapter.Retry(7, 2.0, 0.5, "FAILED", 60.0),
        "stop_timeout": 5.0,
        "reload": True,
        "health_file": Path("/tmp/mqk-health"),
        "health_port": 9500,
        "health_host": "0.0.0.0",
        "application": "mqk worker shop:handle",
    }


def test_without_options_it_has_the_policy_of_run_worker(
    mqk: Mqk, called: list[tuple[tuple[Any, ...], dict[str, Any]]]
) -> None:
    assert mqk("worker", "shop:handle", "--queue", "Q").status == 0
    assert called[0][1]["retry"] == adapter.Retry()


@pytest.mark.parametrize(
    "wrong",
    [[], ["-q", "Q"], ["shop:handle"], ["shop:handle", "-q", "Q", "--processes", "0"]],
    ids=str,
)
def test_wrong_use(mqk: Mqk, wrong: list[str]) -> None:
    assert mqk("worker", *wrong).status == 2


def test_help_is_in_groups(mqk: Mqk) -> None:
    said = mqk("worker", "--help")
    assert said.status == 0
    assert [one in said.out for one in ("Processes:", "Retries:", "Health:")] == [True] * 3
