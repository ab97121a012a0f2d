"""The error tree: total over core's reasons, numbered as IBM MQ numbers, and drawn as it is."""

import copy
import inspect
import pickle
import re

import adapter
from adapter import errors
from adapter.core.contract.reasons import Reason
from adapter.errors import refusals
from tests.support.each import each

CLASSES = [c for _, c in inspect.getmembers(errors, inspect.isclass) if issubclass(c, errors.Error)]

# As CMQC has them.
NUMBERS = {
    "MQRC_BACKED_OUT": 2003,
    "MQRC_CONNECTION_BROKEN": 2009,
    "MQRC_STANDBY_Q_MGR": 2543,
    "MQRC_EXPIRY_ERROR": 2013,
    "MQRC_GET_INHIBITED": 2016,
    "MQRC_HCONN_ERROR": 2018,
    "MQRC_HOBJ_ERROR": 2019,
    "MQRC_SYNCPOINT_LIMIT_REACHED": 2024,
    "MQRC_MSG_TYPE_ERROR": 2029,
    "MQRC_MSG_TOO_BIG_FOR_Q": 2030,
    "MQRC_NO_MSG_AVAILABLE": 2033,
    "MQRC_NOT_AUTHORIZED": 2035,
    "MQRC_NOT_OPEN_FOR_BROWSE": 2036,
    "MQRC_NOT_OPEN_FOR_INPUT": 2037,
    "MQRC_NOT_OPEN_FOR_INQUIRE": 2038,
    "MQRC_NOT_OPEN_FOR_OUTPUT": 2039,
    "MQRC_NOT_OPEN_FOR_SET": 2040,
    "MQRC_OBJECT_IN_USE": 2042,
    "MQRC_NOT_OPEN_FOR_PASS_ALL": 2093,
    "MQRC_NOT_OPEN_FOR_PASS_IDENT": 2094,
    "MQRC_NOT_OPEN_FOR_SET_ALL": 2095,
    "MQRC_NOT_OPEN_FOR_SET_IDENT": 2096,
    "MQRC_CONTEXT_HANDLE_ERROR": 2097,
    "MQRC_CONTEXT_NOT_AVAILABLE": 2098,
    "MQRC_OPTIONS_ERROR": 2046,
    "MQRC_PERSISTENCE_ERROR": 2047,
    "MQRC_PRIORITY_ERROR": 2050,
    "MQRC_PUT_INHIBITED": 2051,
    "MQRC_Q_FULL": 2053,
    "MQRC_STORAGE_MEDIUM_FULL": 2192,
    "MQRC_CALL_IN_PROGRESS": 2219,
    "MQRC_OBJECT_DAMAGED": 2101,
    "MQRC_Q_DELETED": 2052,
    "MQRC_OBJECT_TYPE_ERROR": 2043,
    "MQRC_UNKNOWN_ALIAS_BASE_Q": 2082,
    "MQRC_ALIAS_BASE_Q_TYPE_ERROR": 2001,
    "MQRC_UNKNOWN_REMOTE_Q_MGR": 2087,
    "MQRC_DYNAMIC_Q_NAME_ERROR": 2011,
    "MQRC_PERSISTENT_NOT_ALLOWED": 2048,
    "MQRC_Q_NOT_EMPTY": 2055,
    "MQRC_Q_MGR_NAME_ERROR": 2058,
    "MQRC_Q_MGR_NOT_AVAILABLE": 2059,
    "MQRC_UNKNOWN_OBJECT_NAME": 2085,
    "MQRC_WAIT_INTERVAL_ERROR": 2090,
    "MQRC_OBJECT_ALREADY_EXISTS": 2100,
    "MQRC_RESOURCE_PROBLEM": 2102,
    "MQRC_UOW_IN_PROGRESS": 2128,
    "MQRC_OBJECT_NAME_ERROR": 2152,
    "MQRC_Q_MGR_QUIESCING": 2161,
    "MQRC_Q_MGR_STOPPING": 2162,
    "MQRC_UNEXPECTED_ERROR": 2195,
    "MQRC_MSG_ID_ERROR": 2206,
    "MQRC_UOW_NOT_AVAILABLE": 2255,
    "MQRC_CONNECTION_ERROR": 2273,
    "MQRC_BACKOUT_THRESHOLD_REACHED": 2362,
    "MQRC_PROPERTY_TYPE_ERROR": 2473,
    "MQRC_CALL_INTERRUPTED": 2549,
    "MQRC_MSG_FLAGS_ERROR": 2249,
    "MQRC_MSG_SEQ_NUMBER_ERROR": 2250,
    "MQRC_OFFSET_ERROR": 2251,
    "MQRC_SEGMENT_LENGTH_ZERO": 2253,
    "MQRC_PRIORITY_EXCEEDS_MAXIMUM": 2049,
    "MQRC_NO_MSG_UNDER_CURSOR": 2034,
    "MQRC_INVALID_MSG_UNDER_CURSOR": 2246,
    "MQRC_NO_MSG_LOCKED": 2209,
    "MQRC_TRUNCATED_MSG_FAILED": 2080,
    "MQRC_INCOMPLETE_GROUP": 2241,
    "MQRC_RECONNECT_INCOMPATIBLE": 2547,
    "MQRC_MATCH_OPTIONS_ERROR": 2247,
    "MQRC_INCOMPLETE_MSG": 2242,
    "MQRC_INCONSISTENT_PERSISTENCE": 2185,
    "MQRC_INCONSISTENT_UOW": 2245,
    "MQRC_SELECTOR_SYNTAX_ERROR": 2459,
    "MQRC_SELECTION_STRING_ERROR": 2519,
    "MQRC_MISSING_REPLY_TO_Q": 2027,
    "MQRC_OBJECT_CHANGED": 2041,
    "MQRC_TOPIC_STRING_ERROR": 2425,
    "MQRC_NO_SUBSCRIPTION": 2428,
    "MQRC_SUBSCRIPTION_IN_USE": 2429,
    "MQRC_SUB_ALREADY_EXISTS": 2432,
    "MQRC_DURABILITY_NOT_ALLOWED": 2436,
    "MQRC_NO_RETAINED_MSG": 2437,
    "MQRC_SUB_NAME_ERROR": 2440,
    "MQRC_PUBLICATION_FAILURE": 2502,
    "MQRC_SUB_INHIBITED": 2503,
    "MQRC_DURABILITY_NOT_ALTERABLE": 2509,
    "MQRC_SUBLEVEL_NOT_ALTERABLE": 2512,
    "MQRC_SELECTOR_NOT_ALTERABLE": 2524,
    "MQRC_TOPIC_NOT_ALTERABLE": 2510,
    "MQRC_RETAINED_MSG_Q_ERROR": 2525,
    "MQRC_RETAINED_NOT_DELIVERED": 2526,
    "MQRC_DEST_CLASS_NOT_ALTERABLE": 2533,
    "MQRC_NO_SUBS_MATCHED": 2550,
    "MQRC_FORMAT_ERROR": 2110,
    "MQRC_REMOTE_Q_NAME_ERROR": 2184,
    "MQRC_UNKNOWN_XMIT_Q": 2196,
    "MQRC_XMIT_Q_TYPE_ERROR": 2091,
    "MQRC_XMIT_Q_USAGE_ERROR": 2092,
    "MQRC_UNKNOWN_DEF_XMIT_Q": 2197,
    "MQRC_DEF_XMIT_Q_TYPE_ERROR": 2198,
    "MQRC_DEF_XMIT_Q_USAGE_ERROR": 2199,
    "MQRC_OPTION_NOT_VALID_FOR_TYPE": 2045,
    "MQRCCF_CONNECTION_ID_ERROR": 3174,
    "MQRCCF_ATTR_VALUE_ERROR": 4005,
}


def test_every_reason_of_core_has_an_error() -> None:
    cases = [case.reason for error in CLASSES for case in error.__dict__.get("cases", ())]
    assert sorted(cases) == sorted(Reason)  # and only one
    assert set(refusals.REFUSALS) == set(Reason)


@each(Reason, lambda reason: reason.name)
def test_a_refusal_says_what_happened_to_what_and_what_to_do(reason: Reason) -> None:
    error = refusals.refusal(reason, "SOME.QUEUE", "the detail")
    assert type(error) is refusals.REFUSALS[reason].error
    assert error.object_name == "SOME.QUEUE"
    assert "the detail" in error.text
    assert refusals.REFUSALS[reason].remedy in error.text
    assert error.comp == 2
    assert str(error).endswith(f"[{error.reason_name}]")


@each(CLASSES, lambda error: error.__name__)
def test_numbers_are_those_of_mq(error: type[errors.Error]) -> None:
    assert NUMBERS[error.reason_name] == error.reason


def test_a_reason_of_a_newer_queue_manager_is_told_as_such() -> None:
    error = refusals.refusal(9999, "Q", "something new")
    assert type(error) is errors.UnexpectedAnswer
    assert "9999" in error.text
    assert "something new" in error.text


def test_the_tree_in_the_docstring_is_the_tree() -> None:
    drawn = re.findall(r"\b[A-Z]\w+\b", (errors.__doc__ or "").split("An error's text")[0])
    assert set(drawn) >= {error.__name__ for error in CLASSES}


def test_errors_are_of_pythons_kinds_where_python_has_one() -> None:
    assert issubclass(errors.InvalidPriority, ValueError)
    assert issubclass(errors.InvalidType, TypeError)
    assert issubclass(errors.NoReply, TimeoutError)
    assert issubclass(errors.QueueManagerNotAvailable, ConnectionError)
    assert not issubclass(errors.InDoubt, errors.ConnectionBroken)  # nobody shall just try again


@each(CLASSES, lambda error: error.__name__)
def test_errors_can_be_pickled_and_copied(error: type[errors.Error]) -> None:
    for twin in (pickle.loads(pickle.dumps(error("text", "Q"))), copy.copy(error("text", "Q"))):
        assert (type(twin), twin.text, twin.object_name) == (error, "text", "Q")


def test_a_doubt_keeps_its_unit_id_in_a_pickle() -> None:
    twin = pickle.loads(pickle.dumps(errors.InDoubt("text", "Q", b"unit")))
    assert twin.unit_id == b"unit"


def test_the_front_door_is_small_and_known() -> None:
    assert adapter.__all__ == [
        "NO_UNIT",
        "BackedOut",
        "CancelToken",
        "Connection",
        "ConnectionBroken",
        "Consumer",
        "DeadLetter",
        "Error",
        "GetInhibited",
        "InDoubt",
        "KafkaRecord",
        "KafkaTopic",
        "Message",
        "MessageTooLong",
        "NoReply",
        "NotAuthorized",
        "PutInhibited",
        "PutResult",
        "Queue",
        "QueueFull",
        "QueueNotFound",
        "Reconnected",
        "Retry",
        "Schemas",
        "Subscription",
        "Unit",
        "__version__",
        "aio",
        "connect",
        "errors",
        "kafka",
        "mqi",
        "run_worker",
        "testing",
        "tls_context",
        "worker_connection",
    ]
    assert all(hasattr(adapter, name) for name in adapter.__all__)
    assert adapter.Error is errors.Error


def test_a_detail_that_says_what_happened_is_not_said_twice() -> None:
    text = "the queue manager is stopping"
    plain = refusals.refusal(Reason.QUEUE_MANAGER_STOPPING)
    assert refusals.refusal(Reason.QUEUE_MANAGER_STOPPING, "QM1", text).text == plain.text
    longer = refusals.refusal(Reason.QUEUE_MANAGER_STOPPING, "QM1", "by an operator")
    assert longer.happened == f"{text} (by an operator)"


def test_an_error_is_short_though_it_repeats_a_long_argument() -> None:
    """It may be logged, and shown on a terminal; what to do stands at its end."""
    text = f"no such name: {'x' * 5_000_000}; choose another one"
    error = errors.InvalidValue(text, "Q")
    assert len(str(error)) < 10_000
    assert str(error).startswith("no such name: xxx")
    assert f"[... {len(text) - 8000} characters left out ...]" in str(error)
    assert str(error).endswith("; choose another one")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
