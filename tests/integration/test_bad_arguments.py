"""Every argument that the SDK would refuse by itself, sent to a server that must refuse it too.

Nothing is changed by a refusal, the text names the object, and the connection goes on.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

import adapter
from adapter.core.contract import commands as c
from adapter.core.contract.message import MessageData
from adapter.core.contract.reasons import Reason
from tests.support.raw_client import RawClient, Refusal
from tests.support.server_process import ServerProcess
from tests.support.shared_kafka import AnyKafka

QUEUE, SHORT, FULL, CLOSED, HELD = "Q", "SHORT", "FULL", "CLOSED", "HELD"
ALL_MODES = c.INPUT | c.OUTPUT | c.BROWSE | c.INQUIRE | c.SET | c.SET_CONTEXT
HANDLES = {QUEUE: 1, SHORT: 2, FULL: 3, CLOSED: 4}
UNIT = 1


@pytest.fixture(scope="module")
def server(
    kafka: AnyKafka, run_numbers: Iterator[int], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServerProcess]:
    folder: Path = tmp_path_factory.mktemp("server")
    name = f"ARGUMENTS{next(run_numbers)}"
    with ServerProcess(name, kafka.bootstrap_servers, folder) as process:
        process.start()
        with adapter.connect(process.address) as qm:
            qm.define_queue(QUEUE)
            qm.define_queue(SHORT, max_message_length=10)
            qm.define_queue(FULL, max_depth=1)
            qm.put(FULL, "the only one")
            qm.define_queue(CLOSED, inhibit_put=True, inhibit_get=True)
            qm.define_queue(HELD)
            with qm.queue(HELD, open_for="input_exclusive"):
                yield process
            depths = {status.name: status.current_depth for status in qm.queue_status()}
        assert depths == {QUEUE: 0, SHORT: 0, FULL: 1, CLOSED: 0, HELD: 0}
        assert "Traceback" not in process.said()


class Asker:
    """A client with every queue open, a session and a unit."""

    def __init__(self, client: RawClient, session: bytes) -> None:
        client.hello()
        client.open_session(session)
        for name, handle in HANDLES.items():
            client.ask(c.Open(handle, name, ALL_MODES))
        self.unit = session + UNIT.to_bytes(8, "big")
        client.ask(c.Begin(self.unit))
        self._client = client
        self._number = 0

    def refused(self, command: Any, durable: bool) -> Refusal:
        """Ask something that is refused; why."""
        self._number += durable
        return self._client.refused(command, number=self._number if durable else 0)


@pytest.fixture(scope="module")
def asker(server: ServerProcess) -> Iterator[Asker]:
    with RawClient(server.address) as client:
        yield Asker(client, b"the only session")


BAD_MESSAGES: list[tuple[dict[str, Any], Reason, str]] = [
    ({"priority": -2}, Reason.PRIORITY_ERROR, "-2 is not 0 to 9"),
    ({"persistence": 2}, Reason.PERSISTENCE_ERROR, "2"),
    ({"expiry_ms": 0}, Reason.EXPIRY_ERROR, "0 ms"),
    ({"expiry_ms": -2}, Reason.EXPIRY_ERROR, "-2 ms"),
    ({"expiry_ms": 2**62}, Reason.EXPIRY_ERROR, "ms"),
    ({"message_id": b"short"}, Reason.IDENTIFIER_ERROR, "message_id is not 24 bytes"),
    ({"correlation_id": b"x" * 25}, Reason.IDENTIFIER_ERROR, "correlation_id is not 24 bytes"),
    ({"group_id": b"x"}, Reason.IDENTIFIER_ERROR, "group_id is not 24 bytes"),
    ({"group_seq": 0}, Reason.GROUP_NUMBER_ERROR, "group_seq 0"),
    ({"group_seq": 10**9}, Reason.GROUP_NUMBER_ERROR, "group_seq 1000000000"),
    ({"message_type": 3}, Reason.MESSAGE_TYPE_ERROR, "message_type 3"),
    ({"message_type": 10**9}, Reason.MESSAGE_TYPE_ERROR, "message_type 1000000000"),
    ({"format": "x" * 9}, Reason.OPTIONS_ERROR, "format has more than 8 characters"),
    ({"reply_to": "x" * 49}, Reason.OPTIONS_ERROR, "reply_to has more than 48 characters"),
    ({"reply_to_queue_manager": "x" * 49}, Reason.OPTIONS_ERROR, "more than 48 characters"),
    ({"user": "x" * 65}, Reason.OPTIONS_ERROR, "user has more than 64 characters"),
    ({"application": "x" * 65}, Reason.OPTIONS_ERROR, "application has more than 64 characters"),
    ({"report": 2**31}, Reason.OPTIONS_ERROR, "report is not a 32-bit number"),
    ({"feedback": -(2**31) - 1}, Reason.OPTIONS_ERROR, "feedback is not a 32-bit number"),
    ({"encoding": 2**40}, Reason.OPTIONS_ERROR, "encoding is not a 32-bit number"),
    ({"ccsid": 2**40}, Reason.OPTIONS_ERROR, "ccsid is not a 32-bit number"),
    ({"properties": {"": 1}}, Reason.PROPERTY_ERROR, ""),
    ({"properties": {"a": []}}, Reason.PROPERTY_ERROR, "'a': list"),
    ({"properties": {"a": 2**63}}, Reason.PROPERTY_ERROR, "a is not a 64-bit number"),
    ({"properties": {str(n): 1 for n in range(257)}}, Reason.PROPERTY_ERROR, "more than 256"),
    ({"body": bytes(4 * 1024 * 1024 + 1)}, Reason.MESSAGE_TOO_LONG, "max_message_length is"),
]


@pytest.mark.parametrize("where", ["alone", "in a unit", "second in a unit"])
def test_messages(asker: Asker, where: str) -> None:
    for fields, reason, words in BAD_MESSAGES:
        bad = MessageData(**{"body": b"x", **fields})
        if where == "alone":
            put = c.Put(1, [bad], options=c.SET_CONTEXT)
        else:
            before = [MessageData(body=b"fine")] if where == "second in a unit" else []
            put = c.Put(1, [*before, bad], asker.unit, c.SET_CONTEXT)
        refused = asker.refused(put, durable=where == "alone")
        assert (refused.reason, refused.name) == (reason, QUEUE), fields
        assert words in refused.detail


def test_puts(asker: Asker) -> None:
    fine = MessageData(body=b"eleven byte")
    for command, durable, reason, name in (
        (c.Put(1, []), True, Reason.OPTIONS_ERROR, QUEUE),
        (c.Put(1, [], asker.unit), False, Reason.OPTIONS_ERROR, QUEUE),
        (c.Put(1, [fine, fine]), True, Reason.OPTIONS_ERROR, QUEUE),
        (c.Put(1, [fine] * 10_001, asker.unit), False, Reason.OPTIONS_ERROR, QUEUE),
        (c.Put(HANDLES[SHORT], [fine]), True, Reason.MESSAGE_TOO_LONG, SHORT),
        (c.Put(HANDLES[FULL], [fine]), True, Reason.QUEUE_FULL, FULL),
        (c.Put(HANDLES[FULL], [fine], asker.unit), False, Reason.QUEUE_FULL, FULL),
        (c.Put(HANDLES[CLOSED], [fine]), True, Reason.PUT_INHIBITED, CLOSED),
    ):
        refused = asker.refused(command, durable)
        assert (refused.reason, refused.name) == (reason, name), refused


def test_a_unit_that_is_too_large(asker: Asker) -> None:
    large, rest = MessageData(body=bytes(4 * 1024 * 1024)), MessageData(body=bytes(1024 * 1024))
    refused = asker.refused(c.Put(1, [large] * 25 + [rest], asker.unit), durable=False)
    assert (refused.reason, refused.detail) == (Reason.UNIT_TOO_LARGE, "105906176 bytes at most")


def test_gets(asker: Asker) -> None:
    for command, durable, reason in (
        (c.Get(1, wait_ms=-2), True, Reason.WAIT_INTERVAL_ERROR),
        (c.Get(1, wait_ms=2**31), True, Reason.WAIT_INTERVAL_ERROR),
        (c.Get(1, limit=2), True, Reason.OPTIONS_ERROR),
        (c.Get(1, asker.unit, limit=0), False, Reason.OPTIONS_ERROR),
        (c.Get(1, asker.unit, limit=10_001), False, Reason.OPTIONS_ERROR),
        (c.Get(1, message_id=b"short"), True, Reason.IDENTIFIER_ERROR),
        (c.Get(1, correlation_id=b"short"), True, Reason.IDENTIFIER_ERROR),
        (c.Get(1, group_id=b"x" * 25), True, Reason.IDENTIFIER_ERROR),
        (c.Get(HANDLES[CLOSED]), True, Reason.GET_INHIBITED),
        (c.Open(9, HELD, c.INPUT), False, Reason.QUEUE_IN_USE),
        (c.Open(9, QUEUE, c.EXCLUSIVE), False, Reason.QUEUE_IN_USE),
    ):
        assert asker.refused(command, durable).reason is reason, command


def test_queues(asker: Asker) -> None:
    for command, reason, words in (
        (c.DefineQueue(QUEUE), Reason.QUEUE_EXISTS, ""),
        (c.DefineQueue(""), Reason.NAME_ERROR, ""),
        (c.DefineQueue("no name"), Reason.NAME_ERROR, ""),
        (c.DefineQueue("x" * 49), Reason.NAME_ERROR, ""),
        (c.DefineQueue("NEW", {"colour": "red"}), Reason.ATTRIBUTE_ERROR, "no attribute 'colour'"),
        (c.DefineQueue("NEW", {"max_depth": "3"}), Reason.ATTRIBUTE_ERROR, "takes int, not '3'"),
        (c.AlterQueue(QUEUE, {"max_depth": -1}), Reason.ATTRIBUTE_ERROR, "takes 0 to 999999999"),
        (c.AlterQueue(QUEUE, {"share": 1}), Reason.ATTRIBUTE_ERROR, "share takes bool, not 1"),
        (
            c.AlterQueue(QUEUE, {"msg_delivery_sequence": "LIFO"}),
            Reason.ATTRIBUTE_ERROR,
            "takes one of PRIORITY, FIFO",
        ),
        (
            c.AlterQueue(QUEUE, {"description": "x" * 65}),
            Reason.ATTRIBUTE_ERROR,
            "at most 64 characters, not 65",
        ),
        (c.AlterQueue("NONE", {}), Reason.QUEUE_NOT_FOUND, ""),
        (c.DeleteQueue("NONE"), Reason.QUEUE_NOT_FOUND, ""),
        (c.DeleteQueue(QUEUE), Reason.QUEUE_IN_USE, "it is open"),
        (c.PurgeQueue("NONE"), Reason.QUEUE_NOT_FOUND, ""),
        (c.SetAttributes(1, {"max_depth": 1}), Reason.ATTRIBUTE_ERROR, "not changed by set"),
        (c.SetAttributes(99, {}), Reason.HANDLE_NOT_OPEN, "handle 99 is not open"),
    ):
        refused = asker.refused(command, durable=True)
        assert refused.reason is reason, command
        assert words in refused.detail
    refused = asker.refused(c.Inquire("*" * 97), durable=False)
    assert (refused.reason, refused.detail) == (
        Reason.NAME_ERROR,
        "a pattern has at most 96 characters",
    )
    assert len(msgspec.msgpack.encode(refused.name)) < 120
