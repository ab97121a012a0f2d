"""Seed 3, the tools for poison messages: alerts, subscriptions, inspect() and remove_poison(), and
the command line: S3.14, S3.15, S3.18-S3.23, S3.25, S3.26, S3.30-S3.32, S3.37.
"""

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import UUID, uuid4

import msgspec
import pytest

from adapter.cli.main import run
from adapter.servicebroker import DEFAULT, Row, ServiceBrokerError
from adapter.servicebroker.inspection import BINARY, EMPTY, NO_MESSAGE, shown
from tests.support.backlog import until
from tests.support.broker_site import EXPENSES, FORMS, BrokerSite, broker_site, error_of

UNABLE = "Unable to process message."
WAIT_S = 20.0
REPORT = "//expenses/Report"


@pytest.fixture
def at() -> Iterator[BrokerSite]:
    with broker_site() as site:
        yield site


@pytest.fixture
def mqk(at: BrokerSite, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Run `mqk broker ARGUMENTS`, which must succeed; returns what it prints, and what it says."""

    def call(*arguments: str) -> str:
        capsys.readouterr()
        assert run(["broker", *arguments, "--qmgr", at.manager.address]) == 0
        out, err = capsys.readouterr()
        return out + err

    return call


def typed(at: BrokerSite, validation: str, body: str | bytes | None) -> UUID:
    """Submit a message of a type with this validation; returns the handle of ExpenseQueue."""
    at.admin.create_message_type(REPORT, validation=validation)
    at.admin.create_contract("//expenses/Contract", {REPORT: "ANY"})
    at.admin.create_service("//expenses/Other", EXPENSES, contracts=["//expenses/Contract"])
    with at.form.transaction() as t:
        handle = t.begin_dialog(
            "//expenses/Submission", "//expenses/Other", contract="//expenses/Contract"
        )
        t.send(handle, message_type=REPORT, body=body)
    return at.far_of(handle)


def test_s3_14_an_administrator_is_alerted(at: BrokerSite, tmp_path: Path) -> None:
    """S3.14: administrators can be notified of the disabling by alerts: a program of theirs is
    started, with the event and the queue."""
    program, notice = tmp_path / "alert", tmp_path / "notice"
    program.write_text(f'#!/bin/sh\necho "$1 $2" > {notice}.part\nmv {notice}.part {notice}\n')
    program.chmod(0o755)
    at.submit("poison")
    command = ["broker", "alerts", "--run", str(program), "--qmgr", at.manager.address]
    alerts = subprocess.Popen(
        [sys.executable, "-m", "adapter.cli", *command], stderr=subprocess.PIPE, text=True
    )
    try:
        assert alerts.stderr is not None
        assert "waiting for BROKER_QUEUE_DISABLED" in alerts.stderr.readline()
        at.fail(EXPENSES, times=5)
        until(notice.exists)
    finally:
        alerts.terminate()
        alerts.communicate(timeout=WAIT_S)
    assert notice.read_text() == f"BROKER_QUEUE_DISABLED {EXPENSES}\n"


def test_s3_15_a_program_subscribes(at: BrokerSite) -> None:
    """S3.15: developers can write an application that detects that Service Broker disabled a queue:
    a function of it is called once for each, with the queue's name."""
    named: list[str] = []
    called = threading.Event()

    def detect(event: object) -> None:
        named.append(getattr(event, "queue", ""))
        called.set()

    at.submit("poison")
    with at.admin.subscribe(detect):
        at.fail(EXPENSES, times=4)
        assert not called.is_set()
        at.fail(EXPENSES)
        assert called.wait(WAIT_S)
    assert named == [EXPENSES]


def test_s3_18_state_is_cleared_with_the_end(at: BrokerSite) -> None:
    """S3.18: on ending, the application must take care to clear any state associated with the
    conversation: a function of it is called with the handle, after the end; no state is left, and
    that of other conversations is untouched."""
    states = {at.submitted(f"report {n}"): f"state of {n}" for n in range(2)}
    poison, other = states
    at.fail(EXPENSES, times=5)

    def clear_state(handle: UUID) -> None:
        left = {one.conversation_handle for one in at.form.conversation_endpoints()}
        assert handle not in left
        del states[handle]

    removal = at.admin.remove_poison(
        EXPENSES, poison, error=127, description=UNABLE, clear_state=clear_state
    )
    assert list(states) == [other]
    assert removal.state_cleared
    assert "was not cleared" not in removal.report


def test_s3_19_s3_21_by_a_program(at: BrokerSite) -> None:
    """S3.19: most applications track and remove poison messages by program. S3.21: what it removed
    is shown, as it was before."""
    form = at.submit("poison", "behind it")
    at.submit("another")
    at.fail(EXPENSES, times=5)
    removal = at.admin.remove_poison(EXPENSES, at.far_of(form), error=127, description=UNABLE)
    assert removal.inspected is not None
    assert (removal.inspected.text, at.is_on()) == ("poison", True)
    assert "p\0o\0i" not in removal.report
    assert "poison" in removal.report
    assert [row.text for row in at.program.receive(EXPENSES)] == ["another"]
    (error,) = at.form.receive(FORMS)
    assert error_of(error) == (127, UNABLE)


def test_s3_19_s3_20_s3_21_by_an_administrator(at: BrokerSite, mqk: Callable[..., str]) -> None:
    """S3.19: manual removal is sometimes needed: there are commands. S3.20: they need no
    application that recovers, nor remove the state of one. S3.21: because a removal may interrupt
    an important conversation, the message is inspected before."""
    handle = str(at.submitted("poison", "behind it"))
    at.submit("another")
    at.fail(EXPENSES, times=5)
    assert "OFF" in mqk("queue", EXPENSES)
    assert "ON" in mqk("queue", EXPENSES, "--on")
    assert "poison" in mqk("inspect", EXPENSES, "--conversation", handle)
    assert at.texts() == ["poison", "behind it", "another"]
    mqk("end", handle, "--error", "127", "--description", UNABLE)
    assert at.texts() == ["another"]
    (error,) = at.form.receive(FORMS)
    assert error_of(error) == (127, UNABLE)


def test_s3_20_s3_37_state_that_is_left_is_reported(at: BrokerSite) -> None:
    """S3.20: a removal without a function that clears state removes the conversation all the same,
    and says that state is left to the operator. S3.37: the application itself receives nothing that
    would make it remove that state."""
    form = at.submit("poison")
    handle = at.far_of(form)
    removal = at.admin.remove_poison(EXPENSES, handle, error=127, description=UNABLE)
    assert not removal.state_cleared
    assert "state that applications keep for the conversation was not cleared" in removal.report
    assert [one.conversation_handle for one in removal.endpoints] == [form]
    assert at.program.receive(EXPENSES) == []


def test_s3_21_a_conversation_of_another_queue_is_not_removed(at: BrokerSite) -> None:
    """S3.21, the negative: what is not on the queue cannot be inspected before, and is not removed;
    the queue stays OFF."""
    form = at.submit("poison")
    at.fail(EXPENSES, times=5)
    for handle in (form, uuid4()):
        with pytest.raises(ServiceBrokerError, match=str(handle)):
            at.admin.remove_poison(EXPENSES, handle, error=127, description=UNABLE)
    assert (at.is_on(), at.texts()) == (False, ["poison"])


def test_s3_22_s3_23_s3_25_inspect_shows_and_rolls_back(at: BrokerSite) -> None:
    """S3.22: inspect() begins a transaction, receives the body, shows it and rolls the transaction
    back itself. S3.23: the message is present and unchanged after it. S3.25: it shows one message
    at most, the next one of the conversation."""
    at.submit("of another conversation")
    handle = at.submitted("<one>", "<two>")
    before = at.admin.browse(EXPENSES)
    found = at.admin.inspect(EXPENSES, handle)
    assert found.row is not None
    assert (found.row.text, found.row) == ("<one>", before[1])
    assert found.text == f"{BINARY}\n<one>"
    assert at.admin.browse(EXPENSES) == before
    assert found.rollback_count == at.count() == 1


def test_s3_22_an_inspection_does_not_disable_the_queue(at: BrokerSite) -> None:
    """S3.22, what it costs: an inspection rolls back and so counts: the one that would turn the
    queue OFF is refused, unless that is wanted."""
    handle = at.submitted("one")
    for _ in range(4):
        at.admin.inspect(EXPENSES, handle)
    with pytest.raises(ServiceBrokerError, match="OFF"):
        at.admin.inspect(EXPENSES, handle)
    assert (at.is_on(), at.count()) == (True, 4)
    assert at.admin.inspect(EXPENSES, handle, force=True).row is not None
    assert not at.is_on()


def figures(at: BrokerSite) -> tuple[int, int]:
    """Return how many units were committed, and how many are open."""
    counted = at.manager.statistics()
    return counted["commits"], counted["units"]


def found(at: BrokerSite, handle: UUID) -> str:
    return at.admin.inspect(EXPENSES, handle).text


def no_message(at: BrokerSite, handle: UUID) -> str:
    with at.program.transaction() as t:
        t.receive(EXPENSES, conversation_handle=handle)
        text = at.admin.inspect(EXPENSES, handle, timeout_ms=50).text
        t.rollback()
    return text


def no_conversation(at: BrokerSite, _: UUID) -> str:
    with pytest.raises(ServiceBrokerError):
        at.admin.inspect(EXPENSES, uuid4())
    return ""


def queue_is_off(at: BrokerSite, handle: UUID) -> str:
    at.admin.alter_queue(EXPENSES, status=False)
    with pytest.raises(ServiceBrokerError):
        at.admin.inspect(EXPENSES, handle)
    return ""


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (found, f"{BINARY}\nthe body"),
        (no_message, NO_MESSAGE),
        (no_conversation, ""),
        (queue_is_off, ""),
    ],
)
def test_s3_26_no_way_out_commits(
    at: BrokerSite, path: Callable[[BrokerSite, UUID], str], text: str
) -> None:
    """S3.26: every exit path of the sample rolls back and none removes anything: no transaction is
    committed, none stays open, and the message is on the queue."""
    handle = at.submitted("the body")
    before = figures(at)
    assert path(at, handle) == text
    assert figures(at) == before
    assert at.texts() == ["the body"]


def test_s3_30_an_empty_message(at: BrokerSite) -> None:
    """S3.30: for validation 'E' it prints "Empty message."."""
    handle = typed(at, "EMPTY", None)
    assert at.admin.inspect(EXPENSES, handle).text == EMPTY == "Empty message."


@pytest.mark.parametrize("body", ["<report/>", "<bericht>für \U0001f600</bericht>"])
def test_s3_31_xml_is_printed_as_unicode_text(
    at: BrokerSite, body: str, mqk: Callable[..., str]
) -> None:
    """S3.31: for validation 'X' it prints the body as Unicode text: it is UTF-16LE, with a byte
    order mark or without."""
    handle = typed(at, "WELL_FORMED_XML", body)
    found = at.admin.inspect(EXPENSES, handle)
    assert found.text == body
    assert found.row is not None
    assert found.row.message_body == body.encode("utf-16-le")
    assert body in mqk("inspect", EXPENSES, "--conversation", str(handle))


@pytest.mark.parametrize(
    ("body", "text"),
    [(b"\x00\x01\xff", "0x0001FF"), (b"plain", "plain"), ("als NVARCHAR", "als NVARCHAR")],
)
def test_s3_32_a_binary_message(at: BrokerSite, body: bytes | str, text: str) -> None:
    """S3.32: for validation 'N' it prints "No validation -- binary message:", then the body: as
    text if it is some, else as Transact-SQL writes binary values."""
    found = at.admin.inspect(EXPENSES, at.submitted(body))
    assert found.text == f"No validation -- binary message:\n{text}"
    assert found.row is not None
    assert found.row.message_type_name == DEFAULT


def test_s3_32_any_other_validation_prints_nothing(at: BrokerSite) -> None:
    """S3.32: any other value of validation prints nothing."""
    at.submit("one")
    (row,) = at.admin.browse(EXPENSES)
    assert row.validation == "N"
    other: Row = msgspec.structs.replace(row, validation="?")
    assert shown(other) == ""


def test_s3_29_no_message_available(at: BrokerSite, mqk: Callable[..., str]) -> None:
    """S3.29, what is printed: if no message is available in time, "No message available." is
    printed."""
    handle = at.submitted("one")
    at.process()
    looked = at.admin.inspect(EXPENSES, handle, timeout_ms=50)
    assert (looked.text, looked.row) == ("No message available.", None)
    arguments = ("inspect", EXPENSES, "--conversation", str(handle), "--timeout-ms", "50")
    assert mqk(*arguments).startswith("No message available.\n")
    assert at.count() == 0
