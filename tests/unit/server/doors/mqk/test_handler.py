"""One-way operations on the wire: what may come without a request number, and what ends with it."""

from collections.abc import Iterator

import pytest

from adapter import testing
from adapter.connection.wire import frames
from adapter.core.contract import commands as c
from adapter.core.contract.message import MessageData
from adapter.core.contract.reasons import Reason
from tests.support.raw_client import RawClient

SESSION = b"s" * 16
UNIT = SESSION + (1).to_bytes(8, "big")
MESSAGES = 4
PUT = c.Put(1, [MessageData(body=b"a")], UNIT, c.DEFERRED)


@pytest.fixture
def manager() -> Iterator[testing.TestQueueManager]:
    with testing.queue_manager() as manager:
        yield manager


@pytest.fixture
def client(manager: testing.TestQueueManager) -> Iterator[RawClient]:
    with manager.connect() as qm:
        qm.define_queue("Q", max_depth=2)
    with RawClient(manager.address) as client:
        client.hello()
        client.open_session(SESSION)
        client.ask(c.Open(1, "Q", c.INPUT | c.OUTPUT))
        yield client


def test_a_unit_of_deferred_puts_has_one_answer(client: RawClient) -> None:
    client.tell(c.Begin(UNIT), PUT, PUT)
    commit = client.request(c.Commit(UNIT), number=1)
    assert client.receive() == [4, [[commit, [1, 2, 0]]]]


def test_a_refusal_comes_with_the_commit(client: RawClient) -> None:
    client.tell(c.Begin(UNIT), PUT, PUT, PUT)
    refused = client.refused(c.Commit(UNIT), number=1)
    assert (refused.reason, refused.name) == (Reason.QUEUE_FULL, "Q")
    assert client.ask(c.Get(1), number=2) == [MESSAGES, [], 0, 0]


def test_more_one_way_operations_than_may_be_unanswered(client: RawClient) -> None:
    client.tell(c.Begin(UNIT, ahead=True))
    for _ in range(20):
        client.tell(*[c.Touch(UNIT)] * 1000)
    assert client.ask(c.Commit(UNIT), number=1)[0] == 1


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(c.Commit(UNIT), id="Commit"),
        pytest.param(c.Get(1, UNIT), id="Get"),
        pytest.param(c.Put(1, [MessageData()], UNIT), id="Put"),
        pytest.param(c.Put(1, [MessageData()], b"", c.DEFERRED), id="Put outside a unit"),
        pytest.param(c.AskConnections(), id="AskConnections"),
        pytest.param(frames.Stop(), id="Stop"),
        pytest.param(frames.AskServer(), id="AskServer"),
    ],
)
def test_what_is_answered_needs_a_request_number(client: RawClient, command: object) -> None:
    client.tell(command)
    refused = client.goodbye()
    assert refused.reason is Reason.MALFORMED_REQUEST
    name = type(command).__name__
    assert refused.detail == f"{name} needs a request number, because it is answered"


def test_a_one_way_operation_has_no_number_in_the_session(client: RawClient) -> None:
    client.send_frame([3, [[0, 1, PUT]], []])
    assert client.goodbye().reason is Reason.MALFORMED_REQUEST


def test_a_malformed_one_way_operation_ends_the_connection(client: RawClient) -> None:
    """Nobody would hear that it was refused: its unit must not be committed without it."""
    client.tell(c.Begin(UNIT), [5, 1, [[7]], UNIT, c.DEFERRED])
    client.request(c.Commit(UNIT), number=1)
    assert "malformed" in client.goodbye().detail
