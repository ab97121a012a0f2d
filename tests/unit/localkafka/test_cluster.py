"""LocalKafka before it is started: what it refuses, and with which words."""

from pathlib import Path

import pytest

from adapter.localkafka import LocalKafka, LocalKafkaError


def test_nothing_is_known_before_the_start() -> None:
    kafka = LocalKafka()
    with pytest.raises(LocalKafkaError, match=r"not started: call start\(\)"):
        _ = kafka.bootstrap_servers
    with pytest.raises(LocalKafkaError, match="not started"):
        kafka.kill(1)
    assert kafka.statistics() == {"brokers": 1, "running": 0}
    kafka.stop()


def test_without_java_nothing_is_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    data = tmp_path / "data"
    with pytest.raises(LocalKafkaError, match="java is not in PATH"), LocalKafka(data_dir=data):
        pass
    assert not data.exists()
