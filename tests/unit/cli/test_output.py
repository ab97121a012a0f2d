"""Tables for people, JSON for programs."""

import json

import pytest

from adapter.cli import output


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
