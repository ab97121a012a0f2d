"""HTTP with TLS: the pages for monitoring, and the registry for users only."""

import asyncio
import base64
import shutil
import ssl
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Self

import pytest
from aiohttp import ClientConnectorCertificateError, ClientSession, encode_basic_auth, web

from adapter.core.contract.audit import NOT_AUTHENTICATED, AuditNote
from adapter.errors import StartError
from adapter.localkafka import free_port
from adapter.server.access import credentials
from adapter.server.access.admission import Admission
from adapter.server.access.audit import AuditTrail
from adapter.server.access.credentials import Credentials
from adapter.server.access.guesses import GuessBounds
from adapter.server.access.token_checks import TokenChecks
from adapter.server.listen.tls import ServerTls
from adapter.server.monitor.https import HttpsListener, HttpUsers, credentials_of
from adapter.server.monitor.visitors import Visitors
from tests.support.certificates import Authority
from tests.support.passwords import hash_cheaply
from tests.support.tokens import Issuer, settings

WITHIN_S = 20.0


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


class Site:
    """An application behind TLS for users: one has a password, others certificates."""

    def __init__(self, authority: Authority, folder: Path, issuer: Issuer | None = None) -> None:
        """issuer: of tokens that let in, too."""
        self.settings = authority.server(client_ca=str(authority.path))
        self.tls = ServerTls(self.settings)
        credentials.write(folder / "users", {"ann": hash_cheaply("right")})
        users = Credentials(folder / "users")
        tokens = None
        if issuer is not None:
            (folder / "keys.pem").write_bytes(issuer.pem)
            tokens = TokenChecks(settings(folder / "keys.pem"))
        self.admission = Admission(
            users, GuessBounds(pause_s=0.05), self.tls.user_of, tokens=tokens
        )
        self.broke: list[str] = []
        self.url = ""
        self.notes: list[AuditNote] = []

    async def __aenter__(self) -> Self:
        audit = AuditTrail(is_on=True)
        audit.write(self.notes.extend)
        application = web.Application(
            middlewares=[HttpUsers("QM1", self.admission, Visitors(lambda: None, audit)).check],
        )
        application.router.add_get("/", _hello)
        self._listener = HttpsListener(application, self.tls, self.broke.append)
        self.url = await self._listener.start("127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._listener.stop()
        await self._listener.stop()
        self.admission.close()
        assert self.broke == []

    async def get(self, context: ssl.SSLContext, **options: object) -> tuple[int, str]:
        async with (
            ClientSession() as session,
            session.get(self.url, ssl=context, **options) as answer,  # type: ignore[arg-type]
        ):
            return answer.status, await answer.text()


def login(password: str) -> dict[str, str]:
    return {"Authorization": encode_basic_auth("ann", password)}


async def _hello(_request: web.Request) -> web.Response:
    return web.Response(text="hello")


def run(
    test: Callable[[Site], Awaitable[None]],
    authority: Authority,
    folder: Path,
    issuer: Issuer | None = None,
) -> None:
    async def work() -> None:
        async with Site(authority, folder, issuer) as site:
            await asyncio.wait_for(test(site), WITHIN_S)

    asyncio.run(work())


def trusting(authority: Authority) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(authority.path))


def test_users_are_let_in_by_certificate_or_password(authority: Authority, tmp_path: Path) -> None:
    async def test(site: Site) -> None:
        assert site.url.startswith("https://127.0.0.1:")
        assert await site.get(authority.client("app")) == (200, "hello")
        stranger = trusting(authority)
        status, text = await site.get(stranger)
        assert (status, "a user and a password must be given" in text) == (401, True)
        assert await site.get(stranger, headers=login("right")) == (200, "hello")
        status, text = await site.get(stranger, headers=login("wrong"))
        assert (status, "user or password is wrong" in text) == (401, True)
        status, text = await site.get(authority.client("app"), headers=login("wrong"))
        assert status == 401, "a password that is given counts"

    run(test, authority, tmp_path)


def test_a_token_lets_in(authority: Authority, tmp_path: Path) -> None:
    issuer = Issuer()

    async def test(site: Site) -> None:
        def bearer(token: str) -> dict[str, str]:
            return {"Authorization": f"Bearer {token}"}

        stranger = trusting(authority)
        assert await site.get(stranger, headers=bearer(issuer.token())) == (200, "hello")
        for token, why in (
            (issuer.token(lasts_s=-1), "has expired"),
            (Issuer().token(), "none of the keys"),
            ("x", "no JSON Web Token"),
        ):
            status, text = await site.get(stranger, headers=bearer(token))
            assert (status, why in text) == (401, True)
        assert await site.get(stranger, headers=login("right")) == (200, "hello")

    run(test, authority, tmp_path, issuer)


def test_who_gives_something_that_is_not_right_is_on_record(
    authority: Authority, tmp_path: Path
) -> None:
    """Whatever it is; who gives nothing is asked for something, as browsers expect it."""
    issuer = Issuer()

    async def test(site: Site) -> None:
        stranger = trusting(authority)
        for given in ({}, login("wrong"), {"Authorization": "Bearer x"}, {"Authorization": "x"}):
            assert (await site.get(stranger, headers=given))[0] == 401
        assert (await site.get(authority.client(None, "no.name")))[0] == 401
        noted = [(one.kind, one.name, one.details["why"][:24]) for one in site.notes]
        assert noted == [
            (NOT_AUTHENTICATED, "ann", "user or password is wron"),
            (NOT_AUTHENTICATED, "", noted[1][2]),
            (NOT_AUTHENTICATED, "", "a password or a token mu"),
            (NOT_AUTHENTICATED, "", "its certificate names no"),
        ]

    run(test, authority, tmp_path, issuer)


def test_a_challenge_says_how_to_log_in(authority: Authority, tmp_path: Path) -> None:
    async def test(site: Site) -> None:
        async with (
            ClientSession() as session,
            session.get(site.url, ssl=trusting(authority)) as answer,
        ):
            assert answer.headers["WWW-Authenticate"] == 'Basic realm="QM1", charset="UTF-8"'
            assert (await answer.json())["error_code"] == 401

    run(test, authority, tmp_path)


def test_an_authority_that_is_not_trusted(authority: Authority, tmp_path: Path) -> None:
    async def test(site: Site) -> None:
        with pytest.raises(ClientConnectorCertificateError):
            await site.get(ssl.create_default_context())

    run(test, authority, tmp_path)


def test_who_asks_while_the_queue_manager_stops_is_refused(
    authority: Authority, tmp_path: Path
) -> None:
    async def test(site: Site) -> None:
        site.admission.close()
        status, text = await site.get(trusting(authority), headers=login("right"))
        assert (status, "the queue manager is stopping" in text) == (401, True)

    run(test, authority, tmp_path)


def test_a_user_whose_name_is_too_long_is_refused(authority: Authority, tmp_path: Path) -> None:
    async def test(site: Site) -> None:
        headers = {"Authorization": encode_basic_auth("u" * 65, "right")}
        status, text = await site.get(trusting(authority), headers=headers)
        assert (status, "a user has 64 characters at most" in text) == (401, True)

    run(test, authority, tmp_path)


def test_a_new_certificate_is_used_for_the_next_connection(
    authority: Authority, tmp_path: Path
) -> None:
    async def test(site: Site) -> None:
        (tmp_path / "other").mkdir()
        other = Authority(tmp_path / "other")
        certificate, key = other.issue("server", "127.0.0.1")
        shutil.copy(certificate, site.settings.certificate)
        shutil.copy(key, site.settings.key)
        assert site.tls.look()
        assert await site.get(trusting(other), headers=login("right")) == (200, "hello")

    run(test, authority, tmp_path)


def test_a_port_that_is_taken(authority: Authority) -> None:
    async def work() -> None:
        async with AsyncExitStack() as ends:
            tls = ServerTls(authority.server())
            taken = free_port()
            for _ in range(2):
                listener = HttpsListener(web.Application(), tls, lambda _: None)
                ends.push_async_callback(listener.stop)
                await listener.start("127.0.0.1", taken)

    with pytest.raises(StartError, match=r"to listen with TLS: .*; choose another port"):
        asyncio.run(work())


@pytest.mark.parametrize(
    ("header", "found"),
    [
        ("", ("", "")),
        ("Bearer abc", ("", "")),
        ("Basic", ("", "")),
        ("Basic !", ("", "")),
        ("Basic \udcd7", ("", "")),
        ("Basic " + base64.b64encode(b"\xff:x").decode(), ("", "")),
        ("basic " + base64.b64encode(b"ann:a:b").decode(), ("ann", "a:b")),
        (
            "Basic " + base64.b64encode("j\u00f6rg:\u20ac".encode()).decode(),
            ("j\u00f6rg", "\u20ac"),
        ),
        ("Basic " + base64.b64encode(b"ann").decode(), ("ann", "")),
    ],
)
def test_what_a_header_says(header: str, found: tuple[str, str]) -> None:
    assert credentials_of(header) == found
