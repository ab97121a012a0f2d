"""Who may connect: what the queue manager demands of a client that says who it is.

demand() is the one rule. Passwords are checked off the event loop, one at a time: each takes a core
for a moment and 64 MiB of memory; the order, and pauses after wrong ones, are those of guesses. A
password that was checked before is known again at once, so that guessers do not delay the users
that are there.

A client that gives a token is whom that names, whatever else it says; a wrong one is never ignored.

A client that has shown a certificate of an authority that the queue manager trusts is the user that
this names, unless it gives a password.

Without a password, a client at the Unix-domain socket is the account that the operating system
names, whatever user it says it is; root and the account of the queue manager may name any user.
Where authorities are checked these two are let in without a password in any case: else no client
could grant the first authority.
"""

from __future__ import annotations

import asyncio
import grp
import os
import pwd
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Literal

import structlog
from msgspec import Struct

from adapter.core.contract.parties import ORIGIN_LENGTH_MAX, Principal, Proof
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Refused
from adapter.errors import StartError
from adapter.host import watched
from adapter.host.addresses import HERE, Peer
from adapter.server.access.claim import Claim
from adapter.server.access.guesses import GUESS_BOUNDS, Attempt, GuessBounds, Guesses, network_of
from adapter.server.access.passwords import PasswordCheck, UsersUnavailable
from adapter.server.access.token_port import TokenCheck

UserOf = Callable[[Mapping[str, Any]], str]
Decide = Callable[[Principal | Refused], None]
Demand = Literal["nothing", "a right one if given", "a right one"]
"""What is demanded of a client's password."""

DEMANDS: dict[str, Demand] = {
    "NONE": "nothing",
    "OPTIONAL": "a right one if given",
    "REQUIRED": "a right one",
    # Of administrators. Where no authorities are checked, every client may administer; where they
    # are, a client that has proven nothing names any user, so it cannot be told from one that may.
    "REQDADM": "a right one",
}
"""By CHCKCLNT."""

log = structlog.get_logger("mqk.listener")


def demand(password_check: str, *, has_users: bool, remote: bool) -> Demand:
    """Return what is demanded of a client's password.

    password_check: CHCKCLNT of the queue manager's CONNAUTH, "" if it names no object.
    has_users: there is a credentials_file; without one no client of this machine is asked, and with
    one CHCKCLNT decides. remote: the client is on another machine;
    it needs a right password whatever is said elsewhere.
    """
    if remote:
        return "a right one"
    if not has_users:
        return "nothing"
    return DEMANDS.get(password_check, "a right one")


def principal_of(user: str, peer: Peer) -> Principal:
    """Return who a client is that has given no password. user: as it says, "" if it names none."""
    if peer.uid is None:
        return Principal(user)
    if peer.uid in (0, os.geteuid()):
        return Principal(user or _account(peer.uid), Proof.OPERATOR)
    return Principal(_account(peer.uid), Proof.PEER, _groups(peer.uid))


def _account(uid: int) -> str:
    """Return the name of an account; one that has no name is known by its number."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid:{uid}"


def _groups(uid: int) -> tuple[str, ...]:
    """Return the groups of an account, as the system has them; one without a name is left out."""
    try:
        account = pwd.getpwuid(uid)
    except KeyError:
        return ()
    names = []
    for gid in os.getgrouplist(account.pw_name, account.pw_gid):
        with suppress(KeyError):
            names.append(grp.getgrgid(gid).gr_name)
    return tuple(names)


class AdmissionRequest(Struct, frozen=True, eq=False):
    """A client that waits for a decision."""

    claim: Claim
    decide: Decide


class Admission:
    """Checks what clients say of themselves. All methods are called on the event loop's thread."""

    def __init__(
        self,
        credentials: PasswordCheck | None = None,
        bounds: GuessBounds = GUESS_BOUNDS,
        user_of: UserOf | None = None,
        *,
        admits_operators: bool = False,
        tokens: TokenCheck | None = None,
    ) -> None:
        """user_of: says who a client is by the certificate that it has shown. admits_operators:
        those that the operating system shows need no password, whatever is demanded of others.
        tokens: checks tokens; None: none is accepted.
        """
        self._tokens = tokens
        self._admits_operators = admits_operators
        self._credentials = credentials
        self._user_of = user_of
        self._lookups = ThreadPoolExecutor(1, "known passwords")
        self._checks = ThreadPoolExecutor(1, "passwords")
        self._guesses: Guesses[AdmissionRequest] = Guesses(bounds, _refuse_attempt)
        self._checking = False
        self._is_closed = False
        self._timer: asyncio.TimerHandle | None = None

    @property
    def has_users(self) -> bool:
        """Whether there is a file of users."""
        return self._credentials is not None

    @property
    def has_logins(self) -> bool:
        """Whether a program of another machine can be a user, by whatever it shows."""
        return bool(self._credentials or self._tokens or self._user_of)

    def ask(
        self,
        password_check: str,
        claim: Claim,
        decide: Decide,
        *,
        peer: Peer = HERE,
        remote: bool = False,
        wanted: Callable[[], bool] = lambda: True,
    ) -> None:
        """Have decide called with who the client is, or with why it may not connect.

        That is at once or later. password_check: see demand(). peer: where it connects from.
        remote: that is another machine. wanted: whether it is still there.
        """
        if self._is_closed:
            decide(_refused(claim, "the queue manager is stopping"))
            return
        if claim.token:
            self._ask_token(claim, decide, in_clear=remote and not peer.is_encrypted)
            return
        if peer.certificate is not None and self._user_of is not None and not claim.password:
            user = self._user_of(peer.certificate)
            if not user:
                decide(_refused(claim, "its certificate names no user as tls_user says"))
            elif len(user) > ORIGIN_LENGTH_MAX:  # cut off, two names would be one user
                text = f"the user that its certificate names has more than {ORIGIN_LENGTH_MAX} "
                decide(_refused(claim, text + "characters: see tls_user"))
            else:
                decide(Principal(user, Proof.CERTIFICATE))
            return
        known = principal_of(claim.user, peer)
        if self._admits_operators and known.is_privileged and not claim.password:
            decide(known)
            return
        credentials = self._credentials
        has_users = credentials is not None or self._tokens is not None
        demanded = demand(password_check, has_users=has_users, remote=remote)
        if demanded == "nothing" or (not claim.password and demanded != "a right one"):
            decide(known)
        elif credentials is None or not claim.password:
            needed = "a user and a password" if self._tokens is None else "a password or a token"
            decide(_refused(claim, f"{needed} must be given"))
        else:
            asked = AdmissionRequest(claim, decide)
            self._look_up(credentials, Attempt(network_of(peer.host), claim.user, asked, wanted))

    def close(self) -> None:
        """Check nothing more: who asks is refused."""
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        for executor in (self._lookups, self._checks):
            executor.shutdown(wait=False, cancel_futures=True)
        if self._tokens is not None:
            self._tokens.close()

    def _ask_token(self, claim: Claim, decide: Decide, *, in_clear: bool) -> None:
        """Have a token checked. in_clear: others may have read it on its way."""
        if claim.password:
            decide(_refused(claim, "a password and a token were given: give one of them"))
        elif self._tokens is None:
            decide(_refused(claim, "this queue manager accepts no tokens: jwt_keys is not set"))
        elif in_clear:
            text = "a token came over a network in the clear: connect with TLS, and get a new one"
            decide(_refused(claim, text))
        else:

            def checked(found: Principal | str) -> None:
                decide(_refused(claim, found) if isinstance(found, str) else found)

            self._tokens.ask(claim.token, checked)

    def _look_up(self, credentials: PasswordCheck, attempt: Attempt[AdmissionRequest]) -> None:
        """Ask whether the password has been checked before; have it checked if not."""

        def found(known: bool | None) -> None:
            if known is not None:
                self._decide(attempt, known)
                return
            refused = self._guesses.add(attempt, self._now_s())
            if refused:
                _refuse_attempt(attempt, refused)
            self._check_next()

        self._run(self._lookups, credentials.known, attempt, found)

    def _check_next(self) -> None:
        """Have the next password checked, now or when it is due, unless one is being checked."""
        credentials = self._credentials
        if self._checking or credentials is None or self._is_closed:
            return
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        attempt = self._guesses.take(self._now_s())
        if attempt is not None:
            self._check(credentials, attempt)
        elif (due_s := self._guesses.next_s()) is not None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_at(due_s, self._check_next)

    def _check(self, credentials: PasswordCheck, attempt: Attempt[AdmissionRequest]) -> None:
        self._checking = True

        def checked(is_right: bool | None) -> None:
            self._checking = False
            if is_right is None:
                text = "users cannot be checked now: the queue manager's log has the reason"
                attempt.what.decide(_refused(attempt.what.claim, text))
            else:
                if is_right:
                    self._guesses.right(attempt)
                else:
                    self._guesses.wrong(attempt, self._now_s())
                self._decide(attempt, is_right)
            self._check_next()

        self._run(self._checks, credentials.is_right, attempt, checked)

    def _run(
        self,
        executor: ThreadPoolExecutor,
        question: Callable[[str, str], bool | None],
        attempt: Attempt[AdmissionRequest],
        answered: Callable[[bool | None], None],
    ) -> None:
        """Ask in a thread. A file that cannot be read admits no client; None: no answer came."""

        def done(task: asyncio.Future[bool | None]) -> None:
            if task.cancelled():
                return
            failure = task.exception()
            if isinstance(failure, UsersUnavailable):
                log.error("no password can be checked", reason=str(failure))
                answered(None)
                return
            if failure is not None:
                unforeseen = None if isinstance(failure, StartError) else failure
                log.error("no password can be checked", reason=str(failure), exc_info=unforeseen)
            answered(False if failure is not None else task.result())

        claim, decide = attempt.what.claim, attempt.what.decide
        loop = asyncio.get_running_loop()
        watched.when_done(
            "checking a password",
            loop.run_in_executor(executor, question, claim.user, claim.password),
            done,
            lambda what: decide(Refused(Reason.NOT_AUTHORIZED, claim.user, what)),
        )

    def _decide(self, attempt: Attempt[AdmissionRequest], is_right: bool) -> None:
        asked = attempt.what
        if is_right:
            user, credentials = asked.claim.user, self._credentials
            groups = credentials.groups_of(user) if credentials is not None else ()
            asked.decide(Principal(user, Proof.PASSWORD, groups))
        else:
            asked.decide(_refused(asked.claim, "user or password is wrong"))

    def _now_s(self) -> float:
        return asyncio.get_running_loop().time()


def _refuse_attempt(attempt: Attempt[AdmissionRequest], why: str) -> None:
    log.warning("client refused", user=attempt.what.claim.user, reason=why)
    attempt.what.decide(Refused(Reason.LIMIT_REACHED, "", why))


def _refused(claim: Claim, text: str) -> Refused:
    user = "" if claim.token else claim.user  # beside a token it is no claim of the client
    log.warning("client refused", user=user, application=claim.application, reason=text)
    return Refused(Reason.NOT_AUTHORIZED, user, text)
