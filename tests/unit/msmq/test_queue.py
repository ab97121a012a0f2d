"""MessageQueue: sending, moving, journals, properties, and what a closed queue answers."""

import socket
import threading
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from datetime import UTC
from typing import Any

import pytest

from adapter.core.contract.results import ComputerFound
from adapter.msmq import (
    AcknowledgeTypes,
    Acknowledgment,
    BytesFormatter,
    Message,
    MessageQueue,
    MessageQueueErrorCode,
    MessageQueueException,
    MessageQueueTimeout,
    MessageQueueTransaction,
    MessageReadPropertyFilter,
    MessageType,
    PeekAction,
    QueueAccessMode,
    XmlMessageFormatter,
)
from tests.support.msmq_site import MsmqSite, labels, path, send, send_together

WAIT_S = 20.0


def code_of(call: Any, *arguments: Any, **named: Any) -> MessageQueueErrorCode:
    """Return the code of the error that a call raises."""
    with pytest.raises(MessageQueueException) as raised:
        call(*arguments, **named)
    return raised.value.message_queue_error_code


def test_the_properties_of_a_queue_object(at: MsmqSite) -> None:
    at.create("orders")
    queue = at.home.open(path("Orders"), access=QueueAccessMode.PEEK)
    assert (queue.machine_name, queue.queue_name) == ("HOME", r"private$\orders")
    here = at.home.open(r".\private$\orders")
    assert here.machine_name == "."
    assert {one.format_name for one in (queue, here)} == {r"DIRECT=OS:HOME\private$\orders"}
    assert (queue.can_read, queue.can_write) == (True, False)
    assert (queue.access_mode, queue.deny_shared_receive) == (QueueAccessMode.PEEK, False)
    several = at.home.open(f"{path('orders')},{path('orders')}", access=QueueAccessMode.SEND)
    with pytest.raises(MessageQueueException):
        several.format_name  # noqa: B018 -- reading it is what is refused


def test_the_stored_properties_of_a_queue(at: MsmqSite) -> None:
    queue = at.create()
    began = queue.create_time
    assert began.tzinfo is UTC
    queue.base_priority = -5
    queue.category = guid = "0a1b2c3d-0000-0000-0000-00000000000a"
    assert (queue.base_priority, queue.category) == (-5, guid)
    assert queue.last_modify_time >= began
    for wrong in ("x", 5):
        with pytest.raises(ValueError, match="GUID"):
            queue.category = wrong  # type: ignore[assignment]
    queue.category = ""
    assert queue.category == ""
    queue.maximum_queue_size_kb = queue.INFINITE_QUEUE_SIZE


def test_a_queue_does_only_what_it_was_opened_for(at: MsmqSite) -> None:
    queue = at.create()
    send(queue, "1")
    denied = MessageQueueErrorCode.ACCESS_DENIED
    sends = at.open_home(access=QueueAccessMode.SEND)
    assert {code_of(call, 0) for call in (sends.receive, sends.peek)} == {denied}
    assert {code_of(call) for call in (sends.create_cursor, sends.purge)} == {denied}
    receives = at.open_home(access=QueueAccessMode.RECEIVE)
    assert code_of(receives.send, "x") is denied
    peeks = at.open_home(access=QueueAccessMode.PEEK)
    assert code_of(peeks.send, "x") is denied
    assert {code_of(peeks.receive, 0), code_of(peeks.purge)} == {denied}
    assert peeks.peek(0).label == receives.peek(0).label == "1"
    moves = at.home.open(path("orders;sub"), access=QueueAccessMode.MOVE)
    assert code_of(moves.receive, 0) is denied
    receives.move(receives.peek(0).lookup_id, moves)
    back = at.open_home(access=QueueAccessMode.MOVE)
    with at.home.open(path("orders;sub")) as sub:
        moves.move(sub.peek(0).lookup_id, back)
    assert labels(queue) == ["1"]


@pytest.mark.parametrize("part", ["sub", "journal"])
def test_what_is_not_sent_to_is_refused_when_it_is_opened(at: MsmqSite, part: str) -> None:
    at.create()
    opened = code_of(at.home.open, path(f"orders;{part}"), access=QueueAccessMode.SEND)
    assert opened is MessageQueueErrorCode.UNSUPPORTED_FORMATNAME_OPERATION


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("maximum_queue_size_kb", -1),
        ("maximum_queue_size_kb", 2**32),
        ("journal_quota_kb", True),
        ("label", 5),
        ("use_journal_queue", 1),
        ("base_priority", 2**15),
    ],
)
def test_an_invalid_property_is_named_as_the_program_names_it(
    at: MsmqSite, name: str, value: object
) -> None:
    queue = at.create()
    with pytest.raises((ValueError, TypeError), match=name):
        setattr(queue, name, value)


def test_a_peek_in_a_thread(at: MsmqSite) -> None:
    queue = at.create()
    waiting = queue.begin_peek(20)
    queue.send("x", label="x")
    assert waiting.result(20).label == "x"
    cursor = queue.create_cursor()
    queue.begin_peek(0, cursor=cursor).result(20)
    assert queue.begin_receive(0, cursor=cursor).result(20).message_type is MessageType.NORMAL


def test_values_are_sent_in_the_form_of_the_formatter(at: MsmqSite) -> None:
    queue = at.create()
    queue.default_properties_to_send.label = "default"
    queue.default_properties_to_send.app_specific = 7
    identifier = queue.send({"x": 1}["x"])
    queue.send(b"raw", label="own")
    first, second = queue.receive(0), queue.receive(0)
    assert (first.id, first.body, first.label, first.app_specific) == (identifier, 1, "default", 7)
    assert (second.body, second.label) == (b"raw", "own")
    queue.formatter = BytesFormatter()
    queue.send(b"x")
    assert queue.receive(0).body == b"x"


def test_a_message_knows_its_id_once_it_is_sent(at: MsmqSite) -> None:
    queue = at.create()
    message = Message("x")
    assert message.id == ""
    assert queue.send(message) == message.id != ""
    assert queue.peek(0).id == message.id


def test_a_discarded_message_has_no_id(at: MsmqSite) -> None:
    queue = at.create(transactional=True)
    assert queue.send("x") == ""


def test_a_timeout_is_in_seconds(at: MsmqSite) -> None:
    queue = at.create()
    for timeout in (0, 0.01):
        with pytest.raises(MessageQueueTimeout, match="orders"):
            queue.receive(timeout)
    for wrong in (-1, float("nan"), 2**40):
        with pytest.raises(ValueError, match="timeout"):
            queue.peek(wrong)
    with pytest.raises(TypeError):
        queue.peek("1")  # type: ignore[arg-type]


def test_closing_cancels_pending_reads(at: MsmqSite) -> None:
    queue = at.create()
    pending: list[Future[Message]] = [queue.begin_receive(), at.open_home().begin_receive(WAIT_S)]
    with at.manager.connect_msmq() as other:
        while at.waiting_reads() < 2:
            other.exists(path("orders"))
    queue.close()
    error = pending[0].exception(WAIT_S)
    assert isinstance(error, MessageQueueException)
    assert error.message_queue_error_code is MessageQueueErrorCode.OPERATION_CANCELLED
    assert code_of(queue.receive, 0) is MessageQueueErrorCode.INVALID_HANDLE
    send(at.open_home(), "1")
    assert pending[1].result(WAIT_S).label == "1"


def test_closing_the_host_cancels_pending_reads(at: MsmqSite) -> None:
    at.create()
    queue = at.open_away()
    pending = queue.begin_receive()
    at.away.close()
    error = pending.exception(WAIT_S)
    assert isinstance(error, MessageQueueException)
    assert not isinstance(error, CancelledError)
    assert error.message_queue_error_code is MessageQueueErrorCode.OPERATION_CANCELLED


def test_access_is_what_was_asked_for(at: MsmqSite) -> None:
    at.create()
    peeks = at.open_home(access=QueueAccessMode.PEEK)
    send(at.open_home(), "1")
    assert peeks.peek(0).label == "1"
    assert code_of(peeks.receive, 0) is MessageQueueErrorCode.ACCESS_DENIED


def test_deny_receive(at: MsmqSite) -> None:
    at.create().close()
    with at.open_home(deny_receive=True):
        assert code_of(at.open_home().receive, 0) is MessageQueueErrorCode.SHARING_VIOLATION
        send(at.open_home(), "sends are not denied")
    assert at.open_home().receive(0).label == "sends are not denied"


def test_reads_by_id_and_by_lookup_id(at: MsmqSite) -> None:
    queue = at.create()
    ids = [queue.send(Message("x", label=label)) for label in ("1", "2", "3")]
    assert queue.peek_by_id(ids[1]).label == "2"
    lookup = queue.peek_by_id(ids[1]).lookup_id
    assert queue.peek_by_lookup_id(lookup).label == "2"
    assert queue.receive_by_id(ids[1], timeout=0).label == "2"
    with pytest.raises(Exception, match="not on queue") as absent:
        queue.receive_by_id(ids[1])
    assert type(absent.value).__name__ == "InvalidOperationError"
    with pytest.raises(MessageQueueTimeout):
        queue.receive_by_id(ids[1], timeout=0)
    with pytest.raises(ValueError, match="GUID"):
        queue.peek_by_id("x")
    queue.send(Message("x", label="4", correlation_id=ids[0]))
    assert queue.receive_by_correlation_id(ids[0]).label == "4"
    assert labels(queue) == ["1", "3"]


def test_messages_move_to_subqueues_and_back(at: MsmqSite) -> None:
    queue = at.create(transactional=True)
    sent = send_together(at.home, queue, "1", "2")
    retry = at.open_home("orders;retry", access=QueueAccessMode.MOVE | QueueAccessMode.RECEIVE)
    first = queue.peek(0)
    transaction = MessageQueueTransaction(at.home)
    transaction.begin()
    queue.move(first.lookup_id, retry, transaction=transaction)
    transaction.abort()
    assert (labels(queue), labels(retry)) == (["1", "2"], [])
    with transaction:
        queue.move(queue.peek(0).lookup_id, retry, transaction=transaction)
    (moved,) = retry
    assert (moved.label, moved.move_count, moved.abort_count) == ("1", 1, 0)
    assert (moved.transaction_id, moved.is_first_in_transaction) == (sent, True)
    retry.move(moved.lookup_id, queue)
    assert labels(queue) == ["2", "1"]


def test_rejected_messages(at: MsmqSite) -> None:
    queue, administration = at.create(transactional=True), at.create("admin")
    with MessageQueueTransaction(at.home) as transaction:
        message = Message(
            "x",
            label="poison",
            administration_queue=administration,
            acknowledge_type=AcknowledgeTypes.FULL_RECEIVE,
            use_dead_letter_queue=True,
        )
        queue.send(message, transaction=transaction)
    with MessageQueueTransaction(at.home) as transaction:
        queue.mark_rejected(queue.receive(0, transaction=transaction))
        assert labels(administration) == []
    (acknowledgment,) = administration
    assert acknowledgment.acknowledgment is Acknowledgment.RECEIVE_REJECTED
    assert [one.label for one in at.dead_letters(transactional=True)] == ["poison"]
    assert code_of(queue.mark_rejected, Message()) is MessageQueueErrorCode.TRANSACTION_USAGE


def test_properties_of_a_queue(at: MsmqSite) -> None:
    queue = at.create(transactional=True)
    assert (queue.transactional, queue.label, queue.use_journal_queue) == (True, "", False)
    queue.label, queue.use_journal_queue = "all orders", True
    queue.maximum_queue_size_kb, queue.journal_quota_kb = 100, 200
    at.manager.restart()
    again = at.open_home()
    assert (again.label, again.use_journal_queue) == ("all orders", True)
    assert (again.maximum_queue_size_kb, again.journal_quota_kb) == (100, 200)
    assert code_of(setattr, queue, "label", "x" * 200) is (
        MessageQueueErrorCode.ILLEGAL_PROPERTY_VALUE
    )


def test_a_journal_has_what_was_received(at: MsmqSite) -> None:
    queue = at.create()
    queue.use_journal_queue = True
    send(queue, "1", "2")
    queue.receive(0)
    with at.open_home("orders;journal", access=QueueAccessMode.RECEIVE) as journal:
        assert labels(journal) == ["1"]


def test_purge(at: MsmqSite) -> None:
    queue = at.create(transactional=True)
    send_together(at.home, queue, "1", "2", "3")
    transaction = MessageQueueTransaction(at.home)
    transaction.begin()
    queue.receive(0, transaction=transaction)
    assert queue.purge() == 2
    transaction.commit()
    assert queue.count() == 0


def test_a_queue_that_is_deleted(at: MsmqSite) -> None:
    queue = at.create()
    send(queue, "1")
    queue.peek(0)
    at.home.delete(queue.path)
    assert code_of(queue.receive, 0) is MessageQueueErrorCode.QUEUE_DELETED
    assert code_of(at.open_away) is MessageQueueErrorCode.QUEUE_NOT_FOUND
    assert code_of(lambda: queue.transactional) is MessageQueueErrorCode.QUEUE_NOT_FOUND


def test_a_lost_connection_is_made_again(at: MsmqSite) -> None:
    queue = at.create()
    send(queue, "1")
    at.manager.crash()
    at.manager.start()
    send(queue, "2")
    assert labels(queue) == ["1", "2"]


def test_threads_that_use_a_queue_first_at_once_open_it_once(at: MsmqSite) -> None:
    queue = at.create()
    send(queue, "x")
    with at.manager.connect() as admin, ThreadPoolExecutor(6) as threads:
        before = len(admin.open_handles())
        for _ in range(5):
            begun = threading.Barrier(6)
            shared = at.home.open(queue.path)

            def look(_: int, shared: MessageQueue = shared, at: threading.Barrier = begun) -> str:
                at.wait(WAIT_S)
                cursor = shared.create_cursor()
                at.wait(WAIT_S)
                return shared.peek(0, cursor=cursor).label

            assert list(threads.map(look, range(6))) == ["x"] * 6
            shared.close()
        assert len(admin.open_handles()) == before


def test_threads_share_a_queue(at: MsmqSite) -> None:
    queue = at.create()
    found: list[str] = []
    readers = [threading.Thread(target=lambda: found.append(queue.receive(WAIT_S).label))] * 1
    readers += [threading.Thread(target=lambda: found.append(queue.receive(WAIT_S).label))]
    for reader in readers:
        reader.start()
    send(queue, "1", "2")
    for reader in readers:
        reader.join(WAIT_S)
    assert sorted(found) == ["1", "2"]


HANDLES_MAX = 256


def test_finding_msmq_d2_queue_objects_that_are_gone_give_their_handles_back(at: MsmqSite) -> None:
    queue = at.create()
    for number in range(HANDLES_MAX + 50):
        at.open_home().send("x", label=str(number))
        assert at.open_home(access=QueueAccessMode.RECEIVE).receive(0).label == str(number)
    assert at.home.channel.statistics()["handles"] < 10
    at.open_home(deny_receive=True)
    assert queue.count() == 0
    at.open_away(access=QueueAccessMode.RECEIVE).close()  # nobody denies it any more


def test_finding_msmq_d2_a_transaction_outlives_the_objects_that_it_used(at: MsmqSite) -> None:
    queue = at.create(transactional=True)
    done = at.create("done", transactional=True)
    send_together(at.home, queue, "1", "2")
    with MessageQueueTransaction(at.home) as transaction:
        got = at.open_home(access=QueueAccessMode.RECEIVE).receive(0, transaction=transaction)
        at.open_home("done").send(Message(label=got.label), transaction=transaction)
        assert queue.count() == 1
    with MessageQueueTransaction(at.home) as transaction:
        at.open_home(access=QueueAccessMode.RECEIVE).receive(0, transaction=transaction)
        assert queue.count() == 0
        transaction.abort()
    assert (labels(queue), labels(done)) == (["2"], ["1"])


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("maximum_queue_size", "did you mean maximum_queue_size_kb?"),
        ("MaximumJournalSize", "did you mean journal_quota_kb?"),
        ("authenticate", "neither signed nor encrypted"),
        ("multicast_address", "no multicast"),
        ("formater", "did you mean formatter?"),
    ],
)
def test_finding_msmq_d4_a_queue_has_no_other_properties(
    at: MsmqSite, name: str, hint: str
) -> None:
    queue = at.create()
    with pytest.raises(AttributeError) as wrong:
        setattr(queue, name, 1)
    assert hint in str(wrong.value)
    with pytest.raises(AttributeError, match="use_encryption"):
        setattr(queue.default_properties_to_send, "use_encryption", True)  # noqa: B010


def test_a_queue_that_denies_receiving_to_others_moves_its_messages(at: MsmqSite) -> None:
    at.create("orders")
    queue = at.open_home("orders", deny_receive=True)
    subqueue = at.open_home("orders;sub", access=QueueAccessMode.MOVE)
    send(queue, "1")
    queue.move(queue.peek(0).lookup_id, subqueue)
    reader = at.open_away("orders")
    assert code_of(reader.receive, 0) is MessageQueueErrorCode.SHARING_VIOLATION


def test_what_a_queue_reads_and_sends_with_is_checked_when_it_is_set(at: MsmqSite) -> None:
    queue = at.create()
    send(queue, "1")
    wrong = {
        "formatter": (5, "x", XmlMessageFormatter),
        "message_read_property_filter": (None, True, MessageReadPropertyFilter),
        "default_properties_to_send": (None, "x", Message),
    }
    for name, values in wrong.items():
        before = getattr(queue, name)
        for value in values:
            with pytest.raises(TypeError, match=name):
                setattr(queue, name, value)
        assert getattr(queue, name) is before
    queue.formatter = None
    assert queue.receive(0).body == "1"


def test_a_receive_fails_only_before_it_removes(at: MsmqSite) -> None:
    class Wrong(MessageReadPropertyFilter):
        def unread(self) -> frozenset[str]:
            raise LookupError

    queue = at.create()
    send(queue, "1")
    queue.message_read_property_filter = Wrong()
    with pytest.raises(LookupError):
        queue.receive(0)
    assert queue.count() == 1


def test_next_is_behind_a_cursor(at: MsmqSite) -> None:
    queue = at.create()
    send(queue, "1", "2")
    with pytest.raises(ValueError, match="cursor"):
        queue.peek(0, action=PeekAction.NEXT)
    assert queue.peek(0, action=PeekAction.CURRENT).body == "1"


def test_names_of_the_own_machine_in_a_message_and_in_lists(at: MsmqSite) -> None:
    """The acknowledgments and the messages come where a dot would lead them."""
    one, other, acks = at.create("one"), at.create("other"), at.create("acks")
    names = r"localhost\private$\one,DIRECT=TCP:127.0.0.1\private$\other"
    with at.home.open(names, access=QueueAccessMode.SEND) as both:
        both.send(
            Message(
                "x",
                administration_queue=r"localhost\private$\acks",
                response_queue=one,
                acknowledge_type=AcknowledgeTypes.FULL_REACH_QUEUE,
            )
        )
    assert (one.count(), other.count(), acks.count()) == (1, 1, 2)
    assert one.receive(0).administration_queue == r".\private$\acks"


def test_the_names_of_a_queue_of_mq(at: MsmqSite) -> None:
    with at.manager.connect() as connection:
        connection.define_queue("MSMQ.RESULTS")
    queue = at.home.open(r".\MSMQ.RESULTS", access=QueueAccessMode.SEND)
    assert queue.format_name == r"DIRECT=OS:HOME\MSMQ.RESULTS"
    for name in (queue.format_name, rf"{queue.machine_name}\{queue.queue_name}"):
        at.home.open(name, access=QueueAccessMode.SEND).send(b"x")
    with pytest.raises(MessageQueueException, match="a queue of MQ has no properties of MSMQ"):
        queue.count()


def test_the_name_of_this_machine_in_messages_is_looked_up_once(
    at: MsmqSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "thismachine")
    asked: list[str] = []
    locate = at.home.computers.locate

    def note(computer: str) -> ComputerFound:
        asked.append(computer)
        return locate(computer)

    monkeypatch.setattr(at.home.computers, "locate", note)
    queue, acks = at.create(), at.create("acks")
    for _ in range(3):
        send(
            queue,
            "1",
            administration_queue=r"ThisMachine\private$\acks",
            acknowledge_type=AcknowledgeTypes.FULL_REACH_QUEUE,
        )
    assert acks.count() == 3
    assert asked.count("ThisMachine") == 1
