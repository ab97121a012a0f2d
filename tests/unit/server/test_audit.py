"""Who did what is in the log: connections, administrative commands, starts and stops."""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from structlog.testing import LogCapture

import adapter
from adapter import addresses, testing
from adapter.administration.pcf import structures as pcf
from adapter.administration.pcf.command_server import COMMAND_QUEUE
from adapter.administration.status import COMMAND_SERVER
from adapter.core.contract import commands as c
from adapter.core.contract.replies import Reply
from adapter.core.contract.results import Done
from adapter.core.contract.traits import trait_of
from adapter.core.model.manager import QueueManager
from adapter.errors import Error
from adapter.owner.inquiries import Inquiries
from adapter.server import audit
from adapter.server.audit import AuditTrail
from adapter.testing import TestQueueManager
from tests.support.raw_client import RawClient


@pytest.fixture
def log() -> Iterator[LogCapture]:
    kept = LogCapture()
    level = structlog.make_filtering_bound_logger(logging.INFO)
    structlog.configure(processors=[kept], wrapper_class=level)
    yield kept
    structlog.reset_defaults()


@pytest.fixture
def manager(log: LogCapture) -> Iterator[TestQueueManager]:
    with testing.queue_manager() as one:
        yield one


def said(log: LogCapture, event: str = "administrative command") -> list[dict[str, Any]]:
    return [dict(one) for one in log.entries if one["event"] == event]


def test_who_did_what_with_what_outcome(manager: TestQueueManager, log: LogCapture) -> None:
    with adapter.connect(manager.address, user="ada", application="deployment") as qm:
        qm.define_queue("Q", max_depth=7)
        qm.put("Q", "1")
        qm.alter_queue("Q", inhibit_put=True)
        qm.alter_queue_manager(description="ours")
        qm.define_process("P", appl_id="worker")
        qm.queue("Q").purge()
        with pytest.raises(Error):
            qm.delete_queue("GONE")
        qm.delete_queue("Q")
    found = [(one["command"], one["object"], one["outcome"]) for one in said(log)]
    assert found == [
        ("define queue", "Q", "done"),
        ("alter queue", "Q", "done"),
        ("alter queue manager", manager.name, "done"),
        ("define process", "P", "done"),
        ("purge queue", "Q", "done"),
        ("delete queue", "GONE", "refused"),
        ("delete queue", "Q", "done"),
    ]
    first, refused = said(log)[0], said(log)[5]
    assert (first["user"], first["application"]) == ("ada", "deployment")
    assert first["address"].startswith("127.0.0.1:")
    assert first["attributes"] == {"max_depth": 7}
    assert refused["reason"] == "QUEUE_NOT_FOUND"


def test_a_connection_comes_and_goes(manager: TestQueueManager, log: LogCapture) -> None:
    log.entries.clear()
    manager.connect(user="ada", application="a").close()
    manager.connect(user="bob", application="b").disconnect(abrupt=True)
    manager.stop()
    who = [(one["event"], one.get("user")) for one in log.entries if "client" in one["event"]]
    assert sorted(who) == [
        ("client connected", "ada"), ("client connected", "bob"),
        ("client disconnected", "ada"), ("client disconnected", "bob"),
    ]  # fmt: skip
    events = [one["event"] for one in log.entries]
    assert events.index("stopping") < events.index("stopped")


def test_whoever_does_not_say_hello_is_no_client(
    manager: TestQueueManager, log: LogCapture
) -> None:
    with RawClient(manager.address) as one:
        one.send(b"GET / HTTP/1.1\r\n\r\n")
    manager.stop()
    assert not said(log, "client disconnected")


def test_what_was_not_answered_has_an_unknown_outcome(log: LogCapture) -> None:
    kept, core = AuditTrail(), QueueManager("QM1", b"owner")
    commands = {
        (5, 1): c.DeleteQueue("Q", purge=True),
        (6, 1): c.SetAttributes(9, {"inhibit_put": True}),
    }
    for at, command in commands.items():
        is_audited = trait_of(command).audit
        assert is_audited is not None
        kept.asked(is_audited, Inquiries(core), at, command, None)
    kept.gone(5)
    kept.answered([Reply(6, 2, Done()), Reply(6, 1, Done())])
    kept.gone(6)
    assert [(one["object"], one["outcome"]) for one in said(log)] == [
        ("Q", "unknown"), ("", "done"),
    ]  # fmt: skip
    assert said(log)[0]["purge"] is True
    assert audit.by(7, None)["user"] == ""


def test_a_command_of_a_message_is_done_for_the_user_of_its_context(
    manager: TestQueueManager, log: LogCapture
) -> None:
    with (
        manager.connect(user="ada", application="console") as qm,
        manager.connect(user="bob") as other,
    ):
        qm.define_queue("REPLIES")
        for who, name, context in ((qm, "A", {}), (other, "B", {}), (qm, "C", {"user": "carol"})):
            header = pcf.CommandHeader(type=pcf.COMMAND, command=11)
            body = pcf.encode(header, [pcf.String(2016, name), pcf.Integer(20, 1)])
            fields: Any = {"format": "MQADMIN", "reply_to": "REPLIES", **context}
            who.put(COMMAND_QUEUE, body, **fields)
            reply = qm.get("REPLIES", timeout=20)
            assert reply is not None
            assert pcf.decode(reply.body).header.reason == 0
            assert reply.user == {"A": "ada", "B": "bob", "C": "carol"}[name]
    found = {one["object"]: (one["user"], one["proof"], one["application"]) for one in said(log)}
    assert found == {
        "REPLIES": ("ada", "none", "console"),
        "A": ("ada", "context", COMMAND_SERVER),
        "B": ("bob", "context", COMMAND_SERVER),
        "C": ("carol", "context", COMMAND_SERVER),
    }


def test_a_client_is_no_part_of_the_queue_manager_whatever_it_says(
    manager: TestQueueManager, log: LogCapture
) -> None:
    with RawClient(manager.address) as one, manager.connect() as qm:
        one.send_frame([1, 2, "", COMMAND_SERVER, "QM1", 1, "own", "own"])
        assert one.receive()[0] == 2
        one.open_session(b"s" * 16)
        one.ask(c.DefineQueue("Q"), number=1)
        (shown,) = [found for found in qm.connections() if found.application == COMMAND_SERVER]
        assert (shown.proof, shown.is_own) == ("none", False)
    assert [found["proof"] for found in said(log)] == ["none"]


def test_attributes_that_are_set_by_a_handle_name_its_queue(
    manager: TestQueueManager, log: LogCapture
) -> None:
    with RawClient(manager.address) as one, manager.connect() as qm:
        qm.define_queue("Q")
        one.hello(user="ada")
        one.open_session(b"s" * 16)
        one.ask(c.Open(1, "Q", c.SET))
        one.ask(c.SetAttributes(1, {"inhibit_put": True}), number=1)
    (found,) = [one for one in said(log) if one["command"] == "set attributes of queue"]
    assert (found["object"], found["user"], found["outcome"]) == ("Q", "ada", "done")


def test_finding_users_section_5_connections_of_commands_are_logged_at_debug(
    log: LogCapture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of an operator's: any program can call itself so, and none can hide itself."""
    with testing.queue_manager(unix_path=tmp_path / "s") as manager:
        log.entries.clear()
        adapter.connect(f"unix:{tmp_path}/s", application="mqk put").close()
        adapter.connect(f"unix:{tmp_path}/s", application="shop").close()
        adapter.connect(manager.address, application="mqk get").close()
        monkeypatch.setattr(addresses, "peer_of", lambda _: addresses.Peer("unix", uid=65_534))
        adapter.connect(f"unix:{tmp_path}/s", application="mqk browse").close()
    clients = [one for one in log.entries if "client" in one["event"]]
    assert {one["log_level"] for one in clients} == {"info"}  # the least that is logged
    assert {one["application"] for one in clients} == {"shop", "mqk get", "mqk browse"}
