"""Computers of MSMQ that have a queue manager of their own, as the directory says. Soft state.

This module does not know how their queues are reached.
"""

from __future__ import annotations

from msgspec import Struct


class KnownComputer(Struct, frozen=True):
    """A computer of MSMQ. queue_manager: that has its queues; address: HOST:PORT of it."""

    queue_manager: str
    address: str
