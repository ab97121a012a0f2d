"""MQCONN and MQCONNX: where the queue manager is, and how the connection is to behave.

The address is that of the MQCD, else of the CCDT that MQCNO names, else of MQSERVER
(CHANNEL/TCP/HOST(PORT)), else of the CCDT that the environment names, else the one at which a queue
manager listens unless configured otherwise. Why a connection failed is logged: a reason code says
too little. This module knows no queue.
"""

from __future__ import annotations

import getpass
import logging
import re
import sys
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from adapter import mq_constants as mq
from adapter.administration.kinds import CHANNEL_NAME_LENGTH
from adapter.connection.channel.addresses import Address, parse_addresses
from adapter.connection.channel.channel import Channel
from adapter.connection.channel.handshake import Handshake
from adapter.connection.channel.link.tls import dialer_of
from adapter.connection.channel.timeouts import RECONNECT_S, Timeouts
from adapter.connection.channel.token_source import TOKEN_FILE, TokenSource
from adapter.core.mq_layouts.blank_padded import unpadded
from adapter.errors import Error, InvalidValue, QueueManagerNotAvailable
from adapter.mqi import ccdt, pointers, structs, tls
from adapter.mqi import options as permitted
from adapter.mqi.reasons import MqiFailure, failure_of
from adapter.mqi.session import MqiSession
from adapter.mqi.tls import ChannelSecurity

DEFAULT_ADDRESS = "127.0.0.1:1414"
MQSERVER = re.compile(
    r"(?P<channel>[A-Za-z0-9._/%]{1,20})/[Tt][Cc][Pp]/(?P<address>[^/]+|unix:/.+)"
)
TRANSPORT_TCP = 2  # MQXPT_TCP
APPLICATION_LENGTH_MAX = 28  # MQ_APPL_NAME_LENGTH
USER_LENGTH_MAX = 64

WITHOUT_EFFECT = (
    mq.MQCNO_ACCOUNTING_MQI_ENABLED
    | mq.MQCNO_ACCOUNTING_Q_ENABLED
    | mq.MQCNO_ACTIVITY_TRACE_ENABLED
)
"""Options that ask for what is absent."""

RECONNECTING = mq.MQCNO_RECONNECT | mq.MQCNO_RECONNECT_Q_MGR | mq.MQCNO_RECONNECT_DISABLED
OF_CHANNEL = {
    mq.MQRCN_YES: mq.MQCNO_RECONNECT,
    mq.MQRCN_Q_MGR: mq.MQCNO_RECONNECT_Q_MGR,
}
"""What a channel's DEFRECON means for a program that says nothing."""
OF_TABLE = {
    "no": mq.MQRCN_NO,
    "yes": mq.MQRCN_YES,
    "queueManager": mq.MQRCN_Q_MGR,
    "disabled": mq.MQRCN_DISABLED,
}
RECONNECT_ASKED_S = 1800.0
"""Of a program that asks for reconnection, as MQReconnectTimeout is if no file says otherwise."""

log = logging.getLogger("adapter.mqi")


class ProgramCredentials(NamedTuple):
    """Who a program says it is: a user with a password, or a token."""

    user: str = ""
    password: str = ""
    token: str = ""


class ManagerRoute(NamedTuple):
    """A way to a queue manager. security, reconnect: what its channel says of TLS, and DEFRECON."""

    address: Address
    security: ChannelSecurity
    reconnect: int = mq.MQRCN_NO


IN_CLEAR = ChannelSecurity()
NO_CREDENTIALS = ProgramCredentials()


def connect(
    number: int,
    name: str,
    environment: Mapping[str, str],
    *,
    cno: dict[str, Any] | None = None,
    cd: dict[str, Any] | None = None,
    sco: dict[str, Any] | None = None,
    credentials: ProgramCredentials = NO_CREDENTIALS,
) -> MqiSession:
    """Connect under a number. Raises MqiFailure."""
    asked = 0 if cno is None else cno["Options"]
    given = "" if cno is None else unpadded(cno["ApplName"])
    application = (given or PurePath(sys.argv[0] or "python").name)[:APPLICATION_LENGTH_MAX]
    who = credentials.user or environment.get("MQK_USER", "")[:USER_LENGTH_MAX] or _own_user()
    password, token = _proof(credentials, environment)
    routes = _routes(name, cno, cd, environment)
    dialers = [
        dialer_of(one.address, tls.context_of(one.security, sco, environment)) for one in routes
    ]
    named = _channel(cno, cd, environment)
    handshake = Handshake(dialers, _queue_manager(name), application, who, password, named, token)
    asked = reconnection(asked, routes[0].reconnect)
    timeouts = Timeouts(reconnect_timeout_s=_reconnect_s(asked))
    try:
        channel = Channel(handshake, timeouts)
    except Error as error:
        log.warning("MQCONN: %s", error.text)
        if isinstance(error, QueueManagerNotAvailable) and error.is_tls_refused:
            raise MqiFailure(mq.MQRC_SSL_INITIALIZATION_ERROR) from error
        if isinstance(error, QueueManagerNotAvailable) and not error.is_host_available:
            raise MqiFailure(mq.MQRC_HOST_NOT_AVAILABLE) from error
        raise failure_of(error) from error
    return MqiSession(number, channel, cno_options=asked)


def reconnection(asked: int, default: int) -> int:
    """Return the options of an MQCNO with those about reconnection as they count.

    default: DEFRECON of the channel, as MQRCN_*. What the program asks for counts, but where the
    channel allows no reconnection at all.
    """
    if default == mq.MQRCN_DISABLED:
        return asked & ~RECONNECTING | mq.MQCNO_RECONNECT_DISABLED
    return asked if asked & RECONNECTING else asked | OF_CHANNEL.get(default, 0)


def _reconnect_s(options: int) -> float:
    if options & mq.MQCNO_RECONNECT_DISABLED:
        return 0.0
    return RECONNECT_ASKED_S if options & RECONNECTING else RECONNECT_S


def plain_cno(options: int) -> dict[str, Any]:
    """Return what an MQCNO with these options says, and nothing else."""
    plain = {"StrucId": b"CNO ", "Version": 1, "Options": options}
    return plain | {"ApplName": b"", "CCDTUrlPtr": 0, "CCDTUrlLength": 0}


def check_options(cno: dict[str, Any]) -> None:
    """MqiFailure if what an MQCNO asks for is not to be had."""
    asked = structs.MQCNO.confirm(cno)["Options"]
    permitted.CONNECT.check(asked)
    if asked & WITHOUT_EFFECT:
        log.warning("MQCONNX: accounting and activity trace of MQCNO have no effect here")


def credentials_of(csp: bytes | None) -> ProgramCredentials:
    """Return what an MQCSP says: a user and a password, or a token."""
    if csp is None:
        return NO_CREDENTIALS
    fields = structs.MQCSP.read(csp)
    kind = fields["AuthenticationType"]
    if kind == mq.MQCSP_AUTH_ID_TOKEN:
        token = pointers.text(fields["TokenPtr"], fields["TokenLength"])
        if not token:
            log.warning("MQCONNX: the MQCSP names no token: it must be of version 3, with Token")
            raise MqiFailure(mq.MQRC_CSP_ERROR)
        return ProgramCredentials(token=token)
    if kind == mq.MQCSP_AUTH_NONE:  # what else it says is not meant
        return NO_CREDENTIALS
    if kind != mq.MQCSP_AUTH_USER_ID_AND_PWD:
        raise MqiFailure(mq.MQRC_FUNCTION_NOT_SUPPORTED)
    user = pointers.text(fields["CSPUserIdPtr"], fields["CSPUserIdLength"])
    password = pointers.text(fields["CSPPasswordPtr"], fields["CSPPasswordLength"])
    return ProgramCredentials(user[:USER_LENGTH_MAX], password)


def _proof(
    credentials: ProgramCredentials, environment: Mapping[str, str]
) -> tuple[str, TokenSource | None]:
    """Return a program's password, and where its token comes from: one of the two at most."""
    if credentials.token:
        return "", TokenSource(credentials.token)
    if not credentials.password and environment.get(TOKEN_FILE):
        return "", TokenSource(Path(environment[TOKEN_FILE]))
    return credentials.password or environment.get("MQK_PASSWORD", ""), None


def _queue_manager(name: str) -> str:
    """Return the name that is to be checked: blank, or with a star before it, is any."""
    name = name.strip("\0 ")
    return "" if name.startswith("*") else name


def _routes(
    name: str, cno: dict[str, Any] | None, cd: dict[str, Any] | None, environment: Mapping[str, str]
) -> list[ManagerRoute]:
    """Return where to connect, one at least."""
    given = "" if cd is None else _of_definition(cd)
    url = "" if cno is None else pointers.text(cno["CCDTUrlPtr"], cno["CCDTUrlLength"])
    server = environment.get("MQSERVER", "")
    if cd is not None and given:
        cipher, label = (unpadded(cd[one]) for one in ("SSLCipherSpec", "CertificateLabel"))
        return _parse(given, ChannelSecurity(cipher, label), cd["DefReconnect"])
    if not url and server:
        return _parse(_of_mqserver(server))
    url = url or ccdt.named_by(environment)
    return _of_table(url, name) if url else _parse(DEFAULT_ADDRESS)


def _channel(
    cno: dict[str, Any] | None, cd: dict[str, Any] | None, environment: Mapping[str, str]
) -> str:
    """Return the name of the channel that the program names; "" if a CCDT or nothing does."""
    if cd is not None and unpadded(cd["ConnectionName"]):
        return unpadded(cd["ChannelName"])[:CHANNEL_NAME_LENGTH]
    if cno is not None and cno["CCDTUrlLength"]:
        return ""
    found = MQSERVER.fullmatch(environment.get("MQSERVER", "").strip())
    return found["channel"] if found is not None else ""


def _of_definition(cd: dict[str, Any]) -> str:
    if cd["TransportType"] != TRANSPORT_TCP:
        raise MqiFailure(mq.MQRC_CD_ERROR)
    return unpadded(cd["ConnectionName"])


def _of_mqserver(text: str) -> str:
    found = MQSERVER.fullmatch(text.strip())
    if found is None:
        raise _unusable(f"MQSERVER is CHANNEL/TCP/HOST(PORT), not {text!r}")
    return found["address"]


def _of_table(url: str, name: str) -> list[ManagerRoute]:
    """Return the addresses of a queue manager in a CCDT, in order, as their channels have them."""
    try:
        found = ccdt.channels(ccdt.read(url), name)
    except ccdt.CcdtError as error:
        raise _unusable(str(error)) from error
    if not found:
        log.warning("MQCONN: the CCDT %s has no channel for queue manager %r", url, name.strip())
        raise MqiFailure(mq.MQRC_Q_MGR_NAME_ERROR)
    routes = []
    for one in found:
        default = OF_TABLE[one.connection_management.default_reconnect]
        routes += _parse(",".join(one.addresses), _security(one), default)
    return routes


def _security(channel: ccdt.ChannelDefinition) -> ChannelSecurity:
    said = channel.transmission_security
    return ChannelSecurity(said.cipher_specification, said.certificate_label)


def _parse(
    text: str, security: ChannelSecurity = IN_CLEAR, reconnect: int = mq.MQRCN_NO
) -> list[ManagerRoute]:
    try:
        return [ManagerRoute(address, security, reconnect) for address in parse_addresses(text)]
    except InvalidValue as error:
        raise _unusable(error.text) from error


def _unusable(why: str) -> MqiFailure:
    log.warning("MQCONN: %s", why)
    return MqiFailure(mq.MQRC_CLIENT_CONN_ERROR)


def _own_user() -> str:
    try:
        return getpass.getuser()[:USER_LENGTH_MAX]
    except (OSError, KeyError, ImportError):
        return ""
