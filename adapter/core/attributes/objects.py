"""The attributes of all other objects, and of the queue manager; KINDS has the tables by kind."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Struct

from adapter.core.attributes.export import EXPORT, ExportAttributes
from adapter.core.attributes.feed import FEED, FeedAttributes
from adapter.core.attributes.msmq import COMPUTER_QUOTA_UNLIMITED_KB
from adapter.core.attributes.queue import (
    MESSAGE_LENGTH_MAX,
    ModelAttributes,
    QueueAttributes,
)
from adapter.core.attributes.table import (
    NAME_LENGTH_MAX,
    TOPIC_STRING_LENGTH_MAX,
    Attribute,
    Dated,
    DefaultPersistence,
    DefaultPriority,
    Description,
    ExpiryCap,
    PropertyControl,
    Table,
    description,
    object_name,
    rows_of,
)
from adapter.core.mq_layouts.trigger_message import (
    APPL_ID_LENGTH,
    ENV_DATA_LENGTH,
    USER_DATA_LENGTH,
)

NAMES_MAX = 256
USER_DATA_LENGTH_MAX = 10_240  # MQ_USER_DATA_LENGTH
SELECTOR_LENGTH_MAX = 10_240  # MQ_SELECTOR_LENGTH
SUBSCRIPTION = "subscription"
APPLICATION_TYPES = {
    "UNKNOWN": -1,
    "CICS": 1,
    "OS390": 2,
    "IMS": 3,
    "DOS": 5,
    "UNIX": 6,
    "OS400": 8,
    "WINDOWS": 9,
    "WINDOWSNT": 11,
    "VMS": 12,
    "NSK": 13,
    "OPENTP1": 15,
    "USER": 25,
    "DEF": 6,
}
"""APPLTYPE's words for numbers of MQAT_*; others are written as numbers."""
COPY_PRIORITIES = {"ASPUB": -3, "ASQDEF": -1}
"""PUBPRTY's words for numbers of MQPRI_PRIORITY_AS_*."""


class AliasAttributes(Dated, kw_only=True):
    """An alias: another name for a queue, with inhibitions and defaults of its own."""

    description: Description = ""
    target: Annotated[str, object_name("TARGET", 2002, "the queue it stands for")] = ""
    target_type: Annotated[
        Literal["QUEUE", "TOPIC"],
        Attribute("TARGTYPE", 193, "what its target is", numbers=(1, 8)),
    ] = "QUEUE"
    inhibit_put: Annotated[
        bool,
        Attribute("PUT", 10, "puts by this name are refused", words=("ENABLED", "DISABLED")),
    ] = False
    inhibit_get: Annotated[
        bool,
        Attribute("GET", 9, "gets by this name are refused", words=("ENABLED", "DISABLED")),
    ] = False
    def_priority: DefaultPriority = 0
    def_persistence: DefaultPersistence = True
    expiry_cap: ExpiryCap = -1
    property_control: PropertyControl = "COMPAT"


class RemoteAttributes(Dated, kw_only=True):
    """A local name for a queue of another queue manager."""

    description: Description = ""
    remote_name: Annotated[
        str,
        object_name("RNAME", 2018, "the queue's name there; empty: an alias of RQMNAME"),
    ] = ""
    remote_queue_manager: Annotated[
        str, object_name("RQMNAME", 2017, "the other queue manager")
    ] = ""
    transmission_queue: Annotated[
        str,
        object_name(
            "XMITQ",
            2024,
            "the transmission queue; empty: the one named as the queue manager, or DEFXMITQ",
        ),
    ] = ""
    inhibit_put: Annotated[
        bool, Attribute("PUT", 10, "puts are refused", words=("ENABLED", "DISABLED"))
    ] = False
    def_priority: DefaultPriority = 0
    def_persistence: DefaultPersistence = True
    expiry_cap: ExpiryCap = -1


class ProcessAttributes(Dated, kw_only=True):
    """A process: what a trigger monitor is to start."""

    description: Annotated[str, description(2011)] = ""
    appl_type: Annotated[
        int,
        Attribute("APPLTYPE", 1, "what kind of program: MQAT_*", low=-1, high=999_999_999),
    ] = 6
    appl_id: Annotated[
        str, Attribute("APPLICID", 2001, "the program", length=APPL_ID_LENGTH, in_bytes=True)
    ] = ""
    env_data: Annotated[
        str, Attribute("ENVRDATA", 2007, "its environment", length=ENV_DATA_LENGTH, in_bytes=True)
    ] = ""
    user_data: Annotated[
        str, Attribute("USERDATA", 2021, "for the program", length=USER_DATA_LENGTH, in_bytes=True)
    ] = ""


class NamelistAttributes(Dated, kw_only=True):
    """A list of names, separated by commas."""

    description: Annotated[str, description(2009)] = ""
    names: Annotated[
        str,
        Attribute(
            "NAMES",
            2020,
            "the names, separated by commas",
            length=NAMES_MAX * (NAME_LENGTH_MAX + 1),
        ),
    ] = ""


class TopicAttributes(Dated, kw_only=True):
    """A place in the tree of topics, with what holds there and below.

    What is left to the parent is as the nearest topic object above has it that says something.
    """

    description: Annotated[str, description(2093)] = ""
    topic_string: Annotated[
        str, Attribute("TOPICSTR", 2094, "the place", length=TOPIC_STRING_LENGTH_MAX)
    ] = ""
    def_priority: Annotated[
        int,
        Attribute(
            "DEFPRTY",
            6,
            "priority of a publication that names none; -2: the parent's",
            low=-2,
            high=9,
        ),
    ] = -2
    def_persistence: Annotated[
        Literal["ASPARENT", "NO", "YES"],
        Attribute(
            "DEFPSIST", 185, "persistence of a publication that names none", numbers=(-1, 0, 1)
        ),
    ] = "ASPARENT"
    publish: Annotated[
        Literal["ASPARENT", "ENABLED", "DISABLED"],
        Attribute("PUB", 181, "whether publications are taken", numbers=(0, 2, 1)),
    ] = "ASPARENT"
    subscribe: Annotated[
        Literal["ASPARENT", "ENABLED", "DISABLED"],
        Attribute("SUB", 182, "whether subscriptions may be made", numbers=(0, 2, 1)),
    ] = "ASPARENT"
    durable: Annotated[
        Literal["ASPARENT", "YES", "NO"],
        Attribute("DURSUB", 175, "whether they may be durable", numbers=(0, 1, 2)),
    ] = "ASPARENT"


class SubscriptionAttributes(Struct, kw_only=True):
    """A durable subscription: which publications go to which queue."""

    topic_string: Annotated[
        str,
        Attribute(
            "TOPICSTR",
            2094,
            "the topics, with + for one level and # for any number of levels; below TOPICOBJ's, if "
            "that is given",
            length=TOPIC_STRING_LENGTH_MAX,
        ),
    ] = ""
    topic_object: Annotated[str, object_name("TOPICOBJ", 2092, "the topic object above it")] = ""
    destination_class: Annotated[
        Literal["PROVIDED", "MANAGED"],
        Attribute("DESTCLAS", 1273, "whose queue it is", numbers=(2, 1)),
    ] = "PROVIDED"
    destination: Annotated[str, object_name("DEST", 3154, "the queue that they go to")] = ""
    destination_queue_manager: Annotated[
        str,
        object_name("DESTQMGR", 3153, "the queue manager of that queue; empty: this one"),
    ] = ""
    correlation_id: Annotated[
        str,
        Attribute(
            "DESTCORL", 7015, "correlation id of the copies, in hex; none: as published", length=48
        ),
    ] = ""
    user_data: Annotated[
        str, Attribute("USERDATA", 3159, "for the program", length=USER_DATA_LENGTH_MAX)
    ] = ""
    on_request: Annotated[
        bool,
        Attribute(
            "REQONLY", 1280, "only retained publications, when asked for", words=("NO", "YES")
        ),
    ] = False
    sub_level: Annotated[
        int,
        Attribute(
            "SUBLEVEL",
            1307,
            "of the subscriptions to a topic those of the highest level get a publication; above 1 "
            "they intercept it",
            low=0,
            high=9,
        ),
    ] = 1
    selector: Annotated[
        str,
        Attribute(
            "SELECTOR",
            3160,
            "which publications it gets: a condition over their properties and fields",
            length=SELECTOR_LENGTH_MAX,
        ),
    ] = ""
    pub_priority: Annotated[
        int,
        Attribute(
            "PUBPRTY",
            1283,
            "priority of the copies; -3 (ASPUB): the publication's, -1 (ASQDEF): their queue's",
            low=-3,
            high=9,
        ),
    ] = -3
    ident: Annotated[str, Attribute("SUBID", 7016, "its unique id, in hex", fixed=True)] = ""
    owner: Annotated[
        str, Attribute("", 0, "whose it is, where authorities are checked", fixed=True)
    ] = ""


class ChannelAttributes(Dated, kw_only=True):
    """A name by which clients say how they come, all through the one listener; or (RCVR) what
    counts for messages that come from another queue manager.
    """

    description: Annotated[str, description(3502)] = ""
    channel_type: Annotated[
        Literal["SVRCONN", "CLNTCONN", "RCVR"],
        Attribute("CHLTYPE", 1511, "which end it describes", numbers=(7, 6, 3)),
    ] = "SVRCONN"
    transport: Annotated[
        Literal["TCP"], Attribute("TRPTYPE", 1501, "how it connects", numbers=(2,))
    ] = "TCP"
    mca_user: Annotated[
        str,
        Attribute(
            "MCAUSER",
            3527,
            "of a receiver: by whose authorities its messages are put; blank: the queue manager's "
            "own. Of others it has no effect",
            length=64,
        ),
    ] = ""
    put_authority: Annotated[
        Literal["DEF", "CTX"],
        Attribute(
            "PUTAUT",
            1508,
            "of a receiver: whether the user in a message's context needs the authority to put it",
            numbers=(1, 2),
        ),
    ] = "DEF"
    queue_manager: Annotated[
        str,
        Attribute(
            "QMNAME",
            2015,
            "of a receiver: the queue manager whose messages it receives; of others no effect",
            length=48,
        ),
    ] = ""
    ssl_cipher: Annotated[
        str,
        Attribute(
            "SSLCIPH",
            3544,
            "if it is not blank, clients of other programs by this channel need TLS; which cipher "
            "is used is negotiated",
            length=32,
        ),
    ] = ""
    ssl_client_auth: Annotated[
        Literal["REQUIRED", "OPTIONAL"],
        Attribute("SSLCAUTH", 1568, "with SSLCIPH: whether a certificate too", numbers=(0, 1)),
    ] = "REQUIRED"
    ssl_peer: Annotated[
        str,
        Attribute(
            "SSLPEER",
            3545,
            "with SSLCIPH: parts of the subject that a certificate must have, with * at the ends",
            length=1024,
        ),
    ] = ""


class AuthInfoAttributes(Dated, kw_only=True):
    """How users and passwords of clients are checked."""

    description: Annotated[str, description(2046)] = ""
    auth_info_type: Annotated[
        Literal["IDPWOS"], Attribute("AUTHTYPE", 66, "what checks them", numbers=(3,))
    ] = "IDPWOS"
    check_client: Annotated[
        Literal["NONE", "OPTIONAL", "REQUIRED", "REQDADM"],
        Attribute("CHCKCLNT", 258, "whether clients must give them", numbers=(1, 0, 3, 2)),
    ] = "REQDADM"
    check_local: Annotated[
        Literal["NONE", "OPTIONAL", "REQUIRED", "REQDADM"],
        Attribute("CHCKLOCL", 257, "whether local programs must", numbers=(1, 0, 3, 2)),
    ] = "OPTIONAL"


class QueueManagerAttributes(Dated, kw_only=True):
    """The queue manager's own; all but the fixed ones are altered by ALTER QMGR."""

    description: Annotated[str, description(2014)] = ""
    channel_rules: Annotated[
        Literal["DISABLED", "ENABLED"],
        Attribute("CHLAUTH", 248, "whether channel authentication records count", numbers=(0, 1)),
    ] = "DISABLED"
    trigger_interval_ms: Annotated[
        int,
        Attribute(
            "TRIGINT",
            25,
            "milliseconds after a trigger message for a first message before another arrival may "
            "cause one",
            low=0,
            high=999_999_999,
        ),
    ] = 999_999_999
    depth_trigger_disables: Annotated[
        bool,
        Attribute(
            "DEPTHTRG",
            900_001,
            "a trigger message for TRIGTYPE(DEPTH) sets NOTRIGGER, as on IBM MQ",
            words=("KEEP", "DISABLE"),
        ),
    ] = False
    every_triggers_on_backout: Annotated[
        bool,
        Attribute(
            "EVERYBO",
            900_002,
            "TRIGTYPE(EVERY) also gives a trigger message for a put that was backed out",
            words=("NO", "YES"),
        ),
    ] = False
    statistics_interval_s: Annotated[
        int,
        Attribute(
            "STATINT",
            131,
            "seconds from one event with the statistics of a queue to the next; 0: no events; "
            "of a queue manager that is a process, what its configuration says, unless altered",
            low=0,
            high=604_800,
        ),
    ] = 0
    dead_letter_queue: Annotated[
        str,
        object_name("DEADQ", 2006, "where messages go that cannot be put"),
    ] = ""
    default_transmission_queue: Annotated[
        str,
        object_name(
            "DEFXMITQ", 2025, "the transmission queue for queue managers that have no other one"
        ),
    ] = ""
    mark_interval_ms: Annotated[
        int,
        Attribute(
            "MARKINT",
            68,
            "milliseconds that messages browsed by cooperating programs stay marked; -1: no limit",
            low=-1,
            high=999_999_999,
        ),
    ] = 5_000
    msmq_level: Annotated[
        int,
        Attribute(
            "MSMQLVL",
            900_003,
            "the version of MSMQ whose rules hold: 2: a mismatched send to a local queue is "
            "refused; 3: it is accepted, and not delivered; 4: also queues of other computers are "
            "read in transactions",
            low=2,
            high=4,
        ),
    ] = 3
    msmq_computer: Annotated[
        str,
        object_name(
            "MSMQCOMP",
            900_004,
            "its computer in names of MSMQ queues; empty: the name of the queue manager",
        ),
    ] = ""
    msmq_former_computers: Annotated[
        str,
        Attribute(
            "",
            0,
            "former names of its computer, in lower case, with commas between: they go on to mean "
            "it",
            fixed=True,
        ),
    ] = ""
    msmq_quota_kb: Annotated[
        int,
        Attribute(
            "MSMQQTA",
            900_005,
            "KB of messages that all its queues of MSMQ hold together, but for those of the system",
            low=0,
            high=COMPUTER_QUOTA_UNLIMITED_KB,
        ),
    ] = COMPUTER_QUOTA_UNLIMITED_KB
    msmq_journal_quota_kb: Annotated[
        int,
        Attribute(
            "MSMQJQTA",
            900_006,
            "KB of messages that the MSMQ journal of a computer holds",
            low=0,
            high=COMPUTER_QUOTA_UNLIMITED_KB,
        ),
    ] = COMPUTER_QUOTA_UNLIMITED_KB
    command_queue: Annotated[
        str,
        object_name("COMMANDQ", 2003, "where PCF commands are put", fixed=True),
    ] = "SYSTEM.ADMIN.COMMAND.QUEUE"
    connection_auth: Annotated[
        str,
        object_name("CONNAUTH", 2125, "the authentication information in force"),
    ] = "SYSTEM.DEFAULT.AUTHINFO.IDPWOS"
    max_handles: Annotated[
        int, Attribute("MAXHANDS", 11, "handles of a connection", fixed=True)
    ] = 256
    max_uncommitted_messages: Annotated[
        int, Attribute("MAXUMSGS", 33, "messages of a unit", fixed=True)
    ] = 10_000
    max_message_length: Annotated[int, Attribute("MAXMSGL", 13, "bytes of a body", fixed=True)] = (
        MESSAGE_LENGTH_MAX
    )
    max_priority: Annotated[int, Attribute("MAXPRTY", 14, "the highest priority", fixed=True)] = 9
    ccsid: Annotated[int, Attribute("CCSID", 2, "character set of its texts", fixed=True)] = 1208
    platform: Annotated[
        Literal["UNIX"], Attribute("PLATFORM", 32, "where it runs", numbers=(3,), fixed=True)
    ] = "UNIX"
    command_level: Annotated[
        int, Attribute("CMDLEVEL", 31, "which commands it knows", fixed=True)
    ] = 930
    version: Annotated[
        str,
        Attribute(
            "VERSION", 2120, "release of IBM MQ with the same CMDLEVEL", length=8, fixed=True
        ),
    ] = "09030000"
    syncpoint: Annotated[
        bool, Attribute("SYNCPT", 30, "units of work can be used", words=("NO", "YES"), fixed=True)
    ] = True


QUEUE_MANAGER = "queue_manager"
AUTO_RECEIVER = "SYSTEM.AUTO.RECEIVER"
"""The receiver of queue managers that no other one names."""
KAFKA_RECEIVER = "SYSTEM.KAFKA.RECEIVER"
"""The receiver of records that clients of Kafka write to the inbound topic."""
TYPES: dict[str, type[Struct]] = {
    "queue": QueueAttributes,
    "alias": AliasAttributes,
    "remote": RemoteAttributes,
    "model": ModelAttributes,
    "process": ProcessAttributes,
    "namelist": NamelistAttributes,
    "topic": TopicAttributes,
    SUBSCRIPTION: SubscriptionAttributes,
    "channel": ChannelAttributes,
    "authinfo": AuthInfoAttributes,
    FEED: FeedAttributes,
    EXPORT: ExportAttributes,
    QUEUE_MANAGER: QueueManagerAttributes,
}
KINDS: dict[str, Table] = {kind: rows_of(attributes) for kind, attributes in TYPES.items()}
WITH_QUEUE_NAMES = ("queue", "alias", "remote", "model")
"""Their names are of one namespace: a program opens what there is of that name."""
DEFAULT_OBJECTS = {
    "queue": "SYSTEM.DEFAULT.LOCAL.QUEUE",
    "alias": "SYSTEM.DEFAULT.ALIAS.QUEUE",
    "remote": "SYSTEM.DEFAULT.REMOTE.QUEUE",
    "model": "SYSTEM.DEFAULT.MODEL.QUEUE",
    "process": "SYSTEM.DEFAULT.PROCESS",
    "namelist": "SYSTEM.DEFAULT.NAMELIST",
    "channel": "SYSTEM.DEF.SVRCONN",
    "topic": "SYSTEM.DEFAULT.TOPIC",
}
"""What attributes are taken from that a definition does not give, by kind."""
