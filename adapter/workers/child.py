"""One process of a worker, after the fork: it loads the function, connects and does the work.

What it has to say to the supervisor goes through a pipe, a line of JSON each. If that is not read
any more, the supervisor is gone, and the process ends as if it had been told to.
"""

from __future__ import annotations

import atexit
import logging
import os
import signal
import sys
import traceback
from contextlib import nullcontext, suppress
from pathlib import Path
from types import FrameType
from typing import NoReturn, Protocol

import msgspec
from msgspec import Struct

from adapter.client.connection import connect
from adapter.connection.channel.flag import Flag
from adapter.errors import Error, InvalidOption
from adapter.workers.figures import WorkFigures
from adapter.workers.handlers import Handler, check, is_coroutine_function, load
from adapter.workers.reloading import ImportedFiles
from adapter.workers.settings import WorkerSettings
from adapter.workers.tasks import WorkerTasks
from adapter.workers.threads import WorkerThreads

log = logging.getLogger("adapter.workers")

TELL_S = 0.5
"""Between two reports of what was done."""
STOPPED, FAILED, UNLOADABLE = 0, 1, 3
"""Exit statuses."""


class Loading(Struct, tag="loading"):
    """The function is being loaded, which may take long. files: that are about to be read, each
    with when it was changed, in nanoseconds."""

    files: dict[str, int]


class Loaded(Struct, tag="loaded"):
    """The function is there. files: of modules that are the program's own, and when each was
    changed, in nanoseconds."""

    files: dict[str, int]


class Unloadable(Struct, tag="unloadable"):
    """The function is not there; the sentence says why. files: those that were read, likewise."""

    why: str
    files: dict[str, int]


class PipeLine(Struct):
    """A line of the pipe."""

    what: Loading | Loaded | Unloadable | WorkFigures


class WorkerGroup(Protocol):
    """The threads or tasks that do the work."""

    kind: str
    problem: str

    def start(self) -> None:
        """Begin to work."""

    def stop(self) -> None:
        """Have each finish what it has in hand, and do not wait."""

    def join(self, timeout_s: float) -> int:
        """Wait for their end; return how many are still at work."""

    def figures(self) -> WorkFigures:
        """Return what was done so far."""

    def close(self, *, abrupt: bool) -> None:
        """Close the connection, which gives back what is still in hand."""


class Pipe:
    """The way to the supervisor."""

    def __init__(self, number: int) -> None:
        self._number = number

    def tell(self, what: Loading | Loaded | Unloadable | WorkFigures) -> bool:
        """Say something; False if the supervisor is gone."""
        line = msgspec.json.encode(PipeLine(what)) + b"\n"
        try:
            while line:
                line = line[os.write(self._number, line) :]
        except BrokenPipeError:
            return False
        return True


def run(settings: WorkerSettings, target: Handler | str, pipe: int) -> NoReturn:
    """Be a process of a worker, and end it. To be called right after the fork, signals blocked."""
    atexit._clear()
    stop = Flag()
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _take_signals(stop)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD))
    status = FAILED
    try:
        status = _work(settings, target, Pipe(pipe), stop)
    except Error as problem:
        log.error("this process ends: %s", problem)
    except BaseException:  # whatever it is: it is told here, and nowhere else
        log.exception("this process ends unexpectedly")
    finally:
        _end(status)


def _take_signals(stop: Flag) -> None:
    """Have SIGTERM raise a flag. Ctrl-C is the supervisor's, which sends SIGTERM then."""

    def note(_number: int, _frame: FrameType | None) -> None:
        stop.set()

    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, note)


def _end(status: int) -> NoReturn:
    """End the process without going back to what its parent was doing."""
    try:
        with suppress(Exception):
            atexit._run_exitfuncs()
        logging.shutdown()
        for stream in (sys.stdout, sys.stderr):
            with suppress(Exception):
                stream.flush()
    finally:
        os._exit(status)


def _work(settings: WorkerSettings, target: Handler | str, pipe: Pipe, stop: Flag) -> int:
    def say(file: str, time_ns: int) -> None:
        if _is_own(file):
            pipe.tell(Loading({file: time_ns}))

    imported = ImportedFiles(say)
    try:
        with imported.noting() if settings.reload else nullcontext():
            function = load(target) if isinstance(target, str) else check(target, "the function")
    except InvalidOption as problem:
        files = [*own_files(), *_files_of(problem.__cause__), *_files_for(target)]
        pipe.tell(Unloadable(problem.text, imported.times(files)))
        return UNLOADABLE
    pipe.tell(Loaded(imported.times(own_files())))
    _take_signals(stop)  # again: a module may have set handlers of its own
    group: WorkerGroup
    if is_coroutine_function(function):
        group = WorkerTasks(function, settings, stop)
    else:
        group = WorkerThreads(connect(**settings.connecting), function, settings, stop)
    group.start()
    _watch(group, pipe, stop)
    group.stop()
    busy = group.join(settings.stop_timeout_s)
    if busy:
        log.warning(
            "not done within %g s, and given back: messages of %d %s",
            settings.stop_timeout_s,
            busy,
            group.kind,
        )
    group.close(abrupt=bool(busy))
    pipe.tell(group.figures())
    if group.problem:
        log.error("this process ends: %s", group.problem)
    return FAILED if group.problem else STOPPED


def _watch(group: WorkerGroup, pipe: Pipe, stop: Flag) -> None:
    """Tell the supervisor what is done, until the work is to end."""
    while pipe.tell(group.figures()):
        if stop.wait(TELL_S):
            return
    log.warning("the supervisor is gone: this process ends")


def own_files() -> list[str]:
    """Return the files of modules that are neither installed nor Python's own."""
    found = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    return sorted({one for one in found if one and _is_own(one)})


def _is_own(file: str) -> bool:
    outside = (sys.prefix, sys.base_prefix, sys.exec_prefix)
    path = Path(file)
    if "site-packages" in path.parts or "dist-packages" in path.parts:
        return False
    return path.suffix == ".py" and not any(path.is_relative_to(one) for one in outside)


def _files_of(problem: BaseException | None) -> list[str]:
    """Return the files that an import failed in."""
    found = []
    if isinstance(problem, SyntaxError) and problem.filename:
        found.append(problem.filename)
    if problem is not None:
        found += [frame.filename for frame in traceback.extract_tb(problem.__traceback__)]
    return [one for one in found if _is_own(one)]


def _files_for(target: Handler | str) -> list[str]:
    """Return where the module of MODULE:FUNCTION would be found in the current folder."""
    if not isinstance(target, str):
        return []
    place = Path.cwd().joinpath(*target.partition(":")[0].split("."))
    return [f"{place}.py", str(place / "__init__.py")]
