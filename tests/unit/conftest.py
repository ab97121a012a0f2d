"""What tests of several rooms share."""

import pytest

from adapter.localkafka import detached


@pytest.fixture
def local_kafka(monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of a local Kafka that runs, as far as its data folder says."""
    status = detached.Status(True, "127.0.0.1:19092", "4", "folder", 1, {1: 1})
    monkeypatch.setattr(detached, "status", lambda: status)
    return status.bootstrap_servers
