"""Links to a queue manager whose address is looked up for each link.

So a queue manager that has moved to another machine is found again. This module does not know where
addresses are looked up.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable

from adapter.connection.channel.addresses import Address, parse_addresses
from adapter.connection.channel.link.port import HostNotReached
from adapter.connection.channel.link.tcp import TcpDialer, TcpLink
from adapter.connection.channel.link.tls import dialer_of
from adapter.connection.channel.places import may_lead
from adapter.errors import InvalidValue

CONNECT_S_MIN = 0.2
"""The time that a look-up leaves for connecting, at least."""

LookUp = Callable[[float], str]
"""Return the address, HOST:PORT, within a time in seconds. Raises HostNotReached."""


class LookUpDialer:
    """A Dialer: looks up an address, and connects to it over TCP."""

    def __init__(self, look_up: LookUp, tls: ssl.SSLContext | None = None) -> None:
        self._look_up = look_up
        self._tls = tls
        self._dialing: TcpDialer | None = None
        self._is_interrupted = False

    @property
    def place(self) -> str:
        """See ManagerPlace: it is looked up."""
        return ""

    def toward(self, address: Address) -> TcpDialer | None:
        """See ManagerPlace."""
        is_allowed = may_lead(None, address, with_tls=self._tls is not None)
        return dialer_of(address, self._tls) if is_allowed else None

    def dial(self, timeout_s: float) -> TcpLink:
        self._is_interrupted = False
        deadline_s = time.monotonic() + timeout_s
        address = self._look_up(timeout_s)
        try:
            self._dialing = dialing = dialer_of(parse_addresses(address)[0], self._tls)
        except InvalidValue as error:  # no argument of the program
            raise HostNotReached(f"{address} was looked up: {error.happened}") from error
        try:
            if self._is_interrupted:
                raise HostNotReached(f"{address}: the connection was closed during the look-up")
            return dialing.dial(max(deadline_s - time.monotonic(), CONNECT_S_MIN))
        finally:
            self._dialing = None

    def interrupt(self) -> None:
        """See Dialer. A look-up that is under way ends first."""
        self._is_interrupted = True
        dialing = self._dialing
        if dialing is not None:
            dialing.interrupt()
