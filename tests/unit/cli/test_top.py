"""mqk top: what two looks say together, and how that is shown."""

import io
import json

import pytest
from rich.console import Console

from adapter.cli import top
from adapter.cli.top import Look, MoverFigures
from adapter.core.contract.results import QueueStatus
from adapter.testing import TestQueueManager
from tests.unit.cli.conftest import Mqk

FIGURES = {"queue_manager": "QM1", "state": "running", "connections": 2, "units": 1}


def status(
    name: str, depth: int = 0, put: int = 0, got: int = 0, age_s: float = 0.0
) -> QueueStatus:
    return QueueStatus(name, depth, 0, 0, 5, 3, 2, 4, age_s, [], put, got)


def looks(*pairs: tuple[QueueStatus | None, QueueStatus], past_s: float = 2.0) -> tuple[Look, Look]:
    before = {old.name: old for old, _ in pairs if old is not None}
    after = {new.name: new for _, new in pairs}
    return (
        Look(10.0, FIGURES | {"commits": 100, "backouts": 5}, before),
        Look(10.0 + past_s, FIGURES | {"commits": 150, "backouts": 6}, after),
    )


def test_rates_are_differences_of_totals() -> None:
    before, after = looks((status("Q", put=10, got=4), status("Q", 9, 30, 7, 1.5)))
    shown = top.screen(before, after, "name")
    (line,) = shown.queues
    assert (line.puts_per_s, line.gets_per_s) == (10.0, 1.5)
    assert (line.depth, line.in_flight, line.uncommitted_puts, line.waiting_gets) == (9, 2, 3, 4)
    assert line.oldest_message_age_s == 1.5
    assert (shown.commits_per_s, shown.backouts_per_s) == (25.0, 0.5)


def test_totals_that_began_anew_and_queues_that_were_not_there() -> None:
    before, after = looks((status("Q", put=1000), status("Q", put=4)), (None, status("N", put=9)))
    lines = {line.queue: line for line in top.screen(before, after, "name").queues}
    assert lines["Q"].puts_per_s == 2.0
    assert lines["N"].puts_per_s == 0.0


@pytest.mark.parametrize(
    ("sort", "first"), [("name", "A"), ("depth", "B"), ("rate", "C"), ("age", "D")]
)
def test_what_comes_first(sort: str, first: str) -> None:
    old = [status(name) for name in "ABCD"]
    new = [status("A"), status("B", depth=5), status("C", got=5), status("D", age_s=5.0)]
    before, after = looks(*zip(reversed(old), reversed(new), strict=True))
    assert top.screen(before, after, sort).queues[0].queue == first


def drawn(shown: top.LiveScreen, lines_max: int = 10) -> str:
    out = io.StringIO()
    Console(file=out, width=120).print(top.drawn(shown, lines_max))
    return out.getvalue()


def test_standbys_and_their_lag_are_shown() -> None:
    before, after = looks((None, status("Q")))
    lag = {"address": "b:1", "tls_address": "", "priority": 2, "lag_records": 1200, "lag_s": 0.25}
    after.figures["standbys"] = {"b:1": lag}
    after.figures["address"] = "a:1"
    shown = top.screen(before, after, "name")
    assert shown.owner == "a:1"
    assert shown.standbys["b:1"].lag_records == 1200
    assert "standby b:1: b:1, priority 2, 1,200 records, 0.2 s behind" in drawn(shown)


def test_movers_that_lag_or_hold_are_said() -> None:
    before, after = looks((None, status("Q")))
    after.figures["movers"] = {
        "stream": {"lag_records": 1200, "lag_bytes": 5_000_000, "parked": 2, "holding": 1},
        "events": {"lag_records": 0, "lag_bytes": 0, "holding": 0},
    }
    shown = top.screen(before, after, "name")
    assert shown.movers["stream"] == MoverFigures(1200, 5_000_000, 2, True)
    text = drawn(shown)
    assert "stream mover: 1,200 records, 5,000,000 bytes behind, 2 topics parked, holding" in text
    assert "events mover: 0 records, 0 bytes behind\n" in text


def test_more_queues_than_lines() -> None:
    before, after = looks(*((None, status(f"Q{number}")) for number in range(9)))
    text = drawn(top.screen(before, after, "name"), 4)
    assert "Q3" in text
    assert "Q4" not in text
    assert "and 5 more" in text


def test_once(at: Mqk, manager: TestQueueManager) -> None:
    with manager.connect() as qm, qm.unit():
        qm.put("Q", b"uncommitted")
        said = at("top", "--once", "--interval", "0.1")
        told = json.loads(at("top", "--once", "--interval", "0.1", "--json").out)
    assert said.status == 0
    assert "QM1  running" in said.out
    assert "units in flight 1" in said.out
    assert ["Q", "1", "0.0", "0.0", "0.0", "0", "1", "0"] in [
        line.split() for line in said.out.splitlines()
    ]
    assert told["queues"][0]["uncommitted_puts"] == 1
    assert told["queue_manager"] == "QM1"


def test_a_pattern_chooses(at: Mqk, manager: TestQueueManager) -> None:
    with manager.connect() as qm:
        qm.define_queue("OTHER")
    told = json.loads(at("top", "O*", "--once", "--interval", "0.1", "--json").out)
    assert [queue["queue"] for queue in told["queues"]] == ["OTHER"]


def test_ctrl_c_is_how_it_ends(at: Mqk, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = []

    def show(screen: top.LiveScreen, as_json: bool) -> None:
        shown.append(screen)
        if len(shown) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(top, "show_one", show)
    assert at("top", "--interval", "0.1").status == 0
    assert len(shown) == 2
