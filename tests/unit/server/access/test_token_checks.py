"""Clients that show tokens: who they are, until when, and by which keys that is known."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import adapter
from adapter import testing
from adapter.connection.channel import renewal
from adapter.connection.channel.token_source import Token
from adapter.core.contract.parties import Proof
from adapter.errors import InvalidOption, InvalidType, NotAuthorized, StartError
from adapter.host import addresses, texts
from adapter.server.access import credentials, token_checks
from adapter.server.listen.bounds import ConnectionBounds
from adapter.testing import TestQueueManager
from tests.drivers import Driver
from tests.support.certificates import Authority
from tests.support.passwords import hash_cheaply
from tests.support.tokens import Issuer, key_server, settings
from tests.support.unprintable import Unprintable

SOON_S = 30.0
LASTS_S = 3.0
"""How long a token lasts that ends during a test: longer than what comes before takes."""
SOON_LOOKED_AT = ConnectionBounds(look_s=0.02)


@pytest.fixture(scope="module")
def issuer() -> Issuer:
    return Issuer()


@pytest.fixture
def keys(issuer: Issuer, tmp_path: Path) -> Path:
    path = tmp_path / "keys.pem"
    path.write_bytes(issuer.pem)
    return path


@pytest.fixture
def manager(keys: Path) -> Iterator[TestQueueManager]:
    with testing.queue_manager(tokens=settings(keys), bounds=SOON_LOOKED_AT) as one:
        yield one


def who(driver: Driver, manager: TestQueueManager, **options: object) -> tuple[str, str]:
    with driver.connect(manager.address, **options) as qm:
        return next((one.user, one.proof) for one in qm.connections())


def why_not(driver: Driver, address: str, **options: object) -> str:
    with pytest.raises(NotAuthorized) as refused:
        driver.connect(address, connect_timeout_s=2.0, **options)
    assert refused.value.reason == 2035
    return str(refused.value)


def until(what: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + SOON_S
    while not what():
        assert time.monotonic() < deadline_s
        time.sleep(0.01)


def test_a_client_is_whom_its_token_names(
    driver: Driver, manager: TestQueueManager, issuer: Issuer, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    token = issuer.token("ann")
    named = ("ann", Proof.TOKEN.value)
    assert who(driver, manager, token=token, user="mallory") == named
    assert who(driver, manager, token=lambda: f" {token}\n") == named
    path = tmp_path / "token"
    path.write_text(token + "\n")
    assert who(driver, manager, token=path) == named
    monkeypatch.setenv("MQK_TOKEN_FILE", str(path))
    assert who(driver, manager) == named
    monkeypatch.setenv("MQK_PASSWORD", "x")
    assert who(driver, manager) == named


def test_without_a_token_no_client_gets_in(
    driver: Driver, manager: TestQueueManager, issuer: Issuer
) -> None:
    assert "a password or a token must be given" in why_not(driver, manager.address)
    expired = issuer.token(lasts_s=-1)
    assert "has expired" in why_not(driver, manager.address, token=expired)
    assert "none of the keys" in why_not(driver, manager.address, token=Issuer().token())


def test_a_token_is_never_ignored(driver: Driver, issuer: Issuer) -> None:
    with testing.queue_manager() as manager:
        said = why_not(driver, manager.address, token=issuer.token())
        assert "accepts no tokens: jwt_keys is not set" in said


def test_users_with_passwords_get_in_beside(
    driver: Driver, keys: Path, issuer: Issuer, tmp_path: Path
) -> None:
    users = tmp_path / "users"
    credentials.write(users, {"ada": hash_cheaply("secret")})
    with testing.queue_manager(tokens=settings(keys), credentials_file=users) as manager:
        assert who(driver, manager, user="ada", password="secret") == ("ada", "password")
        assert who(driver, manager, token=issuer.token()) == ("ann", "token")


def test_a_token_in_the_clear_is_refused(
    driver: Driver, keys: Path, issuer: Issuer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over a network others read it; TLS is what makes it a secret."""
    authority = Authority(tmp_path)
    monkeypatch.setattr(addresses, "is_loopback", lambda host: False)
    with testing.queue_manager(tokens=settings(keys), tls=authority.server()) as manager:
        assert "in the clear" in why_not(driver, manager.address, token=issuer.token())
        tls = {"tls": authority.path, "token": issuer.token()}
        with driver.connect(manager.tls_address, **tls) as qm:
            assert qm.connections()[0].user == "ann"


def raise_unprintable() -> str:
    raise Unprintable


@pytest.mark.parametrize(
    ("token", "kind", "said"),
    [
        (3, InvalidType, "a text, a path or a function"),
        (b"x", InvalidType, "a text, a path or a function"),
        ("", InvalidOption, "no JSON Web Token"),
        ("a b", InvalidOption, "no JSON Web Token"),
        ("é", InvalidOption, "no JSON Web Token"),
        ("x" * 16_385, InvalidOption, "more than 16384"),
        (Path("/nowhere/token"), InvalidOption, "/nowhere/token cannot be read"),
        (lambda: 3, InvalidType, "the function's result is not a text"),
        (lambda: 1 / 0, InvalidOption, "the function raised ZeroDivisionError"),
        (raise_unprintable, InvalidOption, "the function raised Unprintable, whose text cannot"),
    ],
)
def test_what_is_no_token_is_refused_by_the_client(
    driver: Driver, manager: TestQueueManager, token: object, kind: type, said: str
) -> None:
    with pytest.raises(kind, match=said):
        driver.connect(manager.address, token=token)


def test_a_password_and_a_token_are_one_too_many(
    driver: Driver, manager: TestQueueManager, issuer: Issuer
) -> None:
    with pytest.raises(InvalidOption, match="give one of them"):
        driver.connect(manager.address, token=issuer.token(), password="x")


def test_a_connection_ends_with_its_token(
    driver: Driver, manager: TestQueueManager, issuer: Issuer
) -> None:
    made = [issuer.token(lasts_s=LASTS_S)]
    with (
        driver.connect(manager.address, token=lambda: made[-1]) as qm,
        driver.connect(manager.address, token=issuer.token("watch")) as watch,
    ):
        qm.define_queue("Q")
        number = next(one.number for one in watch.connections() if one.user == "ann")
        until(lambda: number not in {one.number for one in watch.connections()})
        made.append(issuer.token())
        qm.put("Q", b"x")  # connected again, with a new token
        assert {one.user for one in watch.connections()} == {"ann", "watch"}


def test_a_renewed_token_keeps_units_and_handles(
    driver: Driver, manager: TestQueueManager, issuer: Issuer
) -> None:
    with driver.connect(manager.address, token=issuer.token(lasts_s=LASTS_S)) as qm:
        qm.define_queue("Q")
        queue, number = qm.queue("Q"), qm.connections()[0].number
        with qm.unit() as unit:
            queue.put(b"x", unit=unit)
            qm.renew_token(issuer.token(lasts_s=60))
            time.sleep(LASTS_S + 0.2)  # the first token is over, and has been looked at many times
        message = queue.get()
        assert message is not None
        assert message.body == b"x"
        assert [one.number for one in qm.connections()] == [number]
        manager.drop_next_reply()  # connected again, by the newer token
        assert queue.depth() == 0


@pytest.mark.parametrize("source", ["file", "function"])
def test_a_token_of_a_file_or_a_function_is_renewed_by_itself(
    driver: Driver, manager: TestQueueManager, issuer: Issuer, tmp_path: Path, source: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """While nothing is asked, and a unit is open."""
    monkeypatch.setattr(renewal, "AGAIN_S", 0.05)
    path, made = tmp_path / "token", [issuer.token(lasts_s=LASTS_S)]
    path.write_text(made[0])
    token: Token = path if source == "file" else lambda: made[0]
    with (
        driver.connect(manager.address, token=issuer.token("watch")) as watch,
        driver.connect(manager.address, token=token) as qm,
    ):
        qm.define_queue("Q")
        number = next(one.number for one in watch.connections() if one.user == "ann")
        with qm.unit() as unit:
            qm.put("Q", b"x", unit=unit)
            made[0] = issuer.token(lasts_s=60, groups=["tills"])
            texts.replace(path, made[0], 0o600)
            time.sleep(LASTS_S + 0.2)  # the first token is over, and has been looked at many times
        assert number in {one.number for one in watch.connections()}
        message = qm.get("Q")
        assert message is not None
        assert message.body == b"x"


def test_a_token_that_is_not_renewed_in_time_ends_its_connection(
    driver: Driver, manager: TestQueueManager, issuer: Issuer, caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(renewal, "AGAIN_S", 0.05)
    made = [issuer.token("ann", lasts_s=LASTS_S), issuer.token("bob")]
    options = {"token": lambda: made.pop(0) if made else "", "reconnect_timeout_s": 0.5}
    with (
        driver.connect(manager.address, token=issuer.token("watch")) as watch,
        driver.connect(manager.address, **options) as qm,
    ):
        until(lambda: "ann" not in {one.user for one in watch.connections()})
        until(lambda: "no JSON Web Token" in caplog.text)
        assert "the token is of bob" in caplog.text
        with pytest.raises(adapter.Error):
            qm.queues()


def renewals() -> int:
    return sum(one.name == "token renewal" for one in threading.enumerate())


def test_a_dropped_connection_is_not_kept_by_the_renewal_of_its_token(
    manager: TestQueueManager, issuer: Issuer
) -> None:
    assert renewals() == 0
    qm = adapter.connect(manager.address, token=issuer.token)
    assert renewals() == 1
    dropped = [qm]
    del qm
    with pytest.warns(ResourceWarning, match="was dropped and not closed"):
        dropped.clear()
    until(lambda: renewals() == 0)
    with adapter.connect(manager.address, token=issuer.token()) as qm:
        assert renewals() == 0, "a text has no thread"
        qm.renew_token(issuer.token)
        assert renewals() == 1
    until(lambda: renewals() == 0)


def test_another_user_cannot_go_on(
    driver: Driver, manager: TestQueueManager, issuer: Issuer
) -> None:
    with driver.connect(manager.address, token=issuer.token("ann")) as qm:
        with pytest.raises(NotAuthorized, match="the token is of bob"):
            qm.renew_token(issuer.token("bob"))
        with pytest.raises(NotAuthorized, match="has expired"):
            qm.renew_token(issuer.token("ann", lasts_s=-1))
        assert qm.connections()[0].user == "ann"
    with testing.queue_manager() as plain, driver.connect(plain.address) as qm:
        with pytest.raises(InvalidOption, match="made without one"):
            qm.renew_token()
        with pytest.raises(NotAuthorized, match="accepts no tokens"):
            qm.renew_token(issuer.token())


def test_a_connection_by_password_does_not_become_one_by_token(
    keys: Path, issuer: Issuer, tmp_path: Path
) -> None:
    users = tmp_path / "users"
    credentials.write(users, {"ann": hash_cheaply("secret")})
    with (
        testing.queue_manager(tokens=settings(keys), credentials_file=users) as manager,
        adapter.connect(manager.address, user="ann", password="secret") as qm,
        pytest.raises(NotAuthorized, match="not made by a token"),
    ):
        qm.renew_token(issuer.token("ann"))


def test_the_groups_of_a_token_have_authorities(driver: Driver, keys: Path, issuer: Issuer) -> None:
    with testing.queue_manager(tokens=settings(keys), authorities=True) as manager:
        with manager.connect() as qm:
            qm.define_queue("Q")
            qm.set_authority("Q", groups=["writers"], add=["put"])
            qm.set_authority("SELF", "qmgr", groups=["everyone"], add=["connect"])
        with driver.connect(manager.address, token=issuer.token()) as qm:
            with pytest.raises(NotAuthorized):
                qm.put("Q", b"x")
            qm.renew_token(issuer.token(groups=["writers"]))
            qm.put("Q", b"x")
            qm.renew_token(issuer.token(groups=[]))
            with pytest.raises(NotAuthorized):
                qm.put("Q", b"x")


def test_keys_in_a_file_are_read_again(
    driver: Driver, manager: TestQueueManager, keys: Path, issuer: Issuer
) -> None:
    newer = Issuer("k2")
    keys.write_bytes(newer.pem + b"\n")
    assert who(driver, manager, token=newer.token())[0] == "ann"
    assert "none of the keys" in why_not(driver, manager.address, token=issuer.token())
    keys.write_text("broken")
    os.utime(keys, ns=(1, 1))
    assert "tokens cannot be checked now: the queue manager's log has the" in why_not(
        driver, manager.address, token=newer.token()
    )


def test_a_file_without_keys_prevents_the_start(tmp_path: Path) -> None:
    for content in (None, "no key"):
        path = tmp_path / "none"
        if content is not None:
            path.write_text(content)
        refused = pytest.raises(StartError, match="holds no keys for tokens")
        with refused, testing.queue_manager(tokens=settings(path)):
            pass


def test_keys_of_a_url_are_asked_for_when_a_token_has_a_new_one(
    issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with key_server() as published:
        published.entries = [issuer.entry]
        with testing.queue_manager(tokens=settings(published.url)) as manager:
            for _ in range(3):
                adapter.connect(manager.address, token=issuer.token()).close()
            assert published.answered == 1
            newer = Issuer("k2")
            published.entries = [newer.entry]
            monkeypatch.setattr(token_checks, "FETCH_PAUSE_S", 0.0)
            adapter.connect(manager.address, token=newer.token()).close()
            assert published.answered == 2
            monkeypatch.setattr(token_checks, "FETCH_PAUSE_S", 60.0)
            for _ in range(5):  # invented keys cost the issuer nothing
                with pytest.raises(NotAuthorized, match="not by one known"):
                    adapter.connect(manager.address, token=Issuer("k3").token())
            assert published.answered == 2
            with pytest.raises(NotAuthorized, match="not by one known"):  # withdrawn
                adapter.connect(manager.address, token=issuer.token())


def test_keys_that_cannot_be_asked_for_let_no_client_in(
    issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(token_checks, "FETCH_PAUSE_S", 0.0)
    monkeypatch.setattr(token_checks, "KEYS_FRESH_S", 0.0)
    with key_server() as published:
        published.status = 503
        with testing.queue_manager(tokens=settings(published.url)) as manager:
            with pytest.raises(NotAuthorized, match="tokens cannot be checked now"):
                adapter.connect(manager.address, token=issuer.token())
            published.entries, published.status = [issuer.entry], 200
            adapter.connect(manager.address, token=issuer.token()).close()
            published.status = 503  # those that were read count for a while
            adapter.connect(manager.address, token=issuer.token()).close()
            monkeypatch.setattr(token_checks, "KEYS_KEPT_S", 0.0)
            with pytest.raises(NotAuthorized, match="tokens cannot be checked now"):
                adapter.connect(manager.address, token=issuer.token())
