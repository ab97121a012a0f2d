"""mqk get: what is printed is gone, what could not be printed is not."""

import json
import sys

import pytest

import adapter
from adapter.cli import get
from adapter.testing import TestQueueManager
from tests.unit.cli.conftest import Mqk


@pytest.fixture
def filled(at: Mqk, manager: TestQueueManager) -> Mqk:
    with manager.connect() as qm:
        for number in range(3):
            qm.put("Q", f"m{number}", correlation_id=bytes([number + 1]) * 24)
    return at


def depth(manager: TestQueueManager) -> int:
    with manager.connect() as qm:
        return qm.queue("Q").depth()


def test_gets_one_and_prints_its_body(filled: Mqk, manager: TestQueueManager) -> None:
    said = filled("get", "Q")
    assert (said.status, said.out, said.err) == (0, "m0\n", "")
    assert depth(manager) == 2


def test_gets_several(filled: Mqk, manager: TestQueueManager) -> None:
    assert filled("get", "Q", "--count", 2).out == "m0\nm1\n"
    assert depth(manager) == 1


def test_gets_all(filled: Mqk, manager: TestQueueManager) -> None:
    said = filled("get", "Q", "--all")
    assert (said.status, said.out) == (0, "m0\nm1\nm2\n")
    assert depth(manager) == 0
    assert filled("get", "Q", "--all").status == 0


def test_too_few_is_a_failure_that_names_the_reason(filled: Mqk) -> None:
    said = filled("get", "Q", "--count", 4, "--timeout", 0.05)
    assert said.status == 1
    assert said.out == "m0\nm1\nm2\n"
    assert said.err == "mqk: only 3 of 4 messages were available on Q [MQRC_NO_MSG_AVAILABLE]\n"


def test_json_tells_everything(filled: Mqk, manager: TestQueueManager) -> None:
    told = json.loads(filled("get", "Q", "--json").out)
    assert told["body"] == "m0"
    assert told["correlation_id"] == "01" * 24
    assert told["priority"] == 0
    assert told["persistent"] is True
    assert told["unit_size"] == 1
    with manager.connect() as qm:
        qm.put("Q", b"\xff\xfe", priority=9)
    told = json.loads(filled("get", "Q", "--json").out)
    assert told["body_hex"] == "fffe"
    assert "body" not in told


def test_raw_bodies_are_printed_as_they_are(filled: Mqk) -> None:
    assert filled("get", "Q", "--raw", "--count", 3).out == "m0m1m2"


def test_selects_by_id(filled: Mqk) -> None:
    assert filled("get", "Q", "--correlation-id", "03" * 24).out == "m2\n"
    said = filled("get", "Q", "--correlation-id", "09" * 24)
    assert said.status == 1


def test_a_message_that_could_not_be_printed_stays(
    filled: Mqk, manager: TestQueueManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: object) -> None:
        raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr(get, "show", gone)
    assert filled("get", "Q").status == 1
    assert depth(manager) == 3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["get"], "Missing argument 'QUEUE'"),
        (["get", "Q", "--count", "0"], "0 is not in the range x>=1"),
        (["get", "Q", "--timeout", "-1"], "-1.0 is not in the range x>=0"),
        (["get", "Q", "--timeout", "soon"], "'soon' is not a valid float"),
        (["get", "Q", "--count", "2", "--all"], "--count and --all"),
        (["get", "Q", "--json", "--raw"], "--json and --raw"),
        (["get", "Q", "--timeout", "1", "--wait"], "--timeout and --wait"),
        (["get", "Q", "--group-id", "zz"], "neither hexadecimal digits"),
    ],
)
def test_wrong_use(arguments: list[str], words: str, at: Mqk) -> None:
    said = at(*arguments)
    assert said.status == 2
    assert words in said.err


def test_a_time_that_is_none_is_refused(at: Mqk) -> None:
    said = at("get", "Q", "--timeout", "nan")
    assert said.status == 2
    assert "--timeout': 'nan' is no number" in said.err
    assert "MQRC" not in said.err


def test_a_failure_names_its_reason(at: Mqk, manager: TestQueueManager) -> None:
    assert "[MQRC_UNKNOWN_OBJECT_NAME]" in at("get", "NO.SUCH").err
    with manager.connect() as qm:
        qm.alter_queue("Q", inhibit_get=True)
    said = at("get", "Q")
    assert said.status == 1
    assert "[MQRC_GET_INHIBITED]" in said.err


def test_finding_users_13_a_selection(at: Mqk, manager: TestQueueManager) -> None:
    with manager.connect() as qm:
        for colour in ("red", "blue", "red"):
            qm.put("Q", colour, properties={"colour": colour})
    for_red = ("--selection", "colour = 'red'")
    assert at("browse", "Q", *for_red, "--json").out.count("\n") == 2
    assert at("get", "Q", "--all", *for_red).out == "red\nred\n"
    assert at("get", "Q", "--selection", "colour =").status == 1
    assert at("get", "Q").out == "blue\n"


def test_finding_users_4_the_help_speaks_of_pipes(at: Mqk) -> None:
    assert "before `| head -5` use --count 5" in " ".join(at("get", "--help").out.split())


def test_finding_users_20_a_selection_names_any_property_in_quotes(
    at: Mqk, manager: TestQueueManager
) -> None:
    assert at("put", "Q", "x", "--property", "my-prop=a").status == 0
    assert at("get", "Q", "--selection", "\"my-prop\" = 'a'").out == "x\n"
    assert "my-prop in double quotes" in " ".join(at("put", "--help").out.split())


def test_a_body_gives_no_orders_to_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    message = adapter.Message("a\x1b]0;title\x07\u202eb\n\tc\xff")
    get.show(message, False, False)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    get.show(message, False, False)
    get.show(message, False, True)
    plain = message.body.decode()
    assert capfd.readouterr().out == f"{plain}\na\\x1b]0;title\\x07\\u202eb\n\tc\xff\n{plain}"


def test_without_an_output_nothing_is_got(
    filled: Mqk, manager: TestQueueManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a shell starts it with `>&-`."""
    for arguments in (["get", "Q"], ["get", "Q", "--json"]):
        with monkeypatch.context() as patched:
            patched.setattr(sys, "stdout", None)
            said = filled(*arguments)
        assert said.status == 1
        assert "standard output is closed" in said.err
    assert depth(manager) == 3
