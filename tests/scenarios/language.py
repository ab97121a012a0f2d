"""The language of the transcripts: a command a line, its outcome indented below.

    # a comment
    alice: put ORDERS "hello" p=5
        put m1

A command is ``[CLIENT:] VERB WORD... NAME=VALUE...``; without a client it is that of ``app``. This
module knows the form and no verb: those are in world.py, explained in README.md.
"""

import re
import shlex

from msgspec import Struct

INDENT = "    "
DEFAULT_CLIENT = "app"
_CLIENT = re.compile(r"([a-z]+): +")
_OPTION = re.compile(r"([a-z_]+)=(.*)", re.DOTALL)


class TranscriptError(Exception):
    """The transcript is not written in this language."""


class Step(Struct):
    """One command and what it printed. before: the comments and blank lines above it."""

    line: int
    before: list[str]
    command: str
    outcome: list[str]


class Transcript(Struct):
    """A file of steps. after: what follows the last one."""

    steps: list[Step]
    after: list[str]


class Call(Struct):
    """A command taken apart."""

    client: str
    verb: str
    words: list[str]
    options: dict[str, str]


def parse(text: str) -> Transcript:
    """Read a transcript."""
    steps: list[Step] = []
    before: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith(INDENT):
            if not steps or before:
                raise TranscriptError(f"line {number}: an outcome without a command: {line!r}")
            steps[-1].outcome.append(line.removeprefix(INDENT))
        elif not line.strip() or line.startswith("#"):
            before.append(line)
        elif line != line.strip():
            raise TranscriptError(f"line {number}: outcomes are indented by {len(INDENT)} blanks")
        else:
            steps.append(Step(number, before, line, []))
            before = []
    return Transcript(steps, before)


def render(transcript: Transcript) -> str:
    """Write a transcript, so that parse reads it again."""
    lines: list[str] = []
    for step in transcript.steps:
        lines += [*step.before, step.command, *(INDENT + line for line in step.outcome)]
    return "\n".join([*lines, *transcript.after, ""])


def call_of(command: str) -> Call:
    """Take a command apart."""
    match = _CLIENT.match(command)
    client = match[1] if match else DEFAULT_CLIENT
    try:
        parts = shlex.split(command[match.end() :] if match else command)
    except ValueError as error:
        raise TranscriptError(f"{command!r}: {error}") from error
    words: list[str] = []
    options: dict[str, str] = {}
    for part in parts:
        option = _OPTION.fullmatch(part)
        if option:
            options[option[1]] = option[2]
        else:
            words.append(part)
    if not words:
        raise TranscriptError(f"{command!r}: no verb")
    return Call(client, words[0], words[1:], options)
