"""Dropping objects: nothing that an endpoint needs goes before the endpoint."""

import pytest

from adapter.core.attributes.broker import CONTRACT, QUEUE, SERVICE
from adapter.core.contract import broker as b
from adapter.core.contract.reasons import Reason
from adapter.core.contract.records import QueueDefined, QueueDeleted
from adapter.core.contract.results import Refused, Result
from adapter.core.model.broker_queue import key_of
from adapter.storage.format import entries
from tests.support.dialogs import ANSWERS, ASKS, Dialogs, done


def reason_of(answer: Result) -> Reason:
    assert isinstance(answer, Refused), answer
    return Reason(answer.reason)


def ended_dialog(at: Dialogs) -> bytes:
    """A dialog that its initiator has ended, and whose target does not know it."""
    at.alter("Answers", status=False)
    session = at.session()
    handle = session.dialog("one")
    session.commit()
    session.end(handle)
    session.commit()
    assert at.states() == {handle.hex(): "DO"}
    return handle


@pytest.mark.parametrize("restarts", [False, True])
def test_a_queue_is_not_dropped_under_an_endpoint_that_its_side_has_ended(restarts: bool) -> None:
    at = Dialogs()
    ended_dialog(at)
    at.create("other")
    altered = b.BrokerAlter(SERVICE, ASKS, {"queue": "Other"})
    done(at.admin.do(altered))
    if restarts:
        at.restart()
    assert reason_of(at.drop(QUEUE, "Asks")) is Reason.OBJECT_IN_USE
    at.check()
    at.alter("Answers", status=True)
    assert len(at.states()) == 1, "only the target's side is left"
    done(at.drop(QUEUE, "Asks"))
    at.check()


@pytest.mark.parametrize("kind", [SERVICE, CONTRACT])
def test_what_a_transaction_has_begun_a_dialog_with_is_not_dropped(kind: str) -> None:
    at = Dialogs()
    by_any = {"by_any": b.DEFAULT}
    done(at.admin.do(b.BrokerCreate(CONTRACT, "own", by_any)))
    session = at.session()
    done(session.do(b.BrokerBegin(b"", at.guid(), ASKS, ANSWERS, "own", group=at.guid())))
    name = ASKS if kind == SERVICE else "own"
    assert reason_of(at.drop(kind, name)) is Reason.OBJECT_IN_USE
    session.rollback()
    done(at.drop(kind, name))
    at.check()


@pytest.mark.parametrize("comes_back", [False, True])
def test_a_ledger_in_which_a_queue_was_dropped_under_an_endpoint_is_replayed(
    comes_back: bool,
) -> None:
    at = Dialogs()
    handle = ended_dialog(at)
    at.create("other")
    done(at.admin.do(b.BrokerAlter(SERVICE, ASKS, {"queue": "Other"})))
    queue = at.core.queue(key_of("Asks"))
    at.core.entries.append(entries.encode([QueueDeleted(queue.name)]))
    if comes_back:
        defined = QueueDefined(queue.name, queue.incarnation + 1, queue.describe())
        at.core.entries.append(entries.encode([defined]))
    at.restart()
    assert at.states() == {handle.hex(): "DO"}
    assert reason_of(at.drop(QUEUE, "Asks")) is Reason.OBJECT_IN_USE
    at.check()
    at.alter("Answers", status=True)
    session = at.session()
    assert session.receive_all("Answers") == ["one", "EndDialog"]
    assert handle.hex() not in at.states()
    done(at.drop(QUEUE, "Asks"))
    at.check()
