"""HTTP with TLS, and for users only: what of a queue manager other machines may ask for.

The certificate is the queue manager's. This module must not know what is served.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable

from aiohttp import web

from adapter import addresses, watched
from adapter.core.contract.parties import ORIGIN_LENGTH_MAX, Principal
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Refused
from adapter.server.admission import Admission
from adapter.server.audit import AuditTrail
from adapter.server.tls import ServerTls
from adapter.server.tls_listener import TlsListener
from adapter.web import HttpListener
from adapter.wire.frames import Hello

APPLICATION = "HTTP client"
BASIC = "basic "
BEARER = "bearer "
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class HttpsListener:
    """One address where an application is served with TLS. On the event loop's thread."""

    def __init__(
        self,
        application: web.Application,
        tls: ServerTls,
        broke: watched.Ended,
        audit: AuditTrail | None = None,
    ) -> None:
        """The application is not used elsewhere. broke: hears of what must not fail and did. audit:
        of certificates that are not accepted.
        """
        self._audit = audit
        self._http = HttpListener(application)
        self._tls = tls
        self._broke = broke
        self._listener: TlsListener | None = None

    async def start(self, host: str, port: int) -> str:
        """Listen; returns the URL to ask. port: 0 for any. Raises StartError."""
        self._listener = TlsListener(self._tls, await self._http.visits(), self._broke, self._audit)
        return f"https://{addresses.written(*self._listener.listen(host, port))}"

    async def stop(self) -> None:
        """Listen no more, end what is connected; twice is no error."""
        if self._listener is not None:
            self._listener.close()
        await self._http.stop()


class HttpUsers:
    """Lets users ask whom the queue manager knows, by a certificate, a password or a token."""

    def __init__(
        self, queue_manager: str, admission: Admission, audit: AuditTrail | None = None
    ) -> None:
        """audit: hears of users that are refused."""
        self._audit = audit
        self._challenge = {"WWW-Authenticate": f'Basic realm="{queue_manager}", charset="UTF-8"'}
        self._admission = admission

    @property
    def exist(self) -> bool:
        """Whether anybody can log in."""
        return self._admission.has_logins

    @web.middleware
    async def check(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Answer 401 to who is no user, and 429 where too many wrong passwords were given."""
        given = await self._who(request)
        if isinstance(given, Refused):
            is_limit = given.reason == Reason.LIMIT_REACHED
            status, headers = (429, None) if is_limit else (401, self._challenge)
            answer = {"error_code": status, "message": given.detail}
            return web.json_response(answer, status=status, headers=headers)
        return await handler(request)

    async def _who(self, request: web.Request) -> Principal | Refused:
        header = request.headers.get("Authorization", "")
        user, password = credentials_of(header)
        token = header[len(BEARER) :].strip() if header.lower().startswith(BEARER) else ""
        decided: asyncio.Future[Principal | Refused] = asyncio.get_running_loop().create_future()

        def decide(who: Principal | Refused) -> None:
            if not decided.done():
                decided.set_result(who)

        transport = request.transport
        if transport is None:
            return Refused(Reason.NOT_AUTHORIZED, user, "the client has gone")
        if len(user) > ORIGIN_LENGTH_MAX:
            text = f"a user has {ORIGIN_LENGTH_MAX} characters at most"
            return Refused(Reason.NOT_AUTHORIZED, "", text)
        self._admission.ask(
            "REQUIRED",
            Hello(version=0, user=user, password=password, application=APPLICATION, token=token),
            decide,
            peer=addresses.peer_of(transport),
            remote=True,
            wanted=lambda: not decided.done() and request.transport is not None,
        )
        who = await decided
        if isinstance(who, Refused) and user and self._audit is not None:
            where = addresses.peer_of(transport).address
            self._audit.not_authenticated(user, where, APPLICATION, who)
        return who


def credentials_of(header: str) -> tuple[str, str]:
    """Return user and password of a header Authorization; both "" if it has none of Basic."""
    if not header.lower().startswith(BASIC):
        return "", ""
    try:
        text = base64.b64decode(header[len(BASIC) :].strip(), validate=True).decode()
    except ValueError:  # it is no base64, or no UTF-8, or not even ASCII
        return "", ""
    user, _, password = text.partition(":")
    return user, password
