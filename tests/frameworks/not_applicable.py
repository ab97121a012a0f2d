"""Tests of the frameworks' suites that are left out, by suite and reason."""

NOT_APPLICABLE: dict[str, dict[str, list[str]]] = {
    "kombu": {
        "they expect that one drain_events() delivers all messages, as servers push them that do "
        "not wait for it": [
            "kombu_suite.py::TestPriority::test_publish_consume",
            "kombu_suite.py::TestPriority::test_publish_requeue_consume",
        ],
    },
    "celery": {
        "its chords need scripts that the test's server of results does not have": [
            "t/integration/test_tasks.py::test_tasks::test_revoked_by_headers_complex_canvas",
        ],
        "it needs Django": [
            "t/integration/test_worker.py::test_django_fixup_direct_worker",
        ],
        "what workers log does not reach pytest here, with kombu's transport in memory neither": [
            "t/integration/test_tasks.py::test_trace_log_arguments::test_task_success",
            "t/integration/test_tasks.py::test_trace_log_arguments::test_task_failed",
        ],
        "tasks with an eta wait at the queue manager, not in the worker": [
            "t/integration/test_inspect.py::test_Inspect::test_scheduled",
        ],
    },
    "dramatiq": {
        "they use what RabbitMQ's broker has inside": [
            f"dramatiq_tests/test_rabbitmq.py::test_rabbitmq_{name}"
            for name in (
                "broker_stops_retrying_declaring_queues_when_max_attempts_reached",
                "broker_reconnects_after_enqueue_failure",
                "workers_handle_rabbit_failures_gracefully",
                "connections_can_be_deleted_multiple_times",
                "channels_can_be_deleted_multiple_times",
                "broker_retries_declaring_queues_when_connection_related_errors_occur",
                "broker_consuming_messages_re_declares_queues_when_declared_queue_disappears",
                "broker_enqueueing_message_re_declares_queues_when_declared_queue_disappears",
                "broker_can_be_passed_a_semicolon_separated_list_of_uris",
                "broker_can_be_passed_a_list_of_uri_for_failover",
                "broker_can_be_passed_a_list_of_parameters_for_failover",
                "broker_raises_an_error_if_given_invalid_parameter_combinations",
                "broker_connections_are_lazy",
            )
        ]
        + [
            "dramatiq_tests/test_broker.py::test_can_instantiate_brokers_without_middleware",
            "dramatiq_tests/test_broker.py::test_broker_uses_rabbitmq_if_not_set",
        ],
        "they use what Redis's broker has inside": [
            f"dramatiq_tests/test_redis.py::test_redis_{name}"
            for name in (
                "unacked_messages_can_be_requeued",
                "messages_can_be_dead_lettered",
                "dead_lettered_messages_are_cleaned_up",
                "messages_belonging_to_missing_actors_are_rejected",
                "requeues_unhandled_messages_on_shutdown",
                "requeues_unhandled_delay_messages_on_shutdown",
                "broker_can_connect_via_url",
                "broker_can_connect_via_client",
                "broker_raises_attribute_error_when_given_an_invalid_attribute",
                "consumer_ack_can_retry_on_connection_error",
                "consumer_nack_can_retry_on_connection_error",
                "consumer_nack_does_not_raise_on_missing_id",
                "join_race_condition",
            )
        ],
        "they use what the stub broker has inside": [
            "dramatiq_tests/test_actors.py::test_actors_can_be_sent_messages",
            "dramatiq_tests/test_actors.py::test_messages_belonging_to_missing_actors_are_rejected",
            "dramatiq_tests/test_actors.py::test_worker_handles_non_numeric_eta_and_logs_warning",
            "dramatiq_tests/test_actors.py::test_worker_handles_none_eta",
        ],
        "it is about the results of Redis": [
            (
                "dramatiq_tests/test_results.py::"
                "test_messages_without_actor_not_crashing_lookup_options"
            ),
        ],
    },
}
