"""Where a queue manager is reached, as the directory on its Kafka says.

For programs that know the Kafka and not the address. The directory is read for each connection that
is made, so that a queue manager which has moved to another machine is found again. This module
knows no message.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping

from adapter.connection.channel.link.lookup import LookUp
from adapter.connection.channel.link.port import HostNotReached
from adapter.host.settings.setting_rows import OPTION_PREFIX, option_of
from adapter.runtime.network.directory import Directory, DirectoryEntry
from adapter.runtime.network.kafka import KafkaTransport
from adapter.runtime.network.port import NetworkError, TopicLost, Transport
from adapter.storage.format import names

READ_S = 0.2


def directory_look_up(
    queue_manager: str,
    bootstrap_servers: str,
    options: Mapping[str, str] | None = None,
    *,
    tls: bool = False,
) -> LookUp:
    """Return what looks up a queue manager by its name; "": the only one that there is.

    options: of librdkafka; None: those of the environment. tls: where clients with TLS connect, if
    the queue manager has told.
    """
    given = options_in(os.environ) if options is None else options
    transport = KafkaTransport(bootstrap_servers, given)

    def look_up(timeout_s: float) -> str:
        try:
            directory = read_directory(transport, timeout_s)
        except NetworkError as error:
            raise HostNotReached(f"the directory on {bootstrap_servers}: {error}") from error
        entry = chosen(directory, queue_manager, bootstrap_servers)
        return (entry.tls_address if tls else "") or entry.address

    return look_up


def options_in(environment: Mapping[str, str]) -> dict[str, str]:
    """Return settings of librdkafka from variables, as MQK_KAFKA_OPTION_SECURITY_PROTOCOL."""
    return {
        option_of(variable): value
        for variable, value in environment.items()
        if variable.startswith(OPTION_PREFIX) and value
    }


def chosen(directory: Directory, queue_manager: str, bootstrap_servers: str) -> DirectoryEntry:
    """Return a queue manager of the directory; HostNotReached if it is not there."""
    known = sorted(directory.queue_managers)
    if not queue_manager and len(known) == 1:
        queue_manager = known[0]
    entry = directory.entry(queue_manager)
    if entry is not None and entry.address:
        return entry
    if queue_manager:
        text = f"queue manager {queue_manager} is not in the directory on {bootstrap_servers}: "
        text += "has it been started there?"
    elif known:
        text = f"name one of the queue managers on {bootstrap_servers}: {', '.join(known)}"
    else:
        text = f"the directory on {bootstrap_servers} has no queue manager"
    raise HostNotReached(text)


def read_directory(transport: Transport, timeout_s: float) -> Directory:
    """Read what the directory says now. Raises NetworkError."""
    directory, topic = Directory(), names.DIRECTORY_TOPIC
    deadline_s = time.monotonic() + timeout_s
    if not transport.identities([topic]):
        return directory
    follower = transport.follower()
    try:
        first, end = follower.bounds(topic)
        follower.follow(topic, first)
        while first < end:
            if time.monotonic() > deadline_s:
                raise NetworkError(f"{topic} could not be read within {timeout_s:g} s")
            for record in follower.read(READ_S):
                if isinstance(record, TopicLost):
                    raise NetworkError(f"{topic}: {record.why}")
                directory.take(record.key, record.value)
                first = record.offset + 1
    finally:
        follower.close()
    return directory
