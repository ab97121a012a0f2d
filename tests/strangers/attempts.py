"""What a stranger sends on one connection: first bytes, and bytes within or about TLS.

All of it is without a password, or with a wrong one: nothing here may be let in.
"""

from __future__ import annotations

import base64
import contextlib
import socket
import ssl
from collections.abc import Sequence
from pathlib import Path
from random import Random

import msgspec

from adapter.core.contract import commands as c
from tests.strangers.mutations import mutated, noise
from tests.support.certificates import Authority
from tests.support.raw_client import HELLO, REQUESTS, framed

PASSWORDS_ONE_IN = 100
"""A password takes a core for a while; how many of them are checked is a matter of other tests."""
RECORD_BYTES = 16_384
HANDSHAKE, ALERT, DATA = 22, 21, 23
CLIENT_HELLO_ROUNDS = 4
SCHEMA = b'{"schema": "{\\"type\\": \\"strin"}'
BASIC = base64.b64encode(b"ann:a guess")


def _msgpack(*frames: object) -> bytes:
    return b"".join(framed(msgspec.msgpack.encode(frame)) for frame in frames)


HELLOS = (
    _msgpack([HELLO, 2, "QM1", "a program", "ann"]),
    _msgpack([HELLO, 2, "", "a program", "", 1, "", "SVRCONN"]),
    _msgpack([HELLO, 9, "", "a program", "ann", 3]),
    _msgpack([HELLO, 2, "", "x" * 256, "ä" * 64], [REQUESTS, [[1, 0, c.Open(1, "Q", 13)]], [7]]),
    _msgpack([REQUESTS, [[1, 1, c.DefineQueue("Q", {})], [0, 0, c.Begin(b"u" * 24)]], []]),
    _msgpack([REQUESTS, [[1, 0, [1001, True]], [2, 0, [1002]]]]),
    _msgpack({"a": [[[[{}]]]]}, [HELLO, "2", 5, None], []),
)
WITH_PASSWORD = _msgpack([HELLO, 2, "", "a program", "ann", 1, "a guess"])
REQUESTS_OF_HTTP = (
    b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n",
    b"GET /ready HTTP/1.1\r\nHost: 127.0.0.1:9414\r\nConnection: close\r\n\r\n",
    b"HEAD / HTTP/1.0\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n",
    b"GET /subjects?deleted=true HTTP/1.1\r\nHost: x\r\nAuthorization: Basic %s\r\n\r\n"
    % BASIC[:9],
    b"POST /registry/subjects/a%%2Fb/versions HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
    b"application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(SCHEMA), SCHEMA),
    (
        b"POST /subjects/a/versions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        b"Transfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n\r\n5\r\nabcde\r\n0\r\n\r\n"
    ),
    b"GET /live HTTP/1.1\r\nHost: localhost\r\n%s\r\n" % (b"X-Header: %s\r\n" % (b"y" * 60) * 30),
)
WITH_BASIC = b"GET /subjects HTTP/1.1\r\nHost: x\r\nAuthorization: Basic %s\r\n\r\n" % BASIC


def first_bytes(seeds: Sequence[bytes], dear: bytes, chance: Random) -> bytes:
    """Return what is sent where no TLS is. dear: what has a password checked."""
    pick = chance.randrange(PASSWORDS_ONE_IN)
    if not pick:
        return dear
    if pick < 4:
        return noise(chance)
    return mutated(chance.choice(seeds), chance, seeds)


class TlsStranger:
    """Makes what a stranger sends to a port with TLS: before, within and after a handshake."""

    def __init__(self, folder: Path) -> None:
        """folder: where certificates of an authority may be made that is not the site's."""
        other = Authority(folder, "stranger")
        shown = other.issue("stranger", "stranger.test", common_name="stranger")
        self._contexts = [
            _context(version, certificate)
            for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3)
            for certificate in (None, shown)
        ]
        self._hellos = [self._hello(one) for one in self._contexts]

    def attempt(self, sock: socket.socket, inner: bytes, chance: Random) -> None:
        """Send to a port with TLS. inner: what is said within it, if the handshake ends well."""
        manner = chance.randrange(10)
        if manner < 4:
            sock.sendall(mutated(chance.choice(self._hellos), chance, self._hellos))
        elif manner == 4:
            sock.sendall(_records(chance))
        elif manner < 7:
            self._shake(sock, chance, mutate_flight=True)
        else:
            speaking = self._shake(sock, chance)
            if speaking is None:
                return
            tls, leaving = speaking
            tls.write(inner or b"\0")
            said = leaving.read()
            sock.sendall(said if manner < 9 else mutated(said, chance))

    @staticmethod
    def _hello(context: ssl.SSLContext) -> bytes:
        leaving = ssl.MemoryBIO()
        tls = context.wrap_bio(ssl.MemoryBIO(), leaving, server_hostname="127.0.0.1")
        with contextlib.suppress(ssl.SSLWantReadError):
            tls.do_handshake()
        return leaving.read()

    def _shake(
        self, sock: socket.socket, chance: Random, *, mutate_flight: bool = False
    ) -> tuple[ssl.SSLObject, ssl.MemoryBIO] | None:
        """Do a handshake, of which the answer to the server's flight may be mutated."""
        arriving, leaving = ssl.MemoryBIO(), ssl.MemoryBIO()
        context = chance.choice(self._contexts)
        tls = context.wrap_bio(arriving, leaving, server_hostname="127.0.0.1")
        for number in range(CLIENT_HELLO_ROUNDS):
            ended = True
            try:
                tls.do_handshake()
            except ssl.SSLWantReadError:
                ended = False
            except ssl.SSLError:
                return None
            said = leaving.read()
            if said:
                is_bent = mutate_flight and number > 0
                sock.sendall(mutated(said, chance) if is_bent else said)
                if is_bent:
                    return None
            if ended:
                return tls, leaving
            came = sock.recv(1 << 16)
            if not came:
                return None
            arriving.write(came)
        return None


def _context(version: ssl.TLSVersion, certificate: tuple[Path, Path] | None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.minimum_version = context.maximum_version = version
    if certificate is not None:
        context.load_cert_chain(*certificate)
    return context


def _records(chance: Random) -> bytes:
    """Return records of TLS that were made up: any type and version, of lengths that are not so."""
    made = b""
    for _ in range(chance.choice((1, 1, 2, 30))):
        body = noise(chance)[:RECORD_BYTES] if chance.randrange(3) else b""
        told = chance.choice((len(body), len(body), 0, RECORD_BYTES + 257, 0xFFFF))
        kind = chance.choice((HANDSHAKE, HANDSHAKE, ALERT, DATA, 20, 24, chance.randrange(256)))
        version = chance.choice((b"\3\1", b"\3\3", b"\3\4", b"\2\0", b"\xff\xff"))
        made += bytes((kind,)) + version + told.to_bytes(2, "big") + body
    return made[: 8 * RECORD_BYTES]
