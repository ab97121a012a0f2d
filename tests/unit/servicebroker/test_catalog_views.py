"""The views of the catalog show what was created, in SQL Server's columns."""

from uuid import uuid4

import adapter.testing
from adapter.servicebroker import DEFAULT, QueueActivation
from tests.support.broker_site import APPROVAL, EXPENSES, FORMS, SUBMISSION, broker_site

CONTRACT = "//expenses/Contract"


def test_finding_servicebroker_views_of_contracts_and_message_types() -> None:
    with adapter.testing.queue_manager() as manager, manager.connect_servicebroker() as broker:
        broker.create_message_type("//a", validation="EMPTY")
        broker.create_message_type("//b", validation="WELL_FORMED_XML")
        broker.create_message_type("//c")
        broker.create_contract(CONTRACT, {"//a": "INITIATOR", "//b": "TARGET", "//c": "ANY"})
        types = {
            one.name: (one.validation, one.validation_desc, one.xml_collection)
            for one in broker.service_message_types()
        }
        assert types["//a"] == ("E", "EMPTY", None)
        assert types["//b"] == ("X", "XML", None)
        assert types["//c"] == types[DEFAULT] == ("N", "NONE", None)
        assert {CONTRACT, DEFAULT} <= {one.name for one in broker.service_contracts()}
        usages = [
            (one.message_type, one.is_sent_by_initiator, one.is_sent_by_target)
            for one in broker.service_contract_message_usages()
            if one.service_contract == CONTRACT
        ]
        assert usages == [("//a", True, False), ("//b", False, True), ("//c", True, True)]


def test_finding_servicebroker_views_of_services_and_queues() -> None:
    with broker_site() as at:
        broker = at.admin
        services = {one.name: one.service_queue for one in broker.services()}
        assert services == {APPROVAL: EXPENSES, SUBMISSION: FORMS}
        assert {one.service: one.service_queue for one in broker.service_queue_usages()} == services
        usages = {one.service: one.service_contract for one in broker.service_contract_usages()}
        assert usages == dict.fromkeys(services, DEFAULT)
        broker.alter_queue(FORMS, status=False, activation=QueueActivation("reader", 3))
        queues = {one.name: one for one in broker.service_queues()}
        assert queues[FORMS] == broker.queue(FORMS)
        forms, expenses = queues[FORMS], queues[EXPENSES]
        assert (forms.is_receive_enabled, forms.is_enqueue_enabled) == (False, False)
        assert (forms.is_activation_enabled, forms.activation_procedure) == (True, "reader")
        assert (forms.max_readers, expenses.max_readers) == (3, 0)
        assert (expenses.is_receive_enabled, expenses.is_retention_enabled) == (True, False)
        assert (expenses.is_activation_enabled, expenses.activation_procedure) == (False, None)


def test_finding_servicebroker_views_of_routes_priorities_and_notifications() -> None:
    with broker_site() as at:
        broker = at.admin
        broker.create_route("here")
        broker.create_route("there", service="//far", address="QM2")
        assert [(r.name, r.remote_service_name, r.address) for r in broker.routes()] == [
            ("here", None, "LOCAL"),
            ("there", "//far", "QM2"),
        ]
        broker.create_broker_priority("high", 9, local_service=APPROVAL)
        (one,) = broker.conversation_priorities()
        assert (one.name, one.service_contract, one.local_service) == ("high", None, APPROVAL)
        assert (one.remote_service_name, one.priority) == (None, 9)
        broker.create_event_notification("off", FORMS, on_queue=EXPENSES)
        (told,) = broker.event_notifications()
        assert (told.name, told.event) == ("off", "BROKER_QUEUE_DISABLED")
        assert (told.parent, told.service_queue) == (EXPENSES, FORMS)
        assert broker.remote_service_bindings() == []


def test_finding_servicebroker_view_of_conversation_groups() -> None:
    with broker_site() as at:
        at.submit("one")
        with at.program.transaction() as t:
            (row,) = t.receive(EXPENSES)
            groups = {one.conversation_group_id: one for one in at.admin.conversation_groups()}
            assert len(groups) == 2
            mine = groups[row.conversation_group_id]
            assert (mine.service_queue, mine.conversations, mine.is_locked) == (EXPENSES, 1, True)


def test_finding_servicebroker_view_of_queue_monitors() -> None:
    with broker_site() as at:
        assert at.admin.dm_broker_queue_monitors() == []
        at.admin.alter_queue(EXPENSES, activation=QueueActivation("reader"))

        def state() -> str:
            (one,) = at.admin.dm_broker_queue_monitors()
            assert one.queue == EXPENSES
            return one.state

        assert state() == "INACTIVE"
        at.submit("one")
        assert state() == "NOTIFIED"
        with at.program.transaction() as t:
            t.receive(EXPENSES)
            assert state() == "RECEIVES_OCCURRING"


def test_finding_servicebroker_transmission_status_of_a_handle() -> None:
    with broker_site() as at:
        fine = at.submit("arrives")
        waiting = at.submit("nowhere", to="//missing")
        status = at.admin.transmission_status
        assert status(fine) == status(at.far_of(fine)) == ""
        assert status(str(waiting)) == "The target service '//missing' does not exist."
        assert status(uuid4()) is None
        at.admin.create_service("//missing", EXPENSES, contracts=[DEFAULT])
        assert status(waiting) == ""
        at.admin.alter_queue(EXPENSES, status=False)
        at.form.send(fine, body="waits")
        assert "turned on" in (status(fine) or "")
        assert status(at.far_of(fine)) == status(waiting) == ""
