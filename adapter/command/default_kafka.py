"""Which Kafka a command uses when no option, variable or file names one.

It reads what `mqk kafka start` has left in its default data folder; it must not connect anywhere.
"""

from __future__ import annotations

from typing import NamedTuple

from adapter.command import failures
from adapter.localkafka import detached

ADDRESS = "localhost:9092"
"""Where Kafka listens unless its settings name another address."""
MEANING = f"the Kafka that `mqk kafka start` runs, else {ADDRESS}"


class Choice(NamedTuple):
    """An address, and why it was chosen, in the words of `mqk config check`."""

    servers: str
    source: str


def choose() -> Choice:
    """Return the local Kafka if it runs, else the usual address; raises LocalKafkaError."""
    local = detached.status()
    if local.running:
        return Choice(local.bootstrap_servers, "mqk kafka start")
    return Choice(ADDRESS, "default")


def servers() -> str:
    """Return the address; print a note if no local Kafka runs, for the connection may then fail."""
    choice = choose()
    if choice.source == "default":
        failures.tell(
            f"note: trying Kafka at {ADDRESS}: no --bootstrap-server is given, and `mqk kafka "
            "start` runs no Kafka here"
        )
    return choice.servers
