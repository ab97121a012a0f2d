"""Parked queues, as those know them who copy messages to topics."""

from __future__ import annotations

from msgspec import Struct


class ParkedQueue(Struct):
    """A queue whose topic cannot be written. waiting_bytes: of messages that wait to be copied."""

    incarnation: int
    waiting_bytes: int
    why: str
