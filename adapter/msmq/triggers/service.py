"""TriggerService: activates triggers as messages arrive on their queues.

    service = TriggerService(host)
    service.add(Trigger("orders", r".\\private$\\orders", rules=[Rule("all", action=Call(handle))]))
    service.run()

A service that is started begins at the head of every queue. This module does not know how a queue
is walked through: monitor does.
"""

from __future__ import annotations

import logging
import threading
import time
import weakref
from datetime import timedelta

from msgspec import Struct

from adapter.connection.channel.plain_arguments import as_whole
from adapter.host import watched
from adapter.host.allowed import AllowedPrograms
from adapter.msmq.errors import InvalidOperationError
from adapter.msmq.host import Host
from adapter.msmq.message import Message
from adapter.msmq.names import here_as_dot, one_name
from adapter.msmq.queue import MessageQueue
from adapter.msmq.triggers.activations import Activation, Journal, Peek
from adapter.msmq.triggers.model import Trigger, check_together
from adapter.msmq.triggers.monitor import QueueMonitor
from adapter.msmq.triggers.rules import TriggerRules

log = logging.getLogger("adapter.msmq")

JOIN_S = 60.0
"""Stopping waits so long for the actions that run."""
REPEATS_AT_ONCE = 60
"""Activations for one message without a pause: a transaction that aborts is repeated soon."""
PAUSE_S = 0.01
PAUSE_S_MAX = 1.0
"""Between later ones, twice as long each time, so that a missing program is no load."""
ENDED = "the trigger service was stopped"


def pause_before(count: int) -> float:
    """Return how many seconds to wait before a trigger is activated for the same message for the
    count-th time, one after the other.
    """
    repeats = count - REPEATS_AT_ONCE
    return min(PAUSE_S * 2 ** min(repeats, 16), PAUSE_S_MAX) if repeats >= 0 else 0.0


class Repeats(Struct, frozen=True):
    """How often a trigger was activated for a message, one time after the other.

    walk: the queue as its monitor has it open: a monitor that begins again at the head, and a queue
    that was deleted and created again, begin with no count. message: its id and lookup id, because
    a send to several queues has all copies the same id.
    """

    walk: weakref.ref[MessageQueue]
    message: tuple[str, int]
    count: int


class TriggerService:
    """Monitors queues for triggers. Every method may be called from any thread.

    max_repeats: how often a trigger is activated for the same message one time after the other,
    before the message is left alone until another comes; None: without limit, as MSMQ does.
    """

    def __init__(
        self,
        host: Host,
        *,
        max_repeats: int | None = None,
        allowed: AllowedPrograms | None = None,
    ) -> None:
        self._host = host
        self._max_repeats = (
            None if max_repeats is None else as_whole("max_repeats", max_repeats, 1, 2**31)
        )
        self._lock = threading.RLock()
        self._changed = threading.Condition()
        self._triggers: dict[str, Trigger] = {}
        self._monitors: dict[str, QueueMonitor] = {}
        self._threads: list[threading.Thread] = []
        self._repeats: dict[str, Repeats] = {}
        self._journal = Journal()
        self._rules = TriggerRules(host, self._journal, allowed)
        self._running = False
        self._has_begun = False
        """Whether it was started before; only then is a stop() before run() one of the past."""
        self._computer = ""
        """The host's, once it is known."""
        self._stopping = threading.Event()
        self._stopped = threading.Event()

    # -- triggers

    @property
    def triggers(self) -> list[Trigger]:
        """The triggers, in the order in which they were added."""
        with self._lock:
            return list(self._triggers.values())

    def add(self, trigger: Trigger) -> None:
        """Add a trigger; a running service monitors its queue from now on.

        Several triggers of one queue all peek, and all are serialized or none is.
        Raises InvalidOperationError; MessageQueueException if the queue cannot be opened.
        """
        with self._lock:
            if trigger.name in self._triggers:
                raise InvalidOperationError(
                    f"trigger {trigger.name} exists: remove it, or choose another name"
                )
            key = self._key(trigger.queue)
            others = [one for one in self._triggers.values() if self._key(one.queue) == key]
            check_together([*others, trigger])
            self._triggers[trigger.name] = trigger
            if self._running and trigger.enabled:
                try:
                    self._monitor(trigger.queue)
                except BaseException:
                    del self._triggers[trigger.name]
                    raise
            trigger._watchers.append(self._switch)

    def remove(self, name: str) -> None:
        """Remove a trigger. Raises InvalidOperationError if no trigger has this name."""
        with self._lock:
            trigger = self._triggers.pop(name, None)
            if trigger is None:
                raise InvalidOperationError(f"trigger {name} does not exist")
            trigger._watchers.remove(self._switch)
            self._repeats.pop(name, None)
            self._leave(trigger)

    def _switch(self, trigger: Trigger) -> None:
        """Begin or end to monitor a queue for a trigger that was enabled or disabled."""
        with self._lock:
            if not self._running:
                return
            if trigger.enabled:
                self._monitor(trigger.queue)
            else:
                self._leave(trigger)

    def _leave(self, trigger: Trigger) -> None:
        """Monitor a queue for its other triggers, if it has any."""
        key = self._key(trigger.queue)
        monitor = self._monitors.get(key)
        if monitor is not None:
            monitor.triggers = [one for one in monitor.triggers if one is not trigger]
            if not monitor.triggers:
                del self._monitors[key]
                monitor.stop()

    # -- running

    def start(self) -> None:
        """Monitor the queues, in the background. Raises MessageQueueException if one is missing."""
        with self._lock:
            if self._running:
                raise InvalidOperationError("the trigger service runs already")
            self._running = self._has_begun = True
            self._stopped.clear()
            self._stopping.clear()
            self._rules.programs.resume()
            self._repeats.clear()
            try:
                for queue in dict.fromkeys(one.queue for one in self.triggers if one.enabled):
                    self._monitor(queue)
            except BaseException:
                self.stop()
                raise

    def run(self) -> None:
        """Monitor the queues until stop(), which another thread or a signal handler calls, maybe
        before the first run() has begun.
        """
        with self._lock:
            if not self._has_begun and self._stopping.is_set():
                self._has_begun = True
                return
            self.start()
        self._stopped.wait()

    def stop(self) -> None:
        """Stop monitoring. Returns when the actions that run have ended; programs are ended."""
        self._stopping.set()
        with self._lock:
            self._stopping.set()  # again: a start that was in progress has cleared it
            self._running = False
            monitors, self._monitors = list(self._monitors.values()), {}
            threads, self._threads = self._threads, []
        for monitor in monitors:
            monitor.stop()
        self._rules.programs.stop()
        until_s = time.monotonic() + JOIN_S
        for thread in threads:
            if thread is not threading.current_thread():
                thread.join(max(until_s - time.monotonic(), 0))
        self._stopped.set()
        with self._changed:
            self._changed.notify_all()

    def wait_idle(self, timeout: float | timedelta | None = None) -> bool:
        """Wait until every message that was sent before has been processed; False if it was not in
        time. timeout: seconds; None: without limit.
        """
        seconds = timeout.total_seconds() if isinstance(timeout, timedelta) else timeout
        until_s = None if seconds is None else time.monotonic() + seconds
        while True:
            if self._is_idle():
                return True
            left_s = None if until_s is None else until_s - time.monotonic()
            if left_s is not None and left_s <= 0:
                return False
            with self._changed:
                if not self._all_wait():
                    self._changed.wait(left_s)

    def _is_idle(self) -> bool:
        """Whether all monitors wait, and the queue manager has no message for them.

        The queue manager answers in order: once it has answered a question, the peeks that were
        answered before it are known here.
        """
        with self._lock:
            monitors = list(self._monitors.values())
        for monitor in monitors:
            if monitor.is_idle:
                monitor.await_answers()
        return all(monitor.is_idle for monitor in monitors)

    def _all_wait(self) -> bool:
        with self._lock:
            return all(monitor.is_idle for monitor in self._monitors.values())

    # -- what happened

    @property
    def activations(self) -> list[Activation]:
        """The last 10,000 activations, in order; one that goes on has not all its fields yet."""
        return self._journal.activations

    @property
    def peeks(self) -> list[Peek]:
        """The last 10,000 peeks, in order."""
        return self._journal.peeks

    def pending_peeks(self, name: str) -> int:
        """Return how many peeks for a trigger the queue manager has, and has not answered: 0 or 1.

        Raises InvalidOperationError if no trigger has this name.
        """
        with self._lock:
            trigger = self._triggers.get(name)
            if trigger is None:
                raise InvalidOperationError(f"trigger {name} does not exist")
            monitor = self._monitors.get(self._key(trigger.queue))
        return 0 if monitor is None else monitor.pending_peeks

    def statistics(self) -> dict[str, int]:
        """Return the figures of this service."""
        with self._lock:
            living = [one for one in self._monitors.values() if not one.has_ended]
            own = {"triggers": len(self._triggers), "queues": len(living)}
        return own | self._journal.statistics()

    # -- how

    def _key(self, path: str) -> str:
        """Return what all names of one queue have in common."""
        if not self._computer:
            self._computer = self._host.computer or self._host.computers.locate("").computer
        return one_name(here_as_dot(path, self._host.computers.is_known), self._computer)

    def _monitor(self, path: str) -> None:
        """Monitor a queue for its triggers. Raises MessageQueueException."""
        key = self._key(path)
        triggers = [
            one for one in self._triggers.values() if self._key(one.queue) == key and one.enabled
        ]
        monitor = self._monitors.get(key)
        if monitor is not None and monitor.watch(triggers):
            return
        monitor = QueueMonitor(
            self._host, path, triggers, self._activate, self._journal, self._changed
        )
        monitor.open()
        self._monitors[key] = monitor
        self._threads = [one for one in self._threads if one.is_alive()]
        self._threads.append(watched.thread(f"triggers of {path}", monitor.run, self._ended))

    def _ended(self, text: str) -> None:
        log.error("%s; its triggers are out of order until the service is started again", text)

    def _activate(self, queue: MessageQueue, trigger: Trigger, message: Message) -> None:
        if not self._repeats_too_often(queue, trigger, message):
            self._rules.apply(queue, trigger, message)

    def _repeats_too_often(self, queue: MessageQueue, trigger: Trigger, message: Message) -> bool:
        """Count activations for the same message one after the other."""
        last, place = self._repeats.get(trigger.name), (message.id, message.lookup_id)
        is_same = last is not None and last.walk() is queue and last.message == place
        count = last.count + 1 if last is not None and is_same else 1
        self._repeats[trigger.name] = Repeats(weakref.ref(queue), place, count)
        if self._max_repeats is None or count <= self._max_repeats:
            self._stopping.wait(pause_before(count))
            return self._stopping.is_set()
        self._journal.count("repeats_stopped")
        log.warning(
            "trigger %s was activated %d times for message %s, and is not activated again",
            trigger.name,
            self._max_repeats,
            message.id,
        )
        return True
