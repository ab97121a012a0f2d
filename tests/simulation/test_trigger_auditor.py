"""The auditor of triggers must be able to say no, and yes to what the manual says."""

from typing import Any

import pytest

from tests.simulation.trigger_auditor import Told, TriggerAuditor

PLAIN: dict[str, Any] = {
    "trigger_control": False,
    "trigger_type": "FIRST",
    "trigger_depth": 1,
    "trigger_msg_priority": 0,
    "trigger_data": "",
    "initiation_queue": "",
    "process": "",
    "usage": "NORMAL",
    "inhibit_put": False,
    "inhibit_get": False,
    "max_depth": 100,
    "def_priority": 0,
}
ONE = Told("Q", "", "P", 0)


@pytest.fixture
def auditor() -> TriggerAuditor:
    """A FIRST queue Q, its initiation queue I that somebody monitors, and a dead-letter queue."""
    auditor = TriggerAuditor()
    auditor.processes.add("P")
    auditor.settings["dead_letter_queue"] = "DEAD"
    auditor.defined("I", PLAIN)
    auditor.defined("DEAD", PLAIN)
    triggered = {"trigger_control": True, "process": "P", "initiation_queue": "I"}
    auditor.defined("Q", PLAIN | triggered)
    auditor.opened("mon", "I")
    return auditor


def put(auditor: TriggerAuditor, body: str = "m", unit: str = "") -> None:
    auditor.put("Q", [(body, 0, True)], unit)


def test_what_is_expected_is_accepted(auditor: TriggerAuditor) -> None:
    auditor.seen("I", [])
    put(auditor)
    auditor.seen("I", [ONE])
    auditor.took("I", ONE)
    auditor.seen("I", [])


@pytest.mark.parametrize("told", [[], [ONE, ONE], [ONE._replace(queue="R")]])
def test_what_is_not_is_refused(auditor: TriggerAuditor, told: list[Told]) -> None:
    put(auditor)
    with pytest.raises(AssertionError, match="on I there is"):
        auditor.seen("I", told)


def test_a_trigger_message_that_is_not_due_is_refused(auditor: TriggerAuditor) -> None:
    auditor.closed("mon", "I")
    put(auditor)
    with pytest.raises(AssertionError, match=r"should be \[\]"):
        auditor.seen("I", [ONE])


def test_another_one_than_is_due_is_not_taken(auditor: TriggerAuditor) -> None:
    put(auditor)
    with pytest.raises(AssertionError, match="is due"):
        auditor.took("I", ONE._replace(data="other"))


def test_one_that_a_unit_holds_is_expected_at_its_end(auditor: TriggerAuditor) -> None:
    auditor.begun("ada", "u1")
    put(auditor, unit="u1")
    auditor.seen("I", [])
    auditor.backed_out("u1")
    auditor.seen("I", [ONE])


def test_one_that_cannot_be_put_is_expected_elsewhere(auditor: TriggerAuditor) -> None:
    auditor.altered("I", {"max_depth": 0})
    put(auditor)
    auditor.seen("I", [])
    auditor.seen("DEAD", [ONE._replace(reason=2053, to="I")])


def test_a_crash_takes_what_is_soft(auditor: TriggerAuditor) -> None:
    put(auditor)
    auditor.crashed(keeps_soft=True)
    auditor.seen("I", [ONE])
    auditor.crashed(keeps_soft=False)
    auditor.seen("I", [])
    auditor.opened("mon", "I")
    auditor.seen("I", [ONE])
