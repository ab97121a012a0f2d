"""The closed set of reasons for which the queue manager refuses a request.

Every face maps this set to its own codes by a total, tested table; the numbers are part of the
wire protocol and never change their meaning. This module knows no face's codes.
"""

from __future__ import annotations

from enum import IntEnum


class Reason(IntEnum):
    """Why a request was refused. Nothing was changed when a request is refused."""

    QUEUE_NOT_FOUND = 1
    QUEUE_EXISTS = 2
    QUEUE_FULL = 3
    QUEUE_NOT_EMPTY = 4
    QUEUE_IN_USE = 5
    GET_INHIBITED = 6
    PUT_INHIBITED = 7
    MESSAGE_TOO_LONG = 8
    UNIT_TOO_LARGE = 9
    BACKED_OUT = 10
    HANDLE_NOT_OPEN = 11
    HANDLE_IN_USE = 12
    NOT_OPEN_FOR_INPUT = 13
    NOT_OPEN_FOR_OUTPUT = 14
    NOT_OPEN_FOR_BROWSE = 15
    NOT_OPEN_FOR_INQUIRE = 16
    NOT_OPEN_FOR_SET = 17
    PRIORITY_ERROR = 18
    PERSISTENCE_ERROR = 19
    EXPIRY_ERROR = 20
    IDENTIFIER_ERROR = 21
    OPTIONS_ERROR = 22
    NAME_ERROR = 23
    ATTRIBUTE_ERROR = 24
    WAIT_INTERVAL_ERROR = 25
    LIMIT_REACHED = 26
    OUTCOME_UNKNOWN = 27
    OUT_OF_ORDER = 28
    MALFORMED_REQUEST = 29
    QUEUE_MANAGER_NAME_ERROR = 30
    QUEUE_MANAGER_STOPPING = 31
    QUEUE_MANAGER_NOT_AVAILABLE = 32
    PROTOCOL_VERSION_ERROR = 33
    PROPERTY_ERROR = 34
    MESSAGE_TYPE_ERROR = 35
    CONNECTION_NOT_FOUND = 36
    CONNECTION_ENDED = 37
    QUEUE_MANAGER_QUIESCING = 38
    QUEUE_PARKED = 39
    OBJECT_DAMAGED = 40
    OBJECT_NOT_FOUND = 41
    OBJECT_EXISTS = 42
    OBJECT_TYPE_ERROR = 43
    UNKNOWN_ALIAS_BASE = 44
    ALIAS_BASE_TYPE_ERROR = 45
    UNKNOWN_REMOTE_QUEUE_MANAGER = 46
    DYNAMIC_NAME_ERROR = 47
    PERSISTENT_NOT_ALLOWED = 48
    QUEUE_DELETED = 49
    MESSAGE_FLAGS_ERROR = 50
    OFFSET_ERROR = 51
    SEGMENT_EMPTY = 52
    PRIORITY_TOO_HIGH = 53
    NO_MESSAGE_UNDER_CURSOR = 54
    NO_MESSAGE_LOCKED = 55
    MESSAGE_TRUNCATED = 56
    INCOMPLETE_GROUP = 57
    INCOMPLETE_MESSAGE = 58
    INCONSISTENT_PERSISTENCE = 59
    INCONSISTENT_UNIT = 60
    SELECTOR_SYNTAX_ERROR = 61
    SELECTION_TOO_LONG = 62
    NOT_AUTHORIZED = 63
    TOPIC_STRING_ERROR = 64
    TOPIC_NOT_ALTERABLE = 65
    PUBLICATION_FAILED = 66
    NO_SUBSCRIBERS = 67
    SUBSCRIPTION_NOT_FOUND = 68
    SUBSCRIPTION_IN_USE = 69
    SUBSCRIPTION_EXISTS = 70
    SUBSCRIPTION_NAME_ERROR = 71
    SUBSCRIBE_INHIBITED = 72
    DURABILITY_NOT_ALLOWED = 73
    RETAINED_QUEUE_ERROR = 74
    RETAINED_NOT_DELIVERED = 75
    NO_RETAINED_MESSAGE = 76
    MISSING_REPLY_TO = 77
    CONSUMER_NOT_FOUND = 78
    CONSUMER_IN_USE = 79
    CLAIM_LOST = 80
    BATCH_NOT_FOUND = 81
    DURABILITY_NOT_ALTERABLE = 82
    DESTINATION_CLASS_NOT_ALTERABLE = 83
    LEVEL_NOT_ALTERABLE = 84
    SELECTOR_NOT_ALTERABLE = 85


class Refusal(Exception):  # noqa: N818 -- it is an answer, not an error
    """Raised inside decide_* before anything is changed; the dispatcher turns it into a reply."""

    def __init__(self, reason: Reason, name: str = "", detail: str = "") -> None:
        super().__init__(reason, name, detail)
        self.reason = reason
        self.name = name
        self.detail = detail
