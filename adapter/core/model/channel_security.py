"""What a channel demands of a client that names it: TLS, a certificate, and names in that.

This module knows no connection: what a client has shown is an argument.
"""

from __future__ import annotations

from adapter.core.attributes.objects import ChannelAttributes
from adapter.core.model.channel_rules import fits_names
from adapter.core.model.manager import QueueManager

NameParts = tuple[tuple[str, str], ...]
"""Parts of the subject of a certificate: CN, O, ... and the value of each, in their order."""


def why_not_by(qm: QueueManager, channel: str, *, is_encrypted: bool, subject: NameParts) -> str:
    """Say why a client may not connect by a channel; "" if it may.

    subject: of the certificate that it has shown, empty if it has shown none. A channel without
    SSLCIPH demands nothing. One that is not defined may be used unless channel authentication
    records count: a client could name any to be by none of them.
    """
    wanted = qm.objects.get(("channel", channel))
    if not isinstance(wanted, ChannelAttributes):
        if qm.attributes.channel_rules != "ENABLED":
            return ""
        return (
            f"channel {channel} is not defined, and CHLAUTH is ENABLED: an administrator may "
            f"DEFINE CHANNEL({channel}) CHLTYPE(SVRCONN)"
        )
    if not wanted.ssl_cipher.strip():
        return ""
    if not is_encrypted:
        return f"channel {channel} is for clients with TLS (SSLCIPH): connect with a CipherSpec"
    if not subject:
        if wanted.ssl_client_auth == "OPTIONAL":
            return ""
        return f"channel {channel} demands a certificate (SSLCAUTH): show one"
    if not fits_names(wanted.ssl_peer, subject):
        return f"channel {channel} is for other certificates (SSLPEER)"
    return ""
