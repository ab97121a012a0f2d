"""Queues on which messages wait for services that do not exist: they are bounded, and go."""

from itertools import permutations

import pytest

from adapter.core.attributes import broker as kinds
from adapter.core.contract import broker as b
from adapter.core.contract import commands as c
from adapter.core.contract.reasons import Reason
from adapter.core.contract.records import QueueDefined
from adapter.core.contract.results import Refused
from adapter.core.model.broker_queue import HELD, PREFIX
from adapter.storage.format import entries
from tests.support.dialogs import ANSWERS, Afar, Dialogs, Session, done, of_initiator

WAITING = PREFIX + HELD


def waiting_queues(at: Dialogs) -> list[str]:
    return [name.removeprefix(WAITING) for name in at.core.qm.queues if name.startswith(WAITING)]


def ended(session: Session, handle: bytes, *, cleanup: bool = True) -> None:
    session.end(handle, cleanup=cleanup)
    session.commit()
    session.at.core.advance(0)


def received_later() -> tuple[Session, bytes]:
    """Receive what has waited for a service until that was created; the session and the handle of
    the conversation.
    """
    at = Dialogs()
    session = at.session()
    handle = session.dialog("order", to="later")
    session.commit()
    at.create("later", "Answers")
    at.core.advance(0)
    assert session.receive_all("Answers") == ["order"]
    return session, handle


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("together", [False, True])
def test_they_go_with_the_last_message(restarts: bool, together: bool) -> None:
    at = Dialogs()
    session = at.session()
    mistyped = [session.dialog("order", to=f"answer{n}") for n in range(5) for _ in range(2)]
    session.commit()
    assert waiting_queues(at) == [f"answer{n}" for n in range(5)]
    if restarts:
        at.restart(with_snapshot=True)
        session = at.session()
    for at_most, handle in enumerate(mistyped, 1):
        session.end(handle, cleanup=True)
        if not together:
            session.commit()
            assert len(waiting_queues(at)) == 5 - at_most // 2
    if together:
        session.commit()
    assert waiting_queues(at) == []
    at.check()


def test_one_of_a_service_that_exists_or_has_a_route_stays() -> None:
    session, handle = received_later()
    at = session.at
    ended(session, handle)
    assert waiting_queues(at) == ["later"]
    done(at.admin.do(b.BrokerCreate(kinds.ROUTE, "r", {"service": "later", "address": "QM1"})))
    done(at.drop(kinds.SERVICE, "later"))
    assert waiting_queues(at) == ["later"]
    done(at.drop(kinds.ROUTE, "r"))
    assert waiting_queues(at) == []
    at.check()


@pytest.mark.parametrize("order", list(permutations(("service", "route", "conversation"))))
def test_one_goes_with_whatever_is_the_last_that_needs_it(order: tuple[str, ...]) -> None:
    session, handle = received_later()
    at = session.at
    done(at.admin.do(b.BrokerCreate(kinds.ROUTE, "r", {"service": "later", "address": "QM1"})))
    for what in order:
        assert waiting_queues(at) == ["later"]
        if what == "conversation":
            ended(session, handle)
        else:
            done(at.drop(what, "later" if what == kinds.SERVICE else "r"))
    assert waiting_queues(at) == []
    at.check()


def test_one_with_a_conversation_stays_so_that_what_it_holds_is_its_own() -> None:
    session, handle = received_later()
    at = session.at
    done(at.drop(kinds.SERVICE, "later"))
    assert waiting_queues(at) == ["later"]
    session.end(handle)
    session.commit()
    assert waiting_queues(at) == []
    at.check()


def test_those_that_an_earlier_release_has_left_behind_go() -> None:
    at = Dialogs()
    name = WAITING + "mistyped"
    shown = {"kind": kinds.KIND, "display_name": ";heldmistyped"}
    at.core.entries.append(entries.encode([QueueDefined(name, 0, shown)]))
    at.restart()
    assert waiting_queues(at) == []
    at.check()


def site(room: int) -> Dialogs:
    """A queue manager with so much room for further queues."""
    return Dialogs(queues=len(Dialogs().core.qm.queues) + room)


def test_there_are_as_many_as_there_may_be_queues() -> None:
    at = site(3)
    session = at.session()
    handles: list[bytes] = []
    answer: object = None
    unit = b""
    while not isinstance(answer, Refused):
        handles.append(session.dialog("order", to=f"mistyped{len(handles)}"))
        unit, session.unit = session.unit, b""
        answer = session.client.answer(session.client.send(c.Commit(unit)))
    assert answer.reason is Reason.LIMIT_REACHED
    assert answer.name == "mistyped3"
    done(session.client.do(c.Backout(unit)))
    assert len(waiting_queues(at)) == 3
    for handle in handles[:-1]:
        session.end(handle, cleanup=True)
    session.commit()
    at.create("new")
    assert session.receive_all("Answers") == []
    session.dialog("order", to=ANSWERS)
    session.commit()
    assert session.receive_all("Answers") == ["order"]
    at.check()


def test_what_comes_from_elsewhere_makes_no_more_and_its_sender_learns_why() -> None:
    at = site(4)
    at.admin.define("QMA", usage="XMITQ")
    far = Afar(at)
    for number in range(20):
        header = of_initiator(number.to_bytes(16, "big"), service=f"mistyped{number}")
        far.say(header, "order")
    assert waiting_queues(at) == [f"mistyped{number}" for number in range(3)]
    answers = [one.message.broker for one in at.core.qm.queues["QMA"].stored.values()]
    assert [one.message_type for one in answers if one is not None] == [b.ERROR] * 17
    at.check()
