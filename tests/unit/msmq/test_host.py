"""Host: creating, finding and opening queues."""

import socket

import pytest

import adapter.testing
from adapter import msmq
from adapter.localkafka import free_port
from adapter.msmq import InvalidOperationError, MessageQueueErrorCode, MessageQueueException
from tests.support.msmq_site import MsmqSite, path


def code_of(error: pytest.ExceptionInfo[MessageQueueException]) -> MessageQueueErrorCode:
    return error.value.message_queue_error_code


def test_queues_are_created_and_deleted(at: MsmqSite) -> None:
    queue = at.home.create(r".\private$\Orders", transactional=True, label="x")
    assert (queue.transactional, queue.label) == (True, "x")
    assert at.home.exists(r"home\PRIVATE$\orders")
    assert not at.home.exists("*")
    with pytest.raises(MessageQueueException) as again:
        at.home.create(path("ORDERS"))
    assert code_of(again) is MessageQueueErrorCode.QUEUE_EXISTS
    for own in (None, ".", "home", "localhost"):
        assert [one.path for one in at.home.get_private_queues(own)] == [r"HOME\private$\Orders"]
    at.home.delete(path("orders"))
    assert not at.home.exists(path("orders"))
    assert at.home.get_private_queues() == []
    with pytest.raises(MessageQueueException) as missing:
        at.home.open(path("orders"))
    assert code_of(missing) is MessageQueueErrorCode.QUEUE_NOT_FOUND


def test_names_that_are_wrong(at: MsmqSite) -> None:
    for name in ("x", r".\private$\a+b", r".\private$\\", r".\private$\q;sub"):
        with pytest.raises(MessageQueueException):
            at.home.create(name)
    with pytest.raises(MessageQueueException) as unsupported:
        at.home.open("PUBLIC=0a0b0c0d-0000-0000-0000-000000000000")
    assert code_of(unsupported) is MessageQueueErrorCode.UNSUPPORTED_FORMATNAME_OPERATION
    with pytest.raises(InvalidOperationError):
        at.home.exists(r"DIRECT=OS:HOME\private$\q")


def test_several_queues_are_opened_for_sending(at: MsmqSite) -> None:
    one, other = at.create("one"), at.create("other")
    both = at.home.open(
        r"DIRECT=OS:.\private$\one,DIRECT=OS:HOME\private$\other", access=msmq.QueueAccessMode.SEND
    )
    both.send("x", label="1")
    assert [queue.receive(0).label for queue in (one, other)] == ["1", "1"]


def test_a_computer_without_a_queue_manager_reads_its_own_dead_letters(at: MsmqSite) -> None:
    at.create("plain")
    message = msmq.Message("x", label="lost", use_journal_queue=True)
    single = msmq.MessageQueueTransactionType.SINGLE
    at.open_away("plain").send(message, transaction=single)
    for name in (r".\SYSTEM$;DEADXACT", r"AWAY\SYSTEM$;JOURNAL"):
        with at.away.open(name, access=msmq.QueueAccessMode.RECEIVE) as queue:
            assert queue.count() == 1
            assert queue.receive(0).label == "lost"
    assert at.dead_letters(transactional=True) == []
    with pytest.raises(MessageQueueException) as refused:
        at.away.create(r".\private$\q")
    assert code_of(refused) is MessageQueueErrorCode.MACHINE_NOT_FOUND


def test_connecting_over_tcp() -> None:
    with (
        adapter.testing.queue_manager("TCP") as manager,
        msmq.connect(manager.address, computer="CLIENT") as host,
    ):
        assert (host.queue_manager, host.computer) == ("TCP", "CLIENT")
        host.create(r"TCP\private$\q").send("x")
        assert host.open(r"TCP\private$\q").receive(5).body == "x"
    assert host.is_closed


def test_no_queue_manager_is_there() -> None:
    with pytest.raises(MessageQueueException) as refused:
        msmq.connect(f"127.0.0.1:{free_port()}", connect_timeout_s=0.1)
    assert code_of(refused) is MessageQueueErrorCode.SERVICE_NOT_AVAILABLE


@pytest.mark.parametrize(
    "name",
    [
        r"DIRECT=TCP:127.0.0.1\private$\orders",
        r"FormatName:Direct=TCP:127.0.0.1\private$\orders",
        r"127.0.0.1\private$\orders",
        r"localhost\private$\orders",
        r"DIRECT=OS:localhost\private$\orders",
    ],
)
def test_finding_msmq_d10_this_machine_is_the_own_computer(at: MsmqSite, name: str) -> None:
    at.create().send("x")
    queue = at.home.open(name)
    assert queue.receive(0).body == "x"
    assert (queue.machine_name, at.home.exists(r"localhost\private$\orders")) == (".", True)


@pytest.mark.parametrize("own", ["Mini", "mini.example.com"])
@pytest.mark.parametrize("host", ["MINI", "mini.example.com", "DIRECT=OS:mini", "DIRECT=TCP:Mini"])
def test_finding_msmq_d10_the_name_of_this_machine_is_the_own_computer(
    at: MsmqSite, monkeypatch: pytest.MonkeyPatch, own: str, host: str
) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: own)
    monkeypatch.setattr(socket, "getfqdn", lambda: "mini.example.com")
    at.create().send("x")
    assert at.home.open(rf"{host}\private$\orders").receive(0).body == "x"
    if "=" not in host:
        assert [one.path for one in at.home.get_private_queues(host)] == [path("orders")]
    with pytest.raises(MessageQueueException) as other:
        at.home.open(r"mini.example.org\private$\orders", access=msmq.QueueAccessMode.RECEIVE)
    assert code_of(other) is MessageQueueErrorCode.MACHINE_NOT_FOUND


@pytest.mark.parametrize(
    "name",
    [
        r"DIRECT=XX:a\private$\b",
        "DIRECT=OS:a",
        r"DIRECT=SPX:1\private$\b",
        "FormatName:foo",
    ],
)
def test_finding_msmq_d10_bad_format_names_have_their_code(at: MsmqSite, name: str) -> None:
    with pytest.raises(MessageQueueException, match="invalid format name") as illegal:
        at.home.open(name)
    assert illegal.value.message_queue_error_code is MessageQueueErrorCode.ILLEGAL_FORMATNAME


def test_finding_msmq_api_codes_that_programs_name() -> None:
    codes = {code.name: code.value & 0xFFFF for code in MessageQueueErrorCode}
    wanted = {
        "PROPERTY": 0x02, "NO_DS": 0x13, "ILLEGAL_QUEUE_PROPERTIES": 0x3D,
        "INSUFFICIENT_PROPERTIES": 0x3F, "QUEUE_NOT_AVAILABLE": 0x4B, "DTC_CONNECT": 0x4C,
        "WRITE_NOT_ALLOWED": 0x65, "UNSUPPORTED_OPERATION": 0x6A,
    }  # fmt: skip
    assert wanted.items() <= codes.items()


def test_finding_msmq_d10_public_queues_are_not_created(at: MsmqSite) -> None:
    with pytest.raises(MessageQueueException, match="public queue") as public:
        at.home.create(r".\orders")
    assert code_of(public) is MessageQueueErrorCode.UNSUPPORTED_FORMATNAME_OPERATION


def test_a_path_may_have_a_sign_of_equality(at: MsmqSite) -> None:
    at.home.create(r".\private$\a=b")
    assert at.home.exists(r".\private$\a=b")
    assert not at.home.exists(r".\private$\direct=b")
    for name in (r"DIRECT=OS:.\private$\a=b", "PUBLIC=x", "multicast=x"):
        with pytest.raises(InvalidOperationError, match="format name"):
            at.home.exists(name)
