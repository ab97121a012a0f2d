"""The scripted queue manager that these tests share with those of the channel."""

from tests.unit.channel.conftest import connect, qm, server

__all__ = ["connect", "qm", "server"]
