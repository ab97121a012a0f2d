"""Who is let in: with a right password, or where none is demanded."""

import contextlib
import grp
import logging
import os
import pwd
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import structlog
import structlog.testing

import adapter
from adapter import testing
from adapter.administration.pcf import structures as pcf
from adapter.core.contract.parties import Principal, Proof
from adapter.core.model.manager import QueueManager
from adapter.errors import Error, LimitReached, NotAuthorized
from adapter.host import addresses
from adapter.host.addresses import HERE, Peer
from adapter.server.access import admission, credentials, guesses
from adapter.server.access.guesses import GuessBounds
from adapter.server.listen.bounds import ConnectionBounds
from adapter.testing import TestQueueManager
from tests.support.passwords import hash_cheaply

AUTH = "SYSTEM.DEFAULT.AUTHINFO.IDPWOS"
Demand = Callable[[str], None]


@pytest.fixture
def users(tmp_path: Path) -> str:
    credentials.write(tmp_path / "users", {"ada": hash_cheaply("secret")})
    return str(tmp_path / "users")


@pytest.fixture
def manager(users: str) -> Iterator[TestQueueManager]:
    with testing.queue_manager(credentials_file=users) as one:
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
    monkeypatch.setattr(addresses, "is_loopback", lambda host: host != "127.0.0.1")
    with pytest.raises(NotAuthorized, match="must be given"):
        adapter.connect(manager.address, user="ada")
    with pytest.raises(NotAuthorized, match="user or password is wrong"):
        adapter.connect(manager.address, user="ada", password="wrong")
    adapter.connect(manager.address, user="ada", password="secret").close()


def test_another_machine_is_refused_where_there_are_no_users(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(addresses, "is_loopback", lambda host: host != "127.0.0.1")
    with testing.queue_manager() as one, pytest.raises(NotAuthorized, match="must be given"):
        adapter.connect(one.address, user="ada", password="secret")


def test_a_file_of_users_means_that_all_must_give_a_password(manager: TestQueueManager) -> None:
    """Any of them may be an administrator: CHCKCLNT(REQDADM), the default as on MQ, asks each."""
    for user in ("ada", "alice", "", "admin"):
        with pytest.raises(NotAuthorized, match="must be given"):
            manager.connect(user=user)
    with manager.connect(user="ada", password="secret") as qm:
        assert qm.objects("authinfo", AUTH)[0].attributes["check_client"] == "REQDADM"


def test_none_is_needed_where_it_is_optional(manager: TestQueueManager, demand: Demand) -> None:
    demand("OPTIONAL")
    manager.connect(user="bob").close()
    demand("REQUIRED")
    with pytest.raises(NotAuthorized, match="must be given"):
        manager.connect(user="ada")
    demand("NONE")
    manager.connect(user="ada", password="wrong").close()


@pytest.mark.parametrize("remote", [False, True])
@pytest.mark.parametrize("has_users", [False, True])
def test_the_rule_is_in_one_place(remote: bool, has_users: bool) -> None:
    found = admission.demand("", has_users=has_users, remote=remote)
    assert found == ("a right one" if remote or has_users else "nothing")


def at_the_socket(uid: int) -> Peer:
    return Peer(f"unix:pid=1,uid={uid}", uid=uid)


def test_the_system_proves_who_is_at_the_socket_whatever_the_client_says() -> None:
    account = pwd.getpwall()[-1]
    for said in ("", "ada"):
        found = admission.principal_of(said, at_the_socket(account.pw_uid))
        groups = found.groups
        assert found == Principal(account.pw_name, Proof.PEER, groups)
        assert grp.getgrgid(account.pw_gid).gr_name in groups
        assert found.is_authenticated
    unnamed = max(one.pw_uid for one in pwd.getpwall() if one.pw_uid < 2**31) + 1
    assert admission.principal_of("ada", at_the_socket(unnamed)).user == f"uid:{unnamed}"


def test_root_and_the_account_of_the_queue_manager_may_name_any_user_at_the_socket(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    account = pwd.getpwall()[-1]
    monkeypatch.setattr(os, "geteuid", lambda: account.pw_uid)
    for uid in (0, account.pw_uid):
        found = admission.principal_of("ada", at_the_socket(uid))
        assert found == Principal("ada", Proof.OPERATOR)
    own = admission.principal_of("", at_the_socket(account.pw_uid))
    assert own == Principal(account.pw_name, Proof.OPERATOR)


@pytest.mark.parametrize("peer", [HERE, Peer("127.0.0.1:5", "127.0.0.1"), Peer("unix")])
def test_elsewhere_a_client_without_password_is_who_it_says_and_that_is_no_proof(
    peer: Peer,
) -> None:
    found = admission.principal_of("ada", peer)
    assert (found.user, found.is_authenticated) == ("ada", False)


def test_a_password_is_a_proof(manager: TestQueueManager) -> None:
    with manager.connect(user="ada", password="secret") as qm:
        qm.define_queue("Q")
        party = next(iter(core_of(manager).connections.values())).party
        assert party.principal == Principal("ada", Proof.PASSWORD)


def core_of(manager: TestQueueManager) -> QueueManager:
    server = manager._server
    assert server is not None
    return server.owner.term.qm


@pytest.mark.parametrize("password", ["pässwörd", "пароль", "密码", "\U0001f511", "a\0b"])
def test_a_password_may_have_any_letters(
    manager: TestQueueManager, tmp_path: Path, password: str
) -> None:
    credentials.write(tmp_path / "users", {"ada": hash_cheaply(password)})
    manager.connect(user="ada", password=password).close()
    for wrong in (password + "x", "ä", "\U0001f512"):
        with pytest.raises(NotAuthorized, match="user or password is wrong"):
            manager.connect(user="ada", password=wrong)


def test_letters_beyond_ascii_are_no_matter_where_none_is_asked() -> None:
    with testing.queue_manager() as one:
        one.connect(user="ädä", password="pässwörd").close()


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
        ping = pcf.encode(pcf.CommandHeader(type=pcf.COMMAND, command=40), [])
        reply = qm.queue("SYSTEM.ADMIN.COMMAND.QUEUE").request(
            ping, timeout=20, format="MQADMIN", persistent=False
        )
        assert pcf.decode(reply.body).header.reason == 0


def test_without_a_file_nobody_is_asked() -> None:
    with testing.queue_manager() as one:
        one.connect(user="ada", password="anything").close()


def test_checks_that_wait_have_a_bound(users: str) -> None:
    bounds = ConnectionBounds(passwords=GuessBounds(waiting=0))
    with (
        testing.queue_manager(credentials_file=users, bounds=bounds) as manager,
        pytest.raises(LimitReached, match="passwords are being checked"),
    ):
        manager.connect(user="ada", password="secret")


class Held:
    """Checks of passwords that take until somebody lets them end."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun, self.end = threading.Semaphore(0), threading.Event()
        self.count = 0
        check = credentials.Credentials.is_right

        def slow(own: credentials.Credentials, user: str, password: str) -> bool:
            self.count += 1
            self.begun.release()
            assert self.end.wait(20)
            return check(own, user, password)

        monkeypatch.setattr(credentials.Credentials, "is_right", slow)


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Held:
    return Held(monkeypatch)


def attempts(manager: TestQueueManager, *passwords: str) -> list[threading.Thread]:
    """Connect as ada with each of these, all at once."""

    def attempt(password: str) -> None:
        with contextlib.suppress(Error):
            adapter.connect(manager.address, user="ada", password=password).close()

    threads = [threading.Thread(target=attempt, args=(one,)) for one in passwords]
    for thread in threads:
        thread.start()
    return threads


def test_others_go_on_while_a_password_is_checked(
    manager: TestQueueManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    with manager.connect(user="ada", password="secret") as qm:
        held = Held(monkeypatch)
        (waiting,) = attempts(manager, "x")
        assert held.begun.acquire(timeout=20)
        qm.define_queue("Q")
        qm.put("Q", "meanwhile")
        held.end.set()
        waiting.join(20)
        assert not waiting.is_alive()


def test_guessers_do_not_delay_a_user_who_was_there_before(
    manager: TestQueueManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Checks stand still here: who has to wait for one does not get in."""
    manager.connect(user="ada", password="secret").close()
    held = Held(monkeypatch)
    guessers = attempts(manager, *(f"guess {number}" for number in range(5)))
    try:
        assert held.begun.acquire(timeout=20)
        for _time in range(3):
            manager.connect(user="ada", password="secret").close()
        assert held.count == 1
    finally:
        held.end.set()
        for guesser in guessers:
            guesser.join(30)


def test_the_same_wrong_password_is_checked_once(
    manager: TestQueueManager, held: Held, tmp_path: Path
) -> None:
    """A program with a stale password tries for ever; the file may change and make it right."""
    held.end.set()
    for _time in range(20):
        with pytest.raises(NotAuthorized, match="user or password is wrong"):
            manager.connect(user="ada", password="new")
    assert held.count == 1
    credentials.write(tmp_path / "users", {"ada": hash_cheaply("new")})
    manager.connect(user="ada", password="new").close()
    with pytest.raises(NotAuthorized):
        manager.connect(user="ada", password="secret")


def test_guesses_take_longer_and_longer(users: str) -> None:
    bounds = ConnectionBounds(passwords=GuessBounds(pause_s=0.2))
    with testing.queue_manager(credentials_file=users, bounds=bounds) as manager:
        began_s = time.monotonic()
        for number in range(guesses.FREE_OF_USER + 2):
            with pytest.raises(NotAuthorized):
                manager.connect(user="ada", password=f"guess {number}")
        assert time.monotonic() - began_s >= 0.2 + 0.4


def test_a_start_warns_of_clients_without_a_password(
    manager: TestQueueManager, demand: Demand
) -> None:
    level = structlog.make_filtering_bound_logger(logging.WARNING)
    for what, warns in (("REQUIRED", False), ("OPTIONAL", True), ("NONE", True)):
        if what == "NONE":
            with manager.connect() as qm:
                qm.alter_object("authinfo", AUTH, check_client=what)
        else:
            demand(what)
        kept = structlog.testing.LogCapture()
        structlog.configure(processors=[kept], wrapper_class=level)
        try:
            manager.restart()
        finally:
            structlog.reset_defaults()
        assert any("need no password" in one["event"] for one in kept.entries) is warns


def test_many_guessers_of_one_address_do_not_shut_out_its_users(
    manager: TestQueueManager, tmp_path: Path
) -> None:
    """With hashes that take as long as real ones, and a user who was not there before."""
    users = {name: credentials.hash_password("secret") for name in ("ada", "bob")}
    credentials.write(tmp_path / "users", users)
    stop = threading.Event()

    def guess(number: int) -> None:
        count = 0
        while not stop.is_set():
            count += 1
            with contextlib.suppress(Error):
                manager.connect(
                    user=("ada", "eve")[number % 2], password=f"{number} {count}",
                    connect_timeout_s=1.0,
                )  # fmt: skip

    guessers = [threading.Thread(target=guess, args=(number,)) for number in range(30)]
    for guesser in guessers:
        guesser.start()
    try:
        for _time in range(2):
            manager.connect(user="bob", password="secret", connect_timeout_s=5.0).close()
    finally:
        stop.set()
        for guesser in guessers:
            guesser.join(30)
