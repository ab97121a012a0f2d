"""Messages of a conversation's id that its far side has not sent: they reach no endpoint of it.

The id of a conversation is drawn by a program, and another one may know it.
"""

from itertools import product

import pytest

from adapter.core.attributes.broker import QUEUE, SERVICE
from adapter.core.contract import broker as b
from adapter.core.contract.reasons import Reason
from adapter.core.contract.records import ConversationSet
from adapter.core.contract.results import Refused
from adapter.storage.format import entries
from tests.support.dialogs import ANSWERS, ASKS, Afar, Dialogs, Session, done, of_initiator

OWN = "asks", ANSWERS, ""
"""From which service, for which one, and from which queue manager a conversation's messages are."""
OTHERS = [
    one
    for one in product((ASKS, "evil", "elsewhere"), (ANSWERS, "evil"), ("", "QMA", "QMB"))
    if one != OWN
]
TYPES = [b.DEFAULT, b.ERROR, b.END_DIALOG]


def begin(session: Session, handle: bytes, service: str, to: str) -> Reason | None:
    """Begin a dialog with a handle; returns why it is refused."""
    at = session.at
    answer = session.do(b.BrokerBegin(b"", handle, service, to, group=at.guid()))
    return Reason(answer.reason) if isinstance(answer, Refused) else None


def with_target_alone() -> tuple[Dialogs, bytes]:
    """A dialog whose initiator is gone."""
    at = Dialogs()
    at.create("evil")
    session = at.session()
    handle = session.dialog("one")
    session.commit()
    session.end(handle, cleanup=True)
    session.commit()
    assert handle not in at.core.qm.conversations.endpoints
    return at, handle


def test_the_id_of_a_conversation_that_has_an_endpoint_here_is_not_taken_again() -> None:
    at, handle = with_target_alone()
    session = at.session()
    assert begin(session, handle, "evil", "evil") is Reason.IDENTIFIER_ERROR
    session.rollback()
    assert at.session().receive_all("Answers") == ["one"]


def test_the_handle_that_another_transaction_has_begun_is_not_taken_again() -> None:
    at = Dialogs()
    at.create("evil")
    first, second = at.session(), at.session()
    handle = at.guid()
    assert begin(first, handle, ASKS, ANSWERS) is None
    assert begin(second, handle, "evil", ANSWERS) is Reason.IDENTIFIER_ERROR
    first.rollback()
    assert begin(second, handle, "evil", ANSWERS) is None
    second.save()
    other = at.guid()
    assert begin(second, other, "evil", ANSWERS) is None
    second.return_to()
    assert begin(first, other, ASKS, ANSWERS) is None
    first.rollback()
    second.commit()
    at.check()
    assert not at.core.qm.conversations.handles_begun


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("parties", OTHERS)
def test_only_the_far_side_reaches_an_endpoint(kind: str, parties: tuple[str, str, str]) -> None:
    at, handle = with_target_alone()
    (target,) = at.core.qm.conversations.endpoints.values()
    before = target.state
    source, service, queue_manager = parties
    header = of_initiator(
        handle,
        sequence=1,
        message_type=kind,
        service=service,
        from_service=source,
        from_queue_manager=queue_manager or "QMX",
    )
    Afar(at).say(header, "pay evil")
    assert target.state == before
    assert at.session().receive_all("Answers") == ["one"]
    at.check()


@pytest.mark.parametrize("is_first", [True, False])
def test_two_dialogs_of_one_id_that_come_from_two_queue_managers(is_first: bool) -> None:
    at = Dialogs()
    far = Afar(at)
    far.send("m")
    sequence = 0 if is_first else 1
    header = of_initiator(b"m".ljust(16), sequence=sequence, from_queue_manager="QMB")
    far.say(header, "pay evil")
    far.send("m")
    assert at.session().receive_all("Answers") == ["m0", "m1"]


def test_a_ledger_in_which_two_transactions_began_one_handle_leaves_no_count_behind() -> None:
    at = Dialogs()
    at.create("evil")
    session = at.session()
    handle = session.dialog("one")
    session.commit()
    state = at.core.qm.conversations.endpoints[handle].state
    taken = ConversationSet(
        *(handle, handle, at.guid(), "broker$\\evil", "evil", ANSWERS, "", b.DEFAULT, True, 5)
    )
    assert state.queue != taken.queue
    at.core.entries.append(entries.encode([taken]))
    at.restart()
    session = at.session()
    for one in list(at.core.qm.conversations.endpoints):
        session.end(one, cleanup=True)
    session.commit()
    for name in (ASKS, "evil"):
        done(at.drop(SERVICE, name))
        done(at.drop(QUEUE, name.capitalize()))
    at.check()
