"""mqk put: a line a message, and what is told when one is refused."""

import json
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import adapter.testing
from adapter.cli import put
from adapter.errors import InDoubt
from adapter.testing import TestQueueManager
from tests.unit.cli.conftest import Mqk

DEEP = "[" * 20_000
"""More lists in each other than Python reads."""


def on(manager: TestQueueManager, queue: str = "Q") -> list[adapter.Message]:
    with manager.connect() as qm:
        return list(qm.queue(queue).browse())


def bodies(manager: TestQueueManager) -> list[bytes]:
    return [message.body for message in on(manager)]


def test_a_line_is_a_message(at: Mqk, manager: TestQueueManager) -> None:
    said = at("put", "Q", stdin=b"one\n\ntwo\r\nlast")
    assert (said.status, said.out, said.err) == (0, "4 messages put on Q\n", "")
    assert bodies(manager) == [b"one", b"", b"two", b"last"]


def test_no_line_is_no_message(at: Mqk, manager: TestQueueManager) -> None:
    assert at("put", "Q").out == "0 messages put on Q\n"
    assert bodies(manager) == []


def test_lines_in_units(at: Mqk, manager: TestQueueManager) -> None:
    said = at("put", "Q", "--unit-size", 2, stdin=b"1\n2\n3\n")
    assert said.status == 0
    assert [(m.body, m.unit_size) for m in on(manager)] == [(b"1", 2), (b"2", 2), (b"3", 1)]


def test_bodies_and_files(at: Mqk, manager: TestQueueManager, tmp_path: Path) -> None:
    path = tmp_path / "body"
    path.write_bytes(b"\x00\xffline\nline")
    said = at("put", "Q", "--body", "é", "--file", path, stdin=b"not read")
    assert (said.status, said.out) == (0, "2 messages put on Q\n")
    assert bodies(manager) == ["é".encode(), b"\x00\xffline\nline"]


def test_fields(at: Mqk, manager: TestQueueManager) -> None:
    said = at(
        "put", "Q", "--body", "x", "--priority", 7, "--non-persistent", "--expiry", 60,
        "--format", "MQSTR", "--reply-to", "R", "--correlation-id", "text:N123",
        "--message-id", "0a" * 24, "--group-id", "ff",
    )  # fmt: skip
    assert said.status == 0, said.err
    (message,) = on(manager)
    assert (message.priority, message.persistent) == (7, False)
    assert (message.format, message.reply_to) == ("MQSTR", "R")
    assert message.expiry_s == 60
    assert message.message_id == b"\n" * 24
    assert message.correlation_id == b"N123".ljust(24, b"\0")
    assert message.group_id == b"\xff".ljust(24, b"\0")


def test_a_delay(at: Mqk, manager: TestQueueManager) -> None:
    assert at("put", "Q", "--body", "later", "--deliver-after", 3600).status == 0
    assert bodies(manager) == []
    with manager.connect() as qm:
        assert qm.queue("Q").status().delayed == 1
    (said,) = at("browse", "SYSTEM.DELAYED.QUEUE", "--json").out.splitlines()
    assert json.loads(said)["destination"] == "Q"
    assert at("put", "Q", "--body", "x", "--deliver-after", -1).status == 2


def test_json_tells_the_ids(at: Mqk, manager: TestQueueManager) -> None:
    said = at("put", "Q", "--json", stdin=b"1\n2\n")
    told = [json.loads(line) for line in said.out.splitlines()]
    assert [one["message_id"] for one in told] == [m.message_id.hex() for m in on(manager)]
    assert told[0]["put_time"].endswith("Z")


def test_what_was_put_before_a_refusal_is_told(at: Mqk, manager: TestQueueManager) -> None:
    with manager.connect() as qm:
        qm.alter_queue("Q", max_depth=2)
    said = at("put", "Q", stdin=b"1\n2\n3\n")
    assert said.status == 1
    assert "queue Q is full" in said.err
    assert "[MQRC_Q_FULL]; put before: 2 messages" in said.err
    assert bodies(manager) == [b"1", b"2"]


def test_a_unit_that_is_refused_is_not_put_at_all(at: Mqk, manager: TestQueueManager) -> None:
    with manager.connect() as qm:
        qm.alter_queue("Q", max_depth=3)
    said = at("put", "Q", "--unit-size", 2, stdin=b"1\n2\n3\n4\n")
    assert said.status == 1
    assert "put before: 2 messages" in said.err
    assert bodies(manager) == [b"1", b"2"]


def test_a_report_that_cannot_be_written_says_what_was_put(
    at: Mqk, manager: TestQueueManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A script that tried again because of the exit status would put the messages twice."""
    for arguments, told in (
        (["put", "Q", "a", "b"], "it is done, and only this report is missing: 2 messages put"),
        (["put", "Q", "a", "b", "--json"], "put before: 1 message"),
        (["move", "Q", "TO"], "only this report is missing: 3 messages moved"),
        (["queue", "purge", "TO", "--json"], "only this report is missing: 3 messages purged"),
    ):
        with manager.connect() as qm:
            qm.define_queue("TO", replace=True)
        with Path("/dev/full").open("w") as out, monkeypatch.context() as patched:
            patched.setattr(sys, "stdout", out)
            said = at(*arguments)
        assert said.status == 1
        assert said.err.startswith("mqk: cannot write the output: No space left on device; ")
        assert told in said.err
    assert bodies(manager) == []


def test_a_line_that_is_no_message_is_refused_by_its_number(
    at: Mqk, manager: TestQueueManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(put, "MESSAGE_LENGTH_MAX", 400_000)
    said = at("put", "Q", stdin=b"1\n2\n" + bytes(1_000_000))
    assert said.status == 1
    assert "a line of standard input has more than 400000 bytes" in said.err
    assert "put before: 2 messages; line 3 and all after it were not put" in said.err
    assert bodies(manager) == [b"1", b"2"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["put"], "Missing argument 'QUEUE'"),
        (["put", "Q", "--property", "x"], "'x' is not NAME=VALUE"),
        (["put", "Q", "x", "--from-json"], "--from-json reads standard input"),
        (["put", "Q", "--priority", "10"], "10 is not in the range 0<=x<=9"),
        (["put", "Q", "--priority", "high"], "'high' is not a valid integer"),
        (["put", "Q", "--expiry", "0"], "0.0 is not in the range x>0"),
        (["put", "Q", "--expiry", "soon"], "'soon' is not a valid float"),
        (["put", "Q", "--unit-size", "0"], "0 is not in the range"),
        (["put", "Q", "--message-id", "xyz"], "neither hexadecimal digits nor text:WORD"),
        (["put", "Q", "--message-id", ""], "has 0 bytes"),
        (["put", "Q", "--group-id", "00" * 25], "has 25 bytes"),
        (["put", "Q", "--file", "no/such/file"], "no/such/file cannot be read: No such file"),
    ],
)
def test_wrong_use(arguments: list[str], words: str, at: Mqk) -> None:
    said = at(*arguments)
    assert said.status == 2
    assert words in said.err
    assert said.out == ""


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["put", "NO.SUCH", "--body", "x"], "MQRC_UNKNOWN_OBJECT_NAME"),
        (["put", "Q", "--body", "x", "--qmgr", "127.0.0.1:1"], "MQRC_Q_MGR_NOT_AVAILABLE"),
    ],
)
def test_a_failure_names_its_reason(arguments: list[str], reason: str, at: Mqk) -> None:
    said = at(*arguments)
    assert said.status == 1
    assert f"[{reason}]" in said.err
    assert said.err.startswith("mqk: ")
    assert said.out == ""


def test_a_name_that_is_none_is_a_mistake_without_a_reason_code(at: Mqk) -> None:
    said = at("put", "", "--body", "x")
    assert (said.status, said.err) == (1, "mqk: a queue name has at least one character\n")


def test_finding_users_12_a_body_is_an_argument(at: Mqk, manager: TestQueueManager) -> None:
    said = at("put", "Q", "hello", "world", "--body", "-1", stdin=b"not read")
    assert (said.status, said.out, said.err) == (0, "3 messages put on Q\n", "")
    assert bodies(manager) == [b"hello", b"world", b"-1"]


def test_finding_users_10_lines_that_have_come_are_one_unit(
    at: Mqk, manager: TestQueueManager
) -> None:
    sent = [b"%d" % n for n in range(2500)]
    said = at("put", "Q", stdin=b"\n".join(sent))
    assert said.out == "2500 messages put on Q\n"
    assert bodies(manager) == sent
    assert {m.unit_size for m in on(manager)} == {1000, 499, 1}


def test_finding_users_10_the_first_refused_line_is_named(
    at: Mqk, manager: TestQueueManager
) -> None:
    with manager.connect() as qm:
        qm.alter_queue("Q", max_depth=5)
    said = at("put", "Q", stdin=b"".join(b"%d\n" % n for n in range(9)))
    assert said.status == 1
    assert "put before: 5 messages; line 6 and all after it were not put" in said.err
    assert bodies(manager) == [b"0", b"1", b"2", b"3", b"4"]


def test_finding_users_13_properties(at: Mqk, manager: TestQueueManager) -> None:
    said = at(
        "put", "Q", "x", "--property", "colour=red", "--property", "size=3",
        "--property", "share=0.5", "--property", "new=true", "--property", 'code="3"',
        "--property", "note=a=b", "--property", "list=[1]", "--property", "none=NaN",
        "--property", f"deep={DEEP}",
    )  # fmt: skip
    assert said.status == 0, said.err
    (message,) = on(manager)
    assert message.properties == {
        "colour": "red", "size": 3, "share": 0.5, "new": True, "code": "3", "note": "a=b",
        "list": "[1]", "none": "NaN", "deep": DEEP,
    }  # fmt: skip


def test_finding_users_13_what_get_prints_can_be_put_back(
    at: Mqk, manager: TestQueueManager
) -> None:
    with manager.connect() as qm:
        qm.put(
            "Q", b"\xff", priority=7, correlation_id=b"c", group_id=b"g", group_seq=2,
            last_in_group=True, persistent=False, format="F", message_type=1, report=4, feedback=5,
            encoding=273, ccsid=37, reply_to="R", reply_to_queue_manager="QM2",
            properties={
                "a": 1, "b": "x", "c": b"\xff\0", "d": float("inf"), "e": float("-inf"), "f": 1.0,
                "g": None, "h": True, "i": "00ff", "j": b"", "k": -0.0, "l": 2**63 - 1,
            },
            dead_letter=adapter.DeadLetter(reason=2053, destination="D"),
        )  # fmt: skip
        qm.put("Q", "größer")
    before = on(manager)
    printed = at("get", "Q", "--all", "--json").out
    assert on(manager) == []
    assert at("put", "Q", "--from-json", stdin=printed.encode()).status == 0
    after = on(manager)
    for one, other in zip(before, after, strict=True):
        for name in (
            *("message_id", "correlation_id", "group_id", "group_seq", "last_in_group", "body"),
            *("priority", "persistent", "format", "message_type", "report", "feedback"),
            *("encoding", "ccsid", "reply_to", "reply_to_queue_manager", "properties"),
            "dead_letter",
        ):
            assert getattr(one, name) == getattr(other, name), name
        types = [[type(value) for value in (of.properties or {}).values()] for of in (one, other)]
        assert types[0] == types[1]


def test_a_property_that_is_not_a_number_stays_so(at: Mqk, manager: TestQueueManager) -> None:
    with manager.connect() as qm:
        qm.put("Q", b"x", properties={"a": float("nan")})
    printed = at("get", "Q", "--json").out
    assert json.loads(printed)["properties"] == {"a": {"float": "nan"}}
    assert at("put", "Q", "--from-json", stdin=printed.encode()).status == 0
    (message,) = on(manager)
    assert message.properties is not None
    assert str(message.properties["a"]) == "nan"


@pytest.mark.parametrize(
    "value",
    [
        '{"b": 1}',
        '{"hex": 1}',
        '{"hex": "0"}',
        '{"hex": "00", "float": "nan"}',
        '{"float": "x"}',
        "{}",
        "[" * 5_000 + "]" * 5_000,
    ],
)
def test_a_property_that_none_can_be_is_refused(
    at: Mqk, manager: TestQueueManager, value: str
) -> None:
    line = f'{{"body": "x", "properties": {{"a": {value}}}}}\n'
    said = at("put", "Q", "--from-json", stdin=line.encode())
    assert said.status == 1
    assert "is no message as `mqk get --json` prints it" in said.err
    assert on(manager) == []


def test_a_line_that_is_no_message(at: Mqk, manager: TestQueueManager) -> None:
    said = at("put", "Q", "--from-json", stdin=b'{"body": "a"}\n{"body": "b"}\n{"boddy": "c"}\n')
    assert said.status == 1
    assert "is no message as `mqk get --json` prints it" in said.err
    assert "put before: 2 messages; line 3 and all after it were not put" in said.err
    assert bodies(manager) == [b"a", b"b"]


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (b"1\n", "put before: 0 messages, and perhaps 1 more"),
        (b"1\n2\n3\n", "put before: 0 messages, and perhaps 3 more"),
    ],
)
@pytest.mark.parametrize("ends", [KeyboardInterrupt, partial(InDoubt, "no answer to a commit")])
def test_what_has_no_answer_yet_may_have_been_put(
    at: Mqk,
    monkeypatch: pytest.MonkeyPatch,
    lines: bytes,
    told: str,
    ends: Callable[[], BaseException],
) -> None:
    """Ctrl-C, or the end of the connection, comes when the queue manager has it already."""
    for name in ("put", "commit"):
        face = adapter.Queue if name == "put" else adapter.Unit
        monkeypatch.setattr(face, name, and_then(getattr(face, name), ends, name == "put"))
    said = at("put", "Q", stdin=lines)
    is_interrupted = ends is KeyboardInterrupt
    assert said.status == (130 if is_interrupted else 1)
    assert told in said.err
    assert ("and all after it were not put" in said.err) != is_interrupted


def and_then(
    do: Callable[..., Any], ends: Callable[[], BaseException], is_put: bool
) -> Callable[..., Any]:
    """Do it, and end with that; puts of a unit, which are not waited for, go on."""

    def call(*arguments: Any, **options: Any) -> Any:
        done = do(*arguments, **options)
        if is_put and not options.get("wait", True):
            return done
        raise ends()

    return call


def test_a_body_may_be_bytes_that_are_no_text(at: Mqk, manager: TestQueueManager) -> None:
    assert at("put", "Q", os.fsdecode(b"\xff\xe4"), "ä").status == 0
    assert bodies(manager) == [b"\xff\xe4", "ä".encode()]
