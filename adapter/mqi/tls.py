"""TLS of programs of MQ: what a CipherSpec, a key repository and a certificate label mean here.

A key repository is a file in PEM or PKCS#12: certificates of authorities, and the program's own
certificates with their private keys if it shows one. It is named by MQSCO.KeyRepository, else by
MQSSLKEYR, with or without its ending; else it is what MQK_TLS_CA names, or the authorities that the
system trusts. Its password is that of the MQSCO, else MQKEYRPWD. A .kdb of IBM MQ, and a stash, are
not read.

A label says which of several certificates is shown: that of the channel, else of the MQSCO, else of
MQCERTLABL. A certificate has its label in a line `friendlyName: LABEL` before it, as `openssl
pkcs12` writes it, or is the only one of a file LABEL.pem beside the repository. Without a label the
first certificate that has its key in the repository is shown. Of PKCS#12 only one is read. The
library that connects negotiates the cipher: of a CipherSpec the version of TLS counts.
"""

from __future__ import annotations

import logging
import os
import re
import ssl
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from adapter import mq_constants as mq
from adapter.connection.channel.tls import (
    context_by,
    context_of_store,
    key_store_of,
    password_by,
    tls_context,
)
from adapter.core.mq_layouts.blank_padded import unpadded
from adapter.errors import InvalidOption
from adapter.host import texts
from adapter.host.certificates import Password
from adapter.mqi import pointers
from adapter.mqi.reasons import MqiFailure

REPOSITORY, LABEL, PASSWORD = "MQSSLKEYR", "MQCERTLABL", "MQKEYRPWD"
ENDINGS = ("", ".pem", ".arm", ".crt", ".p12", ".pfx")
KDB = ".kdb"
ENCRYPTED = "<MQI>!"
"""What a password begins with that runmqicred has encrypted."""
SCO_VERSION_OF_PASSWORDS = 6
NO_KDB = (
    "is of the kind CMS, which only IBM's libraries read: convert it, as by `runmqakm -keydb "
    "-convert -db key.kdb -new_db key.p12 -new_format pkcs12`, and give its password in MQKEYRPWD"
)
BLOCK = re.compile(r"-----BEGIN ([A-Z ]+)-----.*?-----END \1-----", re.DOTALL)
FRIENDLY_NAME = re.compile(r"^\s*friendlyName:\s*(.*?)\s*$", re.MULTILINE)
CERTIFICATE, PRIVATE_KEY = "CERTIFICATE", "PRIVATE KEY"
FILE_BYTES_MAX = 1024 * 1024
OF_1_3 = re.compile(r"ANY_TLS13\w*|TLS_(AES|CHACHA20)_\w+")
OF_1_2 = re.compile(r"ANY(_TLS12\w*)?|(TLS|ECDHE)_\w+")

log = logging.getLogger("adapter.mqi")


class ChannelSecurity(Struct, frozen=True):
    """What a channel's definition says of TLS. cipher: "" for none. label: of a certificate."""

    cipher: str = ""
    label: str = ""


def context_of(
    channel: ChannelSecurity, sco: Mapping[str, Any] | None, environment: Mapping[str, str]
) -> ssl.SSLContext | None:
    """Return the context of a channel; None: it has no CipherSpec, and MQK_TLS_CA is not set.

    Raises MqiFailure(MQRC_UNSUPPORTED_CIPHER_SUITE, MQRC_KEY_REPOSITORY_ERROR).
    """
    cipher, given = channel.cipher, sco or {}
    named = unpadded(given.get("KeyRepository", b"")) or environment.get(REPOSITORY, "")
    label = channel.label or unpadded(given.get("CertificateLabel", b""))
    label = label or environment.get(LABEL, "")
    try:
        if not cipher:
            return context_by(None)
        if named:
            context = _of_repository(named, label, _password(given, environment))
        else:
            context = context_by(None) or tls_context()
    except InvalidOption as error:
        log.warning("MQCONN: %s", error.text)
        raise MqiFailure(mq.MQRC_KEY_REPOSITORY_ERROR) from error
    if OF_1_3.fullmatch(cipher):
        context.minimum_version = ssl.TLSVersion.TLSv1_3
    elif not OF_1_2.fullmatch(cipher):
        log.warning("MQCONN: CipherSpec %s is not of TLS 1.2 or 1.3", cipher)
        raise MqiFailure(mq.MQRC_UNSUPPORTED_CIPHER_SUITE)
    return context


def _password(sco: Mapping[str, Any], environment: Mapping[str, str]) -> Password | None:
    """Return the password of a key repository; None if none is given. Raises InvalidOption."""
    given = ""
    if sco.get("Version", 0) >= SCO_VERSION_OF_PASSWORDS and "KeyRepoPasswordPtr" in sco:
        given = pointers.text(sco["KeyRepoPasswordPtr"], sco["KeyRepoPasswordLength"])
    given = given or environment.get(PASSWORD, "")
    if given.startswith(ENCRYPTED):
        raise InvalidOption(
            "the password of the key repository is one that runmqicred has encrypted, which only "
            "IBM's libraries decrypt: give it as it is, in MQKEYRPWD or MQSCO.KeyRepoPassword"
        )
    return given or password_by(environment)


def _of_repository(named: str, label: str, password: Password | None) -> ssl.SSLContext:
    path = _file(named)
    if path is None or path.suffix == KDB:
        if path is not None or Path(named + KDB).is_file():
            raise InvalidOption(f"key repository {path or named + KDB} {NO_KDB}")
        text = f"key repository {named} is not a file in PEM or PKCS#12, nor with .pem or .p12"
        raise InvalidOption(text)
    store = key_store_of(path, password)
    if store is not None and label in ("", store.label):
        return context_of_store(store)
    text = "" if store is not None else _read(path)
    if not label:
        has_key = any(one[1].endswith(PRIVATE_KEY) for one in BLOCK.finditer(text))
        return tls_context(path, path if has_key else None, password=password)
    chosen = _blocks_of(text, label)
    if chosen is not None:
        return _with_own(path, chosen, password)
    if store is not None:
        raise InvalidOption(
            f"key repository {path} has a private key with the certificate labelled "
            f"{store.label!r}, not {label!r}: of several in PKCS#12 only the first is read"
        )
    beside = _file(str(path.parent / label))
    if beside is None:
        raise InvalidOption(
            f"key repository {path} has no certificate labelled {label!r} (a line `friendlyName: "
            f"{label}` before it), and there is no {label}.pem beside it"
        )
    return tls_context(path, beside, password=password)


def _file(named: str) -> Path | None:
    return next((one for end in ENDINGS if (one := Path(named + end)).is_file()), None)


def _read(path: Path) -> str:
    try:
        return texts.read(path, FILE_BYTES_MAX)
    except texts.UnreadableTextError as error:
        raise InvalidOption(f"key repository {path} cannot be read: {error}") from error


def _blocks_of(text: str, label: str) -> str | None:
    """Return the blocks that a label is before: certificates and keys up to the next label."""
    found, is_wanted, ended = [], False, 0
    for block in BLOCK.finditer(text):
        names = FRIENDLY_NAME.findall(text[ended : block.start()])
        is_wanted = names[-1] == label if names else is_wanted
        ended = block.end()
        if is_wanted:
            found.append(block)
    kinds = [one[1] for one in found]
    is_whole = CERTIFICATE in kinds and any(one.endswith(PRIVATE_KEY) for one in kinds)
    return "\n".join(one[0] for one in found) + "\n" if is_whole else None


def _with_own(repository: Path, own: str, password: Password | None) -> ssl.SSLContext:
    """Trust a repository's authorities, and show this certificate. OpenSSL reads it from a file,
    which only this user may read, and which is gone when this returns.
    """
    handle, name = tempfile.mkstemp(suffix=".pem")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(own)
        return tls_context(repository, name, password=password)
    finally:
        Path(name).unlink()
