"""What happens to an endpoint while a unit works with it stays, whatever the unit does."""

import pytest

from adapter.core import inputs
from adapter.core.contract import broker as b
from tests.support.dialogs import ASKS, Dialogs, done


def test_a_route_that_is_created_while_a_transaction_sends() -> None:
    at = Dialogs()
    known = inputs.QueueManagersKnown(frozenset({"QM2"}), {})
    at.core.take(at.core.give(known))
    session = at.session()
    handle = session.dialog("m0", to="far")
    session.commit()
    session.send(handle, "m1")
    done(at.admin.do(b.BrokerCreate("route", "r", {"service": "far", "address": "QM2"})))
    session.commit()
    session.send(handle, "m2")
    session.commit()
    assert at.waiting() == ["m0", "m1", "m2"]
    assert {one.name.split(" ")[0] for one in at.view(b.TRANSMISSION)} == {"QM2"}
    assert at.states() == {handle.hex(): "CO"}
    at.check()


@pytest.mark.parametrize("verb", ["send", "move"])
def test_a_timer_that_rings_beside_a_transaction_rings_once(verb: str) -> None:
    at = Dialogs()
    session = at.session()
    handle = session.dialog("one")
    session.timer(handle, 5)
    session.commit()
    if verb == "send":
        session.send(handle, "two")
    else:
        session.move(handle, at.guid())
    at.core.advance(6)
    session.commit()
    at.core.advance(6)
    assert session.receive_all("Asks") == ["DialogTimer"]
    at.check()


def test_no_timer_rings_behind_an_error_that_came_beside_the_transaction() -> None:
    at = Dialogs()
    session, other = at.session(), at.session()
    handle = session.dialog("one")
    session.commit()
    session.timer(handle, 5)
    other.end(at.far_of(handle), 9)
    other.commit()
    session.commit()
    at.core.advance(6)
    assert session.receive_all("Asks") == ["Error"]
    at.check()


def test_a_lifetime_that_is_over_beside_a_transaction_is_over_once() -> None:
    at = Dialogs()
    session = at.session()
    handle = session.dialog("one", lifetime_s=5)
    session.commit()
    session.timer(handle, 60)
    at.core.advance(6)
    session.commit()
    at.core.advance(60)
    assert session.receive_all("Asks") == ["Error"]
    at.check()


def test_an_endpoint_that_ceases_to_be_beside_its_cleanup_is_gone() -> None:
    at = Dialogs()
    at.alter("Answers", status=False)
    session = at.session()
    handle = session.dialog("one")
    session.commit()
    session.end(handle)
    session.commit()
    session.end(handle, cleanup=True)
    at.alter("Answers", status=True)
    session.commit()
    assert handle.hex() not in at.states()
    done(at.drop("service", ASKS))
    at.check()
