"""Names and arguments that programs of others rely on: they may get more, and lose none.

A change that turns this red breaks programs: keep the old name beside the new one.
"""

import inspect
from collections.abc import Callable
from typing import Any

import pytest

import adapter
from adapter import aio, kafka, localkafka, mqi, msmq, servicebroker, testing
from adapter.mqi import trigger_monitor
from adapter.msmq import read_response, triggers
from spark_jobs import sinks, sources, transforms

NAMES: dict[object, str] = {
    adapter: """NO_UNIT Message connect errors Error QueueNotFound QueueFull GetInhibited
        PutInhibited MessageTooLong NotAuthorized BackedOut InDoubt ConnectionBroken NoReply""",
    adapter.Connection: """define_queue alter_queue delete_queue queues queue_status events
        alter_queue_manager define_process queue get put produce kafka_topic unit outcome reply
        close disconnect""",
    adapter.Queue: """put put_many put_value get units browse request depth purge inquire
        status set close""",
    adapter.Unit: "begin commit backout id produce",
    adapter.KafkaTopic: "produce produce_many close",
    adapter.Message: """body message_id correlation_id group_id group_seq last_in_group priority
        persistent backout_count put_time expiry_s reply_to reply_to_queue_manager format
        message_type report feedback properties unit_id unit_index unit_size first_in_unit
        last_in_unit dead_letter decode""",
    adapter.Error(""): "comp reason reason_name object_name",
    aio: "connect Connection Queue Unit",
    kafka: "topic_name decode inbound_record Table",
    kafka.Table: "sync claim claim_all async_sync async_claim async_claim_all snapshot close",
    mqi: "install TriggerMessage",
    mqi.TriggerMessage: "from_argv",
    trigger_monitor.TriggerMonitor: "run_once run stop",
    testing: "queue_manager network",
    testing.TestQueueManager: """connect connect_msmq connect_servicebroker address mqsc restart
        crash start drop_next_reply clock corrupt""",
    localkafka.LocalKafka: "bootstrap_servers kill start",
    msmq: """connect transaction_scope Message MessageQueue MessageQueueTransaction
        MessageQueueTransactionType MessagePriority QueueAccessMode PeekAction MessageLookupAction
        XmlMessageFormatter BinaryMessageFormatter ActiveXMessageFormatter BytesFormatter
        MessageQueueException MessageQueueErrorCode MessageQueueTimeout InvalidOperationError""",
    msmq.MessageQueue: """send receive peek receive_by_id peek_by_id receive_by_correlation_id
        peek_by_correlation_id receive_by_lookup_id peek_by_lookup_id move mark_rejected
        create_cursor enumerate __iter__ begin_receive get_all_messages count purge close path
        transactional label use_journal_queue maximum_queue_size_kb journal_quota_kb""",
    msmq.Message: """body body_bytes label priority recoverable id correlation_id lookup_id
        response_queue administration_queue acknowledge_type acknowledgment use_dead_letter_queue
        use_journal_queue time_to_be_received time_to_reach_queue transaction_id
        is_first_in_transaction is_last_in_transaction abort_count move_count app_specific
        arrived_time sent_time message_class destination_queue""",
    msmq.MessageQueueTransaction: "begin commit abort status",
    read_response.ReadResponseServer: "run_once run stop",
    triggers: """Trigger Rule Processing Run Call MessageProperty TriggerName TriggerId
        LabelContains LabelDoesNotContain BodyContains BodyDoesNotContain PriorityEquals
        PriorityNotEqual PriorityGreaterThan PriorityLessThan AppSpecificEquals""",
    triggers.TriggerService: """add remove triggers run start stop wait_idle statistics
        pending_peeks peeks activations""",
    servicebroker: """connect DEFAULT END_DIALOG ERROR DIALOG_TIMER Row Inspection Subscription
        ServiceBrokerError""",
    servicebroker.ServiceBroker: """lock_timeout_ms create_message_type create_contract
        create_queue alter_queue create_service create_route create_broker_priority
        drop_message_type drop_contract drop_queue drop_service drop_route drop_broker_priority
        queue transaction begin_dialog send receive get_conversation_group move_conversation
        begin_conversation_timer end_conversation browse conversation_endpoints transmission_queue
        inspect remove_poison subscribe""",
    servicebroker.Transaction: "save rollback_to send receive begin_dialog end_conversation",
    servicebroker.Row: """status priority queuing_order conversation_group_id conversation_handle
        message_sequence_number service_name service_contract_name message_type_name validation
        message_body message_enqueue_time""",
    servicebroker.Subscription: "close",
    sources: "queue_stream queue_batch with_value",
    sinks: "to_queue parquet",
    transforms: "complete_units",
}
ARGUMENTS: dict[Callable[..., Any], str] = {
    adapter.connect: """address queue_manager user password application registry bootstrap_servers
        kafka_options""",
    adapter.Connection.delete_queue: "name purge",
    adapter.Connection.disconnect: "abrupt",
    adapter.Connection.define_process: "name appl_type appl_id env_data user_data",
    adapter.Connection.queue: "name open_for",
    adapter.Queue.put_many: "unit_size",
    adapter.Queue.get: "timeout message_id correlation_id group_id unit",
    adapter.Queue.units: "size timeout retry_delay_s",
    adapter.Queue.request: "timeout",
    trigger_monitor.TriggerMonitor: "qm initiation_queue launch",
    testing.queue_manager: "name clock bootstrap_servers",
    localkafka.LocalKafka: "brokers data_dir",
    msmq.connect: "address computer",
    msmq.MessageQueue.send: "obj label transaction",
    msmq.MessageQueue.receive: "timeout cursor transaction",
    msmq.MessageQueue.peek: "timeout cursor action",
    msmq.MessageQueue.move: "lookup_id to transaction",
    read_response.ReadResponseServer: "host input_queue read_request_queue",
    triggers.TriggerService: "host max_repeats",
    triggers.Trigger: "name queue rules serialized processing enabled",
    triggers.Rule: "name conditions action",
    servicebroker.ServiceBroker.create_message_type: "name validation schema",
    servicebroker.ServiceBroker.begin_dialog: """from_service to_service contract lifetime_s
        encryption related_conversation related_conversation_group""",
    servicebroker.ServiceBroker.receive: """queue top conversation_handle conversation_group_id
        timeout_ms""",
    servicebroker.ServiceBroker.inspect: "queue conversation_handle timeout_ms force",
    servicebroker.ServiceBroker.remove_poison: """queue conversation_handle error description
        clear_state""",
    servicebroker.ServiceBroker.end_conversation: "handle error description cleanup",
    servicebroker.ServiceBroker.subscribe: "callback event queue",
    sources.queue_stream: """spark queue bootstrap_servers queue_manager starting
        max_messages_per_batch kafka_options""",
    sources.queue_batch: "spark queue bootstrap_servers queue_manager",
    sources.with_value: "df registry_url schema",
    sinks.to_queue: "queue address application_id",
    sinks.parquet: "path",
    transforms.complete_units: "df",
}


def title(value: object) -> str:
    module = getattr(value, "__module__", "")
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", repr(value))
    return f"{module}.{name}".strip(".")


def has(owner: object, name: str) -> bool:
    """Whether it has the name itself, or its objects do."""
    return hasattr(owner, name) or name in getattr(owner, "__annotations__", {})


@pytest.mark.parametrize("owner", NAMES, ids=title)
def test_it_has_every_published_name(owner: object) -> None:
    assert [name for name in NAMES[owner].split() if not has(owner, name)] == []


@pytest.mark.parametrize("function", ARGUMENTS, ids=title)
def test_it_takes_every_published_argument(function: Callable[..., Any]) -> None:
    taken = inspect.signature(function).parameters
    assert [name for name in ARGUMENTS[function].split() if name not in taken] == []


def test_a_queue_of_msmq_has_what_its_programs_set() -> None:
    with testing.queue_manager() as manager, manager.connect_msmq() as host:
        queue = host.open(host.create(r".\private$\q").path)
        names = "formatter message_read_property_filter default_properties_to_send"
        assert [name for name in names.split() if not has(queue, name)] == []
