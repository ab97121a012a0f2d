"""HTTP with TLS, and who its clients are: what of a queue manager other machines may ask for.

The certificate is the queue manager's. This module must not know what is served.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable
from typing import Final

from aiohttp import web

from adapter.core.contract.parties import ORIGIN_LENGTH_MAX, Party, Principal
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Refused
from adapter.core.contract.visitors import VisitorRequest
from adapter.host import addresses, watched
from adapter.host.web import HttpListener
from adapter.server.access.admission import Admission
from adapter.server.access.audit import AuditTrail
from adapter.server.access.claim import Claim
from adapter.server.listen.tls import ServerTls, names_of
from adapter.server.listen.tls_listener import TlsListener
from adapter.server.monitor.visitors import Visitors

APPLICATION = "HTTP client"
BASIC = "basic "
BEARER = "bearer "
REQUIRED = "REQUIRED"
NOT_LET_IN = "the queue manager's channel rules do not let you in: its log says which"
UNAUTHORIZED, FORBIDDEN, TOO_MANY, UNAVAILABLE = 401, 403, 429, 503
STATUS_OF: Final[dict[int, int]] = {
    Reason.QUEUE_MANAGER_NOT_AVAILABLE: UNAVAILABLE,
    Reason.LIMIT_REACHED: TOO_MANY,
}
"""Of refusals that a login does not help against."""
PROVEN = web.RequestKey("proven", Party)
"""Who is at the other end of a request, of prove()."""
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
    """Knows clients by a certificate, a password or a token, and lets in those that may."""

    def __init__(self, queue_manager: str, admission: Admission, visitors: Visitors) -> None:
        """visitors: says what users may do, and has on record who was refused."""
        self.visitors = visitors
        self._challenge = {"WWW-Authenticate": f'Basic realm="{queue_manager}", charset="UTF-8"'}
        self._admission = admission

    @property
    def exist(self) -> bool:
        """Whether anybody can log in."""
        return self._admission.has_logins

    @web.middleware
    async def prove(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Answer 401 to who is no user, and 429 where too many wrong passwords were given."""
        party = await self._ask(request, REQUIRED, remote=True)
        if isinstance(party, Refused):
            return self.refusal(party)
        request[PROVEN] = party
        return await handler(request)

    @web.middleware
    async def check(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Do so, and answer 403 to whom channel rules refuse."""

        async def judge(proven: web.Request) -> web.StreamResponse:
            judged = self.visitors.judge(VisitorRequest(proven[PROVEN], request.path))
            if judged is not None and not judged.is_allowed:
                return _error(FORBIDDEN, NOT_LET_IN)
            return await handler(proven)

        return await self.prove(request, judge)

    def refusal(self, refused: Refused) -> web.Response:
        """Return the answer to a client that is refused."""
        status = STATUS_OF.get(refused.reason)
        return self.challenge(refused.detail) if status is None else _error(status, refused.detail)

    def challenge(self, text: str) -> web.Response:
        """Return the answer that asks a client to log in."""
        return _error(UNAUTHORIZED, text, self._challenge)

    async def party_of(self, request: web.Request) -> Party | Refused:
        """Return who a client is: as prove() found; else it is of this machine, where a password is
        demanded as the queue manager's CHCKCLNT says.
        """
        proven: Party | None = request.get(PROVEN)
        if proven is not None:
            return proven
        demanded = self.visitors.password_check
        if demanded is not None:
            return await self._ask(request, demanded, remote=False)
        if not self.exist or "Authorization" in request.headers:
            return await self._ask(request, REQUIRED, remote=False)
        text = "the queue manager is not serving requests: give a user and a password, or try again"
        return Refused(Reason.QUEUE_MANAGER_NOT_AVAILABLE, "", text)

    async def _ask(self, request: web.Request, demanded: str, *, remote: bool) -> Party | Refused:
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
        peer = addresses.peer_of(transport)
        self._admission.ask(
            demanded,
            Claim(user=user, password=password, token=token, application=APPLICATION),
            decide,
            peer=peer,
            remote=remote,
            wanted=lambda: not decided.done() and request.transport is not None,
        )
        who = await decided
        if isinstance(who, Principal):
            names = (names_of(peer.certificate, one) for one in ("subject", "issuer"))
            return Party(APPLICATION, who, peer.address, 0, "", peer.host, *names)
        if header or peer.certificate:  # who gives nothing is only asked for something
            self.visitors.audit.not_authenticated(user, peer.address, APPLICATION, who)
        return who


def _error(status: int, text: str, headers: dict[str, str] | None = None) -> web.Response:
    """Return an answer that refuses, in the words of the schema registry's API."""
    answer = {"error_code": status, "message": text}
    return web.json_response(answer, status=status, headers=headers)


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
