"""mqk kafka: what can be told without starting one."""

import json
import socket
from pathlib import Path

import pytest

from adapter.localkafka import free_port
from tests.unit.cli.conftest import Mqk


def test_status_of_none_is_status_one(mqk: Mqk, tmp_path: Path) -> None:
    said = mqk("kafka", "status", "--data-dir", tmp_path)
    assert (said.status, said.out) == (1, f"Kafka is not running; its data folder is {tmp_path}\n")
    said = mqk("kafka", "status", "--data-dir", tmp_path, "--json")
    assert said.status == 1
    assert json.loads(said.out)["running"] is False


def test_stopping_none_is_no_failure(mqk: Mqk, tmp_path: Path) -> None:
    said = mqk("kafka", "stop", "--data-dir", tmp_path)
    assert (said.status, said.out) == (0, f"Kafka was not running; its data is in {tmp_path}\n")


def test_a_taken_port_is_named_before_anything_starts(mqk: Mqk, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = mqk("kafka", "start", "--data-dir", tmp_path, "--port", port)
    assert said.status == 1
    assert f"port {port} on 127.0.0.1" in said.err
    assert "MQRC" not in said.err


def test_missing_java_is_a_sentence(
    mqk: Mqk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    said = mqk("kafka", "start", "--data-dir", tmp_path, "--port", free_port())
    assert said.status == 1
    assert "install Java" in said.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["start", "--brokers", "2"], "'2' is not one of '1', '3'"),
        (["start", "--port", "80"], "80 is not in the range"),
        (["start", "--port", "x"], "'x' is not a valid integer"),
        (["start", "now"], "unexpected extra argument"),
        (["stop", "--data-dir"], "requires an argument"),
        (["status", "--nonsense"], "No such option"),
    ],
)
def test_wrong_use(arguments: list[str], words: str, mqk: Mqk) -> None:
    said = mqk("kafka", *arguments)
    assert said.status == 2
    assert words in said.err


def test_a_data_folder_that_is_a_file_is_refused(mqk: Mqk, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    said = mqk("kafka", "start", "--data-dir", tmp_path / "file")
    assert said.status == 2
    assert "is a file" in said.err
