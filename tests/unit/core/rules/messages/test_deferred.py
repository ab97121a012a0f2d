"""Deferred puts: nobody waits for the answer, and the commit says what was refused."""

import pytest

from adapter.core.contract import commands as c
from adapter.core.contract.limits import Limits
from adapter.core.contract.message import MessageData
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Done, Refused, UnitOutcome
from tests.support.core import Client, Core, client_on
from tests.support.topics import core_with_topics


def put(*bodies: str, unit: bytes, handle: int = 1, options: int = 0) -> c.Put:
    messages = [MessageData(body=body.encode()) for body in bodies]
    return c.Put(handle, messages, unit, options | c.DEFERRED)


def full_of(depth: int) -> Client:
    """A client on Q, which has room for so many, and A, which has a message."""
    client = client_on("Q", "A")
    client.do(c.AlterQueue("Q", {"max_depth": depth}))
    client.put("there", handle=2)
    return client


def test_a_deferred_put_is_not_answered_and_is_committed_with_its_unit() -> None:
    client = client_on()
    unit = client.begin()
    for body in "abc":
        effects = client.tell(put(body, unit=unit))
        assert (effects.records, effects.replies) == ([], [])
    assert client.get() == []
    assert client.do(c.Commit(unit)) == Done(3)
    assert [client.get() for _ in "abcd"] == [["a"], ["b"], ["c"], []]


def test_deferred_puts_keep_their_order_among_those_that_are_answered() -> None:
    client = client_on()
    unit = client.begin()
    client.tell(put("a", unit=unit))
    client.put("b", unit=unit)
    client.tell(put("c", "d", unit=unit))
    client.do(c.Commit(unit))
    assert client.get(client.begin(), limit=9) == ["a", "b", "c", "d"]


def test_a_commit_behind_a_refused_put_backs_the_unit_out_and_says_why() -> None:
    client = full_of(1)
    unit = client.begin()
    assert client.get(unit, handle=2) == ["there"]
    for body in "abc":
        client.tell(put(body, unit=unit))
    commit = client.send(c.Commit(unit))
    assert client.answer(commit) == Refused(Reason.QUEUE_FULL, "Q", "max_depth is 1")
    assert client.core.queue().depth == 0
    (back,) = client.take(handle=2)
    assert (back.message.body, back.backout_count) == (b"there", 1)
    assert client.do(c.AskOutcome(unit)) == UnitOutcome("backed out")
    assert client.refused(c.Commit(unit)) is Reason.BACKED_OUT, "another one finds no unit"


def test_the_first_refusal_counts_and_later_deferred_puts_are_not_done() -> None:
    client = full_of(5)
    unit = client.begin()
    client.tell(put("a", unit=unit))
    client.tell(put("b", unit=unit, handle=9))
    client.do(c.AlterQueue("Q", {"inhibit_put": True}))
    client.tell(put("c", unit=unit))
    client.do(c.AlterQueue("Q", {"inhibit_put": False}))
    client.tell(put("d", unit=unit))
    assert client.core.queue().depth == 1, "what was put before is held until the end"
    assert client.refused(c.Commit(unit)) is Reason.HANDLE_NOT_OPEN
    assert client.core.queue().depth == 0


def test_a_commit_that_comes_again_is_refused_likewise() -> None:
    client = full_of(0)
    unit = client.begin()
    client.tell(put("a", unit=unit))
    commit = c.Commit(unit)
    number = client.issued + 1
    assert client.refused(commit) is Reason.QUEUE_FULL
    assert client.refused(commit, number) is Reason.QUEUE_FULL
    client.lose()
    back = client.core.connect()
    back.resume(client.session, [number], number)
    assert back.refused(commit, number) is Reason.QUEUE_FULL


def test_after_a_crash_the_unit_was_backed_out() -> None:
    client = full_of(0)
    unit = client.begin()
    client.get(unit, handle=2)
    client.tell(put("a", unit=unit))
    number = client.issued + 1
    client.do(c.Commit(unit))
    client.core.crash()
    back = client.core.connect()
    back.resume(client.session, [number], number)
    assert back.refused(c.Commit(unit), number) is Reason.BACKED_OUT
    back.open("A")
    (message,) = back.take()
    assert message.backout_count == 1, "what the backout counted is durable"


def test_a_backout_asks_for_no_refusal() -> None:
    client = full_of(0)
    unit = client.begin()
    client.tell(put("a", unit=unit))
    assert client.do(c.Backout(unit)) == Done()


def test_verbs_that_wait_are_executed_as_ever_in_a_unit_with_a_refusal() -> None:
    client = full_of(1)
    unit = client.begin()
    client.tell(put("a", "b", unit=unit))
    assert client.put("c", unit=unit)
    assert client.get(unit, handle=2) == ["there"]
    assert client.refused(c.Commit(unit)) is Reason.QUEUE_FULL
    assert (client.core.queue("Q").depth, client.core.queue("A").depth) == (0, 1)


def test_a_deferred_put_is_not_one_that_is_answered() -> None:
    client = client_on()
    unit = client.begin()
    assert client.refused(put("a", unit=unit)) is Reason.OPTIONS_ERROR
    assert client.do(c.Commit(unit)) == Done(0), "its refusal was heard"


def test_a_deferred_put_outside_a_unit_is_refused() -> None:
    client = client_on()
    command = c.Put(1, [MessageData(body=b"a")], options=c.DEFERRED)
    assert client.refused(command) is Reason.OPTIONS_ERROR
    assert client.core.queue().depth == 0


def test_a_put_in_a_unit_that_has_ended_is_lost_with_it() -> None:
    client = client_on()
    unit = client.begin()
    client.do(c.Backout(unit))
    assert client.tell(put("a", unit=unit)).replies == []
    assert client.refused(c.Commit(unit)) is Reason.BACKED_OUT
    assert client.core.queue().depth == 0


def test_a_put_in_logical_order_may_be_deferred() -> None:
    client = client_on()
    unit = client.begin()
    client.tell(put("a", unit=unit, options=c.LOGICAL_ORDER))
    client.tell(put("b", unit=unit, options=c.LOGICAL_ORDER))
    assert client.do(c.Commit(unit)) == Done(2)


def test_a_unit_that_is_too_large_is_refused_by_its_commit() -> None:
    client = client_on(limits=Limits(unit_messages=2))
    unit = client.begin()
    for body in "abc":
        client.tell(put(body, unit=unit))
    assert client.refused(c.Commit(unit)) is Reason.UNIT_TOO_LARGE
    assert client.core.queue().depth == 0
    assert client.core.qm.held.total == 0


@pytest.mark.parametrize("detail", ["", "a" * 400])
def test_a_begin_that_nobody_heard_refused_refuses_the_verbs_of_its_unit(detail: str) -> None:
    client = client_on(limits=Limits(units_per_connection=1))
    first, second = client.begin(), client.new_unit() + detail.encode()
    assert client.tell(c.Begin(second)).replies == []
    reason = Reason.IDENTIFIER_ERROR if detail else Reason.LIMIT_REACHED
    assert client.tell(put("a", unit=second)).replies == []
    for command in (c.Get(1, second), c.Commit(second), c.Backout(second)):
        assert client.refused(command) is reason
    assert client.refused(c.Commit(client.new_unit())) is Reason.BACKED_OUT
    assert client.do(c.Commit(first)) == Done()


def test_a_deferred_publication_that_waits_for_a_page_is_put_when_it_has_come() -> None:
    """It is still deferred when it is decided again; the commit waits behind it."""
    core = core_with_topics()
    client = core.connect()
    client.do(c.OpenTopic(1, "T"))
    client.do(c.Put(1, [MessageData(body=b"before")], options=c.RETAIN))
    core.crash_with_snapshot()
    client = core.connect()
    client.do(c.OpenTopic(1, "T"))
    unit = client.begin()
    core.reads_pages = False
    client.tell(put("a", unit=unit, options=c.RETAIN))
    refused = client.tell(put("b", unit=unit, options=c.LOGICAL_ORDER)).replies
    commit = client.send(c.Commit(unit))
    assert (refused, client.answer(commit)) == ([], None)
    core.reads_pages = True
    core.advance(1)
    assert client.answer(commit) == Refused(Reason.OPTIONS_ERROR, "T", "options 1")


def test_a_refused_publication_is_refused_by_the_commit() -> None:
    core: Core = core_with_topics()
    client = core.connect()
    client.do(c.OpenTopic(1, "T"))
    unit = client.begin()
    client.tell(put("a", unit=unit, options=c.LOGICAL_ORDER))
    assert client.refused(c.Commit(unit)) is Reason.OPTIONS_ERROR
