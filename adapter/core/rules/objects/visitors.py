"""Visitors: whether who has no connection may do something. Nothing changes by it.

The channel rules are those of a client that names no channel. A visitor that they let in has the
authorities that it would have with a connection; the authority to connect is not asked for.
"""

from __future__ import annotations

from msgspec.structs import replace

from adapter.core.contract.authorities import Denial
from adapter.core.contract.visitors import VisitorDecision, VisitorRequest
from adapter.core.model.manager import QueueManager
from adapter.core.rules.objects import channel_rules
from adapter.core.rules.primitives.access import Asker, known_user

NO_CONNECTION = 0


def judge(qm: QueueManager, asked: VisitorRequest) -> VisitorDecision:
    """Say who a visitor counts as, and whether that may do what it asks for."""
    party, denied = channel_rules.admit(qm, NO_CONNECTION, asked.party)
    if party is None:
        return VisitorDecision(None, is_allowed=False, denied=denied)
    party = replace(party, principal=known_user(qm, party.principal))
    if not qm.authorities.are_checked or not asked.object_type:
        return VisitorDecision(party, is_allowed=True, denied=denied)
    asker = Asker(qm, NO_CONNECTION, party.principal, asked.command)
    missing = asker.missing(asked.object_type, asked.name, asked.bits)
    if missing:
        of = asked.command, asked.object_type, asked.name, missing
        denied.append(Denial(NO_CONNECTION, party.user, *of))
    return VisitorDecision(party, not missing, denied)
