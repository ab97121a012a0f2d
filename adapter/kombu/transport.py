"""The transport of kombu: connections to a queue manager, and waiting for their messages.

    kombu.Connection("mqk://127.0.0.1:1414/QM1", transport_options={...})

The path is the name that the queue manager must have; without one any is accepted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from amqp.exceptions import RecoverableChannelError
from kombu import Connection as KombuConnection
from kombu.transport import virtual

import adapter
from adapter.errors import BackedOut, ConnectionBroken, Error, InDoubt
from adapter.kombu.channel import MqkChannel
from adapter.kombu.intakes import Inbox
from adapter.kombu.links import ProcessLink, ProcessLinks
from adapter.kombu.tls import tls_of
from adapter.kombu.unsupported import EXCHANGE_TYPES, check_options

DEFAULT_PORT = 1414
_OF_CONNECT = (
    "application", "bootstrap_servers", "kafka_options", "connect_timeout_s", "reconnect_timeout_s",
    "wait_s", "heartbeat_s", "tls", "token",
)  # fmt: skip


class MqkTransport(virtual.Transport):
    """A queue manager as a broker of kombu."""

    Channel = MqkChannel
    default_port = DEFAULT_PORT
    driver_type = "mqk"
    driver_name = "mqk"
    connection_errors = (*virtual.Transport.connection_errors, ConnectionBroken, BackedOut, InDoubt)
    recoverable_connection_errors = tuple(
        error for error in connection_errors if error is not InDoubt
    )
    """Those after which kombu repeats a publication: not where it may have been done."""
    channel_errors = (*virtual.Transport.channel_errors, Error)
    recoverable_channel_errors = (RecoverableChannelError,)
    """Not what is refused, which a repetition would not change."""
    implements = virtual.Transport.implements.extend(
        asynchronous=True,
        exchange_type=EXCHANGE_TYPES,
        heartbeats=False,
    )
    links = ProcessLinks()
    """Of the process."""

    def __init__(self, client: KombuConnection, **kwargs: Any) -> None:
        super().__init__(client, **kwargs)
        self.inbox = Inbox()
        self.delays_tasks = bool(client.transport_options.get("delayed_delivery", True))
        self._link: ProcessLink | None = None
        self._key: tuple[object, ...] = ()
        self._loop: Any = None
        """The event loop of kombu that asks for messages, if any."""

    @property
    def link(self) -> ProcessLink:
        """The connection to the queue manager."""
        assert self._link is not None, "the connection is not established"
        return self._link

    def driver_version(self) -> str:
        """Return the version of mqk."""
        return adapter.__version__

    def establish_connection(self) -> MqkTransport:
        """Connect. Raises QueueManagerNotAvailable, WrongQueueManager, NotAuthorized."""
        options = self.connect_options()
        self._key = tuple(sorted((name, repr(value)) for name, value in options.items()))
        self._link = self.links.acquire(self._key, lambda: _connect(options, self.links))
        self.inbox = Inbox()
        self._link.held.on_room(self.inbox.note_room)
        return self

    def close_connection(self, connection: object) -> None:
        """Close the channels; what they hold goes back to its queues."""
        self.inbox.close_all()
        for channel in list(self.channels):
            channel.close()
        if self._loop is not None:
            self.unregister_from_event_loop(connection, self._loop)
        self.inbox.close_bell()
        link, self._link = self._link, None
        if link is not None and not link.is_inherited:
            link.held.off_room(self.inbox.note_room)
            link.end_declarer(id(self))
            self.links.release(self._key, link)

    def verify_connection(self, connection: object) -> bool:
        """Whether it is connected."""
        return self._link is not None and not self._link.qm.is_closed

    def drain_events(self, connection: object, timeout: float | None = None) -> None:
        """Deliver one message to its consumer; TimeoutError if none comes in time."""
        if not self.inbox.drain(timeout):
            raise TimeoutError

    def register_with_event_loop(self, connection: object, loop: Any) -> None:
        """Have messages delivered by an event loop of kombu."""
        self._loop = loop
        loop.add_reader(self.inbox.bell(), self.on_readable, connection, loop)
        loop.on_tick.add(self.inbox.arm_all)

    def unregister_from_event_loop(self, connection: object, loop: Any) -> None:
        """End that."""
        self._loop = None
        loop.remove_reader(self.inbox.bell())
        loop.on_tick.discard(self.inbox.arm_all)

    def on_readable(self, connection: object, loop: Any) -> None:
        """Deliver a message, and have the event loop ask again until the queues are empty."""
        self.inbox.silence()
        if self.inbox.drain(0.0):
            self.inbox.ring()

    @property
    def default_connection_params(self) -> dict[str, Any]:
        return {"hostname": "127.0.0.1", "port": self.default_port}

    def connect_options(self) -> dict[str, Any]:
        """Return the arguments of adapter.connect(); tls may be a mapping, see tls_of()."""
        client, given = self.client, self.client.transport_options
        check_options(given, (*_OF_CONNECT, "address", "delayed_delivery"))
        host = client.hostname or "127.0.0.1"
        host = f"[{host}]" if ":" in host else host  # kombu takes the brackets off IPv6
        address = given.get("address") or f"{host}:{self._port()}"
        options: dict[str, Any] = {"address": address}
        if (name := (client.virtual_host or "").strip("/")) != "":
            options["queue_manager"] = name
        for argument, value in (("user", client.userid), ("password", client.password)):
            if value is not None:
                options[argument] = value() if callable(value) else value
        if client.ssl:
            options["tls"] = client.ssl
        if client.connect_timeout:
            options["connect_timeout_s"] = client.connect_timeout
        return options | {name: given[name] for name in _OF_CONNECT if name in given}

    def _port(self) -> int:
        return int(self.client.port or self.default_port)


def _connect(options: Mapping[str, Any], links: ProcessLinks) -> adapter.Connection:
    named = {"tls": tls_of(options["tls"])} if "tls" in options else {}
    return adapter.connect(
        **{**options, **named}, on_reconnect=lambda made: links.restore(made.connection)
    )
