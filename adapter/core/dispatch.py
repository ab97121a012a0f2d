"""From a request to what it causes: decide, apply, serve those who waited.

This is the only door into core. step() takes an input and returns its effects: the records to
write, the replies to give once they are durable, the pages to read. replay() applies what a ledger
says happened. Both go through the same apply_* functions. The other functions are questions, or
what makes a core ready to take inputs: replay, load_outcome, begin_term.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Any, Final

from msgspec.structs import replace

from adapter.core import inputs
from adapter.core.contract import commands as c
from adapter.core.contract import records as r
from adapter.core.contract.authorities import CONNECT, AuthorityRecord, Denial
from adapter.core.contract.channel_rules import ChannelRule, SetChannelRule
from adapter.core.contract.message import first_n
from adapter.core.contract.pages import Paged, PageNeeded
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.replies import Reply
from adapter.core.contract.results import Refused, Result
from adapter.core.contract.traits import is_durable, trait_of
from adapter.core.contract.unit_records import UnitCommitted
from adapter.core.contract.visitors import VisitorDecision, VisitorRequest
from adapter.core.effects import Effects
from adapter.core.model.broker_queue import BrokerQueue
from adapter.core.model.connection import ConnectionState
from adapter.core.model.manager import QueueManager
from adapter.core.model.queue import LocalQueue
from adapter.core.model.report import MsmqExpiry, ReportDue
from adapter.core.model.undo import Removed
from adapter.core.rules.broker import activation as broker_activation
from adapter.core.rules.broker import commit as broker_commit
from adapter.core.rules.broker import events as broker_events
from adapter.core.rules.broker import poison as broker_poison
from adapter.core.rules.broker import release as broker_release
from adapter.core.rules.consumers import batches
from adapter.core.rules.consumers import timeouts as consumer_timeouts
from adapter.core.rules.drive import arrivals, feeds, fitting, restore, serving, tick, trigger
from adapter.core.rules.messages import backout, deferred, delays, pages, report, unit
from adapter.core.rules.msmq import delivery as msmq_delivery
from adapter.core.rules.msmq import queues as msmq_queues
from adapter.core.rules.objects import (
    channel_rules,
    checks,
    closing,
    permissions,
    quiesce,
    session,
    statistics,
    system,
    visitors,
)
from adapter.core.rules.primitives import access, lifetime, naming, parking, waiting
from adapter.core.rules.primitives.decision import Decision, refused
from adapter.core.tables import APPLY, DECIDE


def step(qm: QueueManager, now: inputs.Now, given: inputs.Input) -> Effects:
    """Take one input, which came now; returns all that it causes. Refusal: settings cannot be."""
    effects = Effects()
    now_ms: int = now.time_ms
    qm.elapsed_ms = now.elapsed_ms
    qm.entry_n = now.entry_n
    if now_ms < qm.tally.now_ms:
        tick.note_clock_set_back(qm)
    qm.tally.now_ms = now_ms
    if isinstance(given, c.Request):  # nearly always
        _execute(qm, effects, given, now_ms)
    else:
        STEPS[type(given)](qm, effects, given, now_ms)
    wanted = qm.step.pages_wanted
    if wanted:
        effects.pages_wanted = tuple(wanted.values())
        wanted.clear()
    if qm.step.denied:
        effects.denied, qm.step.denied = qm.step.denied, []
    effects.commands_wait = serving.do_commands_wait(qm)
    return effects


def _connect(qm: QueueManager, _: Effects, given: inputs.Connected, _now_ms: int) -> None:
    qm.connections[given.connection] = ConnectionState(given.connection)


def _introduce(qm: QueueManager, effects: Effects, given: inputs.Introduced, now_ms: int) -> None:
    """Know who a connection is; end it, if its principal may not connect."""
    known = qm.connections.get(given.connection)
    if known is None:
        return
    known.party = given.party
    party, noted = channel_rules.admit(qm, given.connection, given.party)
    qm.step.denied += noted
    if party is not None:
        known.party = party
    denied = None
    if party is not None and qm.authorities.are_checked:
        principal = access.known_user(qm, party.principal)
        known.party = replace(party, principal=principal)
        denied = checks.lacks(qm, given.connection, "Connect", CONNECT)
    if denied is not None:
        qm.step.denied.append(denied)
    if party is None or denied is not None:
        effects.closed = {given.connection: Refused(Reason.AUTHORITY_MISSING, qm.name)}
        _disconnect(qm, effects, inputs.Disconnected(given.connection), now_ms)


def _disconnect(
    qm: QueueManager, effects: Effects, given: inputs.Disconnected, now_ms: int
) -> None:
    """End a connection, wanted or lost: units are backed out, then handles closed."""
    known = qm.connections.get(given.connection)
    if known is not None:
        ended = closing.end_connection(qm, known, now_ms)
        _apply(qm, effects, ended.records)
        effects.replies += ended.replies
        _serve(qm, effects, now_ms)


def _execute(qm: QueueManager, effects: Effects, request: c.Request, now_ms: int) -> None:
    """Decide a client's request and apply what it causes."""
    if request.connection not in qm.connections:
        return  # it ended while the request was on its way; nobody hears the answer
    if not _answer_again(qm, effects, request):
        _in_turn(qm, effects, request, now_ms)
        _serve(qm, effects, now_ms)


def _answer_again(qm: QueueManager, effects: Effects, request: c.Request) -> bool:
    """Answer a numbered command that came before as it was answered then; whether it is one."""
    kept = _kept_answer(qm, request)
    if kept is not None:
        effects.replies.append(Reply(request.connection, request.request, kept, qm.entry_n))
    return kept is not None


def _refuse(qm: QueueManager, effects: Effects, given: inputs.FailedBefore, _now_ms: int) -> None:
    """Refuse a request before anything of it is decided; a numbered one keeps that outcome."""
    request = given.request
    if request.connection in qm.connections and not _answer_again(qm, effects, request):
        result = Refused(Reason.UNEXPECTED_ERROR, qm.name, given.detail)
        _reply(qm, effects, request, Decision([], result, qm.entry_n))


def _in_turn(qm: QueueManager, effects: Effects, request: c.Request, now_ms: int) -> None:
    """Carry out a request, unless it depends on one that waits, or its outcome has no room."""
    turns = qm.connections[request.connection].turns
    if turns.comes_too_early(request) or waiting.has_no_room(qm, request):
        pages.hold(qm, request)
    else:
        _carry_out(qm, effects, request, now_ms)


def _carry_out(qm: QueueManager, effects: Effects, request: c.Request, now_ms: int) -> None:
    """Decide a request and apply what it causes, or suspend it until a page has come."""
    request.now_ms = now_ms
    try:
        decision = _decide(qm, request)
    except PageNeeded as needed:
        pages.suspend(qm, request, needed)
        return
    if decision.made:
        qm.step.made.update(decision.made)
    if decision.subscribed or qm.step.subscribed:
        qm.step.subscribed = decision.subscribed or {}
    _apply(qm, effects, decision.records)
    if decision.barrier:
        effects.barrier = True
    if decision.closed:
        effects.closed = {**effects.closed, **decision.closed}
    if decision.replies:
        effects.replies += decision.replies
    _reply(qm, effects, request, decision)


def _load_page(qm: QueueManager, effects: Effects, given: inputs.PageLoaded, now_ms: int) -> None:
    """Take a page; what waited for it is decided again."""
    needed = given.needed
    queue = qm.that_queue(needed.queue, given.incarnation)
    if queue is None:
        return
    if needed.field:
        pages.index(queue, needed.field, needed.lane, given.through, given.page)
        following = queue.indexes.unindexed(needed.field)
        if following is not None:
            qm.want_page(following)
            return
        qm.wake(queue)
    else:
        _apply(qm, effects, pages.load(qm, queue, needed.lane, given.page, now_ms))
        _apply(qm, effects, delays.resume_release(qm, queue, now_ms))
        if isinstance(queue, BrokerQueue):
            _apply(qm, effects, broker_release.release(qm, queue, now_ms, goes_on=True))
    _decide_again(qm, effects, queue, now_ms)
    _serve(qm, effects, now_ms)


def _miss_page(qm: QueueManager, effects: Effects, given: inputs.PageMissing, now_ms: int) -> None:
    """Refuse what waits and cannot do without a message that is not on its topic.

    A later request looks again, because the topic may have been restored.
    """
    needed = given.needed
    queue = qm.that_queue(needed.queue, given.incarnation)
    if queue is not None:
        _apply(qm, effects, delays.postpone_missing(qm, needed, now_ms))
        if isinstance(queue, BrokerQueue):
            _apply(qm, effects, broker_release.postpone_missing(qm, queue, now_ms))
        qm.step.missing = (needed.queue, needed.lane, needed.seq)
        qm.wake(queue)
        _decide_again(qm, effects, queue, now_ms)
        _serve(qm, effects, now_ms)
        qm.step.missing = None


def _decide_again(qm: QueueManager, effects: Effects, queue: LocalQueue, now_ms: int) -> None:
    """Decide what waited for a page of this queue, and what waited for that."""
    asked = pages.resume(qm, queue)
    pages.wake_waiting(qm, queue)
    for request in asked:
        _carry_out(qm, effects, request, now_ms)
    for number in dict.fromkeys(request.connection for request in asked):
        _go_on(qm, effects, qm.connections[number], now_ms)


def _go_on(qm: QueueManager, effects: Effects, connection: ConnectionState, now_ms: int) -> None:
    """Carry out what was held and may go on, in its order."""
    for request in pages.unhold(qm, connection):
        _in_turn(qm, effects, request, now_ms)


def snapshot(qm: QueueManager) -> Iterator[r.Record]:
    """Describe the hard state as it is now, in records; to be used up before anything changes."""
    return restore.snapshot(qm)


def unmoved(qm: QueueManager, moved_n: int, parked: frozenset[str]) -> restore.Unmoved:
    """Return the messages that may be on no topic: the snapshot lacks them. See restore."""
    return restore.unmoved(qm, moved_n, parked)


def load_outcome(qm: QueueManager, session: bytes, number: int, read: list[Paged] | None) -> None:
    """Complete one of qm.absent, after a replay. read: what is missing; None: it is gone."""
    restore.load_outcome(qm, session, number, read)


def _page_out(qm: QueueManager, effects: Effects, given: inputs.Copied, now_ms: int) -> None:
    """Page out what is on its topic for good and need not be in memory."""
    qm.moved_n = given.moved_n
    _apply(qm, effects, parking.set_copied(qm, given.moved_n, now_ms))
    effects.paged_out = pages.evict(qm, given.moved_n, given.parked)


def _forget_names(qm: QueueManager, _: Effects, given: inputs.NamesForgotten, _now_ms: int) -> None:
    """Forget the generated ones among these names."""
    naming.forget(qm, given.names)


def _pass_time(qm: QueueManager, effects: Effects, _: inputs.Tick, now_ms: int) -> None:
    """Do what is due: release delayed messages, expire others, end waits, make statistics."""
    _apply(qm, effects, delays.release_due(qm, now_ms))
    _apply(qm, effects, tick.expire_messages(qm, now_ms))
    _apply(qm, effects, tick.expire_sessions(qm))
    _apply(qm, effects, batches.end_lost_claims(qm, now_ms))
    _pass_time_of_conversations(qm, effects, now_ms)
    broker_activation.note_due(qm, now_ms)
    _apply(qm, effects, [])
    tick.expire_pages(qm, now_ms)
    tick.expire_marks(qm)
    _serve(qm, effects, now_ms)
    effects.replies += tick.end_waits(qm)
    _serve(qm, effects, now_ms)
    _apply(qm, effects, statistics.raise_due(qm, now_ms))


def _pass_time_of_conversations(qm: QueueManager, effects: Effects, now_ms: int) -> None:
    """End timers and lifetimes, and deliver what was held: each before the next is looked at."""
    for _ in range(broker_commit.DUE_PER_TICK):
        records = broker_commit.pass_time(qm, now_ms)
        if records is None:
            break
        _apply(qm, effects, records)
    broker_release.note_due(qm, now_ms)
    _apply(qm, effects, [])


def _park_queues(
    qm: QueueManager, effects: Effects, given: inputs.MoversReported, now_ms: int
) -> None:
    _apply(qm, effects, parking.set_parked(qm, given.parked, now_ms))


def _configure(qm: QueueManager, effects: Effects, given: inputs.Configured, now_ms: int) -> None:
    """Take the settings, and define what every queue manager has."""
    qm.authorities.are_checked = given.checks_authorities
    qm.registry_topic = given.registry_topic
    _apply(qm, effects, system.configure(qm, given.settings, now_ms))


def _know_groups(qm: QueueManager, _: Effects, given: inputs.GroupsKnown, _now_ms: int) -> None:
    qm.authorities.know_groups(given.by_user)


def _know_queue_managers(
    qm: QueueManager, _: Effects, given: inputs.QueueManagersKnown, _now_ms: int
) -> None:
    if given.names != qm.known_queue_managers:
        broker_release.note_known(qm)
    qm.known_queue_managers, qm.known_computers = given.names, given.computers


def _arrive(qm: QueueManager, effects: Effects, given: inputs.Arrived, now_ms: int) -> None:
    _apply(qm, effects, arrivals.decide(qm, given.unit, now_ms))
    _serve(qm, effects, now_ms)


def _feed(qm: QueueManager, effects: Effects, given: inputs.Fed, now_ms: int) -> None:
    """Put records of a feed."""
    _apply(qm, effects, feeds.decide(qm, given.batch, now_ms))
    _serve(qm, effects, now_ms)


def _begin_feed(qm: QueueManager, effects: Effects, given: inputs.FeedBegins, _now_ms: int) -> None:
    _apply(qm, effects, feeds.decide_start(qm, given.start))


def _audit(qm: QueueManager, effects: Effects, given: inputs.Audited, now_ms: int) -> None:
    for one in given.notes:
        _apply(qm, effects, [r.EventRaised(one.kind, one.name, now_ms, one.details)])


def _quiesce(qm: QueueManager, effects: Effects, _: inputs.Quiesced, _now_ms: int) -> None:
    effects.replies += quiesce.begin(qm)


def _stop(qm: QueueManager, effects: Effects, given: inputs.Stopped, now_ms: int) -> None:
    last = lifetime.stop(qm, now_ms, for_good=given.for_good, to=given.to)
    _apply(qm, effects, [*statistics.raise_last(qm, now_ms), *last])


idle_connections: Final = quiesce.idle_connections
is_between_units: Final = quiesce.is_between_units
waits: Final = quiesce.waits


def lacks(qm: QueueManager, connection: int, command: str, bits: int) -> Denial | None:
    """Say which of these authorities on the queue manager itself a connection does not have.

    command: what it asks for of the process that runs the queue manager.
    """
    return checks.lacks(qm, connection, command, bits) if qm.authorities.are_checked else None


def judge(qm: QueueManager, asked: VisitorRequest) -> VisitorDecision:
    """Say whether who has no connection may do something; see visitors."""
    return visitors.judge(qm, asked)


def permissions_of(qm: QueueManager, command: Any) -> list[AuthorityRecord]:
    """Return the authority records that a command which sets permissions may change."""
    return permissions.records_of(qm, command)


def channel_rules_of(qm: QueueManager, command: SetChannelRule) -> list[ChannelRule]:
    """Return the channel authentication records that a command may change."""
    return channel_rules.meant(qm, command)


def may_change(qm: QueueManager, connection: int, queue: str) -> bool:
    """Say whether the principal of a connection administers a queue: it may change it."""
    return not qm.authorities.are_checked or checks.may_change(qm, connection, queue)


def _acknowledge(
    qm: QueueManager, effects: Effects, given: inputs.OutcomesSeen, now_ms: int
) -> None:
    """Drop the outcomes that a client says it has seen; gets may go on that waited for room."""
    known = qm.connections.get(given.connection)
    kept = qm.sessions.get(known.session) if known else None
    if known is None or kept is None:
        return
    most = qm.limits.kept_bytes
    was_full = kept.kept_bytes >= most
    kept.acknowledge(given.numbers)
    if was_full and kept.kept_bytes < most:
        _go_on(qm, effects, known, now_ms)
        for waiter in known.waiters.values():
            qm.waiters.wake(waiter.key)
        _serve(qm, effects, now_ms)


def _restart(qm: QueueManager, _: Effects, _given: inputs.Restarted, now_ms: int) -> None:
    """Give every session and consumer its full time again: no client could reach the queue manager
    while it was down. What came back too often is moved with what is applied next.
    """
    qm.step.unsettled.clear()  # programs may come back to subqueues
    for kept in qm.sessions.values():
        kept.last_seen_ms, kept.away_since_ms = now_ms, qm.elapsed_ms
    for queue in qm.queues.values():
        queue.high_depth = queue.depth
    qm.tally.started_ms = now_ms
    consumer_timeouts.note_restart(qm)
    backout.note_restart(qm, now_ms)
    broker_poison.note_restart(qm, now_ms)
    broker_release.note_restart(qm, now_ms)
    broker_activation.note_restart(qm, now_ms)
    statistics.begin(qm, now_ms)


def begin_term(qm: QueueManager, owner_id: bytes, term: int) -> None:
    """Give no place and no message id again that was given before.

    owner_id: drawn for the term. term: the ledger's offset as it begins.
    """
    qm.numbers.belong_to(owner_id)
    qm.numbers.first_n = first_n(term)
    for queue in qm.queues.values():
        queue.begin_term(qm.numbers.first_n)


def replay(qm: QueueManager, record: r.Record) -> str:
    """Apply one record that the ledger holds; returns what of it does not fit, mostly "".

    See fitting. Raises fitting.UnfitError.
    """
    fits, why = fitting.fit(qm, record)
    if fits is not None:
        APPLY[type(fits)](qm, fits)
    return why


written_later: Final = unit.note_entry
"""A record that was applied became part of this later entry: what it did waits for that."""


def _kept_answer(qm: QueueManager, request: c.Request) -> Result | None:
    """Answer a numbered command that came before, or whose number has no business here."""
    durable = is_durable(request.command)
    if not request.number and not durable:
        return None
    if not request.number or not durable:
        text = "durable commands are numbered in their session, and no others"
        return Refused(Reason.OUT_OF_ORDER, "", text)
    try:
        return session.recorded_outcome(qm, request)
    except Refusal as refusal:
        return refused(refusal)


def _decide(qm: QueueManager, request: c.Request) -> Decision:
    command = request.command
    try:
        if qm.quiescing:
            quiesce.check(qm, request)
        if not qm.authorities.are_checked or not trait_of(command).asks_right:
            return DECIDE[type(command)](qm, request, command)
        checks.check(qm, request)
        decision = DECIDE[type(command)](qm, request, command)
        checks.finish(qm, request, decision)
        if trait_of(command).opens and not isinstance(decision.result, Refused):
            checks.note_opening(qm, request)
        return decision
    except Refusal as refusal:
        return Decision([], refused(refusal), qm.entry_n)
    except PageNeeded as needed:
        damaged = pages.refuse_damaged(qm, needed)
        if damaged is None:
            raise
        return damaged


def _apply(qm: QueueManager, effects: Effects, records: list[r.Record]) -> None:
    """Apply records, and what follows from them, until nothing is left of the step."""
    if effects.records:  # nearly never
        effects.cuts.append(len(effects.records))
    _apply_each(qm, effects, records)
    left = qm.step
    while left.trigger_work or left.moves_due or left.reports_due or left.broker_due:
        if left.trigger_work:
            _apply_next(qm, effects, trigger.decide(qm, left.trigger_work.popleft()))
        elif left.moves_due:
            _apply_next(qm, effects, backout.decide(qm, left.moves_due.popleft()))
        elif left.reports_due:
            _apply_next(qm, effects, _report(qm, left.reports_due.popleft()))
        else:
            _apply_next(qm, effects, broker_events.decide_due(qm, left.broker_due.popleft()))
    while left.unsettled:
        _apply_next(qm, effects, msmq_queues.settle(qm, left.unsettled.popitem()[1]))


def _report(qm: QueueManager, work: ReportDue | MsmqExpiry) -> list[r.Record]:
    if isinstance(work, MsmqExpiry):
        return msmq_delivery.expire(qm, work.queue, work.stored)
    return report.decide(qm, work)


def _apply_next(qm: QueueManager, effects: Effects, records: list[r.Record]) -> None:
    """Apply the records of one decision: an entry may end before them, and not within."""
    if effects.records:
        effects.cuts.append(len(effects.records))
    _apply_each(qm, effects, records)


def _apply_each(qm: QueueManager, effects: Effects, records: list[r.Record]) -> None:
    at = len(effects.records) - 1
    for record in records:
        at += 1
        removed: Removed | None
        if isinstance(record, UnitCommitted):  # nearly always
            removed = unit.apply_unit_committed(qm, record)
            qm.tally.committed(record)
        else:
            if type(record) is r.MessagesDiscarded:
                report.note_expired(qm, record)
            removed = APPLY[type(record)](qm, record)
            qm.tally.count(record)
        if removed:
            effects.removed = {**effects.removed, at: removed}
    effects.records += records


def _reply(qm: QueueManager, effects: Effects, request: c.Request, decision: Decision) -> None:
    """Answer a request, from its records' outcome if they carry one; or leave it waiting."""
    result: Result | None = decision.result
    after = decision.after
    if request.number:
        kept = qm.sessions[qm.connections[request.connection].session]
        if request.number in kept.outcomes:
            result = kept.outcomes[request.number]
        elif result is not None:
            kept.record(request.number, result)
        after = qm.entry_n
    if result is None:
        return
    result = decision.complete(result, request.now_ms)
    if request.request:
        after = qm.entry_n if decision.barrier else after
        effects.replies.append(Reply(request.connection, request.request, result, after))
    elif type(result) is Refused:
        deferred.note_refused(qm, request, result)


def _serve(qm: QueueManager, effects: Effects, now_ms: int) -> None:
    """Decide again what goes on, or whose queue is gone; then serve waiting gets, one at a time."""
    while qm.step.asked_again:
        _decide_again(qm, effects, qm.step.asked_again.pop(), now_ms)
    while (key := qm.waiters.pop_woken()) is not None:
        try:
            while qm.waiters.count(key) and _serve_one(qm, effects, key, now_ms):
                pass
        except PageNeeded as needed:
            pages.wake_when_come(qm, needed, key)


def _serve_one(qm: QueueManager, effects: Effects, key: Hashable, now_ms: int) -> bool:
    served = serving.next_served(qm, key, now_ms)
    if isinstance(served, list):
        _apply(qm, effects, served)
        return bool(served)
    waiter, decision = served
    waiting.end(qm, waiter)
    _apply(qm, effects, decision.records)
    _reply(qm, effects, waiter.request, decision)
    return True


STEPS: Final[dict[type, Callable[[QueueManager, Effects, Any, int], None]]] = {
    c.Request: _execute,
    inputs.FailedBefore: _refuse,
    inputs.Restarted: _restart,
    inputs.Connected: _connect,
    inputs.Introduced: _introduce,
    inputs.Disconnected: _disconnect,
    inputs.OutcomesSeen: _acknowledge,
    inputs.Tick: _pass_time,
    inputs.PageLoaded: _load_page,
    inputs.PageMissing: _miss_page,
    inputs.MoversReported: _park_queues,
    inputs.Copied: _page_out,
    inputs.NamesForgotten: _forget_names,
    inputs.Configured: _configure,
    inputs.GroupsKnown: _know_groups,
    inputs.QueueManagersKnown: _know_queue_managers,
    inputs.Arrived: _arrive,
    inputs.Fed: _feed,
    inputs.FeedBegins: _begin_feed,
    inputs.Audited: _audit,
    inputs.Quiesced: _quiesce,
    inputs.Stopped: _stop,
}
