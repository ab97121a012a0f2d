"""MQMD.Report of a put: which bits are options, and what is answered to the others.

The field has three parts, for each of which the manual says what becomes of an option that the
queue manager does not know: it is refused; accepted with a warning; or that only of messages for
other queue managers. This module knows no destination but whether it is one of those.
Reference: IBM MQ, "Structure of the report field".
"""

from __future__ import annotations

from typing import Final

from adapter import mq_constants as mq
from adapter.mqi.reasons import MqiFailure

FAMILIES: Final = (
    (mq.MQRO_EXCEPTION, mq.MQRO_EXCEPTION_WITH_DATA, mq.MQRO_EXCEPTION_WITH_FULL_DATA),
    (mq.MQRO_EXPIRATION, mq.MQRO_EXPIRATION_WITH_DATA, mq.MQRO_EXPIRATION_WITH_FULL_DATA),
    (mq.MQRO_COA, mq.MQRO_COA_WITH_DATA, mq.MQRO_COA_WITH_FULL_DATA),
    (mq.MQRO_COD, mq.MQRO_COD_WITH_DATA, mq.MQRO_COD_WITH_FULL_DATA),
)
"""Of each kind of report three options, each with the bits of the one before: parts of them are
none.
"""
SINGLE: Final = (
    mq.MQRO_PAN
    | mq.MQRO_NAN
    | mq.MQRO_ACTIVITY
    | mq.MQRO_PASS_MSG_ID
    | mq.MQRO_PASS_CORREL_ID
    | mq.MQRO_DISCARD_MSG
    | mq.MQRO_PASS_DISCARD_AND_EXPIRY
)
_BITS: Final = 0xFFFF_FFFF


def unknown(report: int) -> int:
    """Return the bits of a report field, of 32 bits with or without a sign, that are no option."""
    report &= _BITS
    known = SINGLE
    for family in FAMILIES:
        known |= max((one for one in family if report & one == one), default=0)
    return report & ~known


def depends(report: int) -> bool:
    """Whether the destination says if the options that are not known are accepted."""
    return bool(unknown(report) & mq.MQRO_ACCEPT_UNSUP_IF_XMIT_MASK)


def check(report: int, *, is_remote: bool) -> int:
    """Return the reason code of a warning, or 0. MqiFailure(2061) for an option that is refused.

    is_remote: the message is for another queue manager, and not put to a transmission queue.
    """
    left = unknown(report)
    refused = mq.MQRO_REJECT_UNSUP_MASK | (0 if is_remote else mq.MQRO_ACCEPT_UNSUP_IF_XMIT_MASK)
    if left & refused:
        raise MqiFailure(mq.MQRC_REPORT_OPTIONS_ERROR)
    return mq.MQRC_UNKNOWN_REPORT_OPTION if left else mq.MQRC_NONE
