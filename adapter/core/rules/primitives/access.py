"""Access: what a principal may do. There are no rights yet: every client may do everything.

This is where a right will be asked for, by the principal that the server has set; a rule that needs
one calls this module before anything changes. To set the context of a message is a right beside
that to put, and so is to put a message with a header on a transmission queue, whose context is that
of the header (MQZAO_SET_ALL_CONTEXT on MQ).
"""

from __future__ import annotations

from adapter.core.contract.commands import CONTEXT_MODES
from adapter.core.contract.parties import Principal
from adapter.core.contract.reasons import Reason, Refusal


def check_context(principal: Principal, name: str, modes: int) -> None:
    """Refuse to open what the principal may not put to with such a context."""
    if modes & CONTEXT_MODES and not may_write_context(principal, name, modes):
        raise Refusal(Reason.NOT_AUTHORIZED, name)


def may_write_context(principal: Principal, name: str, modes: int) -> bool:
    """Whether a principal may have the contexts of these modes written for what it puts there."""
    return True
