"""Retained publications: the last one of each topic that was put with RETAIN.

They are messages on a queue, as on MQ, so that they are stored, copied, expired and restored like
any other. They stay in memory, within bounds; after a restart they are read in when first needed.
The correlation id is made of the topic string, for a topic to be found by it. Of several of one
topic the last one counts: units may have put them at the same time; the next one removes the rest.
"""

from __future__ import annotations

import hashlib

import msgspec

from adapter.core.attributes.system import RETAINED_QUEUE
from adapter.core.contract.commands import ClearRetained, Request
from adapter.core.contract.message import ID_LENGTH, NO_ID, MessageData
from adapter.core.contract.pages import PageNeeded
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.records import Record
from adapter.core.contract.stored import Stored
from adapter.core.contract.topic_strings import has_wildcards, means
from adapter.core.model.manager import QueueManager
from adapter.core.model.queue import LocalQueue
from adapter.core.rules.messages.unit import discard_records, taken_from
from adapter.core.rules.primitives import matching
from adapter.core.rules.primitives.decision import Decision, done

TOPIC_PROPERTY = "MQTopicString"
CORRELATION_PROPERTY = "MQKCorrelId"
RETAINED_PROPERTY = "MQIsRetained"
USER_DATA_PROPERTY = "MQSubUserData"
OWN_WORDS = frozenset((TOPIC_PROPERTY, CORRELATION_PROPERTY, RETAINED_PROPERTY, USER_DATA_PROPERTY))
"""What the queue manager says of a publication: subscribers, and it itself, rely on that."""
"""The correlation id that the program gave."""


def queue_in_memory(qm: QueueManager) -> LocalQueue | None:
    """Return the queue, with all that is on it in memory; raises PageNeeded until it is."""
    queue = qm.queues.get(RETAINED_QUEUE)
    if queue is not None:
        for lane in queue.lanes:
            seq = lane.paged.at_or_after(0)
            if seq is not None:
                raise PageNeeded(queue.name, lane.number, seq)
    return queue


def queue_for(qm: QueueManager, size: int) -> LocalQueue:
    """Return the queue if it takes messages of so many bytes (MQRC_RETAINED_MSG_Q_ERROR)."""
    queue = queue_in_memory(qm)
    if queue is None or queue.attributes.inhibit_put:
        raise Refusal(Reason.RETAINED_QUEUE_ERROR, RETAINED_QUEUE, "it is inhibited, or not there")
    if size > queue.attributes.max_message_length:
        text = f"max_message_length is {queue.attributes.max_message_length}"
        raise Refusal(Reason.RETAINED_QUEUE_ERROR, RETAINED_QUEUE, text)
    return queue


def check_room(
    qm: QueueManager, queue: LocalQueue, coming: int, size: int, replaced: list[Stored]
) -> None:
    """Refuse to keep more than there is room for once those that are replaced have gone.

    coming: how many messages. size: bytes of the body that is to be kept.
    """
    limit = queue.attributes.max_depth
    if queue.depth - len(replaced) + coming > limit:
        raise Refusal(Reason.RETAINED_QUEUE_ERROR, RETAINED_QUEUE, f"max_depth is {limit}")
    left = queue.weight - sum(len(one.message.body) for one in replaced)
    most = qm.limits.retained_bytes
    if left + size > most:
        text = f"{left} bytes are retained, of {most}"
        raise Refusal(Reason.RETAINED_QUEUE_ERROR, RETAINED_QUEUE, text)


def without_own_words(message: MessageData) -> MessageData:
    """Return a message without the properties that only the queue manager says of a publication."""
    properties = message.properties
    if not properties or OWN_WORDS.isdisjoint(properties):
        return message
    kept = {name: value for name, value in properties.items() if name not in OWN_WORDS}
    return msgspec.structs.replace(message, properties=kept or None)


def copy_to_keep(message: MessageData, topic: str) -> MessageData:
    """Make what is put on the queue of a publication."""
    properties = {**(message.properties or {}), TOPIC_PROPERTY: topic}
    if message.correlation_id not in (b"", NO_ID):
        properties[CORRELATION_PROPERTY] = message.correlation_id
    return msgspec.structs.replace(message, correlation_id=_key(topic), properties=properties)


def messages_of(queue: LocalQueue, topic: str) -> list[Stored]:
    """Return what is there of a topic, the last one last."""
    return list(queue.indexes.with_id("correlation_id", _key(topic)))


def last_of_each(qm: QueueManager, pattern: str, now_ms: int) -> list[tuple[str, MessageData]]:
    """Return the retained publications that a topic string means, each with its topic; of a topic
    whose last one has expired, none.
    """
    queue = queue_in_memory(qm)
    if queue is None:
        return []
    last: dict[str, Stored] = {}
    found = queue.in_memory() if has_wildcards(pattern) else messages_of(queue, pattern)
    for stored in found:
        last[_topic_of(stored)] = stored
    return [
        (topic, stored.message)
        for topic, stored in last.items()
        if means(pattern, topic) and not matching.is_over(stored, now_ms)
    ]


def as_published(message: MessageData, now_ms: int) -> MessageData:
    """Make the publication again of what was kept of it; it expires when that does."""
    properties = dict(message.properties or {})
    kept_id = properties.pop(CORRELATION_PROPERTY, NO_ID)
    is_id = isinstance(kept_id, bytes) and len(kept_id) == len(NO_ID)
    correlation_id = kept_id if is_id else NO_ID  # a release before kept what a program said
    properties[RETAINED_PROPERTY] = True
    again = msgspec.structs.replace(message, correlation_id=correlation_id, properties=properties)
    if again.expires_at_ms:
        again.expiry_ms = max(again.expires_at_ms - now_ms, 1)
    return again


def replacing(stored: list[Stored], queue: LocalQueue) -> list[Record]:
    """Say that others take the place of these."""
    return discard_records([taken_from(queue, one) for one in stored], "purged")


def decide_clear_retained(qm: QueueManager, request: Request, command: ClearRetained) -> Decision:
    """CLEAR TOPICSTR: the answer says for how many topics there was something."""
    queue = queue_in_memory(qm)
    found = [] if queue is None else list(queue.in_memory())
    fitting = [one for one in found if means(command.topic_string, _topic_of(one))]
    records = replacing(fitting, queue) if queue is not None else []
    return done(qm, request, records, len({_topic_of(one) for one in fitting}))


def _topic_of(stored: Stored) -> str:
    return str((stored.message.properties or {}).get(TOPIC_PROPERTY, ""))


def _key(topic: str) -> bytes:
    return hashlib.sha256(topic.encode()).digest()[:ID_LENGTH]
