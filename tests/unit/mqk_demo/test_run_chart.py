"""The demo's end: a Spark job draws the delays, told what the job understands."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from mqk_demo import run
from mqk_demo.errors import DemoError


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that were run; the first succeeds, the others fail."""
    commands: list[list[str]] = []

    def call(command: list[str], **_named: Any) -> Any:
        commands.append(command)
        return subprocess.CompletedProcess(command, len(commands) - 1, "", "mqk: no Java\n")

    monkeypatch.setattr("subprocess.run", call)
    return commands


def test_the_job_understands_what_it_is_told(told: list[list[str]], tmp_path: Path) -> None:
    from spark_jobs.flights import flights  # with pandas and matplotlib: not in every process

    run.draw("127.0.0.1:9", tmp_path / "delays", tmp_path / "chart.png")
    (command,) = told
    at = command.index("adapter.cli")
    assert command[at:][:3] == ["adapter.cli", "spark", "flights"]
    given = flights.make_context("flights", command[at + 3 :]).params
    assert (given["queue"], given["queue_manager"]) == ("FLIGHTS.DONE", "DEMO")
    assert (given["available_now"], given["messages_a_batch"]) == (True, 0)
    assert given["chart"] == str(tmp_path / "chart.png")
    with pytest.raises(DemoError, match="the chart of the delays was not drawn: mqk: no Java"):
        run.draw("127.0.0.1:9", tmp_path / "delays", tmp_path / "chart.png")
