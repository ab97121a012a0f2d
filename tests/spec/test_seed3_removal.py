"""Seed 3, poison messages of Service Broker and how they are removed: S3.15-S3.39.

The steps of the removal are here one by one, each with the statement that the source names.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from uuid import UUID

import pytest

from adapter.servicebroker import (
    END_DIALOG,
    Row,
    ServiceBrokerError,
    Transaction,
)
from tests.support.broker_site import (
    EXPENSES,
    FORMS,
    BrokerSite,
    broker_site,
    error_of,
    rolled_back,
)

UNABLE = "Unable to process message."
WAIT_S = 20.0
CONVERSATION_NOT_FOUND = 8426


@pytest.fixture
def at() -> Iterator[BrokerSite]:
    with broker_site() as site:
        yield site


@pytest.fixture
def timed() -> Iterator[BrokerSite]:
    """With a clock that stands still until it is advanced."""
    with broker_site(clock="manual") as site:
        yield site


def texts(rows: list[Row]) -> list[str]:
    return [row.text for row in rows]


class Looking:
    """An inspection in a thread: RECEIVE TOP (1) of a conversation, with a timeout; rolled back."""

    def __init__(self, at: BrokerSite, handle: UUID, timeout_ms: int) -> None:
        self._arguments = at, handle, timeout_ms
        self.found: list[Row] | None = None
        self.error: ServiceBrokerError | None = None
        self._thread = threading.Thread(target=self._look)

    def _look(self) -> None:
        at, handle, timeout_ms = self._arguments
        with at.admin.transaction() as t:
            try:
                self.found = t.receive(
                    EXPENSES, top=1, conversation_handle=handle, timeout_ms=timeout_ms
                )
            except ServiceBrokerError as error:
                self.error = error
            t.rollback()

    def result(self) -> list[Row]:
        """Wait until it has come to an end."""
        self._thread.join(WAIT_S)
        assert not self._thread.is_alive()
        assert self.found is not None, self.error
        return self.found

    def start(self) -> None:
        self._thread.start()


@contextmanager
def looking(at: BrokerSite, handle: UUID, timeout_ms: int = 2_000) -> Iterator[Looking]:
    """Begin an inspection; the block begins when it waits."""
    one = Looking(at, handle, timeout_ms)
    one.start()
    at.await_waits(EXPENSES)
    yield one


def test_s3_15_an_application_learns_of_a_disabled_queue(at: BrokerSite) -> None:
    """S3.15: developers can write an application that detects that Service Broker disabled a queue:
    it waits for a message about that on a queue of its own."""
    at.notify(on_queue=EXPENSES)
    at.submit("poison")
    found: list[Row] = []
    waits = threading.Thread(
        target=lambda: found.extend(at.admin.receive("NoteQueue", timeout_ms=20_000))
    )
    waits.start()
    at.await_waits("NoteQueue")
    at.fail(EXPENSES, times=5)
    waits.join(WAIT_S)
    (row,) = found
    assert f"<ObjectName>{EXPENSES}</ObjectName>" in row.text
    assert row.validation == "X"


def test_s3_16_its_messages_can_be_looked_at_while_it_is_off(at: BrokerSite) -> None:
    """S3.16: such an application typically inspects the messages on the queue to find the poison
    message: they can be browsed while the queue is OFF, and stay as they are."""
    handle = at.submitted("poison", "behind it")
    at.submit("another")
    before = at.admin.browse(EXPENSES)
    at.fail(EXPENSES, times=5)
    assert not at.is_on()
    assert at.admin.browse(EXPENSES) == before == at.admin.browse(EXPENSES)
    assert [row.text for row in before if row.conversation_handle == handle] == [
        "poison",
        "behind it",
    ]


def test_s3_17_on_and_then_the_end_with_an_error(at: BrokerSite) -> None:
    """S3.17: after identifying the poison message it sets the status ON, then ends the conversation
    with an error: the queue is ON, the poison message gone, and the others can be received."""
    handle = at.submitted("poison", "behind it")
    at.submit("another")
    at.fail(EXPENSES, times=5)
    at.admin.alter_queue(EXPENSES, status=True)
    at.admin.end_conversation(handle, error=127, description=UNABLE)
    assert at.is_on()
    assert texts(at.program.receive(EXPENSES)) == ["another"]
    assert at.program.receive(EXPENSES) == []


def test_s3_17_in_the_other_order(at: BrokerSite) -> None:
    """S3.17: the conversation may also be ended while the queue is OFF; the queue stays OFF."""
    handle = at.submitted("poison")
    at.submit("another")
    at.fail(EXPENSES, times=5)
    at.admin.end_conversation(handle, error=127, description=UNABLE)
    assert (at.is_on(), at.texts()) == (False, ["another"])
    at.admin.alter_queue(EXPENSES, status=True)
    assert texts(at.program.receive(EXPENSES)) == ["another"]


def test_s3_17_what_came_while_it_was_off(at: BrokerSite) -> None:
    """S3.17: messages that were sent while the queue was OFF are in transmission, and are on it, in
    their order, when it is ON; those of the ended conversation are discarded."""
    form = at.submit("poison")
    handle = at.far_of(form)
    at.fail(EXPENSES, times=5)
    at.form.send(form, body="for nothing")
    at.submit("while OFF", "after it")
    assert at.texts() == ["poison"]
    assert len(at.admin.transmission_queue()) == 3
    at.admin.alter_queue(EXPENSES, status=True)
    at.admin.end_conversation(handle, error=127, description=UNABLE)
    assert texts(at.program.receive(EXPENSES)) == ["while OFF", "after it"]
    assert at.admin.transmission_queue() == []


def test_s3_22_s3_23_inspect_and_roll_back(at: BrokerSite) -> None:
    """S3.22: to inspect: begin a transaction, receive the body, display it, roll the transaction
    back. S3.23: rolling back is necessary until it is certain: the message is still present, and
    unchanged, after the inspection."""
    handle = at.submitted("the body")
    before = at.admin.browse(EXPENSES)
    transaction = at.admin.transaction()
    (row,) = transaction.receive(EXPENSES, top=1, conversation_handle=handle, timeout_ms=2_000)
    assert row.text == "the body"
    transaction.rollback()
    assert at.admin.browse(EXPENSES) == before
    assert texts(at.program.receive(EXPENSES)) == ["the body"]


def test_s3_22_a_lost_inspection_removes_nothing(at: BrokerSite) -> None:
    """S3.22, in a crash: an inspection whose program dies is rolled back, too, and counts as
    such."""
    at.submit("the body")
    session = at.manager.connect_servicebroker()
    assert len(session.transaction().receive(EXPENSES, top=1)) == 1
    session.close()
    assert (at.texts(), at.count()) == (["the body"], 1)
    assert texts(at.program.receive(EXPENSES)) == ["the body"]


def test_s3_24_only_of_one_conversation(at: BrokerSite) -> None:
    """S3.24: the example inspects messages of one conversation handle: messages of others, before
    and behind it, are ignored."""
    at.submit("before")
    handle = at.submitted("wanted", "and this")
    at.submit("behind")
    assert texts(at.program.receive(EXPENSES, conversation_handle=handle)) == ["wanted", "and this"]
    assert at.program.receive(EXPENSES, conversation_handle=handle) == []
    assert texts(at.program.receive(EXPENSES, conversation_handle=str(handle).upper())) == []
    assert at.texts() == ["before", "behind"]


def test_s3_24_a_handle_that_is_not_there(at: BrokerSite) -> None:
    """S3.24: the handle of the example, where there is no such conversation, or it is one of
    another queue, is refused, and not taken for an empty conversation."""
    form = at.submit("one")
    for handle in ("e29059bb-9922-40f4-a575-66b2e4c70cf9", form):
        with pytest.raises(ServiceBrokerError) as refused:
            at.program.receive(EXPENSES, conversation_handle=handle)
        assert refused.value.number == CONVERSATION_NOT_FOUND
        assert str(handle) in str(refused.value)


def test_s3_25_top_1(at: BrokerSite) -> None:
    """S3.25: RECEIVE TOP (1): at most one message at a time, and the next one after it."""
    handle = at.submitted("one", "two")
    with at.program.transaction() as t:
        assert texts(t.receive(EXPENSES, top=1, conversation_handle=handle)) == ["one"]
        assert texts(t.receive(EXPENSES, top=1, conversation_handle=handle)) == ["two"]
        assert t.receive(EXPENSES, top=1, conversation_handle=handle) == []


@pytest.mark.parametrize(
    ("validation", "body", "column"),
    [
        ("EMPTY", None, "E"),
        ("NONE", b"\x00\x01", "N"),
        ("WELL_FORMED_XML", "<report/>", "X"),
    ],
)
def test_s3_27_body_and_validation(
    at: BrokerSite, validation: str, body: bytes | str | None, column: str
) -> None:
    """S3.27: the sample reads message_body and validation: both columns are returned, the body as
    it was sent."""
    at.admin.create_message_type("//expenses/Report", validation=validation)
    at.admin.create_contract("//expenses/Contract", {"//expenses/Report": "ANY"})
    at.admin.create_service("//expenses/Other", EXPENSES, contracts=["//expenses/Contract"])
    with at.form.transaction() as t:
        handle = t.begin_dialog(
            "//expenses/Submission", "//expenses/Other", contract="//expenses/Contract"
        )
        t.send(handle, message_type="//expenses/Report", body=body)
    (row,) = at.program.receive(EXPENSES, top=1)
    sent = body.encode("utf-16-le") if isinstance(body, str) else body
    assert (row.message_body, row.validation) == (sent, column)


def held(at: BrokerSite) -> tuple[UUID, Transaction]:
    """Submit a report whose conversation a transaction of the program has received."""
    handle = at.submitted("held")
    transaction = at.program.transaction()
    assert texts(transaction.receive(EXPENSES, top=1, conversation_handle=handle)) == ["held"]
    return handle, transaction


def test_s3_28_the_holder_rolls_back_in_time(timed: BrokerSite) -> None:
    """S3.28: WAITFOR covers an application that is processing the message at that moment: the
    receive waits for its conversation group, and succeeds if it rolls back within the two
    seconds."""
    handle, holder = held(timed)
    with looking(timed, handle) as look:
        timed.manager.clock.advance(1.999)
        holder.rollback()
        assert texts(look.result()) == ["held"]
    assert timed.texts() == ["held"]


def test_s3_28_the_holder_commits(timed: BrokerSite) -> None:
    """S3.28: if the holder commits, there is no message: the receive ends with none when the two
    seconds are over, and not before."""
    handle, holder = held(timed)
    with looking(timed, handle) as look:
        timed.manager.clock.advance(1)
        holder.commit()
        timed.manager.clock.advance(0.999)
        timed.await_waits(EXPENSES)
        timed.manager.clock.advance(0.001)
        assert look.result() == []


def test_s3_28_the_holder_ends_the_conversation(timed: BrokerSite) -> None:
    """S3.28: if the holder ends the conversation and commits, there is no such conversation."""
    handle, holder = held(timed)
    with looking(timed, handle) as one:
        holder.end_conversation(handle)
        holder.commit()
        with pytest.raises(AssertionError, match=str(CONVERSATION_NOT_FOUND)):
            one.result()


def test_s3_28_s3_29_the_time_is_over(timed: BrokerSite) -> None:
    """S3.28: it does not succeed if the holder goes on for longer. S3.29: TIMEOUT 2000: when no
    message is available in two seconds the row count is 0, without any error."""
    handle, holder = held(timed)
    with looking(timed, handle) as look:
        timed.manager.clock.advance(2)
        assert look.result() == []
    holder.rollback()
    assert timed.texts() == ["held"]


def test_s3_28_what_waits_is_not_overtaken(timed: BrokerSite) -> None:
    """S3.28: another conversation can be received meanwhile, and a message of the held one that
    comes meanwhile is found when the holder has committed."""
    form = timed.submit("held")
    handle = timed.far_of(form)
    holder = timed.program.transaction()
    assert len(holder.receive(EXPENSES)) == 1
    timed.submit("another")
    with looking(timed, handle) as look:
        other = timed.manager.connect_servicebroker()
        assert texts(other.receive(EXPENSES)) == ["another"]
        other.close()
        timed.form.send(form, body="next")
        timed.await_waits(EXPENSES)
        holder.commit()
        assert texts(look.result()) == ["next"]


def test_s3_29_about_two_seconds(at: BrokerSite) -> None:
    """S3.29, in real time: the receive takes the time that was given, and no error comes."""
    handle = at.submitted("one")
    at.process()
    began_s = time.monotonic()
    assert at.admin.receive(EXPENSES, conversation_handle=handle, timeout_ms=300) == []
    assert 0.25 <= time.monotonic() - began_s < 2
    assert at.count() == 0


def test_s3_33_the_statement_of_the_source(at: BrokerSite) -> None:
    """S3.33: END CONVERSATION with error 127 and the description 'Unable to process message.' is
    accepted, code and text."""
    at.admin.end_conversation(at.submitted("poison"), error=127, description=UNABLE)
    (row,) = at.form.receive(FORMS)
    assert error_of(row) == (127, UNABLE)


@pytest.mark.parametrize(
    ("error", "description"),
    [(0, UNABLE), (-1, UNABLE), (2**31, UNABLE), (127, "x" * 3_001), (127, None), (None, UNABLE)],
)
def test_s3_33_what_is_refused(at: BrokerSite, error: int | None, description: str | None) -> None:
    """S3.33: codes that are not 1 to 2147483647, descriptions of more than 3,000 characters, and
    one without the other are refused, and nothing has ended."""
    handle = at.submitted("poison")
    with pytest.raises(Exception, match=r".") as refused:
        at.admin.end_conversation(handle, error=error, description=description)
    assert isinstance(refused.value, ValueError | ServiceBrokerError), refused.value
    assert (at.texts(), at.form.receive(FORMS)) == (["poison"], [])


@pytest.mark.parametrize(
    ("error", "description"), [(1, ""), (2**31 - 1, "x" * 3_000), (127, "ünable <&> \U0001f4a3")]
)
def test_s3_33_what_is_accepted(at: BrokerSite, error: int, description: str) -> None:
    """S3.33: the bounds, and any text: it comes to the other side as it was given."""
    at.admin.end_conversation(at.submitted("poison"), error=error, description=description)
    (row,) = at.form.receive(FORMS)
    assert error_of(row) == (error, description)


def test_s3_34_never_by_itself(at: BrokerSite) -> None:
    """S3.34: end a conversation only if its message cannot be processed by the normal procedure:
    the queue manager never ends one itself, also not when it disables the queue."""
    at.submit("poison")
    at.fail(EXPENSES, times=5)
    at.manager.restart()
    assert {one.state for one in at.admin.conversation_endpoints()} == {"CO"}
    assert (at.texts(), at.form.receive(FORMS)) == (["poison"], [])


def test_s3_35_all_its_messages_are_discarded(at: BrokerSite) -> None:
    """S3.35: when a conversation ends, all its messages are discarded, those that were received by
    the same transaction, too; other conversations, of the same group as well, are untouched."""
    first, second, other = (at.submitted(f"{n} one", f"{n} two") for n in "abc")
    group = at.admin.browse(EXPENSES)[0].conversation_group_id
    at.admin.move_conversation(second, group)
    with at.admin.transaction() as t:
        assert texts(t.receive(EXPENSES, top=1, conversation_handle=first)) == ["a one"]
        t.end_conversation(first, error=127, description=UNABLE)
    assert at.texts() == ["b one", "b two", "c one", "c two"]
    with pytest.raises(ServiceBrokerError) as refused:
        at.program.receive(EXPENSES, conversation_handle=first)
    assert refused.value.number == CONVERSATION_NOT_FOUND
    assert texts(at.program.receive(EXPENSES, conversation_handle=second)) == ["b one", "b two"]
    assert texts(at.program.receive(EXPENSES, conversation_handle=other)) == ["c one", "c two"]


def test_s3_35_an_end_that_is_rolled_back_discards_nothing(at: BrokerSite) -> None:
    """S3.35: the messages go with the commit: until then, and after a rollback, they are there."""
    handle = at.submitted("one", "two")
    with rolled_back(at.admin) as t:
        t.end_conversation(handle, error=127, description=UNABLE)
        assert at.texts() == ["one", "two"]
    assert (at.form.receive(FORMS), at.count()) == ([], 0)
    assert texts(at.program.receive(EXPENSES)) == ["one", "two"]


ENDS: list[Callable[[BrokerSite, UUID], None]] = [
    lambda at, handle: at.admin.end_conversation(handle, error=127, description=UNABLE),
    lambda at, handle: at.admin.end_conversation(handle),
    lambda at, handle: at.admin.end_conversation(handle, cleanup=True),
]


@pytest.mark.parametrize("end", ENDS, ids=["error", "plain", "cleanup"])
def test_s3_36_nothing_comes_to_the_queue_itself(
    at: BrokerSite, end: Callable[[BrokerSite, UUID], None]
) -> None:
    """S3.36: the application that normally processes the messages receives neither an EndDialog nor
    an Error message for that conversation."""
    end(at, at.submitted("poison"))
    assert at.admin.browse(EXPENSES) == []
    assert at.program.receive(EXPENSES) == []


def test_s3_37_state_is_for_the_one_who_ended_it(at: BrokerSite) -> None:
    """S3.37: so an application that keeps state must remove it after ending with an error: the duty
    is that of whoever ended the conversation, and the handle says which state that is."""
    states = {at.submitted(f"report {n}"): f"state of {n}" for n in range(2)}
    poison, other = states
    at.admin.end_conversation(poison, error=127, description=UNABLE)
    assert at.program.receive(EXPENSES)[0].conversation_handle == other
    assert set(states) == {poison, other}
    left = {one.conversation_handle for one in at.admin.conversation_endpoints()}
    assert [handle for handle in states if handle not in left] == [poison]


def test_s3_39_the_other_side_learns_of_it(at: BrokerSite) -> None:
    """S3.39: ending with an error tells the other participant that the task failed: its queue gets
    an Error message with 127 and the text, before anything else of that conversation. S3.38: a
    service that cannot process a message cannot complete the task of the conversation."""
    form = at.submit("poison")
    handle = at.far_of(form)
    at.program.send(handle, body="an answer")
    at.admin.end_conversation(handle, error=127, description=UNABLE)
    error, answer = at.form.receive(FORMS)
    assert error_of(error) == (127, UNABLE)
    assert (error.conversation_handle, error.service_name) == (form, "//expenses/Submission")
    assert answer.text == "an answer"
    with pytest.raises(ServiceBrokerError) as refused:
        at.form.send(form, body="more")
    assert refused.value.number == 8429
    at.form.end_conversation(form)
    assert at.admin.conversation_endpoints() == []


def test_s3_39_a_plain_end_is_no_error(at: BrokerSite) -> None:
    """S3.39: an end without an error sends EndDialog, in its order, and with cleanup nothing."""
    form = at.submit("done")
    handle = at.far_of(form)
    at.program.send(handle, body="an answer")
    at.program.end_conversation(handle)
    assert [row.message_type_name for row in at.form.receive(FORMS)] == ["DEFAULT", END_DIALOG]
    at.admin.end_conversation(at.submitted("gone"), cleanup=True)
    assert at.form.receive(FORMS) == []
