"""Rights to put by a name: what a put needs, wherever the name stands.

An open, the reply-to queue of a report, a pointer, the queue of a subscription, the header of a
message that arrives, and a name of MSMQ all ask here. On the object that is named put is needed. A
transmission queue, also behind an alias, needs setall too: its messages have the context of their
header. What is put to an alias of a topic is published, which needs pub on the topic. This module
does not know who puts.
"""

from __future__ import annotations

from collections.abc import Iterator

from adapter.core.attributes.objects import AliasAttributes, TopicAttributes
from adapter.core.contract import authorities as a
from adapter.core.model.manager import QueueManager
from adapter.core.rules.network import routes, topic_rights
from adapter.core.rules.primitives.access import Asker


def missing(
    qm: QueueManager, asker: Asker, name: str, queue_manager: str = "", bits: int = a.PUT
) -> Iterator[tuple[str, str, int]]:
    """Iterate over what who asks lacks to use a name: type and name of each object, and which
    authorities.

    bits: what is asked for on the object that is named; with PUT all that a put needs.
    """
    alias = None
    if bits & a.PUT and routes.is_here(qm, queue_manager):
        found = qm.objects.get(("alias", name))
        alias = found if isinstance(found, AliasAttributes) else None
        is_of_queue = alias is not None and alias.target_type == "QUEUE"
        if (alias.target if alias and is_of_queue else name) in qm.transmission_queues:
            bits |= a.SET_ALL
    checked = routes.checked_name(qm, name, queue_manager)
    lacking = asker.missing(a.QUEUE, checked, bits)
    if lacking:
        yield a.QUEUE, checked, lacking
    if alias and alias.target_type == "TOPIC":
        topic = qm.objects.get(("topic", alias.target))
        if isinstance(topic, TopicAttributes):  # of the root too, where nothing can be published
            lacking = topic_rights.missing_of(qm, asker, topic.topic_string, a.PUBLISH)
            if lacking:
                yield a.TOPIC, topic.topic_string, lacking


def require(
    qm: QueueManager, asker: Asker, name: str, queue_manager: str = "", bits: int = a.PUT
) -> None:
    """Refuse who lacks any of it (MQRC_NOT_AUTHORIZED)."""
    for one in missing(qm, asker, name, queue_manager, bits):
        asker.refuse_missing(*one)


def lacks(qm: QueueManager, asker: Asker, name: str, queue_manager: str = "") -> bool:
    """Whether anything is missing for a put: then that is noted for the log."""
    for one in missing(qm, asker, name, queue_manager):
        asker.refusal(*one)
        return True
    return False
