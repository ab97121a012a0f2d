"""Senders of transmission queues, as the sender channels that IBM MQ's tools know.

A sender needs no definition: its channel is named `TO.` and its queue. It is stopped by inhibiting
gets from that queue, which lasts. This module does not know how MQSC and PCF write a command.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Struct

from adapter.administration.kinds import CHANNEL_NAME_LENGTH, FoundObject, Kind
from adapter.administration.values import fits
from adapter.client.admin import Description
from adapter.client.connection import Connection
from adapter.core.attributes.table import NAME_LENGTH_MAX, Attribute, rows_of


class SenderRows(Struct, kw_only=True):
    """Reported of the sender of a transmission queue, which nobody defined."""

    channel_type: Annotated[
        Literal["SDR"], Attribute("CHLTYPE", 1511, "it sends", numbers=(1,), fixed=True)
    ] = "SDR"
    transmission_queue: Annotated[
        str,
        Attribute("XMITQ", 3505, "what it sends from", length=NAME_LENGTH_MAX, fixed=True),
    ]
    description: Annotated[str, Attribute("DESCR", 3502, "free text", length=64, fixed=True)] = (
        "made by the queue manager for its transmission queue"
    )


SENDER = Kind(
    "sender",
    "CHANNEL",
    "channel",
    "CHANNEL",
    3501,
    reported=rows_of(SenderRows),
    name_length=CHANNEL_NAME_LENGTH,
)


def channel_of(queue: str) -> str:
    """Return the name of the channel of a transmission queue."""
    return f"TO.{queue}"[:CHANNEL_NAME_LENGTH]


def queues(qm: Connection) -> list[Description]:
    """Return the transmission queues."""
    return [one for one in qm.queues("*", system=True) if one.attributes["usage"] == "XMITQ"]


def find(qm: Connection, pattern: str) -> list[FoundObject]:
    """Return the senders' channels whose name fits."""
    return [
        FoundObject(SENDER, name, {"transmission_queue": one.name})
        for one in queues(qm)
        if fits(name := channel_of(one.name), pattern)
    ]


def switch(qm: Connection, channel: str, *, stopped: bool) -> bool:
    """Stop or start the sender of a channel, which lasts; False if no sender has it."""
    found = [one.name for one in queues(qm) if channel_of(one.name) == channel]
    for name in found:
        qm.alter_queue(name, inhibit_get=stopped)
    return bool(found)
