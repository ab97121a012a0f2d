"""The table of Kafka's errors is total, and tells what cannot be known from what did not happen."""

import pytest
from confluent_kafka import KafkaError, KafkaException

from adapter.storage.ledger.failures import FAILURES, NAMES, Failure, classify, describe, explain
from tests.support.each import each


def codes_of_this_librdkafka() -> dict[str, int]:
    values = {name: getattr(KafkaError, name) for name in dir(KafkaError)}
    return {name: value for name, value in values.items() if isinstance(value, int)}


def test_every_code_is_in_the_table_once() -> None:
    names = [name for some in NAMES.values() for name in some]
    assert sorted(names) == sorted(set(codes_of_this_librdkafka()) - {"NO_ERROR"})
    assert len(FAILURES) == len(names)


@each(sorted(codes_of_this_librdkafka().values()))
def test_every_code_is_classified(code: int) -> None:
    assert isinstance(classify(KafkaError(code)), Failure)


@pytest.mark.parametrize(
    ("code", "failure"),
    [
        (KafkaError._MSG_TIMED_OUT, Failure.DOUBTFUL),
        (KafkaError._PURGE_INFLIGHT, Failure.DOUBTFUL),
        (KafkaError._PURGE_QUEUE, Failure.DOUBTFUL),
        (KafkaError._TRANSPORT, Failure.DOUBTFUL),
        (KafkaError.REQUEST_TIMED_OUT, Failure.DOUBTFUL),
        (KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND, Failure.DOUBTFUL),
        (KafkaError.NOT_ENOUGH_REPLICAS, Failure.RETRY),
        (KafkaError.NOT_LEADER_FOR_PARTITION, Failure.RETRY),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, Failure.DENIED),
        (KafkaError.MSG_SIZE_TOO_LARGE, Failure.FATAL),
        (KafkaError.OFFSET_OUT_OF_RANGE, Failure.FATAL),
    ],
)
def test_the_codes_that_matter_most(code: int, failure: Failure) -> None:
    assert classify(KafkaError(code)) is failure
    assert classify(KafkaException(KafkaError(code))) is failure


def test_a_newer_brokers_code_is_doubtful() -> None:
    assert classify(KafkaError(32_000)) is Failure.DOUBTFUL


def test_what_is_fatal_to_a_producer_is_never_retried_on_it() -> None:
    error = KafkaError(KafkaError.NOT_LEADER_FOR_PARTITION, "dead", True)
    assert error.fatal()
    assert classify(error) is Failure.DOUBTFUL


def test_a_refusal_reads_the_same_from_the_call_and_from_the_report() -> None:
    code = KafkaError._UNKNOWN_PARTITION
    reported = KafkaError(code)
    raised = KafkaException(KafkaError(code, f"Unable to produce message: {reported.str()}"))
    assert describe(raised) == describe(reported) == "Local: Unknown partition (_UNKNOWN_PARTITION)"


def test_a_description_names_the_code() -> None:
    text = describe(KafkaError(KafkaError._TRANSPORT, "connection refused"))
    assert text == "connection refused (_TRANSPORT)"


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, "Kafka denies Delete on topic T: grant it"),
        (KafkaError.CLUSTER_AUTHORIZATION_FAILED, "Kafka denies Delete on topic T: grant it"),
        (KafkaError.GROUP_AUTHORIZATION_FAILED, "Kafka denies Describe on group G: grant it"),
        (
            KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
            "Kafka denies Write on transactional id I: grant it",
        ),
        (KafkaError._TRANSPORT, "(_TRANSPORT)"),
    ],
)
def test_a_right_that_is_missing_is_named(code: int, says: str) -> None:
    text = explain(KafkaError(code), "Delete", "T", group="G", transactional_id="I")
    assert says in text
