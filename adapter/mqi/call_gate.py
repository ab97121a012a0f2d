"""One call at a time on a connection: which threads may begin one, and when it may end.

MQCNO_HANDLE_SHARE_* says what other threads than the one that connected may do. This module knows
no verb, and nothing of what a connection is to a queue manager.
"""

from __future__ import annotations

import threading
from collections import deque

from adapter import mq_constants as mq
from adapter.connection.channel.forking import new_lock
from adapter.mqi.reasons import MqiFailure
from adapter.mqi.reentry import PutOff

SHARED = mq.MQCNO_HANDLE_SHARE_BLOCK | mq.MQCNO_HANDLE_SHARE_NO_BLOCK


class CallGate:
    """Lets calls in on one connection. cno_options: MQCNO_HANDLE_SHARE_* of these have effect."""

    def __init__(self, cno_options: int) -> None:
        self.put_off: deque[PutOff] = deque()
        """What the thread that is in a call does when it leaves."""
        self._options = cno_options
        self._thread = threading.get_ident()
        self._busy = new_lock()
        self._is_consumers = False
        """Whether the call in progress is one of a function that the connection calls."""
        self._end = threading.Lock()
        """Held from when a disconnection can no longer be refused."""

    def enter(self, from_consumer: bool = False) -> None:
        """Begin a call: what other threads may do depends on how the handle is shared.

        from_consumer: the thread is one of the connection's own, that calls the program.
        MqiFailure(2018, 2219) if this one may not, now or at all.
        """
        self.check_thread(from_consumer)
        waits = from_consumer or not self._options & mq.MQCNO_HANDLE_SHARE_NO_BLOCK
        if not self._busy.acquire(blocking=waits):
            raise MqiFailure(mq.MQRC_CALL_IN_PROGRESS)
        if self._end.locked() and not from_consumer:
            self._busy.release()
            raise MqiFailure(mq.MQRC_HCONN_ERROR)
        self._is_consumers = from_consumer

    def check_thread(self, from_consumer: bool = False) -> None:
        """MqiFailure(2018) if this thread may not use the connection. See enter()."""
        is_shared = self._options & SHARED
        if not (is_shared or from_consumer or threading.get_ident() == self._thread):
            raise MqiFailure(mq.MQRC_HCONN_ERROR)

    def try_enter(self) -> bool:
        """Begin a call from whatever thread, unless one is in progress; whether it has begun."""
        return self._busy.acquire(blocking=False)

    def leave(self) -> None:
        """End a call."""
        self._busy.release()

    def begin_end(self, by_force: bool) -> None:
        """Begin a disconnection: from now on only functions of the connection are let in.

        by_force: from whatever thread, whatever is in progress. MqiFailure(2018, 2219) if it is
        refused. What such a function has in progress is no reason: it is waited for.
        """
        if not by_force:
            self.check_thread()
        waits = not (by_force or self._options & mq.MQCNO_HANDLE_SHARE_NO_BLOCK)
        is_free = self._busy.acquire(blocking=waits)
        try:
            if not (is_free or by_force or self._is_consumers):
                raise MqiFailure(mq.MQRC_CALL_IN_PROGRESS)
            if not self._end.acquire(blocking=False):
                raise MqiFailure(mq.MQRC_HCONN_ERROR)
        finally:
            if is_free:
                self._busy.release()

    def abort_end(self) -> None:
        """Let calls in again: the disconnection was interrupted."""
        self._end.release()
