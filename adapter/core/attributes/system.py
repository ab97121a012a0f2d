"""The SYSTEM objects that every queue manager begins with, and their attributes.

What is not given here is as the tables of attributes say. This module does not know when they are
made.
"""

from __future__ import annotations

from typing import Any

from adapter.core.attributes.objects import AUTO_RECEIVER, KAFKA_RECEIVER
from adapter.core.attributes.queue import MQ_DEFAULTS

BASE_TOPIC = "SYSTEM.BASE.TOPIC"
DELAYED_QUEUE = "SYSTEM.DELAYED.QUEUE"
DURABLE_MODEL = "SYSTEM.DURABLE.MODEL.QUEUE"
NON_DURABLE_MODEL = "SYSTEM.NDURABLE.MODEL.QUEUE"
RETAINED_QUEUE = "SYSTEM.RETAINED.PUB.QUEUE"

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
    DELAYED_QUEUE: {"description": "messages that are not due yet", "inhibit_put": True},
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
    ("channel", AUTO_RECEIVER): {"channel_type": "RCVR"},
    ("channel", KAFKA_RECEIVER): {"channel_type": "RCVR"},
    ("authinfo", "SYSTEM.DEFAULT.AUTHINFO.IDPWOS"): {},
}
