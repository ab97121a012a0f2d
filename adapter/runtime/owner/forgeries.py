"""Records of another writer in a sealed ledger: what the log and the audit say of them.

They are void, so that nothing depends on a report. A forger may write many: the log repeats itself
less and less, and the audit has one event of all that were found since the one
before.
"""

from __future__ import annotations

import structlog

from adapter.core.contract.audit import FORGED, AuditNote
from adapter.host import logs
from adapter.storage.ledger.port import Forged, join_forged

log = structlog.get_logger("mqk.owner")


class Forgeries:
    """What was found of another writer. All methods are called on the owner's thread."""

    def __init__(self, queue_manager: str) -> None:
        self._name = queue_manager
        self._repetitions = logs.Repetitions()
        self._unnoted: Forged | None = None

    def found(self, what: object) -> None:
        """Take in records, a Forged, that the ledger has passed over."""
        assert isinstance(what, Forged), what
        self._unnoted = join_forged(self._unnoted, what)
        self._repetitions.warn(
            log,
            "forged ledger records",
            queue_manager=self._name,
            reason=f"{what.records} records from offset {what.first} to {what.last} of the ledger "
            "have no genuine seal, and are void: another program writes to the ledger. Take "
            "Write on the topics of this queue manager from all other principals of Kafka",
        )

    def take_note(self) -> AuditNote | None:
        """Return what is to be on record of those that were found since the last call."""
        found, self._unnoted = self._unnoted, None
        if found is None:
            return None
        details = {
            "first_offset": str(found.first),
            "last_offset": str(found.last),
            "records": str(found.records),
        }
        return AuditNote(FORGED, self._name, details)
