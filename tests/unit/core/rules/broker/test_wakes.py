"""Verbs that wait: each is answered as soon as there is an answer, by whatever happens."""

from typing import Any

import pytest

from adapter.core.attributes import broker as kinds
from adapter.core.contract import broker as b
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Done, Messages, Refused, Result
from tests.support.dialogs import ANSWERS, ASKS, Dialogs, bodies_of, done


def reason_of(answer: Result | None) -> Reason:
    assert isinstance(answer, Refused), answer
    return Reason(answer.reason)


def test_a_verb_goes_on_waiting_for_the_group_that_its_conversation_was_moved_to() -> None:
    at = Dialogs()
    mover, other, third = at.session(), at.session(), at.session()
    first, second = at.guid(), at.guid()
    handle = mover.dialog("one", group=first)
    beside = mover.dialog("two", group=second)
    mover.commit()
    mover.send(handle, "three")
    mover.move(handle, second)
    waits = other.start(b.BrokerSend(b"", [beside], body=b"four"))
    sends = third.start(b.BrokerSend(b"", [handle], body=b"five"))
    mover.commit()
    assert isinstance(other.answer(waits), Done)
    assert third.answer(sends) is None
    other.commit()
    assert isinstance(third.answer(sends), Done)
    third.commit()
    assert sorted(mover.receive_all("Answers")) == ["five", "four", "one", "three", "two"]


def test_a_verb_that_would_wait_in_a_circle_after_a_move_is_refused() -> None:
    at = Dialogs()
    mover, other, third = at.session(), at.session(), at.session()
    second = at.guid()
    handle, beside, last = mover.dialog("1"), mover.dialog("2", group=second), mover.dialog("3")
    mover.commit()
    mover.send(handle, "4")
    mover.move(handle, second)
    third.send(last, "5")
    holds = other.start(b.BrokerSend(b"", [beside], body=b"6"))
    wants = other.start(b.BrokerSend(b"", [last], body=b"7"))
    sends = third.start(b.BrokerSend(b"", [handle], body=b"8"))
    assert (other.answer(holds), other.answer(wants), third.answer(sends)) == (None, None, None)
    mover.commit()
    assert isinstance(other.answer(holds), Done)
    assert reason_of(third.answer(sends)) is Reason.DEADLOCK_VICTIM
    assert isinstance(other.answer(wants), Done)
    other.commit()
    assert sorted(mover.receive_all("Answers")) == ["1", "2", "3", "4", "6", "7"]


@pytest.mark.parametrize("by", ["conversation", "group"])
def test_a_receive_that_waits_for_a_conversation_of_a_service_that_is_dropped(by: str) -> None:
    at = Dialogs()
    session = at.session()
    group = at.guid()
    handle = session.dialog("one", group=group)
    session.commit()
    wanted: dict[str, Any] = {by: handle if by == "conversation" else group}
    waits = session.start(b.BrokerReceive(b"", "Asks", wait_ms=-1, **wanted))
    assert session.answer(waits) is None
    done(at.drop(kinds.SERVICE, ASKS))
    assert reason_of(session.answer(waits)) is Reason.CONVERSATION_NOT_FOUND


def test_a_receive_without_waitfor_is_answered_when_the_messages_it_waited_for_are_gone() -> None:
    at = Dialogs()
    one, other = at.session(), at.session()
    handle = one.dialog("one")
    one.commit()
    far = at.far_of(handle)
    assert one.receive("Answers") == ["one"]
    waits = other.start(b.BrokerReceive(b"", "Answers", conversation=far))
    assert other.answer(waits) is None
    one.commit()
    assert bodies_of(other.answer(waits)) == []


@pytest.mark.parametrize("how", ["OFF", "by rollbacks"])
def test_a_receive_that_waits_for_a_group_of_a_queue_that_is_turned_off(how: str) -> None:
    at = Dialogs()
    one, other, third = at.session(), at.session(), at.session()
    handle = one.dialog("one")
    one.dialog("two")
    one.commit()
    far = at.far_of(handle)
    assert one.receive("Answers", conversation=far) == ["one"]
    waits = other.start(b.BrokerReceive(b"", "Answers", conversation=far))
    assert other.answer(waits) is None
    if how == "OFF":
        at.alter("Answers", status=False)
    else:
        for _ in range(5):
            assert third.receive("Answers") == ["two"]
            third.rollback()
    assert reason_of(other.answer(waits)) is Reason.QUEUE_DISABLED


def test_a_send_that_waits_while_its_message_type_is_dropped() -> None:
    at = Dialogs()
    done(at.admin.do(b.BrokerCreate(kinds.MESSAGE_TYPE, "own")))
    one, other = at.session(), at.session()
    handle = one.dialog("one")
    one.commit()
    one.send(handle, "two")
    waits = other.start(b.BrokerSend(b"", [handle], "own", b"x"))
    assert other.answer(waits) is None
    done(at.drop(kinds.MESSAGE_TYPE, "own"))
    assert reason_of(other.answer(waits)) is Reason.OBJECT_NOT_FOUND


def test_a_timer_that_waits_for_a_conversation_that_the_far_side_breaks_off() -> None:
    at = Dialogs()
    one, other = at.session(), at.session()
    handle = one.dialog("one")
    one.commit()
    one.send(handle, "two")
    waits = other.start(b.BrokerTimer(b"", handle, 5_000))
    far = at.session()
    far.end(at.far_of(handle), 9)
    far.commit()
    assert reason_of(other.answer(waits)) is Reason.CONVERSATION_STATE_ERROR


def test_what_a_verb_of_the_same_transaction_changes() -> None:
    at = Dialogs()
    session = at.session()
    handle = session.dialog("one")
    session.commit()
    waits = session.start(b.BrokerReceive(b"", "Asks", conversation=handle, wait_ms=-1))
    session.end(handle)
    assert reason_of(session.answer(waits)) is Reason.CONVERSATION_NOT_FOUND


def test_what_a_savepoint_gives_back_to_a_verb_of_the_same_transaction() -> None:
    at = Dialogs()
    session = at.session()
    session.dialog("one")
    session.commit()
    session.save()
    assert session.receive("Answers") == ["one"]
    waits = session.start(b.BrokerReceive(b"", "Answers", wait_ms=-1))
    session.return_to()
    answer = session.answer(waits)
    assert isinstance(answer, Messages)
    assert bodies_of(answer) == ["one"]
    assert at.core.qm.conversations.of_service[ANSWERS] == 1


def test_a_receive_that_was_unlocked_goes_on_when_its_page_has_come() -> None:
    """It waits in the line of its group, and a page wakes the line of the queue."""
    at = Dialogs(window_messages=2)
    first = at.session()
    first.dialog(*(f"x{number}" for number in range(40)))
    handle = first.dialog("m0", "m1")
    first.commit()
    group = at.core.qm.conversations.endpoints[at.far_of(handle)].state.group
    done(first.do(b.BrokerMove(b"", at.far_of(handle), group)))
    second = at.session()
    waits = second.start(b.BrokerReceive(b"", "Answers", top=2, group=group, lock_ms=-1))
    assert second.answer(waits) is None
    at.core.evict()
    first.rollback()
    assert bodies_of(second.answer(waits)) == ["m0", "m1"]
