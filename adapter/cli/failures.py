"""What the user is told when something fails: one sentence, and an exit status.

This module knows which exceptions are expected; it must not know what the commands do.
"""

from __future__ import annotations

import os
import sys
import traceback

import click

FAILED = 1
WRONG_USE = 2
INTERRUPTED = 130
"""128 + SIGINT, as shells report it."""


class Failed(click.ClickException):
    """The work failed; the text says what happened and what to do. Exit status 1."""

    exit_code = FAILED

    def show(self, file: object = None) -> None:  # noqa: ARG002 -- click's signature
        tell(self.message)


def tell(text: str) -> None:
    """Print one sentence on standard error."""
    print(f"mqk: {text}", file=sys.stderr)


def debugging() -> bool:
    """Whether tracebacks are wanted: MQK_DEBUG=1."""
    return os.environ.get("MQK_DEBUG", "") not in ("", "0")


def expected(problem: Exception) -> int:
    """An error of ours: its text says everything, and names the reason code if there is one."""
    if debugging():
        traceback.print_exception(problem)
    tell(str(problem))
    return FAILED


def unexpected(problem: BaseException) -> int:
    """The last resort, for what no command foresaw: a bug of ours."""
    if debugging():
        traceback.print_exception(problem)
    what = " ".join(f"{type(problem).__name__}: {problem}".split())
    tell(
        f"this should not have happened ({what}). Please report it as CONTRIBUTING.md says, with "
        "what MQK_DEBUG=1 prints and with the output of `mqk doctor`"
    )
    return FAILED
