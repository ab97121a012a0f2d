"""Tables for people, JSON for programs."""

import json
import threading

import pytest

from adapter.cli import output
from adapter.command import failures


def test_json_is_one_line_with_bytes_in_hexadecimal(capsys: pytest.CaptureFixture[str]) -> None:
    output.emit({"id": b"\x01\xff", "list": [b"a", {"b": b"c"}], "text": "é\n", "n": 1.5})
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    assert json.loads(out) == {"id": "01ff", "list": ["61", {"b": "63"}], "text": "é\n", "n": 1.5}


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
