"""A release takes several steps: what comes, rings, changes or is missing between two of them."""

import random
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapter.core.attributes import broker as kinds
from adapter.core.contract import broker as b
from adapter.core.rules.broker import release
from tests.support.dialogs import ANSWERS, ASKS, Afar, Dialogs, done
from tests.support.examples import examples

STEP = 3


@pytest.fixture(autouse=True, scope="module")
def _short_steps() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(release, "RELEASED_PER_STEP", STEP)
        yield


def without_service(**limits: int) -> tuple[Dialogs, Afar]:
    at = Dialogs(**limits)
    done(at.drop(kinds.SERVICE, ANSWERS))
    return at, Afar(at)


def pass_steps(at: Dialogs, count: int = 30, seconds: int = 1) -> None:
    for _ in range(count):
        at.core.advance(seconds)


def numbered(dialog: str, end: int, first: int = 0) -> list[str]:
    return [f"{dialog}{number}" for number in range(first, end)]


def of(dialog: str, found: list[str]) -> list[str]:
    return [one for one in found if one.startswith(dialog)]


@pytest.mark.parametrize("restarts", [False, True])
def test_two_long_queues_of_held_messages_come_to_an_end(restarts: bool) -> None:
    at = Dialogs()
    far = Afar(at)
    far.send()
    at.alter("Answers", status=False)
    far.send(count=2 * STEP)
    done(at.drop(kinds.SERVICE, ANSWERS))
    far.send("x")
    far.send(count=2 * STEP)
    at.create(ANSWERS, "Answers")
    at.alter("Answers", status=True)
    if restarts:
        at.restart(with_snapshot=True)
    pass_steps(at, seconds=0)
    entries = len(at.core.entries)
    pass_steps(at, seconds=0)
    assert len(at.core.entries) == entries
    far.send("n")
    assert at.session().receive_all("Answers") == ["x0", "n0"]
    at.check()


@pytest.mark.parametrize("is_released", [False, True])
def test_a_timer_rings_while_others_are_released(is_released: bool) -> None:
    at, far = without_service()
    far.send(count=2)
    far.send("x", 20)
    at.create(ANSWERS, "Answers")
    if is_released:
        pass_steps(at)
    endpoints = at.core.qm.conversations.endpoints
    (own,) = [one for one, known in endpoints.items() if known.state.conversation == b"m".ljust(16)]
    session = at.session()
    session.timer(own, 1)
    session.commit()
    pass_steps(at)
    assert "DialogTimer" in session.receive_all("Answers")
    at.check()


def test_a_lifetime_ends_while_others_are_released() -> None:
    at, far = without_service()
    far.send(count=2, lifetime_ms=at.core.now_ms + 1_000)
    far.send("x", 20)
    at.create(ANSWERS, "Answers")
    pass_steps(at)
    found = at.session().receive_all("Answers")
    assert [one for one in found if not one.startswith("x")] == ["Error", "m0", "m1"]
    assert "ER" in at.states().values()
    at.check()


def test_an_error_for_a_reply_to_who_has_gone_comes_while_others_are_released() -> None:
    at = Dialogs()
    session = at.session()
    handle = session.dialog("one")
    session.commit()
    far = at.far_of(handle)
    session.receive_all("Answers")
    session.end(handle, cleanup=True)
    session.commit()
    at.alter("Answers", status=False)
    for number in range(20):
        session.dialog(f"x{number}")
    session.commit()
    at.alter("Answers", status=True)
    session.send(far, "reply")
    session.commit()
    pass_steps(at, seconds=0)
    assert "Error" in session.receive_all("Answers")
    assert at.states()[far.hex()] == "ER"
    at.check()


def test_a_timer_that_is_held_leads_its_dialog_nowhere_else() -> None:
    """The target has sent nothing: the timer is no first message of the initiator."""
    at = Dialogs()
    session = at.session()
    handle = session.dialog("one")
    session.commit()
    session.timer(at.far_of(handle), 5)
    session.commit()
    at.alter("Answers", status=False)
    at.core.advance(6)
    route = b.BrokerCreate(kinds.ROUTE, "r", {"service": ANSWERS, "address": "QMB"})
    done(at.admin.do(route))
    at.alter("Answers", status=True)
    pass_steps(at, 3)
    assert session.receive_all("Answers") == ["DialogTimer", "one"]
    session.send(handle, "two")
    session.commit()
    assert session.receive_all("Answers") == ["two"]
    assert at.waiting() == []
    at.check()


@pytest.mark.parametrize("in_memory", [4, 1_000])
@pytest.mark.parametrize("before", [0, 1])
def test_messages_behind_a_page_of_those_that_wait_are_released(
    in_memory: int, before: int
) -> None:
    at, far = without_service(window_messages=in_memory)
    route = b.BrokerCreate(kinds.ROUTE, "r", {"service": ANSWERS, "address": "QMX"})
    done(at.admin.do(route))
    session = at.session()
    far.send(count=before)
    session.dialog(*numbered("a", 20))
    session.commit()
    far.send(count=5 - before)
    at.create(ANSWERS, "Answers")
    pass_steps(at)
    far.send()
    pass_steps(at)
    assert session.receive_all("Answers") == numbered("m", 6)
    at.check()


@pytest.mark.parametrize("steps", [0, 1, 30])
def test_the_target_hears_that_its_initiator_was_dropped_in_the_middle(steps: int) -> None:
    at = Dialogs()
    session = at.session()
    at.alter("Answers", status=False)
    session.dialog(*numbered("m", 9 * STEP))
    session.commit()
    at.alter("Answers", status=True)
    pass_steps(at, steps, seconds=0)
    done(at.drop(kinds.SERVICE, ASKS))
    pass_steps(at)
    found = session.receive_all("Answers")
    assert found[0] == "Error"
    assert found[1:] == numbered("m", len(found) - 1)
    received = len(found) - 1
    assert received == 9 * STEP if steps == 30 else STEP <= received < 9 * STEP
    assert list(at.states().values()) == ["ER"]
    at.check()


def test_a_queue_that_is_turned_off_and_on_in_the_middle_keeps_the_order() -> None:
    at, far = without_service(window_messages=4)
    far.send("b", 12)
    far.send("x", 30)
    far.send("b", 10)
    at.create(ANSWERS, "Answers")
    at.alter("Answers", status=False)
    pass_steps(at)
    far.send("b")
    at.alter("Answers", status=True)
    pass_steps(at, 60)
    found = at.session().receive_all("Answers")
    assert of("b", found) == numbered("b", 23)
    assert of("x", found) == numbered("x", 30)
    at.check()


def test_a_message_that_is_missing_holds_what_is_behind_it_until_it_is_there() -> None:
    at, far = without_service(window_messages=2)
    far.send(count=10)
    key = next(name for name in at.core.qm.queues if ";held" in name)
    topic = next(rows for (queue, _, _), rows in at.core.topics.items() if queue == key)
    gone = {seq: topic.pop(seq) for seq in list(topic)[4:5]}
    at.create(ANSWERS, "Answers")
    pass_steps(at)
    far.send()
    session = at.session()
    before = session.receive_all("Answers")
    assert before == numbered("m", len(before))
    rows = sorted((topic | gone).items())
    topic.clear()
    topic.update(rows)
    pass_steps(at, 70)
    assert before + session.receive_all("Answers") == numbered("m", 11)
    at.check()


def _set_back(at: Dialogs) -> None:
    at.core.step(-3_600)


def _leave(at: Dialogs) -> None:
    pass


@pytest.mark.parametrize("change", [_leave, _set_back])
def test_a_clock_that_is_set_back_delays_nothing(change: Callable[[Dialogs], None]) -> None:
    at, far = without_service()
    far.send(count=10)
    at.create(ANSWERS, "Answers")
    change(at)
    far.send()
    pass_steps(at)
    assert at.session().receive_all("Answers") == numbered("m", 11)


def _wait(_at: Dialogs) -> None:
    pass


CHANGES: list[Callable[[Dialogs], object]] = [
    lambda at: at.alter("Answers", status=False),
    lambda at: at.alter("Answers", status=True),
    lambda at: at.core.advance(0),
    lambda at: at.core.advance(1),
    lambda at: at.restart(),
    lambda at: at.restart(with_snapshot=True),
    _wait,
]


@given(st.randoms(use_true_random=False), st.sampled_from([2, 5, 1_000]))
@settings(max_examples=examples(60))
def test_whatever_happens_between_steps_each_dialog_keeps_its_order(
    draw: random.Random, in_memory: int
) -> None:
    at, far = without_service(window_messages=in_memory)
    sent = dict.fromkeys("abc", 0)
    is_there = False
    for _ in range(40):
        if draw.random() < 0.5:
            dialog, count = draw.choice("abc"), draw.randint(1, 4)
            far.send(dialog, count)
            sent[dialog] += count
        else:
            draw.choice(CHANGES)(at)
        if not is_there and draw.random() < 0.1:
            at.create(ANSWERS, "Answers")
            is_there = True
    if not is_there:
        at.create(ANSWERS, "Answers")
    at.alter("Answers", status=True)
    pass_steps(at, 60)
    found = at.session().receive_all("Answers")
    assert {dialog: of(dialog, found) for dialog in sent} == {
        dialog: numbered(dialog, count) for dialog, count in sent.items()
    }
    assert at.waiting() == []
    at.check()
