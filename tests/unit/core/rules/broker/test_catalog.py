"""Dropping objects: nothing that an endpoint needs goes before the endpoint."""

from collections.abc import Callable

import pytest

from adapter.core.attributes.broker import CONTRACT, PRIORITY, QUEUE, ROUTE, SERVICE
from adapter.core.contract import broker as b
from adapter.core.contract.commands import Command
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


NAMES: dict[str, Callable[[str], Command]] = {
    "created": lambda name: b.BrokerCreate(SERVICE, name, {"queue": "Asks"}),
    "far": lambda name: b.BrokerBegin(b"", b"h" * 16, ASKS, name, group=b"g" * 16),
    "of a route": lambda name: b.BrokerCreate(ROUTE, "r", {"service": name, "address": "QM2"}),
    "local": lambda name: b.BrokerCreate(PRIORITY, "p", {"local_service": name, "level": 7}),
    "remote": lambda name: b.BrokerCreate(PRIORITY, "p", {"remote_service": name, "level": 7}),
    "contract": lambda name: b.BrokerCreate(PRIORITY, "p", {"contract": name, "level": 7}),
}
"""Where programs name services, or a contract: by name."""


@pytest.mark.parametrize("name", ["a\nb", "a\0b", "\x1b[2Jx", "\x7f", "x" * 129, "a", "x" * 60])
def test_a_name_is_taken_wherever_an_object_of_that_name_can_be(name: str) -> None:
    at = Dialogs()
    session = at.session()
    bad = len(name) > 128 or any(one < " " or one == "\x7f" for one in name)
    for given in NAMES.values():
        command = given(name)
        answer = session.do(command) if isinstance(command, b.BrokerBegin) else at.admin.do(command)
        if bad:
            assert reason_of(answer) in (Reason.NAME_ERROR, Reason.ATTRIBUTE_ERROR)
        else:
            done(answer)
            if isinstance(command, b.BrokerCreate) and command.kind == PRIORITY:
                done(at.drop(PRIORITY, "p"))
    at.check()
