"""What a queue is asked about itself, and what is done to it as a whole.

This module does not know how messages are put and got.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from adapter.client import admin
from adapter.client.verb import Verb
from adapter.connection.channel.books import ChannelBooks
from adapter.connection.channel.steps import Steps
from adapter.core.contract import commands as c
from adapter.core.contract.results import QueueStatus


class AdministeredQueue(ABC):
    """The part of a queue object that is not about messages."""

    _name: str
    _channel: ChannelBooks

    @property
    def name(self) -> str:
        """The name by which it was opened; of a subscription, its queue's."""
        return self._name

    @abstractmethod
    def _check_open(self) -> None:
        """Refuse to go on with a queue object that has been closed."""

    @Verb
    def depth(self) -> Steps[int]:
        """Return how many messages are on it: available ones, and puts not yet committed."""
        return (yield from self._status()).current_depth

    @Verb
    def status(self) -> Steps[QueueStatus]:
        """Return its figures."""
        return (yield from self._status())

    @Verb
    def inquire(self) -> Steps[admin.Description]:
        """Return its attributes."""
        self._check_open()
        return admin.one_of((yield from admin.describe(self._channel, self.name)), self.name)

    @Verb
    def purge(self) -> Steps[int]:
        """Discard every message that no unit holds (CLEAR QLOCAL); returns how many."""
        self._check_open()
        return (yield from admin.durable(self._channel, c.PurgeQueue(self.name)))

    def _status(self) -> Steps[QueueStatus]:
        self._check_open()
        return admin.one_of((yield from admin.statuses(self._channel, self.name)), self.name)
