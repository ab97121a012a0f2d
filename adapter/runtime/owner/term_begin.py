"""The beginning of a term: what it takes over from the one before, and what it is given first.

It must not know how the ledger was taken over, nor what the owner's state is.
"""

from __future__ import annotations

from adapter.core import inputs
from adapter.runtime.owner.parts import OwnerSettings, TermParts
from adapter.runtime.owner.replay import LedgerUnreadableError, Replayed
from adapter.runtime.owner.term import OwnerTerm


class NotBegunError(LedgerUnreadableError):
    """Core fails at what the ledger holds when a term begins; nothing was changed by it."""


def begin_term(
    parts: TermParts,
    settings: OwnerSettings,
    replayed: Replayed,
    old: OwnerTerm | None,
) -> OwnerTerm:
    """Begin a term with what the ledger says, and what the old one brings. Raises NotBegunError."""
    unwritten = old.carry_over(replayed) if old is not None else []
    term = OwnerTerm(parts, replayed.owner, replayed)
    term.begin(settings)
    if old is not None:  # the next look at the directory comes later
        known = old.qm.known_queue_managers, old.qm.known_computers
        term.loop.take(inputs.QueueManagersKnown(*known))
    if term.loop.has_failed:
        raise NotBegunError(
            f"queue manager {term.qm.name} cannot begin with what its ledger holds: "
            f"{parts.failures.last}. Nothing in the ledger is lost: start another release of mqk, "
            "and report this"
        )
    term.note_audit(unwritten)
    return term
