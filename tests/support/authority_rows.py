"""What each command needs, written by hand from IBM MQ's tables: the measure of core's checks.

A command without a row fails the test. Rows know nothing of traits.
"""

from collections.abc import Callable

from msgspec import Struct

from adapter.core.contract import authority_commands as ac
from adapter.core.contract import broker as b
from adapter.core.contract import commands as c
from adapter.core.contract import msmq as m
from adapter.core.contract.authorities import APPLICABLE, words_of
from adapter.core.contract.channel_rules import InquireChannelRules, SetChannelRule
from adapter.core.contract.computers import KnownComputer
from adapter.core.contract.incarnations import AskIncarnations
from adapter.core.contract.message import MessageData
from tests.support.authorities import operator, user
from tests.support.core import Client

BASE, ALIAS = "A.BASE", "A.ALIAS"
OTHER = {BASE: ALIAS, ALIAS: BASE}
"""Of a queue its alias, of an alias its queue."""
MSMQ = "private$\\mail"
SERVICE_QUEUE = "broker$\\asked"
DIALOG = b"d" * 16


class Needed(Struct, frozen=True):
    """Authorities on one object."""

    object_type: str
    name: str
    words: tuple[str, ...]


class Row(Struct, frozen=True):
    """A command and all that it needs. any_of: one of the words is enough.

    prepare: what an operator does for it before.
    """

    command: c.Command
    needs: tuple[Needed, ...]
    any_of: bool = False
    prepare: Callable[[Client], None] | None = None


def queue(*words: str, name: str = BASE) -> Needed:
    return Needed("queue", name, words)


def manager(*words: str) -> Needed:
    return Needed("qmgr", "SELF", words)


def topic(*words: str) -> Needed:
    return Needed("topic", "TREE", words)


def prepare(client: Client) -> None:
    """Make, as an operator, what commands are about."""
    client.define(BASE)
    client.define("A.SENT", usage="XMITQ")
    client.do(c.DefineObject("alias", ALIAS, {"target": BASE}))
    client.do(c.DefineObject("alias", "A.BEHIND", {"target": "A.SENT"}))
    client.do(c.DefineObject("remote", "A.BACK", {"remote_queue_manager": "QM1"}))
    client.do(c.DefineObject("model", "A.MODEL", {"definition_type": "PERMDYN"}))
    client.do(c.DefineObject("process", "WORK", {"appl_id": "run"}))
    client.do(c.DefineObject("topic", "TREE", {"topic_string": "tree"}))
    client.do(c.DefineObject("alias", "A.TOPIC", {"target": "TREE", "target_type": "TOPIC"}))
    client.do(c.DefineObject("subscription", "S", {"topic_string": "tree/a", "destination": BASE}))
    client.do(c.DefineObject("feed", "SHOP", {"topic": "shop", "queue": BASE}))
    client.do(c.DefineObject("export", "OUT", {"topic": "out", "queue": BASE}))
    client.do(c.DeleteObject("export", "SYSTEM.EXPORT.new"))
    client.do(m.MsmqCreate(".\\private$\\mail"))
    client.do(b.BrokerCreate("queue", "ASKED"))
    client.do(b.BrokerCreate("service", "ASK", {"queue": "ASKED", "contracts": "DEFAULT"}))


def dynamic(client: Client) -> None:
    """Open a dynamic queue that another user has made."""
    operator(client)
    client.do(c.Open(7, "A.MODEL", c.INPUT, "A.DYNAMIC"))


def conversing(client: Client) -> None:
    """Begin a dialog."""
    operator(client)
    unit = client.begin()
    client.do(b.BrokerBegin(unit, DIALOG, "ASK", "ASK", group=b"g" * 16))
    client.do(c.Commit(unit))
    user(client)


def sending_for_another(client: Client) -> None:
    """Open a queue for a computer that gets a queue manager afterwards."""
    operator(client)
    client.do(m.MsmqOpen(1, ".\\private$\\mail", m.SEND_ACCESS, computer="FAR"))
    client.core.qm.known_computers["far"] = KnownComputer("FAR", "")


def subscribing(client: Client) -> None:
    """Open the subscription of another user."""
    operator(client)
    client.do(c.Subscribe(8, name="S", options=c.RESUME | c.DURABLE))


def consuming(client: Client) -> None:
    """Open a durable consumer."""
    operator(client)
    client.do(c.OpenConsumer(6, BASE, "R", 1000))


UNIT = b"\0" * 24
PUT_THERE = ("put", "setall")
SEES = ("dsp", "inq")

ROWS: dict[type, list[Row]] = {
    c.Open: [
        *(
            Row(c.Open(1, name, modes), (queue(word, name=name),))
            for name in (BASE, ALIAS)
            for modes, word in (
                (c.INPUT, "get"),
                (c.EXCLUSIVE, "get"),
                (c.INPUT | c.SAVE_CONTEXT, "get"),
                (c.OUTPUT, "put"),
                (c.BROWSE, "browse"),
                (c.INQUIRE, "inq"),
                (c.SET, "set"),
            )
        ),
        Row(c.Open(1, BASE, c.INPUT | c.OUTPUT | c.BROWSE), (queue("get", "put", "browse"),)),
        Row(c.Open(1, BASE, c.OUTPUT | c.PASS_IDENTITY), (queue("put", "passid"),)),
        Row(c.Open(1, BASE, c.OUTPUT | c.PASS_CONTEXT), (queue("put", "passall"),)),
        Row(c.Open(1, BASE, c.OUTPUT | c.SET_IDENTITY), (queue("put", "setid"), manager("setid"))),
        Row(c.Open(1, BASE, c.OUTPUT | c.SET_CONTEXT), (queue("put", "setall"), manager("setall"))),
        Row(c.Open(1, "A.SENT", c.OUTPUT), (queue("put", "setall", name="A.SENT"),)),
        Row(c.Open(1, "FAR", c.OUTPUT, queue_manager="QM2"), (queue("put", name="QM2"),)),
        Row(c.Open(1, BASE, c.OUTPUT, queue_manager="A.BACK"), (queue("put"),)),
        Row(c.Open(1, BASE, c.INPUT | c.BROWSE, queue_manager="A.BACK"), (queue("get", "browse"),)),
        Row(
            c.Open(1, "A.SENT", c.OUTPUT, queue_manager="A.BACK"),
            (queue("put", "setall", name="A.SENT"),),
        ),
        Row(c.Open(1, "A.BEHIND", c.OUTPUT), (queue("put", "setall", name="A.BEHIND"),)),
        Row(c.Open(1, "A.MODEL", c.INPUT, "A.D*"), (queue("get", name="A.MODEL"),)),
        Row(c.Open(1, "A.TOPIC", c.OUTPUT), (queue("put", name="A.TOPIC"), topic("pub"))),
        Row(
            c.Open(1, "", c.OUTPUT, kafka_topic="new"),
            (
                queue("put", name="SYSTEM.EXPORT.new"),
                Needed("export", "SYSTEM.EXPORT.new", ("crt",)),
            ),
        ),
        Row(c.Open(1, BASE, c.OUTPUT, alternate_user="ada"), (manager("altusr"), queue("put"))),
    ],
    c.Close: [Row(c.Close(7, c.DELETE), (queue("dlt", name="A.DYNAMIC"),), prepare=dynamic)],
    c.OpenTopic: [
        Row(c.OpenTopic(2, "tree/b"), (topic("pub"),)),
        Row(c.OpenTopic(2, "tree", modes=c.SET_IDENTITY), (topic("pub", "setid"),)),
        Row(c.OpenTopic(2, "tree", alternate_user="ada"), (manager("altusr"), topic("pub"))),
    ],
    c.Subscribe: [
        Row(c.Subscribe(3, "tree/#", options=c.CREATE | c.MANAGED), (topic("sub"),)),
        Row(
            c.Subscribe(3, "tree", destination=BASE, queue_handle=4),
            (topic("sub"), queue("put", "get")),
        ),
        Row(
            c.Subscribe(3, name="S", options=c.RESUME | c.DURABLE),
            (topic("resume"),),
        ),
        Row(
            c.Subscribe(3, name="S", options=c.RESUME | c.DURABLE, queue_handle=4),
            (topic("resume"), queue("get")),
        ),
        Row(c.Subscribe(3, name="S", options=c.ALTER | c.DURABLE), (topic("sub", "chg"),)),
        Row(
            c.Subscribe(3, name="S", options=c.ALTER | c.DURABLE, destination="A.SENT"),
            (topic("sub", "chg"), queue("put", "setall", name="A.SENT")),
        ),
        Row(
            c.Subscribe(3, "tree", options=c.CREATE | c.MANAGED, alternate_user="ada"),
            (manager("altusr"), topic("sub")),
        ),
    ],
    c.DefineQueue: [
        Row(c.DefineQueue("A.NEW"), (queue("crt", name="A.NEW"),)),
        Row(c.DefineQueue(BASE, {}, True), (queue("chg"),)),
        *(
            Row(
                c.DefineQueue("A.NEW", {attribute: to}),
                (queue("crt", name="A.NEW"), queue(*words, name=to)),
            )
            for attribute in ("backout_requeue_queue", "initiation_queue")
            for to, words in ((ALIAS, ("put",)), ("A.LATER", ("put",)), ("A.SENT", PUT_THERE))
        ),
    ],
    c.AlterQueue: [
        Row(c.AlterQueue(BASE, {}), (queue("chg"),)),
        Row(c.AlterQueue(BASE, {"backout_requeue_queue": ""}), (queue("chg"),)),
        *(
            Row(c.AlterQueue(BASE, {attribute: ALIAS}), (queue("chg"), queue("put", name=ALIAS)))
            for attribute in ("backout_requeue_queue", "initiation_queue")
        ),
    ],
    c.DeleteQueue: [Row(c.DeleteQueue(BASE), (queue("dlt"),))],
    c.PurgeQueue: [Row(c.PurgeQueue(BASE), (queue("clr"),))],
    c.DefineObject: [
        Row(c.DefineObject("alias", "A.NEW"), (queue("crt", name="A.NEW"),)),
        Row(c.DefineObject("alias", ALIAS, {}, True), (queue("chg", name=ALIAS),)),
        Row(
            c.DefineObject("alias", "A.NEW", {"target": BASE}),
            (queue("crt", name="A.NEW"), queue("put", "get", "browse")),
        ),
        Row(
            c.DefineObject("alias", "A.NEW", {"target": "A.SENT"}),
            (
                queue("crt", name="A.NEW"),
                queue("put", "get", "browse", "setall", name="A.SENT"),
            ),
        ),
        Row(
            c.DefineObject("alias", "A.NEW", {"target": "TREE", "target_type": "TOPIC"}),
            (queue("crt", name="A.NEW"), topic("pub", "sub")),
        ),
        Row(
            c.DefineObject("model", "A.NEW", {"initiation_queue": BASE}),
            (queue("crt", name="A.NEW"), queue("put")),
        ),
        Row(
            c.DefineObject("remote", "A.NEW", {"remote_name": "Q", "remote_queue_manager": "QM2"}),
            (queue("crt", name="A.NEW"), queue("put", name="QM2")),
        ),
        Row(
            c.DefineObject(
                "remote", "A.NEW", {"remote_queue_manager": "X", "transmission_queue": "A.SENT"}
            ),
            (queue("crt", name="A.NEW"), queue("put", name="A.SENT")),
        ),
        Row(
            c.DefineObject("remote", "A.NEW", {"remote_queue_manager": "QM1"}),
            (queue("crt", name="A.NEW"),),
        ),
        Row(
            c.DefineObject("topic", "T", {"topic_string": "tree/of/others"}),
            (Needed("topic", "T", ("crt",)), topic("pub", "sub")),
        ),
        Row(c.DefineObject("topic", "T"), (Needed("topic", "T", ("crt",)),)),
        Row(c.DefineObject("process", "P"), (Needed("process", "P", ("crt",)),)),
        Row(c.DefineObject("process", "WORK", {}, True), (Needed("process", "WORK", ("chg",)),)),
        Row(c.DefineObject("channel", "C"), (Needed("channel", "C", ("crt",)),)),
        Row(
            c.DefineObject("subscription", "N", {"topic_string": "tree", "destination": BASE}),
            (topic("sub"), queue("put")),
        ),
        Row(
            c.DefineObject(
                "subscription",
                "N",
                {"topic_string": "tree", "destination": "Q", "destination_queue_manager": "QM2"},
            ),
            (topic("sub"), queue("put", name="QM2")),
        ),
        Row(
            c.DefineObject("feed", "N", {"topic": "new", "queue": BASE}),
            (Needed("feed", "N", ("crt",)), queue("put")),
        ),
        Row(
            c.DefineObject("feed", "N", {"topic": "new", "topic_string": "tree"}),
            (Needed("feed", "N", ("crt",)), topic("pub")),
        ),
        Row(
            c.DefineObject("export", "N", {"topic": "new", "queue": ALIAS}),
            (Needed("export", "N", ("crt",)), queue("get", name=ALIAS)),
        ),
    ],
    c.AlterObject: [
        Row(
            c.AlterObject("feed", "SHOP", {"queue": ALIAS}),
            (Needed("feed", "SHOP", ("chg",)), queue("put", name=ALIAS)),
        ),
        Row(
            c.AlterObject("export", "OUT", {"queue": BASE}),
            (Needed("export", "OUT", ("chg",)), queue("get")),
        ),
        Row(c.AlterObject("export", "OUT", {}), (Needed("export", "OUT", ("chg",)),)),
        Row(c.AlterObject("process", "WORK", {}), (Needed("process", "WORK", ("chg",)),)),
        Row(c.AlterObject("alias", ALIAS, {}), (queue("chg", name=ALIAS),)),
        Row(c.AlterObject("queue_manager", "QM1", {}), (manager("chg"),)),
        Row(
            c.AlterObject("alias", "A.BEHIND", {"target": BASE}),
            (queue("chg", name="A.BEHIND"), queue("put", "get", "browse")),
        ),
        Row(
            c.AlterObject("alias", ALIAS, {"target_type": "TOPIC", "target": "TREE"}),
            (queue("chg", name=ALIAS), topic("pub", "sub")),
        ),
        Row(c.AlterObject("alias", ALIAS, {"description": "x"}), (queue("chg", name=ALIAS),)),
        Row(c.AlterObject("subscription", "S", {}), (topic("chg"),)),
        Row(
            c.AlterObject("subscription", "S", {"destination": ALIAS}),
            (topic("chg"), queue("put", name=ALIAS)),
        ),
        Row(
            c.AlterObject("subscription", "S", {"destination_queue_manager": "QM2"}),
            (topic("chg"), queue("put", name="QM2")),
        ),
    ],
    c.DeleteObject: [
        Row(c.DeleteObject("process", "WORK"), (Needed("process", "WORK", ("dlt",)),)),
        Row(c.DeleteObject("alias", ALIAS), (queue("dlt", name=ALIAS),)),
        Row(c.DeleteObject("subscription", "S"), (topic("dlt"),)),
    ],
    c.Inquire: [Row(c.Inquire(BASE), (queue(*SEES),), any_of=True)],
    c.AskStatus: [
        Row(c.AskStatus(BASE), (queue(*SEES),), any_of=True),
        Row(c.AskStatus(BASE, reset=True), (queue("chg", "dsp"),)),
    ],
    c.InquireObjects: [
        Row(c.InquireObjects("alias", ALIAS), (queue(*SEES, name=ALIAS),), any_of=True),
        Row(
            c.InquireObjects("process", "WORK"),
            (Needed("process", "WORK", SEES),),
            any_of=True,
        ),
        Row(c.InquireObjects("queue_manager", "QM1"), (manager(*SEES),), any_of=True),
        Row(c.InquireObjects("subscription", "S"), (topic("dsp", "sub", "resume"),), any_of=True),
    ],
    c.AskConnections: [Row(c.AskConnections(), (manager("dsp"),))],
    c.EndConnection: [Row(c.EndConnection(99), (manager("ctrl"),))],
    c.ClearRetained: [Row(c.ClearRetained("tree/a"), (topic("clr"),))],
    c.CloseSubscription: [
        Row(c.CloseSubscription(8, True), (topic("dlt"),), prepare=subscribing),
    ],
    c.OpenConsumer: [Row(c.OpenConsumer(5, BASE, "READER", 1000), (queue("get"),))],
    c.AskConsumers: [
        Row(
            c.AskConsumers(BASE),
            (queue(*SEES),),
            any_of=True,
            prepare=consuming,
        )
    ],
    c.DeleteConsumer: [Row(c.DeleteConsumer(BASE, "GONE"), (queue("chg"),))],
    AskIncarnations: [Row(AskIncarnations([(BASE, 0)]), (manager("chg"),))],
    c.SeekFeed: [Row(c.SeekFeed("SHOP", "LATEST"), (Needed("feed", "SHOP", ("ctrl",)),))],
    ac.SetAuthority: [Row(ac.SetAuthority("X", "queue", ["ann"]), (manager("chg"),))],
    ac.DeleteAuthority: [Row(ac.DeleteAuthority("X", "queue", ["ann"]), (manager("chg"),))],
    ac.RefreshSecurity: [Row(ac.RefreshSecurity(), (manager("chg"),))],
    SetChannelRule: [Row(SetChannelRule("C", "BLOCKUSER", users=["eve"]), (manager("chg"),))],
    InquireChannelRules: [Row(InquireChannelRules(), (manager("dsp"),))],
    ac.InquireAuthorities: [Row(ac.InquireAuthorities(), (manager("dsp"),))],
    ac.InquirePointers: [Row(ac.InquirePointers("ann"), (manager("dsp"),))],
    ac.ExplainAuthority: [Row(ac.ExplainAuthority("ann", "queue", "X"), (manager("dsp"),))],
    m.MsmqOpen: [
        Row(m.MsmqOpen(1, ".\\private$\\mail", access), (queue(*words, name=MSMQ),))
        for access, words in (
            (m.RECEIVE_ACCESS, ("get",)),
            (m.SEND_ACCESS, ("put",)),
            (m.PEEK_ACCESS, ("browse",)),
            (m.RECEIVE_ACCESS | m.SEND_ACCESS, ("get", "put")),
        )
    ],
    m.MsmqSend: [
        Row(
            m.MsmqSend(1, MessageData(b"a")),
            (queue("put", name="DIRECT=OS:FAR\\system$;deadxact"),),
            prepare=sending_for_another,
        )
    ],
    m.MsmqCreate: [
        Row(m.MsmqCreate(".\\private$\\new"), (queue("crt", name="private$\\new"),)),
    ],
    m.MsmqAlter: [Row(m.MsmqAlter(".\\private$\\mail", {}), (queue("chg", name=MSMQ),))],
    m.MsmqDelete: [Row(m.MsmqDelete(".\\private$\\mail"), (queue("dlt", name=MSMQ),))],
    m.MsmqPermit: [
        Row(m.MsmqPermit(".\\private$\\mail", [ac.PermissionChange("ann")]), (manager("chg"),)),
        Row(m.MsmqPermit(".\\private$\\mail"), (queue(*words_of(APPLICABLE["queue"]), name=MSMQ),)),
    ],
    m.MsmqInquire: [
        Row(m.MsmqInquire(".\\private$\\mail"), (queue(*SEES, name=MSMQ),), any_of=True),
        Row(m.MsmqInquire("private$\\*"), (manager("dsp"),)),
    ],
    b.BrokerCreate: [
        Row(b.BrokerCreate("queue", "NEW"), (queue("crt", name="broker$\\new"),)),
        Row(b.BrokerCreate("contract", "C"), (Needed("service", "C", ("crt",)),)),
        Row(
            b.BrokerCreate("route", "R", {"service": "S", "address": "EXPORT://RESULTS"}),
            (
                Needed("service", "R", ("crt",)),
                Needed("service", "S", ("chg",)),
                Needed("export", "RESULTS", ("chg",)),
            ),
        ),
        Row(
            b.BrokerCreate("route", "R", {"service": "ASK", "address": "QM9"}),
            (Needed("service", "R", ("crt",)), Needed("service", "ASK", ("chg",))),
        ),
        Row(
            b.BrokerCreate("route", "R", {"address": "QM9"}),
            (Needed("service", "R", ("crt",)), manager("chg")),
        ),
        Row(
            b.BrokerCreate("service", "MINE", {"queue": "Asked", "contracts": "DEFAULT"}),
            (Needed("service", "MINE", ("crt",)), queue("put", name=SERVICE_QUEUE)),
        ),
        Row(
            b.BrokerCreate("broker_priority", "P", {"local_service": "ASK"}),
            (Needed("service", "P", ("crt",)), Needed("service", "ASK", ("chg",))),
        ),
        Row(
            b.BrokerCreate(
                "event_notification", "N", {"event": "BROKER_QUEUE_DISABLED", "queue": "ASKED"}
            ),
            (Needed("service", "N", ("crt",)), queue("put", name=SERVICE_QUEUE), manager("dsp")),
        ),
    ],
    b.BrokerAlter: [
        Row(b.BrokerAlter("service", "ASK", {}), (Needed("service", "ASK", ("chg",)),)),
        Row(
            b.BrokerAlter("service", "ASK", {"queue": "ASKED"}),
            (Needed("service", "ASK", ("chg",)), queue("put", name=SERVICE_QUEUE)),
        ),
    ],
    b.BrokerDrop: [Row(b.BrokerDrop("service", "ASK"), (Needed("service", "ASK", ("dlt",)),))],
    b.BrokerPermit: [
        Row(b.BrokerPermit("service", "ASK"), (manager("chg"),)),
        Row(
            b.BrokerPermit("service", "ASK"),
            (Needed("service", "ASK", tuple(words_of(APPLICABLE["service"]))),),
        ),
        Row(
            b.BrokerPermit("queue", "ASKED"),
            (queue(*words_of(APPLICABLE["queue"]), name=SERVICE_QUEUE),),
        ),
    ],
    b.BrokerInquire: [
        Row(b.BrokerInquire("queue", "ASKED"), (queue(*SEES, name=SERVICE_QUEUE),), any_of=True),
        Row(b.BrokerInquire(b.ENDPOINTS), (manager("dsp"),)),
    ],
    b.BrokerBrowse: [Row(b.BrokerBrowse("ASKED"), (queue("browse", name=SERVICE_QUEUE),))],
    b.BrokerBegin: [
        Row(
            b.BrokerBegin(UNIT, b"n" * 16, "ASK", "ASK", group=b"g" * 16),
            (queue("get", name=SERVICE_QUEUE), Needed("service", "ASK", ("put",))),
        )
    ],
    **{
        type(command): [Row(command, (queue("get", name=SERVICE_QUEUE),), prepare=conversing)]
        for command in (
            b.BrokerSend(UNIT, [DIALOG]),
            b.BrokerReceive(UNIT, "ASKED"),
            b.BrokerGetGroup(UNIT, "ASKED"),
            b.BrokerMove(UNIT, DIALOG, b"h" * 16),
            b.BrokerTimer(UNIT, DIALOG, 1000),
            b.BrokerEnd(UNIT, DIALOG),
        )
    },
    b.BrokerAwaitEvent: [Row(b.BrokerAwaitEvent("SOMETHING"), (manager("dsp"),))],
    c.AskExports: [Row(c.AskExports("out"), (queue("dsp", "inq", "put"),), any_of=True)],
}
SILENT = (c.AskExports,)
"""Their answer leaves out what may not be seen, and nothing is refused."""


WITHOUT = {
    "a connection is enough": (
        *(c.SessionOpen, c.SessionResume, c.Begin, c.Touch, c.Commit, c.Backout, c.AskOutcome),
        *(m.MsmqLocate, b.BrokerSave, b.BrokerRollbackTo),
    ),
    "it was asked for at the open": (
        *(c.Put, c.Get, c.Browse, c.SetAttributes, c.SubscriptionRequest),
        *(c.ClaimBatch, c.ReadBatches, c.ConsumeBatches, c.AskLowest),
        *(m.MsmqReceive, m.MsmqCursor, m.MsmqMove, m.MsmqReject, m.MsmqPurge),
    ),
}
"""Commands that need no authority of their own."""
