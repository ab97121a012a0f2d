"""The connections of a host: to its own queue manager, and to each other that it reads from.

Messages are sent through the local queue manager, which sends them on. A queue of another computer
is read over a connection to that computer's queue manager. The own queue manager says where that
is; it is asked for each link that is made, so that a queue manager which has moved is found again.
This module knows no message.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable

from msgspec import Struct, structs

from adapter.connection.channel.channel import Channel
from adapter.connection.channel.forking import new_lock
from adapter.connection.channel.handshake import Handshake
from adapter.connection.channel.link.lookup import LookUpDialer
from adapter.connection.channel.link.port import Dialer, HostNotReached
from adapter.connection.channel.requests import Pending
from adapter.connection.channel.timeouts import Timeouts
from adapter.core.contract.format_names import parse, same_computer
from adapter.core.contract.msmq import MsmqLocate
from adapter.core.contract.reasons import Refusal
from adapter.core.contract.results import ComputerFound
from adapter.errors import Error
from adapter.msmq.errors import as_msmq
from adapter.msmq.names import HERE


class ComputerChannel(Channel):
    """A connection to the queue manager of another computer."""

    def __init__(self, handshake: Handshake, timeouts: Timeouts, computer: str) -> None:
        self.computer = computer
        super().__init__(handshake, timeouts)


class QueueRoute(Struct, frozen=True):
    """How a queue is reached. computer: the program's, for the queue manager there; empty: that
    queue manager's own. level: the version of MSMQ that the program's computer behaves as; 0: as
    the queue manager.
    """

    channel: Channel
    computer: str
    level: int = 0


Connect = Callable[[Dialer, ComputerFound], ComputerChannel]


class ComputerConnections:
    """All connections of a host. Shared by threads."""

    def __init__(
        self,
        own: Channel,
        computer: str,
        connect: Connect,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """computer: the program's; empty: that of its queue manager. connect: makes another
        connection, as the same user. tls: as the program connects; None: in the clear.
        """
        self._tls = tls
        self.own = QueueRoute(own, computer)
        self._connect = connect
        self._others: dict[str, QueueRoute] = {}
        self._lock = new_lock()

    def to(self, path: str) -> QueueRoute:
        """Return how the queue of a path is read. Raises MessageQueueException.

        What is no name of one queue is refused by the local queue manager, in its words.
        """
        try:
            computer = parse(path, HERE).computer
        except Refusal:
            return self.own
        if computer == HERE:
            computer = self.own.computer
        return self.at(computer) if computer else self.own

    def at(self, computer: str) -> QueueRoute:
        """Return how the queues of a computer are read. Raises MessageQueueException."""
        known = self._others.get(computer.casefold())
        if known is not None:
            return known
        found = self.locate(computer)
        if not found.address and not found.tls_address:
            return self.own
        with self._lock, as_msmq(computer=computer):
            return self._others.get(computer.casefold()) or self._connect_to(computer, found)

    def now(self, route: QueueRoute) -> QueueRoute:
        """Return a route with the level that the local queue manager now has, which an operator
        may have altered.
        """
        if route.channel is self.own.channel:
            return route
        return structs.replace(route, level=self.locate("").level)

    def of(self, channel: Channel) -> QueueRoute:
        """Return the route over a connection of this host."""
        if channel is self.own.channel:
            return self.own
        return next(one for one in list(self._others.values()) if one.channel is channel)

    @property
    def channels(self) -> list[Channel]:
        """All connections, that to the local queue manager first."""
        return [self.own.channel, *[one.channel for one in list(self._others.values())]]

    def locate(self, computer: str) -> ComputerFound:
        """Ask the local queue manager where the queues of a computer are read; "": its own."""
        request = Pending(MsmqLocate(computer))
        with as_msmq():
            self.own.channel.ask([request])
            return self.own.channel.result(request, ComputerFound)

    def is_known(self, computer: str) -> bool:
        """Whether a queue manager is known to have a computer: the own one, or another."""
        if self.locate(computer).queue_manager != self.own.channel.queue_manager:
            return True
        return same_computer(computer, self.locate("").computer)

    def close(self) -> None:
        """End all connections; one that another thread is making ends as soon as it is made."""
        for channel in reversed(self.channels):
            channel.close()
        for route in list(self._others.values()):
            route.channel.close()

    def _connect_to(self, computer: str, found: ComputerFound) -> QueueRoute:
        name = self.own.computer or self.locate("").computer  # first: it may fail
        dialer = LookUpDialer(lambda _: self._address_of(computer), self._tls)
        channel = self._connect(dialer, found)
        route = QueueRoute(channel, name, found.level)
        self._others[computer.casefold()] = route
        if self.own.channel.is_closed:  # meanwhile: see close()
            channel.close()
        return route

    def _address_of(self, computer: str) -> str:
        """Look up where a computer is reached now. Raises HostNotReached."""
        try:
            found = self.locate(computer)
        except Error as error:
            raise HostNotReached(f"the directory cannot be asked: {error}") from error
        if not found.address and not found.tls_address:
            raise HostNotReached(f"the directory has no computer {computer} any more")
        if self._tls is not None and not found.tls_address:
            raise HostNotReached(
                f"computer {computer}: its queue manager {found.queue_manager} does not listen "
                "with TLS, with which this program connects: set its listen_tls"
            )
        if self._tls is None and not found.address:
            raise HostNotReached(
                f"computer {computer}: its queue manager {found.queue_manager} listens with TLS "
                "only: connect with tls"
            )
        return found.address if self._tls is None else found.tls_address
