"""Durable consumers of a queue manager's core: programs that open, claim, read and consume."""

from __future__ import annotations

from typing import Any

from adapter.core.contract import commands as c
from adapter.core.contract.results import (
    BatchDescription,
    Batches,
    Consumers,
    ConsumerState,
    ConsumerStatus,
)
from tests.support.core import IN_OUT, Client, client_on

TIMEOUT_MS = 60_000
H = 7
"""The handle of a consumer."""


def opened(client: Client, name: str = "C", handle: int = H, queue: str = "Q") -> ConsumerState:
    state = client.do(c.OpenConsumer(handle, queue, name, TIMEOUT_MS))
    assert isinstance(state, ConsumerState), state
    return state


def claim(client: Client, limit: int = 100, planned: int = 0, handle: int = H) -> int:
    """Ask for a batch; the number of the last one."""
    state = client.do(c.ClaimBatch(handle, limit, planned))
    assert isinstance(state, ConsumerState), state
    return state.last


def read(
    client: Client, after: int, through: int, ident: bytes = b"", handle: int = H
) -> list[BatchDescription]:
    found = client.do(c.ReadBatches(handle, ident or claim_of(client), after, through))
    assert isinstance(found, Batches), found
    return found.batches


def spans(client: Client, number: int) -> list[int]:
    (batch,) = read(client, number - 1, number)
    return batch.spans


def consume(client: Client, through: int, handle: int = H) -> None:
    state = client.do(c.ConsumeBatches(handle, claim_of(client), through))
    assert isinstance(state, ConsumerState), state
    assert state.consumed == through


def status(client: Client, name: str = "C") -> ConsumerStatus:
    found = client.do(c.AskConsumers("Q"))
    assert isinstance(found, Consumers)
    return next(one for one in found.consumers if one.name == name)


def claim_of(client: Client) -> bytes:
    return status(client).claim


def consumer_on(*bodies: str, **attributes: Any) -> Client:
    """A client with an open consumer of a queue that has these messages."""
    client = client_on(**attributes)
    for body in bodies:
        client.put(body, persistence=1)
    opened(client)
    return client


def back(client: Client) -> Client:
    """Another program of the same name, after the first one has gone."""
    client.lose()
    other = client.core.connect()
    other.open(modes=IN_OUT)
    opened(other)
    return other


def restarted(client: Client, with_snapshot: bool) -> Client:
    """Another program of the same name at a queue manager that has restarted."""
    if with_snapshot:
        client.core.crash_with_snapshot()
    else:
        client.core.crash()
    other = client.core.connect()
    other.open(modes=IN_OUT)
    opened(other)
    return other
