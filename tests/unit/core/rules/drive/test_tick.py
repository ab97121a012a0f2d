"""Tick: what becomes due is done, and when to look again is known."""

import pytest

from adapter.core.contract import commands as c
from adapter.core.model.lane import EXPIRY_BUCKET_MS
from adapter.core.model.report import EXPIRATION
from adapter.core.rules.drive.tick import EXPIRIES_PER_TICK
from adapter.core.rules.primitives import step_room
from tests.support.core import START_MS, Core, client_on
from tests.support.hard_state import check_snapshots


def test_expired_messages_are_discarded_without_a_get() -> None:
    client = client_on()
    client.put("hard", expiry_ms=1000)
    client.put("soft", expiry_ms=1000, persistence=0)
    client.put("long", expiry_ms=5000)
    client.core.advance(0.999)
    assert client.core.queue().depth == 3
    client.core.advance(0.001)
    assert client.core.queue().depth == 1
    assert client.core.replayed().queues["Q"].depth == 1


def test_expiry_is_known_after_a_restart() -> None:
    client = client_on()
    client.put("a", expiry_ms=1000)
    client.core.crash()
    assert client.core.next_tick_ms() == START_MS + 1000
    client.core.advance(1.0)
    assert client.core.queue().depth == 0


def test_a_message_held_by_a_unit_does_not_expire() -> None:
    client = client_on()
    client.put("a", expiry_ms=1000)
    unit = client.begin()
    assert client.get(unit) == ["a"]
    client.core.advance(2.0)
    client.do(c.Commit(unit))
    assert client.core.queue().depth == 0


def test_a_tick_is_short_and_comes_again() -> None:
    client = client_on()
    unit = client.begin()
    client.put(*("x" for _ in range(EXPIRIES_PER_TICK + 1)), unit=unit, expiry_ms=10)
    client.do(c.Commit(unit))
    client.core.advance(1.0)
    assert client.core.queue().depth == 1
    assert client.core.next_tick_ms() == START_MS + 10
    client.core.advance(0.0)
    assert client.core.queue().depth == 0
    assert client.core.next_tick_ms() is None


def test_when_to_look_again() -> None:
    client = client_on()
    assert client.core.next_tick_ms() is None
    client.put("a", expiry_ms=3000)
    assert client.core.next_tick_ms() == START_MS + 3000
    client.send(c.Get(1, wait_ms=2000, correlation_id=b"c" * 24))
    assert client.core.next_tick_ms() == START_MS + 2000


def test_messages_that_are_gone_leave_nothing_behind() -> None:
    client = client_on()
    for _ in range(1100):
        client.put("a", expiry_ms=10**9)
        client.get()
        client.seen(client.issued - 1, client.issued)
    assert len(client.core.qm.due.expiries) <= 1024


def test_sessions_are_looked_at_once_a_minute() -> None:
    core = Core(session_expiry_ms=1000)
    core.advance(0.0)
    client = core.connect()
    client.define()
    client.lose()
    core.advance(30.0)
    assert client.session in core.qm.sessions
    core.advance(30.0)
    assert client.session not in core.qm.sessions


def test_a_message_that_is_backed_out_when_its_time_is_over_is_discarded_once() -> None:
    """It may come back before the tick has looked at it."""
    client = client_on()
    client.put("a", expiry_ms=10)
    unit = client.begin()
    assert client.get(unit) == ["a"]
    client.core.now_ms += 10
    client.do(c.Backout(unit))
    client.core.advance(0.0)
    assert client.core.queue().depth == 0


def test_what_expired_in_a_unit_is_discarded_after_a_restart_from_a_snapshot() -> None:
    client = client_on()
    client.put("a", expiry_ms=10_000)
    assert client.get(client.begin()) == ["a"]
    client.core.advance(20)  # a unit holds it: it is looked at when it comes back
    client.core.crash_with_snapshot()
    assert client.core.queue().depth == 1
    client.core.advance(60)
    assert client.core.queue().depth == 0


def test_what_a_unit_holds_expires_after_a_purge_and_a_restart() -> None:
    """The ledger says of a message that a snapshot knows by its place that it is still there."""
    core = client_on().core
    client = core.connect()
    client.open()
    client.put("held", expiry_ms=1000)
    client.put("purged", expiry_ms=1000)
    core.crash_with_snapshot()
    client = core.connect()
    client.open()
    assert client.get(client.begin()) == ["held"]
    client.do(c.PurgeQueue("Q"))
    check_snapshots(core.qm, core.replayed())
    core.crash()
    core.advance(EXPIRY_BUCKET_MS / 1000)
    assert core.queue().depth == 0


@pytest.mark.parametrize("kind", ["unit", "browse"])
def test_an_end_that_a_wrong_clock_has_passed_is_still_met(kind: str) -> None:
    """The clock is a day ahead while a message is locked, and right again before it returns."""
    client = client_on()
    client.put("short", expiry_ms=60_000)
    unit = client.begin()
    if kind == "unit":
        assert client.get(unit) == ["short"]
    else:
        assert client.browse(options=c.LOCK) == ["short"]
    client.core.step(86_400)
    client.core.advance(0)
    client.core.step(-86_400)
    if kind == "unit":
        client.do(c.Backout(unit))
    else:
        client.do(c.Browse(1, options=c.UNLOCK))
    client.core.advance(59)
    assert client.core.queue().depth == 1
    client.core.advance(1)
    assert client.core.queue().depth == 0


def test_a_tick_reports_few_long_messages_and_comes_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step_room, "BYTES_PER_STEP", 3_000)
    client = client_on("Q", "R")
    with_data = EXPIRATION * 7
    for _ in range(4):
        client.put("x" * 2_000, expiry_ms=10, report=with_data, reply_to="R")
    for _ in range(4):
        client.put("x" * 2_000, expiry_ms=10)
    client.core.advance(1.0)
    assert (client.core.queue().depth, client.core.queue("R").depth) == (6, 2)
    client.core.advance(0.0)
    assert (client.core.queue().depth, client.core.queue("R").depth) == (4, 4)
    client.core.advance(0.0)
    assert client.core.queue().depth == 0
    assert client.core.next_tick_ms() is None
