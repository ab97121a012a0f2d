"""Words of options are written as in Transact-SQL: in upper or lower case."""

import adapter.testing


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
