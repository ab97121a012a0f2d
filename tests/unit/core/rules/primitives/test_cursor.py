"""What is done with the message under the browse cursor, and the lock that a browse may hold."""

import pytest

from adapter.core.contract import commands as c
from adapter.core.contract.commands import BOUNDED, LOCK, UNDER_CURSOR, UNLOCK
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Messages
from tests.support.core import Client, client_on


@pytest.fixture
def client() -> Client:
    made = client_on()
    for body in "abc":
        made.put(body)
    return made


def other(client: Client) -> Client:
    made = client.core.connect()
    made.open()
    return made


def refused(client: Client, command: c.Command) -> Reason:
    return client.refused(command)


def test_get_and_browse_under_the_cursor(client: Client) -> None:
    assert refused(client, c.Get(1, options=UNDER_CURSOR)) is Reason.NO_MESSAGE_UNDER_CURSOR
    client.browse(limit=2)
    assert client.browse(options=UNDER_CURSOR) == ["b"]
    assert client.get(options=UNDER_CURSOR) == ["b"]
    for command in (c.Get(1, options=UNDER_CURSOR), c.Browse(1, options=UNDER_CURSOR)):
        assert refused(client, command) is Reason.NO_MESSAGE_UNDER_CURSOR
    assert client.browse() == ["c"], "the cursor has stayed"


def test_under_the_cursor_in_a_unit(client: Client) -> None:
    client.browse()
    unit = client.begin()
    assert client.get(unit, options=UNDER_CURSOR) == ["a"]
    assert refused(client, c.Get(1, unit, options=UNDER_CURSOR)) is Reason.NO_MESSAGE_UNDER_CURSOR
    client.do(c.Backout(unit))
    (again,) = client.take(options=UNDER_CURSOR)
    assert again.backout_count == 1


def test_what_has_expired_is_not_under_the_cursor(client: Client) -> None:
    client.put("short", priority=9, expiry_ms=1000)
    client.browse()
    client.core.now_ms += 2000
    reason = refused(client, c.Get(1, options=UNDER_CURSOR))
    assert reason is Reason.NO_MESSAGE_UNDER_CURSOR


def test_what_is_not_in_memory_is_under_the_cursor_all_the_same(client: Client) -> None:
    client.browse(limit=2)
    queue = client.core.queue()
    assert queue.page_out(0, 0, client.core.entry_n) == 3
    assert client.get(options=UNDER_CURSOR) == ["b"]


def test_a_locked_message_is_hidden_from_others(client: Client) -> None:
    rival = other(client)
    assert client.browse(options=LOCK) == ["a"]
    assert rival.browse() == ["b"]
    assert rival.get() == ["b"]
    assert client.browse(restart=True) == ["a"], "its own handle sees it, and gives it up"
    assert rival.get() == ["a"]


def test_the_next_browse_moves_the_lock(client: Client) -> None:
    rival = other(client)
    client.browse(options=LOCK)
    assert client.browse(options=LOCK) == ["b"]
    assert rival.browse(limit=9) == ["a", "c"]
    client.browse()
    assert client.browse() == []
    assert rival.browse(limit=9, restart=True) == ["a", "b", "c"]


def test_a_browse_that_finds_nothing_keeps_the_lock(client: Client) -> None:
    rival = other(client)
    assert client.browse(limit=2) == ["a", "b"]
    client.browse(options=LOCK)
    assert client.browse() == []
    assert rival.browse(limit=9) == ["a", "b"]


def test_the_locked_message_is_got_under_the_cursor(client: Client) -> None:
    client.browse(options=LOCK)
    assert client.get(options=UNDER_CURSOR) == ["a"]
    assert refused(client, c.Browse(1, options=UNLOCK)) is Reason.NO_MESSAGE_LOCKED
    client.browse(options=LOCK)
    unit = client.begin()
    assert client.get(unit, options=UNDER_CURSOR) == ["b"]
    client.do(c.Backout(unit))
    assert other(client).get() == ["b"]


@pytest.mark.parametrize("how", ["unlock", "close", "lose"])
def test_a_lock_ends_and_wakes_who_waits(client: Client, how: str) -> None:
    rival = other(client)
    assert client.get(limit=1) + client.get() == ["a", "b"]
    client.browse(options=LOCK)
    waits = rival.send(c.Get(1, wait_ms=-1))
    assert rival.answer(waits) is None
    if how == "unlock":
        assert client.browse(options=UNLOCK) == []
    elif how == "close":
        client.do(c.Close(1))
    else:
        client.lose()
    answer = rival.answer(waits)
    assert isinstance(answer, Messages)
    assert answer.messages[0].message.body == b"c"


def test_a_lock_is_soft_and_survives_no_restart(client: Client) -> None:
    client.browse(options=LOCK)
    client.core.crash_with_snapshot()
    back = other(client)
    assert back.browse(limit=9) == ["a", "b", "c"]
    assert back.core.queue().depth == 3


def test_purging_leaves_what_is_locked(client: Client) -> None:
    client.browse(options=LOCK)
    client.do(c.PurgeQueue("Q"))
    client.browse(options=UNLOCK)
    assert client.browse(restart=True, limit=9) == ["a"]


def test_a_locked_message_that_expires(client: Client) -> None:
    client.put("short", priority=9, expiry_ms=1000)
    client.browse(options=LOCK)
    client.core.advance(2)
    assert client.core.queue().depth == 3
    client.browse(options=UNLOCK)
    client.core.advance(1)
    assert len(client.core.queue().stored) == 3


def test_what_a_handle_must_be_open_for(client: Client) -> None:
    client.open(modes=c.BROWSE, handle=2)
    client.open(modes=c.INPUT, handle=3)
    assert refused(client, c.Browse(2, options=LOCK)) is Reason.NOT_OPEN_FOR_INPUT
    assert refused(client, c.Get(3, options=UNDER_CURSOR)) is Reason.NOT_OPEN_FOR_BROWSE


def test_a_message_that_is_too_long_stays(client: Client) -> None:
    client.get(limit=1)
    client.put("long one", priority=9)
    answer = client.do(c.Get(1, options=BOUNDED, length_max=3))
    assert isinstance(answer, Messages)
    assert answer.messages[0].message.body == b"long one"
    assert answer.warning == Reason.MESSAGE_TRUNCATED
    unit = client.begin()
    answer = client.do(c.Get(1, unit, options=BOUNDED, length_max=3))
    assert isinstance(answer, Messages)
    assert answer.warning == Reason.MESSAGE_TRUNCATED
    client.do(c.Backout(unit))
    (whole,) = client.take(options=BOUNDED, length_max=8)
    assert (whole.message.body, whole.backout_count) == (b"long one", 0)


def test_options_that_exclude_each_other(client: Client) -> None:
    for command in (
        c.Browse(1, options=UNLOCK | LOCK),
        c.Browse(1, options=UNDER_CURSOR, message_id=bytes(24)),
        c.Get(1, options=UNDER_CURSOR | c.MATCH_OFFSET),
    ):
        assert refused(client, command) is Reason.OPTIONS_ERROR


def test_a_browse_waits_beside_the_lock_of_its_handle(client: Client) -> None:
    """What comes before its cursor it does not show: it waits on, and the lock holds."""
    other_one = other(client)
    client.browse(limit=2)
    assert client.browse(options=LOCK) == ["c"]
    waits = client.send(c.Browse(1, wait_ms=-1))
    assert client.answer(waits) is None
    other_one.put("urgent", priority=9)
    assert client.answer(waits) is None
    assert other_one.browse(restart=True, limit=9) == ["urgent", "a", "b"], "the lock holds"
    other_one.put("d")
    answer = client.answer(waits)
    assert isinstance(answer, Messages)
    assert [one.message.body for one in answer.messages] == [b"d"]
    assert other_one.browse(restart=True, limit=9) == ["urgent", "a", "b", "c", "d"]
