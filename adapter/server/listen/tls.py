"""TLS of a queue manager: its certificate, which clients it asks for one, and who they are by it.

This module opens no connection; a listener does.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

from msgspec import Struct

from adapter.errors import StartError
from adapter.host import certificates, texts
from adapter.host.tls_alerts import AlertingContext

UserPart = Literal["common_name", "dns", "email", "subject"]
VERSIONS = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}
REVOCATION_LIST = b"-----BEGIN X509 CRL-----"
SPECIAL = re.compile(r'["+,;<>\\]')
CA_BYTES_MAX = 16 * 1024 * 1024
"""Some hundred thousand revoked certificates."""


class TlsSettings(Struct, kw_only=True, frozen=True):
    """Where a queue manager listens with TLS, and how. See the settings tls_* of the configuration.

    host: "" for nowhere.
    """

    host: str = ""
    port: int = 0
    certificate: str = ""
    key: str = ""
    key_password_file: str = ""
    client_ca: str = ""
    user: UserPart = "common_name"
    min_version: str = "1.3"


class ServerTls:
    """The context of a queue manager's listener. For the event loop's thread."""

    def __init__(self, settings: TlsSettings) -> None:
        """Raises StartError if a file cannot be used."""
        self._settings = settings
        paths = (settings.certificate, settings.key, settings.key_password_file, settings.client_ca)
        self._changes = texts.Changes(*(Path(path) for path in paths if path))
        self.context: AlertingContext
        self.look()

    def look(self) -> bool:
        """Read certificate and key again if a file has changed; whether that was so.

        Connections that are there stay. Raises StartError: the old ones stay in use then.
        """
        with self._changes.reading() as has_changed:
            if has_changed:
                self.context = AlertingContext(_context(self._settings))
        return has_changed

    def user_of(self, certificate: Mapping[str, Any] | None) -> str:
        """Return who a client is by the certificate that it has shown; "" if it has shown none.

        certificate: as SSLObject.getpeercert() returns it.
        """
        return user_of(certificate, self._settings.user)


SHORT: Final[Mapping[str, str]] = {
    "commonName": "CN",
    "organizationName": "O",
    "organizationalUnitName": "OU",
    "countryName": "C",
    "stateOrProvinceName": "ST",
    "localityName": "L",
    "title": "T",
    "streetAddress": "STREET",
    "postalCode": "PC",
    "domainComponent": "DC",
    "userId": "UID",
    "emailAddress": "MAIL",
    "serialNumber": "SERIALNUMBER",
}
"""The words by which rules name the parts of a certificate's names."""


def names_of(certificate: Mapping[str, Any] | None, of: str) -> tuple[tuple[str, str], ...]:
    """Return the parts of a name in a certificate, each by its short word.

    of: "subject" or "issuer".

    >>> names_of({"issuer": ((("commonName", "Our CA"),), (("countryName", "DE"),))}, "issuer")
    (('CN', 'Our CA'), ('C', 'DE'))
    """
    parts = (pair for names in (certificate or {}).get(of, ()) for pair in names)
    return tuple((_short(name), value) for name, value in parts)


def _short(name: str) -> str:
    return SHORT.get(name, name.upper())


def user_of(certificate: Mapping[str, Any] | None, part: UserPart) -> str:
    """Return a part of a certificate; "" if it has no such part."""
    if not certificate:
        return ""
    subject = [pair for names in certificate.get("subject", ()) for pair in names]
    if part == "subject":
        return name_text(certificate.get("subject", ()))
    if part == "common_name":
        return next((value for name, value in subject if name == "commonName"), "")
    kind = "DNS" if part == "dns" else "email"
    names = certificate.get("subjectAltName", ())
    return next((value for name, value in names if name == kind), "")


def name_text(name: Sequence[Sequence[tuple[str, str]]]) -> str:
    r"""Return a name of a certificate as RFC 4514 writes it, each part by its short word: different
    names have different texts.

    name: as SSLSocket.getpeercert() has it.

    >>> name_text(((("organizationName", "Shop"),), (("commonName", "till 7"),)))
    'CN=till 7,O=Shop'
    >>> name_text(((("commonName", "till 7,O=Shop"),),))
    'CN=till 7\\,O=Shop'
    """
    parts = ("+".join(f"{_short(key)}={_escape(value)}" for key, value in one) for one in name)
    return ",".join(reversed(list(parts)))


def _escape(value: str) -> str:
    """RFC 4514, 2.4."""
    text = SPECIAL.sub(r"\\\g<0>", value).replace("\0", r"\00")
    if text.startswith((" ", "#")):
        text = "\\" + text
    return text[:-1] + r"\ " if value.endswith(" ") and len(value) > 1 else text


def _context(settings: TlsSettings) -> ssl.SSLContext:
    _check_secret(settings.key or settings.certificate, "the private key")
    if settings.key_password_file:
        _check_secret(settings.key_password_file, "its password")
    try:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = VERSIONS[settings.min_version]
        context.num_tickets = 0  # no client of ours keeps a session
        password = settings.key_password_file
        certificates.load(
            *(context, settings.certificate, settings.key or None),
            Path(password) if password else None,
        )
        if settings.client_ca:
            context.load_verify_locations(settings.client_ca)
            context.verify_mode = ssl.CERT_OPTIONAL
            if REVOCATION_LIST in texts.read_bytes(Path(settings.client_ca), CA_BYTES_MAX):
                context.verify_flags |= ssl.VerifyFlags.VERIFY_CRL_CHECK_LEAF
    except (OSError, ValueError, texts.UnreadableTextError) as error:
        files = ", ".join(
            one for one in (settings.certificate, settings.key, settings.client_ca) if one
        )
        raise StartError(
            f"TLS: {files} cannot be used ({certificates.said_of(error)}): give the certificate "
            "and its key in PEM or PKCS#12, the password of the key in the file "
            "tls_key_password_file, and the authorities in PEM"
        ) from error
    return context


def _check_secret(path: str, what: str) -> None:
    try:
        Path(path).stat()
    except OSError as error:
        raise StartError(f"TLS: {path} cannot be read: {error.strerror or error}") from error
    if why := texts.why_not_private(Path(path)):
        raise StartError(f"TLS: {path} holds {what}, and {why}")
