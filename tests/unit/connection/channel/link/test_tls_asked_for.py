"""Whatever connects with TLS says nothing to what has none: no name, no password, no message."""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import dramatiq
import ibmmq
import kombu
import pytest
from ibmmq import CMQC, CMQXC

import adapter
import adapter.aio
import adapter.kombu
from adapter import errors as e
from adapter import msmq, servicebroker
from adapter.cli import broker
from adapter.cli.main import run
from adapter.dramatiq import MqkBroker
from adapter.registry.rest import RestRegistry
from adapter.server.access.ldap_settings import LdapSettings
from adapter.server.access.ldap_users import LdapUsers
from adapter.server.access.token_checks import KeyUrl
from adapter.server.standby.owner_link import OwnerAddress
from tests.support.certificates import Authority
from tests.support.plain_listener import TLS_RECORD, PlainListener
from tests.tidy_dialling import WITH_TLS

USER, PASSWORD, TOKEN = "ann", "TOP-SECRET", "TOP.SECRET.TOKEN"
SHORT: dict[str, Any] = {"connect_timeout_s": 1.5, "reconnect_timeout_s": 0.5}
WHO: dict[str, Any] = {"user": USER, "password": PASSWORD}
THREADS, TASKS = "adapter.connection.channel.link.tcp", "adapter.aio.link"

Dial = Callable[[str, Path], object]


def by_mqi(address: str, ca: Path) -> None:
    host, port = address.split(":")
    cd = ibmmq.CD(ChannelName=b"SYSTEM.DEF.SVRCONN", ConnectionName=f"{host}({port})".encode())
    cd.TransportType, cd.ChannelType = CMQXC.MQXPT_TCP, CMQXC.MQCHT_CLNTCONN
    cd.SSLCipherSpec = b"ANY_TLS12_OR_HIGHER"
    csp = ibmmq.CSP(
        CSPUserId=USER, CSPPassword=PASSWORD, AuthenticationType=CMQC.MQCSP_AUTH_USER_ID_AND_PWD
    )
    sco = ibmmq.SCO(KeyRepository=str(ca).encode())
    ibmmq.QueueManager(None).connect_with_options("QM1", cd=cd, sco=sco, csp=csp)


def by_kombu(address: str, **options: Any) -> None:
    url = f"mqk://{USER}:{PASSWORD}@{address}"
    kombu.Connection(url, connect_timeout=1.5, **options).transport.establish_connection()


def by_dramatiq(address: str, ca: Path) -> None:
    @dramatiq.actor(broker=MqkBroker(address=address, tls=ca, **WHO, **SHORT))
    def work() -> None:
        """Do nothing."""

    work.send()


def by_command(address: str, ca: Path) -> None:
    assert run(["--tls-ca", str(ca), "put", "--qmgr", address, "Q", PASSWORD]) != 0


def by_tasks(address: str, **options: Any) -> None:
    asyncio.run(adapter.aio.connect(address, **options, **SHORT))


def for_keys(address: str, ca: Path) -> None:
    async def ask() -> None:
        keys = KeyUrl(f"https://{address}/{PASSWORD}", str(ca))
        asked = keys.refresh(time.monotonic())
        assert asked is not None
        await asked
        keys.usable(time.monotonic())

    asyncio.run(ask())


def for_users(address: str, ca: Path) -> None:
    settings = LdapSettings(server=f"ldaps://{address}", ca=str(ca), user_dn="uid={},dc=example")
    LdapUsers(settings).is_right(USER, PASSWORD)


def for_schemas(address: str, ca: Path) -> None:
    secret = {"ssl.ca.location": str(ca), "basic.auth.user.info": f"{USER}:{PASSWORD}"}
    RestRegistry(f"https://{address}", {**secret, "max.retries": 0}).subjects()


def for_an_owner(address: str, ca: Path) -> None:
    asyncio.run(OwnerAddress(address, is_tls=True).dial())


def for_a_webhook(address: str, ca: Path) -> None:
    broker._post(f"https://{address}/{PASSWORD}", PASSWORD)


CASES: dict[str, tuple[str, Dial]] = {
    "password": (
        THREADS,
        lambda address, ca: adapter.connect(address, tls=ca, **WHO, **SHORT),
    ),
    "token": (THREADS, lambda address, ca: adapter.connect(address, tls=ca, token=TOKEN, **SHORT)),
    "system": (THREADS, lambda address, _: adapter.connect(address, tls=True, **WHO, **SHORT)),
    "msmq": (THREADS, lambda address, ca: msmq.connect(address, tls=ca, **WHO, **SHORT)),
    "broker": (THREADS, lambda address, ca: servicebroker.connect(address, tls=ca, **WHO, **SHORT)),
    "mqi": (THREADS, by_mqi),
    "kombu": (THREADS, lambda address, _: by_kombu(address, ssl=True)),
    "kombu-amqp": (THREADS, lambda address, ca: by_kombu(address, ssl={"ca_certs": str(ca)})),
    "kombu-redis": (THREADS, lambda address, ca: by_kombu(address, ssl={"ssl_ca_certs": ca})),
    "kombu-options": (
        THREADS,
        lambda address, ca: by_kombu(address, transport_options={"tls": ca, **SHORT}),
    ),
    "dramatiq": (THREADS, by_dramatiq),
    "command": (THREADS, by_command),
    "tasks": (TASKS, lambda address, ca: by_tasks(address, tls=ca, **WHO)),
    "tasks-token": (TASKS, lambda address, ca: by_tasks(address, tls=ca, token=TOKEN)),
    "keys": ("adapter.server.access.token_checks", for_keys),
    "users": ("adapter.server.access.ldap_users", for_users),
    "schemas": ("adapter.registry.rest", for_schemas),
    "owner": ("adapter.server.standby.owner_link", for_an_owner),
    "webhook": ("adapter.cli.broker", for_a_webhook),
}
REDIRECT = b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1/\r\nContent-Length: 0\r\n\r\n"
ANSWERS = [b"", REDIRECT, bytes(64)]


@pytest.fixture
def authority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Authority:
    for name in ("MQSSLKEYR", "MQSERVER", "MQCCDTURL", "MQK_TLS_CA"):
        monkeypatch.setenv(name, "")  # so that what a command sets is undone
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return Authority(tmp_path)


@pytest.fixture(params=ANSWERS, ids=["silence", "http", "zeros"])
def listener(request: pytest.FixtureRequest) -> Iterator[PlainListener]:
    with PlainListener(request.param) as one:
        yield one


@pytest.mark.parametrize("case", CASES)
def test_nothing_is_sent_in_the_clear(
    authority: Authority, listener: PlainListener, case: str
) -> None:
    _, dial = CASES[case]
    with suppress(Exception):
        dial(listener.address, authority.path)
    listener.close()
    assert listener.heard
    assert all(one.startswith(TLS_RECORD) for one in listener.heard)
    assert not any(b"SECRET" in one for one in listener.heard)


def test_each_module_that_connects_with_tls_is_tried() -> None:
    assert {module for module, _ in CASES.values()} == WITH_TLS.keys()


def test_without_tls_the_listener_hears_it(listener: PlainListener) -> None:
    """So that the tests above can fail."""
    with suppress(e.Error):
        adapter.connect(listener.address, tls=False, **WHO, **SHORT)
    listener.close()
    assert any(not one.startswith(TLS_RECORD) for one in listener.heard)
