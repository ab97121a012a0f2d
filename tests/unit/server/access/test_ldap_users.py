"""Users of a directory: an LDAP server in a process of its own says who they are."""

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import adapter
from adapter import testing
from adapter.core.contract.parties import Proof
from adapter.errors import NotAuthorized, StartError
from adapter.server.access import credentials, ldap_users
from adapter.server.access.ldap_settings import LdapSettings
from adapter.server.access.ldap_users import LdapUsers
from adapter.server.access.passwords import UsersUnavailable
from tests.support import ldap_server
from tests.support.certificates import Authority
from tests.support.passwords import hash_cheaply


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with ldap_server.directory() as one:
        yield one


def settings(url: str, **others: str) -> LdapSettings:
    places = {"user_dn": ldap_server.USER_DN, "group_base": ldap_server.GROUP_BASE}
    return LdapSettings(**{"server": url} | places | others)


def test_a_password_is_right_for_its_user(url: str) -> None:
    users = LdapUsers(settings(url))
    assert users.is_right("ann", "secret")
    assert sorted(users.groups_of("ann")) == ["readers", "writers"]
    assert users.is_right("bob", "secret")
    assert users.groups_of("bob") == ("readers",)
    for user, password in (("ann", "wrong"), ("nobody", "secret"), ("ann", ""), ("", "secret")):
        assert not users.is_right(user, password)
    plain = LdapUsers(settings(url, group_base=""))
    assert plain.is_right("ann", "secret")
    assert plain.groups_of("ann") == ()


def test_what_was_right_is_known_for_a_while(url: str) -> None:
    now_s = 100.0
    users = LdapUsers(settings(url), lambda: now_s)
    assert users.known("ann", "secret") is None
    assert users.is_right("ann", "secret")
    assert users.known("ann", "secret")
    assert users.known("ann", "wrong") is None
    now_s += ldap_users.KNOWN_S
    assert users.known("ann", "secret") is None
    assert users.groups_of("ann"), "a client whose password was just right has them"


def test_what_is_known_of_a_user_is_forgotten_as_a_whole(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ldap_users, "KNOWN_MAX", 2)
    users = LdapUsers(settings(url))
    for user in ("ann", "bob"):
        assert users.is_right(user, "secret")
    assert users.known("ann", "secret")
    assert users.is_right("o'b*(x)", "secret")
    for user, is_known in (("ann", True), ("bob", None)):
        assert users.known(user, "secret") is is_known
        assert bool(users.groups_of(user)) is bool(is_known)


@pytest.mark.parametrize("password", ["x\x01", "\u00ad", "\u0627x", "\ud800"], ids=ascii)
def test_a_password_that_cannot_be_sent_is_wrong_and_nobody_waits_for_it(
    url: str, password: str
) -> None:
    users = LdapUsers(settings(url))
    assert not users.is_right("ann", password)
    assert users.is_right("ann", "secret")


@pytest.mark.parametrize(
    "user",
    ["ANN", "ann ", " ann", "*", "ann)(uid=*", "ann,ou=people,dc=example,dc=org", "ann+cn=x",
     "a\x00", "ann\n", "\\61nn", "x,uid=ann"],
)  # fmt: skip
def test_another_spelling_is_another_user(url: str, user: str) -> None:
    """Directories compare names without case and blanks; authority records do not."""
    assert not LdapUsers(settings(url)).is_right(user, "secret")


@pytest.mark.parametrize(("user", "groups"), [("o'b*(x)", ("others",)), ("a,b", ())])
def test_what_a_user_is_called_changes_no_filter_and_no_name(
    url: str, user: str, groups: tuple[str, ...]
) -> None:
    by_user = settings(url, group_filter="(|(member={dn})(member={user}))")
    for one in (settings(url), by_user):
        users = LdapUsers(one)
        assert users.is_right(user, "secret")
        assert users.groups_of(user) == groups


def test_a_filter_or_a_place_that_is_wrong_lets_no_user_in(url: str) -> None:
    for wrong in ({"group_filter": "(member={dn}"}, {"group_base": "ou=none,dc=example,dc=org"}):
        with pytest.raises(UsersUnavailable):
            LdapUsers(settings(url, **wrong)).is_right("ann", "secret")


def test_a_silent_directory_costs_its_time_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        users = LdapUsers(settings(f"ldap://127.0.0.1:{port}"))
        began_s = time.monotonic()
        with pytest.raises(UsersUnavailable):
            users.is_right("ann", "secret")
        once_s = time.monotonic() - began_s
        assert once_s < 3 * ldap_users.TIMEOUT_S
        with pytest.raises(UsersUnavailable, match="did not answer a moment ago"):
            users.is_right("ann", "secret")
        assert time.monotonic() - began_s < once_s + 1


def test_over_tls_the_directory_shows_a_certificate(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    folder = tmp_path / "other"
    folder.mkdir()
    stranger = Authority(folder)
    with ldap_server.directory(*authority.issue("ldap", "127.0.0.1")) as url:
        assert LdapUsers(settings(url, ca=str(authority.path))).is_right("ann", "secret")
        for ca in (str(stranger.path), ""):
            with pytest.raises(UsersUnavailable, match="certificate"):
                LdapUsers(settings(url, ca=ca)).is_right("ann", "secret")


def test_a_directory_that_was_reached_before_is_checked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing goes out in the clear to what took its place."""
    authority = Authority(tmp_path)
    with ldap_server.directory(*authority.issue("ldap", "127.0.0.1")) as url:
        users = LdapUsers(settings(url, ca=str(authority.path)))
        assert users.is_right("ann", "secret")
    host, _, port = url.removeprefix("ldaps://").rpartition(":")
    monkeypatch.setattr(ldap_users, "PAUSE_S", 0.0)
    with socket.create_server((host, int(port))) as other:
        heard: list[bytes] = []

        def hear() -> None:
            taken, _ = other.accept()
            with taken, contextlib.suppress(ConnectionError):
                taken.sendall(b"no TLS")
                while data := taken.recv(4096):
                    heard.append(data)

        listening = threading.Thread(target=hear)
        listening.start()
        with pytest.raises(UsersUnavailable):
            users.is_right("ann", "secret")
        listening.join()
    assert b"secret" not in b"".join(heard)


def test_a_certificate_for_another_name_is_refused(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    refused = pytest.raises(UsersUnavailable, match="certificate")
    with ldap_server.directory(*authority.issue("ldap", "other.test")) as url, refused:
        LdapUsers(settings(url, ca=str(authority.path))).is_right("ann", "secret")
    with pytest.raises(StartError, match="ldap_ca"):
        LdapUsers(settings("ldaps://127.0.0.1", ca=str(tmp_path / "none")))


def test_clients_are_users_of_the_directory_beside_those_of_the_file(
    url: str, tmp_path: Path
) -> None:
    users = tmp_path / "users"
    credentials.write(users, {"ada": hash_cheaply("own"), "bob": hash_cheaply("own")})
    options: dict[str, Any] = {"ldap": settings(url), "credentials_file": users}
    with testing.queue_manager(**options, authorities=True) as manager:
        with manager.connect() as qm:
            qm.define_queue("Q")
            qm.set_authority("Q", groups=["writers"], add=["put"])
            qm.set_authority("SELF", "qmgr", groups=["everyone"], add=["connect", "dsp"])
        for _ in range(2):  # the second time it is known
            with adapter.connect(manager.address, user="ann", password="secret") as qm:
                qm.put("Q", b"x")
                assert qm.connections()[0].proof == Proof.PASSWORD.value
        refused = pytest.raises(NotAuthorized)
        with adapter.connect(manager.address, user="ada", password="own") as qm, refused:
            qm.put("Q", b"x")
        adapter.connect(manager.address, user="bob", password="own").close()
        for user, password in (("ann", "wrong"), ("bob", "secret"), ("ada", "secret")):
            with pytest.raises(NotAuthorized, match="user or password is wrong"):
                adapter.connect(manager.address, user=user, password=password)


def test_while_the_directory_does_not_answer_its_users_are_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with testing.queue_manager(ldap=settings(f"ldap://127.0.0.1:{port}")) as manager:
        for _ in range(10):  # they have guessed nothing
            with pytest.raises(NotAuthorized, match="cannot be checked now"):
                adapter.connect(manager.address, user="ann", password="secret")
