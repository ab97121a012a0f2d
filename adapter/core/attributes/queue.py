"""The attributes of a local queue, and of what dynamic queues are made from.

Defaults are MQ's, but for two that lose or refuse messages by surprise: messages are persistent,
and max_depth is the largest there is. Definitions by MQSC and PCF have MQ's own (MQ_DEFAULTS).
"""

from __future__ import annotations

from typing import Annotated, Literal

from adapter.core.attributes.table import (
    DEPTH_MAX,
    OWN_NUMBERS,
    Attribute,
    Dated,
    DefaultPersistence,
    DefaultPriority,
    Description,
    ExpiryCap,
    PropertyControl,
    object_name,
    rows_of,
)
from adapter.core.mq_layouts.trigger_message import TRIGGER_DATA_LENGTH

MESSAGE_LENGTH_MAX = 100 * 1024 * 1024
MQ_DEFAULTS = {"def_persistence": False, "max_depth": 5_000}
"""What the SYSTEM.DEFAULT objects say, which definitions by MQSC and PCF follow."""


class QueueAttributes(Dated, kw_only=True):
    """The attributes of a local queue that an application can define and alter."""

    description: Description = ""
    inhibit_put: Annotated[
        bool,
        Attribute(
            "PUT",
            10,
            "puts are refused",
            words=("ENABLED", "DISABLED"),
            by_set=True,
            is_trigger_event=True,
        ),
    ] = False
    inhibit_get: Annotated[
        bool,
        Attribute(
            "GET",
            9,
            "gets are refused",
            words=("ENABLED", "DISABLED"),
            by_set=True,
            is_trigger_event=True,
        ),
    ] = False
    def_priority: DefaultPriority = 0
    def_persistence: DefaultPersistence = True
    max_depth: Annotated[
        int, Attribute("MAXDEPTH", 15, "messages the queue holds", low=0, high=DEPTH_MAX)
    ] = DEPTH_MAX
    max_message_length: Annotated[
        int, Attribute("MAXMSGL", 13, "bytes of a body", low=0, high=MESSAGE_LENGTH_MAX)
    ] = 4 * 1024 * 1024
    msg_delivery_sequence: Annotated[
        Literal["PRIORITY", "FIFO"], Attribute("MSGDLVSQ", 16, "order of delivery")
    ] = "PRIORITY"
    share: Annotated[
        bool,
        Attribute(
            "SHARE",
            23,
            "several may have it open for input",
            words=("NOSHARE", "SHARE"),
            bare=True,
        ),
    ] = True
    def_input_open_option: Annotated[
        Literal["SHARED", "EXCLUSIVE"],
        Attribute(
            "DEFSOPT",
            4,
            "how input is opened if the program does not say",
            words=("SHARED", "EXCL"),
            numbers=(2, 4),
        ),
    ] = "SHARED"
    backout_threshold: Annotated[
        int,
        Attribute(
            "BOTHRESH",
            22,
            "backouts after which a message is set aside; 0: never",
            low=0,
            high=DEPTH_MAX,
        ),
    ] = 0
    backout_requeue_queue: Annotated[
        str, object_name("BOQNAME", 2019, "where it is set aside to")
    ] = ""
    backout_action: Annotated[
        Literal["PROGRAM", "MOVE"],
        Attribute(
            "BOACTION",
            OWN_NUMBERS,
            "who sets it aside: the program that gets it, as on MQ, or the queue manager, with the "
            "backout that reaches the threshold, to the dead-letter queue if need be",
        ),
    ] = "PROGRAM"
    harden_get_backout: Annotated[
        bool,
        Attribute(
            "HARDENBO",
            8,
            "a get in a unit is counted, durably, before the message is handed out, so that even "
            "a crash of the queue manager counts",
            words=("NOHARDENBO", "HARDENBO"),
            bare=True,
        ),
    ] = False
    usage: Annotated[
        Literal["NORMAL", "XMITQ"],
        Attribute(
            "USAGE",
            12,
            "XMITQ: a transmission queue, whose messages go to other queue managers",
        ),
    ] = "NORMAL"
    trigger_control: Annotated[
        bool,
        Attribute(
            "TRIGGER",
            24,
            "trigger messages are written when messages arrive",
            words=("NOTRIGGER", "TRIGGER"),
            bare=True,
            by_set=True,
            is_trigger_event=True,
        ),
    ] = False
    trigger_type: Annotated[
        Literal["NONE", "FIRST", "EVERY", "DEPTH"],
        Attribute(
            "TRIGTYPE",
            28,
            "for the first message, for each, or when so many are there",
            by_set=True,
            is_trigger_event=True,
        ),
    ] = "FIRST"
    trigger_depth: Annotated[
        int,
        Attribute(
            "TRIGDPTH",
            29,
            "how many messages TRIGTYPE(DEPTH) waits for",
            low=1,
            high=DEPTH_MAX,
            by_set=True,
            is_trigger_event=True,
        ),
    ] = 1
    trigger_msg_priority: Annotated[
        int,
        Attribute(
            "TRIGMPRI",
            26,
            "messages of a lower priority do not count for triggers",
            low=0,
            high=9,
            by_set=True,
            is_trigger_event=True,
        ),
    ] = 0
    trigger_data: Annotated[
        str,
        Attribute(
            "TRIGDATA",
            2023,
            "carried by trigger messages",
            length=TRIGGER_DATA_LENGTH,
            in_bytes=True,
            by_set=True,
        ),
    ] = ""
    initiation_queue: Annotated[
        str,
        object_name("INITQ", 2008, "where trigger messages are put to"),
    ] = ""
    process: Annotated[
        str,
        object_name("PROCESS", 2012, "the process that trigger messages name"),
    ] = ""
    expiry_cap: ExpiryCap = -1
    property_control: PropertyControl = "COMPAT"
    definition_type: Annotated[
        Literal["PREDEFINED", "PERMDYN", "TEMPDYN"],
        Attribute(
            "DEFTYPE",
            7,
            "whether it was defined, or made from a model for a program",
            numbers=(1, 2, 3),
            fixed=True,
        ),
    ] = "PREDEFINED"


class ModelAttributes(QueueAttributes, kw_only=True):
    """The attributes of a model queue: those of the queues made from it."""

    definition_type: Annotated[
        Literal["PERMDYN", "TEMPDYN"],
        Attribute(
            "DEFTYPE",
            7,
            "queues made from it stay until they are deleted, or go when they are closed",
            numbers=(2, 3),
        ),
    ] = "TEMPDYN"  # fewer choices


QUEUE_ATTRIBUTES = rows_of(QueueAttributes)
