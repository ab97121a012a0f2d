"""The context of a message: who put it, and where it comes from.

This module does not know which context a message is to have.
"""

from __future__ import annotations

from msgspec import Struct

from adapter.core.contract.details import APPL_TYPE_DEFAULT, APPL_TYPE_QMGR, Details
from adapter.core.contract.message import MessageData
from adapter.core.mq_layouts.mqmd import put_date_time


class MessageContext(Struct):
    """Identity is the first four, origin the others. The fields are those of Details and of the
    message.
    """

    user: str = ""
    accounting_token: bytes = b""
    identity_data: str = ""
    putter: str = ""
    application: str = ""
    appl_type: int = 0
    origin_data: str = ""
    put_date_time: str = ""


def context_of(message: MessageData, queue_manager: str) -> MessageContext:
    """Return the context of a message of this queue manager. While it waits to be sent to another
    one, its origin is the queue manager, as on MQ.
    """
    known = message.details or Details(appl_type=APPL_TYPE_DEFAULT)
    if message.transmission is not None:
        application, appl_type, origin_data, details = queue_manager, APPL_TYPE_QMGR, "", None
    else:
        application, appl_type, origin_data, details = (
            message.application,
            known.appl_type,
            known.origin_data,
            message.details,
        )
    return MessageContext(
        message.user,
        known.accounting_token,
        known.identity_data,
        known.putter,
        application,
        appl_type,
        origin_data,
        "".join(put_date_time(details, message.put_time_ms)),
    )


def write_identity(message: MessageData, context: MessageContext) -> None:
    """Let the identity of a message be that of a context."""
    message.user = context.user
    details = message.details
    says_more = context.accounting_token or context.identity_data or context.putter
    if details is None and says_more:
        details = message.details = Details(appl_type=APPL_TYPE_DEFAULT)
    if details is not None:
        details.accounting_token = context.accounting_token
        details.identity_data = context.identity_data
        details.putter = context.putter


def write_origin(message: MessageData, context: MessageContext) -> None:
    """Let the origin of a message be that of a context."""
    message.application = context.application
    details = message.details
    is_usual = context.appl_type == APPL_TYPE_DEFAULT
    if details is None and not (is_usual and not context.origin_data and not context.put_date_time):
        details = message.details = Details()
    if details is not None:
        details.appl_type = context.appl_type
        details.origin_data = context.origin_data
        details.put_date_time = context.put_date_time
