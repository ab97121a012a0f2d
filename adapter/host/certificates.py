"""Certificates and keys in files: how both ends of TLS load them, and say what is wrong.

A file is in PEM, where the private key may be encrypted, or a key store: PKCS#12, which only the
package cryptography reads. OpenSSL loads a private key from a file alone; that of a key store is
written for it with a password drawn for this once, and the file is gone a moment later.

This module knows no connection.
"""

from __future__ import annotations

import os
import secrets
import ssl
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from adapter.host import texts

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12KeyAndCertificates
    from cryptography.x509 import Certificate

File = str | os.PathLike[str]
Password = str | os.PathLike[str] | Callable[[], str]
"""Of a private key: the password, the file that has it, or a function that returns it."""
DER_SEQUENCE: Final = b"\x30"
"""What PKCS#12 begins with; PEM is text."""
STORE_BYTES_MAX: Final = 1024 * 1024
PASSWORD_BYTES_MAX: Final = 1024
"""What OpenSSL takes."""
NO_PACKAGE: Final = (
    "PKCS#12 needs the package cryptography: pip install 'mqk[pkcs12]', or convert the file: "
    "openssl pkcs12 -in FILE -out FILE.pem"
)


class KeyStore:
    """What is in a file of PKCS#12. label: the friendly name of its own certificate."""

    def __init__(self, content: PKCS12KeyAndCertificates) -> None:
        self._content = content
        own = content.cert
        self.has_key = content.key is not None and own is not None
        name = own.friendly_name if own is not None else None
        self.label = "" if name is None else name.decode("utf-8", "replace")

    def load_into(self, context: ssl.SSLContext) -> None:
        """Let a context show the store's own certificate. Raises OSError, ValueError."""
        from cryptography.hazmat.primitives import serialization as s  # noqa: PLC0415

        key: Any = self._content.key
        if key is None or self._content.cert is None:
            raise ValueError("there is no certificate with its private key in it")
        secret = secrets.token_urlsafe(32)
        encrypted = s.BestAvailableEncryption(secret.encode())
        blocks = [key.private_bytes(s.Encoding.PEM, s.PrivateFormat.PKCS8, encrypted)]
        blocks += [one.public_bytes(s.Encoding.PEM) for one in self._chain()]
        handle, name = tempfile.mkstemp(suffix=".pem")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(b"".join(blocks))
            context.load_cert_chain(name, None, secret)
        finally:
            Path(name).unlink()

    def authorities(self) -> bytes:
        """Return the certificates that it trusts, in DER: all that are in it."""
        from cryptography.hazmat.primitives.serialization import Encoding  # noqa: PLC0415

        own = [self._content.cert] if self._content.cert is not None else []
        every = [*own, *self._content.additional_certs]
        return b"".join(one.certificate.public_bytes(Encoding.DER) for one in every)

    def _chain(self) -> Iterator[Certificate]:
        """Return its own certificate, and those between it and its authority."""
        assert self._content.cert is not None, "it has a key, whose certificate this is"
        others = [one.certificate for one in self._content.additional_certs]
        last: Certificate | None = self._content.cert.certificate
        while last is not None:
            yield last
            wanted, of = last.issuer, last.subject
            found = [one for one in others if one.subject == wanted and one.issuer != one.subject]
            last = next(iter(found), None) if wanted != of else None
            others = [one for one in others if one is not last]


def load(
    context: ssl.SSLContext,
    certificate: File,
    key: File | None,
    password: Password | None = None,
) -> None:
    """Load the certificate that an end shows. key: None if it is in the same file.

    password: of an encrypted key, or of PKCS#12. Raises OSError, ValueError.
    """
    if is_store(certificate):
        if key is not None:
            raise ValueError("a file of PKCS#12 has the private key too: name no other one")
        read_store(certificate, password).load_into(context)
        return
    if key is not None and is_store(key):
        raise ValueError("the private key is in PKCS#12: name this file as the certificate")
    asked = []

    def answer() -> str:
        asked.append(True)
        if password is None:
            raise ValueError("the private key is encrypted: give its password too")
        return password_of(password)

    try:
        context.load_cert_chain(certificate, key, answer)
    except ssl.SSLError as error:
        if asked:
            raise ValueError("the password is not that of the private key") from error
        raise


def is_store(path: File) -> bool:
    """Whether a file looks like PKCS#12. Raises OSError."""
    with Path(path).open("rb") as file:
        return file.read(1) == DER_SEQUENCE


def read_store(path: File, password: Password | None) -> KeyStore:
    """Read a file of PKCS#12. Raises ValueError."""
    try:
        from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415
        from cryptography.hazmat.primitives.serialization import pkcs12  # noqa: PLC0415
    except ImportError as missing:
        raise ValueError(NO_PACKAGE) from missing
    try:
        content = texts.read_bytes(Path(path), STORE_BYTES_MAX)
    except texts.UnreadableTextError as error:
        raise ValueError(str(error)) from error
    given = None if password is None else password_of(password).encode()
    try:
        return KeyStore(pkcs12.load_pkcs12(content, given))
    except UnsupportedAlgorithm as error:
        raise ValueError(
            "it is encrypted in a way that is not used any more: make it anew by openssl pkcs12"
        ) from error
    except (ValueError, TypeError) as error:
        lacking = "it needs a password" if given is None else "the password is not its own"
        raise ValueError(f"{lacking}, or it is no PKCS#12") from error


def password_of(given: Password) -> str:
    """Return a password. Raises ValueError, or what the function raises.

    In a file it is the first line, and the file must be its owner's alone.
    """
    if isinstance(given, os.PathLike):
        path = Path(given)
        try:
            content = texts.read(path, PASSWORD_BYTES_MAX)
        except texts.UnreadableTextError as error:
            raise ValueError(f"the password's file {path} cannot be read: {error}") from error
        if why := texts.why_not_private(path):
            raise ValueError(f"{path} holds a password, and {why}")
        found: object = content.split("\n", 1)[0].removesuffix("\r")
    else:
        found = given if isinstance(given, str) else given()
    if not isinstance(found, str):
        raise ValueError(f"a password is a text, not of the type {type(found).__name__}")
    if not found:
        raise ValueError("the password is empty")
    return found


def said_of(error: Exception) -> str:
    """Say what OpenSSL, or the system, says of a failure, without where in OpenSSL it was."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the certificate is not accepted: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        return (error.reason or str(error)).replace("_", " ").lower()
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error)
