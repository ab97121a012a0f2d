"""Logs: one line an event on standard error, readable for programs unless a person looks."""

import json
import logging
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from adapter import testing
from adapter.host import logs
from adapter.host.logs import Bridge, LogSettings


@pytest.fixture(autouse=True)
def afterwards() -> Iterator[None]:
    """Leave logging as it was."""
    yield
    structlog.reset_defaults()
    root = logging.getLogger()
    for handler in [one for one in root.handlers if isinstance(one, Bridge)]:
        root.removeHandler(handler)


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    out, err = capsys.readouterr()
    assert out == ""
    return [json.loads(line) for line in err.splitlines()]


def test_a_line_is_json_where_no_person_looks(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure(LogSettings())
    structlog.get_logger("mqk.owner").info("ledger taken over", entries=3)
    (line,) = lines(capsys)
    assert list(line) == ["timestamp", "level", "logger", "event", "entries"]
    assert line["timestamp"].endswith("Z")
    del line["timestamp"]
    assert line == {
        "level": "info", "logger": "mqk.owner", "event": "ledger taken over", "entries": 3
    }  # fmt: skip


def test_a_terminal_is_given_text(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    logs.configure(LogSettings())
    structlog.get_logger("mqk.owner").info("ledger taken over", entries=3)
    text = capsys.readouterr().err
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    assert re.search(r"Z \[info +\] ledger taken over +\[mqk\.owner\] entries=3\n", plain)
    assert plain != text, "a terminal shows colours"
    logs.configure(LogSettings(format="json"))
    structlog.get_logger("mqk.owner").info("again")
    assert lines(capsys)[0]["event"] == "again"


@pytest.mark.parametrize("level", list(logs.LEVELS))
def test_less_than_the_level_is_not_logged(
    level: logs.Level, capsys: pytest.CaptureFixture[str]
) -> None:
    logs.configure(LogSettings(level=level))
    log = structlog.get_logger("mqk.x")
    for each in logs.LEVELS:
        getattr(log, each)("said")
    wanted = list(logs.LEVELS)[list(logs.LEVELS).index(level) :]
    assert [line["level"] for line in lines(capsys)] == wanted


def test_an_exception_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure(LogSettings())
    try:
        raise ValueError("no\nluck")
    except ValueError:
        structlog.get_logger("mqk.x").exception("broke")
    (line,) = lines(capsys)
    assert "Traceback" in line["exception"]


def test_what_libraries_log_goes_the_same_way(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure(LogSettings())
    logs.configure(LogSettings())  # twice is once
    logging.getLogger("some.library").info("not said")
    logging.getLogger("some.library").warning("50%% of %s", "it")
    (line,) = lines(capsys)
    assert (line["logger"], line["level"]) == ("some.library", "warning")
    assert line["event"] == "50% of it"


def test_a_library_does_not_flood_the_log(capsys: pytest.CaptureFixture[str]) -> None:
    now_s = [0.0]
    logs.configure(LogSettings())
    bridge = Bridge(logging.WARNING, lambda: now_s[0])

    def warn(text: str, *told: int) -> None:
        bridge.emit(logging.LogRecord("a.library", logging.WARNING, "", 0, text, told, None))

    for turn in range(1000):
        now_s[0] = turn / 10
        warn("127.0.0.1:%d refused after %d ms", 30_000 + turn, turn)
        if turn == 500:
            warn("something else")
    said = [(line["event"], line.get("repeated")) for line in lines(capsys)]
    assert said == [
        ("127.0.0.1:30000 refused after 0 ms", None),
        ("127.0.0.1:30300 refused after 300 ms", 299),
        ("something else", None),
        ("127.0.0.1:30900 refused after 900 ms", 599),
    ]


def test_finding_reliability_kafka_gone_what_lasts_is_logged_after_longer_and_longer_pauses(
    capsys: pytest.CaptureFixture[str],
) -> None:
    now_s = [0.0]
    logs.configure(LogSettings())
    repetitions = logs.Repetitions(lambda: now_s[0])
    log = structlog.get_logger("mqk.test")

    def warn(reason: str) -> None:
        repetitions.warn(log, "does not work", reason=reason, topic="T")

    for now_s[0] in range(0, 3600, 5):
        warn(f"no broker answered in {now_s[0]:.0f} ms")
    said = [(line["reason"], line.get("repeated")) for line in lines(capsys)]
    assert said == [
        ("no broker answered in 0 ms", None),
        ("no broker answered in 30 ms", 5),
        ("no broker answered in 90 ms", 11),
        ("no broker answered in 210 ms", 23),
        ("no broker answered in 510 ms", 59),
        *((f"no broker answered in {at} ms", 119) for at in range(1110, 3600, 600)),
    ]
    warn("no right")
    assert lines(capsys)[0]["reason"] == "no right", "another one is logged at once"
    now_s[0] += logs.QUIET_S + 1
    warn("no broker answered in 9 ms")
    (line,) = lines(capsys)
    assert line["reason"] == "no broker answered in 9 ms", "it had ended, and is there again"


def test_different_sayings_and_exceptions_are_all_logged(
    capsys: pytest.CaptureFixture[str],
) -> None:
    logs.configure(LogSettings())
    log = logging.getLogger("some.library")
    different = logs.SAYINGS_MAX + 50
    for number in range(different):
        log.warning("%s", chr(0x4E00 + number))
    assert len(lines(capsys)) == different
    (bridge,) = (one for one in logging.getLogger().handlers if isinstance(one, Bridge))
    assert len(bridge._repetitions._said) == logs.SAYINGS_MAX
    for problem in (ValueError("one"), ValueError("two")):
        log.error("a callback failed", exc_info=problem)
    assert len(lines(capsys)) == 2


def test_a_queue_manager_for_tests_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    structlog.reset_defaults()
    with testing.queue_manager() as manager, manager.connect() as qm:
        qm.define_queue("Q")
        manager.restart()
    assert capsys.readouterr() == ("", "")


def test_a_program_that_has_said_how_it_logs_is_heeded(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure(LogSettings(level="info"))
    with testing.queue_manager():
        pass
    assert "ledger taken over" in [line["event"] for line in lines(capsys)]


def test_text_has_no_colours_and_one_line_where_nobody_looks(
    capsys: pytest.CaptureFixture[str],
) -> None:
    logs.configure(LogSettings(format="text"))
    structlog.get_logger("mqk.x").info("client \x1b[2J\nrefused", user="a\nb\x1b[2J\u2028", n=None)
    text = capsys.readouterr().err
    assert "\x1b" not in text
    assert "\u2028" not in text
    assert text.count("\n") == 1
    assert r"client \x1b[2J\nrefused" in text


FLOOD = """
import sys
import structlog
from adapter.host import logs
logs.configure(logs.LogSettings(level="info", format="json"))
log = structlog.get_logger("mqk.x")
for number in range(10_000):
    log.info("refused", number=number, user="x" * 100)
print("logged", flush=True)
sys.stdin.readline()
log.info("again")
logs.tell("mqk: a last sentence")
print(logs.dropped_lines(), flush=True)
"""


def flooded(stderr: int) -> "subprocess.Popen[str]":
    """A process that logs more than a pipe holds, and waits for a line before it ends."""
    return subprocess.Popen(
        [sys.executable, "-c", FLOOD], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=stderr, text=True,
    )  # fmt: skip


def test_a_log_that_nobody_reads_holds_nobody_up() -> None:
    """64 KB in a pipe that is not read: the next line used to wait for ever."""
    with flooded(subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        try:
            assert process.stdout.readline() == "logged\n"
            process.stdin.write("\n")
            process.stdin.flush()
            assert int(process.stdout.readline()) > 0
            assert process.wait(30) == 0
        finally:
            process.kill()


def test_lines_come_again_when_the_log_is_read_again() -> None:
    with flooded(subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            assert process.stdout.readline() == "logged\n"
            said = [json.loads(process.stderr.readline()) for _line in range(500)]
            assert [one["number"] for one in said] == list(range(500))
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.close()
            rest = process.stderr.read()
        finally:
            process.kill()
    sentence = "mqk: a last sentence"
    assert sentence in rest.splitlines()
    events = [json.loads(line) for line in rest.splitlines() if line != sentence]
    missing = sum(one["lines"] for one in events if one["event"] == "log lines were dropped")
    refused = sum(one["event"] == "refused" for one in events)
    assert 500 + refused + missing == 10_000
    assert missing


def test_a_full_disk_and_a_reader_that_has_gone_change_no_exit_status() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    full = os.open("/dev/full", os.O_WRONLY)
    for stderr in (full, writer):
        with flooded(stderr) as process:
            out, _none = process.communicate("\n", 30)
        os.close(stderr)
        assert out.splitlines()[0] == "logged"
        assert int(out.splitlines()[1]) > 0
        assert process.returncode == 0


def test_the_last_lines_are_written_before_the_end() -> None:
    program = (
        "import structlog; from adapter.host import logs; logs.configure(logs.LogSettings())\n"
    )
    program += "for n in range(1000): structlog.get_logger('mqk.x').info('said', n=n)"
    done = subprocess.run(
        [sys.executable, "-c", program], stderr=subprocess.PIPE, text=True, check=True, timeout=60
    )
    assert [json.loads(line)["n"] for line in done.stderr.splitlines()] == list(range(1000))


def test_a_process_without_a_standard_error_logs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    logs.configure(LogSettings())
    structlog.get_logger("mqk.x").info("said")
    logs.tell("said")


def test_a_sentence_for_people_gives_no_orders_to_their_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    logs.tell("mqk: for \x1b]0;owned\x07\x1b[2J\nmqk: all is well\u202eä")
    told = "mqk: for \\x1b]0;owned\\x07\\x1b[2J\n  mqk: all is well\\u202eä\n"
    assert capsys.readouterr().err == told
