"""A plan of puts: where the messages of one step go, before anything is changed.

A verb that puts, and what follows from one (a report, a copy, a dead letter, a release), adds its
puts to a plan. Until the plan ends, nothing is changed, and only new ids have been drawn: a step
that refuses, or that waits for a page, drops its plan. A queue has room for a message if it has
room for it beside those that are planned for it. hold() ends a plan with puts of a unit that is
open, record() with a unit of their own: messages in their order, reports behind them. These two are
the one way in for messages, so what a put causes is noted there.

A put of a program that its queue does not take is refused. Each message that the queue manager puts
by itself has one of these fates, the first that is possible:

1. it is put to its queue (offer, send);
2. it is reported if it asks for that, and discarded if it says so, or put to the dead-letter queue
   under a header that says why (give_up, bury);
3. its caller refuses the step, leaves the message where it is, or counts it as lost.

This module does not know which messages a verb puts, nor what a report looks like.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from adapter.core.contract.answers import DISCARD
from adapter.core.contract.message import MessageData
from adapter.core.contract.reasons import Reason
from adapter.core.contract.records import EventRaised, Record
from adapter.core.contract.unit_records import OutcomeOf, Verb
from adapter.core.contract.weights import weight
from adapter.core.model.made_queues import MadeQueues
from adapter.core.model.manager import QueueManager
from adapter.core.model.queue import LocalQueue
from adapter.core.model.report import (
    CONFIRM_ON_ARRIVAL,
    CONFIRM_ON_DELIVERY,
    EXCEPTION,
    EXPIRATION,
)
from adapter.core.model.report import make as make_report
from adapter.core.model.routes import Target
from adapter.core.model.unit import UnitOfWork
from adapter.core.mq_layouts import dead_letter
from adapter.core.mq_layouts.reason_codes import code_of
from adapter.core.rules.messages import putters
from adapter.core.rules.messages.putters import Reach
from adapter.core.rules.messages.unit import Gets, Puts, commit_records
from adapter.core.rules.network import routes
from adapter.core.rules.primitives import naming, parking, staging, trigger_events

REPORT_LOST: Final = "report_lost"
CONFIRMATIONS: Final = (CONFIRM_ON_ARRIVAL, CONFIRM_ON_DELIVERY)


class PlanMark(Struct):
    """How much a plan had: puts, reports and records; bytes of MSMQ, and its room for reports."""

    puts: int
    reports: int
    records: int
    size: dict[str, int]
    report_room: int | None


class Plan:
    """The puts of one step.

    puts: of messages, in order. reports: put behind them. cut: messages that are put as segments,
    before the others: their queue, the whole, its parts. count: how many are planned for a queue,
    by its name; size: bytes of bodies, of MSMQ. new_queues: made for the puts. deleted: queues that
    the step deletes, to which MSMQ puts nothing. records: what is said before the puts.
    """

    __slots__ = (
        *("_full", "_new_queues", "count", "cut", "deleted", "now_ms", "puts", "qm", "records"),
        *("report_room", "reports", "size"),
    )

    def __init__(self, qm: QueueManager, now_ms: int, made: MadeQueues | None = None) -> None:
        """made: those of another plan of the same step."""
        self.qm = qm
        self.now_ms = now_ms
        self.puts: Puts = []
        self.reports: Puts = []
        self.cut: list[tuple[LocalQueue, MessageData, list[MessageData]]] = []
        self.count: dict[str, int] = {}
        self.size: dict[str, int] = {}
        self._new_queues = made
        self.deleted: frozenset[str] = frozenset()
        self.records: list[Record] = []
        self.report_room: int | None = None
        """How many bytes of data the reports of exceptions may have together; None: as many as are
        asked for, because the put that causes them is refused if they are too many."""
        self._full: dict[str, int] = {}
        """Where in the records it says of a queue that it is full."""

    @property
    def new_queues(self) -> MadeQueues:
        """The queues that are made for the puts."""
        if self._new_queues is None:  # as in nearly all plans
            self._new_queues = MadeQueues()
        return self._new_queues

    def mark(self) -> PlanMark:
        """Return how much is planned, for undo() and since()."""
        counts = len(self.puts), len(self.reports), len(self.records)
        return PlanMark(*counts, dict(self.size), self.report_room)

    def since(self, mark: PlanMark) -> Puts:
        """Return what was planned since a mark: puts, and reports behind them."""
        return self.puts[mark.puts :] + self.reports[mark.reports :]

    def undo(self, mark: PlanMark) -> None:
        """Drop what was planned since a mark. Queues that were made for it stay."""
        for queue, _ in self.since(mark):
            self.count[queue.name] -= 1
        self.size, self.report_room = mark.size, mark.report_room
        del self.puts[mark.puts :], self.reports[mark.reports :], self.records[mark.records :]
        self._full = {name: at for name, at in self._full.items() if at < mark.records}

    def put(self, queue: LocalQueue, message: MessageData, *, is_report: bool = False) -> None:
        """Plan a put, whatever the queue says to it."""
        (self.reports if is_report else self.puts).append((queue, message))
        self.count[queue.name] = self.count.get(queue.name, 0) + 1

    def put_segments(self, queue: LocalQueue, whole: MessageData, parts: list[MessageData]) -> None:
        """Plan the puts of the segments of a message, which is one event for triggers."""
        self.cut.append((queue, whole, parts))
        self.count[queue.name] = self.count.get(queue.name, 0) + len(parts)

    def why_not(
        self, queue: LocalQueue | None, message: MessageData, more: int = 0
    ) -> Reason | None:
        """Return the reason for which a queue cannot take a message, or None.

        more: how many others are to be put there beside those that are planned.
        """
        if queue is None:
            return Reason.QUEUE_NOT_FOUND
        attributes = queue.attributes
        if queue.is_temporary and message.persistence:
            return Reason.PERSISTENT_NOT_ALLOWED
        if attributes.inhibit_put:
            return Reason.PUT_INHIBITED
        if len(message.body) > attributes.max_message_length:
            return Reason.MESSAGE_TOO_LONG
        if queue.taken_room + self.count.get(queue.name, 0) + more >= attributes.max_depth:
            return Reason.QUEUE_FULL
        return Reason.QUEUE_PARKED if parking.why_not(self.qm, queue, message) else None

    def offer(
        self, queue: LocalQueue | None, messages: list[MessageData], *, is_report: bool = False
    ) -> Reason | None:
        """Plan the puts of these messages, or of none; returns the reason for which the queue does
        not take them.
        """
        for at, message in enumerate(messages):
            reason = self.why_not(queue, message, at)
            if reason is not None:
                return reason
        assert queue is not None, "else it takes none"
        for message in messages:
            self.put(queue, message, is_report=is_report)
        return None

    def send(
        self, target: Target, message: MessageData, *, is_report: bool = False
    ) -> Reason | None:
        """Plan a put to where a name leads; returns the reason for which it is not taken there."""
        if target.queue is None:
            return target.reason or Reason.QUEUE_NOT_FOUND
        message.transmission = target.transmission
        reason = self.offer(target.queue, [message], is_report=is_report)
        if reason is not None:
            message.transmission = None
        return reason

    def bury(
        self,
        messages: list[MessageData],
        to: str,
        code: int,
        queue_manager: str = "",
        *,
        is_report: bool = False,
    ) -> Reason | None:
        """Plan the puts of dead letters; returns the reason for which the dead-letter queue does
        not take them, or is not there.

        to, queue_manager: where they were to go; empty: of this queue manager. code: the reason
        for which they did not, as IBM MQ numbers it.
        """
        queue = dead_letter_queue(self.qm)
        if queue is None:
            return Reason.QUEUE_NOT_FOUND
        dead = [
            dead_letter.as_dead_letter(one, self.qm.name, to, code, self.now_ms, queue_manager)
            for one in messages
        ]
        for one in dead:
            one.destination = ""  # a dead letter waits for nothing
        return self.offer(queue, dead, is_report=is_report)

    def give_up(
        self, message: MessageData, to: str, queue_manager: str, reason: Reason
    ) -> Reason | None:
        """Report a message that is not taken where it was to go, and discard it or plan its dead
        letter; returns the reason for which the dead-letter queue does not take it either.

        to, queue_manager: see bury().
        """
        code = code_of(reason)
        self.report(message, EXCEPTION, code)
        if message.report & DISCARD:
            return None
        return self.bury([message], to, code, queue_manager)

    def report(self, message: MessageData, kind: int, code: int = 0) -> None:
        """Plan the report of a kind, if a message asks for it: to its reply-to queue, else to the
        dead-letter queue unless the message says DISCARD; else it is lost, and an event says so.
        It reaches its queue only by the authorities of who put the message: see putters.

        What is on its way arrives, and is delivered, elsewhere, and what is delayed later; if it
        expires first, that is reported here. A message with a dead-letter header is neither: where
        it is, is not where it was to go. code: of an exception, as IBM MQ numbers it.
        """
        if kind in CONFIRMATIONS and message.format.rstrip(" ") == dead_letter.FORMAT:
            return
        arrives_later = message.destination and kind == CONFIRM_ON_ARRIVAL
        is_on_its_way = message.transmission is not None and kind != EXPIRATION
        if not message.report & kind or arrives_later or is_on_its_way:
            return
        qm, now_ms = self.qm, self.now_ms
        report = make_report(qm.name, message, kind, qm.numbers.new_message_id(), now_ms, code)
        to, manager = message.reply_to, message.reply_to_queue_manager
        reached = putters.reach(qm, message, to, manager)
        target = Target(reason=Reason.AUTHORITY_MISSING)
        if reached is not Reach.NOTHING:
            target = routes.find(qm, to, manager, self.new_queues)
        if reached is Reach.WITHOUT_DATA or not self._has_room(report, kind):
            report.body, report.format = b"", ""
        reason = self.send(target, report, is_report=True)
        if reason is None:
            return
        code = code_of(reason)
        if not message.report & DISCARD:
            reason = self.bury([report], to, code, manager, is_report=True)
        if reason is not None:
            self._note_lost(to, code)

    def _has_room(self, report: MessageData, kind: int) -> bool:
        """Whether a report may have its data, which it takes from what there is room for."""
        if self.report_room is None or kind != EXCEPTION:
            return True
        left = self.report_room - len(report.body)
        if left >= 0:
            self.report_room = left
        return left >= 0

    def give_up_reply(self, reply: MessageData, queue_manager: str, reason: Reason) -> None:
        """Plan the dead letter of a reply of the queue manager's own that cannot leave for another
        queue manager; if there is no room for that, it is lost, and an event says so.
        """
        if self.give_up(reply, "", queue_manager, reason) is not None:
            self._note_lost(queue_manager, code_of(reason))

    def report_full(self, queue: LocalQueue) -> None:
        """Say that a queue is full, once until it has taken a message."""
        if queue.is_known_full or queue.name in self._full:
            return
        self._full[queue.name] = len(self.records)
        details = {"max_depth": str(queue.attributes.max_depth)}
        self.records.append(EventRaised("queue_full", queue.name, self.now_ms, details))

    def _note_lost(self, to: str, code: int) -> None:
        details = {"reply_to": to, "reason": str(code)}
        self.records.append(EventRaised(REPORT_LOST, to, self.now_ms, details))

    def hold(
        self, unit: UnitOfWork, weights: list[int] | None = None, *, is_event: bool = True
    ) -> list[Record]:
        """End the plan: a unit holds the puts until it ends. Returns what is recorded now.

        weights: of the puts, if they are known. is_event: whether triggers take notice of the puts.
        """
        qm, now_ms = self.qm, self.now_ms
        for queue, whole, parts in self.cut:
            trigger_events.note_put(qm, queue, whole, now_ms, unit, stored=len(parts))
            for part in parts:
                unit.hold_put(queue, part, weight(part))
        puts = self.puts + self.reports if self.reports else self.puts
        known = weights or []
        if len(known) == len(puts) > 1 and self._is_plain(puts, is_event=is_event):
            unit.hold_puts(puts[0][0], [message for _, message in puts], sum(known))
            return self._before()
        for at, (queue, message) in enumerate(puts):
            if is_event:
                trigger_events.note_put(qm, queue, message, now_ms, unit)
            unit.hold_put(queue, message, known[at] if at < len(known) else weight(message))
        return self._before()

    def _is_plain(self, puts: Puts, *, is_event: bool) -> bool:
        """Whether these are puts to one queue, of which triggers take no notice."""
        queue = puts[0][0]
        if is_event and queue.attributes.trigger_control:
            return False
        return all(one is queue for one, _ in puts)

    def record(
        self,
        ident: bytes = b"",
        verb: Verb = "put",
        outcome: OutcomeOf | None = None,
        gets: Gets | None = None,
        *,
        is_event: bool = True,
    ) -> list[Record]:
        """End the plan: the puts are a unit of their own, with what is got for them.

        Nothing is recorded of a unit without messages. ident: of the unit; empty: a new one.
        is_event: whether triggers take notice of the puts.
        """
        qm, now_ms = self.qm, self.now_ms
        puts = self.puts + self.reports if self.reports else self.puts
        segments: Puts = []
        noted = [(queue, whole, len(parts)) for queue, whole, parts in self.cut]
        if is_event:
            noted += [(queue, message, 1) for queue, message in puts]
        trigger_events.note_together(qm, noted, now_ms)
        for queue, _, parts in self.cut:
            segments += [(queue, part) for part in parts]
        before = self._before()
        if not puts and not segments and not gets:
            return before
        stored = staging.stage(qm, segments + puts if segments else puts)
        ident = ident or qm.numbers.new_message_id()
        return before + commit_records(ident, stored, gets or [], verb, outcome)

    def _before(self) -> list[Record]:
        made = self._new_queues
        if made is None:
            return self.records
        self.qm.step.made.update(made.queues)
        return made.records + self.records


def plan_of_delivery(qm: QueueManager, given: list[MessageData], now_ms: int) -> Plan | None:
    """Plan the reports on delivery that messages which are given to a program ask for."""
    asking = [one for one in given if one.report & CONFIRM_ON_DELIVERY]
    if not asking:
        return None
    plan = Plan(qm, now_ms)
    for message in asking:
        plan.report(message, CONFIRM_ON_DELIVERY)
    return plan


def dead_letter_queue(qm: QueueManager) -> LocalQueue | None:
    """Return the dead-letter queue, if there is one."""
    return naming.mq_queue(qm, qm.attributes.dead_letter_queue)
