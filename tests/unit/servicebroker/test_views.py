"""SELECT shows all rows, however many answers they take."""

from uuid import UUID

import pytest

from adapter.core.contract import broker as b
from adapter.core.contract.results import Descriptions
from adapter.servicebroker import DEFAULT, views
from adapter.servicebroker.inspection import raw
from tests.support.broker_site import EXPENSES, BrokerSite, broker_site

LONG = 100_000
MANY = 700
"""More rows than one answer has."""


def test_browse_shows_more_bytes_than_one_answer_takes() -> None:
    with broker_site() as at:
        for number in range(60):
            at.submit(bytes([number]) * LONG)
        bodies = [row.message_body for row in at.admin.browse(EXPENSES)]
        assert bodies == [bytes([number]) * LONG for number in range(60)]


def test_browse_shows_more_retained_rows_than_one_answer_has() -> None:
    with broker_site() as at:
        at.admin.alter_queue(EXPENSES, retention=True)
        handle = at.submit(*(f"old {number}" for number in range(MANY)))
        assert len(at.program.receive(EXPENSES)) == MANY
        with at.form.transaction() as t:
            for number in range(MANY):
                t.send(handle, body=f"new {number}")
        rows = at.admin.browse(EXPENSES)
        assert [row.status for row in rows] == [1] * MANY + [0] * MANY
        assert [row.text for row in rows[:MANY]] == [f"new {number}" for number in range(MANY)]
        assert [row.text for row in rows[MANY:]] == [f"old {number}" for number in range(MANY)]


def test_endpoints_are_listed_once_each_while_others_come_and_go() -> None:
    with broker_site() as at:
        for _ in range(MANY // 2):
            at.submit("one")
        endpoints = at.admin.conversation_endpoints()
        assert len({one.conversation_handle for one in endpoints}) == len(endpoints) == MANY
        listed = at.admin._all("endpoints")
        first = next(listed)
        gone = max(one.conversation_handle.hex for one in endpoints)
        at.admin.end_conversation(gone, cleanup=True)
        assert len([first, *listed]) == MANY - 1


def test_what_is_in_transmission_is_shown_whole() -> None:
    with broker_site() as at:
        at.admin.alter_queue(EXPENSES, status=False)
        handle = at.form.begin_dialog("//expenses/Submission", "//expenses/Approval")
        for first in range(0, 3 * MANY, MANY):
            with at.form.transaction() as t:
                for number in range(first, first + MANY):
                    t.send(handle, message_type=DEFAULT, body=str(number))
        rows = at.admin.transmission_queue()
        assert [row.message_sequence_number for row in rows] == list(range(3 * MANY))


def test_a_long_body_in_transmission_is_left_out_and_its_length_is_shown() -> None:
    with broker_site() as at:
        at.admin.alter_queue(EXPENSES, status=False)
        at.submit(None, b"x" * 8_000, b"x" * 8_001)
        rows = at.admin.transmission_queue()
        assert [row.message_body_length for row in rows] == [0, 8_000, 8_001]
        assert [row.message_body for row in rows] == [None, b"x" * 8_000, None]


@pytest.mark.parametrize("digits", ["0102", "004e014e", "e29059bb9922"])
def test_finding_servicebroker_d7_bytes_that_happen_to_be_letters(digits: str) -> None:
    assert raw(bytes.fromhex(digits)).startswith(f"0x{digits.upper()}")
    assert raw("Größe 7".encode("utf-16-le")) == "Größe 7"
    assert raw(b"plain") == "plain"


VIEWS = (
    *("services", "service_queues", "service_contracts", "service_message_types", "routes"),
    *("service_contract_usages", "service_contract_message_usages", "conversation_priorities"),
    *("event_notifications", "conversation_groups", "conversation_endpoints"),
    *("transmission_queue", "dm_broker_queue_monitors"),
)


def fill(at: BrokerSite) -> None:
    """Create several of everything that is listed, of them groups of one id on several queues."""
    groups = UUID(int=1), UUID(int=2)
    for number in range(4):
        name = f"{number}"
        at.admin.create_message_type(name, validation="EMPTY")
        at.admin.create_contract(name, {name: "ANY", DEFAULT: "INITIATOR"})
        at.create(f"service {name}", name)
        at.admin.create_route(name, service=name)
        at.admin.create_broker_priority(name, 3, local_service=name)
        at.admin.create_event_notification(name, EXPENSES, on_queue=name)
        for group in groups:
            dialog = at.form.begin_dialog(
                f"service {name}", "nowhere", related_conversation_group=group
            )
            at.form.send(dialog, body=name)


@pytest.mark.parametrize("rows", [1, 2, 3, 5])
def test_every_view_shows_all_rows_by_whatever_pages(
    monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    with broker_site() as at:
        fill(at)
        whole = {view: getattr(at.admin, view)() for view in VIEWS}
        assert all(len(found) >= 4 for view, found in whole.items() if not view.startswith("dm_"))
        monkeypatch.setattr(views, "ROWS_PER_ANSWER", rows)
        for view, found in whole.items():
            assert getattr(at.admin, view)() == found, view


@pytest.mark.parametrize("most", [1, 300, 1_000])
def test_every_view_of_the_catalog_shows_all_rows_if_answers_end_by_bytes(
    monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    catalog = [one for one in VIEWS if not one.startswith("conversation_") and "queue" not in one]
    with broker_site() as at:
        fill(at)
        whole = {view: getattr(at.admin, view)() for view in catalog}
        monkeypatch.setattr(b, "CATALOG_BYTES_MAX", most)
        for view, found in whole.items():
            assert getattr(at.admin, view)() == found, view


def test_many_long_schemas_are_listed() -> None:
    head = '<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="a"/><!--'
    schema = f"{head}{'x' * 1_048_400}--></xs:schema>"
    with broker_site() as at:
        for number in range(106):
            at.admin.create_message_type(f"{number:03}", validation="VALID_XML", schema=schema)
        found = [row for row in at.admin.service_message_types() if row.xml_collection == schema]
        assert len(found) == 106


def test_a_client_of_an_earlier_release_pages_through_groups_by_their_ids() -> None:
    with broker_site() as at:
        fill(at)
        whole = at.admin._ask(b.BrokerInquire(b.GROUPS), Descriptions).queues
        rest = at.admin._ask(b.BrokerInquire(b.GROUPS, after=whole[0].name), Descriptions).queues
        assert [one.name for one in rest] == [one.name for one in whole if one.name > whole[0].name]
        assert UUID(hex=whole[0].name).hex == whole[0].name
        assert len(rest) < len(whole) - 1, "a group is on several queues"
