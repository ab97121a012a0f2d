"""How an owner and its standbys prove to each other that they read the same ledger.

The owner draws a key when it takes over, and writes it to the ledger. Each end draws a nonce for a
connection, and shows a keyed hash of both nonces: nothing that is sent tells the key, and no proof
is of use on another connection.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Final

OWNER: Final = b"owner"
STANDBY: Final = b"standby"


def link_proof(key: bytes, role: bytes, of_standby: bytes, of_owner: bytes) -> bytes:
    """Return the proof of one end. of_standby, of_owner: the nonces."""
    return hashlib.blake2b(role + of_standby + of_owner, key=key, digest_size=32).digest()


def proves(proof: bytes, key: bytes, role: bytes, of_standby: bytes, of_owner: bytes) -> bool:
    """Whether a proof is right; none is without a key."""
    return bool(key) and hmac.compare_digest(proof, link_proof(key, role, of_standby, of_owner))
