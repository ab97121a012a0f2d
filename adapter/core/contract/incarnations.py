"""Which queues there are and were, by name and incarnation: the question and its answer."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from adapter.core.contract.bounds import ELEMENTS_MAX

IncarnationState = Literal["there", "deleted", "unknown"]
"""deleted: for good, as none of that name has this incarnation again. unknown: no such queue is
known to have been; names that were generated are forgotten in time.
"""


class AskIncarnations(Struct, array_like=True, tag=59):
    """Ask of queues, each a name and an incarnation, whether there are such.

    Also of queues of MSMQ, and of those that no list shows to who asks.
    """

    queues: Annotated[list[tuple[str, int]], Meta(max_length=ELEMENTS_MAX)]


class IncarnationStates(Struct, array_like=True, tag=22):
    """What is known of the queues that were asked for, in their order."""

    states: list[IncarnationState]
