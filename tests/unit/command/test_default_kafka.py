"""Which Kafka a command uses when none is named."""

from pathlib import Path

import pytest

from adapter.command import default_kafka


def test_the_local_kafka_needs_no_words(
    local_kafka: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert default_kafka.servers() == local_kafka
    assert capsys.readouterr().err == ""


def test_the_usual_address_is_tried_with_a_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert default_kafka.servers() == "localhost:9092"
    assert "no --bootstrap-server is given" in capsys.readouterr().err
