"""Rights on topics: of a topic string what its topic object grants counts, and what those above it
grant. This module does not know which command needs what.
"""

from __future__ import annotations

from adapter.core.contract import authorities as a
from adapter.core.model.manager import QueueManager
from adapter.core.rules.network import topic_strings
from adapter.core.rules.primitives.access import Asker


def require(qm: QueueManager, asker: Asker, topic: str, bits: int, but: str = "") -> None:
    """Refuse who does not have all of these authorities on a topic string (MQRC_NOT_AUTHORIZED).

    but: a topic object that does not count.
    """
    missing = missing_of(qm, asker, topic, bits, but)
    if missing:
        raise asker.refusal(a.TOPIC, topic, missing)


def require_object(qm: QueueManager, asker: Asker, name: str, bits: int) -> None:
    """The same of a topic object; of one that does not exist its name counts."""
    if ("topic", name) in qm.objects:
        require(qm, asker, topic_strings.full_string(qm, name, ""), bits)
    else:
        asker.require(a.TOPIC, name, bits)


def missing_of(qm: QueueManager, asker: Asker, topic: str, bits: int, but: str = "") -> int:
    """Return which of these authorities who asks does not have on a topic string."""
    for name in topic_strings.objects_above(qm, topic):
        if name != but:
            bits = asker.missing(a.TOPIC, name, bits)
    return bits
