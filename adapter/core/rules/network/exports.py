"""From the name of a topic of Kafka to the queue of its export, for a program that names a topic.

Its export is made when it is first needed, with a queue of its own: FIFO, so that records keep the
order of commits. Its name is made of the topic's, so that it is found without a search. This module
does not know who writes the topic.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any

from adapter.core.attributes.export import EXPORT
from adapter.core.attributes.feed import FEED, FeedAttributes
from adapter.core.attributes.queue import MESSAGE_LENGTH_MAX, QueueAttributes
from adapter.core.attributes.table import (
    DESCRIPTION_LENGTH_MAX,
    NAME_LENGTH_MAX,
)
from adapter.core.contract.object_names import SYSTEM
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.records import ObjectDefined
from adapter.core.contract.topic_names import SCHEMAS
from adapter.core.model.made_queues import MadeQueues
from adapter.core.model.manager import QueueManager
from adapter.core.model.queue import LocalQueue
from adapter.core.rules.primitives import naming

KAFKA_NAME = re.compile(r"[A-Za-z0-9._-]{1,249}")
OWN_TOPICS = "mq."
"""What the names of the topics begin with that queue managers write."""
OF_KAFKA = "__"
"""What the names of Kafka's own topics begin with."""
ELSEWHERE = "use another topic"
PREFIX = SYSTEM + "EXPORT."
DIGITS = 8
"""Of a hash, that a name has in the place of what there is no room for."""


def name_problem(qm: QueueManager, topic: str, remedy: str) -> str:
    """Say why a topic cannot be of other programs; "" if it can. remedy: what to do instead.

    A feed that read the topic of consumers' offsets would read the positions that it shows there.
    """
    if KAFKA_NAME.fullmatch(topic) is None or topic in (".", ".."):
        return f"topic {topic!r} is not a valid name of a Kafka topic"
    if topic.startswith(OWN_TOPICS):
        return f"topic {topic} is one that queue managers write; {remedy}"
    if topic in (SCHEMAS, qm.registry_topic):
        return f"topic {topic} is the schema registry's; {remedy}"
    if topic.startswith(OF_KAFKA):
        return f"topic {topic} is one that Kafka itself writes; {remedy}"
    return ""


def list_problem(attribute: str, value: str, of: str) -> str:
    """Say what is wrong with ALL, NONE or a list with commas; "" if nothing is. of: its parts."""
    if all(part.strip() for part in value.split(",")):
        return ""
    return f"{attribute} {value!r} has an empty name; use ALL, NONE or a list of {of}"


def name_of(topic: str) -> str:
    """Return the name of the export that is made for a topic, and of its queue.

    >>> name_of("shop.results-eu")
    'SYSTEM.EXPORT.shop.results%2Deu'
    """
    name = PREFIX + topic.replace("-", "%2D")
    if len(name) <= NAME_LENGTH_MAX:
        return name
    digits = hashlib.sha256(topic.encode()).hexdigest()[:DIGITS]
    return f"{name[: NAME_LENGTH_MAX - DIGITS - 1]}%{digits}"


def check_room(qm: QueueManager, name: str) -> None:
    """Refuse one export too many."""
    if len(qm.exports) >= qm.limits.exports:
        raise Refusal(Reason.LIMIT_REACHED, name, f"{qm.limits.exports} exports at most")


def feeding_problem(qm: QueueManager, topic: str) -> str:
    """Say why an export may not write a topic that a feed reads; "" if none reads it, or if the
    feed bounds how often a record goes round.
    """
    for name in qm.feeds.by_name:
        feed = qm.objects[FEED, name]
        if isinstance(feed, FeedAttributes) and feed.topic == topic and not feed.hops:
            return (
                f"feed {name} reads topic {topic}: what is written there would come back; use "
                "another topic, or set hops of the feed"
            )
    return ""


def loop_problem(qm: QueueManager, feed: FeedAttributes) -> str:
    """Say why a feed may not read a topic that an export writes; "" if none writes it, or if the
    feed bounds how often a record goes round.
    """
    for name, export in qm.exports.items():
        if export.topic == feed.topic and not feed.hops:
            return (
                f"export {name} writes topic {feed.topic}: what is read there would be written "
                "again; use another topic, or set hops of the feed"
            )
    return ""


def find_or_make(qm: QueueManager, topic: str, made: MadeQueues) -> LocalQueue:
    """Return the queue of a topic's export, or refuse. made: takes a new queue and its export."""
    problem = name_problem(qm, topic, ELSEWHERE)
    if problem:
        raise Refusal(Reason.ATTRIBUTE_ERROR, topic, problem)
    name = name_of(topic)
    queue, export = qm.queues.get(name), qm.exports.get(name)
    if export is not None:
        if export.topic != topic or export.queue != name:
            text = f"export {name} has another topic or queue: delete it, or put to its queue"
            raise Refusal(Reason.ATTRIBUTE_ERROR, topic, text)
    else:
        check_room(qm, name)
        naming.check_object_room(qm, name)
        problem = feeding_problem(qm, topic)
        if problem:
            raise Refusal(Reason.ATTRIBUTE_ERROR, topic, problem)
        made.records.append(ObjectDefined(EXPORT, name, {"queue": name, "topic": topic}))
    if queue is None:
        queue = _make(qm, name, topic, made)
    return queue


def _make(qm: QueueManager, name: str, topic: str, made: MadeQueues) -> LocalQueue:
    kind = naming.kind_of(qm, name)
    if kind is not None:
        text = (
            f"its queue would be {name}, which is the name of an object of kind {kind}: delete it"
        )
        raise Refusal(Reason.OBJECT_EXISTS, topic, text)
    kept = naming.why_kept(qm, name)
    if kept:
        raise Refusal(Reason.OBJECT_EXISTS, topic, f"its queue would be {name}: {kept}")
    attributes: dict[str, Any] = {
        "description": f"for topic {topic}"[:DESCRIPTION_LENGTH_MAX],
        "msg_delivery_sequence": "FIFO",
        "max_message_length": MESSAGE_LENGTH_MAX,
    }
    queue = LocalQueue(name, naming.incarnation_of(qm, name), QueueAttributes(**attributes))
    queue.begin_term(qm.numbers.first_n)
    made.add(qm, queue, attributes, name=topic)
    return queue
