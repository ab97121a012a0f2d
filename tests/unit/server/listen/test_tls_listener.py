"""A queue manager listens with TLS: who gets in, as whom, and what a hostile client may cost."""

import asyncio
import contextlib
import random
import socket
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import structlog.testing
import uvloop
from msgspec.structs import replace

import adapter
from adapter import testing
from adapter.connection.channel.tls import tls_context
from adapter.errors import StartError
from adapter.server.access import credentials
from adapter.server.listen import tls_listener
from adapter.server.listen.tls import ServerTls, TlsSettings
from adapter.server.listen.tls_listener import HANDSHAKES, HANDSHAKES_OF_ADDRESS
from adapter.testing import TestQueueManager
from tests.drivers import Driver
from tests.support.certificates import Authority, encrypt, secret
from tests.support.passwords import hash_cheaply

SOON_S = 10.0


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


def user_of(driver: Driver, manager: TestQueueManager, **options: object) -> str:
    """Who the queue manager says that a client is."""
    with driver.connect(manager.tls_address, **options) as qm:
        return next(one.user for one in qm.connections())


def why_not(driver: Driver, address: str, **options: object) -> str:
    """Why a client cannot connect."""
    with pytest.raises(adapter.Error) as caught:
        driver.connect(address, connect_timeout_s=2.0, **options)
    return str(caught.value)


def test_messages_of_all_lengths_go_both_ways(driver: Driver, authority: Authority) -> None:
    with (
        testing.queue_manager(tls=authority.server()) as manager,
        driver.connect(manager.tls_address, tls=authority.path) as qm,
    ):
        qm.define_queue("Q")
        for length in (0, 1, 16_384, 16_385, 3_000_000):
            qm.put("Q", bytes(length))
            message = qm.get("Q", timeout=SOON_S)
            assert message is not None
            assert len(message.body) == length


def test_a_client_is_who_its_certificate_says(driver: Driver, authority: Authority) -> None:
    tls = authority.server(client_ca=str(authority.path))
    with testing.queue_manager(tls=tls) as manager:
        certified = authority.client("orders-app")
        assert user_of(driver, manager, tls=certified, user="mallory") == "orders-app"
        assert user_of(driver, manager, tls=authority.path, user="word") == "word"
        named = why_not(driver, manager.tls_address, tls=authority.client(None))
        assert "its certificate names no user" in named
        assert user_of(driver, manager, tls=authority.client("u" * 64)) == "u" * 64


def test_a_certificate_is_mapped_to_a_user(driver: Driver, authority: Authority) -> None:
    tls = authority.server(client_ca=str(authority.path))
    with testing.queue_manager(tls=tls) as manager:
        manager.mqsc(
            "ALTER QMGR CHLAUTH(ENABLED)\n"
            "SET CHLAUTH('*') TYPE(SSLPEERMAP) SSLPEER('CN=till*') SSLCERTI('O=*') +\n"
            "  MCAUSER('till')\n"
            "SET CHLAUTH('*') TYPE(SSLPEERMAP) SSLPEER('CN=old*') USERSRC(NOACCESS)\n"
        )
        assert user_of(driver, manager, tls=authority.client("till 7")) == "till"
        assert user_of(driver, manager, tls=authority.client("ann")) == "ann"
        assert "no authority for QM1" in why_not(
            driver, manager.tls_address, tls=authority.client("old till")
        )


def test_a_user_that_would_be_cut_off_is_refused(driver: Driver, authority: Authority) -> None:
    """Two subjects that begin alike are two users."""
    tls = authority.server(client_ca=str(authority.path), user="subject")
    with testing.queue_manager(tls=tls) as manager:
        said = why_not(driver, manager.tls_address, tls=authority.client("u" * 64))
        assert "has more than 64 characters" in said


@pytest.mark.parametrize(("part", "user"), [("dns", "app.test"), ("email", "a@b.test")])
def test_the_user_may_be_another_part_of_the_certificate(
    driver: Driver, authority: Authority, part: str, user: str
) -> None:
    tls = authority.server(client_ca=str(authority.path), user=part)
    with testing.queue_manager(tls=tls) as manager:
        certified = authority.client("cn", "app.test", "a@b.test")
        assert user_of(driver, manager, tls=certified) == user


def test_with_users_a_certificate_replaces_the_password(
    driver: Driver, authority: Authority, tmp_path: Path
) -> None:
    users = tmp_path / "users"
    credentials.write(users, {"ann": hash_cheaply("secret")})
    tls = authority.server(client_ca=str(authority.path))
    with testing.queue_manager(tls=tls, credentials_file=users) as manager:
        assert user_of(driver, manager, tls=authority.client("app")) == "app"
        right = {"user": "ann", "password": "secret"}
        assert user_of(driver, manager, tls=authority.client("app"), **right) == "ann"
        assert user_of(driver, manager, tls=authority.path, **right) == "ann"
        wrong = right | {"password": "guess"}
        assert "wrong" in why_not(driver, manager.tls_address, tls=authority.client("app"), **wrong)
        assert "must be given" in why_not(driver, manager.tls_address, tls=authority.path)


def test_a_certificate_that_is_not_accepted_is_named(
    driver: Driver, authority: Authority, tmp_path: Path
) -> None:
    with testing.queue_manager(tls=authority.server("other.test")) as manager:
        said = why_not(driver, manager.tls_address, tls=authority.path)
        assert "not valid for '127.0.0.1'" in said
        assert "local issuer" in why_not(driver, manager.tls_address, tls=True)
    with testing.queue_manager(tls=authority.server(expired=True)) as manager:
        assert "expired" in why_not(driver, manager.tls_address, tls=authority.path)


def logged(lines: Sequence[Mapping[str, object]]) -> str:
    """Why handshakes failed, as the log says it, once it does."""
    deadline_s = time.monotonic() + SOON_S
    while not (said := [one for one in lines if one["event"] == "a TLS handshake failed"]):
        assert time.monotonic() < deadline_s
        time.sleep(0.01)
    assert said[0]["log_level"] == "warning"
    return str(said[0]["reason"])


def test_what_is_wrong_with_a_clients_certificate_is_said_at_both_ends(
    driver: Driver, authority: Authority, tmp_path: Path
) -> None:
    folder = tmp_path / "other"
    folder.mkdir()
    files = Authority(folder).issue("client", "c.test", common_name="app")
    wrong = {
        "unknown ca": tls_context(authority.path, *files),
        "certificate expired": authority.client("app", expired=True),
    }
    with testing.queue_manager(tls=authority.server(client_ca=str(authority.path))) as manager:
        for said, context in wrong.items():
            with structlog.testing.capture_logs() as lines:
                assert said in why_not(driver, manager.tls_address, tls=context)
                heard = logged(lines)
            assert ("issuer" if said == "unknown ca" else "expired") in heard
            time.sleep(tls_listener.SAY_S)
        assert user_of(driver, manager, tls=authority.client("app")) == "app"


def test_the_log_says_that_a_client_does_not_accept_the_certificate(
    driver: Driver, authority: Authority
) -> None:
    with (
        testing.queue_manager(tls=authority.server()) as manager,
        structlog.testing.capture_logs() as lines,
    ):
        assert "local issuer" in why_not(driver, manager.tls_address, tls=True)
        assert "unknown ca" in logged(lines)


@pytest.mark.parametrize(
    "loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"]
)
def test_threads_and_tasks_say_the_same_of_a_certificate(
    authority: Authority, tmp_path: Path, loop: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    folder = tmp_path / "other"
    folder.mkdir()
    stranger = Authority(folder).issue("client", "c.test", common_name="app")
    server = authority.server(client_ca=str(authority.path))
    with asyncio.Runner(loop_factory=loop) as tasks:
        with testing.queue_manager(tls=server) as manager:
            host = manager.tls_address.replace("127.0.0.1", "localhost")
            for address, context in (
                (manager.tls_address, True),
                (host, authority.path),
                (manager.address, authority.path),
                (manager.tls_address, tls_context(authority.path, *stranger)),
                (manager.tls_address, authority.client("app", expired=True)),
                (manager.tls_address, authority.client(None)),
            ):
                options: dict[str, Any] = {"tls": context, "connect_timeout_s": 2.0}
                with pytest.raises(adapter.Error) as of_threads:
                    adapter.connect(address, **options)
                with pytest.raises(adapter.Error) as of_tasks:
                    tasks.run(adapter.aio.connect(address, **options))
                assert str(of_tasks.value) == str(of_threads.value)
            qm = tasks.run(adapter.aio.connect(manager.tls_address, tls=authority.client("app")))
            assert tasks.run(qm.queues()) == []
            tasks.run(qm.close())
        tasks.run(asyncio.sleep(0.1))  # in which uvloop closes what the queue manager has ended


def test_a_certificate_is_revoked_by_a_list_among_the_authorities(
    driver: Driver, authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tls_listener, "LOOK_S", 0.02)
    trusted = tmp_path / "trusted.pem"
    trusted.write_bytes(authority.path.read_bytes())
    lost = authority.issue("lost", "c.test", common_name="lost")
    context = tls_context(authority.path, *lost)
    with testing.queue_manager(tls=authority.server(client_ca=str(trusted))) as manager:
        assert user_of(driver, manager, tls=context) == "lost"
        with structlog.testing.capture_logs() as lines:
            trusted.write_bytes(authority.path.read_bytes() + authority.revoke(lost[0]))
            deadline_s = time.monotonic() + SOON_S
            with contextlib.suppress(adapter.Error):
                while time.monotonic() < deadline_s:  # until the list is read
                    driver.connect(manager.tls_address, tls=context).close()
            assert "certificate revoked" in why_not(driver, manager.tls_address, tls=context)
            assert "revoked" in logged(lines)
        assert user_of(driver, manager, tls=authority.client("app")) == "app"


def test_who_forgets_tls_or_needs_none_is_told(driver: Driver, authority: Authority) -> None:
    with testing.queue_manager(tls=authority.server()) as manager:
        assert "closed the connection" in why_not(driver, manager.tls_address)
        assert "TLS failed" in why_not(driver, manager.address, tls=authority.path)


def test_a_new_certificate_is_used_without_a_restart(
    driver: Driver, authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tls_listener, "LOOK_S", 0.02)
    folder = tmp_path / "new"
    folder.mkdir()
    renewed = Authority(folder)
    tls = authority.server()
    with (
        testing.queue_manager(tls=tls) as manager,
        driver.connect(manager.tls_address, tls=authority.path) as before,
    ):
        Path(tls.certificate).write_text("broken")  # half written: the one before stays in use
        time.sleep(0.1)
        assert user_of(driver, manager, tls=authority.path)
        certificate, key = renewed.issue("server", "127.0.0.1")
        Path(tls.key).write_bytes(key.read_bytes())
        Path(tls.certificate).write_bytes(certificate.read_bytes())
        deadline_s = time.monotonic() + SOON_S
        while True:
            try:
                driver.connect(manager.tls_address, tls=renewed.path).close()
                break
            except adapter.Error:
                assert time.monotonic() < deadline_s
        assert before.queues() == []


def test_the_key_may_be_encrypted_and_be_renewed_with_its_password(
    driver: Driver, authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tls_listener, "LOOK_S", 0.02)
    folder = tmp_path / "new"
    folder.mkdir()
    renewed = Authority(folder)
    password = secret(tmp_path / "password", "first\n")
    tls = authority.server(key_password_file=str(password))
    encrypt(Path(tls.key), "first")
    with testing.queue_manager(tls=tls) as manager:
        assert user_of(driver, manager, tls=authority.path)
        certificate, key = renewed.issue("server", "127.0.0.1")
        encrypt(key, "second")
        Path(tls.key).write_bytes(key.read_bytes())
        Path(tls.certificate).write_bytes(certificate.read_bytes())
        time.sleep(0.1)
        assert user_of(driver, manager, tls=authority.path), "its password has not come yet"
        password.write_text("second\n")
        deadline_s = time.monotonic() + SOON_S
        while True:
            try:
                driver.connect(manager.tls_address, tls=renewed.path).close()
                break
            except adapter.Error:
                assert time.monotonic() < deadline_s


def test_certificates_may_be_in_key_stores_at_both_ends(
    driver: Driver, authority: Authority, tmp_path: Path
) -> None:
    own = authority.store("server", "", "127.0.0.1")
    tls = TlsSettings(host="127.0.0.1", certificate=str(own), client_ca=str(authority.path))
    shown = authority.store("client", "secret", common_name="app")
    with testing.queue_manager(tls=tls) as manager:
        context = tls_context(authority.path, shown, password="secret")
        assert user_of(driver, manager, tls=context) == "app"


def test_a_queue_manager_says_what_is_wrong_with_its_key(
    authority: Authority, tmp_path: Path
) -> None:
    tls = authority.server()
    encrypt(Path(tls.key), "secret")
    wrong = secret(tmp_path / "wrong", "guess")
    shared = secret(tmp_path / "shared", "secret")
    shared.chmod(0o644)
    for path, said in (
        ("", "give its password too.*tls_key_password_file"),
        (str(wrong), "the password is not that of the private key"),
        (str(shared), f"{shared} holds its password, and .* chmod 600"),
        (str(tmp_path / "none"), "cannot be read"),
    ):
        with pytest.raises(StartError, match=said) as refused:
            ServerTls(replace(tls, key_password_file=path))
        assert "guess" not in str(refused.value).replace(str(tmp_path), "")


def test_connections_outlive_the_restart_of_a_queue_manager(
    driver: Driver, authority: Authority
) -> None:
    tls = authority.server()
    with testing.queue_manager(tls=tls) as manager:
        address = manager.tls_address
        with driver.connect(address, tls=authority.path) as qm:
            qm.define_queue("Q")
            manager.crash()
            manager.start()
            assert manager.tls_address != address or qm.queues()


def test_what_is_no_handshake_costs_nobody_else_anything(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tls_listener, "HANDSHAKE_S", 0.5)
    chance = random.Random(7)
    hello = _hello(authority)
    with testing.queue_manager(tls=authority.server()) as manager:
        host, _, port = manager.tls_address.rpartition(":")
        for _ in range(200):
            with contextlib.suppress(OSError), socket.create_connection((host, int(port))) as sock:
                sock.sendall(_mutated(hello, chance))
        silent = [
            socket.create_connection((host, int(port))) for _ in range(2 * HANDSHAKES_OF_ADDRESS)
        ]
        deadline_s = time.monotonic() + SOON_S
        while True:  # those that are silent are closed after their time
            try:
                with adapter.connect(manager.tls_address, tls=authority.path) as qm:
                    assert len(qm.connections()) == 1
                break
            except adapter.Error:
                assert time.monotonic() < deadline_s
        for one in silent:
            one.close()


def _hello(authority: Authority) -> bytes:
    """The first record of a client."""
    leaving = ssl.MemoryBIO()
    tls = tls_context(authority.path).wrap_bio(ssl.MemoryBIO(), leaving, server_hostname="h.test")
    with contextlib.suppress(ssl.SSLWantReadError):
        tls.do_handshake()
    return leaving.read()


def _mutated(record: bytes, chance: random.Random) -> bytes:
    changed = bytearray(record)
    for _ in range(chance.randrange(1, 20)):
        changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed[: chance.randrange(1, len(changed) + 1)])


class Stage:
    """A listener whose connections seem to come from addresses of other machines."""

    def __init__(self, authority: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
        self.listener = tls_listener.TlsListener(
            ServerTls(authority.server()), asyncio.Protocol, self._broke
        )
        self.listener._accepting = None
        self.cancelled: list[str] = []
        monkeypatch.setattr(self.listener, "_shake", self._shake)

    def _broke(self, failure: object) -> None:
        raise AssertionError(failure)

    async def _shake(self, _sock: socket.socket, _network: str, address: str) -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            self.cancelled.append(address)
            raise

    async def come(self, *addresses: str) -> None:
        for address in addresses:
            self.listener._begin(socket.socket(), (address, 1))
            await asyncio.sleep(0)
        await asyncio.sleep(0)

    async def close(self) -> None:
        self.listener.close()
        await asyncio.sleep(0.01)
        assert all(sock.fileno() < 0 for sock in self.listener._handshakes)


def test_a_new_client_ends_the_oldest_handshake_of_the_fullest_network(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    asyncio.run(_fullest(authority, monkeypatch))


async def _fullest(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(authority, monkeypatch)
    await stage.come("192.0.2.1", "127.0.0.1")
    many = [f"10.9.{n // 32}.{n % 32 + 1}" for n in range(HANDSHAKES - 1)]
    await stage.come(*many)
    assert stage.cancelled == []
    await stage.come("203.0.113.5")
    assert stage.cancelled == [f"{many[0]}:1"]
    await stage.come("203.0.113.6", "203.0.113.7")
    assert len(stage.cancelled) == 3
    assert all(one.startswith("10.9.") for one in stage.cancelled)
    await stage.come(*["127.0.0.1"] * HANDSHAKES)
    assert len(stage.cancelled) == 3  # those of this machine are not counted
    await stage.close()


def test_an_address_has_a_share_of_handshakes_and_the_newest_goes_on(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    asyncio.run(_share(authority, monkeypatch))


async def _share(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(authority, monkeypatch)
    await stage.come("2001:db8:1::1", "192.0.2.1", *["2001:db8:1::2"] * HANDSHAKES_OF_ADDRESS)
    assert len(stage.cancelled) == 1  # these are of one network of IPv6
    assert stage.cancelled[0].startswith("[2001:db8:1::1]")
    await stage.close()
