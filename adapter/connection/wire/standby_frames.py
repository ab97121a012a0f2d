"""Frames of the link by which a standby introduces itself to the owner of its queue manager.

A standby connects where clients do. Its first frame is a StandbyHello; the owner answers with a
StandbyChallenge. From then on the standby reports, and each report is answered by an order. Both
ends prove that they read the same ledger: they know a key that is in it. This module knows no
bytes: see codec.
"""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import Meta, Struct

from adapter.connection.wire.frames import Text

LINK_VERSION: Final = 1
NONCE_BYTES: Final = 16
PRIORITY_MAX: Final = 9

Nonce = Annotated[bytes, Meta(min_length=NONCE_BYTES, max_length=NONCE_BYTES)]
"""Random bytes, drawn by one end for this connection."""
LinkProof = Annotated[bytes, Meta(max_length=64)]
"""That its sender knows the key: a keyed hash of both nonces."""


class StandbyHello(Struct, array_like=True, tag=6, kw_only=True):
    """A standby's first frame. version: of the link."""

    version: int
    queue_manager: Text
    nonce: Nonce


class StandbyChallenge(Struct, array_like=True, tag=7, kw_only=True):
    """The owner's answer: it knows the key, and asks whether the standby does."""

    nonce: Nonce
    proof: LinkProof


class StandbyReport(Struct, array_like=True, tag=8, kw_only=True):
    """What a standby says of itself, again and again. proof: needed in the first one only.

    address, tls_address: where clients reach it, and where they do with TLS; "" for nowhere.
    next_offset: of the ledger, which it applies next. is_prepared: it has done what it can do
    before it takes over.
    """

    name: Text
    address: Text
    tls_address: Text = ""
    priority: Annotated[int, Meta(ge=0, le=PRIORITY_MAX)] = 0
    next_offset: Annotated[int, Meta(ge=0)] = 0
    is_prepared: bool = False
    proof: LinkProof = b""


class StandbyOrder(Struct, array_like=True, tag=9, kw_only=True):
    """The owner's answer to a report: it lives.

    end_offset: of the ledger, after the owner's last durable record. ahead: how many standbys go
    before this one, if the owner ends. prepare: the owner is about to hand over to this one.
    """

    end_offset: int
    ahead: int = 0
    prepare: bool = False


StandbyFrame = StandbyHello | StandbyReport
