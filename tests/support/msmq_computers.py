"""Two computers of MSMQ, each a queue manager: a client's, and a server's with queues."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import adapter.testing
from adapter.msmq import Host, Message, MessageQueue, QueueAccessMode

WAIT_S = 30.0


class Computers:
    """client and server: hosts on their own computers. at_client, at_server: queue managers."""

    def __init__(
        self,
        at_client: adapter.testing.TestQueueManager,
        at_server: adapter.testing.TestQueueManager,
    ) -> None:
        self.at_client, self.at_server = at_client, at_server
        self.client, self.server = at_client.connect_msmq(), at_server.connect_msmq()

    def close(self) -> None:
        self.client.close()
        self.server.close()

    def to_server(self, name: str = "orders") -> MessageQueue:
        """Open a queue of the server for sending, on the client's computer."""
        path = rf"{self.at_server.name}\private$\{name}"
        return self.client.open(path, access=QueueAccessMode.SEND)


def own(host: Host, name: str, *, transactional: bool = False) -> MessageQueue:
    """Create a queue on the host's own computer."""
    return host.create(rf".\private$\{name}", transactional=transactional)


def dead_letters(host: Host, *, transactional: bool) -> MessageQueue:
    """Open a dead-letter queue of the host's own computer."""
    name = "DEADXACT" if transactional else "DEADLETTER"
    return host.open(rf".\SYSTEM$;{name}", access=QueueAccessMode.RECEIVE)


def take(queue: MessageQueue, count: int) -> list[Message]:
    """Receive so many messages, waiting for each."""
    return [queue.receive(WAIT_S) for _ in range(count)]


@contextmanager
def computers(
    client: str = "CLIENT", server: str = "SERVER", **options: Any
) -> Iterator[Computers]:
    """Run two queue managers that reach each other. options: of adapter.testing.network()."""
    with adapter.testing.network(client, server, **options) as (at_client, at_server):
        both = Computers(at_client, at_server)
        try:
            yield both
        finally:
            both.close()
