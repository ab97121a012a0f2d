"""The dead-letter handler: does with the messages of a dead-letter queue what a rules table says.

Each message is dealt with in a unit of its own, which puts it where it is to go and takes it off
the dead-letter queue: it is never lost and never there twice. What was tried how often is
remembered only here: a handler that is restarted counts again. This module knows no language of
rules.
Reference: IBM MQ, "How the DLQ rules table is processed".
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

from msgspec import Struct

from adapter import errors
from adapter.client.acting import comes_back
from adapter.client.browse import BrowsedMessage
from adapter.client.connection import Connection
from adapter.client.forwarding import as_it_was_put
from adapter.client.message import Message
from adapter.client.queue import meant_by
from adapter.services.dead_letter_header import dead_letter_queue
from adapter.services.dead_letter_rules import DeadLetterRule, RulesTable

LOOK_S = 0.5
"""How often it is asked whether anything has come: a question that costs little."""
PAUSE_S = 1.0
"""Between two attempts while the queue manager is away."""

Report = Callable[[str], None]
Key = tuple[tuple[int, int, int] | None, bytes]


class CannotForward(errors.Error):
    """A rule cannot be applied to this message."""


class RetryProgress(Struct):
    """How far a message has come. rule: the number of the rule that is tried next; due_s: when."""

    rule: int = 0
    attempts: int = 0
    due_s: float = 0.0
    is_done: bool = False
    """It stays: no rule wants it any more."""


class DeadLetterHandler:
    """Applies a rules table to a dead-letter queue.

    input_queue: "" is the table's, or else the queue manager's own. report: is told, in a line,
    what was done with each message. now_s and wait: time, which tests may make their own; wait
    returns whether stop() came.
    """

    def __init__(
        self,
        qm: Connection,
        table: RulesTable,
        *,
        input_queue: str = "",
        report: Report = lambda _line: None,
        now_s: Callable[[], float] = time.monotonic,
        wait: Callable[[float], bool] | None = None,
    ) -> None:
        control = table.control
        if control.input_queue_manager not in ("", qm.name):
            raise errors.WrongQueueManager(
                f"the rules are for queue manager {control.input_queue_manager}, and this is "
                f"{qm.name}: connect to that one, or leave INPUTQM out",
                qm.name,
            )
        name = input_queue or control.input_queue or dead_letter_queue(qm)
        _check_no_circle(table, name, qm.name)
        self._qm = qm
        self._rules = table.rules
        self._control = control
        self._queue = qm.queue(name)
        self._report = report
        self._now_s = now_s
        self._stopping = threading.Event()
        self._wait = wait or self._stopping.wait
        self._progress: dict[Key, RetryProgress] = {}
        self._seen = (0, 0)
        self._counts = dict.fromkeys(
            ("discarded", "retried", "forwarded", "left", "failed_attempts", "without_header"), 0
        )

    @property
    def queue(self) -> str:
        """The name of the dead-letter queue."""
        return self._queue.name

    def run(self) -> None:
        """Work until nothing is left to be done and WAIT has passed, or until stop()."""
        idle_since_s = self._now_s()
        while not self._stopping.is_set():
            try:
                if self.run_once():
                    idle_since_s = self._now_s()
                elif not self._await_work(idle_since_s):
                    return
            except (errors.ConnectionBroken, errors.BackedOut, errors.InDoubt) as problem:
                if self._stopping.is_set():
                    return
                if isinstance(problem, errors.ConnectionClosed):
                    raise
                self._report(f"waiting for queue {self.queue}: {problem}")
                self._wait(PAUSE_S)

    def run_once(self) -> bool:
        """Look at every message of the queue once; whether any was moved or discarded."""
        before = self._moved_count()
        self._seen = self._arrivals()  # first: what comes while we look has not been seen
        progress: dict[Key, RetryProgress] = {}
        for message in self._queue.browse():
            if self._stopping.is_set():
                return self._moved_count() > before
            key = message.place, message.message_id
            found = self._progress.get(key) or RetryProgress()
            if not self._handle(message, found):
                progress[key] = found
        self._progress = progress  # of those that are there: it is no larger than the queue
        return self._moved_count() > before

    def stop(self) -> None:
        """End run(), behind the message that it deals with; from any thread."""
        self._stopping.set()

    def statistics(self) -> dict[str, int]:
        """Return what was done so far. left: messages that no rule has moved, and that stay."""
        return dict(self._counts)

    # -- waiting

    def _await_work(self, idle_since_s: float) -> bool:
        """Wait until a retry is due or something may have come; False if WAIT has passed before."""
        due_s = min((one.due_s for one in self._progress.values() if not one.is_done), default=None)
        wait_s = self._control.wait_s
        end_s = None if wait_s is None else idle_since_s + wait_s
        while True:
            now_s = self._now_s()
            if self._arrivals() != self._seen or (due_s is not None and now_s >= due_s):
                return True
            if due_s is None and end_s is not None and now_s >= end_s:
                return False
            times_s = [at_s for at_s in (due_s, end_s if due_s is None else None) if at_s]
            if self._wait(min([LOOK_S, *(at_s - now_s for at_s in times_s)])):
                return False

    def _arrivals(self) -> tuple[int, int]:
        status = self._queue.status()
        return status.put_total, status.returned_total

    def _moved_count(self) -> int:
        return sum(self._counts[key] for key in ("discarded", "retried", "forwarded"))

    # -- one message

    def _handle(self, message: BrowsedMessage, progress: RetryProgress) -> bool:
        """Apply the rules that are due; whether the message has left the queue."""
        if progress.is_done or (progress.attempts and self._now_s() < progress.due_s):
            return False
        if message.dead_letter is None:
            self._leave(message, progress, "without_header", "it has no dead-letter header")
            return False
        while True:
            rule = self._next_rule(message, progress)
            if rule is None:
                self._leave(message, progress, "left", "no rule, or none any more, is for it")
                return False
            if rule.action == "IGNORE":
                self._leave(message, progress, "left", f"the rule of line {rule.line} ignores it")
                return False
            try:
                return self._apply(rule, message)
            except (errors.ConnectionBroken, errors.BackedOut, errors.InDoubt):
                raise
            except errors.Error as problem:
                if self._failed(rule, message, progress, problem):
                    return False

    def _next_rule(self, message: Message, progress: RetryProgress) -> DeadLetterRule | None:
        texts, numbers = _texts(message), _numbers(message)
        while progress.rule < len(self._rules):
            rule = self._rules[progress.rule]
            if rule.matches(texts, numbers):
                return rule
            progress.rule += 1
        return None

    def _failed(
        self, rule: DeadLetterRule, message: Message, progress: RetryProgress, problem: errors.Error
    ) -> bool:
        """Note that an attempt failed; whether it is to be made again later."""
        progress.attempts += 1
        self._counts["failed_attempts"] += 1
        self._report(
            f"{_describe(message)}: attempt {progress.attempts} of {rule.retry} of the rule of "
            f"line {rule.line} failed: {problem}"
        )
        if progress.attempts < rule.retry:
            progress.due_s = self._now_s() + self._control.retry_interval_s
            return True
        progress.rule, progress.attempts = progress.rule + 1, 0
        return False

    def _leave(self, message: Message, progress: RetryProgress, count: str, why: str) -> None:
        progress.is_done = True
        self._counts[count] += 1
        self._report(f"{_describe(message)}: stays on {self.queue}: {why}")

    def _apply(self, rule: DeadLetterRule, message: BrowsedMessage) -> bool:
        """Carry a rule out; False if another program has got the message in the meantime."""
        if rule.action == "DISCARD":
            with self._qm.unit() as unit:
                gone = message.remove(unit)
            if gone:
                self._counts["discarded"] += 1
                self._report(f"{_describe(message)}: discarded by the rule of line {rule.line}")
            return gone
        target, manager = _target(rule, message)
        if not target:
            raise CannotForward(f"it names no queue for {rule.forward_queue or 'a retry'}")
        manager = "" if manager == self._qm.name else manager
        source = meant_by(self._queue, "browse")
        if comes_back(self._qm, source, target, message, manager):
            raise CannotForward(f"it would be put on {self.queue} again, in an endless loop")
        return self._move(rule, message, target, manager)

    def _move(
        self, rule: DeadLetterRule, message: BrowsedMessage, target: str, manager: str
    ) -> bool:
        """Put it on another queue and take it off this one, in one unit.

        manager: the queue manager of that queue, if it is not this one, or an alias of one.

        The put comes first: if it is refused, nothing was got, and no backout is counted.
        """
        keeps_header = rule.action == "FWD" and rule.header
        header = message.dead_letter if keeps_header else None
        with self._qm.unit() as unit:
            self._qm.put(
                target,
                message,
                queue_manager=manager or None,
                dead_letter=header,
                **as_it_was_put(message),
                unit=unit,
            )
            if not message.remove(unit):
                unit.backout()
                return False
        self._counts["forwarded" if rule.action == "FWD" else "retried"] += 1
        where = f"{target} of queue manager {manager}" if manager else target
        self._report(f"{_describe(message)}: put on {where} by the rule of line {rule.line}")
        return True


def _check_no_circle(table: RulesTable, name: str, here: str) -> None:
    for rule in table.rules:
        if rule.forward_queue == name and rule.forward_queue_manager in ("", here):
            raise errors.InvalidValue(
                f"the rule of line {rule.line} forwards from queue {name} to {name}: "
                "name another queue",
                name,
            )


def _target(rule: DeadLetterRule, message: Message) -> tuple[str, str]:
    """Return the queue and the queue manager that a message is to go to."""
    header = message.dead_letter
    assert header is not None, "rules are applied to messages with a header"
    if rule.action == "RETRY":
        return header.destination, header.destination_queue_manager
    queues = {"&DESTQ": header.destination, "&REPLYQ": message.reply_to}
    managers = {
        "&DESTQM": header.destination_queue_manager,
        "&REPLYQM": message.reply_to_queue_manager,
    }
    queue, manager = rule.forward_queue, rule.forward_queue_manager
    return queues.get(queue, queue), managers.get(manager, manager)


def _texts(message: Message) -> dict[str, str]:
    """Return the fields that patterns of text are compared with."""
    header = message.dead_letter
    assert header is not None, "rules are applied to messages with a header"
    return {
        "APPLIDAT": message.details.identity_data if message.details else "",
        "APPLNAME": message.application,
        "DESTQ": header.destination,
        "DESTQM": header.destination_queue_manager,
        "FORMAT": header.format,
        "REPLYQ": message.reply_to,
        "REPLYQM": message.reply_to_queue_manager,
        "USERID": message.user,
    }


def _numbers(message: Message) -> dict[str, int]:
    """Return the fields that patterns of numbers are compared with."""
    header = message.dead_letter
    assert header is not None, "rules are applied to messages with a header"
    appl_type = message.details.appl_type if message.details else 0
    return {
        "APPLTYPE": appl_type or header.application_type,
        "FEEDBACK": message.feedback,
        "MSGTYPE": message.message_type,
        "PERSIST": int(bool(message.persistent)),
        "REASON": header.reason,
    }


def _describe(message: Message) -> str:
    header = message.dead_letter
    why = f" (reason {header.reason}, for {header.destination})" if header else ""
    return f"message {message.message_id.hex()}{why}"


def lines_of(counts: dict[str, int]) -> Iterator[str]:
    """Sum up what was done, a line a figure that is not 0."""
    for name, count in counts.items():
        if count:
            yield f"{name.replace('_', ' ')}: {count}"
