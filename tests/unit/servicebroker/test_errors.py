"""Errors are in the words of Service Broker, with SQL Server's numbers."""

import re
from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest

from adapter import testing
from adapter.servicebroker import ServiceBroker, ServiceBrokerError


@pytest.fixture(scope="module")
def broker() -> Iterator[ServiceBroker]:
    with testing.queue_manager() as manager, manager.connect_servicebroker() as session:
        session.create_queue("Q")
        session.create_service("S", "Q", contracts=["DEFAULT"])
        yield session


CASES: list[tuple[Callable[[ServiceBroker], object], int, str]] = [
    (lambda b: b.create_queue(""), 0, "the name '' is not valid: a name has 1 to 128 characters"),
    (lambda b: b.create_queue("q"), 2714, "'q' exists: a queue of this name exists; choose"),
    (lambda b: b.drop_queue("Q"), 3716, "'Q' cannot be dropped: service S uses it"),
    (lambda b: b.create_contract("C", {"T": "ANY"}), 15151, "'T' is not found: a message type of"),
    (lambda b: b.create_contract("C", {"DEFAULT": "TARGET"}), 0, "C: by a contract the initiator"),
    (lambda b: b.begin_dialog("T", "S"), 8423, "'T' is not found: a service of this name"),
    (lambda b: b.begin_dialog("S", "S", contract="C"), 8425, "'C' is not found: a contract of"),
    (lambda b: b.send(uuid4(), message_type="T"), 8428, "'T' is not found: a message type of"),
    (lambda b: b.end_conversation(uuid4()), 8426, "is not found: check the handle"),
    (lambda b: b.receive("NONE"), 208, "queue NONE does not exist"),
    (lambda b: b.begin_dialog("S", "S", encryption=True), 0, "messages are not encrypted"),
    (
        lambda b: b.end_conversation(uuid4(), error=-1, description="no"),
        0,
        "error -1: it is 1 to 2147483647; negative ones are the system's own",
    ),
]


@pytest.mark.parametrize("number", range(len(CASES)))
def test_what_an_error_says(broker: ServiceBroker, number: int) -> None:
    fails, wanted, text = CASES[number]
    with pytest.raises(ServiceBrokerError, match=re.escape(text)) as raised:
        fails(broker)
    assert raised.value.number == wanted
    assert "MQRC" not in str(raised.value)
