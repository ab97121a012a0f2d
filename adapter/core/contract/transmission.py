"""Where a message goes that waits on a transmission queue. This module knows no transport."""

from __future__ import annotations

from msgspec import Struct


class Transmission(Struct, array_like=True, gc=False):
    """The destination of a message that is on its way to another queue manager.

    queue: its name there. queue_manager: which one; empty: the one that computer, an MSMQ computer,
    belongs to, as the directory says when the message leaves.
    """

    queue: str
    queue_manager: str = ""
    computer: str = ""
