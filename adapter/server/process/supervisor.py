"""What a service manager is told: that the queue manager serves, lives, and stops.

The protocol is systemd's sd_notify: datagrams to the socket that NOTIFY_SOCKET names. Without one
nothing is told. That the event loop still turns is told twice in the time after which the service
manager gives the process up (WATCHDOG_USEC). This module must not know what a queue manager is.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Mapping


class Supervisor:
    """Tells the service manager; all methods are called on the event loop's thread."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        """environment: by default this process's."""
        known = os.environ if environment is None else environment
        self._address = known.get("NOTIFY_SOCKET", "")
        self._watchdog_s = _watchdog_s(known)
        self._timer: asyncio.TimerHandle | None = None

    def serves(self, what: str) -> None:
        """Tell that it serves, and from now on that it lives. what: in a few words.

        It may be told again, when what it does has changed.
        """
        self._tell(f"READY=1\nSTATUS={what}")
        if self._timer is None:
            self._live()

    def stops(self) -> None:
        """Tell that it stops, and no more that it lives."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._tell("STOPPING=1")

    def _live(self) -> None:
        if self._watchdog_s and self._address:
            self._tell("WATCHDOG=1")
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self._watchdog_s / 2, self._live)

    def _tell(self, text: str) -> None:
        """Send a datagram; the server goes on if the service manager takes none."""
        if not self._address:
            return
        address = "\0" + self._address[1:] if self._address.startswith("@") else self._address
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as way:
            way.setblocking(False)
            way.sendto(text.encode(), address)


def _watchdog_s(environment: Mapping[str, str]) -> float:
    """After how long without a sign of life this process is given up; 0: never."""
    duration, pid = environment.get("WATCHDOG_USEC", ""), environment.get("WATCHDOG_PID", "")
    if not duration.isdecimal() or pid not in ("", str(os.getpid())):
        return 0.0
    return int(duration) / 1_000_000
