"""END CONVERSATION and savepoints: what is taken back is as if it had not been."""

from random import Random

import pytest

from adapter.core.attributes import broker as kinds
from adapter.core.contract import broker as b
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Refused
from tests.support.dialogs import ASKS, Dialogs, done

LENGTH = 100_000


def test_an_end_with_an_error_is_taken_back_with_what_it_left_unsent() -> None:
    at = Dialogs()
    session = at.session()
    handle = session.dialog("m1", "m2")
    session.save()
    session.end(handle, 9)
    session.return_to()
    session.send(handle, "m3")
    session.save("later")
    session.end(handle, 9)
    session.return_to()
    session.send(handle, "m4")
    session.commit()
    assert session.receive_all("Answers") == ["m1", "m2", "m4"]
    assert set(at.states().values()) == {"CO"}
    at.check()


def test_a_savepoint_gives_back_what_counts_for_the_size_of_a_transaction() -> None:
    at = Dialogs(unit_bytes=5 * LENGTH)
    session = at.session()
    handle = session.dialog("first")
    unit = at.core.qm.connections[session.client.number].units[session.unit]
    before = unit.weight, unit.held_bytes, at.core.qm.held.total
    for _ in range(20):
        session.save()
        session.send(handle, "x" * LENGTH)
        session.send(handle, "x" * LENGTH)
        session.return_to()
        session.save()
        session.send(handle, "x" * LENGTH)
        session.end(handle, 9)
        session.return_to()
        assert (unit.weight, unit.held_bytes, at.core.qm.held.total) == before
    session.end(handle, 9)
    session.rollback()
    assert at.core.qm.held.total == 0


def test_ends_with_an_error_leave_room_in_a_transaction() -> None:
    at = Dialogs(unit_bytes=3 * LENGTH)
    session = at.session()
    for _ in range(10):
        handle = session.dialog("x" * LENGTH, "x" * LENGTH)
        session.end(handle, 9)
    session.commit()
    at.check()


def test_a_savepoint_that_came_after_the_one_gone_back_to_is_gone() -> None:
    at = Dialogs()
    session = at.session()
    handle = session.dialog("one")
    session.save("a")
    session.timer(handle, 5)
    session.save("b")
    session.return_to("a")
    answer = session.do(b.BrokerRollbackTo(b"", "b"))
    assert isinstance(answer, Refused)
    assert Reason(answer.reason) is Reason.OBJECT_NOT_FOUND
    session.return_to("a")
    session.commit()
    assert [one.attributes["timer_ms"] for one in at.view(b.ENDPOINTS)] == [0, 0]


def test_an_end_with_cleanup_behind_a_savepoint_is_taken_back_and_an_end_before_it_is_not() -> None:
    at = Dialogs()
    session = at.session()
    handle = session.dialog("one")
    session.commit()
    session.end(handle)
    session.save()
    session.end(handle, cleanup=True)
    session.return_to()
    session.commit()
    assert sorted(at.states().values()) == ["DI"], "the target knows the end: this side is over"
    at.alter("Answers", status=False)
    handle = session.dialog("two")
    session.commit()
    session.end(handle)
    session.save()
    session.end(handle, cleanup=True)
    session.return_to()
    session.commit()
    assert at.states()[handle.hex()] == "DO"
    at.check()


@pytest.mark.parametrize("restarts", [False, True])
def test_an_endpoint_that_its_side_has_ended_is_in_no_group(restarts: bool) -> None:
    at = Dialogs()
    at.alter("Answers", status=False)
    session = at.session()
    handle = session.dialog("one")
    session.commit()
    session.end(handle)
    session.commit()
    if restarts:
        at.restart()
        session = at.session()
    assert at.view(b.GROUPS) == []
    session.end(handle, cleanup=True)
    at.alter("Answers", status=True)
    session.rollback()
    assert [one.attributes["queue"] for one in at.view(b.GROUPS)] == ["Answers"]
    done(at.drop("service", ASKS))
    done(at.drop("queue", "Asks"))
    at.check()


@pytest.mark.parametrize("begun_before", [False, True])
@pytest.mark.parametrize("bodies", [[], ["m0"], ["m0", "m1"]])
@pytest.mark.parametrize("to", ["answers", "missing"])
def test_an_error_instead_of_all_that_was_ever_sent_reaches_no_side(
    to: str, bodies: list[str], begun_before: bool
) -> None:
    at = Dialogs()
    done(at.admin.do(b.BrokerCreate(kinds.ROUTE, "r", {"service": "missing", "address": "QM9"})))
    session = at.session()
    handle = session.dialog(to=to)
    if begun_before:
        session.commit()
    session.send(handle, *bodies)
    session.end(handle, 5)
    session.commit()
    assert (at.states(), at.waiting()) == ({}, [])
    assert session.receive_all("Answers") == []
    at.check()


@pytest.mark.parametrize("seed", range(30))
def test_whatever_was_sent_and_dropped_the_numbers_have_no_gaps_and_all_leaves(seed: int) -> None:
    """The first message of a dialog has number 0; its route counts as it is when that leaves."""
    random, at = Random(seed), Dialogs()
    route = b.BrokerCreate(kinds.ROUTE, "r", {"service": "missing", "address": "QM9"})
    done(at.admin.do(route))
    session = at.session()
    for _ in range(4):
        handle = session.dialog(to="missing")
        for _ in range(random.randrange(4)):
            session.send(handle, "m")
            if random.random() < 0.3:
                session.save()
                session.end(handle, 5)
                session.return_to()
            elif random.random() < 0.5:
                session.commit()
        session.end(handle, random.choice((None, 5)))
        session.commit()
    numbers: dict[str, list[int]] = {}
    for row in at.view(b.TRANSMISSION):
        numbers.setdefault(row.attributes["conversation"], []).append(row.attributes["sequence"])
        assert "The route of service 'missing' leads to" in row.attributes["status"]
    assert all(found == list(range(len(found))) for found in numbers.values())
    done(at.drop(kinds.ROUTE, "r"))
    at.create("missing")
    at.core.advance(0)
    assert at.waiting() == []
    at.check()
