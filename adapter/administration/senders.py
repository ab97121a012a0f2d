"""Senders of transmission queues, as the sender channels that IBM MQ's tools know.

A sender needs no definition: its channel is named `TO.` and its queue. It is stopped by inhibiting
gets from that queue, which lasts. This module does not know how MQSC and PCF write a command.
"""

from __future__ import annotations

from adapter.administration.kinds import CHANNEL_NAME_LENGTH, FoundObject, Kind
from adapter.administration.reported import always, table, text
from adapter.administration.values import fits
from adapter.client.admin import Description
from adapter.client.connection import Connection
from adapter.errors import InvalidName

MADE = "made by the queue manager for its transmission queue"
SENDER = Kind(
    "sender",
    "CHANNEL",
    "channel",
    "CHANNEL",
    3501,
    reported=table(
        always("channel_type", "CHLTYPE", 1511, "it sends", "SDR", 1),
        text("transmission_queue", "XMITQ", 3505, "what it sends from"),
        text("description", "DESCR", 3502, "free text", 64, MADE),
    ),
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
    """Stop or start the sender of a channel, which lasts; False if no sender has it.

    Raises InvalidName if long names of several queues begin alike, so that they have one channel.
    """
    found = [one.name for one in queues(qm) if channel_of(one.name) == channel]
    if len(found) > 1:
        raise InvalidName(
            f"channel {channel} is that of several transmission queues, {', '.join(found)}: alter "
            f"the one that is meant, as by ALTER QLOCAL({found[0]}) "
            f"GET({'DISABLED' if stopped else 'ENABLED'})",
            channel,
        )
    for name in found:
        qm.alter_queue(name, inhibit_get=stopped)
    return bool(found)
