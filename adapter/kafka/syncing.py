"""What Table.sync() waits for, for threads and tasks alike. Nothing here waits.

Theory. A record is in the table once its message has left the queue of its export, and the table
has read the topic up to an end that was asked for after that. The exporter commits the unit that
has got a message only when the transaction of its record is committed. Places on a queue are never
given twice, so what is committed later is not waited for, and queues that are never empty do no
harm.
"""

from __future__ import annotations

import time

from adapter.core.contract.exports import has_written
from adapter.core.contract.results import ExportPlaces
from adapter.errors import TableBehind

PAUSE_S, PAUSE_S_MAX = 0.002, 0.05
"""Between two questions, each twice as long as the one before."""


class ExportsBefore:
    """The messages for a topic that were committed when it was asked first."""

    def __init__(self, topic: str, exports: list[ExportPlaces], until_s: float) -> None:
        self._topic = topic
        self._left = exports
        self._until_s = until_s
        self._pause_s = PAUSE_S
        self.look(exports)

    @property
    def are_written(self) -> bool:
        """Whether the records of all of them are in the topic."""
        return not self._left

    def look(self, exports: list[ExportPlaces]) -> None:
        """Note how far the exports have come. Raises TableBehind when the time is over."""
        now = {one.name: one for one in exports}
        self._left = [one for one in self._left if not has_written(one, now.get(one.name))]
        if self._left and time.monotonic() > self._until_s:
            name = self._left[0].name
            is_paused = name in now and now[name].is_paused
            raise TableBehind(
                f"export {name} has not written to topic {self._topic} what was committed before: "
                + (
                    f"it is paused, resume it (mqk export resume {name})"
                    if is_paused
                    else f"mqk export show {name} says why"
                ),
                self._topic,
            )

    def pause_s(self) -> float:
        """Say how long to wait before it is asked again."""
        pause_s, self._pause_s = self._pause_s, min(self._pause_s * 2, PAUSE_S_MAX)
        return min(pause_s, max(self._until_s - time.monotonic(), 0))
