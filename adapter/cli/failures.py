"""How a failure is reported to the user: one sentence, and an exit status.

This module knows which exceptions are expected; it must not know what the commands do.
"""

from __future__ import annotations

import os
import traceback

import click

from adapter.cli import remedies
from adapter.errors import Error

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
    from adapter import logs  # noqa: PLC0415 -- structlog takes time; few commands fail

    logs.tell(f"mqk: {text}")


def debugging() -> bool:
    """Whether tracebacks are wanted: MQK_DEBUG=1."""
    return os.environ.get("MQK_DEBUG", "") not in ("", "0")


def expected(problem: Error) -> int:
    """An error of ours: one sentence that says what happened and what to do."""
    if debugging():
        traceback.print_exception(problem)
    tell(remedies.sentence(problem))
    return FAILED


def system(problem: OSError) -> int:
    """A file or a folder that the operating system refused."""
    if debugging():
        traceback.print_exception(problem)
    reason = problem.strerror or type(problem).__name__
    tell(f"cannot access {problem.filename}: {reason}; check the path and its permissions")
    return FAILED


def unexpected(problem: BaseException) -> int:
    """The last resort, for what no command foresaw: a bug of ours."""
    if debugging():
        traceback.print_exception(problem)
    what = " ".join(f"{type(problem).__name__}: {problem}".split())
    tell(
        f"internal error: {what}. Please report it, with what the command prints with "
        "MQK_DEBUG=1 set and with the output of `mqk doctor`"
    )
    return FAILED
