"""How a program of Service Broker connects to a queue manager. This module knows no statement."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Unpack

from adapter.connection.channel.channel import Channel
from adapter.connection.channel.connecting import ConnectOptions, handshake_by, timeouts_by
from adapter.connection.channel.link.in_process import InProcessDialer
from adapter.connection.channel.link.pipe import Accept
from adapter.connection.channel.link.port import Dialer
from adapter.connection.channel.timeouts import CONNECT_S, RECONNECT_S
from adapter.connection.channel.tls import Tls, context_by
from adapter.connection.channel.token_source import Token
from adapter.runtime.network.dialing import dialers_by
from adapter.servicebroker.broker import ServiceBroker
from adapter.servicebroker.errors import as_broker


def connect(
    address: str = "127.0.0.1:1414",
    *,
    queue_manager: str | None = None,
    user: str | None = None,
    password: str | None = None,
    token: Token | None = None,
    tls: Tls = None,
    application: str | None = None,
    connect_timeout_s: float = CONNECT_S,
    reconnect_timeout_s: float = RECONNECT_S,
    wait_s: float = 0.0,
) -> ServiceBroker:
    """Open a session with a queue manager.

    address, user, password, token, tls, application: as of adapter.connect(). A lost connection is
    made again, for at most reconnect_timeout_s; a transaction that was open is rolled back. wait_s:
    as of adapter.connect().
    Raises ServiceBrokerError.
    """
    with as_broker():
        dialers = dialers_by(address, context_by(tls), queue_manager)
    return connect_by(
        dialers,
        queue_manager=queue_manager,
        user=user,
        password=password,
        token=token,
        application=application,
        connect_timeout_s=connect_timeout_s,
        reconnect_timeout_s=reconnect_timeout_s,
        wait_s=wait_s,
    )


def connect_in_process(loop: asyncio.AbstractEventLoop, accept: Accept) -> ServiceBroker:
    """Connect to a queue manager on an event loop of this process; see connect()."""
    return connect_by([InProcessDialer(loop, accept)])


def connect_by(dialers: Sequence[Dialer], **options: Unpack[ConnectOptions]) -> ServiceBroker:
    """Connect by the first of these that reaches a queue manager; see connect()."""
    with as_broker():
        handshake, timeouts = handshake_by(dialers, options), timeouts_by(options)
    with as_broker():
        return ServiceBroker(Channel(handshake, timeouts))
