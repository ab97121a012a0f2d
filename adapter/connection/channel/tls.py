"""TLS of clients: which certificates are trusted, and which one a client shows.

This module makes contexts; it opens no connection.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping
from pathlib import Path

from adapter.connection.channel import arguments as a
from adapter.errors import InvalidOption, InvalidType
from adapter.host import certificates
from adapter.host.certificates import KeyStore, Password

CA, CERTIFICATE, KEY = "MQK_TLS_CA", "MQK_TLS_CERT", "MQK_TLS_KEY"
PASSWORD, PASSWORD_FILE = "MQK_TLS_KEY_PASSWORD", "MQK_TLS_KEY_PASSWORD_FILE"
"""Variables of the environment, for programs that say nothing of TLS; options of mqk set them."""
SYSTEM = "system"
"""In place of a path: the authorities that the system trusts."""

Tls = bool | str | os.PathLike[str] | ssl.SSLContext | None
"""What connect() takes as tls=."""


def tls_context(
    ca: str | os.PathLike[str] | None = None,
    certificate: str | os.PathLike[str] | None = None,
    key: str | os.PathLike[str] | None = None,
    password: Password | None = None,
) -> ssl.SSLContext:
    """Make the context of a client, for connect(tls=).

    ca: file of the certificates of the authorities that queue managers' certificates are of, PEM;
    None: those that the system trusts. certificate: file of the certificate that this client shows,
    with those between it and its authority; key: of its private key, None if it is in the same
    file. Both may be one file of PKCS#12. password: of an encrypted key, or of PKCS#12: a text; a
    pathlib.Path, the file whose first line it is; or a function that returns it. Raises
    InvalidOption.
    """
    try:
        context = ssl.create_default_context(cafile=None if ca is None else os.fspath(ca))
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        if certificate is not None:
            certificates.load(context, certificate, key, password)
    except (OSError, ValueError) as error:
        files = ", ".join(os.fspath(one) for one in (ca, certificate, key) if one is not None)
        raise InvalidOption(
            f"tls: {files or 'the certificates of the system'} cannot be used "
            f"({certificates.said_of(error)}): give files in PEM, or the certificate and its key "
            "in PKCS#12"
        ) from error
    return context


def key_store_of(path: Path, password: Password | None) -> KeyStore | None:
    """Read a file of PKCS#12; None: it is of another kind. Raises InvalidOption."""
    try:
        if not certificates.is_store(path):
            return None
        return certificates.read_store(path, password)
    except (OSError, ValueError) as error:
        raise InvalidOption(f"tls: {path} cannot be used: {certificates.said_of(error)}") from error


def context_of_store(store: KeyStore) -> ssl.SSLContext:
    """Make the context of a client that trusts what is in a key store, and shows its certificate
    if there is a private key. Raises InvalidOption.
    """
    try:
        context = ssl.create_default_context(cadata=store.authorities())
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        if store.has_key:
            store.load_into(context)
    except (OSError, ValueError) as error:
        text = f"tls: the key store cannot be used: {certificates.said_of(error)}"
        raise InvalidOption(text) from error
    return context


def password_by(environment: Mapping[str, str]) -> Password | None:
    """Return the password of a private key, as the environment says it or names its file."""
    named = environment.get(PASSWORD_FILE, "")
    return environment.get(PASSWORD) or (Path(named) if named else None)


def context_by(tls: Tls) -> ssl.SSLContext | None:
    """Return the context that connect(tls=) means; None: no TLS. Raises InvalidType, InvalidOption.

    True: the system's authorities. A path: a file of authorities. None: as MQK_TLS_CA says, a path
    or `system`, with MQK_TLS_CERT, MQK_TLS_KEY and MQK_TLS_KEY_PASSWORD, or the file
    MQK_TLS_KEY_PASSWORD_FILE; no TLS if it is not set.
    """
    if isinstance(tls, ssl.SSLContext):
        return tls
    if tls is False:
        return None
    if tls is None:
        named = os.environ.get(CA, "")
        if not named:
            return None
        certificate, key = (os.environ.get(one) or None for one in (CERTIFICATE, KEY))
        password = password_by(os.environ)
        return tls_context(None if named == SYSTEM else named, certificate, key, password)
    if tls is True:
        return tls_context()
    if isinstance(tls, str | Path | os.PathLike):
        return tls_context(tls)
    raise InvalidType(f"tls is True, a path or an ssl.SSLContext, not {a.shown(tls)}")
