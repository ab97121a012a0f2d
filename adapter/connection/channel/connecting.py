"""The arguments of connect() that all faces have, and the handshake and timeouts they lead to.

This module knows no face: each one has a connect() with further arguments of its own.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypedDict

from adapter.connection.channel import arguments as a
from adapter.connection.channel.handshake import Handshake
from adapter.connection.channel.identity import (
    APPLICATION_LENGTH_MAX,
    USER_LENGTH_MAX,
    own_name,
    own_user,
)
from adapter.connection.channel.link.port import Dialer
from adapter.connection.channel.timeouts import CONNECT_S, HEARTBEAT_S, RECONNECT_S, Timeouts
from adapter.connection.channel.token_source import Token, TokenSource, source_of
from adapter.connection.wire.frames import HEARTBEAT_MS_MAX
from adapter.core.attributes.table import NAME_LENGTH_MAX

PASSWORD_LENGTH_MAX = 256  # MQ_CSP_PASSWORD_LENGTH
CONNECT_S_MIN = 0.05
HEARTBEAT_S_MIN = 0.04


class ConnectOptions(TypedDict, total=False):
    """The arguments of connect() that all faces have; see adapter.connect()."""

    queue_manager: str | None
    user: str | None
    password: str | None
    token: Token | None
    application: str | None
    connect_timeout_s: float
    reconnect_timeout_s: float
    wait_s: float
    heartbeat_s: float


def handshake_by(dialers: Sequence[Dialer], options: ConnectOptions) -> Handshake:
    """Return the handshake of these arguments. Raises InvalidType, InvalidOption."""
    return Handshake(dialers, *names_by(options))


def names_by(options: ConnectOptions) -> tuple[str, str, str, str, str, TokenSource | None]:
    """Return queue manager, application, user, password, channel (none), and the token's source.

    An application, a user, a password and a token that are not named are those of this process.
    Raises InvalidType, InvalidOption.
    """
    application, user = options.get("application"), options.get("user")
    password = options.get("password")
    token = source_of(options.get("token"), has_password=password is not None)
    if password is None:
        password = "" if token is not None else os.environ.get("MQK_PASSWORD", "")
    return (
        a.as_text("queue_manager", options.get("queue_manager"), NAME_LENGTH_MAX),
        own_name()
        if application is None
        else a.as_text("application", application, APPLICATION_LENGTH_MAX),
        own_user() if user is None else a.as_text("user", user, USER_LENGTH_MAX),
        a.as_text("password", password, PASSWORD_LENGTH_MAX),
        "",
        token,
    )


def timeouts_by(options: ConnectOptions) -> Timeouts:
    """Return the timeouts of these arguments. Raises InvalidType, InvalidTimeout."""
    connect_s = options.get("connect_timeout_s", CONNECT_S)
    reconnect_s = options.get("reconnect_timeout_s", RECONNECT_S)
    return Timeouts(
        connect_timeout_s=max(a.as_delay_s("connect_timeout_s", connect_s), CONNECT_S_MIN),
        reconnect_timeout_s=a.as_delay_s("reconnect_timeout_s", reconnect_s),
        wait_s=a.as_delay_s("wait_s", options.get("wait_s", 0.0)),
        heartbeat_s=heartbeat_by(options.get("heartbeat_s", HEARTBEAT_S)),
    )


def heartbeat_by(seconds: object) -> float:
    """Return heartbeat_s as it is used. Raises InvalidType, InvalidTimeout."""
    asked_s = a.as_delay_s("heartbeat_s", seconds)
    if asked_s == 0:
        return 0.0
    return min(max(asked_s, HEARTBEAT_S_MIN), HEARTBEAT_MS_MAX / 1000)
