"""Certificates and keys in files: how both ends of TLS load them, and say what is wrong.

This module knows no connection.
"""

from __future__ import annotations

import os
import ssl

File = str | os.PathLike[str]


def load(context: ssl.SSLContext, certificate: File, key: File | None) -> None:
    """Load the certificate that an end shows. key: None if it is in the same file.

    Raises OSError, ValueError. An encrypted key is refused: OpenSSL would ask at the terminal.
    """
    context.load_cert_chain(certificate, key, _refuse_password)


def _refuse_password() -> str:
    raise ValueError("the private key is encrypted: give one that is not")


def said_of(error: Exception) -> str:
    """Say what OpenSSL, or the system, says of a failure, without where in OpenSSL it was."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the certificate is not accepted: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        return (error.reason or str(error)).replace("_", " ").lower()
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error)
