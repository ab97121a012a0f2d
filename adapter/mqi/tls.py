"""TLS of programs of MQ: what a CipherSpec and a key repository mean here.

A key repository is a file in PEM: certificates of authorities, and the program's own certificate
with its private key if it shows one. It is named by MQSCO.KeyRepository, else by MQSSLKEYR, with or
without its ending; else it is what MQK_TLS_CA names, or the authorities that the system trusts. The
library that connects negotiates the cipher: of a CipherSpec the version of TLS counts.
"""

from __future__ import annotations

import logging
import re
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from adapter import mq_constants as mq
from adapter.certificates import said_of
from adapter.channel.tls import context_by, tls_context
from adapter.core.mq_layouts.blank_padded import unpadded
from adapter.errors import InvalidOption
from adapter.mqi.reasons import MqiFailure

REPOSITORY = "MQSSLKEYR"
ENDINGS = ("", ".pem", ".arm", ".crt")
PRIVATE_KEY = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")
FILE_BYTES_MAX = 1024 * 1024
OF_1_3 = re.compile(r"ANY_TLS13\w*|TLS_(AES|CHACHA20)_\w+")
OF_1_2 = re.compile(r"ANY(_TLS12\w*)?|(TLS|ECDHE)_\w+")

log = logging.getLogger("adapter.mqi")


def context_of(
    cipher: str, sco: Mapping[str, Any] | None, environment: Mapping[str, str]
) -> ssl.SSLContext | None:
    """Return the context of a channel; None: it has no CipherSpec, and MQK_TLS_CA is not set.

    Raises MqiFailure(MQRC_UNSUPPORTED_CIPHER_SUITE, MQRC_KEY_REPOSITORY_ERROR).
    """
    named = "" if sco is None else unpadded(sco.get("KeyRepository", b""))
    named = named or environment.get(REPOSITORY, "")
    try:
        if not cipher:
            return context_by(None)
        context = _of_repository(named) if named else context_by(None) or tls_context()
    except InvalidOption as error:
        log.warning("MQCONN: %s", error.text)
        raise MqiFailure(mq.MQRC_KEY_REPOSITORY_ERROR) from error
    if OF_1_3.fullmatch(cipher):
        context.minimum_version = ssl.TLSVersion.TLSv1_3
    elif not OF_1_2.fullmatch(cipher):
        log.warning("MQCONN: CipherSpec %s is not of TLS 1.2 or 1.3", cipher)
        raise MqiFailure(mq.MQRC_UNSUPPORTED_CIPHER_SUITE)
    return context


def _of_repository(named: str) -> ssl.SSLContext:
    for ending in ENDINGS:
        path = Path(named + ending)
        if path.is_file():
            return tls_context(path, path if _has_key(path) else None)
    raise InvalidOption(f"key repository {named} is not a file in PEM, nor are those with .pem")


def _has_key(path: Path) -> bool:
    try:
        with path.open("r", encoding="utf-8", errors="replace") as file:
            return PRIVATE_KEY.search(file.read(FILE_BYTES_MAX)) is not None
    except OSError as error:
        raise InvalidOption(f"key repository {path} cannot be read: {said_of(error)}") from error
