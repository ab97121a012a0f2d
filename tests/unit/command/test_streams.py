"""Standard input and output that are closed, too long, or no text."""

import io
import sys

import pytest

from adapter.command import streams
from adapter.command.failures import Failed
from adapter.command.streams import LineTooLongError


class Slow(io.BytesIO):
    """Gives some bytes at a time, and counts what was asked for."""

    def __init__(self, content: bytes, at_once: int) -> None:
        super().__init__(content)
        self.at_once = at_once

    def read1(self, _size: int | None = -1, /) -> bytes:
        return self.read(self.at_once)


class Endless(io.BytesIO):
    """Has no end, as /dev/zero."""

    def read1(self, _size: int | None = -1, /) -> bytes:
        return bytes(1_000)

    def read(self, _size: int | None = -1, /) -> bytes:
        return bytes(1_000)


def give(monkeypatch: pytest.MonkeyPatch, source: io.BytesIO) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(source, encoding="utf-8"))


@pytest.mark.parametrize("at_once", [1, 2, 3, 100])
def test_lines_are_those_that_were_sent_however_they_come(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    give(monkeypatch, Slow(b"one\r\n\n\rtwo\nlast", at_once))
    came = list(streams.byte_lines(4))
    assert [line for some in came for line in some] == [b"one", b"", b"\rtwo", b"last"]


def test_a_line_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    give(monkeypatch, Slow(b"12345\r\n1234567\n", 3))
    lines = streams.byte_lines(5)
    assert next(lines) == [b"12345"]
    with pytest.raises(LineTooLongError, match="more than 5 bytes"):
        list(lines)
    give(monkeypatch, io.BytesIO(b"1234\n123456\n"))
    texts = streams.text_lines(5)
    assert next(texts) == "1234\n"
    with pytest.raises(Failed, match="line 2 of standard input has more than 5 characters"):
        next(texts)


def test_what_has_no_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    give(monkeypatch, Endless())
    with pytest.raises(LineTooLongError):
        list(streams.byte_lines(1_000_000))
    give(monkeypatch, Endless())
    with pytest.raises(Failed, match="more than 1000000 characters"):
        list(streams.text_lines(1_000_000))


@pytest.mark.parametrize("errors", ["strict", "surrogateescape"])
def test_what_is_no_text_is_said(errors: str, monkeypatch: pytest.MonkeyPatch) -> None:
    source = io.TextIOWrapper(io.BytesIO(b"a\n\xff\n"), encoding="utf-8", errors=errors)
    monkeypatch.setattr(sys, "stdin", source)
    with pytest.raises(Failed, match="not text in UTF-8"):
        list(streams.text_lines(5))


def test_closed_streams_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    monkeypatch.setattr(sys, "stdout", None)
    assert not streams.is_terminal()
    for use in (
        streams.standard_input,
        lambda: list(streams.byte_lines(1)),
        lambda: list(streams.text_lines(1)),
    ):
        with pytest.raises(Failed, match="standard input is closed"):
            use()
    with pytest.raises(Failed, match="standard output is closed"):
        streams.standard_output()
