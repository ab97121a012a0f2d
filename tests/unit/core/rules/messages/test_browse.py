"""Browse: the cursor, what it shows and what it does not."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter.connection.wire import codec, frames
from adapter.core.contract import commands as c
from adapter.core.contract.limits import Limits
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Messages, Opened
from adapter.core.rules.primitives.selection import BYTES_MAX
from tests.support.core import Client, client_on

Seen = tuple[int, int, int]


def test_the_cursor_goes_from_the_first_to_the_last() -> None:
    client = client_on()
    client.put("low", priority=1)
    client.put("high", priority=9)
    client.put("low too", priority=1)
    assert [client.browse() for _ in range(4)] == [["high"], ["low"], ["low too"], []]
    assert client.browse(restart=True, limit=10) == ["high", "low", "low too"]
    assert [client.browse(), client.browse()] == [[], []], "the end is no beginning"


def test_what_arrives_behind_the_cursor_is_seen_after_a_restart_only() -> None:
    client = client_on()
    client.put("low", priority=1)
    assert client.browse() == ["low"]
    client.put("high", priority=9)
    client.put("low too", priority=1)
    assert client.browse(limit=10) == ["low too"]
    assert client.browse(restart=True) == ["high"]


def test_each_handle_has_a_cursor_of_its_own() -> None:
    client = client_on()
    client.open(handle=2)
    client.put("a")
    client.put("b")
    assert client.browse(handle=1) == ["a"]
    assert client.browse(handle=2) == ["a"]
    assert client.browse(handle=1) == ["b"]


def test_nothing_is_removed_and_no_count_rises() -> None:
    client = client_on()
    client.put("a")
    client.browse()
    (got,) = client.take()
    assert got.message.body == b"a"
    assert got.backout_count == 0


def test_what_units_hold_is_not_seen() -> None:
    client = client_on()
    client.put("got")
    client.put("stays")
    unit = client.begin()
    assert client.get(unit) == ["got"]
    client.put("uncommitted", unit=unit)
    assert client.browse(restart=True, limit=10) == ["stays"]
    client.do(c.Backout(unit))
    assert client.browse(restart=True, limit=10) == ["got", "stays"]


def test_ids_select() -> None:
    client = client_on()
    client.put("a1", correlation_id=b"a" * 24, priority=1)
    client.put("b", correlation_id=b"b" * 24, priority=5)
    client.put("a2", correlation_id=b"a" * 24, priority=2)
    assert client.browse(correlation_id=b"a" * 24) == ["a2"]
    assert client.browse(correlation_id=b"a" * 24) == ["a1"]
    assert client.browse(correlation_id=b"a" * 24) == []


def test_an_expired_message_is_not_shown() -> None:
    client = client_on()
    client.put("short", expiry_ms=1000)
    client.put("long")
    client.core.now_ms += 1000
    assert client.browse(limit=10) == ["long"]


def test_a_batch_of_messages_with_properties_still_is_one_frame() -> None:
    client = client_on()
    for _ in range(40):
        client.put("", properties={"p": "x" * (BYTES_MAX // 16)})
    sizes = [-1]
    while sizes[-1]:
        answer = client.do(c.Browse(1, limit=10_000))
        assert isinstance(answer, Messages)
        assert len(codec.encode(frames.Replies([frames.Answer(1, answer)]))) <= BYTES_MAX
        sizes.append(len(answer.messages))
    assert sum(sizes) == 40 - 1


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (c.Browse(7), Reason.HANDLE_NOT_OPEN),
        (c.Browse(2), Reason.NOT_OPEN_FOR_BROWSE),
        (c.Browse(1, limit=0), Reason.OPTIONS_ERROR),
        (c.Browse(1, limit=10_001), Reason.OPTIONS_ERROR),
        (c.Browse(1, message_id=b"short"), Reason.IDENTIFIER_ERROR),
        (c.Browse(1, restart=True, seen=[]), Reason.OPTIONS_ERROR),
        (c.Browse(1, options=c.LOGICAL_ORDER, seen=[]), Reason.OPTIONS_ERROR),
    ],
)
def test_what_is_refused(command: c.Browse, reason: Reason) -> None:
    client = client_on()
    client.open(modes=c.INPUT, handle=2)
    assert client.refused(command) is reason


def test_an_inhibited_queue_is_not_browsed() -> None:
    client = client_on()
    client.do(c.AlterQueue("Q", {"inhibit_get": True}))
    assert client.refused(c.Browse(1)) is Reason.GET_INHIBITED


def shown(client: Client, request: int) -> list[str] | None:
    """What a browse was answered with; None while it waits."""
    answer = client.answer(request)
    if answer is None:
        return None
    assert isinstance(answer, Messages)
    return [one.message.body.decode() for one in answer.messages]


def test_a_browse_waits_for_what_comes_behind_its_cursor() -> None:
    client = client_on()
    client.put("a")
    assert client.browse() == ["a"]
    waiting = client.send(c.Browse(1, wait_ms=-1))
    assert shown(client, waiting) is None
    client.put("b")
    assert shown(client, waiting) == ["b"]
    assert client.get(limit=1) == ["a"], "nothing was taken"
    assert client.browse() == [], "the cursor went on"


def test_a_browse_and_a_get_that_wait_are_served_by_one_message() -> None:
    client = client_on()
    browsing = client.send(c.Browse(1, wait_ms=-1))
    getting = client.send(c.Get(1, wait_ms=-1))
    client.put("a")
    assert (shown(client, browsing), shown(client, getting)) == (["a"], ["a"])


def test_the_wait_of_a_browse_ends_in_time_and_with_its_handle() -> None:
    client = client_on()
    timed, closed = client.send(c.Browse(1, wait_ms=500)), client.send(c.Browse(1, wait_ms=-1))
    client.core.advance(1)
    assert shown(client, timed) == []
    client.do(c.Close(1))
    assert shown(client, closed) == []


def test_the_end_of_a_unit_ends_no_wait_of_a_browse() -> None:
    client = client_on()
    unit = client.begin()
    waiting = client.send(c.Browse(1, wait_ms=-1))
    client.do(c.Backout(unit))
    assert shown(client, waiting) is None


def test_a_wait_that_is_none_is_refused() -> None:
    client = client_on()
    assert client.refused(c.Browse(1, wait_ms=-2)) is Reason.WAIT_INTERVAL_ERROR


def test_the_cursor_stays_before_what_is_too_long() -> None:
    """MQRC_TRUNCATED_MSG_FAILED: the browse cursor is not advanced."""
    client = client_on()
    client.put("long")
    client.put("short")
    bounded = c.Browse(1, options=c.BOUNDED, length_max=3)
    for _ in range(2):
        answer = client.do(bounded)
        assert isinstance(answer, Messages)
        assert answer.warning == Reason.MESSAGE_TRUNCATED
        assert answer.messages[0].message.body == b"long"
    assert client.browse() == ["long"]


def test_a_lock_stays_when_the_next_message_is_too_long() -> None:
    client = client_on()
    client.put("a")
    client.put("long")
    client.do(c.Browse(1, options=c.LOCK))
    client.do(c.Browse(1, options=c.BOUNDED, length_max=1))
    assert client.get() == ["long"], "the first is locked still"


def following(client: Client, seen: dict[int, Seen], **options: Any) -> list[str]:
    """Browse behind what was seen, and note what is shown."""
    answer = client.do(c.Browse(1, limit=100, seen=list(seen.values()), **options))
    assert isinstance(answer, Messages)
    seen.update({one.lane: (one.lane, one.seq, one.n) for one in answer.messages})
    return [one.message.body.decode() for one in answer.messages]


def test_with_a_position_for_each_lane_what_arrives_is_seen_whatever_its_priority() -> None:
    client = client_on()
    seen: dict[int, Seen] = {}
    client.put("low", priority=1)
    assert client.browse() == ["low"]
    assert following(client, seen) == ["low"]
    client.put("low too", priority=1)
    client.put("high", priority=9)
    client.put("soft", priority=9, persistence=0)
    assert following(client, seen) == ["high", "soft", "low too"]
    assert following(client, seen) == []
    assert client.browse(limit=10) == ["low too"], "the cursor stayed"
    waiting = client.send(c.Browse(1, limit=10, wait_ms=-1, seen=list(seen.values())))
    client.put("middle", priority=5)
    assert shown(client, waiting) == ["middle"]


def test_positions_of_another_queue_say_nothing_of_this_one() -> None:
    client = client_on()
    seen: dict[int, Seen] = {}
    client.put("old")
    assert following(client, seen) == ["old"]
    client.do(c.Close(1))
    client.do(c.DeleteQueue("Q", True))
    client.do(c.DefineQueue("Q", {}))
    again = client.do(c.Open(1, "Q", c.BROWSE | c.OUTPUT))
    assert again == Opened("Q", incarnation=1)
    client.put("new")
    assert following(client, dict(seen), seen_of=("Q", 0)) == ["new"]
    assert following(client, dict(seen), seen_of=("P", 1)) == ["new"]
    assert following(client, dict(seen), seen_of=("Q", 1)) == []
    waiting = client.send(
        c.Browse(1, limit=10, wait_ms=-1, seen=list(seen.values()), seen_of=("Q", 1))
    )
    client.put("newer")
    assert shown(client, waiting) == ["newer"]


def test_with_a_position_for_each_lane_ids_and_selections_count() -> None:
    client = client_on()
    client.do(c.Open(3, "Q", c.BROWSE, "", "Root.MQMD.Priority > 3"))
    for priority in (1, 5, 9):
        client.put(f"a{priority}", correlation_id=b"a" * 24, priority=priority)
        client.put(f"b{priority}", priority=priority)
    seen: dict[int, Seen] = {9: (9, 1, 0)}
    assert following(client, dict(seen), correlation_id=b"a" * 24) == ["a5", "a1"]
    answer = client.do(c.Browse(3, limit=10, seen=list(seen.values())))
    assert isinstance(answer, Messages)
    assert [one.message.body for one in answer.messages] == [b"b9", b"a5", b"b5"]


@pytest.mark.parametrize("selection", ["", "Root.MQMD.Priority >= 0"])
def test_with_a_position_for_each_lane_a_queue_that_is_paged_out_is_seen_whole(
    selection: str,
) -> None:
    client = client_on(limits=Limits(window_messages=4))
    client.do(c.Open(3, "Q", c.BROWSE, "", selection))
    for number in range(60):
        client.put(f"{number:02}", priority=number % 3)
    seen: dict[int, Seen] = {}
    bodies: list[str] = []
    for _ in range(60):
        answer = client.do(c.Browse(3, limit=3, seen=list(seen.values())))
        assert isinstance(answer, Messages)
        bodies += [one.message.body.decode() for one in answer.messages]
        seen.update({one.lane: (one.lane, one.seq, one.n) for one in answer.messages})
    assert bodies == [f"{n:02}" for first in (2, 1, 0) for n in range(first, 60, 3)]


@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=6),
    st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 4)), max_size=10),
)
def test_a_restart_begins_anew_even_if_it_shows_nothing_that_fits(
    lengths: list[int], browses: list[tuple[bool, bool, int]]
) -> None:
    """The cursor is before the first message, in either order. A browse of the next that shows
    what is too long leaves it where it was.
    """
    client = client_on()
    bodies = [chr(97 + number) * length for number, length in enumerate(lengths)]
    for body in bodies:
        client.put(body)
    at = 0
    for restart, in_order, length in browses:
        options = c.BOUNDED | (c.LOGICAL_ORDER if in_order else 0)
        at = 0 if restart else at
        shown = client.browse(restart=restart, options=options, length_max=length)
        assert shown == bodies[at : at + 1]
        at += 1 if shown and len(shown[0]) <= length else 0


def test_a_restart_that_shows_what_is_too_long_leaves_the_group() -> None:
    client = client_on()
    client.put("first of all")
    for number in (1, 2):
        client.put(f"g{number}", group_id=b"G" * 24, group_seq=number)
    shown = [client.browse(options=c.LOGICAL_ORDER) for _ in range(2)]
    assert shown == [["first of all"], ["g1"]]
    assert client.browse(restart=True, options=c.BOUNDED | c.LOGICAL_ORDER) == ["first of all"]
    assert client.browse(options=c.LOGICAL_ORDER) == ["first of all"]


def test_a_browse_by_place_shows_that_message_and_goes_on_behind_it() -> None:
    client = client_on()
    for body in ("a", "b", "c"):
        client.put(body)
    answer = client.do(c.Browse(1, limit=3))
    assert isinstance(answer, Messages)
    second = answer.messages[1]
    place = (second.lane, second.seq, second.n)
    assert client.browse(restart=True) == ["a"]
    assert client.browse(place=place, message_id=b"?" * 24) == []
    assert client.browse(place=place) == ["b"]
    assert client.browse() == ["c"]
    assert client.get(place=place) == ["b"]
    assert client.browse(place=place) == []
    assert client.browse(restart=True, limit=3) == ["a", "c"]
