"""Two starts at once on one data folder: one waits for the other."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from adapter.localkafka import LocalKafkaError, alone
from adapter.localkafka.alone import alone_on
from adapter.localkafka.jars import say_nothing

WAIT_S = 30.0


def test_the_second_start_waits_for_the_first_and_says_so(tmp_path: Path) -> None:
    told = threading.Event()
    order: list[str] = []

    def say(text: str) -> None:
        order.append(text)
        told.set()

    def second() -> None:
        with alone_on(tmp_path, say):
            order.append("second")

    with ThreadPoolExecutor(1) as threads:
        with alone_on(tmp_path, say_nothing):
            waiting = threads.submit(second)
            assert told.wait(WAIT_S)
            order.append("first")
        waiting.result(WAIT_S)
    said = f"waiting for another process, which starts or stops Kafka on {tmp_path}"
    assert order == [said, "first", "second"]


def test_the_wait_has_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alone, "ALONE_TIMEOUT_S", 0)
    with (
        alone_on(tmp_path, say_nothing),
        pytest.raises(LocalKafkaError, match="end it and try again"),
        alone_on(tmp_path, say_nothing),
    ):
        pass


def test_a_folder_that_was_made_for_nothing_is_removed(tmp_path: Path) -> None:
    def refuse(folder: Path) -> None:
        with alone_on(folder, say_nothing):
            raise LocalKafkaError("its port is taken")

    (tmp_path / "old").mkdir()
    for name in ("new", "old"):
        with pytest.raises(LocalKafkaError, match="taken"):
            refuse(tmp_path / name)
    with alone_on(tmp_path / "used", say_nothing):
        (tmp_path / "used" / "broker-1").mkdir()
    assert sorted(one.name for one in tmp_path.iterdir()) == ["old", "used"]


def test_many_starts_come_one_after_the_other(tmp_path: Path) -> None:
    """Also while folders that were made for nothing are removed between them."""
    folder = tmp_path / "kafka"
    inside: list[int] = []
    most: list[int] = []

    def start(_number: int) -> None:
        with alone_on(folder, say_nothing):
            inside.append(1)
            most.append(len(inside))
            assert folder.is_dir()
            inside.pop()

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(start, range(60)))
    assert max(most) == 1
