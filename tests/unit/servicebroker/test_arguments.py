"""Arguments are written as in Transact-SQL: words in upper or lower case, names in brackets."""

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
