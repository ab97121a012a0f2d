"""What `broker_use_ssl` of Celery, `ssl` of kombu, means: with or without TLS, and by which files.

A setting that is not understood is refused: ignored, it would let a password pass in the clear, or
a queue manager's certificate unlooked at. This module connects nothing.
"""

from __future__ import annotations

import ssl as python_ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import adapter
from adapter.errors import InvalidOption

ARGUMENTS: Final = {"ca_certs": "ca", "certfile": "certificate", "keyfile": "key"}
"""Names of kombu's settings, with or without ssl_ before them, and what tls_context() calls them"""
CHECKED: Final = "cert_reqs"
REQUIRED: Final = (python_ssl.CERT_REQUIRED, "CERT_REQUIRED", "required")


def tls_of(setting: object) -> object:
    """Return what connect(tls=) takes. setting: True, False or None as there, an SSLContext, a
    path, or a mapping of names in ARGUMENTS to files. Raises InvalidOption.
    """
    if not isinstance(setting, Mapping):
        return setting
    files: dict[str, str] = {}
    for given, value in setting.items():
        name = str(given).removeprefix("ssl_")
        if name == CHECKED:
            if value not in REQUIRED:
                raise InvalidOption(
                    f"ssl: {given} is {value!r}: a queue manager's certificate is always checked; "
                    f"leave {given} out, and name its authorities with ca_certs"
                )
        elif name not in ARGUMENTS:
            raise InvalidOption(
                f"ssl: {given!r} is not known: name files with {', '.join(ARGUMENTS)}, or give an "
                "ssl.SSLContext"
            )
        elif value is not None:
            if not isinstance(value, str | Path):
                raise InvalidOption(f"ssl: {given} is {value!r}: name a file")
            files[ARGUMENTS[name]] = str(value)
    return adapter.tls_context(**files)
