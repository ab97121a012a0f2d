"""The attributes of a queue of MSMQ, in the words of MSMQ.

It is a local queue, so that it has what every local queue has; programs of MSMQ set only what is in
MSMQ_ATTRIBUTES. This module does not know what a rule makes of them.
"""

from __future__ import annotations

from typing import Annotated

from adapter.core.attributes.queue import QUEUE_ATTRIBUTES, QueueAttributes
from adapter.core.attributes.table import Attribute, rows_of

KIND = "msmq"
QUOTA_UNLIMITED_KB = 0xFFFF_FFFF
COMPUTER_QUOTA_UNLIMITED_KB = 0x7FFF_FFFF  # the largest number of a PCF parameter
PRIORITY_DEFAULT = 3
PRIORITY_HIGHEST = 7
SEPARATOR = ","
"""Between names of computers: none has it."""
LABEL_LENGTH_MAX = 124  # MQ_MAX_Q_LABEL_LEN
MESSAGE_LABEL_LENGTH_MAX = 249  # MQ_MAX_MSG_LABEL_LEN, without the zero at its end


def _own(meaning: str, low: int | None = None, high: int | None = None) -> Attribute:
    """Describe an attribute that MQSC and PCF do not show."""
    return Attribute("", 0, meaning, low=low, high=high)


class MsmqAttributes(QueueAttributes, kw_only=True):
    """The attributes of a queue of MSMQ.

    kind: what a record of a queue says of its kind. path_name: as it was created, without the
    computer. owner: the user that created it, where authorities are checked. kept_bytes: in a
    snapshot, the bodies on the queue.
    """

    kind: str = KIND
    path_name: str = ""
    owner: str = ""
    kept_bytes: int = 0
    transactional: Annotated[bool, _own("it takes only messages sent in transactions")] = False
    label: Annotated[
        str, Attribute("", 0, "free text about the queue", length=LABEL_LENGTH_MAX)
    ] = ""
    journaling: Annotated[bool, _own("copies of received messages go to its journal")] = False
    quota_kb: Annotated[int, _own("KB that the queue holds", 0, QUOTA_UNLIMITED_KB)] = (
        QUOTA_UNLIMITED_KB
    )
    journal_quota_kb: Annotated[int, _own("KB that its journal holds", 0, QUOTA_UNLIMITED_KB)] = (
        QUOTA_UNLIMITED_KB
    )
    base_priority: Annotated[int, _own("stored", -32_768, 32_767)] = 0
    type_id: Annotated[str, Attribute("", 0, "its type, a GUID; stored", length=36)] = ""


def computers_in(text: str) -> tuple[str, ...]:
    """Return the names of computers in an attribute, which has SEPARATOR between them."""
    return tuple(filter(None, text.split(SEPARATOR)))


MSMQ_ATTRIBUTES = {
    name: row for name, row in rows_of(MsmqAttributes).items() if name not in QUEUE_ATTRIBUTES
}
