"""What a step of core caused: all that it wants of the world, and nothing of it done yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from adapter.core.contract import records as r
from adapter.core.contract.authorities import Denial
from adapter.core.contract.pages import PageNeeded
from adapter.core.contract.replies import Reply
from adapter.core.contract.results import Refused
from adapter.core.model.undo import Removed
from adapter.core.rules.primitives.decision import NOBODY

NOTHING_REMOVED: Final[Mapping[int, Removed]] = {}


class Effects:
    """What a step caused, and what the owner owes it, in this order.

    1. records: all that was applied, in order. The logged ones are written, all in one entry: that
       which is collected, or the next one if it has no room for them. Only what is more than the
       ledger takes in one entry is written in several; cuts: before which of the records an entry
       may end, because another decision begins there. removed: what undoes records that prove void,
       by their index in records; kept until their entry is durable.
    2. barrier: an entry is written even if there is no logged record.
    3. replies: each is sent when the entry that it names is durable, and those to one connection in
       the order in which they became so.
    4. denied: which authorities clients lacked, for the audit.
    5. closed: connections that have ended by it, and what they are told. Nothing more is sent to
       them, not even what was promised.
    6. pages_wanted: each is answered by a later input, PageLoaded or PageMissing, once.
    7. commands_wait: a message is on the command queue, which no program has open for gets.

    paged_out: how many messages left memory; for the figures alone.
    """

    __slots__ = (
        *("barrier", "closed", "commands_wait", "cuts", "denied", "paged_out", "pages_wanted"),
        *("records", "removed", "replies"),
    )

    def __init__(self) -> None:
        self.records: list[r.Record] = []
        self.cuts: list[int] = []
        self.replies: list[Reply] = []
        self.barrier = self.commands_wait = False
        self.closed: Mapping[int, Refused] = NOBODY
        self.removed: Mapping[int, Removed] = NOTHING_REMOVED
        self.pages_wanted: Sequence[PageNeeded] = ()
        self.denied: Sequence[Denial] = ()
        self.paged_out = 0
