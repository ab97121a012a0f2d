"""How a command is run, and how a failure is reported: one sentence, and an exit status.

This module knows which exceptions are expected; it must not know what the commands do.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from adapter.command import remedies
from adapter.errors import Error, StartError

FAILED = 1
WRONG_USE = 2
INTERRUPTED = 130
"""128 + SIGINT, as shells report it."""
NO_ROOM = {errno.ENOSPC, errno.EDQUOT}
"""Of an error that names no file: standard output is on a full disk."""
CONTEXT: Mapping[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
"""Settings of click that hold for every command."""


class Failed(click.ClickException):
    """The work failed; the text says what happened and what to do. Exit status 1."""

    exit_code = FAILED

    def show(self, file: object = None) -> None:  # noqa: ARG002 -- click's signature
        tell(self.message)


@contextlib.contextmanager
def expect(*kinds: type[Exception]) -> Iterator[None]:
    """Report errors of these kinds by their own sentence."""
    try:
        yield
    except kinds as problem:
        raise Failed(str(problem)) from problem


def tell(text: str) -> None:
    """Print one sentence on standard error."""
    from adapter.host import logs  # noqa: PLC0415 -- structlog takes time; few commands fail

    logs.tell(f"mqk: {text}")


def debugging() -> bool:
    """Whether tracebacks are wanted: MQK_DEBUG=1."""
    return os.environ.get("MQK_DEBUG", "") not in ("", "0")


def report_expected(problem: Error) -> int:
    """An error of ours: one sentence that says what happened and what to do."""
    if debugging():
        traceback.print_exception(problem)
    tell(remedies.sentence(problem))
    return problem.exit_status if isinstance(problem, StartError) else FAILED


def unwritten(problem: OSError) -> str:
    """Say that standard output could not be written, and why."""
    return f"cannot write the output: {problem.strerror or type(problem).__name__}"


def system(problem: OSError) -> int:
    """A file or a folder that the operating system refused, or a disk that has no room."""
    if debugging():
        traceback.print_exception(problem)
    if problem.filename:
        reason = problem.strerror or type(problem).__name__
        tell(f"cannot access {problem.filename}: {reason}; check the path and its permissions")
    else:
        tell(f"{unwritten(problem)}; free some space, and see what is done before you try again")
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


def run(command: click.Command, name: str, arguments: Sequence[str]) -> int:
    """Run a command under a name with its arguments; return the exit status, and raise nothing."""
    try:
        status = command.main(list(arguments), prog_name=name, standalone_mode=False, **CONTEXT)
        _flush_output()
        return status if isinstance(status, int) else 0
    except click.Abort:
        return INTERRUPTED
    except click.ClickException as problem:
        problem.show()
        return problem.exit_code
    except Error as problem:
        return report_expected(problem)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else FAILED
    except BrokenPipeError:
        _discard_output()
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as problem:  # noqa: BLE001 -- the last resort
        if isinstance(problem, OSError) and (problem.filename or problem.errno in NO_ROOM):
            return system(problem)
        return unexpected(problem)
    finally:
        try:
            _flush_output()
        except (OSError, ValueError):  # or the interpreter would fail as it ends
            _discard_output()


def _flush_output() -> None:
    if sys.stdout is not None:  # None: it was closed before the start
        sys.stdout.flush()


def _discard_output() -> None:
    """Discard what is still to be written: its reader is gone, or the disk has no room for it."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
