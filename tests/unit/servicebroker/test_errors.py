"""Errors are in the words of Service Broker, with SQL Server's numbers."""

import copy
import pickle
import re
from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapter import testing
from adapter.core.contract.reasons import Reason
from adapter.errors import DeadlockVictim, Error
from adapter.servicebroker import ERROR, ServiceBroker, ServiceBrokerError, TransactionRolledBack
from adapter.servicebroker.errors import InvalidArgument, InvalidArgumentType, as_broker
from tests.support.examples import examples


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
    (
        lambda b: b.create_contract("C", {"DEFAULT": "TARGET"}),
        8492,
        "C: by a contract the initiator",
    ),
    (lambda b: b.begin_dialog("T", "S"), 8423, "'T' is not found: a service of this name"),
    (lambda b: b.begin_dialog("S", "S", contract="C"), 8425, "'C' is not found: a contract of"),
    (lambda b: b.send(uuid4(), message_type="T"), 8428, "'T' is not found: a message type of"),
    (lambda b: b.end_conversation(uuid4()), 8426, "is not found: check the handle"),
    (lambda b: b.receive("NONE"), 208, "queue 'NONE' does not exist: create it, or check the name"),
    (lambda b: b.receive("N" * 4_000), 208, f"queue '{'N' * 128}...' does not exist"),
    (
        lambda b: b.create_queue("N" * 4_000),
        0,
        f"the name '{'N' * 128}...' is not valid: a name has",
    ),
    (
        lambda b: b.create_route("R", service="S", address="a b"),
        0,
        "the name 'a b' is not valid: the address of a route is the name of a queue manager, or",
    ),
    (
        lambda b: b.create_broker_priority("P", 11),
        33302,
        "P: level takes 1 to 10, not 11",
    ),
    (
        lambda b: b.send(b.begin_dialog("S", "S"), message_type=ERROR),
        8431,
        "is a type of system messages, which programs do not send; send one that the contract has",
    ),
    (
        lambda b: b.end_conversation(uuid4(), error=2**31, description="no"),
        0,
        "error 2147483648: it is 1 to 2147483647",
    ),
    (
        lambda b: b.end_conversation(uuid4(), error=1, description="x" * 3_001),
        0,
        "a description has at most 3000 characters",
    ),
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
    assert "documentation of the verb" not in str(raised.value)


ARGUMENTS: list[tuple[Callable[[ServiceBroker], object], str]] = [
    (lambda b: b.receive("Q", timeout_ms=2**31), "timeout_ms is -1 to 2147483647, not 2147483648"),
    (lambda b: b.receive("Q", timeout_ms=-2), "timeout_ms is -1 to 2147483647, not -2"),
    (lambda b: b.receive("Q", top=0), "top is 1 to 2147483647, not 0"),
    (lambda b: b.begin_dialog("S", "S", lifetime_s=0), "lifetime_s is 1 to 2147483647, not 0"),
    (lambda b: b.begin_conversation_timer(uuid4(), 0), "timeout_s is 1 to 2147483647, not 0"),
    (lambda b: setattr(b, "lock_timeout_ms", -2), "lock_timeout_ms is -1 to 2147483647, not -2"),
    (lambda b: b.send(None), "a handle is a UUID or a str, not None"),  # type: ignore[arg-type]
    (lambda b: b.send(5), "a handle is a UUID or a str, not 5"),  # type: ignore[arg-type]
    (lambda b: b.send(b"x" * 16), "a handle is a UUID or a str, not b'x"),  # type: ignore[arg-type]
    (lambda b: b.send(""), "'' is not a GUID"),
    (lambda b: b.create_contract("C", ["T"]), "message_types maps"),  # type: ignore[arg-type]
    (lambda b: b.create_queue("X", activation="x"), "not 'x'"),  # type: ignore[arg-type]
    (lambda b: b.create_service("X", "Q", contracts=5), "not the int"),  # type: ignore[arg-type]
    (lambda b: b.end_conversation(uuid4(), error=5), "an error code and its description go"),
]


ENDINGS = (
    "a contract of this name does not exist",
    " send at least one message type",
    " the target does not send messages of this type",
)
PIECES = (" (", ")", "(old)", " characters)", "S", "{name}", " ", "8425", ": ", "'", *ENDINGS)
NAMES = (
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=4)
    .map("".join)
    .filter(lambda one: len(one) <= 60 and one != "S")
)


@settings(max_examples=examples(50))
@given(name=NAMES)
def test_an_error_is_the_same_whatever_name_it_is_about(name: str) -> None:
    with testing.queue_manager() as manager, manager.connect_servicebroker() as b:

        def fails(statement: Callable[[], object]) -> tuple[int, str]:
            with pytest.raises(ServiceBrokerError) as refused:
                statement()
            return refused.value.number, refused.value.text

        exists = f"{name!r} exists: a service of this name exists; choose another name, or"
        missing = f"{name!r} is not found: a KIND of this name does not exist; create it, or check"
        b.create_queue("Q")
        b.create_service("S", "Q")
        for statement, wanted, kind in (
            (lambda: b.begin_dialog(name, "S"), 8423, "service"),
            (lambda: b.drop_service(name), 15151, "service"),
            (lambda: b.create_service("T", "Q", contracts=[name]), 15151, "contract"),
            (lambda: b.begin_dialog("S", "S", contract=name), 8425, "contract"),
            (lambda: b.send(uuid4(), message_type=name), 8428, "message type"),
        ):
            number, text = fails(statement)
            said = missing.replace("KIND", kind)
            assert (number, text[: len(said)]) == (wanted, said)
        b.create_message_type(name)
        b.create_contract(name, {name: "TARGET", "DEFAULT": "INITIATOR"})
        b.create_service(name, "Q", contracts=[name])
        number, text = fails(lambda: b.create_service(name, "Q"))
        assert (number, text.startswith(exists)) == (2714, True)
        number, text = fails(lambda: b.drop_contract(name))
        in_use = f"{name!r} cannot be dropped: service {name} has this contract: drop that first"
        assert (number, text) == (3716, f"{in_use} (3716)")
        number, text = fails(lambda: b.create_contract("C", {name: "TARGET"}))
        assert number == 8492
        dialog = b.begin_dialog("S", name, contract=name)
        number, text = fails(lambda: b.send(dialog, message_type=name))
        side = f"by contract {name} the initiator does not send messages of this type"
        assert (number, text.startswith(side)) == (8432, True)
        b.create_message_type("Other")
        assert fails(lambda: b.send(dialog, message_type="Other"))[0] == 8431


@pytest.mark.parametrize("number", range(len(ARGUMENTS)))
def test_what_is_said_of_an_argument(broker: ServiceBroker, number: int) -> None:
    fails, text = ARGUMENTS[number]
    with pytest.raises(Error, match=re.escape(text)):
        fails(broker)


@pytest.mark.parametrize("form", ["{}", "{{{}}}", "urn:uuid:{}"])
def test_a_handle_in_every_spelling(broker: ServiceBroker, form: str) -> None:
    handle = broker.begin_dialog("S", "S")
    for text in (str(handle), str(handle).upper(), handle.hex):
        broker.send(form.format(text), body="")


@pytest.mark.parametrize("body", [None, b"", ""], ids=["none", "bytes", "text"])
def test_an_empty_body_is_none(broker: ServiceBroker, body: bytes | str | None) -> None:
    handle = broker.begin_dialog("S", "S")
    broker.send(handle, body=body)
    while rows := broker.receive("Q"):
        assert rows[0].message_body is None


def test_finding_servicebroker_d9_numbers_of_the_side_the_savepoint_and_the_ended_state() -> None:
    def number(statement: Callable[[], object]) -> int:
        with pytest.raises(ServiceBrokerError) as refused:
            statement()
        return refused.value.number

    with testing.queue_manager() as manager, manager.connect_servicebroker() as b:
        b.create_queue("Q")
        b.create_message_type("Ask")
        b.create_message_type("Answer")
        b.create_message_type("Other")
        b.create_contract("C", {"Ask": "INITIATOR", "Answer": "TARGET"})
        b.create_service("S", "Q", contracts=["C"])
        near = b.begin_dialog("S", "S", contract="C")
        b.send(near, message_type="Ask")
        far = b.browse("Q")[0].conversation_handle
        assert number(lambda: b.send(near, message_type="Answer")) == 8432
        assert number(lambda: b.send(far, message_type="Ask")) == 8434
        assert number(lambda: b.send(far, message_type="Other")) == 8431
        with b.transaction() as t:
            t.receive("Q")
            assert number(lambda: t.rollback_to("nope")) == 6401
        ended = b.begin_dialog("S", "Nowhere", contract="C")
        b.send(ended, message_type="Ask")
        b.end_conversation(ended)
        assert number(lambda: b.send(ended, message_type="Ask")) == 8429
        assert number(lambda: b.end_conversation(ended)) == 8427


def test_finding_servicebroker_d9_commit_and_rollback_without_a_transaction(
    broker: ServiceBroker,
) -> None:
    for attempt in ("commit", "rollback"):
        for verb, number in (("commit", 3902), ("rollback", 3903)):
            t = broker.transaction()
            getattr(t, attempt)()
            with pytest.raises(ServiceBrokerError, match="the transaction has been") as refused:
                getattr(t, verb)()
            assert refused.value.number == number


@pytest.mark.parametrize("number", range(len(ARGUMENTS)))
def test_finding_servicebroker_d9_every_error_has_a_number(
    broker: ServiceBroker, number: int
) -> None:
    fails, text = ARGUMENTS[number]
    with pytest.raises(ServiceBrokerError, match=re.escape(text)) as refused:
        fails(broker)
    assert refused.value.number == (8419 if "description" in text else 0)
    assert isinstance(refused.value, ValueError | TypeError)


def test_finding_servicebroker_d9_a_second_transaction_is_a_service_broker_error(
    broker: ServiceBroker,
) -> None:
    with broker.transaction(), pytest.raises(ServiceBrokerError, match="has an open transaction"):
        broker.transaction()


def test_finding_servicebroker_d11_a_transaction_that_was_rolled_back_has_one_class() -> None:
    with testing.queue_manager() as manager, manager.connect_servicebroker() as b:
        b.create_queue("Q")
        b.create_service("S", "Q", contracts=["DEFAULT"])
        b.send(b.begin_dialog("S", "S"), body="again")
        t = b.transaction()
        (row,) = t.receive("Q")
        manager.restart()
        texts = set()
        for _ in range(2):
            with pytest.raises(TransactionRolledBack) as lost:
                t.send(row.conversation_handle, body="answer")
            assert lost.value.number == 0
            texts.add(str(lost.value))
        with pytest.raises(TransactionRolledBack) as lost:
            t.commit()
        assert texts == {str(lost.value)}
        assert "unit" not in str(lost.value)
        t.rollback()
        with b.transaction() as t:
            assert [one.text for one in t.receive("Q")] == ["again"]


def test_finding_servicebroker_d11_a_deadlock_victim_was_rolled_back() -> None:
    refused = DeadlockVictim("a circle")
    refused.refused = Reason.DEADLOCK_VICTIM
    with pytest.raises(TransactionRolledBack) as victim, as_broker():
        raise refused
    assert victim.value.number == 1205


@pytest.mark.parametrize("queue", ["[dbo].[D10]", "[d10]", "dbo.[D10]", "[DBO].D10", "DBO.D10"])
def test_finding_servicebroker_d10_brackets_and_dbo_in_a_queue_name(queue: str) -> None:
    with testing.queue_manager() as manager, manager.connect_servicebroker() as b:
        b.create_queue(queue)
        assert b.queue("D10").name.upper() == "D10"
        b.create_service("S", queue, contracts=["DEFAULT"])
        b.create_event_notification("N", queue, on_queue=queue)
        b.send(b.begin_dialog("S", "S"), body="found")
        assert [row.text for row in b.browse(queue)] == ["found"]
        assert b.get_conversation_group(queue) is not None
        (row,) = b.receive(queue)
        assert b.inspect(queue, row.conversation_handle).row is None
        b.alter_queue(queue, status=False)
        assert not b.queue("d10").status


def test_finding_servicebroker_d10_other_schemas_are_refused(broker: ServiceBroker) -> None:
    for queue in ("[Sales].[Q]", "Sales.[Q]", "[Sales].Q"):
        with pytest.raises(ServiceBrokerError, match="there is no schema but dbo"):
            broker.create_queue(queue)
    for queue in ("[dbo.Q]", "dbo.dbo.Q", "[dbo].[DBO.Q]"):
        for statement in (broker.queue, broker.create_queue, broker.receive):
            with pytest.raises(ServiceBrokerError, match="does not begin with dbo"):
                statement(queue)
    broker.create_queue("[a]]b.c]")
    assert broker.queue("a]b.c").name == "a]b.c"
    broker.create_queue("Sales.Q")
    assert broker.queue("[Sales.Q]").name == "Sales.Q"


def test_finding_reliability_d5_a_send_at_the_bound_of_what_is_not_copied_is_1105() -> None:
    """The transaction can go on."""
    with testing.queue_manager() as manager, manager.connect_servicebroker() as b:
        b.create_queue("Q")
        b.create_service("S", "Q", contracts=["DEFAULT"])
        qm = manager._running().owner.term.qm
        with b.transaction() as t:
            handle = t.begin_dialog("S", "S")
            qm.uncopied.is_full = True
            with pytest.raises(ServiceBrokerError) as refused:
                t.send(handle, body="x")
            text = str(refused.value)
            assert refused.value.number == 1105
            assert "messages for service 'S' wait for their copies, and are at the limit" in text
            assert "of all queues wait for the movers, of" in text
            assert "MQRC" not in text
            qm.uncopied.is_full = False
            t.send(handle, body="y")
        assert [row.text for row in b.receive("Q")] == ["y"]


@pytest.mark.parametrize(
    "error",
    [
        ServiceBrokerError(5, "text", "Q"),
        InvalidArgument("text", 8419),
        InvalidArgumentType("text"),
        TransactionRolledBack(1205, "text"),
    ],
    ids=lambda one: type(one).__name__,
)
def test_errors_can_be_pickled_and_copied(error: ServiceBrokerError) -> None:
    for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert (type(twin), str(twin), vars(twin)) == (type(error), str(error), vars(error))
