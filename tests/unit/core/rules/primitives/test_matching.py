"""Selections: a handle that was opened with one is given what fits, at no cost that grows."""

from typing import Any

import pytest

from adapter.core.contract import commands as c
from adapter.core.contract.limits import Limits
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Messages
from adapter.core.model.indexes import USED_MAX
from adapter.core.model.report import EXPIRATION
from adapter.core.rules.primitives.matching import SELECTIONS_MAX
from tests.support.core import IN_OUT, Client, client_on

RED = "colour = 'red'"


def opened(client: Client, selection: str, handle: int = 2) -> int:
    client.do(c.Open(handle, "Q", IN_OUT, selection=selection))
    return handle


def put(client: Client, body: str, colour: str = "red", **fields: Any) -> None:
    client.put(body, properties={"colour": colour, "number": len(body)}, **fields)


def test_gets_and_browses_are_given_what_fits() -> None:
    client = client_on()
    red = opened(client, RED)
    for body, colour in (("r1", "red"), ("b1", "blue"), ("r2", "red")):
        put(client, body, colour)
    assert [client.browse(handle=red) for _ in range(3)] == [["r1"], ["r2"], []]
    assert [client.get(handle=red) for _ in range(3)] == [["r1"], ["r2"], []]
    assert client.get() == ["b1"]


def test_the_order_stays_priority_and_commit_order() -> None:
    client = client_on()
    red = opened(client, RED)
    put(client, "low", priority=1)
    put(client, "high", priority=9)
    unit = client.begin()
    put(client, "low too", priority=1, unit=unit)
    assert client.browse(handle=red, limit=9) == ["high", "low"]
    client.do(c.Commit(unit))
    assert client.browse(handle=red, limit=9, restart=True) == ["high", "low", "low too"]


def test_what_comes_back_from_a_unit_fits_again() -> None:
    client = client_on()
    red = opened(client, RED)
    put(client, "a")
    unit = client.begin()
    assert client.get(unit, handle=red) == ["a"]
    assert client.get(handle=red) == []
    client.do(c.Backout(unit))
    assert client.get(handle=red) == ["a"]


def test_a_get_waits_for_what_fits() -> None:
    client = client_on()
    red = opened(client, RED)
    waits = client.send(c.Get(red, wait_ms=-1))
    put(client, "b", "blue")
    assert client.answer(waits) is None
    put(client, "r")
    answer = client.answer(waits)
    assert isinstance(answer, Messages)
    assert answer.messages[0].message.body == b"r"


def test_ids_and_selection_together() -> None:
    client = client_on()
    red = opened(client, RED)
    for body, colour in (("b", "blue"), ("r", "red")):
        put(client, body, colour, correlation_id=b"c" * 24)
    assert client.get(handle=red, correlation_id=b"c" * 24) == ["r"]
    assert client.get(handle=red, correlation_id=b"c" * 24) == []


def test_groups_and_selection_together() -> None:
    """It chooses the first message; what follows belongs to it."""
    client = client_on()
    red = opened(client, RED)
    for name, colour in ((b"B", "blue"), (b"R", "red")):
        for number in (2, 1):
            one = {"group_id": name.ljust(24), "group_seq": number, "last_in_group": number == 2}
            put(client, f"{colour}{number}", colour if number == 1 else "none", **one)
    options = c.LOGICAL_ORDER | c.ALL_MESSAGES
    found = [client.get(handle=red, options=options) for _ in range(3)]
    assert found == [["red1"], ["red2"], []]


@pytest.mark.parametrize("window", [16, 1000])
def test_what_is_not_in_memory_is_found(window: int) -> None:
    client = client_on(limits=Limits(window_messages=window, window_total=10 * window))
    for number in range(100):
        put(client, f"m{number}", "red" if number % 10 == 7 else "blue")
    client.core.crash_with_snapshot()
    back = client.core.connect()
    back.open()
    red = opened(back, RED)
    assert [back.get(handle=red)[0] for _ in range(9)] == [
        f"m{n}7" if n else "m7" for n in range(9)
    ]
    pages = back.core.pages
    assert back.get(handle=red) == ["m97"]
    assert back.get(handle=red) == []
    assert back.core.pages <= pages + 2, "what does not fit is not read again"


def test_handles_share_what_is_kept_for_a_selection() -> None:
    client = client_on()
    for handle in (2, 3):
        opened(client, RED, handle)
        client.browse(handle=handle)
    queue = client.core.queue()
    assert queue.selections == {RED: 2}
    client.do(c.Close(2))
    assert queue.selections == {RED: 1}
    client.lose()
    assert not queue.selections
    assert not queue.indexes._watches


def test_a_queue_has_so_many_selections() -> None:
    client = client_on()
    for number in range(SELECTIONS_MAX):
        opened(client, f"number = {number}", number + 2)
    command = c.Open(99, "Q", IN_OUT, selection="number = -1")
    assert client.refused(command) is Reason.LIMIT_REACHED
    client.do(c.Open(99, "Q", IN_OUT, selection="number = 0"))


def test_each_message_is_shown_to_so_many_indexes_and_watches_however_many_are_asked_for() -> None:
    """Those that are asked for again are made again: also of what is not in memory."""
    client = client_on(limits=Limits(window_messages=16, window_total=160))
    ident = b"i" * 24
    for number in range(60):
        wanted = ident if number == 57 else b""
        colour = f"colour {number % 20}"
        put(client, f"m{number}", colour, correlation_id=wanted, message_id=wanted)
    assert client.core.evicted
    indexes = client.core.queue().indexes
    mixes = [
        (handle, has_message_id, options)
        for handle in range(2, 22)
        for has_message_id in (False, True)
        for options in (0, c.MATCH_GROUP_SEQ, c.MATCH_OFFSET, c.MATCH_GROUP_SEQ | c.MATCH_OFFSET)
    ]
    for handle in range(2, 22):
        opened(client, f"colour = 'colour {handle - 2}'", handle)
    assert len(mixes) > USED_MAX
    for _ in range(2):
        for handle, has_message_id, options in mixes:
            ids = {"correlation_id": ident, "message_id": ident if has_message_id else b""}
            found = client.browse(handle=handle, restart=True, options=options, group_seq=1, **ids)
            assert found == (["m57"] if handle == 19 else [])
            assert len(indexes._used) <= USED_MAX
            assert indexes._used.keys() == indexes._by_id.keys() | indexes._watches.keys()
    client.do(c.Close(19))
    assert not [one for one in indexes._used if one.endswith("'colour 17'")]


def test_a_purge_begins_anew() -> None:
    client = client_on()
    red = opened(client, RED)
    put(client, "a")
    assert client.browse(handle=red) == ["a"]
    client.do(c.PurgeQueue("Q"))
    assert client.get(handle=red) == []
    put(client, "b")
    assert client.get(handle=red) == ["b"]


def test_what_expires_out_of_memory_leaves_the_selection() -> None:
    client = client_on(limits=Limits(window_messages=16, window_total=160))
    red = opened(client, RED)
    assert client.get(handle=red) == []
    for number in range(60):
        put(client, f"m{number}", expiry_ms=60_000)
    assert client.core.evicted
    client.core.advance(3600)
    for _ in range(8):
        client.core.advance(2)
    assert client.get(handle=red) == []
    put(client, "fresh")
    assert client.get(handle=red) == ["fresh"]


def test_an_open_that_is_refused_uses_up_no_selection() -> None:
    client = client_on(share=False)
    for number in range(SELECTIONS_MAX + 1):
        command = c.Open(2, "Q", c.INPUT, selection=f"number = {number}")
        assert client.refused(command) is Reason.QUEUE_IN_USE
    assert not client.core.queue().selections


@pytest.mark.parametrize("in_unit", [False, True])
def test_a_get_by_place_removes_a_message_whose_time_is_over(in_unit: bool) -> None:
    """And no other one; the report that it asked for is put."""
    client = client_on("Q", "REPLIES")
    client.put("before", expiry_ms=1_000)
    client.put("over", expiry_ms=1_000, report=EXPIRATION, reply_to="REPLIES")
    client.put("behind")
    (_, over, behind) = client.core.queue().stored.values()
    unit = client.begin() if in_unit else b""
    client.core.now_ms += 1_000  # nothing is swept: the get alone meets it
    assert client.get(unit, place=(-over.place[0], *over.place[1:])) == []
    assert [one.message.body for one in client.core.queue().stored.values()] == [
        b"before",
        b"behind",
    ]
    assert len(client.take(handle=2)) == 1
    assert client.get(unit, place=(-behind.place[0], *behind.place[1:])) == ["behind"]


def test_a_get_by_place_of_a_message_with_other_ids_removes_nothing() -> None:
    client = client_on()
    client.put("a", expiry_ms=1_000)
    (a,) = client.core.queue().stored.values()
    client.core.now_ms += 1_000
    place = (-a.place[0], *a.place[1:])
    assert client.get(place=place, message_id=b"m" * 24) == []
    assert client.core.queue().stored, "places begin anew with the queue: it is another message"
