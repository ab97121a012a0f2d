"""Tables for people, JSON for programs."""

import errno
import io
import json
import sys
import threading

import pytest
from msgspec import Struct

from adapter.cli import output
from adapter.command import failures


def test_json_is_one_line_with_bytes_in_hexadecimal(capsys: pytest.CaptureFixture[str]) -> None:
    output.emit({"id": b"\x01\xff", "list": [b"a", {"b": b"c"}], "text": "é\n", "n": 1.5})
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    assert json.loads(out) == {"id": "01ff", "list": ["61", {"b": "63"}], "text": "é\n", "n": 1.5}


class Full(io.StringIO):
    """A file on a disk without room."""

    def write(self, _text: str, /) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("as_json", [False, True])
def test_a_report_that_cannot_be_written_is_in_the_error(
    as_json: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", Full())
        with pytest.raises(failures.Failed, match=r"No space left.*it is done.*: Q purged"):
            output.done("Q purged", as_json, queue="Q")
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", None)
        output.done("Q purged", as_json, queue="Q")


def test_a_table_is_plain_text_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    output.table(("queue", "depth"), [("A[B]", 1234567), ("C", 5)])
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert lines == ["queue      depth", "A[B]   1,234,567", "C              5"]


def test_cells_are_for_people() -> None:
    assert [output.cell(x) for x in (True, False, None, 12345, 1234.56, "x")] == [
        "yes", "no", "", "12,345", "1,234.6", "x",
    ]  # fmt: skip


def test_what_clients_say_gives_no_orders_to_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    output.table(("user",), [["a\x1b[2Jb\nc\u2028d\x9b31m ä 漢"]])
    shown = capsys.readouterr().out
    assert shown.splitlines()[1:] == [r"a\x1b[2Jb\nc\u2028d\x9b31m ä 漢"]


def test_finding_users_10_a_note_while_nothing_is_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[str] = []
    said = threading.Event()

    def tell(text: str) -> None:
        told.append(text)
        said.set()

    monkeypatch.setattr(failures, "tell", tell)
    with output.waiting_note(after_s=0.0):
        assert said.wait(10)
    assert "still waiting" in told[0]
    with output.waiting_note(after_s=3600.0):
        pass
    assert len(told) == 1


def test_finding_users_21_no_color_leaves_bold_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    output.table(("queue", "depth"), [("Q", 1)])
    assert "\x1b" not in capsys.readouterr().out


def test_finding_users_21_names_and_values_have_no_heading_row(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    output.pairs([("queue manager", "QM1"), ("queues", 3)])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines] == [["queue", "manager", "QM1"], ["queues", "3"]]


def test_numbers_of_things() -> None:
    said = [output.number(count, "queue") for count in (0, 1, 2000)]
    assert said == ["0 queues", "1 queue", "2,000 queues"]


def test_what_was_done_is_a_sentence_or_an_object(capsys: pytest.CaptureFixture[str]) -> None:
    output.done("queue Q purged", False, queue="Q", purged=2)
    output.done("queue Q purged", True, queue="Q", purged=2)
    said, emitted = capsys.readouterr().out.splitlines()
    assert said == "queue Q purged"
    assert json.loads(emitted) == {"queue": "Q", "purged": 2}


class Found(Struct):
    name: str
    size: int


@pytest.mark.parametrize("count", [0, 2])
def test_a_list_is_a_table_or_an_object_a_line(
    capsys: pytest.CaptureFixture[str], count: int
) -> None:
    found = [Found("A", 1), Found("B", 22)][:count]
    output.listing(found, False, ("name", "twice"), lambda one: (one.name, 2 * one.size))
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines == [["name", "twice"], ["A", "2"], ["B", "44"]][: count + 1]
    output.listing(found, True, ("name", "size"))
    emitted = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert emitted == [{"name": "A", "size": 1}, {"name": "B", "size": 22}][:count]


def test_json_gives_no_orders_to_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    said = {"name": "a\x1b]0;t\x07\x9b31m\u202e\u2028\U000e0001ä"}
    output.emit(said)
    out = capsys.readouterr().out
    assert out[:-1].isprintable()
    assert json.loads(out) == said
