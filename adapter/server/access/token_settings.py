"""The settings jwt_* of a queue manager: which tokens it accepts. This module checks none."""

from __future__ import annotations

from msgspec import Struct


class TokenSettings(Struct, kw_only=True, frozen=True):
    """Which tokens are accepted. keys: a file, or a URL; "" for no tokens at all.

    ca: file of the authorities of that URL, "" for those that the system trusts. issuer, audience:
    what a token must name. user_claim, groups_claim: its user and groups, "" for no groups.
    leeway_s: by how much the clocks of the issuer and of the queue manager may differ.
    """

    keys: str = ""
    ca: str = ""
    issuer: str = ""
    audience: str = ""
    user_claim: str = "sub"
    groups_claim: str = "groups"
    leeway_s: int = 30

    @property
    def is_url(self) -> bool:
        """Whether the keys are asked for over HTTP."""
        return self.keys.startswith(("https://", "http://"))
