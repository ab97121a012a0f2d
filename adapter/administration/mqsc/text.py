"""From text to commands: comments, continuation, and what a command is made of.

A line is a command. A line that begins with *, blanks apart, is a comment. A line that ends in +
continues at the first character of the next line that is not a blank, a line that ends in - at its
very first character. Words that are not in quotation marks are folded to upper case; inside
quotation marks, two stand for one. This module knows no verb and no attribute.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

COMMAND_LENGTH_MAX = 32_762
"""MQ's own: longer ones are not commands, and shall not be collected without end."""
BYTE_ORDER_MARK = "\ufeff"
"""Some editors begin a file with it."""
BLANKS = " \t\r\f\v,"
"""A comma may stand wherever a blank may."""


class NotMqscError(Exception):
    """The text of a command is not MQSC. near: where it goes wrong."""

    def __init__(self, text: str, near: str = "") -> None:
        super().__init__(text)
        self.text = text
        self.near = near


class RefusedError(Exception):
    """A command failed. line: the answer that reports it."""

    def __init__(self, line: str) -> None:
        super().__init__(line)
        self.line = line


class ScriptLine(Struct, frozen=True):
    """One command as it was written, on one line. problem: why it is invalid, or nothing."""

    number: int
    text: str
    problem: str = ""


class Token(Struct, frozen=True):
    """A word, a quoted string, or a parenthesis (mark). at: where it begins."""

    text: str
    at: int
    mark: bool = False
    quoted: bool = False


def lines_of(lines: Iterable[str]) -> Iterator[ScriptLine]:
    """Yield the commands of a text, without comments and empty lines, as its lines come."""
    collected, begun, goes_on = "", 0, ""
    for number, line in enumerate(lines, 1):
        if number == 1:
            line = line.removeprefix(BYTE_ORDER_MARK)
        if line.lstrip().startswith("*"):
            continue
        part = (line if goes_on == "-" else line.lstrip()).rstrip()
        goes_on = part[-1:] if part.endswith(("+", "-")) else ""
        # What is too long is read to its end all the same: its rest is no command of its own.
        collected = (collected + part.removesuffix(goes_on))[: COMMAND_LENGTH_MAX + 1]
        begun = begun or number
        if not goes_on:
            yield from _finish(begun, collected)
            collected, begun = "", 0
    yield from _finish(begun, collected)


def _finish(number: int, collected: str) -> Iterator[ScriptLine]:
    text = collected.strip().removesuffix(";").rstrip()
    if len(collected) > COMMAND_LENGTH_MAX:
        problem = f"a command has at most {COMMAND_LENGTH_MAX} characters"
        yield ScriptLine(number, text[:60] + "...", problem)
    elif text:
        yield ScriptLine(number, text)


def tokens_of(text: str) -> list[Token]:
    """Take a command apart; NotMqscError says what cannot be."""
    tokens, at = [], 0
    while at < len(text):
        if text[at] in BLANKS:
            at += 1
        elif text[at] in "()":
            tokens.append(Token(text[at], at, mark=True))
            at += 1
        elif text[at] == "'":
            token, at = _read_quoted(text, at)
            tokens.append(token)
        else:
            end = _end_of_word(text, at)
            tokens.append(Token(text[at:end].upper(), at))
            at = end
    return tokens


def _read_quoted(text: str, begin: int) -> tuple[Token, int]:
    parts, at = [], begin + 1
    while True:
        end = text.find("'", at)
        if end < 0:
            raise NotMqscError("a quotation mark is not closed", text[begin:])
        parts.append(text[at:end])
        if text[end + 1 : end + 2] != "'":
            return Token("".join(parts), begin, quoted=True), end + 1
        parts.append("'")
        at = end + 2


def _end_of_word(text: str, at: int) -> int:
    while at < len(text) and text[at] not in BLANKS and text[at] not in "()'":
        at += 1
    return at


def quote(written: str) -> str:
    """Write a text so that its case and its signs are kept."""
    return "'" + written.replace("'", "''") + "'"
