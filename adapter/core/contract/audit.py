"""The events of the audit: what is on record of who did what, and what was refused to whom.

They are events as all others, of these kinds. This module does not know when they are raised.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

NOT_AUTHENTICATED: Final = "not_authenticated"
NOT_AUTHORIZED: Final = "not_authorized"
COMMAND: Final = "command"
BROWSED: Final = "messages_browsed"
TAKEN_OVER: Final = "ledger_taken_over"
FORGED: Final = "ledger_records_forged"
STEP_FAILED: Final = "step_failed"
KINDS: Final = frozenset(
    {NOT_AUTHENTICATED, NOT_AUTHORIZED, COMMAND, BROWSED, TAKEN_OVER, FORGED, STEP_FAILED}
)


class AuditNote(Struct, frozen=True):
    """What is to be on record. kind: of KINDS. name: of the object that it is about."""

    kind: str
    name: str
    details: dict[str, str]
