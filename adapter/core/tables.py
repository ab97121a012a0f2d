"""The tables of core: which rule decides a command, and which one applies a record.

What else a command is: contract/traits. This module does not know what a step is.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from adapter.core.contract import authority_commands as ac
from adapter.core.contract import broker as b
from adapter.core.contract import commands as c
from adapter.core.contract import msmq as m
from adapter.core.contract import records as r
from adapter.core.contract.channel_rules import (
    ChannelRuleSet,
    InquireChannelRules,
    SetChannelRule,
)
from adapter.core.contract.incarnations import AskIncarnations
from adapter.core.model.handles import QueueHandle, TopicHandle
from adapter.core.model.manager import QueueManager
from adapter.core.model.undo import Removed
from adapter.core.rules.broker import catalog as broker_catalog
from adapter.core.rules.broker import drop as broker_drop
from adapter.core.rules.broker import end as broker_end
from adapter.core.rules.broker import events as broker_events
from adapter.core.rules.broker import state as broker_state
from adapter.core.rules.broker import verbs as broker_verbs
from adapter.core.rules.broker import views as broker_views
from adapter.core.rules.consumers import batches
from adapter.core.rules.drive import arrivals, feeds, restore
from adapter.core.rules.messages import browse, deferred, delays, get, put, unit
from adapter.core.rules.msmq import computers as msmq_computers
from adapter.core.rules.msmq import move as msmq_move
from adapter.core.rules.msmq import opening as msmq_open
from adapter.core.rules.msmq import queues as msmq_queues
from adapter.core.rules.msmq import receive as msmq_receive
from adapter.core.rules.msmq import remove as msmq_remove
from adapter.core.rules.msmq import send as msmq_send
from adapter.core.rules.network import opening
from adapter.core.rules.objects import (
    authorities,
    channel_rules,
    closing,
    connections,
    definitions,
    permissions,
    pointers_of_users,
    queues,
    refresh,
    session,
)
from adapter.core.rules.objects import exports as export_objects
from adapter.core.rules.objects import feeds as feed_objects
from adapter.core.rules.primitives.decision import Decision
from adapter.core.rules.pubsub import publish, retained, subscriptions, topics

Rule = Callable[[QueueManager, c.Request, Any], Decision]

PUT_BY_HANDLE: Final[dict[type, deferred.PutRule]] = {
    QueueHandle: put.decide_put,
    TopicHandle: publish.decide_publish,
}
"""What a put means, by the kind of its handle."""

DECIDE: Final[dict[type, Rule]] = {
    c.SessionOpen: session.decide_session_open,
    c.SessionResume: session.decide_session_resume,
    c.Open: opening.decide_open,
    c.Close: closing.decide_close,
    c.Put: partial(put.decide, PUT_BY_HANDLE),
    c.Get: get.decide_get,
    c.Browse: browse.decide_browse,
    c.Begin: unit.decide_begin,
    c.Touch: unit.decide_touch,
    c.Commit: unit.decide_commit,
    c.Backout: unit.decide_backout,
    c.AskOutcome: unit.decide_ask_outcome,
    c.DefineQueue: queues.decide_define,
    c.AlterQueue: queues.decide_alter,
    c.DeleteQueue: queues.decide_delete,
    c.PurgeQueue: queues.decide_purge,
    c.Inquire: queues.decide_inquire,
    c.AskStatus: queues.decide_status,
    AskIncarnations: queues.decide_incarnations,
    c.SetAttributes: queues.decide_set,
    c.AskConnections: connections.decide_ask_connections,
    c.EndConnection: connections.decide_end_connection,
    c.DefineObject: definitions.decide_define_object,
    c.AlterObject: definitions.decide_alter_object,
    c.DeleteObject: definitions.decide_delete_object,
    c.InquireObjects: definitions.decide_inquire_objects,
    c.OpenTopic: topics.decide_open_topic,
    c.Subscribe: subscriptions.decide_subscribe,
    c.CloseSubscription: closing.decide_close_subscription,
    c.SubscriptionRequest: subscriptions.decide_subscription_request,
    c.ClearRetained: retained.decide_clear_retained,
    c.OpenConsumer: batches.decide_open_consumer,
    c.ClaimBatch: batches.decide_claim,
    c.ReadBatches: batches.decide_read,
    c.ConsumeBatches: batches.decide_consume,
    c.AskConsumers: batches.decide_ask_consumers,
    c.DeleteConsumer: batches.decide_delete_consumer,
    c.AskLowest: arrivals.decide_lowest,
    c.SeekFeed: feed_objects.decide_seek,
    c.AskExports: export_objects.decide_ask,
    ac.SetAuthority: authorities.decide_set,
    ac.DeleteAuthority: authorities.decide_delete,
    ac.RefreshSecurity: refresh.decide_refresh,
    SetChannelRule: channel_rules.decide_set,
    InquireChannelRules: channel_rules.decide_inquire,
    ac.InquireAuthorities: authorities.decide_inquire,
    ac.ExplainAuthority: authorities.decide_explain,
    ac.InquirePointers: pointers_of_users.decide_inquire,
    m.MsmqOpen: msmq_open.decide_open,
    m.MsmqSend: msmq_send.decide_send,
    m.MsmqReceive: msmq_receive.decide_receive,
    m.MsmqCursor: msmq_open.decide_cursor,
    m.MsmqMove: msmq_move.decide_move,
    m.MsmqReject: msmq_move.decide_reject,
    m.MsmqCreate: msmq_queues.decide_create,
    m.MsmqAlter: msmq_queues.decide_alter,
    m.MsmqDelete: msmq_remove.decide_delete,
    m.MsmqPermit: permissions.decide_msmq,
    m.MsmqPurge: msmq_remove.decide_purge,
    m.MsmqInquire: msmq_queues.decide_inquire,
    m.MsmqLocate: msmq_computers.decide_locate,
    b.BrokerCreate: broker_catalog.decide_create,
    b.BrokerAlter: broker_catalog.decide_alter,
    b.BrokerDrop: broker_drop.decide,
    b.BrokerPermit: permissions.decide_broker,
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
    r.MessagesDiscarded: queues.apply_messages_discarded,
    r.QueuePurged: queues.apply_queue_purged,
    r.QueueRestored: restore.apply_queue_restored,
    r.LaneRestored: restore.apply_lane_restored,
    r.MessageRestored: restore.apply_message_restored,
    r.HeadsRestored: restore.apply_heads_restored,
    r.NamesRestored: restore.apply_names_restored,
    r.ConsumedRestored: restore.apply_consumed_restored,
    r.SessionRestored: restore.apply_session_restored,
    r.OutcomeRestored: restore.apply_outcome_restored,
    r.QueueDefined: queues.apply_queue_defined,
    r.QueueAltered: queues.apply_queue_altered,
    r.QueueDeleted: queues.apply_queue_deleted,
    r.SessionOpened: session.apply_session_opened,
    r.SessionBound: session.apply_session_bound,
    r.SessionExpired: session.apply_session_expired,
    r.UnitFenced: unit.apply_unit_fenced,
    r.OutcomeRecorded: queues.apply_outcome_recorded,
    r.EventRaised: queues.apply_event_raised,
    r.ObjectDefined: definitions.apply_object_defined,
    r.ObjectAltered: definitions.apply_object_altered,
    r.ObjectDeleted: definitions.apply_object_deleted,
    r.ConsumerSet: batches.apply_consumer_set,
    r.BatchClaimed: batches.apply_batch_claimed,
    r.BatchDelivered: batches.apply_batch_delivered,
    r.BatchesConsumed: batches.apply_batches_consumed,
    r.BatchReturned: batches.apply_batch_returned,
    r.ConsumerDeleted: batches.apply_consumer_deleted,
    r.DelayedExpired: delays.apply_delayed_expired,
    r.DelaysRestored: delays.apply_delays_restored,
    r.UnitArrived: arrivals.apply_unit_arrived,
    r.ArrivalsRestored: arrivals.apply_arrivals_restored,
    r.PositionsRestored: arrivals.apply_positions_restored,
    r.FeedMoved: feeds.apply_feed_moved,
    r.FeedSet: feed_objects.apply_feed_set,
    r.AuthoritySet: authorities.apply_authority_set,
    r.AuthorityDeleted: authorities.apply_authority_deleted,
    ChannelRuleSet: channel_rules.apply_channel_rule_set,
    r.ConversationSet: broker_state.apply_conversation_set,
    r.ConversationGone: broker_state.apply_conversation_gone,
    r.RowsRestored: broker_state.apply_conversation_rows,
    r.ReceiveNoted: broker_state.apply_receive_noted,
}
