"""The command queue served: requests put to it, replies got from the queue that they name."""

import struct
import threading
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

import adapter
from adapter import testing
from adapter.administration.pcf import command_server
from adapter.administration.pcf.command_server import COMMAND_QUEUE, CommandServer, replies_to
from adapter.administration.pcf.commands import Commands
from adapter.administration.pcf.structures import (
    COMMAND_XR,
    LAST,
    CommandHeader,
    CommandRequest,
    Integer,
    Parameter,
    String,
    decode,
    encode,
)
from adapter.administration.status import COMMAND_SERVER
from adapter.character_sets import Order
from adapter.client.connection import connect_in_process
from adapter.connection.channel.requests import Pending
from adapter.core.contract import commands as c
from adapter.core.contract.parties import Principal, Proof
from adapter.core.contract.results import Opened
from adapter.testing import TestQueueManager

TIMEOUT_S = 20.0
PING = 40


def request(command: int, *parameters: Parameter, order: Order = "<") -> bytes:
    return encode(CommandHeader(type=COMMAND_XR, version=3, command=command), parameters, order)


def replies(
    qm: adapter.Connection, body: bytes, to: str = "REPLIES", **fields: Any
) -> list[adapter.Message]:
    """Put a request and get its replies, up to the last."""
    given: Any = {
        "reply_to": to,
        "format": "MQADMIN ",
        "message_type": 1,
        "persistent": False,
    } | fields
    put = qm.put(COMMAND_QUEUE, body, **given)
    found: list[adapter.Message] = []
    while not found or decode(found[-1].body).header.control != LAST:
        reply = qm.get(to, timeout=TIMEOUT_S, correlation_id=put.message_id)
        assert reply is not None, "no reply came"
        found.append(reply)
    return found


def taken_apart(messages: list[adapter.Message]) -> list[CommandRequest]:
    return [decode(one.body) for one in messages]


@pytest.fixture(scope="module", autouse=True)
def reply_queue(qm: adapter.Connection) -> None:
    qm.define_queue("REPLIES")


def test_a_reply_says_what_it_answers(qm: adapter.Connection) -> None:
    (reply,) = replies(qm, request(PING), priority=3)
    assert (reply.format.strip(), reply.message_type) == ("MQADMIN", 2)
    assert (reply.persistent, reply.priority) == (False, 3)
    assert (reply.encoding, reply.ccsid) == (546, 1208)
    header = decode(reply.body).header
    assert (header.type, header.command, header.comp_code) == (2, PING, 0)


def test_it_says_that_it_runs(qm: adapter.Connection) -> None:
    (reply,) = taken_apart(replies(qm, request(161)))
    assert Integer(1233, 2) in reply.parameters


def test_replies_go_to_the_queue_manager_that_the_request_names(qm: adapter.Connection) -> None:
    qm.define_queue("TO.QM2", usage="XMITQ")
    qm.define_object("remote", "QM2", remote_queue_manager="QM2", transmission_queue="TO.QM2")
    body = request(13, String(2016, "SYSTEM.*"))
    there = replies(qm, body)
    fields: Any = {"reply_to": "REPLIES", "format": "MQADMIN", "message_type": 1}
    qm.put(COMMAND_QUEUE, body, reply_to_queue_manager="QM2", **fields)
    sent = [qm.get("TO.QM2", timeout=TIMEOUT_S) for _ in there]
    assert len(there) > 5
    for mine, one in zip(there, sent, strict=True):
        assert one is not None
        assert one.body.endswith(mine.body)


@pytest.mark.parametrize("kept", [0, 3])
def test_replies_that_are_not_taken_are_dead_letters(kept: int) -> None:
    """Whatever stands in their way: there is no such queue, or it is full."""
    with testing.queue_manager() as manager, manager.connect() as qm:
        qm.define_queue("DEAD")
        if kept:
            qm.define_queue("REPLIES", max_depth=kept)
        qm.alter_queue_manager(dead_letter_queue="DEAD")
        fields: Any = {"reply_to": "REPLIES", "format": "MQADMIN", "message_type": 1}
        qm.put(COMMAND_QUEUE, request(13, String(2016, "SYSTEM.*")), **fields)
        found: list[adapter.Message] = []
        while not found or decode(found[-1].body).header.control != LAST:
            one = qm.get("DEAD", timeout=TIMEOUT_S)
            assert one is not None
            found.append(one)
        assert {one.dead_letter.reason for one in found if one.dead_letter} == {
            2053 if kept else 2085
        }
        assert {one.dead_letter.destination for one in found if one.dead_letter} == {"REPLIES"}
        assert manager.statistics()["commands_unanswerable"] == 1


@pytest.mark.parametrize("where", ["", "QM1"])
@pytest.mark.parametrize("kind", ["TEMPDYN", "PERMDYN"])
def test_replies_to_a_model_queue_are_dead_letters(kind: str, where: str) -> None:
    """Nobody knows the queue that it would make: it is for those who open it."""
    with testing.queue_manager("QM1") as manager, manager.connect() as qm:
        qm.define_queue("DEAD")
        qm.alter_queue_manager(dead_letter_queue="DEAD")
        qm.define_object("model", "MODEL", definition_type=kind)
        there = [one.name for one in qm.queues(system=True)]
        fields: Any = {"reply_to": "MODEL", "format": "MQADMIN", "message_type": 1}
        qm.put(COMMAND_QUEUE, request(PING), reply_to_queue_manager=where, **fields)
        one = qm.get("DEAD", timeout=TIMEOUT_S)
        assert one is not None
        assert one.dead_letter is not None
        assert (one.dead_letter.reason, one.dead_letter.destination) == (2045, "MODEL")
        assert [one.name for one in qm.queues(system=True)] == there


def test_replies_go_to_the_own_queue_manager_by_its_name(qm: adapter.Connection) -> None:
    (reply,) = replies(qm, request(PING), reply_to_queue_manager=qm.name)
    assert decode(reply.body).header.comp_code == 0


def test_one_reply_an_object_and_the_last_is_marked(qm: adapter.Connection) -> None:
    found = taken_apart(replies(qm, request(13, String(2016, "SYSTEM.*"))))
    assert len(found) > 5
    assert [one.header.sequence for one in found] == list(range(1, len(found) + 1))


def test_a_reply_is_in_the_byte_order_of_its_request(qm: adapter.Connection) -> None:
    (reply,) = replies(qm, request(PING, order=">"))
    assert reply.encoding == 273
    assert struct.unpack_from(">i", reply.body, 4) == (36,)


def test_report_options_say_which_ids_a_reply_has(qm: adapter.Connection) -> None:
    own = b"C" * 24
    put = qm.put(
        COMMAND_QUEUE,
        request(PING),
        message_type=1,
        reply_to="REPLIES",
        format="MQADMIN",
        correlation_id=own,
        report=64 + 128,
    )
    reply = qm.get("REPLIES", timeout=TIMEOUT_S, correlation_id=own)
    assert reply is not None
    assert reply.message_id == put.message_id


@pytest.mark.parametrize("text", ["END", "* a comment", "", " ", ";"])
def test_what_has_nothing_to_say_is_answered_too(qm: adapter.Connection, text: str) -> None:
    body = request(38, Integer(1017, 1), String(3014, text))
    (reply,) = taken_apart(replies(qm, body))
    assert (reply.header.comp_code, reply.header.sequence, reply.parameters) == (0, 1, [])


def test_no_command_is_left_without_an_answer(
    qm: adapter.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Commands, "execute", lambda *_: [])
    (reply,) = taken_apart(replies(qm, request(PING)))
    assert (reply.header.reason, reply.parameters) == (0, [])


@pytest.mark.parametrize(
    ("body", "fields", "reason"),
    [
        (b"", {}, 3016),
        (b"no pcf at all, but long enough to have a header", {}, 3002),
        (request(9999), {}, 3007),
        (request(PING), {"format": "MQSTR"}, 3023),
        (encode(CommandHeader(type=2, command=PING), []), {}, 3001),
        (request(13, Integer(2016, 1)), {}, 3013),
    ],
)
def test_what_is_no_command_is_answered_with_a_reason(
    qm: adapter.Connection, body: bytes, fields: dict[str, Any], reason: int
) -> None:
    what, summary = taken_apart(replies(qm, body, **fields))
    assert (what.header.reason, summary.header.reason) == (reason, 3008)


def test_a_temporary_queue_gets_replies_that_are_not_persistent(qm: adapter.Connection) -> None:
    channel, model = qm._channel, "SYSTEM.DEFAULT.MODEL.QUEUE"
    handle = channel.new_handle(model, c.INPUT)
    opening = Pending(c.Open(handle.number, model, c.INPUT, "TEMPORARY.*"), handle=handle)
    channel.ask([opening])
    assert isinstance(opening.answer, Opened)
    assert replies(qm, request(PING), persistent=True)[0].persistent
    (reply,) = replies(qm, request(PING), to=opening.answer.queue, persistent=True)
    assert not reply.persistent


def test_requests_without_an_answer_are_passed_over(
    qm: adapter.Connection, manager: TestQueueManager
) -> None:
    before = manager.statistics()["commands_unanswerable"]
    qm.put(COMMAND_QUEUE, request(PING), format="MQADMIN")
    fields: Any = {"format": "MQADMIN", "message_type": 1}
    qm.put(COMMAND_QUEUE, request(PING), reply_to="NO.SUCH.QUEUE", **fields)
    replies(qm, request(PING))
    assert manager.statistics()["commands_unanswerable"] == before + 2


@pytest.mark.parametrize("message_type", [2, 4, 8, 65_536])
def test_what_is_no_request_is_never_done(message_type: int) -> None:
    """A report with the data of a message would be done in the name of the user of its context."""
    with adapter.testing.queue_manager("QM1") as other, other.connect() as qm:
        qm.define_queue("REPLIES")
        qm.define_queue("DEAD")
        qm.alter_queue_manager(dead_letter_queue="DEAD")
        define = request(11, String(2016, "MADE"), Integer(20, 1))
        fields: Any = {"reply_to": "REPLIES", "format": "MQADMIN"}
        qm.put(COMMAND_QUEUE, define, message_type=message_type, **fields)
        letter = qm.get("DEAD", timeout=TIMEOUT_S)
        assert letter is not None
        assert letter.dead_letter is not None
        assert (letter.dead_letter.reason, letter.body) == (2029, define)
        assert letter.dead_letter.destination == COMMAND_QUEUE
        replies(qm, request(PING))
        assert not qm.queues("MADE")


def test_a_restart_serves_again_and_requests_that_wait_are_answered() -> None:
    with adapter.testing.queue_manager("QM1") as other, other.connect() as qm:
        qm.define_queue("REPLIES")
        assert not [one for one in qm.connections() if one.application == COMMAND_SERVER]
        replies(qm, request(PING))
        assert [one for one in qm.connections() if one.application == COMMAND_SERVER]
        other.crash()
        other.start()
        replies(qm, request(PING))
        qm.alter_queue(COMMAND_QUEUE, inhibit_get=True)
        put = qm.put(
            COMMAND_QUEUE,
            request(PING),
            message_type=1,
            reply_to="REPLIES",
            format="MQADMIN",
            persistent=True,
        )
        other.restart()
        qm.alter_queue(COMMAND_QUEUE, inhibit_get=False)
        assert qm.get("REPLIES", timeout=TIMEOUT_S, correlation_id=put.message_id)


def test_a_command_that_is_being_done_is_answered_before_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def slowly(commands: Commands, asked: adapter.Message) -> tuple[list[bytes], int]:
        begun.set()
        go_on.wait(TIMEOUT_S)
        return replies_to(commands, asked)

    monkeypatch.setattr(command_server, "replies_to", slowly)
    with adapter.testing.queue_manager("QM1") as other, other.connect() as qm:
        qm.define_queue("REPLIES")
        fields: Any = {"reply_to": "REPLIES", "format": "MQADMIN", "persistent": True}
        fields["message_type"] = 1
        put = qm.put(COMMAND_QUEUE, request(PING), **fields)
        assert begun.wait(TIMEOUT_S)
        served = other._running()._commands._served
        assert isinstance(served, CommandServer)
        stopping = threading.Thread(target=other.stop)
        stopping.start()
        assert served._stopping.wait(TIMEOUT_S)
        go_on.set()
        stopping.join(TIMEOUT_S)
        other.start()
        assert qm.get("REPLIES", timeout=TIMEOUT_S, correlation_id=put.message_id)


def test_an_alias_of_the_command_queue_is_served_too() -> None:
    with adapter.testing.queue_manager("QM1") as other, other.connect() as qm:
        qm.define_queue("REPLIES")
        qm.define_object("alias", "COMMANDS", target=COMMAND_QUEUE)
        fields: Any = {"reply_to": "REPLIES", "format": "MQADMIN", "message_type": 1}
        put = qm.put("COMMANDS", request(PING), **fields)
        assert qm.get("REPLIES", timeout=TIMEOUT_S, correlation_id=put.message_id)


@pytest.fixture(name="checked")
def checked_fixture() -> Iterator[TestQueueManager]:
    with adapter.testing.queue_manager("QM1", authorities=True) as manager:
        with manager.connect() as operator:
            operator.define_queue("REPLIES")
            operator.set_authority(COMMAND_QUEUE, users=["bob"], add=["put", "setid"])
            operator.set_authority("", "qmgr", users=["bob"], add=["connect", "setid"])
        yield manager


def connect_as(manager: TestQueueManager, user: str) -> adapter.Connection:
    """Connect as a user who has proved who it is."""
    server, principal = manager._running(), Principal(user, Proof.PASSWORD)
    return connect_in_process(manager._loop, partial(server.accept, principal))


def answered(manager: TestQueueManager) -> tuple[int, int, int]:
    """How many requests were answered, how many were not, and how often the server began again."""
    served = manager._running()._commands._served
    assert isinstance(served, CommandServer)
    with served._busy:  # it counts a reply when it is put
        figures = manager.statistics()
    names = ("commands_answered", "commands_unanswerable", "command_server_troubles")
    return figures[names[0]], figures[names[1]], figures[names[2]]


@pytest.mark.parametrize("order", ["<", ">"])
def test_an_operator_is_told_that_the_user_of_its_context_may_not_connect(
    checked: TestQueueManager, order: Order
) -> None:
    with checked.connect() as operator:
        for user in ("root", "", "ghost", "x" * 64):
            found = replies(operator, request(PING, order=order), user=user)
            headers = [one.header for one in taken_apart(found)]
            assert [one.reason for one in headers] == [2035, 3008]
            assert {one.command for one in headers} == {PING}
            assert {one.encoding for one in found} == {546 if order == "<" else 273}
        operator.set_authority("", "qmgr", users=["ghost"], add=["connect", "dsp"])
        operator.set_authority("REPLIES", users=["ghost"], add=["put"])
        assert taken_apart(replies(operator, request(PING), user="ghost"))[0].header.reason == 0
    assert answered(checked) == (5, 0, 0)


def test_a_refusal_goes_only_where_who_put_the_request_may_put(checked: TestQueueManager) -> None:
    fields: Any = {"reply_to": "REPLIES", "format": "MQADMIN", "message_type": 1}
    with checked.connect() as operator, connect_as(checked, "bob") as bob:
        operator.set_authority("REPLIES", users=["ghost"], add=["put"])
        for user in ("ghost", "", "bob"):
            bob.put(COMMAND_QUEUE, request(PING), user=user, **fields)
        replies(operator, request(PING), user="other")
        assert answered(checked) == (1, 3, 0)
        operator.set_authority("REPLIES", users=["bob"], add=["put"])
        put = bob.put(COMMAND_QUEUE, request(PING), user="ghost", **fields)
        reply = operator.get("REPLIES", timeout=TIMEOUT_S, correlation_id=put.message_id)
        assert reply is not None
        assert decode(reply.body).header.reason == 2035


def test_who_has_proved_nothing_is_refused_by_the_rights_of_everyone(
    checked: TestQueueManager,
) -> None:
    fields: Any = {"reply_to": "REPLIES", "format": "MQADMIN", "message_type": 1}
    with checked.connect() as operator:
        for profile, kind, words in (
            ("", "qmgr", ["connect"]),
            (COMMAND_QUEUE, "queue", ["put"]),
        ):
            operator.set_authority(profile, kind, groups=["everyone"], add=words)
        server = checked._running()
        with connect_in_process(checked._loop, partial(server.accept, Principal())) as claims:
            operator.alter_queue(COMMAND_QUEUE, inhibit_get=True)
            put = [claims.put(COMMAND_QUEUE, request(PING), **fields) for _ in range(2)]
        operator.set_authority("", "qmgr", groups=["everyone"], remove=["connect"])
        operator.alter_queue(COMMAND_QUEUE, inhibit_get=False)
        replies(operator, request(PING))
        assert operator.get("REPLIES", correlation_id=put[0].message_id) is None
        assert answered(checked)[:2] == (1, 2)
