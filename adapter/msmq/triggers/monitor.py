"""One monitored queue: peeks at its messages in order, and activates its triggers for each.

The theory of the walk. The monitor has a cursor that goes back for messages of higher priority
(REWINDING): what arrives before the cursor is peeked at next, and then everything behind it again.
The cursor is nowhere stored, so that a service which is started begins at the head.

At a message that is not on its topic the cursor stays, and the message is asked for again from time
to time: it may be restored, received or removed. From the head, the triggers would be activated
again for all that comes before it. What arrives with a higher priority is not kept back by it.

Serialized triggers: the next peek is sent when the actions for a message have ended. Others: it is
sent as soon as a message has been peeked at, and before any action begins the queue manager has it,
because a question that was sent behind it has been answered. So a transaction in which an action
receives the message and then fails puts it back while a peek is pending at its place, which is
answered with it: the trigger is activated for it again (S0.19-S0.22). If the peek that was sent
ahead is answered with a message of higher priority before the actions for the one in hand begin,
that one is put off: the cursor comes to it again behind the other (S0.9).

This module does not know how an action is carried out.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from adapter.connection.channel.requests import Pending
from adapter.core.contract import msmq as c
from adapter.core.contract.results import Messages
from adapter.errors import Error
from adapter.msmq.cursor import MessageCursor
from adapter.msmq.enumerations import QueueAccessMode
from adapter.msmq.error_codes import MessageQueueErrorCode as Code
from adapter.msmq.errors import MessageQueueException
from adapter.msmq.host import Host
from adapter.msmq.message import Message, incoming
from adapter.msmq.queue import MessageQueue
from adapter.msmq.triggers.activations import Journal, Peek
from adapter.msmq.triggers.model import Processing, Trigger
from adapter.msmq.xml_formatter import XmlMessageFormatter

log = logging.getLogger("adapter.msmq")

PAUSE_S = 1.0
"""Between two attempts while the queue manager is away."""
GONE = frozenset({Code.QUEUE_NOT_FOUND, Code.QUEUE_DELETED, Code.ACCESS_DENIED})
"""What is not waited for: the triggers of the queue are out of order."""

Activate = Callable[[MessageQueue, Trigger, Message], None]


class QueueMonitor:
    """Monitors one queue for its triggers. run() is for a thread of its own."""

    def __init__(
        self,
        host: Host,
        path: str,
        triggers: list[Trigger],
        activate: Activate,
        journal: Journal,
        changed: threading.Condition,
    ) -> None:
        """changed: notified when the monitor begins or ends to wait."""
        self.path = path
        self.triggers = triggers
        self._ending = threading.Lock()
        """Held for a moment. The service asks under its own lock, and waits for no other."""
        self._is_asked_anew = False
        """Whether watch() was called since the monitor has seen last that the queue is gone."""
        self._host = host
        self._activate = activate
        self._journal = journal
        self._changed = changed
        self._stopping = threading.Event()
        self._pending: tuple[Pending, Peek] | None = None
        self._queue: MessageQueue | None = None
        self._cursor: MessageCursor | None = None
        self._busy = True
        self._has_ended = False
        self._damage = ""
        """What was logged last of a damaged message."""

    @property
    def serialized(self) -> bool:
        """Whether a message is peeked at only when the actions for the one before have ended."""
        return any(trigger.serialized for trigger in self.triggers)

    @property
    def pending_peeks(self) -> int:
        """How many peeks the queue manager has and has not answered: 0 or 1."""
        pending = self._pending
        return int(pending is not None and pending[0].answer is None)

    def watch(self, triggers: list[Trigger]) -> bool:
        """Monitor for these triggers from now on; False if it has ended, or been stopped.

        A queue that was deleted may be there again now: an end that is under way is no end then.
        """
        with self._ending:
            if self._has_ended or self._stopping.is_set():
                return False
            self.triggers = triggers
            self._is_asked_anew = True
            return True

    @property
    def has_ended(self) -> bool:
        """Whether it monitors no more: its queue is gone, or it was stopped."""
        return self._has_ended

    @property
    def is_idle(self) -> bool:
        """Whether it waits for a message, or for none any more."""
        return self._has_ended or (not self._busy and self.pending_peeks == 1)

    def await_answers(self) -> None:
        """Wait until what the queue manager has answered by now is known here."""
        queue = self._queue
        if queue is not None:
            queue.await_answers()

    def open(self) -> None:
        """Open the queue. Raises MessageQueueException."""
        peeks = all(one.processing is Processing.PEEKING for one in self.triggers)
        access = QueueAccessMode.PEEK if peeks else QueueAccessMode.RECEIVE
        self._queue = self._host.open(self.path, access=access)
        self._cursor = self._queue.create_cursor()

    def run(self) -> None:
        """Activate the triggers for each message, until stop()."""
        try:
            self._run()
        finally:
            self._has_ended = True
            self._is_busy(False)

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                if self._queue is None:
                    self.open()
                self._walk()
            except MessageQueueException as problem:
                if self._stopping.is_set() or not self._may_go_on(problem):
                    return
                self._stopping.wait(PAUSE_S)

    def _may_go_on(self, problem: MessageQueueException) -> bool:
        """Whether the queue is monitored further, and say from where."""
        self._pending = None
        code = problem.message_queue_error_code
        if code == Code.MESSAGE_STORAGE_FAILED:
            if str(problem) != self._damage:
                self._damage = str(problem)
                log.error(
                    "the triggers of queue %s wait at a damaged message: %s; restore its topic, or "
                    "remove the message",
                    self.path,
                    problem,
                )
            return True
        self._queue = None
        if self._host.is_closed or (code in GONE and not self._tries_again()):
            log.error("the triggers of queue %s are out of order: %s", self.path, problem)
            return False
        log.warning("queue %s is monitored from its head again: %s", self.path, problem)
        return True

    def _tries_again(self) -> bool:
        """Whether a queue that is gone is opened once more; if not, this is the end."""
        with self._ending:
            self._has_ended = not self._is_asked_anew
            self._is_asked_anew = False
            return not self._has_ended

    def stop(self) -> None:
        """Stop monitoring; a pending peek is cancelled. From any thread."""
        self._stopping.set()
        queue = self._queue
        if queue is not None and not self._host.is_closed:
            try:
                queue.close()
            except Error as problem:
                log.warning("queue %s was not closed: %s", self.path, problem)

    def _walk(self) -> None:
        """Peek at one message after the other."""
        self._peek()
        while not self._stopping.is_set():
            message = self._next()
            if message is None:
                continue
            if not self.serialized:
                self._peek()
                if self._is_overtaken(message):
                    continue
            self._process(message)
            if self.serialized:
                self._peek()

    def _process(self, message: Message) -> None:
        queue = self._queue
        assert queue is not None, "a message was peeked at"
        for trigger in list(self.triggers):
            if trigger.enabled and not self._stopping.is_set():
                self._activate(queue, trigger, message)

    def _peek(self) -> None:
        """Send a peek, and return when the queue manager has it."""
        queue, cursor = self._queue, self._cursor
        assert queue is not None, "run() opens the queue"
        assert cursor is not None, "run() opens the queue"
        peek = Peek(self.path, tuple(trigger.name for trigger in self.triggers))
        command = c.MsmqReceive(
            cursor.handle, wait_ms=-1, peek=True, start=c.REWINDING, cursor=cursor.number
        )
        self._pending = queue.peek_ahead(command), peek
        self._journal.peeked(peek)

    def _next(self) -> Message | None:
        """Wait for the answer to the pending peek."""
        assert self._pending is not None, "a peek was sent"
        assert self._queue is not None, "run() opens the queue"
        request, peek = self._pending
        self._is_busy(False)
        delivered = self._queue.await_peek(request)
        self._is_busy(True)
        self._pending = None
        if delivered is None:
            return None
        message = incoming(delivered, XmlMessageFormatter())
        peek.message_id, peek.lookup_id = message.id, message.lookup_id
        return message

    def _is_overtaken(self, message: Message) -> bool:
        """Whether the peek that was sent ahead has been answered with a higher priority."""
        assert self._pending is not None, "a peek was sent ahead"
        answer = self._pending[0].answer
        if not isinstance(answer, Messages) or not answer.messages:
            return False
        return answer.messages[0].lane > int(message.priority)

    def _is_busy(self, busy: bool) -> None:
        with self._changed:
            self._busy = busy
            self._changed.notify_all()
