"""Durable consumers: batches of messages that lie on the queue's topic, claimed until consumed.

Theory. A program whose readers read Kafka themselves asks here only which messages are its own:
spans of places, and backout counts. What the messages say it reads from the queue's topic. Which
messages a batch has is decided once, recorded, and stays decided, whatever restarts.

Only messages that are on the topic for good may be claimed: of each lane those before the first one
whose entry is not copied yet. Their content must be in memory while the batch is made up, for their
expiry and their backout count decide whether they are handed out, expire or are set aside.

A call that reads batches does three things in one entry, so that a crash between them changes
nothing: it consumes the batches before those asked for, claims the next batch if it is one more
than was claimed, and counts that each batch is handed out to this handle. Asking again for the same
batches has the same answer. A batch that was handed out as often as backout_threshold allows is
broken up instead: its messages go back, and later batches are smaller until the one that spoils
them is alone and is moved to the backout queue.

A consumer that no program has open for its timeout loses what it holds, and its claim; see
model.claims. This module does not know who the programs are, nor how they read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from adapter.core.contract import commands as c
from adapter.core.contract import records as r
from adapter.core.contract import results
from adapter.core.contract.pages import PageNeeded
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.spans import Count, Span
from adapter.core.contract.stored import Stored
from adapter.core.model.claims import Batch, DurableConsumer
from adapter.core.model.handles import ConsumerHandle
from adapter.core.model.lane import bucket_of
from adapter.core.model.manager import QueueManager
from adapter.core.model.queue import LocalQueue
from adapter.core.rules.consumers import timeouts
from adapter.core.rules.messages import backout, get
from adapter.core.rules.network import opening, resolve
from adapter.core.rules.primitives import matching, naming
from adapter.core.rules.primitives.decision import Decision, connection_of, done, queue_of

CONSUMERS_MAX = 100
"""Of one queue: each may hold as much as fits into memory as ranges."""
BATCH_MAX = 10_000
"""Messages; as many as a unit may have."""
BATCH_BYTES = 64 * 1024 * 1024
"""Of bodies, which are in memory while a batch is made up."""
AHEAD_MAX = 8
"""Batches that were claimed before a program died that had not taken note of them."""
TIMEOUT_MIN_MS, TIMEOUT_MAX_MS = 1_000, 30 * 86_400_000
SMALLER = 10
"""A batch that failed too often is followed by batches of a tenth of its size, and so on."""
CLAIM_LOST = "claim_lost"


class _Found(Struct):
    """What there is for a batch. poison: what came back too often. size: bytes of all bodies."""

    messages: list[Stored] = []
    poison: list[Stored] = []
    size: int = 0

    @property
    def is_full(self) -> bool:
        """Whether there is as much as may be looked at, for all of it is in memory meanwhile."""
        return len(self.poison) >= BATCH_MAX or self.size >= BATCH_BYTES


def decide_open_consumer(qm: QueueManager, request: c.Request, command: c.OpenConsumer) -> Decision:
    """Open a queue as its consumer of this name; at most one program has it open."""
    connection = connection_of(qm, request)
    opening.check_numbers(qm, connection, command.queue, command.handle)
    naming.check_name(command.consumer)
    if not TIMEOUT_MIN_MS <= command.timeout_ms <= TIMEOUT_MAX_MS:
        text = f"a timeout is {TIMEOUT_MIN_MS} to {TIMEOUT_MAX_MS} ms, not {command.timeout_ms}"
        raise Refusal(Reason.OPTIONS_ERROR, command.queue, text)
    found = resolve.find(qm, c.Open(command.handle, command.queue, c.INPUT))
    queue = found.queue
    if found.is_made or queue.is_temporary:
        text = "a temporary queue, or a model of one, has no messages that others could read"
        raise Refusal(Reason.OPTIONS_ERROR, command.queue, text)
    records, state = _known(qm, queue, command)
    handle = ConsumerHandle(
        command.handle,
        queue,
        command.consumer,
        found.alias,
        may_break_off=command.may_break_off,
    )
    opening.open_queue(qm, connection, handle, request.now_ms)
    timeouts.note_open(connection, handle)
    return Decision(records, state, qm.entry_n)


def _known(
    qm: QueueManager, queue: LocalQueue, command: c.OpenConsumer
) -> tuple[list[r.Record], results.ConsumerState]:
    """Say what is to be recorded of a consumer that is opened, if anything, and where it stands."""
    known = queue.consumers.get(command.consumer)
    if known is None:
        if len(queue.consumers) >= CONSUMERS_MAX:
            text = f"a queue has at most {CONSUMERS_MAX} consumers"
            raise Refusal(Reason.LIMIT_REACHED, queue.name, text)
        claim = qm.numbers.new_message_id()
        made = r.ConsumerSet(queue.name, command.consumer, claim, command.timeout_ms, 0, 0)
        return [made], results.ConsumerState(claim, 0, 0)
    _check_free(queue, command.consumer)
    if known.timeout_ms == command.timeout_ms:
        return [], _state(known)
    return [_set(queue, known, timeout_ms=command.timeout_ms)], _state(known)


def _check_free(queue: LocalQueue, consumer: str) -> None:
    """Refuse what a consumer must not be open for."""
    if consumer in queue.consuming:
        text = f"connection {queue.consuming[consumer]} has it open"
        raise Refusal(Reason.CONSUMER_IN_USE, consumer, text)


def decide_claim(qm: QueueManager, request: c.Request, command: c.ClaimBatch) -> Decision:
    """Give a consumer its next batch, in the order of delivery, as far as its topic has it."""
    handle, consumer = _handle_of(qm, request, command.handle)
    _check_limit(handle, command.limit, 1)
    if consumer.last - max(command.planned, consumer.consumed) >= AHEAD_MAX:
        return Decision([], _state(consumer), qm.entry_n)
    batch, records = _next_batch(qm, handle.queue, consumer, command.limit, request.now_ms)
    if not batch.spans and not _waits_for_its_end(consumer):
        return Decision(records, _state(consumer), qm.entry_n)
    if not command.only_ask:
        records.append(_claim_of(handle.queue, consumer, batch))
    state = results.ConsumerState(consumer.claim, consumer.consumed, consumer.last + 1)
    return Decision(records, state, qm.entry_n)


def _check_limit(handle: ConsumerHandle, limit: int, least: int) -> None:
    """Refuse a batch of a queue that gives nothing, and one of a size that batches do not have."""
    queue = handle.queue
    get.check_allowed(handle)
    if not least <= limit <= BATCH_MAX:
        text = f"a batch has {least} to {BATCH_MAX} messages, not {limit}"
        raise Refusal(Reason.OPTIONS_ERROR, queue.name, text)


def _next_batch(
    qm: QueueManager, queue: LocalQueue, consumer: DurableConsumer, limit: int, now_ms: int
) -> tuple[Batch, list[r.Record]]:
    """Make up a consumer's next batch; with what is to be recorded of messages that are set aside.

    Raises PageNeeded.
    """
    if not limit:
        return Batch([], []), []
    found = _find(qm, queue, min(limit, consumer.size_max or BATCH_MAX), now_ms)
    records = backout.move(qm, queue, found.poison, now_ms, frozenset())
    counts = [
        Count(-one.place[0], one.place[1], one.backout_count)
        for one in found.messages
        if one.backout_count
    ]
    return Batch(list(_spans(found.messages)), counts), records


def _claim_of(queue: LocalQueue, consumer: DurableConsumer, batch: Batch) -> r.BatchClaimed:
    return r.BatchClaimed(queue.name, consumer.name, batch.spans, batch.counts)


def _waits_for_its_end(consumer: DurableConsumer) -> bool:
    """Whether its last batch has messages, and may be ended by another one alone."""
    return bool(consumer.batches) and consumer.batches[consumer.last].size > 0


def _find(qm: QueueManager, queue: LocalQueue, limit: int, now_ms: int) -> _Found:
    """Look for what a batch may have: of each lane what comes before the first that is not copied.

    Raises PageNeeded for what is not in memory: what a message says decides what becomes of it.
    """
    moved_n = -1 if queue.name in qm.parked else qm.moved_n
    found = _Found()
    for lane in reversed(queue.lanes):
        for one in _in_order(queue, lane.number, limit - len(found.messages)):
            if len(found.messages) >= limit or found.is_full:
                return found
            if one.place[2] or matching.is_over(one, now_ms):
                continue
            if one.entry_n > moved_n:
                break
            found.size += len(one.message.body)
            (found.poison if backout.is_due(queue, one) else found.messages).append(one)
    return found


def _in_order(queue: LocalQueue, lane_number: int, count: int) -> Iterator[Stored]:
    """Iterate over a lane; what is not in memory is asked for in pages as large as is of use."""
    lane = queue.lanes[lane_number]
    if not len(lane):
        return
    try:
        yield from lane.in_order(queue.name)
    except PageNeeded as needed:
        raise PageNeeded(queue.name, lane_number, needed.seq, max(count, 1)) from None


def _spans(messages: Iterable[Stored]) -> Iterator[Span]:
    """Join what is adjacent and alike."""
    span: Span | None = None
    for one in messages:
        number, seq, priority = -one.place[0], one.place[1], one.message.priority
        expires_ms = bucket_of(one.message.expires_at_ms)
        if (
            span is not None
            and (span.lane, span.last + 1, span.priority) == (number, seq, priority)
            and span.expires_by_ms == expires_ms
        ):
            span = Span(number, span.first, seq, priority, expires_ms)
            continue
        if span is not None:
            yield span
        span = Span(number, seq, seq, priority, expires_ms)
    if span is not None:
        yield span


def decide_read(qm: QueueManager, request: c.Request, command: c.ReadBatches) -> Decision:
    """Say what is in batches, and count that they are handed out; those before are consumed.

    A batch that was handed out backout_threshold times before is broken up instead: its messages
    go back, and it is empty from now on.
    """
    handle, consumer = _handle_of(qm, request, command.handle)
    is_next = command.limit >= 0 and command.through == consumer.last + 1
    _check(consumer, command.claim, command.after, command.through - is_next)
    queue = handle.queue
    batches = dict(consumer.batches)
    records: list[r.Record] = []
    if is_next:
        batch, records = _claim_to_read(qm, handle, consumer, command.limit, request.now_ms)
        batches[command.through] = batch
    if command.after > consumer.consumed:
        records.append(_consume(queue, consumer, command.after))
    shown = []
    for number in range(command.after + 1, command.through + 1):
        batch = batches[number]
        found = None
        if number not in handle.batches and batch.size:
            found = _broken_up(queue, consumer, number, batch)
            if found is not None:
                qm.note_batches_back(queue, batch.spans, request.now_ms)
            records.append(found or r.BatchDelivered(queue.name, consumer.name, number))
        handle.batches.add(number)
        shown.append(
            _describe(number, Batch([], []) if isinstance(found, r.BatchReturned) else batch)
        )
    return Decision(records, results.Batches(queue.incarnation, shown), qm.entry_n)


def _claim_to_read(
    qm: QueueManager, handle: ConsumerHandle, consumer: DurableConsumer, limit: int, now_ms: int
) -> tuple[Batch, list[r.Record]]:
    """Claim the batch that a program is about to read, in the same step."""
    if qm.quiescing:
        raise Refusal(Reason.QUEUE_MANAGER_QUIESCING, qm.name)
    _check_limit(handle, limit, 0)
    batch, records = _next_batch(qm, handle.queue, consumer, limit, now_ms)
    return batch, [*records, _claim_of(handle.queue, consumer, batch)]


def _describe(number: int, batch: Batch) -> results.BatchDescription:
    spans = [part for one in batch.spans for part in (one.lane, one.first, one.last)]
    counts = [part for one in batch.counts for part in (one.lane, one.seq, one.count)]
    return results.BatchDescription(number, spans, counts)


def _broken_up(
    queue: LocalQueue, consumer: DurableConsumer, number: int, batch: Batch
) -> r.BatchReturned | None:
    """Return the messages of a batch that failed too often; None if it has not.

    Of several it is not known which is to blame: the next batches are smaller, until it is alone.
    A message alone has been given back as often as it was handed out.
    """
    threshold = queue.attributes.backout_threshold
    if not threshold or batch.deliveries < threshold:
        return None
    size = batch.size
    raised = batch.deliveries if size == 1 else 0
    size_max = max(1, size // SMALLER)
    return r.BatchReturned(queue.name, consumer.name, number, size, raised, size_max)


def decide_consume(qm: QueueManager, request: c.Request, command: c.ConsumeBatches) -> Decision:
    """Consume batches; asking again is harmless."""
    handle, consumer = _handle_of(qm, request, command.handle)
    if command.through <= consumer.consumed and command.claim == consumer.claim:
        return Decision([], _state(consumer), qm.entry_n)
    _check(consumer, command.claim, consumer.consumed, command.through)
    state = results.ConsumerState(consumer.claim, command.through, consumer.last)
    return Decision([_consume(handle.queue, consumer, command.through)], state, qm.entry_n)


def _consume(queue: LocalQueue, consumer: DurableConsumer, through: int) -> r.BatchesConsumed:
    """Say that batches are consumed; after one that went well the next may be larger again."""
    numbers = range(consumer.consumed + 1, through + 1)
    count = sum(consumer.batches[number].size for number in numbers)
    size_max = consumer.size_max
    if size_max and count:
        size_max = 0 if size_max * SMALLER >= BATCH_MAX else size_max * SMALLER
    return r.BatchesConsumed(queue.name, consumer.name, through, count, size_max)


def _check(consumer: DurableConsumer, claim: bytes, after: int, through: int) -> None:
    """Refuse what a program asks that has lost its claim, or knows other batches."""
    if claim != consumer.claim:
        raise Refusal(Reason.CLAIM_LOST, consumer.name)
    if not consumer.consumed <= after <= through <= consumer.last:
        text = (
            f"batches {after + 1} to {through} were asked for: {consumer.consumed} are consumed, "
            f"{consumer.last} were given"
        )
        raise Refusal(Reason.BATCH_NOT_FOUND, consumer.name, text)


def _handle_of(
    qm: QueueManager, request: c.Request, number: int
) -> tuple[ConsumerHandle, DurableConsumer]:
    handle = connection_of(qm, request).handles.get(number)
    if not isinstance(handle, ConsumerHandle):
        raise Refusal(Reason.HANDLE_NOT_OPEN, detail=f"handle {number} is not a consumer's")
    if handle.queue.is_deleted:
        raise Refusal(Reason.QUEUE_DELETED, handle.queue.name)
    return handle, handle.queue.consumers[handle.consumer]


def _state(consumer: DurableConsumer) -> results.ConsumerState:
    return results.ConsumerState(consumer.claim, consumer.consumed, consumer.last)


def end_lost_claims(qm: QueueManager, now_ms: int) -> list[r.Record]:
    """Take from consumers that have been away too long what they were given."""
    return [
        record
        for queue, consumer in timeouts.over(qm)
        if consumer.held
        for record in _take_over(qm, queue, consumer, now_ms)
    ]


def _take_over(
    qm: QueueManager, queue: LocalQueue, consumer: DurableConsumer, now_ms: int
) -> list[r.Record]:
    """Return all that a consumer holds; its program finds the claim lost."""
    count = consumer.held
    records = _return_batches(queue, consumer)
    fenced = _set(queue, consumer, claim=qm.numbers.new_message_id(), consumed=consumer.last)
    details = {"consumer": consumer.name, "messages": str(count)}
    qm.note_batches_back(queue, consumer.spans, now_ms)
    return [*records, fenced, r.EventRaised(CLAIM_LOST, queue.name, now_ms, details)]


def _return_batches(queue: LocalQueue, consumer: DurableConsumer) -> list[r.Record]:
    return [
        r.BatchReturned(
            queue.name,
            consumer.name,
            number,
            batch.size,
            int(_has_failed(batch)),
            consumer.size_max,
        )
        for number, batch in consumer.batches.items()
        if batch.size
    ]


def _has_failed(batch: Batch) -> bool:
    """Whether a program has failed with a batch, so that its messages count as backed out.

    No program has seen a batch that was never handed out. One that was handed out once, to a
    program that closed its consumer, may well be done: that program has only not come back to say
    so.
    """
    return batch.deliveries > 1 or batch.broke_off


def _set(
    queue: LocalQueue,
    consumer: DurableConsumer,
    *,
    claim: bytes | None = None,
    timeout_ms: int = 0,
    consumed: int | None = None,
) -> r.ConsumerSet:
    """Say what a consumer's figures are from now on: those that are given, and the others."""
    return r.ConsumerSet(
        queue.name,
        consumer.name,
        claim or consumer.claim,
        timeout_ms or consumer.timeout_ms,
        consumer.consumed if consumed is None else consumed,
        consumer.size_max,
    )


def decide_ask_consumers(qm: QueueManager, request: c.Request, command: c.AskConsumers) -> Decision:
    """Show the consumers of queues."""
    names = naming.fitting(qm.queues, command.pattern, command.system)
    found = [
        _status(queue, queue.consumers[name], qm.elapsed_ms)
        for queue in map(qm.queues.__getitem__, names)
        for name in sorted(queue.consumers)
    ]
    return Decision([], results.Consumers(found), qm.entry_n)


def _status(
    queue: LocalQueue, consumer: DurableConsumer, elapsed_ms: int
) -> results.ConsumerStatus:
    connection = queue.consuming.get(consumer.name, 0)
    first = next(iter(consumer.batches.values()), None)
    return results.ConsumerStatus(
        queue.name,
        consumer.name,
        consumer.claim,
        connection,
        consumer.timeout_ms,
        0.0 if connection else (elapsed_ms - consumer.away_since_ms) / 1000,
        consumer.consumed,
        consumer.last,
        consumer.held,
        first.deliveries if first else 0,
        consumer.size_max,
    )


def decide_delete_consumer(
    qm: QueueManager, request: c.Request, command: c.DeleteConsumer
) -> Decision:
    """Forget a consumer; the answer says how many messages go back to their places."""
    queue = queue_of(qm, command.queue)
    consumer = queue.consumers.get(command.consumer)
    if consumer is None:
        raise Refusal(Reason.CONSUMER_NOT_FOUND, command.consumer, f"of queue {queue.name}")
    _check_free(queue, command.consumer)
    records = _return_batches(queue, consumer)
    qm.note_batches_back(queue, consumer.spans, request.now_ms)
    return done(
        qm, request, [*records, r.ConsumerDeleted(queue.name, consumer.name)], consumer.held
    )


def describe(queue: LocalQueue) -> Iterator[r.Record]:
    """Describe a queue's consumers for a snapshot, behind its lanes, which count their messages."""
    for consumer in queue.consumers.values():
        yield _set(queue, consumer)
        for batch in consumer.batches.values():
            yield r.BatchClaimed(
                queue.name, consumer.name, batch.spans, batch.counts, batch.deliveries
            )


def apply_consumer_set(qm: QueueManager, record: r.ConsumerSet) -> None:
    """Make the consumer, or give it these figures. What it was given and lost is forgotten."""
    queue = qm.queues[record.queue]
    consumer = queue.consumers.get(record.consumer)
    if consumer is None:
        consumer = DurableConsumer(record.consumer, record.claim, record.timeout_ms)
        queue.consumers[record.consumer] = consumer
    if consumer.claim != record.claim:
        consumer.batches.clear()
    consumer.claim, consumer.timeout_ms = record.claim, record.timeout_ms
    consumer.consumed, consumer.size_max = record.consumed, record.size_max


def apply_batch_claimed(qm: QueueManager, record: r.BatchClaimed) -> None:
    """Hide the messages of the batch."""
    queue = qm.queues[record.queue]
    consumer = queue.consumers[record.consumer]
    batch = Batch(record.spans, record.counts, record.deliveries)
    queue.claim(batch)
    consumer.batches[consumer.last + 1] = batch


def apply_batch_delivered(qm: QueueManager, record: r.BatchDelivered) -> None:
    """Count it."""
    qm.queues[record.queue].consumers[record.consumer].batches[record.batch].deliveries += 1


def apply_batches_consumed(qm: QueueManager, record: r.BatchesConsumed) -> None:
    """Forget the batches: their messages are neither available nor held any more."""
    consumer = qm.queues[record.queue].consumers[record.consumer]
    for number in range(consumer.consumed + 1, record.through + 1):
        del consumer.batches[number]
    consumer.consumed, consumer.size_max = record.through, record.size_max


def apply_batch_returned(qm: QueueManager, record: r.BatchReturned) -> None:
    """Make the messages available again; the batch's number stays, without messages."""
    queue = qm.queues[record.queue]
    consumer = queue.consumers[record.consumer]
    batch = consumer.batches[record.batch]
    for span in queue.give_back(batch, record.raised):
        qm.add_paged_end(queue, span.lane, span.expires_by_ms)
    consumer.batches[record.batch] = Batch([], [])
    consumer.size_max = record.size_max
    qm.wake(queue)


def apply_consumer_deleted(qm: QueueManager, record: r.ConsumerDeleted) -> None:
    """Forget it."""
    del qm.queues[record.queue].consumers[record.consumer]
