"""Groups: numbered as they are put in logical order, got in logical order, whole or not at all."""

import itertools
from typing import Any

import pytest

from adapter.core.contract import commands as c
from adapter.core.contract.commands import (
    ALL_MESSAGES,
    LOGICAL_ORDER,
    MATCH_GROUP_SEQ,
    MATCH_OFFSET,
)
from adapter.core.contract.details import IN_GROUP, LAST_IN_GROUP, LAST_SEGMENT, SEGMENT, Details
from adapter.core.contract.limits import Limits
from adapter.core.contract.message import NO_ID, MessageData
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Done, Messages, PutDone, Refused
from adapter.core.model.groups import is_in_group, segment_status
from tests.support.core import Client, client_on

WHOLE = LOGICAL_ORDER | ALL_MESSAGES
GROUP = b"G".ljust(24, b"\0")
OTHER = b"H".ljust(24, b"\0")


def put(
    client: Client, body: str, flags: int = IN_GROUP, *, unit: bytes = b"", **fields: Any
) -> int:
    """Put in logical order; the reason of the warning or refusal, or 0."""
    message = MessageData(body.encode(), details=Details(flags=flags), **fields)
    return outcome(client.do(c.Put(1, [message], unit, LOGICAL_ORDER)))


def outcome(answer: object) -> int:
    if isinstance(answer, Refused):
        return -answer.reason
    assert isinstance(answer, (PutDone, Messages, Done))
    return answer.warning


def physical(client: Client, name: bytes, *numbers: int, last: int = 0) -> None:
    """Put messages of a group in this order, each saying its number as its body."""
    for number in numbers:
        client.put(
            f"{name[:1].decode()}{number}",
            group_id=name,
            group_seq=number,
            last_in_group=number == last,
        )


def got(client: Client, options: int = WHOLE, **more: Any) -> list[str]:
    return client.get(options=options, **more)


def test_the_queue_manager_numbers_a_group() -> None:
    client = client_on()
    assert [put(client, "a"), put(client, "b"), put(client, "c", LAST_IN_GROUP)] == [0, 0, 0]
    assert put(client, "alone", 0) == 0
    assert put(client, "d") == 0
    found = [client.take()[0].message for _ in range(5)]
    assert [message.group_seq for message in found] == [1, 2, 3, 1, 1]
    first, second, third, alone, fourth = (message.group_id for message in found)
    assert first == second == third != fourth
    assert (alone, NO_ID in (first, fourth)) == (NO_ID, False)
    assert [message.last_in_group for message in found] == [False, False, True, False, False]
    assert [is_in_group(message) for message in found] == [True, True, True, False, True]


def test_segments_are_placed_one_behind_the_other() -> None:
    client = client_on()
    for body, flags in (("abc", SEGMENT), ("de", SEGMENT), ("f", LAST_SEGMENT)):
        assert put(client, body, flags) == 0
    assert put(client, "in a group", IN_GROUP | SEGMENT) == 0
    found = [client.take()[0].message for _ in range(4)]
    assert [message.offset for message in found] == [0, 3, 5, 0]
    assert {message.group_id for message in found[:3]} == {found[0].group_id}
    assert "".join(map(segment_status, found)) == "SSLS"
    assert [is_in_group(message) for message in found] == [False, False, False, True]


@pytest.mark.parametrize(
    ("flags", "then", "fields", "reason"),
    [
        (IN_GROUP, 0, {}, Reason.INCOMPLETE_GROUP),
        (IN_GROUP | SEGMENT, IN_GROUP, {}, Reason.INCOMPLETE_MESSAGE),
        (IN_GROUP | SEGMENT, 0, {}, Reason.INCOMPLETE_MESSAGE),
        (SEGMENT, IN_GROUP | SEGMENT, {}, Reason.INCOMPLETE_MESSAGE),
        (IN_GROUP | LAST_SEGMENT, LAST_SEGMENT, {}, Reason.INCOMPLETE_GROUP),
        (IN_GROUP, IN_GROUP, {"persistence": 0}, Reason.INCONSISTENT_PERSISTENCE),
    ],
)
def test_what_is_not_next_is_refused(
    flags: int, then: int, fields: dict[str, Any], reason: Reason
) -> None:
    client = client_on()
    assert put(client, "a", flags) == 0
    assert put(client, "b", then, **fields) == -reason
    assert put(client, "c", flags) == 0, "the group goes on where it was"


def test_a_group_is_in_units_or_it_is_not() -> None:
    client = client_on()
    put(client, "a")
    unit = client.begin()
    assert put(client, "b", unit=unit) == -Reason.INCONSISTENT_UNIT
    client.do(c.Backout(unit))
    assert put(client, "b", LAST_IN_GROUP) == 0
    unit = client.begin()
    put(client, "c", unit=unit)
    assert put(client, "d") == -Reason.INCONSISTENT_UNIT


def test_leaving_a_group_is_worth_a_warning() -> None:
    client = client_on()
    put(client, "a")
    assert outcome(client.do(c.Put(1, [MessageData(b"x")]))) == Reason.INCOMPLETE_GROUP
    assert outcome(client.do(c.Put(1, [MessageData(b"x")]))) == 0, "it has been left"
    put(client, "a", SEGMENT)
    assert outcome(client.do(c.Close(1))) == Reason.INCOMPLETE_MESSAGE


def test_a_group_may_be_taken_up_again() -> None:
    """Put the next message in physical order, then go on in logical order."""
    client = client_on()
    physical(client, GROUP, 7)
    assert put(client, "G8") == 0
    found = [client.take()[0].message for _ in range(2)]
    assert [(one.group_id, one.group_seq) for one in found] == [(GROUP, 7), (GROUP, 8)]


def test_a_backout_takes_the_handle_back_into_the_group() -> None:
    client = client_on()
    unit = client.begin()
    put(client, "a", unit=unit)
    client.do(c.Commit(unit))
    unit = client.begin()
    put(client, "lost", unit=unit)
    put(client, "lost too", LAST_IN_GROUP, unit=unit)
    client.do(c.Backout(unit))
    unit = client.begin()
    put(client, "b", LAST_IN_GROUP, unit=unit)
    client.do(c.Commit(unit))
    unit = client.begin()
    assert got(client, unit=unit) == ["a"]
    assert got(client, unit=unit) == ["b"]
    client.do(c.Backout(unit))
    unit = client.begin()
    assert [got(client, unit=unit) for _ in range(3)] == [["a"], ["b"], []]


@pytest.mark.parametrize("order", list(itertools.permutations([1, 2, 3])))
def test_a_group_comes_whole_and_in_its_order(order: tuple[int, ...]) -> None:
    client = client_on()
    client.put("first")
    for number in order:
        assert got(client, MATCH_GROUP_SEQ | WHOLE, group_seq=1, group_id=GROUP) == []
        physical(client, GROUP, number, last=3)
    client.put("last", priority=0)
    assert [got(client) for _ in range(6)] == [["first"], ["G1"], ["G2"], ["G3"], ["last"], []]


def test_a_group_is_met_where_its_first_message_is() -> None:
    client = client_on()
    physical(client, GROUP, 2, last=2)
    client.put("between")
    physical(client, GROUP, 1)
    assert [got(client) for _ in range(3)] == [["between"], ["G1"], ["G2"]]


def test_without_all_messages_what_is_there_comes() -> None:
    client = client_on()
    physical(client, GROUP, 2, 1)
    client.put("plain")
    assert [got(client, LOGICAL_ORDER) for _ in range(3)] == [["G1"], ["G2"], []]
    physical(client, GROUP, 3, last=3)
    assert [got(client, LOGICAL_ORDER) for _ in range(2)] == [["G3"], ["plain"]]


def test_two_getters_have_a_group_each() -> None:
    client = client_on()
    client.open(handle=2)
    for name in (GROUP, OTHER):
        physical(client, name, 1, 2, last=2)
    assert (got(client), got(client, handle=2)) == (["G1"], ["H1"])
    assert (got(client, handle=2), got(client)) == (["H2"], ["G2"])


def test_what_a_unit_holds_makes_a_group_incomplete() -> None:
    client = client_on()
    physical(client, GROUP, 1, 2, last=2)
    unit = client.begin()
    assert client.get(unit, options=MATCH_GROUP_SEQ, group_seq=2) == ["G2"]
    assert got(client) == []
    client.do(c.Backout(unit))
    assert got(client) == ["G1"]


def test_uncommitted_puts_do_not_complete_a_group() -> None:
    client = client_on()
    unit = client.begin()
    put(client, "a", unit=unit)
    put(client, "b", LAST_IN_GROUP, unit=unit)
    assert got(client) == []
    client.do(c.Commit(unit))
    assert [got(client), got(client)] == [["a"], ["b"]]


def test_a_get_waits_for_the_rest_of_a_group() -> None:
    client = client_on()
    physical(client, GROUP, 1)
    request = client.send(c.Get(1, wait_ms=-1, options=WHOLE))
    assert client.answer(request) is None
    physical(client, GROUP, 2, last=2)
    answer = client.answer(request)
    assert isinstance(answer, Messages)
    assert answer.messages[0].message.body == b"G1"


def test_a_get_of_a_group_is_in_a_unit_as_the_one_before() -> None:
    client = client_on()
    physical(client, GROUP, 1, 2, 3, last=3)
    assert got(client) == ["G1"]
    unit = client.begin()
    assert client.refused(c.Get(1, unit, options=WHOLE)) is Reason.INCONSISTENT_UNIT
    answer = client.do(c.Get(1))
    assert outcome(answer) == Reason.INCOMPLETE_GROUP
    assert outcome(client.do(c.Close(1))) == 0, "it was left already"


def test_all_messages_without_logical_order_shows_first_messages() -> None:
    client = client_on()
    physical(client, GROUP, 2, 1, last=2)
    physical(client, OTHER, 1)
    assert got(client, ALL_MESSAGES, group_id=OTHER) == []
    assert got(client, ALL_MESSAGES) == ["G1"]
    assert got(client, ALL_MESSAGES) == [], "the group is not whole any more"


def test_browse_in_logical_order() -> None:
    client = client_on()
    physical(client, GROUP, 3, 1, 2, last=3)
    physical(client, OTHER, 1)
    client.put("plain")
    shown = [client.browse(options=WHOLE) for _ in range(5)]
    assert shown == [["G1"], ["G2"], ["G3"], ["plain"], []]
    assert client.browse(options=WHOLE, restart=True) == ["G1"]
    assert client.browse(options=LOGICAL_ORDER, restart=True) == ["G1"]
    assert client.browse(options=ALL_MESSAGES, group_id=OTHER, restart=True) == []


def test_match_by_number_and_offset() -> None:
    client = client_on()
    for name in (GROUP, OTHER):
        physical(client, name, 1, 2)
    client.put("abc", group_id=GROUP, details=Details(flags=SEGMENT | IN_GROUP, offset=5))
    assert got(client, MATCH_GROUP_SEQ, group_seq=2, group_id=OTHER) == ["H2"]
    assert got(client, MATCH_GROUP_SEQ, group_seq=2) == ["G2"]
    assert got(client, MATCH_GROUP_SEQ, group_seq=3) == []
    assert got(client, MATCH_OFFSET, offset=5) == ["abc"]
    assert got(client, MATCH_OFFSET, offset=5) == []
    assert client.browse(options=MATCH_GROUP_SEQ, group_seq=1) == ["G1"]
    assert client.browse(options=MATCH_GROUP_SEQ, group_seq=1) == ["H1"]


@pytest.mark.parametrize("size", [3, 60])
def test_groups_that_are_not_in_memory(size: int) -> None:
    """After a restart nothing is; an index is built from pages, and groups are found by it."""
    client = client_on(limits=Limits(window_messages=16, window_total=160))
    for start in range(1, size + 1):
        physical(client, GROUP, start, last=size)
        physical(client, OTHER, start)
    client.put("plain")
    client.core.crash_with_snapshot()
    back = client.core.connect()
    back.open()
    assert [got(back)[0] for _ in range(size)] == [f"G{n}" for n in range(1, size + 1)]
    assert [got(back), got(back)] == [["plain"], []]
    physical(back, OTHER, size + 1, last=size + 1)
    assert [got(back)[0] for _ in range(size + 1)] == [f"H{n}" for n in range(1, size + 2)]
    assert back.core.queue().depth == 0


def test_a_group_that_has_expired_in_part() -> None:
    client = client_on()
    physical(client, GROUP, 1)
    client.put("G2", group_id=GROUP, group_seq=2, last_in_group=True, expiry_ms=1000)
    assert client.browse(options=WHOLE) == ["G1"]
    client.core.advance(2)
    assert got(client) == []


def test_options_that_are_none() -> None:
    client = client_on()
    for command in (
        c.Put(1, [MessageData()], options=2),
        c.Get(1, options=1024),
        c.Get(1, options=c.LOCK),
        c.Browse(1, options=1024),
        c.Browse(1, options=WHOLE, limit=2),
        c.Browse(1, options=c.UNDER_CURSOR | LOGICAL_ORDER),
    ):
        assert client.refused(command) is Reason.OPTIONS_ERROR


def test_a_browse_in_order_shows_no_group_twice() -> None:
    """At the end of the queue it stays behind the first message, wherever the last one lies."""
    client = client_on()
    client.put("one", group_id=GROUP, priority=5)
    client.put("two", group_id=GROUP, group_seq=2, last_in_group=True, priority=9)
    shown = [client.browse(options=LOGICAL_ORDER) for _ in range(5)]
    assert shown == [["one"], ["two"], [], [], []]


@pytest.mark.parametrize("browses", [True, False])
@pytest.mark.parametrize(
    ("asked", "fits"),
    [
        ({"message_id": b"?" * 24}, False),
        ({"correlation_id": b"C" * 24}, True),
        ({"correlation_id": b"?" * 24}, False),
        ({"group_id": GROUP}, True),
        ({"group_id": OTHER}, False),
        ({"options": MATCH_GROUP_SEQ, "group_seq": 2}, True),
        ({"options": MATCH_GROUP_SEQ, "group_seq": 1}, False),
        ({"options": MATCH_OFFSET, "offset": 0}, True),
        ({"options": MATCH_OFFSET, "offset": 8}, False),
    ],
)
def test_inside_a_group_another_message_than_the_next_is_refused(
    asked: dict[str, Any], fits: bool, browses: bool
) -> None:
    """It is neither passed over nor got, and the handle goes on where it was."""
    client = client_on()
    for number in (1, 2):
        client.put(
            f"g{number}",
            group_id=GROUP,
            group_seq=number,
            last_in_group=number == 2,
            correlation_id=b"C" * 24,
        )
    ask = client.browse if browses else client.get
    assert ask(options=LOGICAL_ORDER) == ["g1"]
    wanted = {**asked, "options": asked.get("options", 0) | LOGICAL_ORDER}
    if not fits:
        command = c.Browse(1, **wanted) if browses else c.Get(1, **wanted)
        assert client.refused(command) is Reason.MATCH_OPTIONS_ERROR
        wanted = {"options": LOGICAL_ORDER}
    assert ask(**wanted) == ["g2"]


def test_what_goes_on_with_a_group_needs_a_handle_that_is_in_one() -> None:
    """It is not, once its connection was lost: no put and no get begins another group then."""
    client, goes_on = client_on(), LOGICAL_ORDER | c.CONTINUES
    assert put(client, "1") == 0
    message = MessageData(b"2", details=Details(flags=IN_GROUP))
    assert outcome(client.do(c.Put(1, [message], b"", goes_on))) == 0
    assert client.get(options=LOGICAL_ORDER) == ["1"]
    client.open(handle=2)
    for command in (c.Put(2, [message], b"", goes_on), c.Get(2, options=goes_on)):
        assert client.refused(command) is Reason.GROUP_POSITION_LOST
    assert client.get(options=goes_on) == ["2"]


@pytest.mark.parametrize("command", [c.Put(1, [MessageData(b"x")]), c.Get(1), c.Browse(1)])
def test_only_what_is_in_logical_order_goes_on(command: c.Put | c.Get | c.Browse) -> None:
    client = client_on()
    command.options = c.CONTINUES
    assert client.refused(command) is Reason.OPTIONS_ERROR
