"""Watches: of each consumer a thread that waits for a message of its queue, and takes none.

This module knows no function of the program, and not what becomes of a message.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable

from adapter import mq_constants as mq
from adapter.mqi.consume_states import STARTED, Consumption
from adapter.mqi.consumers import CallbackConsumer
from adapter.mqi.getting import look
from adapter.mqi.message_handles import MessageHandles
from adapter.mqi.reasons import MqiFailure
from adapter.mqi.reentry import Reentry
from adapter.mqi.session import MqiSession

WAIT_SLICE_MS = 250
"""A watch looks up so often whether it is to end."""
PAUSE_S = 0.25
"""After a get that failed for a reason that may pass, such as MQRC_GET_INHIBITED."""


class Watches:
    """The watches of one connection. changed: what all waits are at, also those of its owner."""

    def __init__(
        self,
        session: MqiSession,
        handles: MessageHandles,
        reentry: Reentry,
        changed: threading.Condition,
        consumption: Consumption,
    ) -> None:
        self._session = session
        self._handles = handles
        self._reentry = reentry
        self._changed = changed
        self._consumption = consumption
        self._turn = 0
        """Counts the times that watches began: those of an earlier one end, and say nothing."""
        self.ready: deque[CallbackConsumer] = deque()
        """Consumers that have something to be called for, in the order in which it came."""
        self.are_kept = False
        """Whether consumers have watches now."""

    @property
    def is_started(self) -> bool:
        """Whether consumers have been told of the start, and not of the stop."""
        return self.are_kept or self._consumption.state is STARTED

    def add_start(self, consumer: CallbackConsumer) -> None:
        """Have a consumer called for the start, before all else. Under the condition."""
        consumer.is_to_start = True
        self.ready.append(consumer)
        self._changed.notify_all()

    def begin(self, consumers: Iterable[CallbackConsumer]) -> None:
        """Watch consumers. Under the condition. MqiFailure(2102) if there are no threads."""
        self.are_kept = True
        for consumer in consumers:
            self.add(consumer)

    def add(self, consumer: CallbackConsumer) -> None:
        """Watch one more. Under the condition. MqiFailure(2102) if there is no thread."""
        if consumer.opened is None:
            return
        consumer.is_ready, consumer.failure, consumer.idle_since_s = False, None, None
        name = f"mqi-{self._session.number}-{consumer.hobj}"
        turn = self._turn
        begin_thread(lambda: self._watch(consumer, turn), name)

    def end(self) -> None:
        """End the watches, and forget who is ready. The threads end with the slice they wait in."""
        with self._changed:
            self.are_kept = False
            self._turn += 1
            self.ready.clear()
            self._changed.notify_all()

    def _watch(self, consumer: CallbackConsumer, turn: int) -> None:
        while self._waits(consumer, turn):
            failure = None
            try:
                with self._reentry.inside():
                    is_there = self._look(consumer)
            except MqiFailure as problem:
                is_there, failure = True, problem
            self._reentry.catch_up()
            if is_there:
                with self._changed:
                    if turn != self._turn:
                        return
                    consumer.failure, consumer.is_ready = failure, True
                    self.ready.append(consumer)
                    self._changed.notify_all()

    def _waits(self, consumer: CallbackConsumer, turn: int) -> bool:
        """Wait until a consumer waits for a message; False: it will not any more."""

        def is_over() -> bool:
            return consumer.is_gone or turn != self._turn

        def is_to_look() -> bool:
            is_idle = not consumer.is_ready and not consumer.is_suspended
            return is_over() or (is_idle and self._consumption.state is STARTED)

        with self._changed:
            if not is_to_look():
                self._changed.wait_for(is_to_look)
                consumer.idle_since_s = None
            pause_s, consumer.pause_s = consumer.pause_s, 0.0
            if pause_s:
                self._changed.wait_for(is_over, pause_s)
            return not is_over()

    def _look(self, consumer: CallbackConsumer) -> bool:
        """Wait for a message to come, a slice of time; whether there is one.

        Raises MqiFailure: 2033 if none came for as long as the consumer waits.
        """
        now_s, limit_ms = time.monotonic(), consumer.limit_ms
        if consumer.idle_since_s is None:
            consumer.idle_since_s = now_s
        slice_ms, end_s = WAIT_SLICE_MS, consumer.idle_since_s + limit_ms / 1000
        if limit_ms >= 0:
            slice_ms = max(0, min(slice_ms, round((end_s - now_s) * 1000)))
        is_there = look(self._session, consumer.plan(self._session, self._handles), slice_ms)
        consumer.told = 0
        if not is_there and limit_ms >= 0 and time.monotonic() >= end_s:
            consumer.idle_since_s = None
            raise MqiFailure(mq.MQRC_NO_MSG_AVAILABLE)
        return is_there


def begin_thread(target: Callable[[], object], name: str) -> threading.Thread:
    """Start a thread that does not keep its process. MqiFailure(2102) if it cannot be."""
    thread = threading.Thread(target=target, name=name, daemon=True)
    try:
        thread.start()
    except RuntimeError as error:
        raise MqiFailure(mq.MQRC_RESOURCE_PROBLEM) from error
    return thread
