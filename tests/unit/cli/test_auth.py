"""mqk auth: granting, revoking, listing and explaining."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import adapter
from adapter.errors import InvalidOption, NotAuthorized
from adapter.server.access import credentials
from adapter.testing import TestQueueManager, queue_manager
from tests.support.passwords import hash_cheaply
from tests.unit.cli.conftest import Mqk


@pytest.fixture
def checking(quiet: None, tmp_path: Path) -> Iterator[TestQueueManager]:
    """A queue manager that checks authorities, with the users ann and bob."""
    users = tmp_path / "users"
    credentials.write(users, {one: hash_cheaply(one) for one in ("ann", "bob")})
    socket = tmp_path / "socket"
    with queue_manager("QM1", credentials_file=users, authorities=True, unix_path=socket) as one:
        with one.connect() as qm:
            qm.define_queue("ORDERS")
            qm.define_queue("ORDERS.SECRET")
        yield one


@pytest.fixture
def operator(
    checking: TestQueueManager, mqk: Mqk, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Mqk:
    monkeypatch.setenv("MQK_QMGR", f"unix:{tmp_path / 'socket'}")
    for name in ("MQK_USER", "MQK_PASSWORD"):
        monkeypatch.delenv(name, raising=False)
    return mqk


def test_a_user_is_granted_a_role_and_a_profile(operator: Mqk, checking: TestQueueManager) -> None:
    with pytest.raises(NotAuthorized, match="no authority for QM1"):
        adapter.connect(checking.address, user="ann", password="ann")
    said = operator("auth", "grant", "--role", "app-put", "ORDERS", "--user", "ann")
    assert (said.status, said.out) == (0, "granted role app-put ORDERS: ann\n")
    assert said.err == ""
    with adapter.connect(checking.address, user="ann", password="ann") as ann:
        ann.put("ORDERS", "a")
        with pytest.raises(NotAuthorized, match="no authority for ORDERS"):
            ann.get("ORDERS")
        said = operator("auth", "grant", "ORDERS.**", "get", "browse", "--user", "ann")
        assert said.out == "granted get browse on queue ORDERS.**: ann\n"
        with pytest.raises(NotAuthorized):
            ann.get("ORDERS")  # its own record is the more specific one
        operator("auth", "revoke", "ORDERS", "--user", "ann")
        assert ann.get("ORDERS") is not None
        operator("auth", "grant", "ORDERS.SECRET", "none", "--user", "ann")
        with pytest.raises(NotAuthorized):
            ann.get("ORDERS.SECRET")


def test_records_are_listed(operator: Mqk) -> None:
    operator("auth", "grant", "ORDERS.**", "put", "--group", "staff", "--user", "bob")
    operator("auth", "grant", "SELF", "connect", "--type", "qmgr", "--group", "everyone")
    said = operator("auth", "list")
    rows = [line.split() for line in said.out.splitlines()]
    assert rows[1:] == [
        ["ORDERS.**", "queue", "bob", "user", "put"],
        ["ORDERS.**", "queue", "staff", "group", "put"],
        ["SELF", "qmgr", "everyone", "group", "connect"],
    ]
    said = operator("auth", "list", "ORDERS.SECRET", "--user", "bob", "--json")
    assert json.loads(said.out) == {
        "profile": "ORDERS.**", "type": "queue", "user": "bob", "authorities": ["put"],
    }  # fmt: skip


def test_what_leads_to_more_than_is_granted_is_listed(
    operator: Mqk, checking: TestQueueManager
) -> None:
    with checking.connect() as qm:
        qm.define_object("alias", "AL", target="ORDERS.SECRET")
    operator("auth", "grant", "AL", "get", "--user", "bob", "--group", "staff")
    operator("auth", "grant", "ORDERS.SECRET", "get", "put", "browse", "--group", "staff")
    said = operator("auth", "check")
    assert said.status == 0
    assert said.out.splitlines()[1].split() == (
        ["bob", "user", "alias", "AL", "queue", "ORDERS.SECRET", "browse", "get", "put"]
    )
    assert len(said.out.splitlines()) == 2
    said = operator("auth", "check", "--user", "bob", "--json")
    assert json.loads(said.out) == {
        "user": "bob",
        "kind": "alias",
        "object": "AL",
        "lacks": [
            {
                "type": "queue",
                "object": "ORDERS.SECRET",
                "authorities": ["browse", "get", "put"],
            }
        ],
    }
    assert operator("auth", "check", "--group", "staff").out.splitlines()[1:] == []
    of_staff = ("auth", "check", "--user", "bob", "--member-of", "staff")
    assert operator(*of_staff).out.splitlines()[1:] == []
    assert operator("auth", "check", "--member-of", "staff").status == 2
    with checking.connect() as qm, pytest.raises(InvalidOption, match="groups are those of a user"):
        qm.authority_pointers(group="staff", groups=["staff"])


def test_an_answer_is_explained(operator: Mqk) -> None:
    operator("auth", "grant", "ORDERS.**", "get", "--user", "bob")
    operator("auth", "grant", "ORDERS.SECRET", "none", "--user", "bob")
    said = operator("auth", "explain", "bob", "get", "ORDERS.SECRET")
    assert said.out == (
        "bob does not have get on queue ORDERS.SECRET\n  user bob, profile ORDERS.SECRET: none\n"
    )
    assert operator("auth", "explain", "bob", "get", "ORDERS").out.startswith("bob has get on")
    said = operator("auth", "explain", "eve", "put", "ORDERS")
    assert "no record of the user" in said.out
    said = operator("auth", "explain", "bob", "connect", "--type", "qmgr", "--json")
    found = json.loads(said.out)
    assert (found["granted"], found["checked"], found["records"]) == (False, True, [])


def test_every_role_can_be_granted_and_revoked(operator: Mqk, checking: TestQueueManager) -> None:
    for role in ("monitor", "operator", "admin"):
        assert operator("auth", "grant", "--role", role, "--user", "bob").status == 0
        with adapter.connect(checking.address, user="bob", password="bob") as bob:
            assert bob.connections()
            assert len(bob.queues()) == 2
            if role == "operator":
                with bob.queue("ORDERS") as queue:
                    assert queue.purge() == 0
            if role == "admin":
                bob.set_authority("X", users=["eve"], add=["put"])
            else:
                with pytest.raises(NotAuthorized):
                    bob.set_authority("X", users=["bob"], add=["put"])
                with pytest.raises(NotAuthorized), bob.queue("ORDERS") as queue:
                    list(queue.browse())
        assert operator("auth", "revoke", "--role", role, "--user", "bob").status == 0
    with pytest.raises(NotAuthorized):
        adapter.connect(checking.address, user="bob", password="bob")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["grant", "Q", "put"], "name a user or a group"),
        (["grant", "--user", "a"], "name an object or a profile, or give --role"),
        (["grant", "Q", "--user", "a"], "name at least one authority"),
        (["grant", "Q", "fly", "--user", "a"], "unknown authority 'fly'"),
        (["grant", "--role", "admin", "Q", "put", "--user", "a"], "name none beside it"),
        (["list", "--user", "a", "--group", "b"], "not both"),
        (["explain", "a", "put"], "name an object"),
    ],
)
def test_wrong_use(mqk: Mqk, arguments: list[str], text: str) -> None:
    said = mqk("auth", *arguments)
    assert said.status == 2
    assert text in said.err


def test_a_role_is_of_an_object_or_of_all(at: Mqk) -> None:
    for arguments, text in (
        (("--role", "app-put"), "role app-put needs the name of an object"),
        (("--role", "admin", "Q"), "role admin is of all objects"),
    ):
        said = at("auth", "grant", *arguments, "--user", "ann")
        assert said.status == 1
        assert text in said.err


def test_where_nothing_is_checked_that_is_said(at: Mqk) -> None:
    said = at("auth", "grant", "Q", "put", "--user", "ann")
    assert said.status == 0
    assert "authorities are not checked" in said.err
    assert "authorities are not checked" in at("auth", "list").err
    assert "authorities are not checked" in at("auth", "explain", "ann", "put", "Q").err
    said = at("auth", "revoke", "Q2", "--user", "ann")
    assert said.status == 1
    assert "has an authority record" in said.err


def test_a_program_needs_no_more_than_its_role(
    operator: Mqk, checking: TestQueueManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    operator("auth", "grant", "--role", "app-put", "ORDERS", "--user", "ann")
    operator("auth", "grant", "--role", "app-get", "ORDERS", "--user", "bob")
    monkeypatch.setenv("MQK_QMGR", checking.address)
    for user in ("ann", "bob"):
        monkeypatch.setenv("MQK_USER", user)
        monkeypatch.setenv("MQK_PASSWORD", user)
        said = operator("put", "ORDERS", "a")
        assert said.status == (0 if user == "ann" else 1), said.err
        said = operator("queue", "show", "ORDERS")
        assert said.status == 0, said.err
        said = operator("browse", "ORDERS")
        assert said.status == (0 if user == "bob" else 1), said.err
    assert "no authority for ORDERS" in operator("put", "ORDERS", "a").err
    assert operator("get", "ORDERS").out == "a\n"
    said = operator("qmgr", "status", "QM1")
    assert "Traceback" not in said.err
