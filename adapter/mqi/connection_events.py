"""Events of a connection for its event handler: it is lost, and it is made again.

They come from a thread of their own, for the thread that notices them is busy connecting. This
module knows no consumer.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue

from adapter import mq_constants as mq
from adapter.channel.channel import Channel

END = 0


class ConnectionEvents:
    """Calls tell with a reason code, one after the other. tell: may use the connection."""

    def __init__(self, tell: Callable[[int], None]) -> None:
        self._tell = tell
        self._reasons: SimpleQueue[int] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._has_ended = False

    @property
    def is_this_thread(self) -> bool:
        """Whether the caller is tell, or was called by it."""
        return threading.current_thread() is self._thread

    def follow(self, channel: Channel) -> None:
        """Begin; once is enough."""
        if self._thread is None:
            channel.on_link(self._note)
            self._thread = threading.Thread(target=self._run, name="mqi-events", daemon=True)
            self._thread.start()

    def end(self) -> None:
        """Tell no more."""
        self._has_ended = True
        self._reasons.put(END)

    def _note(self, connected: bool) -> None:
        self._reasons.put(mq.MQRC_RECONNECTED if connected else mq.MQRC_RECONNECTING)

    def _run(self) -> None:
        while (reason := self._reasons.get()) != END and not self._has_ended:
            self._tell(reason)
