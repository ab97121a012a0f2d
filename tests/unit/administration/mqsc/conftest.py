"""These tests share a queue manager with those of their module."""

from tests.support.administered import manager, qm

__all__ = ["manager", "qm"]
