"""What the demo shows: lines where there is no terminal, bars where there is one."""

import contextlib
import io
import time

import pytest

from mqk_demo.screen import Screen


class Terminal(io.StringIO):
    """A file that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_steps_are_lines_without_a_terminal() -> None:
    file = io.StringIO()
    with Screen(file=file) as shown:
        shown.say("starting [Kafka]")
        shown.show("put", 1, 10)
    assert file.getvalue().endswith(" s  starting [Kafka]\n")
    assert "\x1b" not in file.getvalue()


def test_progress_is_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    file = io.StringIO()
    now_s = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now_s[0])
    with Screen(file=file) as shown:
        for second in range(35):
            now_s[0] = float(second)
            shown.show("put", 1000 * second, 34_000)
    assert file.getvalue().splitlines() == [
        "  10.0 s  put: 10,000 of 34,000",
        "  20.0 s  put: 20,000 of 34,000",
        "  30.0 s  put: 30,000 of 34,000",
    ]


def test_progress_is_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    file = Terminal()
    with Screen(file=file) as shown:
        shown.say("half way")
        shown.show("put", 7, 10)
    assert "half way" in file.getvalue()
    assert "7/10" in file.getvalue()


def test_the_terminal_is_left_alone_after_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cursor that the bars hide comes back."""
    monkeypatch.setenv("TERM", "xterm")
    file = Terminal()
    with contextlib.suppress(RuntimeError), Screen(file=file) as shown:
        shown.show("put", 7, 10)
        raise RuntimeError
    assert file.getvalue().rindex("\x1b[?25h") > file.getvalue().rindex("\x1b[?25l")
