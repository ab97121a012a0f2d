"""ActivationService: starts readers for the messages of queues that have activation.

    service = ActivationService(broker, allow=["/usr/local/bin/read-orders"])
    service.run()

The procedure of a queue is a program, which is started with the queue's name as its argument, or a
Python callable "module:function", which is called with a new session and the queue's name in a
thread of its own. Every client may write any text as a queue's procedure; so the service starts
only those that it was allowed to. The queue manager decides when messages need a reader. A reader
that fails, or ends without having received any of the messages that are there, is followed by a
pause, which grows from one failure to the next. This module does not know what a reader does.
"""

from __future__ import annotations

import importlib
import logging
import math
import os
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct, field

from adapter.core.attributes import broker as kinds
from adapter.core.contract import broker as b
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Descriptions, QueueDescription
from adapter.errors import Error
from adapter.host import launch, watched
from adapter.host.allowed import AllowedPrograms
from adapter.servicebroker.arguments import as_queue, written
from adapter.servicebroker.broker import ServiceBroker
from adapter.servicebroker.errors import InvalidArgument, ServiceBrokerError
from adapter.servicebroker.events import Following, Outage

log = logging.getLogger("adapter.servicebroker")

CALLABLE = re.compile(r"[^\W\d][\w.]*:[^\W\d][\w.]*")
WAIT_MS = 500
"""A wait for events, after which the service looks whether it is stopped, or a pause is over."""
LOOK_S = 0.2
"""A program is looked at so often, in case the service is stopped."""
PAUSE_FIRST_S, PAUSE_MAX_S = 1.0, 60.0
QUIET_S = 60.0
"""After which a reader that has not received yet is reported: no other one is started."""
QUIET = (
    "queue %s: its last reader has not received for %.0f s, and no other one is started before it "
    "does or ends: see what it waits for"
)
NOT_ALLOWED = (
    "queue %s: its procedure %r is not started, because this service does not allow it: start the "
    "service with this procedure allowed, or alter the queue"
)
FAILED = "%s failed for queue %s: %s; the next reader is started after %.0f s at the earliest"
HIDDEN = (
    "queue %s: no reader is started, because this service may not look at it: grant its user VIEW "
    "DEFINITION and RECEIVE on the queue"
)
HIDDEN_AGAIN_S = 5.0
"""A queue that the service may not look at is looked at again so often: that a right was granted is
said by no event."""
SWEEP_AT = 64
"""Queues that are known before all are looked at again, as some may be gone; then twice as many as
are left."""
STOP_GRACE_S, JOIN_S = 10.0, 15.0
"""Programs are given so long to end when the service is stopped; all readers."""


Receives = tuple[int, int]
"""The number of a session, and how often had been received from a queue as the queue manager counts
while it runs."""


class _ReaderEnd(Struct):
    """How a reader ended. receives: of its queue as it was started; problem: empty: none."""

    procedure: str
    receives: Receives
    problem: str


class _Queue(Struct):
    """The readers of one queue. ends: of those that were not judged yet; pause_s: how long the
    pause after the next failure is; until_s: when a pause is over; is_due: whether to look at it;
    receives: how often had been received when the last reader was started, which still runs;
    refused: the procedure that was not allowed when it was last looked at; is_hidden: it could not
    be looked at then; again_s: when it is looked at again; quiet_s: when the last reader is
    reported if it has not received until then.
    """

    name: str
    pause_s: float
    running: int = 0
    ends: list[_ReaderEnd] = field(default_factory=list)
    until_s: float = 0.0
    is_due: bool = True
    receives: Receives | None = None
    refused: str = ""
    is_hidden: bool = False
    again_s: float = math.inf
    quiet_s: float = math.inf


class _Queues:
    """The queues that are known, by name. It is used under the lock of its service."""

    def __init__(self) -> None:
        self._of: dict[str, _Queue] = {}
        self._sweep_at = SWEEP_AT

    def __len__(self) -> int:
        return len(self._of)

    def __iter__(self) -> Iterator[_Queue]:
        return iter(self._of.values())

    def note(self, name: str, pause_s: float) -> None:
        """Note that a queue may need a reader. pause_s: see _Queue, of one that was not known."""
        self._of.setdefault(name.lower(), _Queue(name, pause_s)).is_due = True
        if len(self._of) > self._sweep_at:
            self._sweep_at = 2 * len(self._of)
            self.note_all()

    def note_all(self) -> None:
        """Note that any of them may need a reader, or may be gone."""
        for queue in self:
            queue.is_due = True

    def take_due(self) -> list[_Queue]:
        """Return those that are to be looked at now."""
        now_s = time.monotonic()
        due = [one for one in self if _is_to_look_at(one, now_s)]
        for queue in due:
            queue.is_due, queue.again_s = False, math.inf
        return due

    def forget(self, queue: _Queue) -> None:
        """Forget a queue that is gone, unless readers of it still run."""
        if not queue.running:
            self._of.pop(queue.name.lower(), None)
            self._sweep_at = max(SWEEP_AT, 2 * len(self._of))


class ActivationService:
    """Starts readers for queues. Every method may be called from any thread.

    queues: the names of the queues; empty: every queue with activation. allow: the procedures that
    may be started, as queues have them. environment: of programs; None: that of this process.
    pause_s: before another reader, after one that failed; it grows. programs: those that may be
    started at all, by their directories; None: all that allow names.
    """

    def __init__(
        self,
        broker: ServiceBroker,
        queues: Iterable[str] = (),
        *,
        allow: Iterable[str],
        environment: Mapping[str, str] | None = None,
        pause_s: float = PAUSE_FIRST_S,
        programs: AllowedPrograms | None = None,
    ) -> None:
        self._broker = broker
        self._only = {as_queue(name).lower(): name for name in _as_list("queues", "names", queues)}
        self._allowed = frozenset(_as_list("allow", "procedures", allow))
        self._environment = environment
        self._programs = programs
        self._pause_s = pause_s
        self._changed = threading.Condition()
        self._queues = _Queues()
        self._sessions: set[ServiceBroker] = set()
        self._threads: set[threading.Thread] = set()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._counts = {"started": 0, "ended": 0, "failures": 0}
        self._looked = 0
        self._sessions_begun = 0
        self._problem, self._has_ended = "", True
        self._is_awaited = False  # by run(): another one starts it again

    # -- running

    def start(self) -> None:
        """Start readers as they are needed, in the background. Raises ServiceBrokerError if a queue
        does not exist; InvalidArgument if the service runs, or a queue has no activation.
        """
        if self._thread is not None and self._thread.is_alive():
            raise InvalidArgument("the activation service runs already")
        self._stopping.clear()  # first: a stop() from now on ends what is being started
        self._start_work()

    def _start_work(self) -> None:
        _check_activation(self._broker, self._only.values())
        self._problem, self._is_awaited, self._has_ended = "", False, False
        self._thread = watched.thread("activation service", self._work, self._ended)

    def run(self) -> None:
        """Start readers until stop(), which another thread calls, maybe before this. Starts the
        service unless start() did. Raises ServiceBrokerError if it ends by itself.
        """
        if self._thread is None:
            self._start_work()
        elif self._is_awaited and not self._thread.is_alive():
            self.start()
        self._is_awaited = True
        while self._thread and self._thread.is_alive():
            self._thread.join(LOOK_S)
        if self._problem:
            raise ServiceBrokerError(0, self._problem)

    def stop(self) -> None:
        """Start no more readers, and wait for those that run; programs are ended. A callable that
        does not end in time loses its session.
        """
        self._stopping.set()
        with self._changed:
            self._changed.notify_all()
            threads = list(self._threads)
        until_s = time.monotonic() + JOIN_S
        for thread in [*threads, self._thread]:
            if thread is not None and thread is not threading.current_thread():
                thread.join(max(until_s - time.monotonic(), 0))
        with self._changed:
            sessions = list(self._sessions)
        for session in sessions:
            session.close()

    def wait_idle(self, timeout: float | None = None) -> bool:
        """Wait until no reader runs and none is needed; False if that was not in time (seconds), or
        the service does not run.
        """
        until_s = None if timeout is None else time.monotonic() + timeout
        with self._changed:
            seen = self._looked
            self._queues.note_all()
            while self._looked == seen or any(map(_is_busy, self._queues)):
                left_s = None if until_s is None else until_s - time.monotonic()
                if self._has_ended or (left_s is not None and left_s <= 0):
                    return False
                self._changed.wait(left_s)
        return True

    def statistics(self) -> dict[str, int]:
        """Return the figures of this service: queues, running, started, ended and failures."""
        with self._changed:
            running = sum(one.running for one in self._queues)
            return {"queues": len(self._queues), "running": running} | self._counts

    def _ended(self, text: str) -> None:
        self._problem = f"{text}; no reader is started until the service is started again"
        log.error("%s", self._problem)

    # -- which queue needs a reader

    def _work(self) -> None:
        """Follow the events, over a session of its own that is opened again when it is lost."""
        outage = Outage("activation", self._stopping)
        try:
            while not self._stopping.is_set():
                try:
                    with self._broker.another() as session:
                        following = self._begin(session)
                        while not self._stopping.is_set():
                            self._turn(session, following, WAIT_MS)
                            outage.over()
                except Error as problem:
                    outage.wait(problem)
        finally:
            with self._changed:
                self._has_ended = True
                self._changed.notify_all()

    def _begin(self, session: ServiceBroker) -> Following:
        """Note every queue with activation; returns what follows the next events."""
        self._sessions_begun += 1
        following = Following(b.QUEUE_ACTIVATION)
        following.read(session, 0)
        self._note(*_with_activation(session))
        return following

    def _turn(self, session: ServiceBroker, following: Following, wait_ms: int) -> None:
        """Start the readers that are needed, and wait for the next events. If some were missed, any
        queue may need a reader.
        """
        self._look(session)
        wait_ms = 0 if self._has_due() else wait_ms
        term = following.term
        found, has_missed = following.read(session, wait_ms)
        if following.term != term:
            self._sessions_begun += 1  # a new owner, which counts receives anew
        self._note(*(one.name for one in found), *(_with_activation(session) if has_missed else []))

    def _has_due(self) -> bool:
        """Whether a queue is to be looked at now."""
        with self._changed:
            return any(_is_to_look_at(one, time.monotonic()) for one in self._queues)

    def _note(self, *names: str) -> None:
        """Note that queues may need a reader."""
        with self._changed:
            for name in names:
                if not self._only or name.lower() in self._only:
                    self._queues.note(name, self._pause_s)

    def _look(self, session: ServiceBroker) -> None:
        """Start a reader for every queue that needs one and has no pause."""
        with self._changed:
            due = self._queues.take_due()
        for at, queue in enumerate(due):
            try:
                self._look_at(session, queue)
            except Error as problem:
                if not _is_left(queue, problem):
                    for one in due[at:]:
                        one.is_due = True
                    raise
                if problem.refused is Reason.QUEUE_NOT_FOUND:
                    with self._changed:
                        self._queues.forget(queue)
        with self._changed:
            self._looked += 1
            self._changed.notify_all()

    def _look_at(self, session: ServiceBroker, queue: _Queue) -> None:
        shown = _queue(session, queue.name)
        queue.is_hidden = False
        with self._changed:
            ends, queue.ends = queue.ends, []
        for end in ends:
            self._judge(queue, end, shown)
        is_on = shown["activation_procedure"] and shown["activation_status"]
        receives = self._sessions_begun, shown["receives"]
        has_received = queue.receives != receives  # the last one receives first
        has_room = has_received and queue.running < shown["max_queue_readers"]
        _note_quiet(queue, is_waited_for=not has_received and shown["activation_needed"])
        if queue.until_s > time.monotonic():
            queue.is_due = True
        elif is_on and has_room and shown["activation_needed"] and not self._stopping.is_set():
            procedure = shown["activation_procedure"]
            if self._is_allowed(queue, procedure):
                self._start(queue, procedure, receives)

    def _is_allowed(self, queue: _Queue, procedure: str) -> bool:
        """Whether a procedure may be started; the queue of one that may not is left, and logged."""
        if procedure in self._allowed:
            queue.refused = ""
            return True
        if queue.refused != procedure:
            queue.refused = procedure
            with self._changed:
                self._counts["failures"] += 1
            log.error(NOT_ALLOWED, queue.name, procedure)
        return False

    def _judge(self, queue: _Queue, end: _ReaderEnd, shown: dict[str, Any]) -> None:
        """See whether a reader has failed; then the next one is started after a pause."""
        problem = end.problem
        receives = self._sessions_begun, shown["receives"]
        if not problem and shown["activation_needed"] and receives == end.receives:
            problem = "it ended without having received a message"
        if not problem:
            queue.pause_s = self._pause_s
            return
        with self._changed:
            self._counts["failures"] += 1
        log.error(FAILED, end.procedure, queue.name, problem, queue.pause_s)
        queue.until_s = time.monotonic() + queue.pause_s
        queue.pause_s = min(queue.pause_s * 2, PAUSE_MAX_S)

    # -- readers

    def _start(self, queue: _Queue, procedure: str, receives: Receives) -> None:
        def read() -> None:
            end = _ReaderEnd(procedure, receives, "it ended unexpectedly")
            try:
                end.problem = self._read(queue.name, procedure)
            finally:
                self._finish(queue, end)

        with self._changed:
            queue.running += 1
            queue.receives = receives
            queue.quiet_s = time.monotonic() + QUIET_S
            self._counts["started"] += 1
        log.info("started %s for queue %s", procedure, queue.name)
        started = watched.thread(f"reader of queue {queue.name}", read, log.error)
        with self._changed:
            self._threads = {one for one in self._threads if one.is_alive()} | {started}

    def _read(self, name: str, procedure: str) -> str:
        """Run a reader to its end. Returns what went wrong; empty: nothing."""
        try:
            if CALLABLE.fullmatch(procedure):
                return self._call(name, procedure)
            child = _start_program(procedure, name, self._environment, self._programs)
            return _await_end(child, self._stopping)
        except Exception as error:  # noqa: BLE001 -- whatever a function of the user's raises
            return str(error) or type(error).__name__

    def _call(self, name: str, procedure: str) -> str:
        function = _function(procedure)
        session = self._broker.another()
        with self._changed:
            self._sessions.add(session)
        try:
            function(session, written(name))
        finally:
            with self._changed:
                self._sessions.discard(session)
            session.close()
        return ""

    def _finish(self, queue: _Queue, end: _ReaderEnd) -> None:
        with self._changed:
            queue.running -= 1
            queue.receives, queue.quiet_s = None, math.inf
            queue.ends.append(end)
            queue.is_due = True
            self._counts["ended"] += 1
            self._changed.notify_all()


def _as_list(argument: str, of: str, given: Iterable[str]) -> Iterable[str]:
    """Refuse one text where a list is meant: it would be a list of its letters."""
    if isinstance(given, str):
        raise InvalidArgument(f"{argument} is a list of {of}, not the str {given!r}")
    return given


def _is_to_look_at(queue: _Queue, now_s: float) -> bool:
    is_due = queue.is_due and queue.until_s <= now_s
    return is_due or min(queue.quiet_s, queue.again_s) <= now_s


def _note_quiet(queue: _Queue, *, is_waited_for: bool) -> None:
    """Report the last reader, once, if it has had its time. is_waited_for: it has not received."""
    if queue.quiet_s <= time.monotonic():
        queue.quiet_s = math.inf
        if is_waited_for:
            log.warning(QUIET, queue.name, QUIET_S)


def _is_left(queue: _Queue, problem: Error) -> bool:
    """Whether a queue that could not be looked at is left: it is gone; or for a while, as the
    service may not see it, which is logged once.
    """
    queue.quiet_s = math.inf
    if problem.refused is Reason.AUTHORITY_MISSING:
        queue.again_s = time.monotonic() + HIDDEN_AGAIN_S
        if not queue.is_hidden:
            queue.is_hidden = True
            log.error(HIDDEN, queue.name)
    return problem.refused in (Reason.QUEUE_NOT_FOUND, Reason.AUTHORITY_MISSING)


def _is_busy(queue: _Queue) -> bool:
    return bool(queue.running or queue.is_due)


def _check_activation(broker: ServiceBroker, queues: Iterable[str]) -> None:
    for name in queues:
        if broker.queue(name).activation is None:
            raise InvalidArgument(f"queue {name} has no activation: alter the queue")


def as_argument(queue: str) -> str:
    """Write a queue's name as an argument of a program, which must not take it for an option.

    >>> as_argument("-c"), as_argument("Orders")
    ('dbo.-c', 'Orders')
    """
    return f"dbo.{queue}" if queue.startswith("-") else written(queue)


def _function(procedure: str) -> Callable[[ServiceBroker, str], object]:
    module, _, path = procedure.partition(":")
    found: Any = importlib.import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    function: Callable[[ServiceBroker, str], object] = found
    return function


def _with_activation(session: ServiceBroker) -> list[str]:
    """Return the names of the queues with activation."""
    found: list[QueueDescription] = []
    command = b.BrokerInquire(kinds.QUEUE)
    while True:
        part = session._ask(command, Descriptions).queues
        found += part
        if len(part) < command.count:
            return [one.name for one in found if one.attributes["activation_procedure"]]
        command = b.BrokerInquire(kinds.QUEUE, "", part[-1].name)


def _queue(session: ServiceBroker, name: str) -> dict[str, Any]:
    one = session._ask(b.BrokerInquire(kinds.QUEUE, name), Descriptions).queues[0]
    shown: dict[str, Any] = one.attributes
    return shown


def _start_program(
    procedure: str,
    queue: str,
    environment: Mapping[str, str] | None,
    programs: AllowedPrograms | None,
) -> launch.Child:
    inherited = os.environ if environment is None else environment
    told, arguments = {**inherited, "MQK_QUEUE": written(queue)}, [procedure, as_argument(queue)]
    if programs is not None:
        return programs.start(arguments, told)
    return launch.start(arguments, output=None, environment=told)


def _await_end(child: launch.Child, stopping: threading.Event) -> str:
    """Wait until a program ends, or is to stop. Returns what went wrong; empty: nothing."""
    while (status := child.wait(LOOK_S)) is None:
        if stopping.is_set():
            child.stop_group(STOP_GRACE_S)
            return ""
    child.leave_group()
    return f"it ended with status {status}" if status else ""
