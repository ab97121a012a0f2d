"""Who is let in: what the queue manager demands of a client that says who it is.

The queue manager's attribute connection_auth names authentication information, whose check_client
says whether clients must give a password. Passwords are checked off the event loop, one at a time:
each takes 64 MiB of memory. Without a file of users nobody is asked, but for clients of other
machines: these always need a right password.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import structlog

from adapter import watched
from adapter.core.attributes.objects import AuthInfoAttributes
from adapter.core.model.manager import QueueManager
from adapter.core.reasons import Reason
from adapter.core.results import Refused
from adapter.errors import StartError
from adapter.server.credentials import Credentials
from adapter.wire.frames import Hello

WAITING_MAX = 1_000
"""Checks that wait for their turn: more clients at once are told to come again."""

Decide = Callable[[Refused | None], None]

log = structlog.get_logger("mqk.listener")


class Admission:
    """Checks what clients say of themselves. All methods are called on the event loop's thread."""

    def __init__(self, credentials: Credentials | None = None, own: str = "") -> None:
        """own: a password by which the queue manager's own client is known."""
        self._credentials = credentials
        self._own = own
        self._executor = ThreadPoolExecutor(1, "passwords")
        self._waiting = 0

    def ask(
        self, qm: QueueManager | None, hello: Hello, decide: Decide, *, remote: bool = False
    ) -> None:
        """Have decide called with None if the client may come in, or why not; at once or later.

        remote: it comes from another machine, and whatever the queue manager demands is too little.
        """
        credentials = self._credentials
        demand = "NONE" if credentials is None else _demand(qm)
        if remote:
            demand = "REQUIRED"
        is_own = bool(self._own) and secrets.compare_digest(hello.password, self._own)
        if is_own or demand == "NONE" or (not hello.password and demand != "REQUIRED"):
            decide(None)
        elif credentials is None or not hello.password:
            decide(_refused(hello, "a user and a password must be given"))
        elif self._waiting >= WAITING_MAX:
            text = f"{WAITING_MAX} passwords are being checked"
            decide(Refused(Reason.LIMIT_REACHED, "", text))
        else:
            self._check(credentials, hello, decide)

    def close(self) -> None:
        """Check nothing more."""
        self._executor.shutdown(wait=False, cancel_futures=True)

    def _check(self, credentials: Credentials, hello: Hello, decide: Decide) -> None:
        self._waiting += 1

        def done(task: asyncio.Future[bool]) -> None:
            self._waiting -= 1
            if task.cancelled():
                return
            failure = task.exception()
            if failure is not None and not isinstance(failure, StartError):
                raise failure
            if failure is not None:
                log.error("no password can be checked", reason=str(failure))
            elif task.result():
                decide(None)
                return
            decide(_refused(hello, "user or password is wrong"))

        loop = asyncio.get_running_loop()
        given = hello.user, hello.password
        checking = loop.run_in_executor(self._executor, credentials.is_right, *given)
        watched.when_done(
            "checking a password",
            checking,
            done,
            lambda what: decide(Refused(Reason.NOT_AUTHORIZED, hello.user, what)),
        )


def _demand(qm: QueueManager | None) -> str:
    """Say what is demanded: CHCKCLNT. Where nothing says so, a password must be given."""
    if qm is None:
        return "REQUIRED"
    found = qm.objects.get(("authinfo", qm.attributes.connection_auth))
    return found.check_client if isinstance(found, AuthInfoAttributes) else "REQUIRED"


def _refused(hello: Hello, text: str) -> Refused:
    log.warning("client refused", user=hello.user, application=hello.application, reason=text)
    return Refused(Reason.NOT_AUTHORIZED, hello.user, text)
