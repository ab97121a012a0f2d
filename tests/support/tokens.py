"""JSON Web Tokens for tests: an issuer with keys, what it signs, and where its keys are."""

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from adapter.server.access.token_settings import TokenSettings

ISSUER, AUDIENCE = "https://issuer.test", "qm1"


class Issuer:
    """An issuer that signs by one key at a time."""

    def __init__(self, ident: str = "k1") -> None:
        self.ident = ident
        self.key = ec.generate_private_key(ec.SECP256R1())

    @property
    def pem(self) -> bytes:
        """The public key."""
        return self.key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)

    @property
    def entry(self) -> dict[str, Any]:
        """The public key, as an entry of a key set."""
        made: dict[str, Any] = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(self.key.public_key()))
        return made | {"kid": self.ident, "use": "sig", "alg": "ES256"}

    def token(
        self,
        user: object = "ann",
        *,
        lasts_s: float = 60,
        now_s: float | None = None,
        **claims: object,
    ) -> str:
        """Sign a token. claims: further ones, or others; None leaves one out."""
        now_s = time.time() if now_s is None else now_s
        all_of_them = {
            "iss": ISSUER, "aud": AUDIENCE, "sub": user, "exp": now_s + lasts_s,
        } | claims  # fmt: skip
        return self.sign({name: one for name, one in all_of_them.items() if one is not None})

    def sign(self, claims: Mapping[str, Any], **header: Any) -> str:
        """Sign whatever it is."""
        return jwt.encode(dict(claims), self.key, "ES256", headers={"kid": self.ident} | header)


def settings(keys: Path | str, **others: Any) -> TokenSettings:
    """The settings of a queue manager that accepts tokens of the issuer."""
    given: dict[str, Any] = {
        "keys": str(keys),
        "issuer": ISSUER,
        "audience": AUDIENCE,
        "leeway_s": 0,
    }
    return TokenSettings(**given | others)


class KeyServer:
    """Serves a key set on loopback. answered: how often it was asked."""

    def __init__(self) -> None:
        self.entries: list[dict[str, Any]] = []
        self.status = 200
        self.answered = 0
        self.url = ""


@contextmanager
def key_server() -> Iterator[KeyServer]:
    """Run one in a thread."""
    served = KeyServer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            served.answered += 1
            body = json.dumps({"keys": served.entries}).encode()
            self.send_response(served.status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- its name there
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        served.url = f"http://127.0.0.1:{server.server_port}/keys"
        try:
            yield served
        finally:
            server.shutdown()
            thread.join()
