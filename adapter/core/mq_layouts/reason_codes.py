"""Reasons as IBM MQ numbers them (MQRC), where a message or an event carries such a number.

Of a dead-letter header, the feedback of an exception report, and the details of events. Inside core
a reason is a member of Reason. This module does not know when a message is undeliverable.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from adapter.core.contract.reasons import Reason

CODES: Mapping[Reason, int] = MappingProxyType(
    {
        Reason.ALIAS_BASE_TYPE_ERROR: 2001,  # MQRC_ALIAS_BASE_Q_TYPE_ERROR
        Reason.MESSAGE_TOO_LONG: 2030,  # MQRC_MSG_TOO_BIG_FOR_Q
        Reason.AUTHORITY_MISSING: 2035,  # MQRC_NOT_AUTHORIZED
        Reason.PERSISTENT_NOT_ALLOWED: 2048,  # MQRC_PERSISTENT_NOT_ALLOWED
        Reason.PUT_INHIBITED: 2051,  # MQRC_PUT_INHIBITED
        Reason.QUEUE_FULL: 2053,  # MQRC_Q_FULL
        Reason.UNKNOWN_ALIAS_BASE: 2082,  # MQRC_UNKNOWN_ALIAS_BASE_Q
        Reason.QUEUE_NOT_FOUND: 2085,  # MQRC_UNKNOWN_OBJECT_NAME
        Reason.UNKNOWN_REMOTE_QUEUE_MANAGER: 2087,  # MQRC_UNKNOWN_REMOTE_Q_MGR
        Reason.TRANSMISSION_QUEUE_TYPE_ERROR: 2091,  # MQRC_XMIT_Q_TYPE_ERROR
        Reason.TRANSMISSION_QUEUE_USAGE_ERROR: 2092,  # MQRC_XMIT_Q_USAGE_ERROR
        Reason.REMOTE_QUEUE_NAME_ERROR: 2184,  # MQRC_REMOTE_Q_NAME_ERROR
        Reason.UNKNOWN_TRANSMISSION_QUEUE: 2196,  # MQRC_UNKNOWN_XMIT_Q
        Reason.UNKNOWN_DEFAULT_TRANSMISSION_QUEUE: 2197,  # MQRC_UNKNOWN_DEF_XMIT_Q
        Reason.DEFAULT_TRANSMISSION_QUEUE_TYPE_ERROR: 2198,  # MQRC_DEF_XMIT_Q_TYPE_ERROR
        Reason.DEFAULT_TRANSMISSION_QUEUE_USAGE_ERROR: 2199,  # MQRC_DEF_XMIT_Q_USAGE_ERROR
        Reason.QUEUE_PARKED: 2192,  # MQRC_STORAGE_MEDIUM_FULL
        Reason.PUBLICATION_FAILED: 2502,  # MQRC_PUBLICATION_FAILURE
        Reason.OBJECT_TYPE_ERROR: 2480,  # MQRC_ALIAS_TARGTYPE_CHANGED
    }
)
"""The reasons for which a message is undeliverable."""
UNEXPECTED: Final = 2195
"""MQRC_UNEXPECTED_ERROR, of any other reason: a message is never held up for want of a number."""


def code_of(reason: Reason) -> int:
    """Return the number of a reason for which a message is undeliverable."""
    return CODES.get(reason, UNEXPECTED)
