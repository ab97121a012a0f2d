"""The tables of core: which rule decides a command, and which one applies a record.

It also says which commands are durable. This module does not know what a step is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from adapter.core.contract import broker as b
from adapter.core.contract import commands as c
from adapter.core.contract import msmq as m
from adapter.core.contract import records as r
from adapter.core.model.manager import QueueManager
from adapter.core.model.undo import Removed
from adapter.core.rules import (
    arrivals,
    broker_catalog,
    broker_commit,
    broker_drop,
    broker_end,
    broker_events,
    broker_state,
    broker_verbs,
    broker_views,
    browse,
    connections,
    consumers,
    definitions,
    delays,
    get,
    handles,
    msmq_computers,
    msmq_move,
    msmq_open,
    msmq_queues,
    msmq_receive,
    msmq_remove,
    msmq_send,
    objects,
    publish,
    restore,
    retained,
    session,
    subscriptions,
    topics,
    unit,
)
from adapter.core.rules.decision import Decision

Rule = Callable[[QueueManager, c.Request, Any], Decision]

DECIDE: Final[dict[type, Rule]] = {
    c.SessionOpen: session.decide_session_open,
    c.SessionResume: session.decide_session_resume,
    c.Open: topics.decide_open,
    c.Close: handles.decide_close,
    c.Put: publish.decide_put,
    c.Get: get.decide_get,
    c.Browse: browse.decide_browse,
    c.Begin: unit.decide_begin,
    c.Touch: unit.decide_touch,
    c.Commit: broker_commit.decide,
    c.Backout: unit.decide_backout,
    c.AskOutcome: unit.decide_ask_outcome,
    c.DefineQueue: objects.decide_define,
    c.AlterQueue: objects.decide_alter,
    c.DeleteQueue: objects.decide_delete,
    c.PurgeQueue: objects.decide_purge,
    c.Inquire: objects.decide_inquire,
    c.AskStatus: objects.decide_status,
    c.SetAttributes: objects.decide_set,
    c.AskConnections: connections.decide_ask_connections,
    c.EndConnection: connections.decide_end_connection,
    c.DefineObject: definitions.decide_define_object,
    c.AlterObject: definitions.decide_alter_object,
    c.DeleteObject: definitions.decide_delete_object,
    c.InquireObjects: definitions.decide_inquire_objects,
    c.OpenTopic: topics.decide_open_topic,
    c.Subscribe: subscriptions.decide_subscribe,
    c.CloseSubscription: subscriptions.decide_close_subscription,
    c.SubscriptionRequest: subscriptions.decide_subscription_request,
    c.ClearRetained: retained.decide_clear_retained,
    c.OpenConsumer: consumers.decide_open_consumer,
    c.ClaimBatch: consumers.decide_claim,
    c.ReadBatches: consumers.decide_read,
    c.ConsumeBatches: consumers.decide_consume,
    c.AskConsumers: consumers.decide_ask_consumers,
    c.DeleteConsumer: consumers.decide_delete_consumer,
    c.AskLowest: arrivals.decide_lowest,
    m.MsmqOpen: msmq_open.decide_open,
    m.MsmqSend: msmq_send.decide_send,
    m.MsmqReceive: msmq_receive.decide_receive,
    m.MsmqCursor: msmq_open.decide_cursor,
    m.MsmqMove: msmq_move.decide_move,
    m.MsmqReject: msmq_move.decide_reject,
    m.MsmqCreate: msmq_queues.decide_create,
    m.MsmqAlter: msmq_queues.decide_alter,
    m.MsmqDelete: msmq_remove.decide_delete,
    m.MsmqPurge: msmq_remove.decide_purge,
    m.MsmqInquire: msmq_queues.decide_inquire,
    m.MsmqLocate: msmq_computers.decide_locate,
    b.BrokerCreate: broker_catalog.decide_create,
    b.BrokerAlter: broker_catalog.decide_alter,
    b.BrokerDrop: broker_drop.decide,
    b.BrokerInquire: broker_views.decide_inquire,
    b.BrokerBrowse: broker_views.decide_browse,
    b.BrokerSave: broker_end.decide_save,
    b.BrokerRollbackTo: broker_end.decide_rollback_to,
    b.BrokerAwaitEvent: broker_events.decide_await,
    **dict.fromkeys(broker_verbs.VERBS, broker_verbs.decide),
}

APPLY: Final[dict[type, Callable[[QueueManager, Any], Removed | None]]] = {
    r.UnitCommitted: unit.apply_unit_committed,
    r.BackoutCounted: unit.apply_backout_counted,
    r.DeliveryCounted: unit.apply_delivery_counted,
    r.MessagesDiscarded: objects.apply_messages_discarded,
    r.QueuePurged: objects.apply_queue_purged,
    r.QueueRestored: restore.apply_queue_restored,
    r.LaneRestored: restore.apply_lane_restored,
    r.MessageRestored: restore.apply_message_restored,
    r.HeadsRestored: restore.apply_heads_restored,
    r.NamesRestored: restore.apply_names_restored,
    r.ConsumedRestored: restore.apply_consumed_restored,
    r.SessionRestored: restore.apply_session_restored,
    r.OutcomeRestored: restore.apply_outcome_restored,
    r.QueueDefined: objects.apply_queue_defined,
    r.QueueAltered: objects.apply_queue_altered,
    r.QueueDeleted: objects.apply_queue_deleted,
    r.SessionOpened: session.apply_session_opened,
    r.SessionExpired: session.apply_session_expired,
    r.UnitFenced: unit.apply_unit_fenced,
    r.OutcomeRecorded: objects.apply_outcome_recorded,
    r.EventRaised: objects.apply_event_raised,
    r.ObjectDefined: definitions.apply_object_defined,
    r.ObjectAltered: definitions.apply_object_altered,
    r.ObjectDeleted: definitions.apply_object_deleted,
    r.ConsumerSet: consumers.apply_consumer_set,
    r.BatchClaimed: consumers.apply_batch_claimed,
    r.BatchDelivered: consumers.apply_batch_delivered,
    r.BatchesConsumed: consumers.apply_batches_consumed,
    r.BatchReturned: consumers.apply_batch_returned,
    r.ConsumerDeleted: consumers.apply_consumer_deleted,
    r.DelayedExpired: delays.apply_delayed_expired,
    r.DelaysRestored: delays.apply_delays_restored,
    r.UnitArrived: arrivals.apply_unit_arrived,
    r.ArrivalsRestored: arrivals.apply_arrivals_restored,
    r.PositionsRestored: arrivals.apply_positions_restored,
    r.ConversationSet: broker_state.apply_conversation_set,
    r.ConversationGone: broker_state.apply_conversation_gone,
    r.RowsRestored: broker_state.apply_conversation_rows,
    r.ReceiveNoted: broker_state.apply_receive_noted,
}

OUTSIDE_UNITS: Final[frozenset[type]] = frozenset(
    (c.Put, c.Get, m.MsmqSend, m.MsmqReceive, m.MsmqMove)
)
"""Durable, unless they are part of a unit."""

ALWAYS_DURABLE: Final[frozenset[type]] = frozenset(
    (
        c.Commit,
        c.Backout,
        c.DefineQueue,
        c.AlterQueue,
        c.DeleteQueue,
        c.PurgeQueue,
        c.SetAttributes,
        c.DefineObject,
        c.AlterObject,
        c.DeleteObject,
        c.SubscriptionRequest,
        c.ClearRetained,
        c.DeleteConsumer,
        m.MsmqCreate,
        m.MsmqAlter,
        m.MsmqDelete,
        m.MsmqPurge,
        b.BrokerCreate,
        b.BrokerAlter,
        b.BrokerDrop,
    )
)


def is_one_way(command: c.Command) -> bool:
    """Say whether a command may come without a request number, and is not answered then."""
    if isinstance(command, c.Put):
        return bool(command.unit) and bool(command.options & c.DEFERRED)
    return isinstance(command, (c.Begin, c.Touch))


def is_durable(command: c.Command) -> bool:
    """Say whether a command's outcome can be asked for again, so that it needs a number."""
    kind = type(command)
    if kind in OUTSIDE_UNITS:
        unit: bytes = command.unit  # type: ignore[union-attr]
        return not unit and not (isinstance(command, m.MsmqReceive) and command.peek)
    return kind in ALWAYS_DURABLE
