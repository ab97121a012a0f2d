"""What a queue is asked about itself, and what is done to it as a whole.

This module does not know how messages are put and got.
"""

from __future__ import annotations

from typing import Protocol, Unpack

from adapter.channel import arguments as a
from adapter.channel.channel import Channel
from adapter.channel.requests import Handle
from adapter.client import admin
from adapter.client.attributes import QueueSettings
from adapter.core.contract import commands as c
from adapter.core.contract.results import QueueStatus


class AdministeredQueue(Protocol):
    """The part of a queue object that is not about messages."""

    name: str
    _channel: Channel

    def _check_open(self) -> None:
        """Refuse to go on with a queue object that has been closed."""

    def _handle(self, modes: int) -> Handle:
        """Return an open handle."""

    def depth(self) -> int:
        """Return how many messages are on it: available ones, and puts not yet committed."""
        return self.status().current_depth

    def status(self) -> QueueStatus:
        """Return its figures."""
        self._check_open()
        return admin.status_one(self._channel, self.name)

    def inquire(self) -> admin.Description:
        """Return its attributes."""
        self._check_open()
        return admin.describe_one(self._channel, self.name)

    def purge(self) -> int:
        """Discard every message that no unit holds (CLEAR QLOCAL); returns how many."""
        self._check_open()
        return admin.durable(self._channel, c.PurgeQueue(self.name))

    def set(self, **attributes: Unpack[QueueSettings]) -> None:
        """Set attributes that a program may set (MQSET): inhibit_get, inhibit_put, trigger_control,
        trigger_type, trigger_depth, trigger_msg_priority, trigger_data.
        """
        given = a.as_attributes(self.name, attributes)
        handle = self._handle(c.SET)
        admin.durable(self._channel, c.SetAttributes(handle.number, given), handle)
