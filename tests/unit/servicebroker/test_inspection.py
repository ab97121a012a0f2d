"""An inspection, or a removal of a poison message, that is refused changes nothing."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import pytest

from adapter.errors import Error
from adapter.servicebroker import ServiceBrokerError
from adapter.servicebroker.errors import InvalidArgument
from adapter.servicebroker.inspection import xml_text
from tests.support.broker_site import EXPENSES, FORMS, broker_site, rolled_back

DESCRIPTION = "it cannot be processed"


@pytest.mark.parametrize(
    ("wrong", "kind"),
    [
        ({"description": "x" * 3_001}, ValueError),
        ({"description": None}, TypeError),
        ({"error": 2**31}, ValueError),
        ({"error": 0}, ValueError),
        ({"error": "127"}, TypeError),
        ({"error": None}, TypeError),
        ({"clear_state": "me"}, TypeError),
    ],
    ids=lambda one: str(one)[:30],
)
def test_a_wrong_argument_leaves_the_queue_off(wrong: dict[str, Any], kind: type) -> None:
    with broker_site() as at:
        handle = at.submitted("poison")
        at.fail(EXPENSES, times=5)
        given: dict[str, Any] = {"error": 127, "description": DESCRIPTION} | wrong
        with pytest.raises(Error) as refused:
            at.admin.remove_poison(EXPENSES, handle, **given)
        assert isinstance(refused.value, ServiceBrokerError)
        assert isinstance(refused.value, kind) or "3000 characters" in str(refused.value)
        assert not at.is_on()
        assert at.texts() == ["poison"]
        at.admin.remove_poison(EXPENSES, handle, error=127, description=DESCRIPTION)
        assert at.is_on()


@pytest.mark.parametrize("count", [3, 4, 5, 7])
def test_an_inspection_never_turns_a_queue_off_unasked(count: int) -> None:
    """Poison handling may be turned on while more have rolled back than turn a queue off."""
    with broker_site() as at:
        handle = at.submitted("poison")
        at.admin.alter_queue(EXPENSES, poison_message_handling=False)
        at.fail(EXPENSES, times=count)
        at.admin.alter_queue(EXPENSES, poison_message_handling=True)
        if count < 4:
            assert at.admin.inspect(EXPENSES, handle).rollback_count == count + 1
        else:
            with pytest.raises(ServiceBrokerError, match=f"would be rollback {count + 1} in a row"):
                at.admin.inspect(EXPENSES, handle)
        assert at.is_on()
        assert at.admin.inspect(EXPENSES, handle, force=True).row is not None
        assert at.is_on() is (count < 3)


@pytest.mark.parametrize("others", [0, 1, 2])
@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_nor_does_one_that_waits_for_transactions_which_roll_back(count: int, others: int) -> None:
    """others: transactions on other conversations that roll back meanwhile."""
    with broker_site() as at, ThreadPoolExecutor(1) as pool:
        handle = at.submitted("poison")
        at.fail(EXPENSES, times=count)
        with at.program.transaction() as t:
            t.receive(EXPENSES)
            at.submit("other")
            found = pool.submit(at.admin.inspect, EXPENSES, handle, timeout_ms=60_000)
            at.await_waits(EXPENSES)
            with at.manager.connect_servicebroker() as session:
                for _ in range(min(others, 3 - count)):
                    with rolled_back(session) as other:
                        assert [row.text for row in other.receive(EXPENSES)] == ["other"]
            before = at.count()
            t.rollback()
        if before + 1 < 4:
            assert found.result().rollback_count == before + 2
        else:
            with pytest.raises(ServiceBrokerError, match="would be rollback 5 in a row"):
                found.result()
            assert at.count() == 4
        assert at.is_on()
        assert sorted(at.texts()) == ["other", "poison"]


@pytest.mark.parametrize("is_on", [False, True])
def test_a_removal_reports_of_its_own_side_that_it_is_forgotten_later(is_on: bool) -> None:
    with broker_site() as at:
        handle = at.submitted("poison")
        at.admin.alter_queue(FORMS, status=is_on)
        removal = at.admin.remove_poison(EXPENSES, handle, error=1, description=DESCRIPTION)
        assert f"other side, {handle}" not in removal.report
        assert removal.report.count("its other side") == 1
        assert ("this side is forgotten when" in removal.report) is not is_on


def test_a_removal_is_no_part_of_a_transaction() -> None:
    """Its end would be undone by a rollback, and what follows would not."""
    with broker_site() as at:
        handle = at.submitted("poison")
        at.fail(EXPENSES, times=5)
        cleared: list[UUID] = []
        with at.admin.transaction() as t:
            with pytest.raises(InvalidArgument, match="has an open transaction"):
                at.admin.remove_poison(
                    EXPENSES, handle, error=1, description=DESCRIPTION, clear_state=cleared.append
                )
            assert t.is_open
            t.rollback()
        assert (at.is_on(), at.texts(), cleared) == (False, ["poison"], [])
        at.admin.remove_poison(EXPENSES, handle, error=1, description=DESCRIPTION)
        assert at.is_on()


@pytest.mark.parametrize(
    ("encoding", "declared"),
    [
        ("utf-8", ""),
        ("utf-8-sig", ""),
        ("utf-16-le", ""),
        ("utf-16", ""),
        ("utf-8", "utf-8"),
        ("utf-16", "utf-16"),
        ("utf-16-be", "utf-16"),
        ("iso-8859-1", "iso-8859-1"),
        ("windows-1252", "windows-1252"),
    ],
)
def test_xml_is_shown_as_it_is_encoded(encoding: str, declared: str) -> None:
    with broker_site() as at:
        at.admin.create_message_type("X", validation="WELL_FORMED_XML")
        at.admin.create_contract("C", {"X": "ANY"})
        at.admin.create_queue("XQ")
        at.admin.create_service("XS", "XQ", contracts=["C"])
        head = f'<?xml version="1.0" encoding="{declared}"?>' if declared else ""
        text = f"{head}<part>bölt</part>"
        mark = b"\xfe\xff" if encoding == "utf-16-be" else b""
        dialog = at.admin.begin_dialog("XS", "XS", contract="C")
        at.admin.send(dialog, message_type="X", body=mark + text.encode(encoding))
        (row,) = at.admin.browse("XQ")
        assert row.validation == "X"
        assert at.admin.inspect("XQ", row.conversation_handle).text == text


def test_xml_of_an_encoding_that_is_not_known_is_shown_all_the_same() -> None:
    body = b'<?xml version="1.0" encoding="x-none"?><a/>'
    assert xml_text(body) == body.decode()
    assert xml_text(b"<a>\xff</a>").startswith("0x3C613EFF3C2F613E")
