"""What every Kafka error means for what we asked: a total table over librdkafka's codes.

RETRY: nothing happened, or asking again is harmless: the same request may succeed.
DOUBTFUL: it may have happened or not; the client cannot know, only reading can tell.
DENIED: nothing happened, and nothing will until an operator grants a right: then it may succeed.
FATAL: it will not succeed until an operator changes settings, versions or data.

When in doubt, doubtful: taking a doubtful outcome for a failure would write twice, taking it for a
success would lose. A code that this table does not know (a newer broker's) is doubtful too.
"""

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType

from confluent_kafka import KafkaError, KafkaException


class Failure(Enum):
    """What to do about an error."""

    RETRY = "retry"
    DOUBTFUL = "doubtful"
    DENIED = "denied"
    FATAL = "fatal"


# Nothing was sent, a leader or coordinator is moving, or it is an event and no failure at all.
_RETRY = """
_RESOLVE _PARTITION_EOF _ALL_BROKERS_DOWN _QUEUE_FULL _ISR_INSUFF _NODE_UPDATE _SSL _WAIT_COORD
_IN_PROGRESS _PREV_IN_PROGRESS _ASSIGN_PARTITIONS _REVOKE_PARTITIONS _NO_OFFSET _OUTDATED
_WAIT_CACHE _RETRY _MAX_POLL_EXCEEDED _UNKNOWN_BROKER _ASSIGNMENT_LOST _NOOP _DESTROY_BROKER
UNKNOWN_TOPIC_OR_PART LEADER_NOT_AVAILABLE NOT_LEADER_FOR_PARTITION BROKER_NOT_AVAILABLE
REPLICA_NOT_AVAILABLE STALE_CTRL_EPOCH COORDINATOR_LOAD_IN_PROGRESS COORDINATOR_NOT_AVAILABLE
NOT_COORDINATOR NOT_ENOUGH_REPLICAS ILLEGAL_GENERATION UNKNOWN_MEMBER_ID REBALANCE_IN_PROGRESS
NOT_CONTROLLER CONCURRENT_TRANSACTIONS KAFKA_STORAGE_ERROR REASSIGNMENT_IN_PROGRESS
FETCH_SESSION_ID_NOT_FOUND INVALID_FETCH_SESSION_EPOCH LISTENER_NOT_FOUND FENCED_LEADER_EPOCH
UNKNOWN_LEADER_EPOCH STALE_BROKER_EPOCH OFFSET_NOT_AVAILABLE MEMBER_ID_REQUIRED
PREFERRED_LEADER_NOT_AVAILABLE ELIGIBLE_LEADERS_NOT_AVAILABLE ELECTION_NOT_NEEDED
NO_REASSIGNMENT_IN_PROGRESS UNSTABLE_OFFSET_COMMIT THROTTLING_QUOTA_EXCEEDED UNKNOWN_TOPIC_ID
FENCED_MEMBER_EPOCH UNRELEASED_INSTANCE_ID STALE_MEMBER_EPOCH TELEMETRY_TOO_LARGE
SHARE_SESSION_NOT_FOUND INVALID_SHARE_SESSION_EPOCH SHARE_SESSION_LIMIT_REACHED
REBOOTSTRAP_REQUIRED OPERATION_NOT_ATTEMPTED TOPIC_ALREADY_EXISTS
"""

# Sent, perhaps, and no answer; or an answer after which this producer cannot say what it wrote.
_DOUBTFUL = """
_BAD_MSG _DESTROY _FAIL _TRANSPORT _CRIT_SYS_RESOURCE _MSG_TIMED_OUT _TIMED_OUT _STATE
_TIMED_OUT_QUEUE _INTR _PARTIAL _UNDERFLOW _PURGE_QUEUE _PURGE_INFLIGHT _FATAL _INCONSISTENT
_GAPLESS_GUARANTEE
UNKNOWN INVALID_MSG REQUEST_TIMED_OUT NETWORK_EXCEPTION NOT_ENOUGH_REPLICAS_AFTER_APPEND
OUT_OF_ORDER_SEQUENCE_NUMBER DUPLICATE_SEQUENCE_NUMBER INVALID_PRODUCER_EPOCH INVALID_TXN_STATE
INVALID_PRODUCER_ID_MAPPING UNKNOWN_PRODUCER_ID TRANSACTION_COORDINATOR_FENCED
TRANSACTION_ABORTABLE
"""

# Refused for who asked: Kafka's ACLs. They may be changed at any time, for a client that runs too.
_DENIED = """
TOPIC_AUTHORIZATION_FAILED GROUP_AUTHORIZATION_FAILED CLUSTER_AUTHORIZATION_FAILED
TRANSACTIONAL_ID_AUTHORIZATION_FAILED
"""

# Refused for what was asked or by whom, or the data is not what it was.
_FATAL = """
_BAD_COMPRESSION _UNKNOWN_PARTITION _FS _UNKNOWN_TOPIC _INVALID_ARG _UNKNOWN_GROUP
_EXISTING_SUBSCRIPTION _CONFLICT _UNKNOWN_PROTOCOL _NOT_IMPLEMENTED _AUTHENTICATION
_UNSUPPORTED_FEATURE _KEY_SERIALIZATION _VALUE_SERIALIZATION _KEY_DESERIALIZATION
_VALUE_DESERIALIZATION _READ_ONLY _NOENT _INVALID_TYPE _NOT_CONFIGURED _FENCED _APPLICATION
_AUTO_OFFSET_RESET _LOG_TRUNCATION _INVALID_DIFFERENT_RECORD
OFFSET_OUT_OF_RANGE INVALID_MSG_SIZE MSG_SIZE_TOO_LARGE OFFSET_METADATA_TOO_LARGE TOPIC_EXCEPTION
RECORD_LIST_TOO_LARGE INVALID_REQUIRED_ACKS INCONSISTENT_GROUP_PROTOCOL INVALID_GROUP_ID
INVALID_SESSION_TIMEOUT INVALID_COMMIT_OFFSET_SIZE INVALID_TIMESTAMP
UNSUPPORTED_SASL_MECHANISM ILLEGAL_SASL_STATE UNSUPPORTED_VERSION INVALID_PARTITIONS
INVALID_REPLICATION_FACTOR INVALID_REPLICA_ASSIGNMENT INVALID_CONFIG INVALID_REQUEST
UNSUPPORTED_FOR_MESSAGE_FORMAT POLICY_VIOLATION INVALID_TRANSACTION_TIMEOUT
SECURITY_DISABLED LOG_DIR_NOT_FOUND
SASL_AUTHENTICATION_FAILED DELEGATION_TOKEN_AUTH_DISABLED DELEGATION_TOKEN_NOT_FOUND
DELEGATION_TOKEN_OWNER_MISMATCH DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
DELEGATION_TOKEN_AUTHORIZATION_FAILED DELEGATION_TOKEN_EXPIRED INVALID_PRINCIPAL_TYPE
NON_EMPTY_GROUP GROUP_ID_NOT_FOUND TOPIC_DELETION_DISABLED UNSUPPORTED_COMPRESSION_TYPE
GROUP_MAX_SIZE_REACHED FENCED_INSTANCE_ID GROUP_SUBSCRIBED_TO_TOPIC INVALID_RECORD PRODUCER_FENCED
RESOURCE_NOT_FOUND DUPLICATE_RESOURCE UNACCEPTABLE_CREDENTIAL INCONSISTENT_VOTER_SET
INVALID_UPDATE_VERSION FEATURE_UPDATE_FAILED PRINCIPAL_DESERIALIZATION_FAILURE
INCONSISTENT_TOPIC_ID UNSUPPORTED_ASSIGNOR MISMATCHED_ENDPOINT_TYPE UNSUPPORTED_ENDPOINT_TYPE
UNKNOWN_CONTROLLER_ID UNKNOWN_SUBSCRIPTION_ID INVALID_REGISTRATION INVALID_RECORD_STATE
FENCED_STATE_EPOCH INVALID_VOTER_KEY DUPLICATE_VOTER VOTER_NOT_FOUND INVALID_REGULAR_EXPRESSION
STREAMS_INVALID_TOPOLOGY STREAMS_INVALID_TOPOLOGY_EPOCH STREAMS_TOPOLOGY_FENCED
"""

TOPIC_MISSING = frozenset({KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC})
TOPIC_FORBIDDEN = frozenset({KafkaError.TOPIC_AUTHORIZATION_FAILED})

OF_CONNECTIONS = frozenset(
    {
        KafkaError._ALL_BROKERS_DOWN,
        KafkaError._AUTHENTICATION,
        KafkaError._RESOLVE,
        KafkaError._SSL,
        KafkaError._TIMED_OUT,
        KafkaError._TRANSPORT,
        KafkaError._WAIT_COORD,
    }
)
"""Errors that a consumer is given of no record: the client connects again by itself."""

OF_CALL = "Unable to produce message: "
"""What confluent-kafka says before a refusal that produce() raises."""

DENIES = "Kafka denies"
LASTING = frozenset({Failure.DENIED, Failure.FATAL})
"""What waiting alone does not resolve."""

NAMES: Mapping[Failure, tuple[str, ...]] = MappingProxyType(
    {
        Failure.RETRY: tuple(_RETRY.split()),
        Failure.DOUBTFUL: tuple(_DOUBTFUL.split()),
        Failure.DENIED: tuple(_DENIED.split()),
        Failure.FATAL: tuple(_FATAL.split()),
    }
)
"""The table by name, as librdkafka's documentation has them."""

FAILURES: Mapping[int, Failure] = MappingProxyType(
    {getattr(KafkaError, name): failure for failure, names in NAMES.items() for name in names}
)
"""Code -> what to do about it."""


def classify(error: KafkaError | KafkaException) -> Failure:
    """Say what to do about an error.

    An error that is fatal to its producer is doubtful to us, unless the code itself is worse: that
    client is of no more use, and a new one starts by reading what happened.
    """
    cause = error_of(error)
    failure = FAILURES.get(cause.code(), Failure.DOUBTFUL)
    return Failure.DOUBTFUL if cause.fatal() and failure is Failure.RETRY else failure


def describe(error: KafkaError | KafkaException) -> str:
    """Say what Kafka said, for an error's text.

    The same refusal of a record comes from the call, with words before it, or in its report.
    """
    cause = error_of(error)
    said = cause.str().removeprefix(OF_CALL).removesuffix(".")
    return f"{said} ({cause.name()})"


def describe_denial(operation: str, resource: str) -> str:
    """Say which right is missing, and where all of them are listed.

    operation: as Kafka's ACLs have it, such as Write. resource: its kind and name.
    """
    return (
        f"{DENIES} {operation} on {resource}: grant it to the user of this Kafka client "
        "(`mqk acl list` prints all rights)"
    )


def explain(
    error: KafkaError | KafkaException,
    operation: str,
    topic: str,
    *,
    group: str = "",
    transactional_id: str = "",
) -> str:
    """Say what Kafka said; if a right is missing, which one.

    operation: what was to be done with the topic. group, transactional_id: of the client.
    """
    code = error_of(error).code()
    if code == KafkaError.GROUP_AUTHORIZATION_FAILED:
        return describe_denial("Describe", f"group {group}")
    if code == KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
        return describe_denial("Write", f"transactional id {transactional_id}")
    if classify(error) is not Failure.DENIED:
        return describe(error)
    # The cluster is only asked for an idempotent producer, which may write if it may write a topic.
    return describe_denial(operation, f"topic {topic}")


def error_of(error: KafkaError | KafkaException) -> KafkaError:
    """Take the error out of the exception that carries it."""
    found = error.args[0] if isinstance(error, KafkaException) else error
    assert isinstance(found, KafkaError), found
    return found
