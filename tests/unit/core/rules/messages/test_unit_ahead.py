"""Units ahead: what nobody has been shown comes back uncounted; what was shown counts."""

from collections.abc import Callable
from typing import Any

import pytest

from adapter.core.contract import commands as c
from adapter.core.contract import records as r
from adapter.core.contract.results import Done, Messages
from adapter.storage.format import entries
from tests.support.core import Client, client_on


def counts(client: Client) -> list[int]:
    """The backout counts of what is on the queue, which must be those that the entries say."""
    core = client.core
    stored, replayed = (
        sorted((place, one.backout_count) for place, one in qm.queues["Q"].stored.items())
        for qm in (core.qm, core.replayed())
    )
    assert stored == replayed
    return [count for _, count in stored]


def with_two(**attributes: Any) -> Client:
    client = client_on(**attributes)
    client.put("a")
    client.put("b")
    return client


def ends(client: Client) -> list[Callable[[bytes], object]]:
    return [lambda unit: client.do(c.Backout(unit)), lambda _: client.lose()]


@pytest.mark.parametrize("end", [0, 1], ids=["backout", "lost"])
def test_what_was_not_shown_comes_back_uncounted_to_its_place(end: int) -> None:
    client = with_two()
    unit = client.begin(ahead=True)
    assert client.get(unit) == ["a"]
    before = len(client.core.entries)
    ends(client)[end](unit)
    assert counts(client) == [0, 0]
    assert len(client.core.entries) == before, "there is nothing to write"
    other = client.core.connect()
    other.open()
    assert other.get(limit=1) == ["a"]


@pytest.mark.parametrize("end", [0, 1], ids=["backout", "lost"])
def test_what_was_shown_counts(end: int) -> None:
    client = with_two()
    shown, ahead = client.begin(ahead=True), client.begin(ahead=True)
    assert client.get(shown) + client.get(ahead) == ["a", "b"]
    assert client.do(c.Touch(shown)) == Done()
    client.do(c.Touch(shown))
    for unit in (ahead, shown):
        ends(client)[end](unit)
    assert counts(client) == [1, 0]


def test_what_the_program_has_not_worked_on_comes_back_uncounted() -> None:
    client = with_two()
    unit = client.begin()
    assert client.get(unit) == ["a"]
    client.do(c.Backout(unit, uncounted=True))
    assert counts(client) == [0, 0]
    assert client.get(limit=1) == ["a"]


def test_a_touch_needs_no_answer() -> None:
    client = with_two()
    unit = client.begin(ahead=True)
    client.get(unit)
    effects = client.tell(c.Touch(unit))
    assert (effects.records, effects.replies) == ([], [])
    client.lose()
    assert counts(client) == [1, 0]


def test_a_touch_of_a_unit_that_is_not_there_has_no_effect() -> None:
    client = with_two()
    unit = client.begin()
    client.do(c.Commit(unit))
    for one in (unit, client.new_unit(), b"", client.session):
        assert client.do(c.Touch(one)) == Done()
        assert client.tell(c.Touch(one)).replies == []


def test_a_touch_of_another_connection_has_no_effect() -> None:
    client = with_two()
    unit = client.begin(ahead=True)
    client.get(unit)
    client.core.connect().tell(c.Touch(unit))
    client.lose()
    assert counts(client) == [0, 0]


def test_a_touch_before_the_get_that_waits_counts_what_comes_by_it() -> None:
    client = client_on()
    unit = client.begin(ahead=True)
    request = client.send(c.Get(1, unit, wait_ms=-1))
    client.tell(c.Touch(unit))
    client.put("a")
    assert isinstance(client.answer(request), Messages)
    client.do(c.Backout(unit))
    assert counts(client) == [1]


def test_a_unit_ahead_can_be_committed_without_a_touch() -> None:
    client = with_two()
    unit = client.begin(ahead=True)
    client.get(unit, limit=2)
    assert client.do(c.Commit(unit)) == Done()
    assert counts(client) == []


def test_a_backout_of_what_nobody_was_shown_is_no_backout_of_the_figures() -> None:
    client = with_two()
    unit = client.begin(ahead=True)
    client.get(unit)
    client.do(c.Backout(unit))
    assert client.core.qm.tally.backouts == 0
    assert client.core.qm.tally.of("Q").returned == 0


def test_a_message_at_the_threshold_is_neither_moved_nor_reported_again() -> None:
    """It stays where nothing takes it; that it was got ahead is no reason to try again."""
    client = with_two(backout_threshold=1, backout_action="MOVE")
    unit = client.begin()
    client.get(unit)
    client.do(c.Backout(unit))
    assert counts(client) == [1, 0]
    before = len(client.core.entries)
    unit = client.begin(ahead=True)
    client.get(unit, limit=2)
    client.do(c.Backout(unit))
    assert counts(client) == [1, 0]
    assert len(client.core.entries) == before


def test_what_is_hardened_is_counted_when_it_is_given_to_a_unit_ahead() -> None:
    client = with_two(harden_get_backout=True)
    unit = client.begin(ahead=True)
    assert [one.backout_count for one in client.take(unit)] == [0]
    assert counts(client) == [1, 0]
    client.do(c.Backout(unit))
    assert counts(client) == [1, 0], "and not twice"


def test_a_get_of_a_hardened_queue_touches_the_unit() -> None:
    client = client_on("H", "Q")
    client.do(c.AlterQueue("H", {"harden_get_backout": True}))
    client.put("h", handle=1)
    client.put("a", handle=2)
    unit = client.begin(ahead=True)
    assert client.get(unit, handle=2) + client.get(unit, handle=1) == ["a", "h"]
    client.do(c.Backout(unit))
    assert counts(client) == [1]


@pytest.mark.parametrize("hardened", [False, True])
@pytest.mark.parametrize("end", [0, 1], ids=["backout", "lost"])
def test_finding_mq_1_what_a_sender_gets_of_a_transmission_queue_comes_back_uncounted(
    end: int, hardened: bool
) -> None:
    client = with_two(usage="XMITQ", harden_get_backout=hardened)
    for _ in range(3):
        unit = client.begin(ahead=True)
        assert len(client.take(unit, limit=2)) == 2
        ends(client)[end](unit)
        client = client.core.connect()
        client.open()
    assert counts(client) == [0, 0]


def test_a_one_way_begin_is_begun_without_an_answer() -> None:
    client = with_two()
    unit = client.new_unit()
    assert client.tell(c.Begin(unit, ahead=True)).replies == []
    assert client.get(unit) == ["a"]
    client.do(c.Backout(unit))
    assert counts(client) == [0, 0]


def test_non_persistent_messages_count_likewise() -> None:
    client = client_on()
    client.put("a", persistence=0)
    for ahead, count in ((True, 0), (False, 1), (True, 1)):
        unit = client.begin(ahead=ahead)
        client.get(unit)
        client.do(c.Backout(unit))
        (stored,) = client.core.queue().stored.values()
        assert stored.backout_count == count
    assert all(
        type(record) is not r.BackoutCounted
        for payload in client.core.entries
        for record in entries.decode(payload)
    )
