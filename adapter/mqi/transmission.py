"""Messages of a transmission queue, as programs of MQ see them: behind an MQXQH.

The queue manager keeps such a message as its program put it, with where it goes. This module makes
of that the two descriptors that MQ has: the message's own, in the header, and the one of the queue
manager that a get returns. It knows no verb.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from adapter import mq_constants as mq
from adapter.core.contract.details import Details
from adapter.core.contract.message import NO_ID, Delivered, Property
from adapter.core.mq_layouts import transmission_header
from adapter.core.mq_layouts.blank_padded import pad, unpadded
from adapter.core.mq_layouts.whole_numbers import in_32_bits
from adapter.mqi import md_extension
from adapter.mqi.rfh2 import with_properties

Ids = tuple[bytes, bytes, bytes]
"""Message, correlation and group id; b"" is any."""


def seen(queue_manager: str, delivered: Delivered, in_header: Mapping[str, Property]) -> Delivered:
    """Return a message of a transmission queue as it is seen there.

    queue_manager: the one of the queue. in_header: the properties that go in an MQRFH2.
    """
    message = delivered.message
    behind: dict[str, Any] = {
        "Version": mq.MQMD_VERSION_1,
        "Encoding": in_32_bits(message.encoding),
        "CodedCharSetId": in_32_bits(message.ccsid),
        "Format": pad(message.format, 8),
    }
    body = message.body
    if in_header:
        body = with_properties(behind, in_header, body)
    body = md_extension.put_on(behind, message, body)
    header = transmission_header.to_xqh(
        message, behind["Encoding"], behind["CodedCharSetId"], unpadded(behind["Format"])
    )
    known = message.details or Details()
    separate = msgspec.structs.replace(
        message,
        body=header + body,
        format=transmission_header.FORMAT,
        encoding=transmission_header.ENCODING,
        ccsid=transmission_header.CCSID,
        message_id=transmission_header.other_id(message.message_id or NO_ID),
        correlation_id=message.message_id,
        report=message.report & ~mq.MQRO_ACCEPT_UNSUP_IF_XMIT_MASK,
        application=queue_manager,
        details=Details(
            accounting_token=known.accounting_token,
            identity_data=known.identity_data,
            appl_type=mq.MQAT_QMGR,
        ),
        group_id=b"",
        group_seq=1,
        last_in_group=False,
        properties=None if in_header else message.properties,
        transmission=None,
    )
    return msgspec.structs.replace(delivered, message=separate)


def own_ids(ids: Ids) -> Ids:
    """Return the ids that messages have of their own, for those that a get is to match."""
    message_id, correlation_id, group_id = ids
    if not message_id:
        return correlation_id, b"", group_id
    own = transmission_header.other_id(message_id)
    is_one = correlation_id in (b"", own)
    return own, b"" if is_one else message_id, group_id  # of two messages: none has both
