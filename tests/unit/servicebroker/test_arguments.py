"""Arguments are written as in Transact-SQL: words in upper or lower case, names in brackets."""

from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import adapter.testing
from adapter.core.attributes import broker as kinds
from adapter.servicebroker import ServiceBroker, ServiceBrokerError
from adapter.servicebroker.arguments import as_name, as_new, as_queue, written
from adapter.servicebroker.errors import InvalidArgument
from adapter.servicebroker.statements import as_guid

BRACKETS = st.text(st.sampled_from("[]xdbo."), min_size=1, max_size=8)


def test_finding_servicebroker_options_are_not_case_sensitive() -> None:
    with adapter.testing.queue_manager() as manager, manager.connect_servicebroker() as broker:
        broker.create_message_type("//a", validation="well_formed_xml")
        broker.alter_message_type("//a", validation="Empty")
        (one,) = (row for row in broker.service_message_types() if row.name == "//a")
        assert one.validation_desc == "EMPTY"
        broker.create_contract("//c", {"//a": "initiator", "DEFAULT": "Any"})
        usages = broker.service_contract_message_usages()
        assert [
            (row.message_type, row.is_sent_by_target)
            for row in usages
            if row.service_contract == "//c"
        ] == [("//a", False), ("DEFAULT", True)]
        broker.create_route("r", address="local")
        assert [row.address for row in broker.routes()] == ["LOCAL"]
        broker.create_queue("q")
        broker.create_event_notification("n", "q", event="queue_activation")
        assert [row.event for row in broker.event_notifications()] == ["QUEUE_ACTIVATION"]
        broker.subscribe(queue="q", event="broker_queue_disabled").close()


def test_finding_servicebroker_d10_brackets_in_all_names() -> None:
    with adapter.testing.queue_manager() as manager, manager.connect_servicebroker() as broker:
        broker.create_message_type("[//a]")
        broker.create_message_type("//b[0]")
        broker.create_contract("[//c]", {"[//a]": "ANY", "//b[0]": "ANY"})
        broker.create_queue("[a]]b]")
        broker.create_service("[//s]", "[a]]b]", contracts=["[//c]"])
        broker.alter_service("[//s]", contracts=["[//c]", "[DEFAULT]"])
        broker.create_route("[r]", service="[//far]")
        broker.create_broker_priority(
            "[p]", 9, contract="[//c]", local_service="[//s]", remote_service="[[x]]]"
        )
        assert [row.name for row in broker.services()] == ["//s"]
        assert [row.service_contract for row in broker.service_contract_usages()] == [
            "//c",
            "DEFAULT",
        ]
        types = [row.message_type for row in broker.service_contract_message_usages()]
        assert {"//a", "//b[0]"} <= set(types)
        assert [(row.name, row.remote_service_name) for row in broker.routes()] == [("r", "//far")]
        (one,) = broker.conversation_priorities()
        assert (one.name, one.service_contract, one.local_service) == ("p", "//c", "//s")
        assert one.remote_service_name == "[x]"
        handle = broker.begin_dialog("[//s]", "[//s]", contract="[//c]")
        broker.send(handle, message_type="[//a]", body="found")
        (row,) = broker.receive("[a]]b]")
        assert (row.service_name, row.message_type_name, row.text) == ("//s", "//a", "found")
        broker.drop_route("[r]")
        broker.drop_broker_priority("p")
        assert broker.routes() == []


@given(BRACKETS)
def test_a_name_that_is_created_is_read_as_the_same_name(text: str) -> None:
    reads: dict[str, Any] = {kinds.SERVICE: partial(as_name, "service"), kinds.QUEUE: as_queue}
    for kind, read in reads.items():
        try:
            name = as_new(kind, text)
        except InvalidArgument:
            continue
        assert read(name) == name


@given(BRACKETS)
def test_a_queue_is_written_so_that_it_is_read_again(name: str) -> None:
    assume(not name.lower().startswith("dbo."))
    assert as_queue(written(name)) == name


CREATES: dict[str, Callable[[ServiceBroker, str], None]] = {
    kinds.MESSAGE_TYPE: lambda b, name: b.create_message_type(name),
    kinds.CONTRACT: lambda b, name: b.create_contract(name, {"DEFAULT": "ANY"}),
    kinds.QUEUE: lambda b, name: b.create_queue(name),
    kinds.SERVICE: lambda b, name: b.create_service(name, "Q"),
    kinds.ROUTE: lambda b, name: b.create_route(name),
    kinds.PRIORITY: lambda b, name: b.create_broker_priority(name, 3),
    kinds.NOTIFICATION: lambda b, name: b.create_event_notification(name, "Q"),
}


@pytest.mark.parametrize("kind", kinds.TABLES)
def test_no_name_is_shown_that_means_another_object(kind: str) -> None:
    with adapter.testing.queue_manager() as manager, manager.connect_servicebroker() as broker:
        broker.create_queue("Q")
        CREATES[kind](broker, "x")
        with pytest.raises(InvalidArgument, match="brackets are how names are written"):
            CREATES[kind](broker, "[[x]]]")


@pytest.mark.parametrize("kind", kinds.TABLES)
def test_every_kind_has_its_statements(kind: str) -> None:
    """SQL Server alters a contract only to give it another owner, and no event notification."""
    assert hasattr(ServiceBroker, f"create_{kind}")
    assert hasattr(ServiceBroker, f"drop_{kind}")
    may_be_altered = kind not in (kinds.CONTRACT, kinds.NOTIFICATION)
    assert hasattr(ServiceBroker, f"alter_{kind}") is may_be_altered


def test_a_priority_is_altered() -> None:
    with adapter.testing.queue_manager() as manager, manager.connect_servicebroker() as broker:
        broker.create_broker_priority("p", 9, contract="DEFAULT", local_service="a")
        broker.alter_broker_priority("p", 2)
        (row,) = broker.conversation_priorities()
        assert (row.priority, row.service_contract, row.local_service) == (2, "DEFAULT", "a")
        broker.alter_broker_priority("p", contract="", remote_service="[b]")
        (row,) = broker.conversation_priorities()
        assert (row.priority, row.service_contract, row.remote_service_name) == (2, None, "b")
        with pytest.raises(ServiceBrokerError, match="level takes 1 to 10") as refused:
            broker.alter_broker_priority("p", 11)
        assert refused.value.number == 33302


LISTS: list[Callable[[ServiceBroker], object]] = [
    lambda b: b.create_contract("C", {"A\nB": "INITIATOR"}),
    lambda b: b.create_contract("C", {"A": "INITIATOR", "": "TARGET"}),
    lambda b: b.create_contract("C", {"A": "INITIATOR", "[A]": "TARGET"}),
    lambda b: b.create_service("S", "Q", contracts=[""]),
    lambda b: b.create_service("S", "Q", contracts=["DEFAULT\nK"]),
    lambda b: b.create_service("S", "Q", contracts=["K", "DEFAULT", "[K]"]),
    lambda b: b.alter_service("T", contracts=["K", "K"]),
]


@pytest.mark.parametrize("number", range(len(LISTS)))
def test_a_list_has_names_that_can_be_each_once(number: int) -> None:
    with adapter.testing.queue_manager() as manager, manager.connect_servicebroker() as broker:
        broker.create_message_type("A")
        broker.create_message_type("B")
        broker.create_contract("K", {"A": "ANY"})
        broker.create_queue("Q")
        broker.create_service("T", "Q")
        with pytest.raises(ServiceBrokerError, match=r"is not the name of a|once"):
            LISTS[number](broker)
        assert broker.service_contract_usages() == []


WRONG = (
    "0x" + "1" * 30,
    "1_" * 15 + "11",
    " " + "1" * 31,
    "+" + "1" * 31,
    "\u0661" * 32,
    "-1-" * 16 + "1" * 16,
    "{" + "1" * 32,
    "1" * 32 + "\n",
)


@pytest.mark.parametrize("text", WRONG)
def test_what_is_no_guid_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgument, match="is not a GUID"):
        as_guid(text)


@given(st.text(st.sampled_from("0123456789abcdefABCDEF-{}_+ x"), max_size=40))
def test_a_guid_is_read_as_it_was_written(text: str) -> None:
    try:
        read = UUID(bytes=as_guid(text))
    except InvalidArgument:
        return
    assert text.lower().strip("{}").replace("-", "") == read.hex


def test_a_guid_in_its_spellings() -> None:
    handle = uuid4()
    for form in ("{}", "{{{}}}", "urn:uuid:{}"):
        for text in (str(handle), handle.hex, str(handle).upper()):
            assert as_guid(form.format(text)) == handle.bytes
