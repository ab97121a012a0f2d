"""What a feed gives to core: messages of one partition of a topic, and where each of them was.

This module does not know how a topic is read, nor what a record looks like.
"""

from __future__ import annotations

import re

from msgspec import Struct

from adapter.core.contract.message import MessageData

TOPIC, PARTITION, OFFSET = "KafkaTopic", "KafkaPartition", "KafkaOffset"
"""Properties that say where a message was read."""
NOT_A_MESSAGE = 2110
"""MQRC_FORMAT_ERROR: the record has no value, a value that cannot be decoded, or headers that are
not valid."""
TOO_MANY_HOPS = 282
"""MQFB_MAX_ACTIVITIES: the record has gone through more exports than its feed allows."""

_TIME = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d)(?::(\d\d))?Z")
_DAYS_BEFORE = (0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334)
_DAY_MS = 86_400_000


class FedMessage(Struct, gc=False):
    """A message of a record.

    code: 0, or why it is to be a dead letter (MQRC). why: says what is wrong with the record, if
    the feed may also wait for it.
    """

    message: MessageData
    offset: int
    code: int = 0
    why: str = ""


class FedBatch(Struct):
    """Records of a partition from offset start to before next, those that are messages.

    version: of the feed, as the reading began; what was read for another one is void. topic_id: of
    the topic that was read.
    """

    feed: str
    version: int
    topic_id: str
    partition: int
    start: int
    next: int
    messages: list[FedMessage]


class FeedStart(Struct):
    """From which offsets partitions are read, which the feed has not read yet."""

    feed: str
    version: int
    topic_id: str
    offsets: dict[int, int]


def time_of(text: str) -> int | None:
    """Return the ms since 1970 of a time of day in UTC; None if the text is no time.

    >>> time_of("2000-03-01T00:00:01Z")
    951868801000
    """
    match = _TIME.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(part or 0) for part in match.groups())
    is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if not (year >= 1970 and 1 <= month <= 12 and hour < 24 and minute < 60 and second < 60):
        return None
    ends = (*_DAYS_BEFORE[1:], 365)
    if not 1 <= day <= ends[month - 1] - _DAYS_BEFORE[month - 1] + int(is_leap and month == 2):
        return None
    past = year - 1
    days = past * 365 + past // 4 - past // 100 + past // 400 - 719_162  # of the years before
    days += _DAYS_BEFORE[month - 1] + day - 1 + int(is_leap and month > 2)
    return days * _DAY_MS + (hour * 3600 + minute * 60 + second) * 1000
