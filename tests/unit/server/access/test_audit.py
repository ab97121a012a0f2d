"""Who did what is in the log: connections, administrative commands, starts and stops."""

import asyncio
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from structlog.testing import LogCapture

import adapter
from adapter import msmq, servicebroker, testing
from adapter.administration.pcf import structures as pcf
from adapter.administration.pcf.command_server import COMMAND_QUEUE
from adapter.administration.status import COMMAND_SERVER
from adapter.connection.channel.tls import tls_context
from adapter.core.attributes.objects import QUEUE_MANAGER
from adapter.core.contract import audit as on_record
from adapter.core.contract import authorities as a
from adapter.core.contract import commands as c
from adapter.core.contract.audit import AuditNote
from adapter.core.contract.authorities import Denial
from adapter.core.contract.parties import Party, Principal, Proof
from adapter.core.contract.reasons import Reason
from adapter.core.contract.replies import Reply
from adapter.core.contract.results import Done, Refused
from adapter.core.contract.traits import trait_of
from adapter.core.model.manager import QueueManager
from adapter.errors import Error
from adapter.host import addresses
from adapter.runtime.owner.inquiries import Inquiries
from adapter.server.access import audit, credentials
from adapter.server.access.audit import AuditTrail
from adapter.testing import TestQueueManager
from tests.support.certificates import Authority
from tests.support.passwords import hash_cheaply
from tests.support.raw_client import RawClient

AT = ("before", "after", "rule")


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
            fields: Any = {"format": "MQADMIN", "reply_to": "REPLIES", "message_type": 1, **context}
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


class Recorded:
    """A queue manager in memory whose notes of the audit are kept."""

    def __init__(self, manager: TestQueueManager, monkeypatch: pytest.MonkeyPatch) -> None:
        self.manager = manager
        self.notes: list[AuditNote] = []
        trail = manager._running().connections.audit
        write = trail._write

        def keep(notes: list[AuditNote]) -> None:
            self.notes += notes
            write(notes)

        monkeypatch.setattr(trail, "_write", keep)

    def of(self, kind: str) -> list[tuple[str, dict[str, str]]]:
        """What is on record of a kind by now: names and details."""
        self.manager.statistics()  # the turn of the loop in which notes are written is over
        return [(one.name, one.details) for one in self.notes if one.kind == kind]


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Recorded]:
    users = tmp_path / "users"
    credentials.write(users, {"ann": hash_cheaply("right")})
    settings: dict[str, Any] = {"credentials_file": users, "authorities": True, "audit": True}
    with testing.queue_manager(unix_path=tmp_path / "s", **settings) as one:
        yield Recorded(one, monkeypatch)


def test_what_a_command_changes_is_on_record(recorded: Recorded) -> None:
    with recorded.manager.connect(user="ada", application="deployment") as qm:
        qm.define_queue("Q", max_depth=7)
        qm.alter_queue("Q", max_depth=9, inhibit_put=True)
        qm.alter_queue_manager(description="ours")
        qm.define_process("P", appl_id="worker")
        qm.set_authority("Q", users=["ann"], add=["put", "get"])
        qm.set_authority("Q", users=["ann"], remove=["get"])
        with pytest.raises(Error):
            qm.delete_queue("GONE")
        qm.delete_queue("Q")
    found = recorded.of(on_record.COMMAND)
    told = [(one["command"], name, one.get("before"), one.get("after")) for name, one in found]
    assert told == [
        ("define queue", "Q", None, '{"max_depth":7}'),
        ("alter queue", "Q", '{"max_depth":7}', '{"max_depth":9,"inhibit_put":true}'),
        ("alter queue manager", "QM1", "{}", '{"description":"ours"}'),
        ("define process", "P", None, '{"appl_id":"worker"}'),
        ("set authority of queue", "Q", "{}", '{"user ann":"get put"}'),
        ("set authority of queue", "Q", '{"user ann":"get put"}', '{"user ann":"put"}'),
        ("delete queue", "GONE", None, None),
        ("delete queue", "Q", '{"inhibit_put":true,"max_depth":9}', None),
    ]
    assert {(one["proof"], one["application"]) for _, one in found} == {("operator", "deployment")}
    outcomes = [(one["outcome"], one.get("reason")) for _, one in found]
    assert outcomes == [("done", None)] * 6 + [("refused", "QUEUE_NOT_FOUND"), ("done", None)]


def test_channel_authentication_records_are_on_record(recorded: Recorded) -> None:
    mapping: Any = {"address": "10.1.2.3", "client_user": "bob"}
    with recorded.manager.connect() as qm:
        qm.set_channel_rule("E*", "USERMAP", mca_user="boss", **mapping)
        qm.set_channel_rule("E*", "USERMAP", action="REPLACE", source="NOACCESS", **mapping)
        with pytest.raises(Error):
            qm.set_channel_rule("E*", "USERMAP", mca_user="boss", **mapping)
        qm.set_channel_rule("E*", "BLOCKUSER", users=["eve"])
        qm.set_channel_rule("E*", "", action="REMOVEALL")
    found = [one for _, one in recorded.of(on_record.COMMAND)]
    told = [(one["action"], *(json.loads(one.get(at, "0")) for at in AT)) for one in found]
    own = {"profile": "E*", "kind": "USERMAP", **mapping}
    name, let, barred = "E* USERMAP 10.1.2.3 bob", {"mca_user": "boss"}, {"source": "NOACCESS"}
    blocked = {"E* BLOCKUSER": {"profile": "E*", "kind": "BLOCKUSER", "users": ["eve"]}}
    assert told == [
        ("ADD", {}, {name: own | let}, 0),
        ("REPLACE", {name: own | let}, {name: own | barred}, 0),
        ("ADD", 0, 0, mapping | let),
        ("ADD", {}, blocked, 0),
        ("REMOVEALL", {name: own | barred} | blocked, {}, 0),
    ]


def test_who_asks_for_an_end_is_on_record(recorded: Recorded) -> None:
    with recorded.manager.connect() as qm:
        with pytest.raises(Error):
            qm.switch_queue_manager("nowhere")
        qm.stop_queue_manager()
    recorded.manager.stop()
    noted = [one for one in recorded.notes if one.kind == on_record.COMMAND]
    told = [(one.details["command"], one.name, one.details.get("to")) for one in noted]
    assert told == [
        ("request switch", "QM1", "nowhere"),
        ("request stop", "QM1", None),
    ]


def test_permissions_of_other_faces_are_on_record(recorded: Recorded) -> None:
    with recorded.manager.connect_msmq() as host:
        queue = host.create(r".\private$\mail")
        queue.set_permissions("ann", msmq.MessageQueueAccessRights.RECEIVE_MESSAGE)
        queue.reset_permissions()
    with recorded.manager.connect_servicebroker() as broker:
        broker.create_queue("Asked")
        broker.grant("RECEIVE", on_queue="Asked", to_role=["tills", "public"])
        broker.revoke("RECEIVE", on_queue="Asked", from_role="tills")
    noted = [one for _, one in recorded.of(on_record.COMMAND)]
    found = [one for one in noted if "permissions" in one["command"]]
    mail, asked = "set permissions of MSMQ queue", "set permissions of Service Broker queue"
    told = [(one["command"], one.get("before"), one.get("after")) for one in found]
    assert told == [
        (mail, "{}", '{"user ann":"browse get"}'),
        (mail, '{"user ann":"browse get"}', '{"group everyone":"dsp inq put"}'),
        (asked, "{}", '{"group everyone":"get","group tills":"get"}'),
        (asked, '{"group tills":"get"}', "{}"),
    ]
    assert "user ann: take none, give browse get" in found[0]["changes"]
    assert "group tills: take get, give none" in found[3]["changes"]


def test_who_is_refused_is_on_record(recorded: Recorded, tmp_path: Path) -> None:
    ann: dict[str, Any] = {"user": "ann", "application": "shop", "reconnect_timeout_s": 0.0}
    for more in ({"password": "a guess"}, {}, {"password": "right"}):
        login = ann | more
        with pytest.raises(Error):
            adapter.connect(recorded.manager.address, **login)
    with adapter.connect(f"unix:{tmp_path}/s") as operator:
        operator.define_queue("Q")
        operator.set_role("app-put", "Q", users=["ann"])
    ann["password"] = "right"
    with adapter.connect(recorded.manager.address, **ann) as qm:
        qm.put("Q", b"a body")
        for refused in (lambda: qm.get("Q"), lambda: qm.delete_queue("Q"), qm.connections):
            with pytest.raises(Error):
                refused()
    strangers = recorded.of(on_record.NOT_AUTHENTICATED)
    assert [(name, one["application"], one["why"]) for name, one in strangers] == [
        ("ann", "shop", "user or password is wrong"),
        ("ann", "shop", "a user and a password must be given"),
    ]
    assert all(one["address"].startswith("127.0.0.1:") for _, one in strangers)
    denied = recorded.of(on_record.NOT_AUTHORIZED)
    assert [(name, one["command"], one["missing"]) for name, one in denied] == [
        ("QM1", "Connect", "connect"),
        ("Q", "Open", "get"),
        ("Q", "DeleteQueue", "dlt"),
        ("QM1", "AskConnections", "dsp"),
    ]
    assert "a guess" not in str(recorded.notes)
    assert "a body" not in str(recorded.notes)


def test_an_administrator_that_looks_at_messages_is_on_record(
    recorded: Recorded, tmp_path: Path
) -> None:
    with adapter.connect(f"unix:{tmp_path}/s", user="root") as operator:
        operator.define_queue("Q")
        operator.set_role("app-get", "Q", users=["ann"])
        operator.put("Q", b"a body")
        operator.put("Q", b"another body")
        with operator.queue("Q") as queue:
            assert len(list(queue.browse())) == 2
        assert operator.get("Q") is not None
    login: dict[str, Any] = {"user": "ann", "password": "right"}
    with adapter.connect(recorded.manager.address, **login) as qm:
        assert len(list(qm.queue("Q").browse())) == 1
    (found,) = recorded.of(on_record.BROWSED)
    assert (found[0], found[1]["user"], found[1]["proof"]) == ("Q", "root", "operator")
    assert "body" not in str(recorded.notes)


def test_an_administrator_that_looks_at_messages_in_transmission_is_on_record(
    recorded: Recorded, tmp_path: Path
) -> None:
    with servicebroker.connect(f"unix:{tmp_path}/s", user="root") as operator:
        assert operator.conversation_endpoints() == []
        assert recorded.of(on_record.BROWSED) == []
        assert operator.transmission_queue() == operator.transmission_queue() == []
    ((name, facts),) = recorded.of(on_record.BROWSED)
    assert (name, facts["user"]) == ("sys.transmission_queue", "root")


def test_without_the_setting_nothing_is_on_record(
    manager: TestQueueManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded = Recorded(manager, monkeypatch)
    with manager.connect() as qm:
        qm.define_queue("Q")
        assert list(qm.queue("Q").browse()) == []
    manager.statistics()
    assert recorded.notes == []


def test_refusals_without_end_do_not_fill_the_ledger() -> None:
    async def refuse() -> list[AuditNote]:
        notes: list[AuditNote] = []
        now_s = [0.0]
        kept = AuditTrail(is_on=True, now_s=lambda: now_s[0])
        kept.write(notes.extend)
        why = Refused(Reason.NOT_AUTHORIZED, "", "user or password is wrong")
        for _ in range(audit.FAILURES_MAX + 20):
            kept.not_authenticated("ann", "192.0.2.1:5", "shop", why)
        now_s[0] = audit.FAILURES_S
        kept.denied(Denial(0, "ann", "Report", "queue", "Q", a.PUT), None)
        await asyncio.sleep(0)
        return notes

    notes = asyncio.run(refuse())
    assert len(notes) == audit.FAILURES_MAX + 1
    assert (notes[-1].kind, notes[-1].details["left_out"]) == (on_record.NOT_AUTHORIZED, "20")
    assert notes[-1].details["acting_as"] == "ann", "no client of its own asks for it"


def test_a_note_is_of_bounded_length() -> None:
    async def ask() -> list[AuditNote]:
        notes: list[AuditNote] = []
        kept = AuditTrail(is_on=True)
        kept.write(notes.extend)
        command = c.AlterObject(QUEUE_MANAGER, "QM1", {"description": "x" * 100_000})
        found = trait_of(command).audit
        assert found is not None
        party = Party("a", Principal("ada", Proof.PASSWORD))
        kept.asked(found, Inquiries(QueueManager("QM1", b"owner")), (1, 1), command, party)
        kept.answered([Reply(1, 1, Done())])
        await asyncio.sleep(0)
        return notes

    (note,) = asyncio.run(ask())
    assert len(note.details["attributes"]) == audit.DETAIL_LENGTH_MAX


def test_a_certificate_that_is_not_accepted_is_on_record(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    ours, other = Authority(tmp_path), Authority(tmp_path / "other")
    files = other.issue("client", "client.test", common_name="app")
    tls = ours.server(client_ca=str(ours.path))
    with testing.queue_manager(tls=tls, audit=True) as manager:
        recorded = Recorded(manager, monkeypatch)
        with pytest.raises(Error):
            adapter.connect(manager.tls_address, tls=tls_context(ours.path, *files))
        with pytest.raises(Error):
            adapter.connect(manager.tls_address)  # no TLS at all: it is not authenticated either
        (found,) = recorded.of(on_record.NOT_AUTHENTICATED)
    assert found[1]["address"].startswith("127.0.0.1:")
    assert found[1]["why"] == (
        "the certificate is not accepted: unable to get local issuer certificate"
    )
