"""The context of a message is that of the connection, unless a put may say more and does."""

from typing import Any

import pytest

from adapter.core import inputs
from adapter.core.contract import commands as c
from adapter.core.contract.details import NO_DATE_TIME, Details
from adapter.core.contract.message import MessageData
from adapter.core.contract.parties import Party, Principal, Proof
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import PutDone
from adapter.core.contract.transmission import Transmission
from adapter.core.model.context import context_of
from adapter.core.mq_layouts.mqmd import FIELDS
from tests.support.core import Client, client_on

TOKEN = b"T" * 32
SAID: dict[str, Any] = {"user": "mallory", "application": "forged"}


def said() -> MessageData:
    """Return a message with everything that a client may say of itself."""
    details = Details(TOKEN, "identity", 28, "orig", put_date_time="2001020304050607")
    return MessageData(b"a", details=details, **SAID)


@pytest.fixture
def client() -> Client:
    one = client_on()
    party = Party("billing", Principal("ada", Proof.PASSWORD))
    one.core.give(inputs.Introduced(one.number, party))
    return one


def put(client: Client, message: MessageData, options: int = 0, context: int = 0) -> MessageData:
    """Put a message by handle 1, and get it."""
    answer = client.do(c.Put(1, [message], b"", options, context=context))
    assert isinstance(answer, PutDone), answer
    (got,) = client.take()
    return got.message


def reopen(client: Client, modes: int) -> None:
    client.do(c.Close(1))
    client.open(modes=c.INPUT | c.OUTPUT | modes)


@pytest.mark.parametrize("message", [MessageData(b"a"), MessageData(b"a", **SAID), said()])
def test_what_a_client_says_of_itself_is_not_believed(client: Client, message: MessageData) -> None:
    got = put(client, message)
    assert (got.user, got.application) == ("ada", "billing")
    assert got.details == (None if message.details is None else Details(appl_type=6))


def test_what_a_deferred_put_says_is_not_believed_either(client: Client) -> None:
    unit = client.begin()
    client.tell(c.Put(1, [said(), said()], unit, c.DEFERRED))
    client.do(c.Commit(unit))
    for _ in range(2):
        (got,) = client.take()
        assert (got.message.user, got.message.application) == ("ada", "billing")


def test_a_put_that_sets_the_context_is_believed(client: Client) -> None:
    assert context_of(put(client, said(), c.SET_CONTEXT), "QM1") == context_of(said(), "QM1")


def test_a_put_that_sets_the_identity_says_nothing_of_the_origin(client: Client) -> None:
    got = put(client, said(), c.SET_IDENTITY)
    assert (got.user, got.application) == ("mallory", "billing")
    assert got.details == Details(TOKEN, "identity", 6)
    got = put(client, said(), c.SET_ORIGIN)
    assert (got.user, got.application) == ("ada", "forged")
    assert got.details == Details(b"", "", 28, "orig", put_date_time="2001020304050607")


def test_no_context_is_none(client: Client) -> None:
    got = put(client, said(), c.NO_CONTEXT)
    none = Details(appl_type=0, put_date_time=NO_DATE_TIME)
    assert (got.user, got.application, got.details) == ("", "", none)
    assert put(client, MessageData(b"a"), c.NO_CONTEXT).details == none


def test_no_context_is_passed_as_none(client: Client) -> None:
    reopen(client, c.SET_CONTEXT | c.SAVE_CONTEXT)
    put(client, MessageData(b"a"), c.NO_CONTEXT)
    got = put(client, said(), c.PASS_CONTEXT, 1)
    none = Details(appl_type=0, put_date_time=NO_DATE_TIME)
    assert (got.user, got.application, got.details) == ("", "", none)


def test_only_who_asks_for_no_context_has_none(client: Client) -> None:
    """A priority that is too high is noted with the message, and changes nothing of its origin."""
    got = put(client, MessageData(b"a", priority=12))
    assert got.details == Details(appl_type=6, priority_asked=12)
    assert FIELDS["PutApplType"](MessageData()) == 6


@pytest.mark.parametrize(
    ("modes", "options", "reason"),
    [
        (0, c.SET_CONTEXT, Reason.NOT_OPEN_FOR_SET_ALL),
        (c.SET_IDENTITY, c.SET_CONTEXT, Reason.NOT_OPEN_FOR_SET_ALL),
        (c.PASS_CONTEXT, c.SET_IDENTITY, Reason.NOT_OPEN_FOR_SET_IDENTITY),
        (c.SET_IDENTITY, c.PASS_CONTEXT, Reason.NOT_OPEN_FOR_PASS_ALL),
        (c.PASS_IDENTITY, c.PASS_CONTEXT, Reason.NOT_OPEN_FOR_PASS_ALL),
        (c.SAVE_CONTEXT, c.PASS_IDENTITY, Reason.NOT_OPEN_FOR_PASS_IDENTITY),
        (c.SET_CONTEXT, c.PASS_CONTEXT, Reason.CONTEXT_HANDLE_ERROR),
        (c.PASS_IDENTITY, c.PASS_IDENTITY, Reason.CONTEXT_HANDLE_ERROR),
        (c.SET_CONTEXT, c.SET_CONTEXT | c.NO_CONTEXT, Reason.OPTIONS_ERROR),
        (c.SET_CONTEXT, c.SET_IDENTITY | c.PASS_ORIGIN, Reason.OPTIONS_ERROR),
    ],
)
def test_a_put_may_ask_for_what_its_queue_was_opened_for(
    client: Client, modes: int, options: int, reason: Reason
) -> None:
    reopen(client, modes)
    assert client.refused(c.Put(1, [said()], b"", options)) is reason


def test_the_context_of_what_was_got_is_passed(client: Client) -> None:
    reopen(client, c.SET_CONTEXT | c.SAVE_CONTEXT)
    asks = c.Put(1, [MessageData(b"b")], b"", c.PASS_CONTEXT, context=1)
    assert client.refused(asks) is Reason.CONTEXT_NOT_AVAILABLE
    put(client, said(), c.SET_CONTEXT)
    got = put(client, MessageData(b"b", user="eve"), c.PASS_CONTEXT, 1)
    assert context_of(got, "QM1") == context_of(said(), "QM1")
    got = put(client, MessageData(b"c"), c.PASS_IDENTITY, 1)
    assert (got.user, got.application) == ("mallory", "billing")
    assert got.details == Details(TOKEN, "identity", 6)


def test_a_get_that_waits_saves_the_context_too(client: Client) -> None:
    reopen(client, c.SET_CONTEXT | c.SAVE_CONTEXT)
    waiting = client.send(c.Get(1, wait_ms=-1))
    client.do(c.Put(1, [said()], b"", c.SET_CONTEXT))
    assert client.answer(waiting) is not None
    assert put(client, MessageData(b"b"), c.PASS_CONTEXT, 1).user == "mallory"


def test_a_publication_has_the_context_of_its_publisher(client: Client) -> None:
    client.do(c.Subscribe(10, "a", destination="Q"))
    client.do(c.OpenTopic(20, "a"))
    client.do(c.Put(20, [said()]))
    (got,) = client.take()
    assert (got.message.user, got.message.application) == ("ada", "billing")
    asks = c.Put(20, [said()], b"", c.SET_CONTEXT)
    assert client.refused(asks) is Reason.NOT_OPEN_FOR_SET_ALL
    client.do(c.OpenTopic(21, "a", modes=c.SET_CONTEXT))
    done = client.do(c.Put(21, [said()], b"", c.SET_CONTEXT))
    assert isinstance(done, PutDone)
    assert done.put_date_time == "2001020304050607"
    assert context_of(client.take()[0].message, "QM1") == context_of(said(), "QM1")


def test_the_origin_of_what_waits_to_be_sent_is_the_queue_manager() -> None:
    message = said()
    message.transmission = Transmission("Q", "QM2")
    found = context_of(message, "QM1")
    assert (found.user, found.application, found.appl_type) == ("mallory", "QM1", 7)
