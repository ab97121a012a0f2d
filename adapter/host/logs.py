"""How the processes of a queue manager log: to standard error, one line an event.

JSON for programs, columns for people. What libraries log goes the same way. A thread of its own
writes the lines: a caller never waits for a disk, a pipe or a terminal. Lines that cannot be
written are dropped and counted. This module does not know what is logged.
"""

from __future__ import annotations

import atexit
import logging
import os
import re
import select
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, Literal, TextIO

import structlog
from msgspec import Struct
from structlog.typing import EventDict, Processor, WrappedLogger

from adapter.host import texts

Level = Literal["debug", "info", "warning", "error"]
Format = Literal["auto", "json", "text"]
LEVELS: dict[Level, int] = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}
SAY_AGAIN_S = (30.0, 60.0, 120.0, 300.0, 600.0)
"""When the same is logged again that goes on: a client that finds no broker says so tens of times a
second, and a disk must not be full of that when the brokers are back."""
QUIET_S = 60.0
"""What was not said for so long, and as long as it was kept back, is logged at once again."""
SAYINGS_MAX = 200
"""Different ones that are remembered, for each process."""
NUMBERS = re.compile(r"[0-9]+")
FIRST = ["timestamp", "level", "logger", "event"]
EVENT_COLUMNS = 32
LINES_MAX = 2_000
"""Lines that wait to be written: some minutes of a busy log. More are dropped."""
LINE_BYTES_MAX = 32 * 1024
"""What is longer is cut; no traceback of ours is. With LINES_MAX it bounds what waits."""
FLUSH_S = 1.0
"""How long the end of a process waits for its last lines to be written."""


class LogSettings(Struct, frozen=True, kw_only=True):
    """level: the least that is logged. format: auto is text on a terminal, JSON elsewhere."""

    level: Level = "info"
    format: Format = "auto"


class LineWriter:
    """Writes lines to standard error from a thread of its own; makes structlog's loggers.

    The queue takes lines from any thread, also from a finalizer that interrupts another put.
    """

    def __init__(self) -> None:
        self.dropped = 0
        """Lines that were not written: too many waited, or the system refused them."""
        self._reported = 0
        self._lines: SimpleQueue[tuple[int, bytes] | threading.Event] = SimpleQueue()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None

    def __call__(self, name: str = "mqk", *_others: object) -> NamedLines:
        """Make a logger, as structlog asks for it."""
        return NamedLines(self, name)

    def write(self, line: str) -> None:
        """Have a line written to standard error as it is now; never waits, never raises."""
        number = file_number(sys.stderr)
        if number is None:
            write_here(line)
        elif self._lines.qsize() >= LINES_MAX:
            self.dropped += 1
        else:
            raw = line.encode(errors="backslashreplace")[: LINE_BYTES_MAX - 1]
            self._lines.put((number, raw + b"\n"))
            self._start()

    def flush(self) -> None:
        """Wait a moment until the lines that came before are written."""
        if self._thread is not None:
            written = threading.Event()
            self._lines.put(written)
            written.wait(FLUSH_S)

    def _start(self) -> None:
        if self._thread is not None or not self._starting.acquire(blocking=False):
            return
        with suppress(RuntimeError):  # at the interpreter's end there are no more threads
            thread = threading.Thread(target=self._run, name="log", daemon=True)
            thread.start()
            self._thread = thread
        atexit.register(self.flush)

    def _run(self) -> None:
        while True:
            item = self._lines.get()
            if isinstance(item, threading.Event):
                item.set()
                continue
            try:
                write_all(*item)
            except OSError:
                self.dropped += 1
            else:
                self._report()

    def _report(self) -> None:
        """Log how many lines are missing, once lines can be written again."""
        missing = self.dropped - self._reported
        if missing and self._lines.qsize() < LINES_MAX // 2:
            self._reported += missing
            structlog.get_logger("mqk.logs").warning("log lines were dropped", lines=missing)


class NamedLines:
    """A logger of structlog's: writes lines, has a name."""

    def __init__(self, writer: LineWriter, name: str) -> None:
        self.name = name
        for level in (*LEVELS, "warn", "critical", "fatal", "exception", "log", "msg"):
            setattr(self, level, writer.write)


def file_number(stream: TextIO | None) -> int | None:
    """Return the file descriptor of a stream; None if it is closed or in memory."""
    try:
        return None if stream is None else stream.fileno()
    except (OSError, ValueError):
        return None


def write_here(line: str) -> None:
    """Write a line to a standard error that is not a file of the system's."""
    with suppress(AttributeError, OSError, ValueError):  # it is not there, or closed
        sys.stderr.write(line + "\n")


def write_all(number: int, line: bytes) -> None:
    """Write all of a line to a file descriptor; OSError if the system refuses it."""
    while line:
        try:
            line = line[os.write(number, line) :]
        except BlockingIOError:
            select.select([], [number], [])


def tell(text: str) -> None:
    """Write a sentence for people to standard error, unless that takes nothing any more.

    Clients choose some of what is told: control characters are escaped, and further lines indented,
    so that none of them looks like a sentence of its own.
    """
    writer = _writer()
    writer.write(texts.escape(text, kept="\n\t").replace("\n", "\n  "))
    writer.flush()


def dropped_lines() -> int:
    """Return how many lines of this process's log were dropped."""
    writer = structlog.get_config()["logger_factory"]
    return writer.dropped if isinstance(writer, LineWriter) else 0


class Saying(Struct):
    """When something was logged and said last, how often it was logged in a row, and said since."""

    logged_s: float
    said_s: float
    times: int = 1
    repeated: int = 0


class Repetitions:
    """Keeps back what is said again and again: it is logged after longer and longer pauses.

    A module has one for its troubles that may last, as a process has one queue manager.
    """

    def __init__(self, now_s: Callable[[], float] = time.monotonic) -> None:
        self._now_s = now_s
        self._said: OrderedDict[object, Saying] = OrderedDict()

    def of(self, what: object) -> int | None:
        """How often this was said since it was logged; None if it is not to be logged again yet."""
        now_s = self._now_s()
        one = self._said.pop(what, None) or Saying(float("-inf"), float("-inf"), 0)
        pause_s = SAY_AGAIN_S[min(one.times, len(SAY_AGAIN_S)) - 1] if one.times else 0.0
        if now_s - one.logged_s < pause_s and now_s - one.said_s < QUIET_S:
            self._said[what] = Saying(one.logged_s, now_s, one.times, one.repeated + 1)
            return None
        times = one.times + 1 if now_s - one.said_s < QUIET_S else 1
        self._said[what] = Saying(now_s, now_s, times)
        if len(self._said) > SAYINGS_MAX:
            self._said.popitem(last=False)
        return one.repeated

    def warn(self, log: Any, event: str, *, reason: str, **facts: object) -> None:
        """Log a trouble that may last, with how often it was kept back."""
        repeated = self.of((event, *facts.values(), NUMBERS.sub("0", reason)))
        if repeated is not None:
            more = {"repeated": repeated} if repeated else {}
            log.warning(event, **facts, reason=reason, **more)


class Bridge(logging.Handler):
    """Hands what libraries log through Python's logging to structlog, but no flood of it."""

    def __init__(self, level: int, now_s: Callable[[], float] = time.monotonic) -> None:
        super().__init__(level)
        self._repetitions = Repetitions(now_s)

    def emit(self, record: logging.LogRecord) -> None:
        """Take one record."""
        text = record.getMessage()
        exception = record.exc_info if record.exc_info and record.exc_info[0] else None
        saying = record.name, NUMBERS.sub("0", text)
        repeated = 0 if exception else self._repetitions.of(saying)
        if repeated is not None:
            more = {"repeated": repeated} if repeated else {}
            log = structlog.get_logger(record.name)
            log.log(record.levelno, text, exc_info=exception, **more)


def configure(settings: LogSettings) -> None:
    """Log as the settings say, from now on and in the whole process."""
    least = LEVELS[settings.level]
    as_json = settings.format == "json" or (settings.format == "auto" and not _on_terminal())
    structlog.configure(
        processors=_processors(as_json),
        wrapper_class=structlog.make_filtering_bound_logger(least),
        logger_factory=_writer(),
    )
    root = logging.getLogger()
    for handler in [one for one in root.handlers if isinstance(one, Bridge)]:
        root.removeHandler(handler)
    root.addHandler(Bridge(max(least, logging.WARNING)))


def quieten() -> None:
    """Log warnings only, unless the program that we are part of has said how it wants to log."""
    if not structlog.is_configured():
        structlog.configure(
            processors=_processors(as_json=False),
            wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
            logger_factory=_writer(),
        )


def _writer() -> LineWriter:
    """Return the writer of this process, or a new one."""
    present = structlog.get_config()["logger_factory"]
    return present if isinstance(present, LineWriter) else LineWriter()


def _on_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


def _processors(as_json: bool) -> list[Processor]:
    common: list[Processor] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _add_name,
    ]
    if as_json:
        in_one_line = structlog.processors.format_exc_info
        return [*common, in_one_line, _in_order, structlog.processors.JSONRenderer()]
    for_people = structlog.dev.ConsoleRenderer(
        colors=_on_terminal(),
        pad_event_to=EVENT_COLUMNS,
        exception_formatter=structlog.dev.plain_traceback,
    )
    return [*common, _without_control, for_people]


def _add_name(logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    event["logger"] = getattr(logger, "name", "mqk")
    return event


def _in_order(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    return {key: event[key] for key in FIRST if key in event} | dict(event)


def _without_control(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Escape control characters: clients choose some of what is logged."""
    return {
        key: texts.escape(value) if isinstance(value, str) else value
        for key, value in event.items()
    }
