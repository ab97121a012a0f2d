"""What a program of MSMQ has open, and its cursors. Soft state.

Theory of cursors. A cursor has a place, or is before the first message. After a peek it is *at* a
message; after a receive it is *behind* the message that was received, whatever becomes of the
transaction. Beside that it remembers for each lane the last seq that it has been at: a reader that
goes back for messages of higher priority is given what follows those again, so that being at a
message forgets what was passed in lower lanes.

This module does not know when a cursor moves.
"""

from __future__ import annotations

from adapter.core.contract.format_names import FormatName
from adapter.core.contract.message import Place
from adapter.core.contract.msmq import RECEIVE_ACCESS, SEND_ACCESS
from adapter.core.model.handles import QueueHandle
from adapter.core.model.msmq_queue import MsmqQueue
from adapter.core.model.paged_index import START


class ReadCursor:
    """A cursor of a handle. at: the message that it is at, if it is at one; expires_at_ms: when
    that message expires (0: never); behind: it is behind this place; passed: by lane, the last seq
    that it was at.
    """

    __slots__ = ("at", "behind", "expires_at_ms", "passed")

    def __init__(self, lanes: int) -> None:
        self.at: Place | None = None
        self.expires_at_ms = 0
        self.behind: Place = START
        self.passed = [0] * lanes

    def move_to(self, place: Place) -> None:
        """Be at a message."""
        self.at = self.behind = place
        lane, seq = -place[0], place[1]
        self.passed[: lane + 1] = [0] * lane + [seq]

    def move_behind(self, place: Place) -> None:
        """Be behind a message, and at none."""
        self.move_to(place)
        self.at = None


class MsmqSender:
    """Queues that are opened for sending only. computer: that of the program."""

    __slots__ = ("computer", "modes", "name", "number", "targets")

    def __init__(self, number: int, name: str, targets: list[FormatName], computer: str) -> None:
        self.number = number
        self.name = name
        self.targets = targets
        self.computer = computer
        self.modes = 0


class MsmqReader(QueueHandle):
    """A queue of MSMQ, opened for more than sending. Its modes are none of MQ's.

    access: added up, see core.contract.msmq. is_remote: the program is on another computer. level:
    the version of MSMQ that the program's computer behaves as.
    """

    __slots__ = (
        "access",
        "computer",
        "cursors",
        "deny_receive",
        "is_remote",
        "level",
        "msmq",
        "targets",
    )

    def __init__(
        self,
        number: int,
        queue: MsmqQueue,
        access: int,
        target: FormatName,
        computer: str,
        *,
        is_remote: bool,
        level: int,
        deny_receive: bool,
    ) -> None:
        super().__init__(number, queue, 0)
        self.msmq = queue
        self.access = access
        self.targets = [target]
        self.computer = computer
        self.is_remote = is_remote
        self.level = level
        self.deny_receive = deny_receive
        self.cursors: dict[int, ReadCursor] = {}

    def count(self, step: int) -> None:
        """Count the handle among those of its queue, or stop counting it."""
        opens = self.msmq.opens
        opens.handles += step
        if self.access & RECEIVE_ACCESS:
            opens.input += step
        if self.access & SEND_ACCESS:
            opens.output += step
        if self.deny_receive:
            self.msmq.denials += step
