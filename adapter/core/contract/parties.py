"""Parties: who is at the other end of a connection."""

from __future__ import annotations

from enum import Enum
from typing import Final

from msgspec import Struct

ORIGIN_LENGTH_MAX: Final = 64
"""Characters of a user and of an application, here and in messages."""


class Proof(Enum):
    """How the queue manager knows who a client is."""

    NONE = "none"
    """By the client's own word alone."""
    PASSWORD = "password"  # noqa: S105 -- a kind of proof
    CERTIFICATE = "certificate"
    """By a certificate, of an authority that the queue manager trusts."""
    PEER = "peer"
    """The operating system says which account is at the other end of the Unix-domain socket."""
    OPERATOR = "operator"
    """Likewise, and it is root or the account of the queue manager: it may name any user."""
    OWN = "own"
    """It is a part of the queue manager itself."""
    MAPPED = "mapped"
    """A channel authentication record says which user counts."""
    CONTEXT = "context"
    """Such a part acts for the user that the context of a message names."""


class Principal(Struct, frozen=True):
    """Who a client is, as the queue manager knows it. user: "" if it names none.

    groups: of the user, as the operating system says. Only the server makes one: what a client says
    of itself becomes its user if there is no proof.
    """

    user: str = ""
    proof: Proof = Proof.NONE
    groups: tuple[str, ...] = ()

    @property
    def is_authenticated(self) -> bool:
        """Whether there is more than the word of a client."""
        return self.proof not in (Proof.NONE, Proof.CONTEXT)

    @property
    def is_privileged(self) -> bool:
        """Whether it may do everything: an operator here, or a part of the queue manager."""
        return self.proof in (Proof.OPERATOR, Proof.OWN)


NOBODY: Final = Principal()


class Party(Struct):
    """Who a connection is, as its client and its listener say. since_ms: when it was made.

    application: as the client says. channel: the name by which it connects, "" if it names none.
    host: its address without a port; "": it came by no network. peer, issuer: the names in its
    certificate, each part by its short word: CN, O, ...
    """

    application: str = ""
    principal: Principal = NOBODY
    address: str = ""
    since_ms: int = 0
    channel: str = ""
    host: str = ""
    peer: tuple[tuple[str, str], ...] = ()
    issuer: tuple[tuple[str, str], ...] = ()

    @property
    def user(self) -> str:
        """The user that it is."""
        return self.principal.user
