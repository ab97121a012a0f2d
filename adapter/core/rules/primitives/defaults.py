"""What an attribute is that a DEFINE does not give: as the default object of its kind has it.

Altering SYSTEM.DEFAULT.LOCAL.QUEUE alters what local queues are defined like from then on,
as on MQ. Where that object has been deleted, the default is the table's. So it is for what the
object has as every queue manager begins with it: MQSC and PCF follow the object in that as well,
and give its values themselves.
"""

from __future__ import annotations

from typing import Any, Final

from adapter.core.attributes.objects import DEFAULT_OBJECTS, KINDS, WITH_QUEUE_NAMES
from adapter.core.attributes.queue import MQ_DEFAULTS
from adapter.core.model.manager import QueueManager

ITS_OWN: Final = frozenset(("description", "topic_string"))
"""What is of the default object, and of no other: what it is, and its place."""


def with_defaults(qm: QueueManager, kind: str, attributes: dict[str, Any]) -> dict[str, Any]:
    """Return what is given, and what the default object has otherwise than the table."""
    name = DEFAULT_OBJECTS.get(kind, "")
    queue = qm.queues.get(name)
    default: Any = queue.attributes if kind == "queue" and queue else qm.objects.get((kind, name))
    if default is None:
        return attributes
    altered = {
        row.name: value
        for row in KINDS[kind].values()
        if (value := getattr(default, row.name)) != row.default
        and row.name not in ITS_OWN
        and not (kind in WITH_QUEUE_NAMES and value == MQ_DEFAULTS.get(row.name))
        and not row.attribute.fixed
    }
    return altered | attributes
