"""How an MSMQ program connects to a queue manager. This module knows no queue."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Sequence
from typing import Unpack

from adapter.connection.channel import plain_arguments as a
from adapter.connection.channel.channel import Channel
from adapter.connection.channel.connecting import ConnectOptions, handshake_by, timeouts_by
from adapter.connection.channel.link.in_process import InProcessDialer
from adapter.connection.channel.link.pipe import Accept
from adapter.connection.channel.link.port import Dialer
from adapter.connection.channel.timeouts import CONNECT_S, RECONNECT_S
from adapter.connection.channel.tls import Tls, context_by
from adapter.connection.channel.token_source import Token
from adapter.core.contract.results import ComputerFound
from adapter.msmq.computers import ComputerChannel, ComputerConnections
from adapter.msmq.errors import as_msmq
from adapter.msmq.host import Host
from adapter.msmq.names import HERE, is_local_address
from adapter.runtime.network.dialing import dialers_by

COMPUTER_LENGTH_MAX = 255
"""A DNS name."""


def connect(
    address: str = "127.0.0.1:1414",
    *,
    computer: str | None = None,
    queue_manager: str | None = None,
    user: str | None = None,
    password: str | None = None,
    token: Token | None = None,
    tls: Tls = None,
    application: str | None = None,
    connect_timeout_s: float = CONNECT_S,
    reconnect_timeout_s: float = RECONNECT_S,
    wait_s: float = 0.0,
) -> Host:
    """Connect to a queue manager, as a program on a computer of MSMQ.

    address, user, password, token, tls, application: as of adapter.connect(). computer: the
    program's; None, a dot, localhost and addresses of this machine: the queue manager's own, so
    that its queues are local. A lost connection is
    made again, for at most reconnect_timeout_s, and what was asked is then done once. wait_s: as of
    adapter.connect().
    Raises MessageQueueException (SERVICE_NOT_AVAILABLE, MACHINE_NOT_FOUND, ACCESS_DENIED).
    """
    with a.plain_errors():
        context = context_by(tls)
        dialers = dialers_by(address, context, queue_manager)
    return connect_by(
        dialers,
        context,
        computer=computer,
        queue_manager=queue_manager,
        user=user,
        password=password,
        token=token,
        application=application,
        connect_timeout_s=connect_timeout_s,
        reconnect_timeout_s=reconnect_timeout_s,
        wait_s=wait_s,
    )


def connect_in_process(
    loop: asyncio.AbstractEventLoop, accept: Accept, computer: str | None = None
) -> Host:
    """Connect to a queue manager on an event loop of this process; see connect()."""
    return connect_by([InProcessDialer(loop, accept)], computer=computer)


def connect_by(
    dialers: Sequence[Dialer],
    tls: ssl.SSLContext | None = None,
    computer: str | None = None,
    **options: Unpack[ConnectOptions],
) -> Host:
    """Connect by the first of these that reaches a queue manager; see connect().

    tls: of connections to the queue managers of other computers, as that of these.
    """
    with a.plain_errors():
        handshake, timeouts = handshake_by(dialers, options), timeouts_by(options)
    own = a.as_text("computer", computer, COMPUTER_LENGTH_MAX)
    if own == HERE or is_local_address(own):
        own = ""  # as everywhere else they are no name of a computer, but mean the own one

    def connect_other(dialer: Dialer, found: ComputerFound) -> ComputerChannel:
        other = handshake.elsewhere([dialer], found.queue_manager)
        return ComputerChannel(other, timeouts, found.computer)

    with as_msmq():
        return Host(ComputerConnections(Channel(handshake, timeouts), own, connect_other, tls))
