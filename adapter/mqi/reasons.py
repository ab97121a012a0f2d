"""What becomes of the reasons of core at the MQI: a completion code and a reason code.

The table is total; a test sees to it. It knows no verb and no structure.
"""

from __future__ import annotations

from adapter.core.reasons import Reason
from adapter.errors import Error
from adapter.mqi import constants as mq


class Failure(Exception):  # noqa: N818 -- it is an answer of the MQI, not an error
    """Raised inside a verb; the program gets its codes. warning: the call has done its work."""

    def __init__(self, reason: int, *, warning: bool = False) -> None:
        super().__init__(reason)
        self.code = mq.MQCC_WARNING if warning else mq.MQCC_FAILED
        self.reason = reason


REASON_CODES: dict[Reason, int] = {
    Reason.QUEUE_NOT_FOUND: mq.MQRC_UNKNOWN_OBJECT_NAME,
    Reason.QUEUE_EXISTS: mq.MQRC_OBJECT_ALREADY_EXISTS,
    Reason.QUEUE_FULL: mq.MQRC_Q_FULL,
    Reason.QUEUE_NOT_EMPTY: mq.MQRC_Q_NOT_EMPTY,
    Reason.QUEUE_IN_USE: mq.MQRC_OBJECT_IN_USE,
    Reason.GET_INHIBITED: mq.MQRC_GET_INHIBITED,
    Reason.PUT_INHIBITED: mq.MQRC_PUT_INHIBITED,
    Reason.MESSAGE_TOO_LONG: mq.MQRC_MSG_TOO_BIG_FOR_Q,
    Reason.UNIT_TOO_LARGE: mq.MQRC_SYNCPOINT_LIMIT_REACHED,
    Reason.BACKED_OUT: mq.MQRC_BACKED_OUT,
    Reason.HANDLE_NOT_OPEN: mq.MQRC_HOBJ_ERROR,
    Reason.HANDLE_IN_USE: mq.MQRC_HOBJ_ERROR,
    Reason.NOT_OPEN_FOR_INPUT: mq.MQRC_NOT_OPEN_FOR_INPUT,
    Reason.NOT_OPEN_FOR_OUTPUT: mq.MQRC_NOT_OPEN_FOR_OUTPUT,
    Reason.NOT_OPEN_FOR_BROWSE: mq.MQRC_NOT_OPEN_FOR_BROWSE,
    Reason.NOT_OPEN_FOR_INQUIRE: mq.MQRC_NOT_OPEN_FOR_INQUIRE,
    Reason.NOT_OPEN_FOR_SET: mq.MQRC_NOT_OPEN_FOR_SET,
    Reason.PRIORITY_ERROR: mq.MQRC_PRIORITY_ERROR,
    Reason.PERSISTENCE_ERROR: mq.MQRC_PERSISTENCE_ERROR,
    Reason.EXPIRY_ERROR: mq.MQRC_EXPIRY_ERROR,
    Reason.IDENTIFIER_ERROR: mq.MQRC_MSG_ID_ERROR,
    Reason.OPTIONS_ERROR: mq.MQRC_OPTIONS_ERROR,
    Reason.NAME_ERROR: mq.MQRC_OBJECT_NAME_ERROR,
    Reason.ATTRIBUTE_ERROR: mq.MQRC_SELECTOR_ERROR,
    Reason.WAIT_INTERVAL_ERROR: mq.MQRC_WAIT_INTERVAL_ERROR,
    Reason.LIMIT_REACHED: mq.MQRC_RESOURCE_PROBLEM,
    Reason.OUTCOME_UNKNOWN: mq.MQRC_CALL_INTERRUPTED,
    Reason.OUT_OF_ORDER: mq.MQRC_UNEXPECTED_ERROR,
    Reason.MALFORMED_REQUEST: mq.MQRC_UNEXPECTED_ERROR,
    Reason.QUEUE_MANAGER_NAME_ERROR: mq.MQRC_Q_MGR_NAME_ERROR,
    Reason.QUEUE_MANAGER_STOPPING: mq.MQRC_Q_MGR_STOPPING,
    Reason.QUEUE_MANAGER_NOT_AVAILABLE: mq.MQRC_Q_MGR_NOT_AVAILABLE,
    Reason.PROTOCOL_VERSION_ERROR: mq.MQRC_CONNECTION_ERROR,
    Reason.PROPERTY_ERROR: mq.MQRC_PROPERTY_TYPE_ERROR,
    Reason.MESSAGE_TYPE_ERROR: mq.MQRC_MSG_TYPE_ERROR,
    Reason.CONNECTION_NOT_FOUND: mq.MQRC_UNEXPECTED_ERROR,
    Reason.CONNECTION_ENDED: mq.MQRC_CONNECTION_BROKEN,
    Reason.QUEUE_MANAGER_QUIESCING: mq.MQRC_Q_MGR_QUIESCING,
    Reason.QUEUE_PARKED: mq.MQRC_STORAGE_MEDIUM_FULL,
    Reason.OBJECT_DAMAGED: mq.MQRC_OBJECT_DAMAGED,
}


def failure_of(error: Error) -> Failure:
    """Say in the MQI's codes what the client layer raised."""
    if error.refused is not None:
        return Failure(REASON_CODES[error.refused])
    return Failure(error.reason)
