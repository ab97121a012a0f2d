"""Who may read and change the queue manager's own schema registry, and who changed what.

To read a subject needs `dsp`, to change it `chg`, in authority records of type registry; what is of
all subjects, such as the global level, a list, or a schema by its id, is the object SELF. A client
that shows no user has what the group everyone has. This module knows what a route asks for, and
not what it does.
"""

from __future__ import annotations

from typing import Any, Final

from aiohttp import web

from adapter.core.contract.authorities import CHANGE, DISPLAY, REGISTRY, SELF
from adapter.core.contract.parties import Party, Proof
from adapter.core.contract.results import Refused
from adapter.core.contract.visitors import VisitorRequest
from adapter.errors import Error
from adapter.registry.api import Route
from adapter.registry.codes import NOT_AUTHORIZED
from adapter.registry.http import reply
from adapter.server.monitor.https import FORBIDDEN, UNAVAILABLE, HttpUsers

NOT_AUTHORIZED_TEXT: Final = (
    "no authority for {what} of the schema registry: let an administrator grant it "
    "(mqk auth grant --type registry); the queue manager's log says what is missing"
)
VISITOR = web.RequestKey("visitor", Party)


class RegistryGate:
    """Lets in who may; see adapter.registry.http.Gate."""

    def __init__(self, users: HttpUsers) -> None:
        self._users = users

    async def why_not(
        self, request: web.Request, route: Route, subject: str
    ) -> web.Response | None:
        """Return the answer that refuses a request; None: it is allowed."""
        party = await self._users.party_of(request)
        if isinstance(party, Refused):
            return self._users.refusal(party)
        bits = CHANGE if route.changes else DISPLAY
        wanted = VisitorRequest(party, command_of(route), REGISTRY, subject or SELF, bits)
        judged = self._users.visitors.judge(wanted)
        if judged is None:
            text = "the queue manager is not serving requests, so that authorities are not known"
            return reply(UNAVAILABLE, {"error_code": UNAVAILABLE, "message": f"{text}: try again"})
        if judged.is_allowed and judged.party is not None:
            request[VISITOR] = judged.party
            return None
        what = f"subject {subject}" if subject else "what is of all subjects"
        text = NOT_AUTHORIZED_TEXT.format(what=what)
        if party.principal.proof is Proof.NONE and self._users.exist:
            return self._users.challenge(f"{text}. The client has shown no user")
        return reply(FORBIDDEN, {"error_code": NOT_AUTHORIZED, "message": text})

    def note(self, request: web.Request, route: Route, subject: str, outcome: Any) -> None:
        """Have on record who changed what, and what came of it."""
        said = {"outcome": "done"}
        details = {}
        if isinstance(outcome, Error):
            said = {"outcome": "refused", "reason": outcome.text}
        elif isinstance(outcome, BaseException):
            said = {"outcome": "unknown", "reason": type(outcome).__name__}
        else:
            details["answer"] = outcome
        audit = self._users.visitors.audit
        audit.visited(command_of(route), subject or SELF, request[VISITOR], said, **details)


def command_of(route: Route) -> str:
    """What is asked for, as the log and the audit call it."""
    return f"registry {route.method} {route.path}"
