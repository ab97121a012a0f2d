"""Public keys that tokens are checked by: read from a file or a URL, each with its algorithms.

A key is PEM (a public key or a certificate), or an entry of a JSON Web Key Set. What a key may
verify follows from its kind, never from what a token says: so a token cannot choose `none`, nor
take a public key for the secret of an HMAC. Shared secrets are no keys here at all: a queue
manager that checks tokens by one could make them. This module knows no token, and opens no
connection.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm
from msgspec import Struct

KEYS_BYTES_MAX = 1024 * 1024
KEYS_MAX = 256
"""Of one file or URL; each that fits is tried for a token that names none."""
RSA_BITS_MIN = 2048
OF_RSA = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
OF_CURVE = {"secp256r1": ("ES256",), "secp384r1": ("ES384",), "secp521r1": ("ES512",)}
OF_EDWARDS = ("EdDSA",)
READERS: dict[str, type[RSAAlgorithm | ECAlgorithm | OKPAlgorithm]] = {
    "RSA": RSAAlgorithm,
    "EC": ECAlgorithm,
    "OKP": OKPAlgorithm,
}
PEM = re.compile(rb"-----BEGIN ([A-Z ]+)-----.*?-----END \1-----", re.DOTALL)
CERTIFICATE = b"CERTIFICATE"
PRIVATE = b"PRIVATE KEY"

PublicKey = (
    rsa.RSAPublicKey | ec.EllipticCurvePublicKey | ed25519.Ed25519PublicKey | ed448.Ed448PublicKey
)


class KeyUnusable(ValueError):  # noqa: N818 -- an error's text, which is put together elsewhere
    """No token is checked by this; the text says why."""


class TokenKey(Struct, frozen=True):
    """One public key. ident: by which tokens name it (`kid`), "" for none; algorithms: of JWA."""

    ident: str
    key: PublicKey
    algorithms: tuple[str, ...]


def parse(content: bytes) -> list[TokenKey]:
    """Read the keys of a file or an answer. Raises KeyUnusable if no key is among them.

    Entries of a set that are of no use here are left out: sets have keys for other purposes too.
    """
    if content.lstrip().startswith(b"{"):
        found, faults = _of_set(content)
    else:
        found, faults = [_of_pem(kind, text) for kind, text in _blocks(content)], []
    if not found:
        why = f" ({'; '.join(faults[:3])})" if faults else ""
        raise KeyUnusable(f"it has no public key of RSA, EC or Ed25519 in PEM or as a JWK{why}")
    if len(found) > KEYS_MAX:
        raise KeyUnusable(f"it has {len(found)} keys, and {KEYS_MAX} are the most")
    return found


def _blocks(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    for block in PEM.finditer(content):
        yield block[1], block[0]


def _of_pem(kind: bytes, text: bytes) -> TokenKey:
    if kind.endswith(PRIVATE):
        raise KeyUnusable("it has a private key: a queue manager needs the public one only")
    try:
        if kind == CERTIFICATE:
            return _token_key(x509.load_pem_x509_certificate(text).public_key())
        return _token_key(load_pem_public_key(text))
    except KeyUnusable:
        raise
    except Exception as error:  # cryptography raises whatever its parts raise
        raise KeyUnusable(f"a key in PEM cannot be read: {error}") from error


def _of_set(content: bytes) -> tuple[list[TokenKey], list[str]]:
    """Return the keys of a set, or of one key, and why others of it are of no use."""
    try:
        read = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise KeyUnusable(f"it is no JSON: {error}") from error
    entries = read.get("keys", [read])
    if not isinstance(entries, list):
        raise KeyUnusable("it is no set of keys: `keys` is not a list")
    found, faults = [], []
    for entry in entries:
        try:
            found.append(_of_entry(entry))
        except KeyUnusable as fault:
            faults.append(str(fault))
    return found, faults


def _of_entry(entry: object) -> TokenKey:
    if not isinstance(entry, Mapping):
        raise KeyUnusable("an entry is no key")
    kind, ident = entry.get("kty"), entry.get("kid", "")
    operations = entry.get("key_ops", ["verify"])
    is_for_signatures = isinstance(operations, list) and "verify" in operations
    if entry.get("use", "sig") != "sig" or not is_for_signatures:
        raise KeyUnusable(f"key {ident!r} is not for signatures")
    if "d" in entry:
        raise KeyUnusable(f"key {ident!r} is a private key")
    reader = READERS.get(str(kind))
    if reader is None or not isinstance(ident, str):
        raise KeyUnusable(f"key {ident!r} is of the kind {kind!r}")
    try:
        key = _token_key(reader.from_jwk(dict(entry)), ident)
    except KeyUnusable:
        raise
    except Exception as error:  # as above
        raise KeyUnusable(f"key {ident!r} cannot be read: {error}") from error
    named = entry.get("alg")
    if named is None:
        return key
    if named not in key.algorithms:
        raise KeyUnusable(f"key {ident!r} does not fit its algorithm {named!r}")
    return TokenKey(ident, key.key, (str(named),))


def _token_key(key: Any, ident: str = "") -> TokenKey:
    """Say which algorithms a key verifies. Raises KeyUnusable."""
    if isinstance(key, rsa.RSAPublicKey):
        if key.key_size < RSA_BITS_MIN:
            text = f"an RSA key has {key.key_size} bits, and {RSA_BITS_MIN} are the least"
            raise KeyUnusable(text)
        return TokenKey(ident, key, OF_RSA)
    if isinstance(key, ec.EllipticCurvePublicKey) and key.curve.name in OF_CURVE:
        return TokenKey(ident, key, OF_CURVE[key.curve.name])
    if isinstance(key, ed25519.Ed25519PublicKey | ed448.Ed448PublicKey):
        return TokenKey(ident, key, OF_EDWARDS)
    raise KeyUnusable(f"a key is of a kind that verifies no token: {type(key).__name__}")
