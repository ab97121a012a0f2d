"""What a channel demands of a client that names it: TLS, a certificate, and names in that.

This module knows no connection: what a client has shown is an argument.
"""

from __future__ import annotations

import re

from adapter.core.attributes.objects import ChannelAttributes
from adapter.core.model.manager import QueueManager

NameParts = tuple[tuple[str, str], ...]
"""Parts of the subject of a certificate: CN, O, ... and the value of each, in their order."""
ANY = "*"


def why_not_by(qm: QueueManager, channel: str, *, is_encrypted: bool, subject: NameParts) -> str:
    """Say why a client may not connect by a channel; "" if it may, or the channel is not defined.

    subject: of the certificate that it has shown, empty if it has shown none. A channel without
    SSLCIPH demands nothing.
    """
    wanted = qm.objects.get(("channel", channel))
    if not isinstance(wanted, ChannelAttributes) or not wanted.ssl_cipher.strip():
        return ""
    if not is_encrypted:
        return f"channel {channel} is for clients with TLS (SSLCIPH): connect with a CipherSpec"
    if not subject:
        if wanted.ssl_client_auth == "OPTIONAL":
            return ""
        return f"channel {channel} demands a certificate (SSLCAUTH): show one"
    if not fits_subject(wanted.ssl_peer, subject):
        return f"channel {channel} is for other certificates (SSLPEER)"
    return ""


def fits_subject(pattern: str, subject: NameParts) -> bool:
    """Whether a subject has all parts that a pattern names.

    >>> fits_subject("CN=till*, O=Shop", (("O", "Shop"), ("CN", "till 7")))
    True
    >>> fits_subject("CN=till*", (("OU", "till 7"),))
    False
    """
    parts = (one.partition("=") for one in pattern.split(",") if one.strip())
    return all(
        any(
            name == part.strip().upper() and _fits(wanted.strip(), value) for name, value in subject
        )
        for part, _, wanted in parts
    )


def _fits(pattern: str, value: str) -> bool:
    parts = (re.escape(one) for one in pattern.split(ANY))
    return bool(re.fullmatch(".*".join(parts), value, re.DOTALL))
