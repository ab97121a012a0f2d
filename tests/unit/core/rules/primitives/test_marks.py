"""Browsing with marks: what is left out, for whom, and until when."""

import pytest

from adapter.core.contract import commands as c
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Messages
from tests.support.core import Client, Core, client_on

SHARED = c.BROWSE | c.CO_OP
NEXT = c.UNMARKED | c.MARK_CO_OP
OWN = c.UNMARKED | c.MARK_HANDLE


def cooperating(core: Core) -> Client:
    """A client whose handle 1 is one of the set."""
    client = core.connect()
    client.open("Q", SHARED)
    return client


def first(client: Client, options: int = NEXT) -> list[str]:
    return client.browse(restart=True, options=options)


def with_messages(*bodies: str) -> tuple[Client, Client, Client]:
    """One that puts and gets, and two of the set."""
    putter = client_on()
    for body in bodies:
        putter.put(body)
    return putter, cooperating(putter.core), cooperating(putter.core)


def place_of(client: Client, body: str) -> tuple[int, int, int]:
    """Where a message is, by browsing."""
    done = client.do(c.Browse(1, True, 9))
    assert isinstance(done, Messages)
    (found,) = [one for one in done.messages if one.message.body.decode() == body]
    return found.lane, found.seq, found.n


def test_each_message_is_shown_to_one_of_the_set() -> None:
    _, amy, bob = with_messages("1", "2", "3")
    assert [first(amy), first(bob), first(amy), first(bob)] == [["1"], ["2"], ["3"], []]


def test_a_handle_that_does_not_cooperate_has_its_own_marks() -> None:
    putter, amy, _ = with_messages("1", "2")
    assert first(amy) == ["1"]
    assert [first(putter, OWN) for _ in range(3)] == [["1"], ["2"], []]
    assert first(amy) == ["2"]


def test_paged_out_messages_are_marked_too() -> None:
    putter, amy, bob = with_messages(*map(str, range(9)))
    putter.core.crash_with_snapshot()
    amy, bob = cooperating(putter.core), cooperating(putter.core)
    assert [first(one) for one in (amy, bob, amy)] == [["0"], ["1"], ["2"]]


@pytest.mark.parametrize("commits", [True, False])
def test_a_mark_ends_when_the_message_is_got(commits: bool) -> None:
    putter, amy, bob = with_messages("1", "2")
    assert (first(amy), first(amy)) == (["1"], ["2"])
    unit = putter.begin()
    assert putter.get(unit) == ["1"]
    assert first(bob) == []
    putter.do(c.Commit(unit) if commits else c.Backout(unit))
    assert first(bob) == ([] if commits else ["1"])


def test_marks_end_in_time_and_those_who_wait_are_served() -> None:
    putter, amy, bob = with_messages("1")
    core = putter.core
    assert first(amy) == ["1"]
    waiting = bob.send(c.Browse(1, True, options=NEXT, wait_ms=-1))
    assert core.next_tick_ms() == core.now_ms + 5_000
    core.advance(4.9)
    assert bob.answer(waiting) is None
    core.advance(0.1)
    answer = bob.answer(waiting)
    assert isinstance(answer, Messages)
    assert [one.message.body for one in answer.messages] == [b"1"]
    assert core.next_tick_ms() == core.now_ms + 5_000, "marked again, for as long again"


def test_marks_made_later_end_later() -> None:
    putter, amy, _ = with_messages("1", "2")
    assert first(amy) == ["1"]
    putter.core.advance(3)
    assert first(amy) == ["2"]
    putter.core.advance(2)
    assert (first(amy), first(amy)) == (["1"], [])


def test_marks_may_stay_for_ever() -> None:
    putter, amy, _ = with_messages("1")
    putter.do(c.AlterObject("queue_manager", "QM1", {"mark_interval_ms": -1}))
    assert first(amy) == ["1"]
    putter.core.advance(1e6)
    assert first(amy) == []


def test_a_mark_is_taken_away() -> None:
    _, amy, bob = with_messages("1", "2")
    place = place_of(amy, "1")
    assert (first(amy), first(amy)) == (["1"], ["2"])
    waiting = bob.send(c.Browse(1, True, options=NEXT, wait_ms=-1))
    assert amy.browse(options=c.UNMARK_CO_OP, place=place) == ["1"]
    assert isinstance(bob.answer(waiting), Messages)
    assert first(amy, OWN) == []
    assert first(bob, c.MARK_HANDLE) == ["1"]
    assert bob.browse(options=c.UNMARK_HANDLE, place=place) == ["1"]
    assert amy.browse(options=c.UNMARK_CO_OP, place=(0, 99, 0)) == [], "there is none"


def test_a_held_message_is_not_shown_when_its_mark_is_taken_away() -> None:
    putter, amy, _ = with_messages("1")
    place = place_of(amy, "1")
    putter.get(putter.begin())
    assert amy.browse(options=c.UNMARK_CO_OP, place=place) == []


def test_marks_end_with_their_handles() -> None:
    putter, amy, bob = with_messages("1")
    assert first(amy) == ["1"]
    amy.do(c.Close(1))
    assert first(bob) == [], "bob is left"
    bob.lose()
    assert first(cooperating(putter.core)) == ["1"]
    assert first(putter, OWN) == ["1"]
    putter.do(c.Close(1))
    putter.open()
    assert first(putter, OWN) == ["1"]


def test_marks_go_with_a_purge() -> None:
    putter, amy, _ = with_messages("1")
    assert first(amy) == ["1"]
    putter.do(c.PurgeQueue("Q"))
    assert putter.core.queue().marks is None
    putter.core.advance(9)


def test_what_does_not_fit_is_not_marked() -> None:
    _, amy, bob = with_messages("too long")
    assert first(amy, NEXT | c.BOUNDED) == ["too long"], "it is shown, and stays"
    assert first(bob) == ["too long"]


@pytest.mark.parametrize(
    ("options", "place"),
    [
        (c.MARK_HANDLE | c.MARK_CO_OP, None),
        (c.UNMARKED | c.COMPLETE, None),
        (c.MARK_HANDLE | c.ALL_MESSAGES, None),
        (c.MARK_CO_OP | c.LOGICAL_ORDER, None),
        (c.MARK_HANDLE | c.LOCK, None),
        (c.UNMARK_CO_OP, None),
        (c.UNMARK_CO_OP | c.UNMARK_HANDLE, (0, 1, 0)),
        (c.UNMARK_HANDLE | c.UNMARKED, (0, 1, 0)),
    ],
)
def test_what_goes_with_no_mark(options: int, place: tuple[int, int, int] | None) -> None:
    _, amy, _ = with_messages("1")
    refused = amy.refused(c.Browse(1, True, options=options, place=place))
    assert refused is Reason.OPTIONS_ERROR


@pytest.mark.parametrize("options", [c.MARK_CO_OP, c.UNMARK_CO_OP])
def test_only_one_of_the_set_marks_for_it(options: int) -> None:
    putter, _, _ = with_messages("1")
    place = (0, 1, 0) if options == c.UNMARK_CO_OP else None
    refused = putter.refused(c.Browse(1, True, options=options, place=place))
    assert refused is Reason.OPTIONS_ERROR


def test_the_set_is_of_those_who_browse() -> None:
    assert client_on().refused(c.Open(2, "Q", c.INPUT | c.CO_OP)) is Reason.OPTIONS_ERROR


@pytest.mark.parametrize("before_ms", [-1, 3_600_000])
def test_a_shorter_interval_ends_the_marks_that_are_there(before_ms: int) -> None:
    putter, one, other = with_messages("a")
    putter.do(c.AlterObject("queue_manager", "QM1", {"mark_interval_ms": before_ms}))
    assert first(one) == ["a"]
    waits = other.send(c.Browse(1, options=NEXT, restart=True, wait_ms=600_000))
    putter.do(c.AlterObject("queue_manager", "QM1", {"mark_interval_ms": 1_000}))
    for _ in range(3):
        putter.core.advance(1)
    answer = other.answer(waits)
    assert isinstance(answer, Messages)
    assert [message.message.body for message in answer.messages] == [b"a"]
