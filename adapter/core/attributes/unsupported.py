"""Attributes of IBM MQ whose feature does not exist here, and the one value of each that holds.

Programs inquire about them, and saved definitions give them. The answer is known: no accounting, no
clusters, no exits. A row's default is the value that holds. Giving another value has no effect, and
is reported; where it would change what happens to messages or who may connect, it is refused
(Attribute.promise). MQINQ, MQSC and PCF read this one table; the SDK does not have these names.
"""

from __future__ import annotations

from collections.abc import Mapping

from adapter.core.attributes.table import DEPTH_MAX, NAME_LENGTH_MAX, Attribute, AttributeRow, Table

CUSTOM_LENGTH = 128
EXIT_LENGTH = 128
EXIT_DATA_LENGTH = 32
KEY_REPOSITORY_LENGTH = 256
BYTES_MAX = 104_857_600

DISABLED = {"DISABLED": 0, "ENABLED": 1}
NO = {"NO": 0, "YES": 1}
OFF = {"OFF": 0, "ON": 1}
LEVELS = {"OFF": 0, "NONE": -1, "LOW": 17, "MEDIUM": 33, "HIGH": 65}
AS_QMGR = {"QMGR": -3, "OFF": 0, "ON": 1}
AS_QMGR_LEVELS = {"QMGR": -3, "OFF": 0, "LOW": 17, "MEDIUM": 33, "HIGH": 65}
CONTROL = {"QMGR": 0, "MANUAL": 2}
EVENTS = {"DISABLED": 0, "ENABLED": 1, "EXCEPTION": 2}
COMMAND_EVENTS = {"DISABLED": 0, "ENABLED": 1, "NODISPLAY": 3}
RECORDING = {"DISABLED": 0, "QUEUE": 1, "MSG": 2}


def choice(
    keyword: str, number: int, meaning: str, numbers: Mapping[str, int], promise: bool = False
) -> AttributeRow:
    """Make the row of an attribute with words; the first of them holds."""
    attribute = Attribute(
        keyword, number, meaning, numbers=tuple(numbers.values()), promise=promise
    )
    words = tuple(numbers)
    return AttributeRow(
        name=keyword, type=str, default=words[0], attribute=attribute, choices=words
    )


def whole(
    keyword: str,
    number: int,
    meaning: str,
    value: int,
    high: int = DEPTH_MAX,
    low: int = 0,
    promise: bool = False,
) -> AttributeRow:
    """Make the row of a whole number; value: the one that holds."""
    attribute = Attribute(keyword, number, meaning, low=low, high=high, promise=promise)
    return AttributeRow(name=keyword, type=int, default=value, attribute=attribute)


def text(
    keyword: str,
    number: int,
    meaning: str,
    length: int = NAME_LENGTH_MAX,
    value: str = "",
    promise: bool = False,
) -> AttributeRow:
    """Make the row of a text; value: the one that holds."""
    attribute = Attribute(keyword, number, meaning, length=length, promise=promise)
    return AttributeRow(name=keyword, type=str, default=value, attribute=attribute)


def table(*rows: AttributeRow) -> Table:
    """Return the rows by their keyword."""
    return {row.name: row for row in rows}


CLUSTER = table(
    text("CLUSTER", 2029, "the cluster that it is in", promise=True),
    text("CLUSNL", 2030, "a namelist of clusters", promise=True),
    whole("CLWLPRTY", 96, "its priority in a cluster", 0, 9),
    whole("CLWLRANK", 95, "its rank in a cluster", 0, 9),
    choice("DEFBIND", 61, "binding to a cluster queue", {"OPEN": 0, "NOTFIXED": 1, "GROUP": 2}),
)
ANY_QUEUE = table(
    text("CUSTOM", 2119, "settings without an attribute of their own", CUSTOM_LENGTH),
    choice("DEFPRESP", 184, "response to puts by default", {"SYNC": 1, "ASYNC": 2}),
    choice(
        "OTELPCTL",
        279,
        "propagation of trace context",
        {"QMGR": 0, "MANUAL": 1, "AUTO": 2, "ASPARENT": 3},
    ),
    choice("OTELTRAC", 278, "traces", {"QMGR": 0, "OFF": 1, "ON": 2, "NONE": 3, "ASPARENT": 4}),
    choice("SCOPE", 45, "who finds it", {"QMGR": 1, "CELL": 2}),
)
READING = table(
    choice("DEFREADA", 188, "read ahead by default", {"NO": 0, "YES": 1, "DISABLED": 2})
)
STORED = table(
    choice("ACCTQ", 134, "accounting messages", AS_QMGR),
    choice("DISTL", 34, "distribution lists", NO),
    whole("MAXFSIZE", 274, "megabytes of its file; -1: as many as there are", -1, low=-1),
    choice("MONQ", 123, "online monitoring", AS_QMGR_LEVELS),
    choice(
        "NPMCLASS",
        78,
        "when non-persistent messages are discarded",
        {"NORMAL": 0, "HIGH": 10},
        promise=True,
    ),
    whole("QDEPTHHI", 40, "percent of MAXDEPTH for the event of a high depth", 80, 100),
    whole("QDEPTHLO", 41, "percent of MAXDEPTH for the event of a low depth", 20, 100),
    choice("QDPHIEV", 43, "events of a high depth", DISABLED),
    choice("QDPLOEV", 44, "events of a low depth", DISABLED),
    choice("QDPMAXEV", 42, "events of a full queue", {"ENABLED": 1, "DISABLED": 0}),
    choice("QSVCIEV", 46, "events of a service interval", {"NONE": 0, "HIGH": 1, "OK": 2}),
    whole("QSVCINT", 54, "milliseconds of a service interval", DEPTH_MAX),
    whole("RETINTVL", 21, "hours that the queue is needed", DEPTH_MAX),
    choice("STATQ", 128, "statistics messages", AS_QMGR),
)
LOCAL = STORED | table(
    text("CLCHNAME", 2124, "cluster channels that it serves", promise=True),
    choice("CLWLUSEQ", 98, "use of remote instances", {"QMGR": -3, "LOCAL": 0, "ANY": 1}),
    choice("IMGRCOVQ", 272, "recovery from a media image", {"QMGR": 2, "NO": 0, "YES": 1}),
    text("STREAMQ", 2138, "the queue that copies of its messages go to", promise=True),
    choice("STRMQOS", 275, "whether a copy must be put", {"BESTEF": 0, "MUSTDUP": 1}),
)
TOPIC = table(
    whole(
        "CAPEXPRY", 276, "the longest expiry, tenths of a second; -1: any", -1, low=-1, promise=True
    ),
    choice("CLROUTE", 255, "routing in a cluster", {"DIRECT": 0, "TOPICHOST": 1, "NONE": 2}),
    text("CLUSTER", 2029, "the cluster that it is in", promise=True),
    text("COMMINFO", 2110, "multicast settings", value="SYSTEM.DEFAULT.COMMINFO.MULTICAST"),
    text("CUSTOM", 2119, "settings without an attribute of their own", CUSTOM_LENGTH),
    choice("DEFPRESP", 184, "response to puts by default", {"ASPARENT": 0, "SYNC": 1, "ASYNC": 2}),
    choice("MCAST", 176, "multicast", {"DISABLED": 2, "ASPARENT": 0, "ENABLED": 1, "ONLY": 3}),
    text("MDURMDL", 2096, "model of managed queues, durable", promise=True),
    text("MNDURMDL", 2097, "model of managed queues, not durable", promise=True),
    choice(
        "NPMSGDLV",
        196,
        "when a non-persistent publication fails",
        {"ASPARENT": 0, "ALL": 1, "ALLDUR": 2, "ALLAVAIL": 3},
        promise=True,
    ),
    choice(
        "PMSGDLV",
        195,
        "when a persistent publication fails",
        {"ASPARENT": 0, "ALL": 1, "ALLDUR": 2, "ALLAVAIL": 3},
        promise=True,
    ),
    choice("PROXYSUB", 199, "proxy subscriptions", {"FIRSTUSE": 2, "FORCE": 1}),
    choice(
        "PUBSCOPE",
        219,
        "queue managers that publications reach",
        {"ASPARENT": 1, "QMGR": 4, "ALL": 0},
    ),
    choice(
        "SUBSCOPE",
        218,
        "queue managers that are subscribed to",
        {"ASPARENT": 1, "QMGR": 4, "ALL": 0},
    ),
    choice("TYPE", 208, "of this queue manager, or of a cluster", {"LOCAL": 0, "CLUSTER": 1}, True),
    choice(
        "USEDLQ",
        234,
        "whether what cannot be delivered goes to the dead-letter queue",
        {"ASPARENT": 0, "NO": 1, "YES": 2},
        promise=True,
    ),
    choice(
        "WILDCARD",
        216,
        "whether subscriptions with wildcards reach below it",
        {"PASSTHRU": 2, "BLOCK": 1},
        promise=True,
    ),
)
SUBSCRIPTION = table(
    whole(
        "EXPIRY", 1244, "tenths of a second that it lasts; -1: for ever", -1, low=-1, promise=True
    ),
    choice(
        "PSPROP",
        1271,
        "how properties about the publication are given",
        {"MSGPROP": 3, "NONE": 0, "COMPAT": 1, "RFH2": 2},
        promise=True,
    ),
    text("PUBAPPID", 3135, "application identity in the copies", 32, promise=True),
    text("PUBACCT", 0, "accounting token in the copies", 67),
    text("SUBUSER", 3156, "whose rights it uses", 64),
    choice("SUBSCOPE", 1275, "queue managers that are subscribed to", {"ALL": 0, "QMGR": 4}),
    choice("VARUSER", 1277, "who may use it", {"ANY": 2, "FIXED": 1}, promise=True),
    choice("WSCHEMA", 1288, "which wildcards its topic string has", {"TOPIC": 2, "CHAR": 1}, True),
)
CHANNEL = table(
    choice(
        "AFFINITY", 1621, "which of several connections a client takes", {"PREFERRED": 1, "NONE": 0}
    ),
    text("CERTLABL", 2121, "its certificate", 64, promise=True),
    whole("BATCHHB", 1567, "milliseconds between heartbeats of batches", 0, 999_999),
    whole("BATCHSZ", 1502, "messages of a batch", 50, 9_999, low=1),
    whole("CLNTWGHT", 1620, "weight among connections of a client", 0, 99),
    choice("COMPHDR", 0, "compression of headers", {"NONE": 0, "SYSTEM": 8}),
    choice(
        "COMPMSG",
        0,
        "compression of messages",
        {
            "NONE": 0,
            "RLE": 1,
            "ZLIBFAST": 2,
            "ZLIBHIGH": 4,
            "LZ4FAST": 16,
            "LZ4HIGH": 32,
            "ANY": 268_435_455,
        },
    ),
    text("CONNAME", 3506, "where a client connects to", 264),
    choice(
        "DEFRECON", 1640, "reconnection of clients", {"NO": 0, "YES": 1, "QMGR": 2, "DISABLED": 3}
    ),
    whole("DISCINT", 1503, "seconds without traffic before it is closed; 0: any", 0, 999_999),
    whole("HBINT", 1563, "seconds between heartbeats", 300, 999_999),
    whole("KAINT", 1566, "seconds between keep-alives; -1: as HBINT says", -1, 99_999, low=-1),
    text("LOCLADDR", 3520, "the local address of a client", 48),
    whole("MAXINST", 1618, "connections by it at a time", DEPTH_MAX),
    whole("MAXINSTC", 1619, "connections by it at a time of one client", DEPTH_MAX),
    whole("MAXMSGL", 1510, "bytes of a message", 4_194_304, BYTES_MAX),
    text("MODENAME", 3503, "of LU 6.2", 8),
    choice("MONCHL", 122, "online monitoring", AS_QMGR_LEVELS),
    text("MRDATA", 3535, "for the message-retry exit", EXIT_DATA_LENGTH),
    text("MREXIT", 3534, "a message-retry exit", EXIT_LENGTH, promise=True),
    whole("MRRTY", 1544, "retries of a message before it is a dead letter", 10),
    whole("MRTMR", 1545, "milliseconds between such retries", 1000),
    text("MSGDATA", 3514, "for the message exit", EXIT_DATA_LENGTH),
    text("MSGEXIT", 3509, "a message exit", EXIT_LENGTH, promise=True),
    choice("NPMSPEED", 1562, "how non-persistent messages travel", {"NORMAL": 1, "FAST": 2}),
    text("RCVDATA", 3516, "for the receive exit", EXIT_DATA_LENGTH),
    text("RCVEXIT", 3511, "a receive exit", EXIT_LENGTH, promise=True),
    text("SCYDATA", 3513, "for the security exit", EXIT_DATA_LENGTH),
    text("SCYEXIT", 3508, "a security exit", EXIT_LENGTH, promise=True),
    text("SENDDATA", 3515, "for the send exit", EXIT_DATA_LENGTH),
    text("SENDEXIT", 3510, "a send exit", EXIT_LENGTH, promise=True),
    whole("SEQWRAP", 1509, "the highest sequence number", DEPTH_MAX),
    whole("SHARECNV", 1615, "conversations of a connection", 10),
    choice(
        "SSLCAUTH", 1568, "whether clients must have certificates", {"REQUIRED": 0, "OPTIONAL": 1}
    ),
    text("SSLCIPH", 3544, "its encryption", 32, promise=True),
    text("SSLPEER", 3545, "which certificates are accepted", 1024, promise=True),
    choice("STATCHL", 129, "statistics", AS_QMGR_LEVELS),
    text("TPNAME", 3504, "of LU 6.2", 64),
    choice("USEDLQ", 1614, "whether what cannot be put becomes a dead letter", {"YES": 2, "NO": 1}),
)
AUTHINFO = table(
    choice(
        "ADOPTCTX", 260, "the user of the password is the user of the messages", {"YES": 1, "NO": 0}
    ),
    choice("AUTHENMD", 266, "what knows the passwords", {"OS": 0, "PAM": 1}),
    whole("FAILDLAY", 259, "seconds until a refusal is answered", 1, 60),
)
NAMELIST = table(choice("NLTYPE", 72, "what it lists", {"NONE": 0}))
QUEUE_MANAGER = table(
    choice("ACCTCONO", 136, "accounting as programs say", DISABLED),
    whole("ACCTINT", 135, "seconds between accounting messages", 1800, 604_800),
    choice("ACCTMQI", 133, "accounting messages of connections", OFF),
    choice("ACCTQ", 134, "accounting messages of queues", {"OFF": 0, "ON": 1, "NONE": -1}),
    choice("ACTIVREC", 138, "activity reports", RECORDING),
    choice("ACTVCONO", 239, "activity trace as programs say", DISABLED),
    choice("ACTVTRC", 240, "activity trace", OFF),
    choice("ADVCAP", 273, "advanced features", DISABLED),
    choice("AMQPCAP", 265, "AMQP", NO),
    choice("AUTHOREV", 47, "events of authority", DISABLED),
    text("CERTLABL", 2121, "its certificate", 64),
    choice("CERTVPOL", 252, "how certificates are checked", {"ANY": 0, "RFC5280": 1, "NONE": 2}),
    choice("CHAD", 55, "channels define themselves", DISABLED),
    choice("CHADEV", 56, "events of channels that define themselves", DISABLED),
    text("CHADEXIT", 2026, "an exit for them", EXIT_LENGTH, promise=True),
    choice("CHLEV", 73, "events of channels", EVENTS),
    text("CLWLDATA", 2034, "for the cluster workload exit", EXIT_DATA_LENGTH),
    text("CLWLEXIT", 2033, "a cluster workload exit", EXIT_LENGTH, promise=True),
    whole("CLWLLEN", 58, "bytes of a message for it", 100),
    whole("CLWLMRUC", 97, "cluster channels in use", DEPTH_MAX),
    choice("CLWLUSEQ", 98, "use of remote instances", {"LOCAL": 0, "ANY": 1}),
    choice("CMDEV", 99, "events of commands", COMMAND_EVENTS),
    choice("CONFIGEV", 51, "events of definitions", DISABLED),
    text("CUSTOM", 2119, "settings without an attribute of their own", CUSTOM_LENGTH),
    choice("DEFCLXQ", 250, "transmission queues of cluster channels", {"SCTQ": 0, "CHANNEL": 1}),
    choice("DISTL", 34, "distribution lists", NO),
    whole("IMGINTVL", 269, "minutes between media images; 0: none are made", 0),
    whole("IMGLOGLN", 270, "megabytes of log between media images; 0: none are made", 0),
    choice("IMGRCOVO", 271, "recovery of objects from a media image", NO),
    choice("IMGRCOVQ", 272, "recovery of queues from a media image", NO),
    choice("IMGSCHED", 268, "when media images are made", {"MANUAL": 0, "AUTO": 1}),
    choice("INHIBTEV", 48, "events of inhibited queues", DISABLED),
    text("INITKEY", 0, "the key of its passwords", 256),
    choice("IPADDRV", 93, "which internet protocol", {"IPV4": 0, "IPV6": 1}),
    text("KEYRPWD", 0, "password of the keys", 1024),
    choice("LOCALEV", 49, "events of errors of programs", DISABLED),
    choice("LOGGEREV", 94, "events of the log", DISABLED),
    whole("MAXPROPL", 192, "bytes of properties; -1: any", -1, BYTES_MAX, low=-1),
    choice("MONACLS", 124, "online monitoring of cluster channels", AS_QMGR_LEVELS),
    choice("MONCHL", 122, "online monitoring of channels", LEVELS),
    choice("MONQ", 123, "online monitoring of queues", LEVELS),
    choice("OTELPCTL", 279, "propagation of trace context", {"MANUAL": 1, "AUTO": 2}),
    choice("OTELTRAC", 278, "traces", {"OFF": 1, "ON": 2, "NONE": 3}),
    text("PARENT", 2102, "its parent in a hierarchy", promise=True),
    choice("PERFMEV", 53, "events of performance", DISABLED),
    choice("PSCLUS", 249, "publications in clusters", DISABLED),
    choice("PSMODE", 187, "publish and subscribe", {"ENABLED": 2, "COMPAT": 1, "DISABLED": 0}),
    choice(
        "PSNPMSG",
        203,
        "non-persistent input of queued publish and subscribe that fails",
        {"DISCARD": 2, "NORMAL": 0, "KEEP": 3, "SAFE": 1},
    ),
    choice(
        "PSNPRES",
        205,
        "responses of queued publish and subscribe",
        {"NORMAL": 0, "SAFE": 1, "DISCARD": 2, "KEEP": 3},
    ),
    whole("PSRTYCNT", 206, "retries of queued publish and subscribe", 5),
    choice("PSSYNCPT", 207, "units of queued publish and subscribe", {"IFPER": 1, "YES": 0}),
    choice("REMOTEEV", 50, "events of other queue managers", DISABLED),
    text("REPOS", 2035, "the cluster that it holds", promise=True),
    text("REPOSNL", 2036, "a namelist of clusters that it holds", promise=True),
    choice("REVDNS", 254, "names of clients are looked up", {"DISABLED": 1, "ENABLED": 0}),
    choice("ROUTEREC", 137, "trace-route messages", RECORDING),
    choice("SCHINIT", 119, "start of the channel initiator", CONTROL),
    choice("SCMDSERV", 120, "start of the command server", CONTROL),
    choice("SPLCAP", 251, "protection policies", DISABLED),
    text("SSLCRLNL", 2050, "a namelist of revocation lists", promise=True),
    text("SSLCRYP", 2051, "hardware for encryption", KEY_REPOSITORY_LENGTH, promise=True),
    choice("SSLEV", 75, "events of encryption", DISABLED),
    choice("SSLFIPS", 92, "certified encryption only", NO, promise=True),
    text("SSLKEYR", 2049, "where its keys are", KEY_REPOSITORY_LENGTH),
    whole("SSLRKEYC", 76, "bytes until keys change; 0: never", 0),
    choice("STATACLS", 130, "statistics of cluster channels", AS_QMGR_LEVELS),
    choice("STATCHL", 129, "statistics of channels", LEVELS),
    choice("STATMQI", 127, "statistics messages of the queue manager", OFF),
    choice("STATQ", 128, "statistics messages of queues", {"OFF": 0, "ON": 1, "NONE": -1}),
    choice("STRSTPEV", 52, "events of start and stop", {"ENABLED": 1, "DISABLED": 0}),
    choice("SUITEB", 0, "strength of encryption", {"NONE": 1, "128_BIT": 2, "192_BIT": 4}, True),
    whole("TREELIFE", 183, "seconds that topics without use are kept; 0: for ever", 1800, 604_000),
    choice("XRCAP", 243, "MQ Telemetry", NO),
)

UNSUPPORTED: dict[str, Table] = {
    "queue": CLUSTER | ANY_QUEUE | READING | LOCAL,
    "alias": CLUSTER | ANY_QUEUE | READING,
    "remote": CLUSTER | ANY_QUEUE,
    "model": ANY_QUEUE | READING | STORED,
    "process": {},
    "namelist": NAMELIST,
    "topic": TOPIC,
    "subscription": SUBSCRIPTION,
    "channel": CHANNEL,
    "authinfo": AUTHINFO,
    "feed": {},
    "export": {},
    "queue_manager": QUEUE_MANAGER,
}
"""By kind of object: attributes by MQSC's keyword, which is their name here too."""
