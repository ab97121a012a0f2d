"""What a service takes: by contract, by type, by validity."""

from adapter.core.attributes import broker as kinds
from adapter.core.contract import broker as b
from adapter.core.contract.broker_header import BrokerHeader
from adapter.core.rules.broker import acceptance
from tests.support.dialogs import ANSWERS, Dialogs, done

SIGNAL, BY_SIGNALS = "signal", "signals"


def site() -> Dialogs:
    at = Dialogs()
    validated = {"validation": "EMPTY"}
    done(at.admin.do(b.BrokerCreate(kinds.MESSAGE_TYPE, SIGNAL, validated)))
    done(at.admin.do(b.BrokerCreate(kinds.CONTRACT, BY_SIGNALS, {"by_initiator": SIGNAL})))
    return at


def why_not(at: Dialogs, header: BrokerHeader, body: bytes = b"", *, is_new: bool) -> int:
    header.service = ANSWERS
    return acceptance.why_not(at.core.qm, header, body, int(is_new))[0]


def test_the_contract_counts_for_the_first_message_alone() -> None:
    at = site()
    header = BrokerHeader(message_type=SIGNAL, contract=BY_SIGNALS, from_initiator=True)
    assert why_not(at, header, is_new=True) == acceptance.NO_CONTRACT
    assert why_not(at, header, is_new=False) == 0


def test_a_side_that_does_not_send_the_type() -> None:
    header = BrokerHeader(message_type=SIGNAL, contract=BY_SIGNALS, from_initiator=False)
    assert why_not(site(), header, is_new=False) == acceptance.NOT_SENDABLE
    header = BrokerHeader(message_type="gone", contract=BY_SIGNALS, from_initiator=True)
    assert why_not(site(), header, is_new=False) == acceptance.NOT_SENDABLE


def test_a_body_that_is_not_valid_and_a_message_of_the_system() -> None:
    at = site()
    header = BrokerHeader(message_type=SIGNAL, contract=BY_SIGNALS, from_initiator=True)
    assert why_not(at, header, b"not empty", is_new=False) == acceptance.NOT_VALID
    ended = BrokerHeader(message_type=b.END_DIALOG, contract=BY_SIGNALS, from_initiator=True)
    assert why_not(at, ended, b"", is_new=True) == 0
