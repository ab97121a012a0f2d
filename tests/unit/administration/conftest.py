"""The queue manager in memory that these tests share with those of the services."""

from tests.unit.services.conftest import manager, qm

__all__ = ["manager", "qm"]
