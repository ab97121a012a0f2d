"""The demo's processes: awaited, watched, ended, and quoted when they fail."""

import time
from pathlib import Path

import pytest

from mqk_demo.errors import DemoError
from mqk_demo.processes import Process

SERVE = "import time; print('{\"port\": 7}', flush=True); time.sleep(600)"


def await_end(process: Process) -> None:
    until_s = time.monotonic() + 60.0
    while process.is_running:
        assert time.monotonic() < until_s
        time.sleep(0.01)


def test_awaits_the_line_that_it_prints(tmp_path: Path) -> None:
    process = Process("server", ["-c", SERVE], tmp_path)
    try:
        assert process.await_line(60.0) == {"port": 7}
        process.check()
        assert process.is_running
    finally:
        process.kill()
    assert not process.is_running


def test_quotes_one_that_ends_before_it_serves(tmp_path: Path) -> None:
    process = Process("queue manager", ["-c", "import sys; sys.exit('no such Kafka')"], tmp_path)
    with pytest.raises(DemoError, match="the queue manager ended with status 1") as failure:
        process.await_line(60.0)
    process.kill()
    assert "no such Kafka" in str(failure.value)
    assert "MQRC" not in str(failure.value)


def test_gives_up_on_one_that_says_nothing(tmp_path: Path) -> None:
    process = Process("server", ["-c", "import time; time.sleep(600)"], tmp_path)
    try:
        with pytest.raises(DemoError, match="did not serve within 0 s"):
            process.await_line(0.2)
    finally:
        process.kill()


def test_a_worker_that_fails_is_noticed(tmp_path: Path) -> None:
    process = Process("worker 1", ["-c", "import time; time.sleep(600)"], tmp_path)
    process.check()
    process.kill()
    with pytest.raises(DemoError, match="the worker 1 ended with status -9"):
        process.check()


def test_one_that_ended_well_is_fine(tmp_path: Path) -> None:
    process = Process("producer", ["-c", "print('{\"put\": 3}')"], tmp_path)
    assert process.await_line(60.0) == {"put": 3}
    await_end(process)
    assert process.stop() == 0
    process.check()
    assert process.figures() == {"put": 3}


def test_what_an_earlier_process_said_is_not_taken_for_its_word(tmp_path: Path) -> None:
    first = Process("server", ["-c", SERVE], tmp_path)
    first.await_line(60.0)
    first.kill()
    second = Process("server", ["-c", SERVE.replace("7", "8")], tmp_path)
    try:
        assert second.await_line(60.0) == {"port": 8}
    finally:
        second.kill()


def test_other_lines_are_no_figures(tmp_path: Path) -> None:
    process = Process("server", ["-c", "print('{torn'); print('hello')"], tmp_path)
    await_end(process)
    process.stop()
    assert process.figures() is None
    assert process.said() == "{torn\nhello"
