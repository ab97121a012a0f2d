"""Every reason is given by something, or it is said why by nothing yet."""

import asyncio
import socket
import threading
import time
from collections.abc import Callable
from functools import partial
from unittest.mock import Mock

import msgspec
import pytest

from adapter import testing
from adapter.connection.wire import codec, frames
from adapter.connection.wire.session import ServerSession
from adapter.core import inputs
from adapter.core.contract import broker as b
from adapter.core.contract import commands as c
from adapter.core.contract import msmq as m
from adapter.core.contract.details import IN_GROUP, SEGMENT, Details
from adapter.core.contract.limits import Limits
from adapter.core.contract.message import MessageData
from adapter.core.contract.msmq_header import MsmqHeader
from adapter.core.contract.parked import ParkedQueue
from adapter.core.contract.parties import Party, Principal
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.results import Messages, PutDone, Refused, Subscribed
from adapter.core.model.msmq_queue import lookup_id_of
from adapter.core.model.report import CONFIRM_ON_ARRIVAL
from adapter.errors import QueueManagerQuiescing
from adapter.errors.refusals import REFUSALS
from adapter.server.access.admission import Admission
from adapter.server.access.audit import AuditTrail
from adapter.server.access.claim import Claim
from adapter.server.access.credentials import Credentials
from adapter.server.listen.clients import ServedClient
from adapter.server.listen.connections import ClientConnections
from tests.support.core import Client, client_on

SUB = "subscription"
PATH = ".\\private$\\orders"
FIRST_UNIT = (1).to_bytes(16, "big") + (1).to_bytes(8, "big")  # of the first client of a Core
CLAIM = b"c" * 24
NOT_YET = {
    Reason.NOT_OPEN_FOR_INQUIRE: "attributes are asked for by name, not through a handle",
}
WARNINGS: dict[Reason, c.Command] = {
    Reason.PRIORITY_TOO_HIGH: c.Put(1, [MessageData(priority=10)]),
    Reason.MESSAGE_TRUNCATED: c.Get(1, options=c.BOUNDED),
    Reason.NO_SUBSCRIBERS: c.Put(2, [MessageData()], options=c.WARN_NO_SUBSCRIBERS),
    Reason.RETAINED_NOT_DELIVERED: c.Subscribe(3, "retained", destination="SMALL"),
}


def put(**fields: object) -> c.Put:
    return c.Put(1, [MessageData(**fields)])  # type: ignore[arg-type]


def with_mode(mode: int) -> Callable[[Client], Client]:
    """A client that has the queue open for one thing only."""

    def reopen(client: Client) -> Client:
        client.do(c.Close(1))
        client.open(modes=mode)
        return client

    return reopen


def inhibited(client: Client) -> Client:
    client.do(c.AlterQueue("Q", {"inhibit_get": True, "inhibit_put": True}))
    return client


def filled(client: Client) -> Client:
    client.put("a")
    client.do(c.Close(1))
    return client


def parked(client: Client) -> Client:
    client.core.qm.parked = {"Q": ParkedQueue(0, 2**60, "no such topic")}
    return client


def within(flags: int) -> Callable[[Client], Client]:
    """A client that has put one message of a group in logical order."""

    def begin(client: Client) -> Client:
        client.do(in_order(flags=flags))
        return client

    return begin


def on_segment(client: Client) -> Client:
    """A client whose cursor is at the second segment of a message."""
    within(SEGMENT)(within(SEGMENT)(client)).browse(limit=2)
    return client


def in_order(flags: int = IN_GROUP, unit: bytes = b"", **fields: object) -> c.Put:
    message = MessageData(b"a", details=Details(flags=flags), **fields)  # type: ignore[arg-type]
    return c.Put(1, [message], unit, c.LOGICAL_ORDER)


def setting(options: int, context: int = 0) -> c.Put:
    """Make a put that asks for a context."""
    return c.Put(1, [MessageData()], b"", options, context=context)


def in_a_group(client: Client) -> Client:
    for number in (1, 2):
        client.put("a", group_id=CLAIM, group_seq=number)
    client.take(options=c.LOGICAL_ORDER)
    return client


def detailed(**fields: object) -> c.Put:
    return c.Put(1, [MessageData(details=Details(**fields))])  # type: ignore[arg-type]


def full(client: Client) -> Client:
    client.put("a")
    client.put("b")
    return client


def with_authorities(client: Client) -> Client:
    client.core.qm.authorities.are_checked = True
    return client


def as_it_is(client: Client) -> Client:
    return client


def damaged(client: Client) -> Client:
    """A client whose queue's topic has been deleted."""
    client.put("a")
    core = client.core
    core.crash_with_snapshot()
    core.topics.clear()
    back = core.connect()
    back.open()
    return back


def consuming(client: Client) -> Client:
    """A client that has a consumer open, whose claim is known."""
    client.do(c.OpenConsumer(2, "Q", "C", 1_000))
    client.core.queue().consumers["C"].claim = CLAIM
    return client


def with_objects(client: Client) -> Client:
    """A client of a queue manager that has aliases, a remote queue and a model."""
    for kind, name, attributes in (
        ("alias", "NOWHERE", {"target": "NONE"}),
        ("alias", "MODEL.ALIAS", {"target": "M"}),
        ("remote", "R", {"remote_name": "Q", "remote_queue_manager": "QM2"}),
        ("remote", "R.NONE", {"remote_queue_manager": "QM2"}),
        ("remote", "R.UNKNOWN", REMOTE | {"transmission_queue": "NONE"}),
        ("remote", "R.TYPE", REMOTE | {"transmission_queue": "M"}),
        ("remote", "R.USAGE", REMOTE | {"transmission_queue": "Q"}),
        ("model", "M", {}),
    ):
        client.do(c.DefineObject(kind, name, attributes))
    return client


def with_default(name: str) -> Callable[[Client], Client]:
    """A client of a queue manager whose default transmission queue this is."""

    def prepared(client: Client) -> Client:
        given = {"default_transmission_queue": name}
        client.do(c.AlterObject("queue_manager", "QM1", given))
        return with_objects(client)

    return prepared


REMOTE = {"remote_name": "Q", "remote_queue_manager": "QM2"}


def with_route(client: Client) -> Client:
    """A client of a queue manager that knows another one."""
    client.core.give(inputs.QueueManagersKnown(frozenset({"QM2"})))
    client.core.qm.limits = msgspec.structs.replace(client.core.qm.limits, queues=9)
    return with_objects(client)


def with_temporary(client: Client) -> Client:
    with_objects(client).do(c.Close(1))
    client.core.qm.limits = msgspec.structs.replace(client.core.qm.limits, queues=9)
    client.do(c.Open(1, "M", c.OUTPUT, "T"))
    return client


def with_deleted(client: Client) -> Client:
    """A client that has a queue open that is gone: the handle that made it was closed."""
    client.core.qm.limits = msgspec.structs.replace(client.core.qm.limits, handles_per_connection=9)
    with_temporary(client).do(c.Open(2, "T", c.OUTPUT))
    client.do(c.Close(1))
    return client


def with_topics(client: Client) -> Client:
    """A client that publishes by handle 2, and subscribes by handle 3 to a queue without room."""
    limits = msgspec.structs.replace(client.core.qm.limits, handles_per_connection=9)
    client.core.qm.limits = limits
    for name, topic in (("NO", {"subscribe": "DISABLED"}), ("SOFT", {"durable": "NO"})):
        client.do(c.DefineObject("topic", name, {"topic_string": name.lower(), **topic}))
    client.do(c.OpenTopic(2, "a"))
    client.do(c.AlterQueue("Q", {"inhibit_put": True}))
    client.do(c.Subscribe(3, "a", "", "S", c.CREATE | c.DURABLE, "Q"))
    return client


def with_one_that_is_closed(client: Client) -> Client:
    with_topics(client).do(c.CloseSubscription(3))
    return client


def to(name: str, dynamic_name: str = "") -> c.Open:
    return c.Open(5, name, c.OUTPUT, dynamic_name)


def with_msmq(client: Client) -> Client:
    """A client that has a queue of MSMQ open, and a message of it in a transaction."""
    client.core.qm.limits = msgspec.structs.replace(client.core.qm.limits, queues=9)
    client.do(m.MsmqCreate(PATH, {"transactional": True}))
    client.do(m.MsmqOpen(2, PATH, m.RECEIVE_ACCESS | m.SEND_ACCESS, deny_receive=True))
    client.do(m.MsmqCursor(2, 1))
    client.do(m.MsmqSend(2, MessageData(body=b"a"), single=True))
    client.do(m.MsmqReceive(2, peek=True, start=m.CURRENT, cursor=1))
    client.do(m.MsmqReceive(2, client.begin()))
    client.do(m.MsmqCursor(2, 2))
    return client


DIALOG, GROUP = b"d" * 16, b"g" * 16
FIRST_DIALOG_UNIT, SECOND_DIALOG_UNIT = (
    (1).to_bytes(16, "big") + n.to_bytes(8, "big") for n in (7, 8)
)


def with_dialog(client: Client) -> Client:
    """A client with a dialog that the far side has ended, whose group a unit has locked."""
    client.core.qm.limits = msgspec.structs.replace(
        client.core.qm.limits, queues=9, unit_messages=9
    )
    client.do(b.BrokerCreate("queue", "ON"))
    client.do(b.BrokerCreate("queue", "OFF", {"status": False}))
    client.do(b.BrokerCreate("service", "S", {"queue": "ON", "contracts": "DEFAULT"}))
    for number in (5, 6):
        unit = FIRST_DIALOG_UNIT[:-1] + bytes([number])
        client.do(c.Begin(unit))
        if number == 5:
            client.do(b.BrokerBegin(unit, DIALOG, "S", "S", group=GROUP))
            client.do(b.BrokerSend(unit, [DIALOG]))
        else:
            rows = client.do(b.BrokerReceive(unit, "ON"))
            assert isinstance(rows, Messages)
            header = rows.messages[0].message.broker
            assert header is not None
            client.do(b.BrokerEnd(unit, header.handle))
        client.do(c.Commit(unit))
    for unit in (FIRST_DIALOG_UNIT, SECOND_DIALOG_UNIT):
        client.do(c.Begin(unit))
    client.do(b.BrokerReceive(FIRST_DIALOG_UNIT, "ON"))
    return client


def with_locks(client: Client) -> Client:
    """A client with two units, one of which waits for the other's group."""
    with_dialog(client)
    client.do(b.BrokerBegin(SECOND_DIALOG_UNIT, b"e" * 16, "S", "S", group=b"2" * 16))
    client.send(b.BrokerReceive(SECOND_DIALOG_UNIT, "ON", group=GROUP))
    return client


def sent_to_msmq(label: str) -> m.MsmqSend:
    return m.MsmqSend(2, MessageData(msmq=MsmqHeader(label=label)))


IN_CORE: dict[Reason, tuple[Callable[[Client], Client], c.Command]] = {
    Reason.QUEUE_NOT_FOUND: (as_it_is, c.PurgeQueue("NONE")),
    Reason.QUEUE_EXISTS: (as_it_is, c.DefineQueue("Q")),
    Reason.QUEUE_FULL: (full, put()),
    Reason.QUEUE_NOT_EMPTY: (filled, c.DeleteQueue("Q")),
    Reason.QUEUE_IN_USE: (as_it_is, c.DeleteQueue("Q")),
    Reason.QUEUE_PARKED: (parked, put()),
    Reason.OBJECT_DAMAGED: (damaged, c.Get(1)),
    Reason.OBJECT_NOT_FOUND: (as_it_is, c.DeleteObject("process", "NONE")),
    Reason.OBJECT_EXISTS: (with_objects, c.DefineObject("model", "M")),
    Reason.OBJECT_TYPE_ERROR: (as_it_is, c.DefineObject("table", "X")),
    Reason.UNKNOWN_ALIAS_BASE: (with_objects, to("NOWHERE")),
    Reason.ALIAS_BASE_TYPE_ERROR: (with_objects, to("MODEL.ALIAS")),
    Reason.UNKNOWN_REMOTE_QUEUE_MANAGER: (with_objects, to("R")),
    Reason.REMOTE_QUEUE_NAME_ERROR: (with_objects, to("R.NONE")),
    Reason.OPTION_NOT_VALID_FOR_TYPE: (with_route, c.Open(5, "R", c.INPUT)),
    Reason.UNKNOWN_TRANSMISSION_QUEUE: (with_objects, to("R.UNKNOWN")),
    Reason.TRANSMISSION_QUEUE_TYPE_ERROR: (with_objects, to("R.TYPE")),
    Reason.TRANSMISSION_QUEUE_USAGE_ERROR: (with_objects, to("R.USAGE")),
    Reason.UNKNOWN_DEFAULT_TRANSMISSION_QUEUE: (with_default("NONE"), to("R")),
    Reason.DEFAULT_TRANSMISSION_QUEUE_TYPE_ERROR: (with_default("M"), to("R")),
    Reason.DEFAULT_TRANSMISSION_QUEUE_USAGE_ERROR: (with_default("Q"), to("R")),
    Reason.DYNAMIC_NAME_ERROR: (with_objects, to("M", "A*B")),
    Reason.PERSISTENT_NOT_ALLOWED: (with_temporary, put(persistence=1)),
    Reason.QUEUE_DELETED: (with_deleted, c.Put(2, [MessageData()])),
    Reason.GET_INHIBITED: (inhibited, c.Get(1)),
    Reason.PUT_INHIBITED: (inhibited, put()),
    Reason.MESSAGE_TOO_LONG: (as_it_is, put(body=bytes(101))),
    Reason.UNIT_TOO_LARGE: (as_it_is, c.Put(1, [MessageData(), MessageData()], FIRST_UNIT)),
    Reason.BACKED_OUT: (as_it_is, c.Commit(bytes(24))),
    Reason.HANDLE_NOT_OPEN: (as_it_is, c.Close(7)),
    Reason.HANDLE_IN_USE: (as_it_is, c.Open(1, "Q", c.INPUT)),
    Reason.NOT_OPEN_FOR_INPUT: (with_mode(c.OUTPUT), c.Get(1)),
    Reason.NOT_OPEN_FOR_OUTPUT: (with_mode(c.INPUT), put()),
    Reason.NOT_OPEN_FOR_BROWSE: (with_mode(c.INPUT), c.Browse(1)),
    Reason.NOT_OPEN_FOR_SET: (with_mode(c.INPUT), c.SetAttributes(1, {})),
    Reason.NOT_OPEN_FOR_SET_ALL: (with_mode(c.OUTPUT), setting(c.SET_CONTEXT)),
    Reason.NOT_OPEN_FOR_SET_IDENTITY: (with_mode(c.OUTPUT), setting(c.SET_IDENTITY)),
    Reason.NOT_OPEN_FOR_PASS_ALL: (with_mode(c.OUTPUT), setting(c.PASS_CONTEXT)),
    Reason.NOT_OPEN_FOR_PASS_IDENTITY: (with_mode(c.OUTPUT), setting(c.PASS_IDENTITY)),
    Reason.CONTEXT_HANDLE_ERROR: (as_it_is, setting(c.PASS_CONTEXT)),
    Reason.CONTEXT_NOT_AVAILABLE: (
        with_mode(c.INPUT | c.OUTPUT | c.SAVE_CONTEXT | c.PASS_CONTEXT),
        setting(c.PASS_CONTEXT, 1),
    ),
    Reason.AUTHORITY_MISSING: (with_authorities, c.DefineQueue("SECOND")),
    Reason.PRIORITY_ERROR: (as_it_is, put(priority=-2)),
    Reason.PERSISTENCE_ERROR: (as_it_is, put(persistence=2)),
    Reason.EXPIRY_ERROR: (as_it_is, put(expiry_ms=0)),
    Reason.IDENTIFIER_ERROR: (as_it_is, put(message_id=b"short")),
    Reason.GROUP_NUMBER_ERROR: (as_it_is, put(group_seq=0)),
    Reason.OPTIONS_ERROR: (as_it_is, c.Put(1, [])),
    Reason.NAME_ERROR: (as_it_is, c.DefineQueue("no name")),
    Reason.ATTRIBUTE_ERROR: (as_it_is, c.AlterQueue("Q", {"colour": 1})),
    Reason.WAIT_INTERVAL_ERROR: (as_it_is, c.Get(1, wait_ms=-2)),
    Reason.LIMIT_REACHED: (as_it_is, c.DefineQueue("SECOND")),
    Reason.OUTCOME_UNKNOWN: (as_it_is, c.SessionResume(b"?" * 16, [], 0)),
    Reason.OUT_OF_ORDER: (as_it_is, c.SessionOpen(b"another session!")),
    Reason.PROPERTY_ERROR: (as_it_is, put(properties={"": 1})),
    Reason.MESSAGE_TYPE_ERROR: (as_it_is, put(message_type=3)),
    Reason.MESSAGE_FLAGS_ERROR: (as_it_is, detailed(flags=32)),
    Reason.OFFSET_ERROR: (as_it_is, detailed(offset=-1)),
    Reason.SEGMENT_EMPTY: (as_it_is, detailed(flags=SEGMENT)),
    Reason.MISSING_REPLY_TO: (as_it_is, put(report=CONFIRM_ON_ARRIVAL)),
    Reason.SELECTOR_SYNTAX_ERROR: (as_it_is, c.Open(2, "Q", c.INPUT, selection="a =")),
    Reason.SELECTION_TOO_LONG: (as_it_is, c.Open(2, "Q", c.INPUT, selection="a" * 10_241)),
    Reason.NO_MESSAGE_UNDER_CURSOR: (as_it_is, c.Get(1, options=c.UNDER_CURSOR)),
    Reason.INVALID_MESSAGE_UNDER_CURSOR: (
        on_segment,
        c.Get(1, options=c.UNDER_CURSOR | c.COMPLETE),
    ),
    Reason.NO_MESSAGE_LOCKED: (as_it_is, c.Browse(1, options=c.UNLOCK)),
    Reason.INCOMPLETE_GROUP: (within(IN_GROUP), in_order(0)),
    Reason.GROUP_POSITION_LOST: (as_it_is, c.Get(1, options=c.LOGICAL_ORDER | c.CONTINUES)),
    Reason.MATCH_OPTIONS_ERROR: (in_a_group, c.Get(1, message_id=CLAIM, options=c.LOGICAL_ORDER)),
    Reason.INCOMPLETE_MESSAGE: (within(SEGMENT), in_order(0)),
    Reason.INCONSISTENT_PERSISTENCE: (within(IN_GROUP), in_order(persistence=0)),
    Reason.INCONSISTENT_UNIT: (within(IN_GROUP), in_order(unit=FIRST_UNIT)),
    Reason.CONNECTION_NOT_FOUND: (as_it_is, c.EndConnection(77)),
    Reason.TOPIC_STRING_ERROR: (with_topics, c.OpenTopic(9, "")),
    Reason.TOPIC_NOT_ALTERABLE: (with_topics, c.AlterObject(SUB, "S", {"topic_string": "b"})),
    Reason.DURABILITY_NOT_ALTERABLE: (
        with_one_that_is_closed,
        c.Subscribe(9, name="S", options=c.ALTER),
    ),
    Reason.LEVEL_NOT_ALTERABLE: (
        with_one_that_is_closed,
        c.Subscribe(9, name="S", options=c.ALTER | c.DURABLE, level=2),
    ),
    Reason.SELECTOR_NOT_ALTERABLE: (
        with_one_that_is_closed,
        c.Subscribe(9, name="S", options=c.ALTER | c.DURABLE, selection="a = 1"),
    ),
    Reason.DESTINATION_CLASS_NOT_ALTERABLE: (
        with_one_that_is_closed,
        c.Subscribe(9, name="S", options=c.ALTER | c.DURABLE | c.MANAGED),
    ),
    Reason.PUBLICATION_FAILED: (with_topics, c.Put(2, [MessageData(persistence=1)])),
    Reason.SUBSCRIPTION_NOT_FOUND: (with_topics, c.Subscribe(9, name="T", options=c.RESUME)),
    Reason.SUBSCRIPTION_IN_USE: (with_topics, c.Subscribe(9, name="S", options=c.RESUME)),
    Reason.SUBSCRIPTION_EXISTS: (with_topics, c.Subscribe(9, "a", name="S")),
    Reason.SUBSCRIPTION_NAME_ERROR: (with_topics, c.Subscribe(9, options=c.DURABLE | c.CREATE)),
    Reason.SUBSCRIBE_INHIBITED: (with_topics, c.Subscribe(9, "no")),
    Reason.DURABILITY_NOT_ALLOWED: (
        with_topics,
        c.Subscribe(9, "soft", name="T", options=c.DURABLE | c.CREATE),
    ),
    Reason.RETAINED_QUEUE_ERROR: (
        with_topics,
        c.Put(2, [MessageData(persistence=0)], options=c.RETAIN),
    ),
    Reason.NO_RETAINED_MESSAGE: (with_topics, c.SubscriptionRequest(3)),
    Reason.CONSUMER_NOT_FOUND: (as_it_is, c.DeleteConsumer("Q", "C")),
    Reason.CONSUMER_IN_USE: (consuming, c.OpenConsumer(3, "Q", "C", 1_000)),
    Reason.CLAIM_LOST: (consuming, c.ReadBatches(2, b"", 0, 0)),
    Reason.BATCH_NOT_FOUND: (consuming, c.ReadBatches(2, CLAIM, 0, 1)),
    Reason.TRANSACTION_USAGE: (with_msmq, m.MsmqReceive(2, peek=True, single=True)),
    Reason.MESSAGE_NOT_FOUND: (with_msmq, m.MsmqReceive(2, start=m.CURRENT, lookup_id=5)),
    Reason.MESSAGE_ALREADY_RECEIVED: (with_msmq, m.MsmqReceive(2, start=m.CURRENT, cursor=1)),
    Reason.ILLEGAL_CURSOR_ACTION: (with_msmq, m.MsmqReceive(2, peek=True, start=m.NEXT, cursor=2)),
    Reason.SHARING_VIOLATION: (with_msmq, m.MsmqOpen(3, PATH, m.RECEIVE_ACCESS)),
    Reason.ILLEGAL_QUEUE_PATH: (with_msmq, m.MsmqCreate("no path")),
    Reason.UNSUPPORTED_FORMAT_NAME: (with_msmq, m.MsmqOpen(3, "DL=1", m.SEND_ACCESS)),
    Reason.UNSUPPORTED_ACCESS_MODE: (with_msmq, m.MsmqOpen(3, PATH, 0)),
    Reason.MESSAGE_LOCKED: (
        with_msmq,
        m.MsmqReceive(2, start=m.CURRENT, lookup_id=lookup_id_of((0, 1, 0))),
    ),
    Reason.ACCESS_DENIED: (with_msmq, m.MsmqMove(2, 2, 0)),
    Reason.LABEL_TOO_LONG: (with_msmq, sent_to_msmq("a" * 250)),
    Reason.CONVERSATION_NOT_FOUND: (with_dialog, b.BrokerEnd(FIRST_DIALOG_UNIT, b"?" * 16)),
    Reason.CONVERSATION_STATE_ERROR: (
        with_dialog,
        b.BrokerSend(FIRST_DIALOG_UNIT, [DIALOG], lock_ms=0),
    ),
    Reason.QUEUE_DISABLED: (with_dialog, b.BrokerReceive(FIRST_DIALOG_UNIT, "OFF")),
    Reason.LOCK_TIMEOUT: (
        with_dialog,
        b.BrokerReceive(SECOND_DIALOG_UNIT, "ON", group=GROUP, lock_ms=0),
    ),
    Reason.DEADLOCK_VICTIM: (with_locks, b.BrokerReceive(FIRST_DIALOG_UNIT, "ON", group=b"2" * 16)),
    Reason.OBJECT_IN_USE: (with_dialog, b.BrokerDrop("queue", "ON")),
    Reason.COMPUTER_NOT_REACHABLE: (with_msmq, m.MsmqCreate("OTHER\\private$\\orders")),
}


def from_frames(data: bytes) -> Reason:
    """Why a connection is closed that begins with these bytes."""
    goodbye = ServerSession("QM1").receive(data).goodbye
    assert goodbye is not None
    return Reason(goodbye.reason)


def from_a_listener_without_owner(*, is_standby: bool = False) -> Reason:
    async def admitted() -> Refused | None:
        connections = ClientConnections("QM1", AuditTrail())
        connections.is_standby = lambda: is_standby
        return connections.admit(Mock(ServedClient), Party())

    refused = asyncio.run(admitted())
    assert refused is not None
    return Reason(refused.reason)


def from_a_server_that_stops() -> Reason:
    with testing.queue_manager() as manager:
        host, port = manager.address.split(":")
        with socket.create_connection((host, int(port)), 10) as sock:
            sock.sendall(codec.encode(frames.Hello(version=frames.PROTOCOL_VERSION)))
            buffer, received = codec.FrameBuffer(), []
            received += buffer.feed(sock.recv(65_536))
            manager.stop()
            while data := sock.recv(65_536):
                received += buffer.feed(data)
    goodbye = codec.decode_server_frame(received[-1])
    assert isinstance(goodbye, frames.Goodbye)
    return Reason(goodbye.reason.reason)


def from_an_operator() -> Reason:
    with testing.queue_manager() as manager:
        host, port = manager.address.split(":")
        with (
            manager.connect() as qm,
            socket.create_connection((host, int(port)), 10) as sock,
        ):
            sock.sendall(codec.encode(frames.Hello(version=frames.PROTOCOL_VERSION)))
            buffer, received = codec.FrameBuffer(), []
            received += buffer.feed(sock.recv(65_536))
            welcome = codec.decode_server_frame(received[0])
            assert isinstance(welcome, frames.Welcome)
            qm.end_connection(welcome.connection)
            while data := sock.recv(65_536):
                received += buffer.feed(data)
    goodbye = codec.decode_server_frame(received[-1])
    assert isinstance(goodbye, frames.Goodbye)
    return Reason(goodbye.reason.reason)


def from_a_server_that_quiesces() -> Reason:
    with testing.queue_manager() as manager, manager.connect() as qm:
        qm.define_queue("Q")
        stop = threading.Thread(target=lambda: manager.stop(quiesce_s=30))
        with qm.unit():
            qm.put("Q", "a")
            stop.start()
            while manager.statistics()["state"] == "running":
                time.sleep(0.005)
            with pytest.raises(QueueManagerQuiescing) as refused:
                manager.connect()
        stop.join()
    cases = [reason for reason, case in REFUSALS.items() if case.error is refused.type]
    return cases[0]


def from_an_admission() -> Reason:
    """Why a client is not let in whose password cannot be checked against any file."""

    class Nobody(Credentials):
        def __init__(self) -> None:
            """There is no file."""

    told: list[Principal | Refused] = []
    Admission(Nobody()).ask("", Claim(user="ada"), told.append)
    (refused,) = told
    assert isinstance(refused, Refused)
    return Reason(refused.reason)


def from_a_closed_handle() -> Reason:
    client = with_msmq(client_on())
    waiting = client.send(m.MsmqReceive(2, wait_ms=-1))
    client.do(c.Close(2))
    refused = client.answer(waiting)
    assert isinstance(refused, Refused)
    return Reason(refused.reason)


def from_a_step_that_failed_before() -> Reason:
    client = client_on()
    again = c.Request(client.number, 99, 0, c.Inquire("*"))
    client.core.take(client.core.give(inputs.FailedBefore(again, "it failed twice")))
    refused = client.answer(99)
    assert isinstance(refused, Refused)
    return Reason(refused.reason)


ELSEWHERE: dict[Reason, Callable[[], Reason]] = {
    Reason.MALFORMED_REQUEST: lambda: from_frames(b"\0\0\0\1?"),
    Reason.PROTOCOL_VERSION_ERROR: lambda: from_frames(codec.encode(frames.Hello(version=9))),
    Reason.QUEUE_MANAGER_NAME_ERROR: lambda: from_frames(
        codec.encode(frames.Hello(version=frames.PROTOCOL_VERSION, queue_manager="OTHER"))
    ),
    Reason.QUEUE_MANAGER_NOT_AVAILABLE: from_a_listener_without_owner,
    Reason.STANDBY_QUEUE_MANAGER: partial(from_a_listener_without_owner, is_standby=True),
    Reason.QUEUE_MANAGER_STOPPING: from_a_server_that_stops,
    Reason.CONNECTION_ENDED: from_an_operator,
    Reason.QUEUE_MANAGER_QUIESCING: from_a_server_that_quiesces,
    Reason.NOT_AUTHORIZED: from_an_admission,
    Reason.OPERATION_CANCELLED: from_a_closed_handle,
    Reason.UNEXPECTED_ERROR: from_a_step_that_failed_before,
}


def test_every_reason_has_its_place() -> None:
    places = [*IN_CORE, *ELSEWHERE, *NOT_YET, *WARNINGS]
    assert sorted(places) == sorted(Reason), "each in one table"


@pytest.mark.parametrize("reason", IN_CORE)
def test_core_gives(reason: Reason) -> None:
    prepare, command = IN_CORE[reason]
    limits = Limits(queues=1, unit_messages=1)
    client = prepare(client_on(max_message_length=100, max_depth=2, limits=limits))
    client.begin()
    assert client.refused(command) is reason


@pytest.mark.parametrize("reason", WARNINGS)
def test_core_warns(reason: Reason) -> None:
    client = client_on()
    client.put("a")
    client.define("SMALL", max_depth=0)
    client.define("SYSTEM.RETAINED.PUB.QUEUE")
    client.do(c.OpenTopic(2, "retained"))
    if reason is Reason.RETAINED_NOT_DELIVERED:
        client.do(c.Put(2, [MessageData()], options=c.RETAIN))
    answer = client.do(WARNINGS[reason])
    assert isinstance(answer, (PutDone, Messages, Subscribed))
    assert answer.warning == reason


@pytest.mark.parametrize("reason", ELSEWHERE)
def test_the_connection_gives(reason: Reason) -> None:
    assert ELSEWHERE[reason]() is reason


def test_numbers_never_change_their_meaning() -> None:
    """They are part of the protocol."""
    assert (Reason.QUEUE_NOT_FOUND, Reason.BACKED_OUT, Reason.OUT_OF_ORDER) == (1, 10, 28)
    assert [int(reason) for reason in Reason] == list(range(1, len(Reason) + 1))


def test_a_refusal_says_what_it_is_about() -> None:
    refusal = Refusal(Reason.QUEUE_FULL, "Q", "max_depth is 5")
    assert (refusal.reason, refusal.name, refusal.detail) == (
        Reason.QUEUE_FULL,
        "Q",
        "max_depth is 5",
    )
