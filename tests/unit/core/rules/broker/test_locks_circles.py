"""Circles of transactions that are closed by a lock which is taken without waiting."""

from collections.abc import Callable

import pytest

from adapter.core.contract import broker as b
from adapter.core.contract.commands import Command
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Refused
from adapter.core.model.broker_queue import BrokerQueue, key_of
from adapter.core.rules.broker.locks import WAITS_MAX
from tests.support.dialogs import ANSWERS, ASKS, Dialogs, Session
from tests.support.steps import operations

GROUP = b"g" * 16


def asks(at: Dialogs) -> BrokerQueue:
    queue = at.core.queue(key_of("Asks"))
    assert isinstance(queue, BrokerQueue)
    return queue


def group_of(at: Dialogs, handle: bytes) -> bytes:
    return at.core.qm.conversations.endpoints[handle].group.ident


CLOSES: dict[str, Callable[[Dialogs, bytes], Command]] = {
    "send": lambda _, handle: b.BrokerSend(b"", [handle], body=b"x"),
    "end": lambda _, handle: b.BrokerEnd(b"", handle),
    "timer": lambda _, handle: b.BrokerTimer(b"", handle, 1_000),
    "move": lambda _, handle: b.BrokerMove(b"", handle, GROUP),
    "begin": lambda at, handle: b.BrokerBegin(
        b"", at.guid(), ASKS, ANSWERS, group=group_of(at, handle)
    ),
}
"""What locks the group of a conversation."""


def wait_for(session: Session, handle: bytes) -> int:
    """Wait for a message of a conversation, without limit."""
    return session.start(b.BrokerReceive(b"", "Asks", conversation=handle, wait_ms=-1))


def ring(at: Dialogs, size: int) -> tuple[list[Session], list[bytes], list[int]]:
    """Sessions of which each has locked the group of its conversation and waits for messages of the
    next one's; the last session has locked none, and a verb of it waits for the first group.
    """
    first = at.session()
    handles = [first.dialog("one") for _ in range(size)]
    first.commit()
    sessions = [at.session() for _ in range(size)]
    waits = []
    for number, session in enumerate(sessions[:-1]):
        session.send(handles[number], "two")
        waits.append(wait_for(session, handles[number + 1]))
    waits.append(sessions[-1].start(b.BrokerSend(b"", [handles[0]], body=b"x")))
    assert all(one.answer(wait) is None for one, wait in zip(sessions, waits, strict=True))
    return sessions, handles, waits


def refusal(answer: object) -> Reason | None:
    return Reason(answer.reason) if isinstance(answer, Refused) else None


@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize("verb", CLOSES)
def test_one_of_them_is_the_victim(verb: str, size: int) -> None:
    at = Dialogs()
    sessions, handles, waits = ring(at, size)
    last = sessions[-1]
    assert refusal(last.do(CLOSES[verb](at, handles[-1]))) is Reason.DEADLOCK_VICTIM
    assert last.answer(waits[-1]) is not None, "its other verbs learn of it"
    assert last.unit not in at.core.qm.connections[last.client.number].units
    for session, wait in zip(sessions[:-1], waits[:-1], strict=True):
        assert session.answer(wait) is None
        session.rollback()
    assert not any(one.locked_by for one in asks(at).groups)
    at.check()


@pytest.mark.parametrize("takes", [b.BrokerReceive(b"", "Asks"), b.BrokerGetGroup(b"", "Asks")])
def test_what_was_received_is_back(takes: Command) -> None:
    at = Dialogs()
    sessions, handles, _ = ring(at, 2)
    answering, last = at.session(), sessions[-1]
    related = answering.dialog("one", group=group_of(at, handles[-1]))
    answering.commit()
    answering.send(at.far_of(related), "answer")
    answering.commit()
    assert refusal(last.do(takes)) is Reason.DEADLOCK_VICTIM
    for session in sessions[:-1]:
        session.rollback()
    assert asks(at).attributes.rollback_count == isinstance(takes, b.BrokerReceive)
    last.unit = b""
    assert last.receive_all("Asks") == ["answer"]
    at.check()


def test_a_conversation_that_is_moved_into_a_circle() -> None:
    at = Dialogs()
    first = at.session()
    one, two, three = (first.dialog("one") for _ in range(3))
    first.commit()
    a, other, mover = at.session(), at.session(), at.session()
    a.send(one, "x")
    waits = wait_for(a, two)
    other.send(three, "x")
    mover.move(two, group_of(at, two))
    blocked = other.start(b.BrokerSend(b"", [one], body=b"x"))
    assert a.answer(waits) is None
    assert other.answer(blocked) is None
    joined = mover.do(b.BrokerMove(b"", two, GROUP))
    assert refusal(joined) is None
    mover.commit()
    assert a.answer(waits) is None
    assert refusal(other.do(b.BrokerMove(b"", three, GROUP))) is Reason.DEADLOCK_VICTIM
    at.check()


def cost_of_a_lock(count: int) -> int:
    """Return what a verb costs that locks a group, while its unit waits for so many groups of a
    unit which waits for as many of a third one.
    """
    at = Dialogs()
    first = at.session()
    of_second, of_third = ([first.dialog("x") for _ in range(count)] for _ in range(2))
    own = first.dialog("x")
    first.commit()
    one, two, three = (at.session() for _ in range(3))
    for session, handles in ((two, of_second), (three, of_third)):
        for handle in handles:
            session.timer(handle, 1_000)
    for session, handles in ((two, of_third), (one, of_second)):
        for handle in handles:
            assert session.answer(session.start(b.BrokerTimer(b"", handle, 1_000_000))) is None
    return operations(lambda: one.send(own, "x"))


def test_looking_for_a_circle_costs_as_much_as_there_are_waits() -> None:
    few, many = cost_of_a_lock(6), cost_of_a_lock(60)
    assert many < 10 * few


def test_a_verb_that_locks_no_other_group_looks_for_no_circle(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    at = Dialogs()
    sessions, handles, _ = ring(at, 2)
    one = sessions[0]
    monkeypatch.setattr("adapter.core.rules.broker.verbs.check_own_waits", None)
    one.send(handles[0], "its group is locked already")


def test_so_many_verbs_of_a_unit_wait_at_most() -> None:
    at = Dialogs()
    first, holds, waits = (at.session() for _ in range(3))
    handle = first.dialog("x")
    first.commit()
    holds.send(handle, "x")
    requests = [wait_for(waits, handle) for _ in range(WAITS_MAX)]
    requests += [waits.start(b.BrokerSend(b"", [handle], body=b"x")) for _ in range(2)]
    assert [refusal(waits.answer(one)) for one in requests[WAITS_MAX:]] == [
        Reason.LIMIT_REACHED
    ] * 2
    assert not any(waits.answer(one) for one in requests[:WAITS_MAX])
    holds.rollback()
    waits.rollback()
    at.check()
