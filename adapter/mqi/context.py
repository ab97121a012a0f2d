"""Message context: what a program asks for, in the options of core; the queue manager writes it.

Identity is the user, the accounting token and the identity data; origin is the application, its
data, and the date and time of the put. A program says them itself (SET), or has those of a message
that it got passed on (PASS).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from adapter import mq_constants as mq
from adapter.core.contract import commands as c
from adapter.core.contract.details import Details
from adapter.core.contract.message import MessageData
from adapter.core.mq_layouts.blank_padded import unpadded
from adapter.core.mq_layouts.mqmd import given_date_time
from adapter.mqi.session import MqiSession

MODES = {
    mq.MQOO_SAVE_ALL_CONTEXT: c.SAVE_CONTEXT,
    mq.MQOO_PASS_IDENTITY_CONTEXT: c.PASS_IDENTITY,
    mq.MQOO_PASS_ALL_CONTEXT: c.PASS_CONTEXT,
    mq.MQOO_SET_IDENTITY_CONTEXT: c.SET_IDENTITY,
    mq.MQOO_SET_ALL_CONTEXT: c.SET_CONTEXT,
}
OPTIONS = {
    mq.MQPMO_NO_CONTEXT: c.NO_CONTEXT,
    mq.MQPMO_PASS_IDENTITY_CONTEXT: c.PASS_IDENTITY,
    mq.MQPMO_PASS_ALL_CONTEXT: c.PASS_CONTEXT,
    mq.MQPMO_SET_IDENTITY_CONTEXT: c.SET_IDENTITY,
    mq.MQPMO_SET_ALL_CONTEXT: c.SET_CONTEXT,
}


def modes_of(options: int) -> int:
    """Return which contexts an open asks for (MQOO_*), in core's modes."""
    return _chosen(MODES, options)


def opening_for(options: int) -> int:
    """Return how a queue is to be opened (MQOO_*) for the context that a put asks for (MQPMO_*)."""
    asked = options_of(options) & c.CONTEXT_MODES
    return sum(option for option, ours in MODES.items() if ours == asked)


def options_of(options: int) -> int:
    """Return which context a put asks for (MQPMO_*), in core's options."""
    return _chosen(OPTIONS, options)


def _chosen(table: Mapping[int, int], options: int) -> int:
    chosen = 0
    for option, ours in table.items():
        if options & option:
            chosen |= ours
    return chosen


def say(message: MessageData, md: dict[str, Any], asked: int) -> None:
    """Let a message say those parts of its context that the put sets."""
    if not asked & c.SET_CONTEXT:
        return
    details = message.details = message.details or Details(appl_type=mq.MQAT_DEFAULT)
    message.user = unpadded(md["UserIdentifier"])
    details.accounting_token = md["AccountingToken"]
    details.identity_data = unpadded(md["ApplIdentityData"])
    if asked & c.SET_ORIGIN:
        details.appl_type = md["PutApplType"]
        message.application = unpadded(md["PutApplName"])
        details.origin_data = unpadded(md["ApplOriginData"])
        details.put_date_time = given_date_time(md["PutDate"], md["PutTime"])


def source(session: MqiSession, number: int) -> int:
    """Return core's handle of the queue whose context is passed; 0 if it is not open."""
    opened = session.objects.get(number)
    return 0 if opened is None or opened.handle is None else opened.handle.number
