"""The table from core's reasons to MSMQ's error codes is total; errors keep what they say."""

import pickle
import re
from pathlib import Path

import pytest

from adapter import errors
from adapter.core.contract.reasons import Reason
from adapter.core.rules import msmq as msmq_rules
from adapter.errors.refusals import refusal
from adapter.msmq import (
    InvalidOperationError,
    MessageQueueErrorCode,
    MessageQueueException,
    MessageQueueTimeout,
)
from adapter.msmq.error_texts import TEXTS
from adapter.msmq.errors import CODES, as_msmq, translate


def test_every_reason_has_a_code() -> None:
    assert set(CODES) == set(Reason)


def test_every_refusal_of_a_command_of_msmq_has_its_words() -> None:
    rules = Path(msmq_rules.__file__).parent.glob("*.py")
    found = {name for one in rules for name in re.findall(r"Reason\.([A-Z_]+)", one.read_text())}
    assert found <= {reason.name for reason in TEXTS}
    assert len(found) > 20


@pytest.mark.parametrize("reason", TEXTS)
def test_a_text_names_the_queue_as_the_program_does(reason: Reason) -> None:
    found = translate(refusal(reason, "private$\\q", "a detail"), r".\private$\Q")
    assert isinstance(found, MessageQueueException)
    assert "private$\\q" not in found.text
    assert "(a detail): " in found.text
    assert TEXTS[reason].remedy in found.text
    several = translate(refusal(reason, "private$\\q"), r".\private$\A,.\private$\Q")
    assert r".\private$\A" not in str(several)


def test_codes_have_the_numbers_of_mq_h() -> None:
    assert all(code >> 16 == 0xC00E for code in MessageQueueErrorCode)
    assert MessageQueueErrorCode(0xC00E001B) is MessageQueueErrorCode.IO_TIMEOUT
    assert MessageQueueErrorCode(0xC00E0050) is MessageQueueErrorCode.TRANSACTION_USAGE


def test_an_error_names_code_and_queue() -> None:
    found = translate(refusal(Reason.QUEUE_NOT_FOUND, "private$\\orders"), r".\private$\orders")
    assert isinstance(found, MessageQueueException)
    assert found.message_queue_error_code is MessageQueueErrorCode.QUEUE_NOT_FOUND
    assert found.object_name == r".\private$\orders"
    assert str(found).endswith("[QUEUE_NOT_FOUND 0xC00E0003]")
    assert isinstance(found, errors.Error)


def test_a_timeout_is_a_timeout_error() -> None:
    error = MessageQueueTimeout("nothing came", "q")
    assert isinstance(error, TimeoutError)
    assert error.message_queue_error_code is MessageQueueErrorCode.IO_TIMEOUT


def test_errors_of_arguments_stay_what_they_are() -> None:
    for error in (errors.InvalidType("x"), errors.InvalidOption("x"), InvalidOperationError("x")):
        assert translate(error) is error
    with pytest.raises(ValueError, match="x"), as_msmq():
        raise errors.InvalidOption("x")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.ConnectionBroken("x"), MessageQueueErrorCode.SERVICE_NOT_AVAILABLE),
        (errors.QueueManagerNotAvailable("x"), MessageQueueErrorCode.SERVICE_NOT_AVAILABLE),
        (errors.ConnectionClosed("x"), MessageQueueErrorCode.OPERATION_CANCELLED),
        (errors.BackedOut("x"), MessageQueueErrorCode.TRANSACTION_SEQUENCE),
        (errors.LimitReached("x"), MessageQueueErrorCode.INSUFFICIENT_RESOURCES),
        (errors.UnexpectedAnswer("x"), MessageQueueErrorCode.GENERIC),
    ],
)
def test_errors_without_a_reason(error: errors.Error, code: MessageQueueErrorCode) -> None:
    found = translate(error)
    assert isinstance(found, MessageQueueException)
    assert found.message_queue_error_code is code


def test_an_unknown_outcome_names_the_transaction() -> None:
    found = translate(errors.InDoubt("no answer", "", bytes(range(24))))
    assert isinstance(found, MessageQueueException)
    assert found.transaction_id.startswith("00010203-0405-0607-0809-0a0b0c0d0e0f\\")


def test_errors_can_be_pickled() -> None:
    error = MessageQueueException(MessageQueueErrorCode.GENERIC, "text", "q", "id")
    for one in (error, MessageQueueTimeout("text", "q")):
        again = pickle.loads(pickle.dumps(one))
        assert (str(again), again.object_name) == (str(one), one.object_name)


@pytest.mark.parametrize("ident", ["", bytes(range(24)).hex()])
def test_a_lost_transaction_is_told_in_words_of_msmq(ident: str) -> None:
    lost = errors.BackedOut(f"unit {ident} was backed out: begin a new unit", ident)
    for error in (lost, errors.UnitEnded("the unit is ended: begin another unit")):
        found = translate(error)
        assert isinstance(found, MessageQueueException)
        assert found.message_queue_error_code is MessageQueueErrorCode.TRANSACTION_SEQUENCE
        assert "transaction" in found.text
        assert "unit" not in found.text
    assert ("00010203-0405-" in translate(lost).text) == bool(ident)


def test_an_unknown_outcome_at_another_computer_says_where_to_ask() -> None:
    found = translate(errors.InDoubt("no answer", "", bytes(range(24))), computer="SERVER")
    assert "outcome(transaction_id, computer='SERVER')" in found.text
