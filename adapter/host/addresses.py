"""Which addresses are of this machine alone, and how one is written.

A queue manager listens at a known Unix-domain socket too, named by its port: clients of this
machine that name the port find it, and the operating system says who they are.

This module knows addresses; it must not know what listens there, or what may.
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
import socket
import struct
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import Struct


def reaches_only_this_machine(host: str) -> bool:
    """Whether listening there lets no other machine connect. OSError: it is not an address here."""
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return all(ipaddress.ip_address(info[4][0]).is_loopback for info in found)


def listening(server: asyncio.Server) -> tuple[str, int]:
    """Return the first address that a server listens at."""
    host, port, *_ = server.sockets[0].getsockname()
    return host, port


def is_loopback(address: str) -> bool:
    """Whether a client's address is of this machine; False for what is not an address."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


SOCKETS = Path("/run/mqk")
"""Made by an operator, or by the service of `mqk config unit`."""
USUAL = ("127.0.0.1", "localhost")
EVERYWHERE = "0.0.0.0"  # noqa: S104 -- it is compared


def known_socket(host: str, port: int) -> str:
    """Return the known socket of the queue manager at an address, "" if it has not made one."""
    if host not in USUAL:
        return ""
    return next((str(one) for one in _known_sockets(port) if one.is_socket()), "")


def socket_to_make(host: str, port: int) -> str:
    """Return where a queue manager that listens at an address makes its known socket; "" if there
    is no folder for it, or if the address is not the one that clients of this machine name.
    """
    if host not in (*USUAL, EVERYWHERE):
        return ""
    for path in _known_sockets(port):
        folder = path.parent
        if folder != SOCKETS:
            with suppress(OSError):
                folder.mkdir(mode=0o700, exist_ok=True)
        if os.access(folder, os.W_OK | os.X_OK):
            return str(path)
    return ""


def _known_sockets(port: int) -> Iterator[Path]:
    """Return the known sockets of a port: of the machine's queue managers, then of the user's."""
    yield SOCKETS / f"{port}.sock"
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    if runtime.startswith("/"):
        yield Path(runtime) / "mqk" / f"{port}.sock"


class Peer(Struct, frozen=True):
    """The other end of a connection. address: as it is shown. host: its address, "" unless it came
    over TCP. uid: of its account, if it came over a Unix-domain socket and the system knows it.
    certificate: that it has shown, and that an authority vouches for, as getpeercert() returns it.
    is_encrypted: the connection is one with TLS.
    """

    address: str = ""
    host: str = ""
    uid: int | None = None
    certificate: Mapping[str, Any] | None = None
    is_encrypted: bool = False


HERE = Peer()
"""In this process, or gone already."""


def peer_of(transport: asyncio.BaseTransport) -> Peer:
    """Return who is at the other end of a transport, as the system knows it."""
    sock = transport.get_extra_info("socket")
    if sock is None:
        return HERE
    if sock.family == socket.AF_UNIX:
        option = getattr(socket, "SO_PEERCRED", None)  # Linux has it
        if option is None:
            return Peer("unix")
        pid, uid, _ = struct.unpack("iII", sock.getsockopt(socket.SOL_SOCKET, option, 12))
        return Peer(f"unix:pid={pid},uid={uid}", uid=uid)
    name = transport.get_extra_info("peername")
    if name is None:
        return HERE
    certificate = transport.get_extra_info("peercert") or None
    is_encrypted = transport.get_extra_info("ssl_object") is not None
    return Peer(written(*name[:2]), name[0], certificate=certificate, is_encrypted=is_encrypted)


def is_literal(host: str) -> bool:
    """Whether this is an address and no name; IPv6 with or without brackets."""
    try:
        ipaddress.ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True


ON_ALL = (EVERYWHERE, "::")


def reached_at(host: str, port: int) -> str:
    """Return where other machines reach a listener, HOST:PORT; one on all addresses is named by
    its machine. "" if it listens nowhere.
    """
    return written(socket.gethostname() if host in ON_ALL else host, port) if host else ""


def written(host: str, port: int) -> str:
    """HOST:PORT, with brackets around IPv6."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
