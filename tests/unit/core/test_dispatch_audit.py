"""What is on record of the audit is an event, in the order in which it was noted."""

from adapter.core import inputs
from adapter.core.contract.audit import BROWSED, COMMAND, AuditNote
from adapter.core.contract.records import EventRaised
from tests.support.core import START_MS, client_on


def test_notes_are_events_that_are_written() -> None:
    core = client_on("Q").core
    notes = [AuditNote(COMMAND, "Q", {"user": "ann"}), AuditNote(BROWSED, "Q", {})]
    assert core.give(inputs.Audited(notes)).records == [
        EventRaised(COMMAND, "Q", START_MS, {"user": "ann"}),
        EventRaised(BROWSED, "Q", START_MS, {}),
    ]
