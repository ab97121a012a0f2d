"""What every queue manager has from its beginning: settings, and the SYSTEM objects.

Programs written for MQ expect these objects. One that somebody has deleted is there again after
the next start; one that somebody has altered stays as it is.
"""

from __future__ import annotations

from typing import Any

from adapter.core.attributes.objects import KINDS, QUEUE_MANAGER
from adapter.core.attributes.queue import MQ_DEFAULTS
from adapter.core.model.manager import QueueManager
from adapter.core.model.topics import (
    BASE_TOPIC,
    DURABLE_MODEL,
    NON_DURABLE_MODEL,
    RETAINED_QUEUE,
)
from adapter.core.records import ObjectAltered, ObjectDefined, QueueDefined, Record
from adapter.core.rules import naming

QUEUES: dict[str, dict[str, Any]] = {
    "SYSTEM.ADMIN.COMMAND.QUEUE": {
        "description": "IBM MQ PCF commands",  # tools look for a description like "IBM MQ *"
        "def_persistence": False,
        "max_depth": 3_000,
    },
    "SYSTEM.ADMIN.QMGR.EVENT": {
        "description": "event messages of the queue manager",
        "def_persistence": False,
        "max_depth": 3_000,
    },
    "SYSTEM.DEAD.LETTER.QUEUE": {"description": "messages that could not be put"},
    "SYSTEM.DEFAULT.INITIATION.QUEUE": {
        "description": "trigger messages",
        "def_persistence": False,
    },
    "SYSTEM.DEFAULT.LOCAL.QUEUE": MQ_DEFAULTS
    | {"description": "local queues are defined like this"},
    RETAINED_QUEUE: {
        "description": "retained publications",
        "msg_delivery_sequence": "FIFO",
        "max_depth": 10_000,
    },
}
OBJECTS: dict[tuple[str, str], dict[str, Any]] = {
    ("alias", "SYSTEM.DEFAULT.ALIAS.QUEUE"): {"def_persistence": False},
    ("remote", "SYSTEM.DEFAULT.REMOTE.QUEUE"): {"def_persistence": False},
    ("model", "SYSTEM.DEFAULT.MODEL.QUEUE"): MQ_DEFAULTS
    | {"description": "temporary dynamic queues"},
    ("model", DURABLE_MODEL): {
        "description": "queues of managed durable subscriptions",
        "definition_type": "PERMDYN",
    },
    ("model", NON_DURABLE_MODEL): {"description": "queues of managed subscriptions"},
    ("topic", BASE_TOPIC): {
        "description": "the root of the tree of topics",
        "def_priority": 0,
        "def_persistence": "YES",
        "publish": "ENABLED",
        "subscribe": "ENABLED",
        "durable": "YES",
    },
    ("topic", "SYSTEM.DEFAULT.TOPIC"): {},
    ("process", "SYSTEM.DEFAULT.PROCESS"): {},
    ("namelist", "SYSTEM.DEFAULT.NAMELIST"): {},
    ("channel", "SYSTEM.DEF.SVRCONN"): {},
    ("authinfo", "SYSTEM.DEFAULT.AUTHINFO.IDPWOS"): {},
}


def configured(qm: QueueManager, settings: dict[str, Any]) -> list[Record]:
    """Say what is to be made or altered so that all this is there.

    settings: attributes of the queue manager; ATTRIBUTE_ERROR if it does not take them.
    """
    naming.check_attributes(KINDS[QUEUE_MANAGER], "the queue manager", qm.name, settings)
    other = {
        name: value for name, value in settings.items() if getattr(qm.attributes, name) != value
    }
    records: list[Record] = [ObjectAltered(QUEUE_MANAGER, qm.name, other)] if other else []
    records += [
        QueueDefined(name, naming.incarnation_of(qm, name), attributes)
        for name, attributes in QUEUES.items()
        if naming.opened_as(qm, name) is None
    ]
    records += [
        ObjectDefined(kind, name, attributes)
        for (kind, name), attributes in OBJECTS.items()
        if (kind, name) not in qm.objects
    ]
    return records
