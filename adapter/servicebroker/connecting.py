"""How a program of Service Broker connects to a queue manager. This module knows no statement."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence

from adapter.channel import arguments as a
from adapter.channel.addresses import parse_addresses
from adapter.channel.channel import Channel
from adapter.channel.handshake import Handshake
from adapter.channel.identity import (
    APPLICATION_LENGTH_MAX,
    USER_LENGTH_MAX,
    own_name,
    own_user,
)
from adapter.channel.link.in_process import Accept, InProcessDialer
from adapter.channel.link.port import Dialer
from adapter.channel.link.tcp import TcpDialer
from adapter.channel.timeouts import Timeouts
from adapter.core.attributes.table import NAME_LENGTH_MAX
from adapter.servicebroker.broker import ServiceBroker
from adapter.servicebroker.errors import as_broker

PASSWORD_LENGTH_MAX = 256


def connect(
    address: str = "127.0.0.1:1414",
    *,
    queue_manager: str | None = None,
    user: str | None = None,
    password: str | None = None,
    application: str | None = None,
    connect_timeout_s: float = 5.0,
    reconnect_timeout_s: float = 60.0,
) -> ServiceBroker:
    """Open a session with a queue manager.

    address, user, password, application: as of adapter.connect(). A lost connection is made again,
    for at most reconnect_timeout_s; a transaction that was open is rolled back.
    Raises ServiceBrokerError.
    """
    return connect_by(
        [TcpDialer(one) for one in parse_addresses(address)],
        queue_manager=queue_manager,
        user=user,
        password=password,
        application=application,
        connect_timeout_s=connect_timeout_s,
        reconnect_timeout_s=reconnect_timeout_s,
    )


def connect_in_process(loop: asyncio.AbstractEventLoop, accept: Accept) -> ServiceBroker:
    """Connect to a queue manager on an event loop of this process; see connect()."""
    return connect_by([InProcessDialer(loop, accept)])


def connect_by(
    dialers: Sequence[Dialer],
    *,
    queue_manager: str | None = None,
    user: str | None = None,
    password: str | None = None,
    application: str | None = None,
    connect_timeout_s: float = 5.0,
    reconnect_timeout_s: float = 60.0,
) -> ServiceBroker:
    """Connect by the first of these that reaches a queue manager; see connect()."""
    handshake = Handshake(
        dialers,
        a.as_text("queue_manager", queue_manager, NAME_LENGTH_MAX),
        own_name()
        if application is None
        else a.as_text("application", application, APPLICATION_LENGTH_MAX),
        own_user() if user is None else a.as_text("user", user, USER_LENGTH_MAX),
        os.environ.get("MQK_PASSWORD", "")
        if password is None
        else a.as_text("password", password, PASSWORD_LENGTH_MAX),
    )
    timeouts = Timeouts(
        connect_timeout_s=max(a.as_delay_s("connect_timeout_s", connect_timeout_s), 0.05),
        reconnect_timeout_s=a.as_delay_s("reconnect_timeout_s", reconnect_timeout_s),
    )
    with as_broker():
        return ServiceBroker(Channel(handshake, timeouts))
