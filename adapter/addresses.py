"""Which addresses are of this machine alone, and how one is written.

This module knows addresses; it must not know what listens there, or what may.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import struct


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


def of_peer(sock: socket.socket) -> str:
    """Say which process is at the other end of a Unix-domain socket, as the system knows it."""
    option = getattr(socket, "SO_PEERCRED", None)  # Linux has it
    if option is None:
        return "unix"
    pid, uid, _ = struct.unpack("iII", sock.getsockopt(socket.SOL_SOCKET, option, 12))
    return f"unix:pid={pid},uid={uid}"


def is_literal(host: str) -> bool:
    """Whether this is an address and no name; IPv6 with or without brackets."""
    try:
        ipaddress.ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True


def written(host: str, port: int) -> str:
    """HOST:PORT, with brackets around IPv6."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
