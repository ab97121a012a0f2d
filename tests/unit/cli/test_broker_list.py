"""mqk broker list: the views of Service Broker, as tables and as JSON."""

import json

import pytest

import adapter.testing
from adapter.cli.broker import LISTS
from adapter.servicebroker import DEFAULT
from tests.unit.cli.conftest import Mqk


def prepare(manager: adapter.testing.TestQueueManager) -> str:
    """Create one object of each kind, and a conversation that is stuck; returns its handle."""
    with manager.connect_servicebroker() as session:
        session.create_queue("Orders")
        session.create_service("//orders", "Orders", contracts=[DEFAULT])
        session.create_route("away", service="//far", address="QM9")
        session.create_broker_priority("high", 9)
        handle = session.begin_dialog("//orders", "//mistyped")
        session.send(handle, body=b"\x01")
    return str(handle)


@pytest.mark.parametrize("kind", LISTS)
def test_finding_servicebroker_each_list_has_its_view_in_json(
    at: Mqk, manager: adapter.testing.TestQueueManager, kind: str
) -> None:
    handle = prepare(manager)
    every: dict[str, dict[str, object]] = {
        "queues": {"name": "Orders", "status": True, "message_count": 0},
        "services": {"name": "//orders", "service_queue": "Orders"},
        "contracts": {"service_contract": "DEFAULT", "is_sent_by_target": True},
        "message-types": {"name": "DEFAULT", "validation": "N"},
        "routes": {"name": "away", "remote_service_name": "//far", "address": "QM9"},
        "priorities": {"name": "high", "local_service": None, "priority": 9},
        "endpoints": {"conversation_handle": handle, "state": "CO", "lifetime": None},
        "transmission": {
            "to_service_name": "//mistyped",
            "message_body": "01",
            "transmission_status": "The target service '//mistyped' does not exist.",
        },
    }
    expected = every[kind]
    said = at("broker", "list", kind, "--json")
    assert said.status == 0
    rows = [json.loads(line) for line in said.out.splitlines()]
    assert any(expected.items() <= row.items() for row in rows)
    table = at("broker", "list", kind.upper()).out.splitlines()
    assert table[0].split() == list(LISTS[kind][1])
    assert len(table) > 1


def test_finding_servicebroker_a_list_of_what_is_stuck(
    at: Mqk, manager: adapter.testing.TestQueueManager
) -> None:
    handle = prepare(manager)
    assert handle in at("broker", "list", "endpoints").out
    shown = at("broker", "list", "routes").out.splitlines()
    assert shown[1].split() == ["away", "//far", "QM9"]
    assert at("broker", "list", "nothing").status == 2
