"""mqk demo: its table, its status, and how an interruption ends it. The real run is elsewhere."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mqk_demo import command
from mqk_demo.errors import DemoError
from mqk_demo.outcome import Outcome
from tests.unit.cli.conftest import Mqk
from tests.unit.mqk_demo.test_outcome import RIGHT


@pytest.fixture
def came(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Let the run come to something."""

    def install(*, flights: list[int] | None = None, **changes: Any) -> None:
        def run(count: int, _screen: object, chart: Path | None, *, standby: bool) -> Outcome:
            if chart is not None:
                chart.write_bytes(b"a picture")
            if flights is not None:
                flights.append(count)
            return msgspec.convert(RIGHT | changes, Outcome)

        monkeypatch.setattr(command, "run", run)

    return install


def test_a_right_run_is_status_zero(mqk: Mqk, came: Any) -> None:
    came()
    said = mqk("demo")
    assert said.status == 0
    assert "every flight once, in order" in said.out
    assert "restart" in said.out
    assert said.err == ""


def test_a_wrong_run_is_status_one_and_says_what_is_off(mqk: Mqk, came: Any) -> None:
    came(lost=3, examples=["lost: line 7 is not on FLIGHTS.IN"])
    said = mqk("demo")
    assert said.status == 1
    assert "SOMETHING IS OFF" in said.out
    assert said.err.splitlines() == [
        "mqk: lost: 3, not 0", "mqk: lost: line 7 is not on FLIGHTS.IN",
    ]  # fmt: skip


def test_json_has_every_figure(mqk: Mqk, came: Any) -> None:
    came(duplicated=1)
    said = mqk("demo", "--json")
    assert said.status == 1
    assert json.loads(said.out) == RIGHT | {"duplicated": 1, "ok": False}


def test_the_number_of_flights_is_passed_on(mqk: Mqk, came: Any) -> None:
    asked: list[int] = []
    came(flights=asked)
    mqk("demo", "--flights", "5000")
    mqk("demo")
    assert asked == [5000, 336_776]


def test_a_run_that_cannot_end_is_a_sentence(mqk: Mqk, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*_: object, **__: object) -> Outcome:
        raise DemoError("nothing has moved for 60 s")

    monkeypatch.setattr(command, "run", run)
    said = mqk("demo")
    assert (said.status, said.err) == (1, "mqk: nothing has moved for 60 s\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interruption_ends_it_once(
    number: signal.Signals, mqk: Mqk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is being ended is not interrupted again."""
    ended: list[str] = []

    def run(*_: object, **__: object) -> Outcome:
        try:
            os.kill(os.getpid(), number)
            raise AssertionError("the signal was not noticed")
        finally:
            os.kill(os.getpid(), number)
            ended.append("all")

    before = signal.getsignal(number)
    monkeypatch.setattr(command, "run", run)
    said = mqk("demo")
    assert said.status == 130
    assert ended == ["all"]
    assert said.err.startswith("mqk: interrupted")
    assert signal.getsignal(number) is before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--flights", "999"], "999 is not in the range 1000<=x<=336776"),
        (["--flights", "336777"], "336777 is not in the range"),
        (["--flights", "all"], "'all' is not a valid integer"),
        (["now"], "unexpected extra argument"),
    ],
)
def test_wrong_use(arguments: list[str], words: str, mqk: Mqk) -> None:
    said = mqk("demo", *arguments)
    assert said.status == 2
    assert words in said.err


def test_it_says_where_the_chart_is(came: Any, mqk: Mqk, tmp_path: Path) -> None:
    came()
    assert (
        f"chart of the delays: {tmp_path / 'delays.png'}"
        in mqk("demo", "--chart", tmp_path / "delays.png").out
    )
