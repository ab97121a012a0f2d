"""Users of a directory (LDAP): whether a password is right, and which groups a user is in.

A password is right if the directory lets the user's own entry bind with it; the groups are
searched as that user, so that the queue manager has no password of its own. What a client gives is
escaped wherever it stands: in the name of the entry and in the filter. Names of entries are
compared without regard to case and blanks there, and users here are not: so a user is known by the
spelling of its entry only. An empty password is never asked about: directories accept it, as a bind
of no user.

What was right is known for KNOWN_S, so that connections made again cost the directory nothing. A
directory that does not answer is not asked again for PAUSE_S: other users wait for the same thread.
"""

from __future__ import annotations

import hmac
import re
import secrets
import ssl
import threading
import time
import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Final

from msgspec import Struct

from adapter.core.contract.parties import ORIGIN_LENGTH_MAX
from adapter.errors import StartError
from adapter.host import certificates
from adapter.server.access.ldap_settings import LdapSettings
from adapter.server.access.passwords import UsersUnavailable

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # it uses old names of pyasn1
    import ldap3
    from ldap3.core.exceptions import LDAPException, LDAPSASLPrepError
    from ldap3.protocol.sasl.sasl import sasl_prep
    from ldap3.utils.conv import escape_filter_chars
    from ldap3.utils.dn import escape_rdn

TIMEOUT_S: Final = 3
"""Of connecting, and of each answer."""
KNOWN_S: Final = 60.0
KNOWN_MAX: Final = 10_000
PAUSE_S: Final = 5.0
GROUPS_MAX: Final = 256
PLACE: Final = re.compile(r"\{dn\}|\{user\}")
REFUSALS: Final = frozenset({19, 32, 34, 48, 49, 50, 53})
"""What a directory answers of a wrong password (49), a locked or unknown user: RFC 4511."""


class KnownUser(Struct, frozen=True):
    """What a directory has said of a user. password: its digest; until_s: how long it counts."""

    password: bytes
    groups: tuple[str, ...]
    until_s: float


class CheckedTls(ldap3.Tls):  # type: ignore[misc]  # ldap3 has no types
    """TLS of Python, with the name of the directory checked by OpenSSL; ldap3 does so by itself."""

    def __init__(self, context: ssl.SSLContext) -> None:
        super().__init__(validate=ssl.CERT_REQUIRED)
        self._context = context

    def wrap_socket(self, connection: Any, do_handshake: bool = False) -> None:
        """Encrypt a connection; a failure closes it, so that nothing is sent in the clear."""
        try:
            connection.socket = self._context.wrap_socket(
                connection.socket,
                server_hostname=connection.server.host,
                do_handshake_on_connect=do_handshake,
            )
        except BaseException:
            connection.socket.close()
            raise


class LdapUsers:
    """The users of one directory. Blocking, for any thread."""

    def __init__(
        self, settings: LdapSettings, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        """Raises StartError. No connection is made."""
        self._settings = settings
        self._monotonic = monotonic
        self._attribute = settings.user_dn.partition("=")[0].strip()
        self._lock = threading.Lock()
        self._key = secrets.token_bytes()
        self._known: OrderedDict[str, KnownUser] = OrderedDict()
        self._silent_until_s = 0.0
        try:
            self._tls = CheckedTls(ssl.create_default_context(cafile=settings.ca or None))
        except (OSError, ValueError) as error:
            said = certificates.said_of(error)
            raise StartError(f"ldap_ca: {settings.ca} cannot be used ({said})") from error

    def known(self, user: str, password: str) -> bool | None:
        """Whether the password was right lately, at once; None: the directory is to be asked."""
        digest = self._digest(user, password)
        with self._lock:
            found = self._known.get(user)
            if found is None or found.password != digest or found.until_s <= self._monotonic():
                return None
            self._known.move_to_end(user)
        return True

    def is_right(self, user: str, password: str) -> bool:
        """Ask the directory. Raises UsersUnavailable."""
        if not password or not user.isprintable() or not 0 < len(user) <= ORIGIN_LENGTH_MAX:
            return False
        if not _can_be_prepared(password):
            return False
        if self._monotonic() < self._silent_until_s:
            raise UsersUnavailable(f"{self._settings.server} did not answer a moment ago")
        try:
            groups = self._ask(user, password)
        except (LDAPException, OSError) as error:
            self._silent_until_s = self._monotonic() + PAUSE_S
            raise UsersUnavailable(f"{self._settings.server}: {error}") from error
        if groups is None:
            return False
        with self._lock:
            until_s = self._monotonic() + KNOWN_S
            self._known[user] = KnownUser(self._digest(user, password), groups, until_s)
            self._known.move_to_end(user)
            if len(self._known) > KNOWN_MAX:
                self._known.popitem(last=False)
        return True

    def groups_of(self, user: str) -> tuple[str, ...]:
        """Return the groups of a user whose password was right."""
        with self._lock:
            found = self._known.get(user)
        return found.groups if found is not None else ()

    def _ask(self, user: str, password: str) -> tuple[str, ...] | None:
        """Return a user's groups; None if the user or the password is wrong."""
        name = self._settings.user_dn.replace("{}", escape_rdn(user))
        server = ldap3.Server(  # a new one: one that was reached once hides later failures
            self._settings.server, tls=self._tls, get_info=ldap3.NONE, connect_timeout=TIMEOUT_S
        )
        connection = ldap3.Connection(
            server,
            user=name,
            password=password,
            receive_timeout=TIMEOUT_S,
            auto_referrals=False,  # another directory would be given the password
            read_only=True,
        )
        try:
            if not connection.bind():
                if connection.result["result"] in REFUSALS:
                    return None
                raise UsersUnavailable(_said_of(connection, "the bind"))
            own = self._values(connection, name, "(objectClass=*)", self._attribute, ldap3.BASE)
            if user not in own:
                return None
            return self._search_groups(connection, name, user)
        finally:
            opened = connection.socket
            connection.unbind()
            if opened is not None:  # ldap3 leaves it open where connecting has failed
                opened.close()

    def _search_groups(self, connection: Any, name: str, user: str) -> tuple[str, ...]:
        settings = self._settings
        if not settings.group_base:
            return ()
        places = {"{dn}": escape_filter_chars(name), "{user}": escape_filter_chars(user)}
        wanted = PLACE.sub(lambda place: places[place[0]], settings.group_filter)
        found = self._values(connection, settings.group_base, wanted, settings.group_attribute)
        return tuple(one for one in found if 0 < len(one) <= ORIGIN_LENGTH_MAX)

    def _values(
        self, connection: Any, base: str, wanted: str, attribute: str, scope: Any = ldap3.SUBTREE
    ) -> list[str]:
        """Return an attribute of the entries that fit. Raises UsersUnavailable."""
        connection.search(
            base,
            wanted,
            search_scope=scope,
            attributes=[attribute],
            size_limit=GROUPS_MAX,
            time_limit=TIMEOUT_S,
        )
        if connection.result["result"] != 0:
            raise UsersUnavailable(_said_of(connection, f"the search in {base}"))
        entries = (one.get("raw_attributes", {}) for one in connection.response or ())
        found = (one for entry in entries for one in entry.get(attribute, ()))
        return [one.decode(errors="replace") for one in found]

    def _digest(self, user: str, password: str) -> bytes:
        parts = [one.encode(errors="surrogatepass") for one in (user, password)]
        return hmac.digest(self._key, b"".join(b"%d:%s" % (len(p), p) for p in parts), "sha256")


def _can_be_prepared(password: str) -> bool:
    """Whether a password can be sent at all: without control characters and the like (RFC 4013)."""
    try:
        sasl_prep(password)
    except LDAPSASLPrepError:
        return False
    return True


def _said_of(connection: Any, what: str) -> str:
    result = connection.result
    return f"{what} failed: {result.get('description')} {result.get('message') or ''}".rstrip()
