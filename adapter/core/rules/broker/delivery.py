"""Delivery: from a message that was sent to the queue of the endpoint that it is for.

The target's endpoint is made by the first message. What cannot be delivered yet, because the
queue is OFF, the service does not exist, or its route leads to a queue manager that is not known,
is held, in order, and delivered when that has changed: on a queue of the endpoint's queue if the
conversation has an endpoint here, and on a queue of the service if not. So the route of a
dialog counts as it is when its first message leaves; then all others go the same way. What must not
be delivered is answered with an Error. What is for another queue manager leaves by a transmission
queue. What is for an export is put to its queue, and not answered. This module does not know when a
unit commits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec import structs

from adapter.core.attributes import broker as kinds
from adapter.core.contract import records as r
from adapter.core.contract.broker import (
    END_DIALOG,
    ERROR,
    EXPORT_ADDRESS,
    SCHEMA_PREFIX,
    SYSTEM_TYPES,
)
from adapter.core.contract.broker_header import READY, WAITING, BrokerHeader, of_no_direction
from adapter.core.contract.message import GUID_LENGTH, MessageData
from adapter.core.contract.reasons import Reason
from adapter.core.contract.transmission import Transmission
from adapter.core.model.broker_events import HeldRelease
from adapter.core.model.broker_queue import HELD, PREFIX, BrokerQueue, key_of
from adapter.core.model.conversations import BROKEN, ENDED, OPEN
from adapter.core.model.made_queues import MadeQueues
from adapter.core.model.queue import LocalQueue
from adapter.core.model.routes import NoRoute
from adapter.core.rules.broker import acceptance, catalog, to_exports
from adapter.core.rules.broker.activation import note_arrival
from adapter.core.rules.broker.headers import is_of_far_side, message_to, message_with
from adapter.core.rules.broker.texts import error_body
from adapter.core.rules.messages.plan import Plan
from adapter.core.rules.messages.unit import Gets, discard_records
from adapter.core.rules.network import routes

END_ACKNOWLEDGED = SCHEMA_PREFIX + "EndAcknowledged"
"""Between queue managers only: the far side knows that a conversation was ended."""

ENDPOINT_GONE = -8462
TOO_LONG = -8459
LIFETIME_OVER = -8489
NO_PERMISSION = -8494


class ConversationPlan:
    """What becomes of endpoints with the puts of a plan.

    states: endpoints that are changed or new, by handle. gone: those that cease to be. releasing:
    the queue whose held messages are put; taken: their seqs. held: queues that messages are held
    on; waiting: endpoints here whose messages wait for their far service. targets: how many sides
    of targets are new.
    """

    __slots__ = (
        *("gone", "held", "new", "now_ms", "plan", "qm", "releasing", "states", "taken"),
        *("targets", "waiting"),
    )

    def __init__(self, plan: Plan, releasing: str = "") -> None:
        self.plan = plan
        self.qm = plan.qm
        self.now_ms = plan.now_ms
        self.states: dict[bytes, r.ConversationSet] = {}
        self.gone: dict[bytes, r.ConversationSet] = {}
        self.new: dict[tuple[bytes, bool], bytes] = {}
        self.releasing = releasing
        self.taken: set[int] = set()
        self.held: set[str] = set()
        self.waiting: set[bytes] = set()
        self.targets = 0

    def side(self, conversation: bytes, is_initiator: bool) -> r.ConversationSet | None:
        """Return one side of a conversation as it will be, to be changed; None: it is not here."""
        handle = self.new.get((conversation, is_initiator))
        if handle is None:
            handle = self.qm.conversations.by_side.get((conversation, is_initiator), b"")
        if handle in self.gone:
            return None
        if handle not in self.states:
            endpoint = self.qm.conversations.endpoints.get(handle)
            if endpoint is None:
                return None
            self.states[handle] = structs.replace(endpoint.state)
        return self.states[handle]

    def holds(self, name: str | None) -> bool:
        """Whether messages are held on a queue, or will be."""
        if name is None:
            return False
        queue = self.qm.queues.get(name)
        return name in self.held or (queue is not None and queue.available_count > 0)

    def waits(self, state: r.ConversationSet) -> bool:
        """Whether messages of an endpoint wait for its far service, or will."""
        endpoint = self.qm.conversations.endpoints.get(state.handle)
        queue = self.qm.queues.get(waiting_queue(state.far_service))
        has_rows = (
            endpoint is not None
            and isinstance(queue, BrokerQueue)
            and endpoint.waits(queue.is_there)
        )
        return has_rows or state.handle in self.waiting

    def waiting_of(self, state: r.ConversationSet) -> int:
        """Return how many messages of an endpoint wait for its far service."""
        return len(self._waiting_rows(state))

    def set(self, state: r.ConversationSet) -> None:
        """Note what becomes of an endpoint."""
        self.states[state.handle] = state
        self.new[state.conversation, state.is_initiator] = state.handle

    def remove(self, state: r.ConversationSet) -> None:
        """Let an endpoint cease to be."""
        self.states.pop(state.handle, None)
        self.gone[state.handle] = state

    def record(self, gets: Gets | None = None, removed: Sequence[r.Taken] = ()) -> list[r.Record]:
        """End the plan outside any unit of a program: endpoints are recorded before the puts, and
        after them what is removed. Triggers take no notice.
        """
        self.set_endpoints()
        records = self.plan.record(verb="commit", gets=gets, is_event=False)
        return records + self.removals(removed)

    def set_endpoints(self) -> None:
        """Plan the records of endpoints that are changed or new."""
        known = self.qm.conversations.endpoints
        self.plan.records += [
            state
            for handle, state in self.states.items()
            if handle not in known or known[handle].state != state
        ]

    def removals(self, removed: Sequence[r.Taken] = ()) -> list[r.Record]:
        """Return what is recorded behind the puts: messages are removed, and endpoints that are
        gone, with all that waits for their far service.
        """
        known = self.qm.conversations.endpoints
        gone = [state for handle, state in self.gone.items() if handle in known]
        places = [one for state in gone for one in self._waiting_rows(state)]
        leaving = Counter(one.queue for one in places)
        for name in dict.fromkeys(waiting_queue(state.far_service) for state in gone):
            queue = self.qm.queues.get(name)
            if queue is not None and queue.available_count == leaving[name]:
                self.qm.step.broker_due.append(HeldRelease(name, self.now_ms))  # it may go
        return [
            *discard_records(list(removed), "purged"),
            *discard_records(places, "purged"),
            *(r.ConversationGone(state.handle) for state in gone),
        ]

    def _waiting_rows(self, state: r.ConversationSet) -> list[r.Taken]:
        queue = self.qm.queues.get(waiting_queue(state.far_service))
        if not isinstance(queue, BrokerQueue):
            return []
        taken = self.taken if self.releasing == queue.name else set()
        return [
            r.Taken(queue.name, 0, seq, 0, state.priority - 1)
            for seq in self.qm.conversations.endpoints[state.handle].waiting
            if seq not in taken and queue.is_there(seq)
        ]


def waiting_queue(service: str) -> str:
    """Return the queue on which messages wait for a service."""
    return PREFIX + HELD + service


def is_own(d: ConversationPlan, header: BrokerHeader) -> bool:
    """Whether a message is of an initiator here."""
    return header.from_initiator and header.has_direction and is_from_here(d, header)


def is_from_here(d: ConversationPlan, header: BrokerHeader) -> bool:
    """Whether a message is of an endpoint here, or of this queue manager itself."""
    return header.from_queue_manager in ("", d.qm.name)


def send(d: ConversationPlan, message: MessageData) -> bool:
    """Send a message of an endpoint here, as far as is known where its service is. Whether it is
    delivered, or answered, at once.

    For the first message of an initiator the routes count as they are now. Refuses an answer that
    cannot leave for its queue manager.
    """
    header = _header_of(message)
    sender = d.side(header.conversation, header.from_initiator) if header.has_direction else None
    if sender is None or not is_from_here(d, header):
        return deliver(d, message)
    key = waiting_queue(header.service)
    if header.from_initiator and not d.releasing and d.waits(sender):
        _hold(d, key, message)  # what is released comes before what waits for the service
        return False
    if header.from_initiator and not header.sequence:
        sender.far_queue_manager = catalog.address_of(d.qm, header.service)
    far = sender.far_queue_manager
    if not far:
        return deliver(d, message)
    if far.startswith(EXPORT_ADDRESS):
        return _export(d, sender, message)
    if header.from_initiator:
        known = routes.queue_to_known(d.qm, far, d.plan.new_queues)
        if known is None:
            _hold(d, key, message)
        else:
            put_leaving(d, known, message, far)
        return False
    queue = routes.leave_by(d.qm, far, d.plan.new_queues)
    if isinstance(queue, NoRoute):
        raise queue.refusal()
    put_leaving(d, queue, message, far)
    return False


def way_of(d: ConversationPlan, header: BrokerHeader) -> str | None:
    """Say where a message that waits for a service leaves to, with all behind it of its
    conversation: an address; None: it has to wait further. Whether an export takes it is not asked.
    """
    sender = d.side(header.conversation, True) if is_own(d, header) else None
    if is_own(d, header) and sender is None:
        return ""  # it is dropped
    is_first = header.sequence == 0
    far = catalog.address_for(d.qm, sender, is_first=is_first) if sender is not None else ""
    if far.startswith(EXPORT_ADDRESS):
        is_known = True
    elif far:
        is_known = routes.queue_to_known(d.qm, far, MadeQueues()) is not None
    elif d.side(header.conversation, not header.from_initiator) is not None:
        is_known = True  # the endpoint's queue says whether it can be delivered
    else:
        service = catalog.lookup(d.qm, kinds.SERVICE, header.service)
        is_known = isinstance(service, kinds.ServiceAttributes) and (
            catalog.queue_named(d.qm, service.queue).attributes.status
        )
    return far if is_known else None


def waits_for_export(d: ConversationPlan, address: str, message: MessageData, more: int) -> bool:
    """Whether the queue of an export does not take a message now, and may do so later.

    more: see Plan.why_not().
    """
    header = _header_of(message)
    export = to_exports.export_of(address)
    if not export or header.message_type in SYSTEM_TYPES or _is_over(d, header):
        return False  # nothing of it is put there
    return to_exports.may_pass(to_exports.why_not(d.plan, export, message, more))


def _export(d: ConversationPlan, sender: r.ConversationSet, message: MessageData) -> bool:
    """Put a message to the queue of an export; whether it waits no more.

    Only what a program sends is put there. The end of this side is acknowledged at once.
    """
    header = _header_of(message)
    export = to_exports.export_of(sender.far_queue_manager)
    is_broken = sender.far != OPEN or not export or _is_over(d, header)
    if is_broken or header.message_type in SYSTEM_TYPES:
        acknowledge(d, header)
        return True
    reason = to_exports.why_not(d.plan, export, message)
    if to_exports.may_pass(reason):
        key = waiting_queue(header.service)
        _hold(d, key, message)
        to_exports.note_retry(d.qm, key)
        return False
    code, text = acceptance.why_not_sent(d.qm, header, message.body)
    if not code and reason is Reason.MESSAGE_TOO_LONG:
        code, text = TOO_LONG, f"The queue of export '{export}' takes no messages of this length."
    if code:
        sender.far_queue_manager = EXPORT_ADDRESS
        put_error(d, sender, code, text)
    else:
        to_exports.put(d.plan, export, message)
    return True


def reply(d: ConversationPlan, message: MessageData, queue_manager: str) -> None:
    """Send a message of the queue manager itself: to a queue here, or to another queue manager. It
    is a dead letter if it cannot leave: no program has asked for it, and could be refused.
    """
    if not queue_manager:
        deliver(d, message)
        return
    queue = routes.leave_by(d.qm, queue_manager, d.plan.new_queues)
    if isinstance(queue, NoRoute):
        d.plan.give_up_reply(message, queue_manager, queue.reason)
    else:
        put_leaving(d, queue, message, queue_manager)


def put_leaving(
    d: ConversationPlan, queue: LocalQueue, message: MessageData, queue_manager: str
) -> None:
    """Put a message to the transmission queue by which it leaves for a queue manager."""
    header = structs.replace(_header_of(message), handle=b"", from_queue_manager=d.qm.name)
    leaving = structs.replace(
        message,
        broker=header,
        transmission=Transmission("", queue_manager),
        message_id=d.qm.numbers.new_message_id(),
        put_time_ms=d.now_ms,
    )
    d.plan.put(queue, leaving)


def is_valid(message: MessageData) -> bool:
    """Whether a message from elsewhere is one of Service Broker as a queue manager sends it."""
    header = message.broker
    return (
        header is not None
        and len(header.conversation) == GUID_LENGTH
        and not header.handle
        and header.sequence >= 0
        and routes.is_name(header.from_queue_manager)
    )


def deliver(d: ConversationPlan, message: MessageData) -> bool:
    """Deliver a message that is for an endpoint here. Whether it is no longer held."""
    header = _header_of(message)
    state = _receiver_of(d, header)
    if header.message_type == END_ACKNOWLEDGED:
        if state is not None and state.is_ended:
            d.remove(state)
        return True
    if state is None and d.side(header.conversation, not header.from_initiator) is not None:
        _answer_for_gone(d, header)  # that endpoint's conversation is with another one
        return True
    if state is None and not header.has_direction:
        return True  # the endpoint is over that it was put for
    if state is None and (not header.from_initiator or _is_over(d, header)):
        _answer_for_gone(d, header)
        return True
    held = _held_at(d, header, state)
    is_first = header.sequence == 0 and header.message_type not in SYSTEM_TYPES
    if state is None and not is_first and not d.holds(held):
        _answer_for_gone(d, header)  # the endpoint is over, as its first message is not held
        return True
    if held is not None and not _may_hold(d, header, held):
        text = f"Cannot find the remote service '{header.service}' because it does not exist."
        _answer(d, header, state, acceptance.NO_SERVICE, text)
        return True
    if held is not None:
        _hold(d, held, message)
        return False
    if state is not None and (
        state.is_ended or (header.message_type == ERROR and state.far != OPEN)
    ):
        acknowledge(d, header)
        return True
    begins = 0 if state is not None else d.targets + 1
    code, text = acceptance.why_not(d.qm, header, message.body, begins)
    if code:
        _answer(d, header, state, code, text)
        return True
    state = state or _new_endpoint(d, header)
    _put(d, state, message)
    acknowledge(d, header)
    return True


def refuse(d: ConversationPlan, header: BrokerHeader) -> None:
    """Break off the conversation of a message that its sender has no right to send."""
    state = _receiver_of(d, header)
    text = f"You do not have permission to access the service '{header.service}'."
    _answer(d, header, state, NO_PERMISSION, text)


def _header_of(message: MessageData) -> BrokerHeader:
    assert message.broker is not None, "it is a message of Service Broker"
    return message.broker


def _receiver_of(d: ConversationPlan, header: BrokerHeader) -> r.ConversationSet | None:
    """Return the endpoint here that a message is for; None: it is not here, or has another one
    on its far side.
    """
    state = d.side(header.conversation, not header.from_initiator)
    return state if state is None or is_of_far_side(header, state, d.qm.name) else None


def _is_over(d: ConversationPlan, header: BrokerHeader) -> bool:
    """Whether the lifetime of a conversation is over that has not begun here."""
    return 0 < header.lifetime_ms <= d.now_ms


def _answer_for_gone(d: ConversationPlan, header: BrokerHeader) -> None:
    """Answer a message for an endpoint that was cleaned up, or is over: its sender gets an Error,
    unless it has ended the conversation with this message.
    """
    acknowledge(d, header)
    if header.message_type in SYSTEM_TYPES or _is_over(d, header):
        return
    text = (
        "The remote conversation endpoint is either in a state where no more messages can be "
        "exchanged, or it has been dropped."
    )
    _answer(d, header, None, ENDPOINT_GONE, text)


def _held_at(
    d: ConversationPlan, header: BrokerHeader, state: r.ConversationSet | None
) -> str | None:
    """Say on which queue a message is held; None: it can be delivered.

    What has an endpoint is held for its queue; what has none yet, for its service, which may be
    dropped and created again, on another queue. Behind messages that are held, others are held too,
    so that their order is kept.
    """
    if state is None:
        return _held_for_service(d, header)
    key, waiting = state.queue, waiting_queue(header.service)
    if d.releasing != key + HELD and _is_releasing(d, waiting):
        return waiting  # not what has left from there already
    is_on = catalog.that_queue(d.qm, key).attributes.status
    return None if is_on and not _has_others(d, key + HELD) else key + HELD


def _held_for_service(d: ConversationPlan, header: BrokerHeader) -> str | None:
    """Say where a message waits whose conversation has no endpoint here yet; None: it need not."""
    waiting = waiting_queue(header.service)
    found = catalog.lookup(d.qm, kinds.SERVICE, header.service)
    if not isinstance(found, kinds.ServiceAttributes):
        return waiting
    # What leaves a queue never goes behind what waits for the service, which may go behind the
    # queue: two that are long would pass the same messages back and forth for ever.
    leaves_queue = d.releasing and not d.releasing.startswith(PREFIX + HELD)
    if not leaves_queue and _has_others(d, waiting):
        return waiting
    key = key_of(found.queue)
    if header.sequence and _has_others(d, key + HELD):
        return key + HELD  # earlier releases held first messages there
    return None if catalog.that_queue(d.qm, key).attributes.status else waiting


def _has_others(d: ConversationPlan, name: str) -> bool:
    """Whether messages are held on a queue, and it is not being released."""
    held = d.qm.queues.get(name)
    return held is not None and name != d.releasing and held.available_count > 0


def _is_releasing(d: ConversationPlan, name: str) -> bool:
    """Whether messages that are held on a queue are released by other steps than this one."""
    held = d.qm.queues.get(name)
    return isinstance(held, BrokerQueue) and held.look is not None and name != d.releasing


def _may_hold(d: ConversationPlan, header: BrokerHeader, key: str) -> bool:
    """Whether there is a queue to hold a message of another queue manager on, or may be one more.

    What a program here has sent is refused instead, with its unit.
    """
    if is_from_here(d, header) or _is_owed(d, key) or key in d.qm.queues:
        return True
    return key in d.plan.new_queues.queues or d.plan.new_queues.has_room(d.qm)


def _is_owed(d: ConversationPlan, key: str) -> bool:
    """Whether a queue of what is held is made whatever queues there are: each queue has one at
    most, and what is released was held before.
    """
    return bool(d.releasing) or not key.startswith(PREFIX + HELD)


def _hold(d: ConversationPlan, key: str, message: MessageData) -> None:
    qm = d.qm
    made = d.plan.new_queues
    queue = qm.queues.get(key) or made.queues.get(key)
    if queue is None:
        record = catalog.part(qm, key, "", key.removeprefix(PREFIX))
        attributes = kinds.BrokerAttributes(**record.attributes)
        queue = BrokerQueue(key, record.incarnation, attributes)
        queue.begin_term(qm.numbers.first_n)
        made.add(
            qm, queue, record.attributes, name=_header_of(message).service, is_owed=_is_owed(d, key)
        )
    header = structs.replace(_header_of(message), status=WAITING, handle=b"")
    sender = d.side(header.conversation, True) if is_own(d, header) else None
    if sender is not None and key == waiting_queue(header.service):
        header.handle = sender.handle
        d.waiting.add(sender.handle)
    held = structs.replace(message, broker=header, transmission=None)
    _stamp(d, held)
    d.held.add(key)
    d.plan.put(queue, held)


def _stamp(d: ConversationPlan, message: MessageData) -> None:
    message.message_id = d.qm.numbers.new_message_id()
    message.put_time_ms = d.now_ms


def acknowledge(d: ConversationPlan, header: BrokerHeader) -> None:
    """Let the side that ended a conversation know that its end has come: it ceases to be."""
    if header.message_type not in (END_DIALOG, ERROR):
        return
    if is_from_here(d, header):
        far = d.side(header.conversation, header.from_initiator)
        if far is not None and far.is_ended:
            d.remove(far)
        return
    answer = structs.replace(
        header,
        message_type=END_ACKNOWLEDGED,
        validation="E",
        service=header.from_service,
        from_service=header.service,
        from_initiator=not header.from_initiator,
        sequence=header.sequence + 1,
    )
    reply(d, message_with(answer), header.from_queue_manager)


def _answer(
    d: ConversationPlan,
    header: BrokerHeader,
    state: r.ConversationSet | None,
    code: int,
    text: str,
) -> None:
    """Break a conversation off: both sides learn of it by an Error."""
    if state is not None:
        put_error(d, state, code, text)
    far = "" if header.from_queue_manager == d.qm.name else header.from_queue_manager
    answer = BrokerHeader(
        conversation=header.conversation,
        sequence=header.sequence if far else of_no_direction(header.sequence),
        message_type=ERROR,
        validation="X",
        service=header.from_service,
        contract=header.contract,
        from_service=header.service,
        from_initiator=not header.from_initiator,
    )
    message = message_with(answer, error_body(code, text))
    reply(d, message, far)


def put_error(d: ConversationPlan, state: r.ConversationSet, code: int, text: str) -> None:
    """Put an Error of the system to an endpoint's own queue, or where messages for it wait."""
    deliver(d, message_to(state, ERROR, error_body(code, text), "X"))


def _new_endpoint(d: ConversationPlan, header: BrokerHeader) -> r.ConversationSet:
    """Make the target's side of a conversation, in a group of its own."""
    qm = d.qm
    d.targets += 1
    handle, group = qm.numbers.new_guid(), qm.numbers.new_guid()
    state = r.ConversationSet(
        handle,
        header.conversation,
        group,
        key_of(catalog.service(qm, header.service).queue),
        header.service,
        header.from_service,
        "" if header.from_queue_manager == qm.name else header.from_queue_manager,
        header.contract,
        False,
        catalog.priority(qm, header.contract, header.service, header.from_service),
        lifetime_ms=header.lifetime_ms,
    )
    d.set(state)
    return state


def _put(d: ConversationPlan, state: r.ConversationSet, message: MessageData) -> None:
    header = _header_of(message)
    validation = header.validation
    if header.message_type not in SYSTEM_TYPES:
        validation = catalog.check_type(d.qm, header.message_type)
    here = structs.replace(
        header,
        handle=state.handle,
        sequence=header.shown_sequence,
        status=READY,
        validation=validation,
    )
    put = structs.replace(message, broker=here, transmission=None, priority=state.priority - 1)
    _stamp(d, put)
    queue = catalog.that_queue(d.qm, state.queue)
    note_arrival(d.qm, queue, d.now_ms)
    d.plan.put(queue, put)
    if header.message_type == END_DIALOG:
        state.far = ENDED
    elif header.message_type == ERROR:
        state.far, state.timer_ms = BROKEN, 0
