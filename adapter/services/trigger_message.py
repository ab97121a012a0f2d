"""What a program that was started by a trigger message learns from its command line.

    trigger = adapter.mqi.TriggerMessage.from_argv(sys.argv)
    qm.queue(trigger.queue)

This module knows the two layouts only as core has them.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Self

from msgspec import structs

from adapter.core.mq_layouts import trigger_message as layouts
from adapter.core.mq_layouts.trigger_message import TMC2_LENGTH
from adapter.errors import InvalidValue


class TriggerMessage(layouts.TriggerFields, frozen=True, kw_only=True):
    """A trigger message (MQTM, MQTMC2): the program to start, and for which queue.

    queue (QName), process (ProcessName), trigger_data, appl_type (an MQAT number), appl_id,
    env_data, user_data, queue_manager (QMgrName). from_argv(sys.argv) reads it in a program that
    was started, from_bytes(body) what lies on an initiation queue.
    """

    @classmethod
    def from_argv(cls, argv: Sequence[str]) -> Self:
        """Read the MQTMC2 that a trigger monitor gave as the first argument of a program.

        InvalidValue if it is missing: no trigger monitor has started the program.
        """
        if len(argv) < 2:
            raise InvalidValue(
                "an argument is missing: a trigger monitor starts a program with an MQTMC2 of "
                f"{TMC2_LENGTH} characters as its first one"
            )
        return cls.from_tmc2(os.fsencode(argv[1]))

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read an MQTM, 684 bytes, in either byte order; InvalidValue if it cannot be read."""
        return cls._of(layouts.from_tm, data)

    @classmethod
    def from_tmc2(cls, data: bytes) -> Self:
        """Read an MQTMC2, 732 bytes of characters; InvalidValue if it cannot be read."""
        return cls._of(layouts.from_tmc2, data)

    def to_bytes(self) -> bytes:
        """Lay it out as an MQTM: 684 bytes, numbers little-endian."""
        return layouts.to_tm(self)

    def to_tmc2(self) -> bytes:
        """Lay it out as an MQTMC2: 732 bytes of characters."""
        return layouts.to_tmc2(self)

    def of_queue_manager(self, name: str) -> Self:
        """Return the same with the name of the queue manager, which an MQTM lacks."""
        return structs.replace(self, queue_manager=name)

    @classmethod
    def _of(cls, read: layouts.Reader, data: bytes) -> Self:
        try:
            return cls(**structs.asdict(read(data)))
        except ValueError as problem:
            raise InvalidValue(f"not a trigger message: {problem}") from problem
