"""From an address that a program gives to the dialers of its connection, by way of a directory too.

Programs name addresses of queue managers, or the Kafka whose directory has them. The Kafka client,
which is of an extra of the light client, is loaded by the latter only. This module knows no face.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping

from adapter.connection.channel import arguments as a
from adapter.connection.channel.addresses import DirectoryAddress, parse_addresses, parse_directory
from adapter.connection.channel.link.lookup import LookUp, LookUpDialer
from adapter.connection.channel.link.port import Dialer
from adapter.connection.channel.link.tls import dialer_of
from adapter.errors import InvalidOption


def dialers_by(
    address: str,
    tls: ssl.SSLContext | None,
    queue_manager: str | None = None,
    bootstrap_servers: str | None = None,
    kafka_options: Mapping[str, str] | None = None,
) -> list[Dialer]:
    """Return the dialers of these arguments of connect(). Raises InvalidValue, InvalidOption."""
    directory = directory_by(address, queue_manager, bootstrap_servers)
    if directory is None:
        return [dialer_of(one, tls) for one in parse_addresses(address)]
    return [LookUpDialer(look_up_by(directory, kafka_options, tls=tls is not None), tls)]


def directory_by(
    address: str, queue_manager: str | None, bootstrap_servers: str | None
) -> DirectoryAddress | None:
    """Return where the directory is that the arguments of connect() name; None if none does."""
    if bootstrap_servers is None:
        found = parse_directory(address)
        if found is None or found.queue_manager:
            return found
        bootstrap_servers = found.bootstrap_servers
    servers = a.as_name(bootstrap_servers, "bootstrap_servers")
    return DirectoryAddress(servers, a.as_text("queue_manager", queue_manager))


def look_up_by(
    directory: DirectoryAddress, kafka_options: Mapping[str, str] | None, *, tls: bool
) -> LookUp:
    """Return what looks up an address in the directory on a Kafka.

    tls: where clients with TLS connect. Raises InvalidOption without a Kafka client.
    """
    try:
        from adapter.runtime.network.lookup import directory_look_up  # noqa: PLC0415 -- of an extra
    except ImportError as error:
        raise InvalidOption(
            "the directory on Kafka is read by confluent-kafka, which is not installed: install "
            "mqk-client[kafka] (or mqk), or connect to an address"
        ) from error
    servers = directory.bootstrap_servers
    return directory_look_up(directory.queue_manager, servers, kafka_options, tls=tls)
