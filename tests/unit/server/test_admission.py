"""Who is let in: with a right password, or where none is demanded."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import adapter
from adapter import testing
from adapter.errors import LimitReached, NotAuthorized
from adapter.mqi.pcf import structures as pcf
from adapter.server import admission, credentials, listener
from adapter.testing import TestQueueManager
from tests.support.passwords import cheaply_hashed

AUTH = "SYSTEM.DEFAULT.AUTHINFO.IDPWOS"
Demand = Callable[[str], None]


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[TestQueueManager]:
    users = tmp_path / "users"
    credentials.write(users, {"ada": cheaply_hashed("secret")})
    with testing.queue_manager(credentials_file=str(users)) as one:
        yield one


@pytest.fixture
def demand(manager: TestQueueManager) -> Demand:
    def alter(what: str) -> None:
        with manager.connect(user="ada", password="secret") as qm:
            qm.alter_object("authinfo", AUTH, check_client=what)

    return alter


def test_a_right_password_lets_in(manager: TestQueueManager, demand: Demand) -> None:
    demand("REQUIRED")
    with manager.connect(user="ada", password="secret") as qm:
        qm.define_queue("Q")
        assert [one.user for one in qm.connections()] == ["ada"]


@pytest.mark.parametrize("what", ["OPTIONAL", "REQUIRED", "REQDADM"])
def test_a_wrong_password_never_does(manager: TestQueueManager, demand: Demand, what: str) -> None:
    demand(what)
    for user, password in (("ada", "wrong"), ("bob", "secret")):
        with pytest.raises(NotAuthorized, match="user or password is wrong") as told:
            manager.connect(user=user, password=password)
        assert (told.value.reason, told.value.object_name) == (2035, user)


@pytest.mark.parametrize("what", ["NONE", "OPTIONAL", "REQDADM"])
def test_another_machine_needs_one_whatever_is_demanded(
    what: str, manager: TestQueueManager, demand: Demand, monkeypatch: pytest.MonkeyPatch
) -> None:
    demand(what)
    monkeypatch.setattr(listener, "is_loopback", lambda host: host != "127.0.0.1")
    with pytest.raises(NotAuthorized, match="must be given"):
        manager.connect(user="ada")
    with pytest.raises(NotAuthorized, match="user or password is wrong"):
        manager.connect(user="ada", password="wrong")
    manager.connect(user="ada", password="secret").close()


def test_another_machine_is_refused_where_there_are_no_users(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(listener, "is_loopback", lambda host: host != "127.0.0.1")
    with testing.queue_manager() as one, pytest.raises(NotAuthorized, match="must be given"):
        one.connect(user="ada", password="secret")


def test_none_is_needed_where_it_is_optional(manager: TestQueueManager, demand: Demand) -> None:
    manager.connect(user="bob").close()
    demand("REQUIRED")
    with pytest.raises(NotAuthorized, match="must be given"):
        manager.connect(user="ada")
    demand("NONE")
    manager.connect(user="ada", password="wrong").close()


def test_what_nothing_is_said_of_is_required(manager: TestQueueManager) -> None:
    with manager.connect(user="ada", password="secret") as qm:
        qm.alter_queue_manager(connection_auth="NOT.THERE")
    with pytest.raises(NotAuthorized):
        manager.connect()


def test_the_password_may_come_from_the_environment(
    manager: TestQueueManager, demand: Demand, monkeypatch: pytest.MonkeyPatch
) -> None:
    demand("REQUIRED")
    monkeypatch.setenv("MQK_USER", "ada")
    monkeypatch.setenv("MQK_PASSWORD", "secret")
    manager.connect().close()


def test_commands_are_served_where_passwords_are_required(
    manager: TestQueueManager, demand: Demand
) -> None:
    """The queue manager's own client has none, and is known all the same."""
    demand("REQUIRED")
    with manager.connect(user="ada", password="secret") as qm:
        ping = pcf.encode(pcf.Header(type=pcf.COMMAND, command=40), [])
        reply = qm.queue("SYSTEM.ADMIN.COMMAND.QUEUE").request(
            ping, timeout=20, format="MQADMIN", persistent=False
        )
        assert pcf.decode(reply.body).header.reason == 0


def test_without_a_file_nobody_is_asked() -> None:
    with testing.queue_manager() as one:
        one.connect(user="ada", password="anything").close()


def test_checks_that_wait_have_a_bound(
    manager: TestQueueManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admission, "WAITING_MAX", 0)
    with pytest.raises(LimitReached, match="passwords are being checked"):
        manager.connect(user="ada", password="secret")


def test_others_go_on_while_a_password_is_checked(
    manager: TestQueueManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    held, met = threading.Event(), threading.Event()

    def slow(*_given: object) -> bool:
        met.set()
        return held.wait(20)

    monkeypatch.setattr(credentials.Credentials, "is_right", slow)
    with manager.connect() as qm:
        waiting = threading.Thread(
            target=lambda: adapter.connect(manager.address, user="ada", password="x").close()
        )
        waiting.start()
        assert met.wait(20)
        qm.define_queue("Q")
        qm.put("Q", "meanwhile")
        held.set()
        waiting.join(20)
        assert not waiting.is_alive()
