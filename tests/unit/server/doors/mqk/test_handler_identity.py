"""Who put a message is what the listener knows, whatever the bytes of a client say."""

from collections.abc import Iterator

import pytest

import adapter
from adapter import testing
from adapter.core.contract import commands as c
from adapter.core.contract import msmq as m
from adapter.core.contract.details import Details
from adapter.core.contract.message import MessageData
from adapter.core.contract.parties import ORIGIN_LENGTH_MAX
from adapter.core.contract.reasons import Reason
from adapter.core.model.broker_queue import PREFIX
from adapter.testing import TestQueueManager
from tests.support.broker_site import EXPENSES, broker_site
from tests.support.raw_client import RawClient

FORGED = MessageData(
    b"a",
    persistence=0,
    user="mallory",
    application="forged",
    details=Details(b"T" * 32, "identity", 28, "orig"),
)
PATH = ".\\private$\\orders"


@pytest.fixture
def manager() -> Iterator[TestQueueManager]:
    with testing.queue_manager() as one:
        yield one


@pytest.fixture
def raw(manager: TestQueueManager) -> Iterator[RawClient]:
    with RawClient(manager.address) as one:
        one.hello(user="ada")
        one.open_session(b"s" * 16)
        yield one


@pytest.fixture
def qm(manager: TestQueueManager) -> Iterator[adapter.Connection]:
    with manager.connect() as one:
        one.define_queue("Q")
        yield one


def got(qm: adapter.Connection) -> adapter.Message:
    message = qm.get("Q")
    assert message is not None
    return message


def test_a_client_that_writes_another_user_is_not_believed(
    raw: RawClient, qm: adapter.Connection
) -> None:
    raw.ask(c.Open(1, "Q", c.OUTPUT))
    raw.ask(c.Put(1, [FORGED]), number=1)
    raw.ask(c.Put(1, [MessageData(b"a", user="mallory", application="forged")]), number=2)
    found = [got(qm) for _ in range(2)]
    assert {(one.user, one.application) for one in found} == {("ada", "a test")}
    assert {one.details and one.details.appl_type for one in found} == {None, 6}
    assert Details(appl_type=6) in [one.details for one in found]


def test_a_client_that_asks_to_set_the_context_is_believed(
    raw: RawClient, qm: adapter.Connection
) -> None:
    raw.ask(c.Open(1, "Q", c.OUTPUT))
    refused = raw.refused(c.Put(1, [FORGED], b"", c.SET_CONTEXT), number=1)
    assert refused.reason is Reason.NOT_OPEN_FOR_SET_ALL
    raw.ask(c.Open(2, "Q", c.OUTPUT | c.SET_CONTEXT))
    raw.ask(c.Put(2, [FORGED], b"", c.SET_CONTEXT), number=2)
    message = got(qm)
    assert (message.user, message.application) == ("mallory", "forged")
    assert message.details == FORGED.details


def test_a_message_of_msmq_has_the_sender_too(manager: TestQueueManager, raw: RawClient) -> None:
    raw.ask(m.MsmqCreate(PATH), number=1)
    raw.ask(m.MsmqOpen(1, PATH, m.SEND_ACCESS))
    raw.ask(m.MsmqSend(1, FORGED), number=2)
    server = manager._server
    assert server is not None
    (stored,) = server.owner.term.qm.queues["private$\\orders"].in_order()
    assert (stored.message.user, stored.message.application) == ("ada", "a test")


def test_a_message_of_service_broker_has_the_sender_too() -> None:
    with broker_site() as at:
        at.form.end_conversation(at.submit("one"))
        server = at.manager._server
        assert server is not None
        queue = server.owner.term.qm.queues[PREFIX + EXPENSES.lower()]
        (party, *_) = {one.party.user for one in server.owner.term.qm.connections.values()}
        assert [one.message.user for one in queue.in_order()] == [party, party]
        assert party


def test_a_user_that_no_message_can_name_is_refused(manager: TestQueueManager) -> None:
    with RawClient(manager.address) as one:
        one.say_hello(user="u" * (ORIGIN_LENGTH_MAX + 1))
        assert one.goodbye().reason is Reason.NOT_AUTHORIZED
