"""Event notifications name queues that there are, as long as they are there."""

import pytest

from adapter.core.attributes import broker as kinds
from adapter.core.contract import broker as b
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Refused
from adapter.core.model.references import NOTIFIED
from tests.support.dialogs import Dialogs, done

NOTIFICATION = kinds.NOTIFICATION


def notify(at: Dialogs, name: str, queue: str, about: str = "", event: str = b.EVENTS[0]) -> None:
    attributes = {"event": event, "queue": queue, "object": about}
    done(at.admin.do(b.BrokerCreate(NOTIFICATION, name, attributes)))


def refused(answer: object) -> tuple[Reason, str]:
    assert isinstance(answer, Refused)
    return Reason(answer.reason), answer.detail


def site() -> Dialogs:
    at = Dialogs()
    for name in ("Notes", "Other"):
        done(at.admin.do(b.BrokerCreate(kinds.QUEUE, name)))
    return at


@pytest.mark.parametrize("attribute", ["queue", "object"])
def test_a_queue_that_is_not_there_is_refused(attribute: str) -> None:
    at = site()
    attributes = {"event": b.QUEUE_DISABLED, "queue": "Notes", "object": "Other"}
    command = b.BrokerCreate(NOTIFICATION, "n", attributes | {attribute: "Mistyped"})
    assert refused(at.admin.do(command))[0] is Reason.QUEUE_NOT_FOUND
    assert at.view(NOTIFICATION) == []


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("event", b.EVENTS)
@pytest.mark.parametrize("about", ["", "Other", "other"])
def test_a_queue_that_events_are_put_to_is_not_dropped(
    about: str, event: str, *, restarts: bool
) -> None:
    at = site()
    notify(at, "n", "dbo.notes", about, event)
    if restarts:
        at.restart(with_snapshot=True)
    reason, detail = refused(at.drop(kinds.QUEUE, "Notes"))
    assert reason is Reason.OBJECT_IN_USE
    assert detail == "event notification n puts events on it: drop that first"
    done(at.drop(NOTIFICATION, "n"))
    done(at.drop(kinds.QUEUE, "Notes"))
    assert not at.core.qm.references.find((NOTIFIED, "broker$\\notes"))
    at.check()


@pytest.mark.parametrize("event", b.EVENTS)
def test_the_notifications_of_a_queue_go_with_it(event: str) -> None:
    """And do not come to be of the next queue of its name."""
    at = site()
    notify(at, "of it", "Notes", "OTHER", event)
    notify(at, "of itself", "Other", "Other", event)
    notify(at, "of all", "Notes", "", event)
    done(at.drop(kinds.QUEUE, "Other"))
    assert [one.name for one in at.view(NOTIFICATION)] == ["of all"]
    at.check()
    at.restart()
    assert [one.name for one in at.view(NOTIFICATION)] == ["of all"]
