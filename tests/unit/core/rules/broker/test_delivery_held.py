"""What is held for a service stays, whatever becomes of its queue, and leaves in order."""

from collections.abc import Callable

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from adapter.core.attributes import broker as kinds
from adapter.core.contract import broker as b
from adapter.core.contract.commands import Command
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Refused
from adapter.core.rules.broker import release
from tests.support.dialogs import ANSWERS, Afar, Dialogs, done, held_key

JAPANESE = "経費精算"


def deploy_again(at: Dialogs) -> None:
    done(at.drop(kinds.SERVICE, ANSWERS))
    done(at.drop(kinds.QUEUE, "Answers"))
    at.create(ANSWERS)
    at.core.advance(0)


def drop_in_two_steps(at: Dialogs) -> None:
    done(at.drop(kinds.SERVICE, ANSWERS))
    at.restart(with_snapshot=True)
    at.create(ANSWERS, "Answers")
    at.alter("Answers", status=True)


def put_on_another_queue(at: Dialogs) -> None:
    at.create("other")
    done(at.admin.do(b.BrokerAlter(kinds.SERVICE, ANSWERS, {"queue": "Other"})))
    at.core.advance(0)
    done(at.drop(kinds.QUEUE, "Answers"))


@pytest.mark.parametrize("change", [deploy_again, drop_in_two_steps, put_on_another_queue])
@pytest.mark.parametrize("sends_on", [False, True])
def test_what_waits_for_a_queue_that_is_off_is_received_after_a_change_of_it(
    change: Callable[[Dialogs], None], sends_on: bool
) -> None:
    at = Dialogs()
    at.alter("Answers", status=False)
    session = at.session()
    handle = session.dialog("order 1")
    session.send(handle, "order 2")
    session.commit()
    assert at.waiting() == ["order 1", "order 2"]
    change(at)
    session = at.session()
    if sends_on:
        session.send(handle, "order 3")
        session.commit()
    queue = "Other" if change is put_on_another_queue else "Answers"
    found = session.receive_all(queue)
    assert found == ["order 1", "order 2", *["order 3"] * sends_on]
    assert at.waiting() == []
    at.check()


def test_an_order_that_is_sent_between_the_drop_and_the_creation_comes_last() -> None:
    at = Dialogs()
    at.alter("Answers", status=False)
    session = at.session()
    handle = session.dialog("order 1")
    session.commit()
    done(at.drop(kinds.SERVICE, ANSWERS))
    session.send(handle, "order 2")
    session.commit()
    assert at.waiting() == ["order 1", "order 2"]
    at.create(ANSWERS, "Answers")
    session.send(handle, "order 3")
    session.commit()
    at.alter("Answers", status=True)
    assert session.receive_all("Answers") == ["order 1", "order 2", "order 3"]
    at.check()


def test_a_timer_that_is_held_is_dropped_with_its_conversation() -> None:
    at = Dialogs()
    session = at.session()
    handle = session.dialog("one")
    session.commit()
    far = at.far_of(handle)
    session.timer(far, 5)
    session.commit()
    at.alter("Answers", status=False)
    at.core.advance(6)
    assert len(at.waiting()) == 1
    session.end(handle, cleanup=True)
    session.end(far, cleanup=True)
    session.commit()
    refused = at.drop(kinds.QUEUE, "Answers")
    assert isinstance(refused, Refused)
    at.alter("Answers", status=True)
    assert (at.states(), at.waiting()) == ({}, [])
    at.check()


def test_a_service_whose_name_ends_like_a_queue_of_what_is_held() -> None:
    at = Dialogs()
    name = "x;held"
    session = at.session()
    session.dialog("one", to=name)
    session.commit()
    (row,) = at.view(b.TRANSMISSION)
    assert row.attributes["status"] == f"The target service '{name}' does not exist."
    at.create(name, "Answers")
    at.core.advance(0)
    assert session.receive_all("Answers") == ["one"]


def test_no_name_is_too_long_for_its_topic() -> None:
    at = Dialogs()
    session = at.session()
    commands: list[Command] = [
        b.BrokerCreate(kinds.QUEUE, JAPANESE * 10),
        b.BrokerCreate(kinds.SERVICE, JAPANESE * 10, {"queue": "Asks"}),
        b.BrokerBegin(session.begin(), at.guid(), "asks", JAPANESE * 10, group=at.guid()),
    ]
    for command in commands:
        answer = session.client.do(command)
        assert isinstance(answer, Refused)
        assert Reason(answer.reason) is Reason.NAME_ERROR
    at.create("s" * 128)
    session.dialog("one", to="/" + "s" * 100 + "/" + JAPANESE[:1])
    session.commit()
    assert held_key("Asks") not in at.core.qm.queues


def test_what_is_released_from_two_places_keeps_its_order() -> None:
    """Of one conversation, some waits for the service and some for the queue by then."""
    at = Dialogs(window_messages=2)
    session = at.session()
    other = session.dialog("first")
    session.commit()
    at.alter("Answers", status=False)
    for number in range(4):
        session.send(other, f"other {number}")
    session.commit()
    at.restart(with_snapshot=True)
    session = at.session()
    handle = session.dialog("m0")
    session.commit()
    for number in range(1, 6):
        session.send(handle, f"m{number}")
        session.commit()
    at.alter("Answers", status=True)
    found = session.receive_all("Answers")
    assert [body for body in found if body.startswith("m")] == [f"m{n}" for n in range(6)]
    at.check()


@pytest.mark.parametrize("in_memory", [2, 1_000])
@pytest.mark.parametrize(
    "with_snapshot", [None, False, True], ids=["no crash", "crash", "snapshot"]
)
def test_what_arrives_while_a_service_is_released_comes_behind_it(
    in_memory: int, with_snapshot: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The conversation has an endpoint as soon as its first message is released."""
    monkeypatch.setattr(release, "RELEASED_PER_STEP", 3)
    at = Dialogs(window_messages=in_memory)
    done(at.drop(kinds.SERVICE, ANSWERS))
    afar = Afar(at)
    for _ in range(10):
        afar.send()
    at.create(ANSWERS, "Answers")
    afar.send()
    if with_snapshot is not None:
        at.restart(with_snapshot=with_snapshot)
    for _ in range(6):
        afar.send()
        at.core.advance(1)
    found = at.session().receive_all("Answers")
    assert found == [f"m{number}" for number in range(17)]
    assert at.waiting() == []
    at.check()


@given(
    st.sampled_from(["", "broker$\\", "broker$\\;held", "broker$\\answers", ";held", "dbo."]),
    st.sampled_from(["foo", "answers", "Answers;held", "answers;retained", ""]),
    st.booleans(),
)
def test_what_waits_for_a_service_is_delivered_when_it_is_created_whatever_it_is_called(
    beginning: str, rest: str, is_off: bool
) -> None:
    name = beginning + rest
    assume(name not in ("", ANSWERS))
    at = Dialogs()
    session = at.session()
    session.dialog("order", to=name)
    session.commit()
    at.alter("Answers", status=not is_off)
    at.create(name, "Answers")
    at.core.advance(0)
    assert at.waiting() == ["order"] * is_off
    at.alter("Answers", status=True)
    assert at.waiting() == []
    assert session.receive_all("Answers") == ["order"]
    at.check()
