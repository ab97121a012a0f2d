"""What every queue manager has from its beginning: settings, and the SYSTEM objects.

Programs written for MQ expect these objects. One that was deleted is there again after
the next start; one that was altered stays as it is.
"""

from __future__ import annotations

from typing import Any

from adapter.core.attributes.objects import KINDS, QUEUE_MANAGER
from adapter.core.attributes.system import OBJECTS, QUEUES
from adapter.core.contract.records import ObjectAltered, ObjectDefined, QueueDefined, Record
from adapter.core.model.manager import QueueManager
from adapter.core.rules.msmq import computers
from adapter.core.rules.primitives import naming


def configure(qm: QueueManager, settings: dict[str, Any], now_ms: int) -> list[Record]:
    """Say what is to be made or altered so that all this is there.

    settings: attributes of the queue manager; ATTRIBUTE_ERROR if it does not take them.
    """
    naming.check_attributes(KINDS[QUEUE_MANAGER], "the queue manager", qm.name, settings)
    other = {
        name: value for name, value in settings.items() if getattr(qm.attributes, name) != value
    }
    dates = {"created_ms": now_ms, "altered_ms": now_ms}
    records: list[Record] = []
    if qm.attributes.altered_ms:  # else it is new, and had no other name
        other = computers.with_former(qm, other)
    if other:
        records.append(ObjectAltered(QUEUE_MANAGER, qm.name, other | {"altered_ms": now_ms}))
    records += [
        QueueDefined(name, naming.incarnation_of(qm, name), attributes | dates)
        for name, attributes in QUEUES.items()
        if naming.kind_of(qm, name) is None
    ]
    records += [
        ObjectDefined(kind, name, attributes | dates)
        for (kind, name), attributes in OBJECTS.items()
        if (kind, name) not in qm.objects
    ]
    return records
