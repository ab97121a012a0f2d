"""How the processes of a queue manager log: to standard error, one line an event.

JSON for programs, key=value for people. What libraries log goes the same way. This module knows
nothing of what is logged.
"""

from __future__ import annotations

import logging
import re
import sys
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Literal

import structlog
from msgspec import Struct
from structlog.typing import EventDict, Processor, WrappedLogger

Level = Literal["debug", "info", "warning", "error"]
Format = Literal["auto", "json", "text"]
LEVELS: dict[Level, int] = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}
SAY_AGAIN_S = 30.0
"""How often a library may say the same: a client that finds no broker says so tens of times a
second, and a disk must not be full of that when the brokers are back."""
SAYINGS_MAX = 200
"""Different ones that are remembered, for each process."""
NUMBERS = re.compile(r"[0-9]+")
FIRST = ["timestamp", "level", "logger", "event"]


class LogSettings(Struct, frozen=True, kw_only=True):
    """level: the least that is logged. format: auto is text on a terminal, JSON elsewhere."""

    level: Level = "info"
    format: Format = "auto"


class NamedLines(structlog.PrintLogger):
    """Writes lines to standard error as it is now; has a name."""

    def __init__(self, name: str) -> None:
        super().__init__(sys.stderr)
        self.name = name


class Bridge(logging.Handler):
    """Hands what libraries log through Python's logging to structlog, but no flood of it."""

    def __init__(self, level: int, now_s: Callable[[], float] = time.monotonic) -> None:
        super().__init__(level)
        self._now_s = now_s
        self._said: OrderedDict[tuple[str, str], tuple[float, int]] = OrderedDict()
        """What was said, but for numbers: when it was logged, and how often since."""

    def emit(self, record: logging.LogRecord) -> None:
        """Take one record."""
        text = record.getMessage()
        exception = record.exc_info if record.exc_info and record.exc_info[0] else None
        repeated = 0 if exception else self._repeated((record.name, NUMBERS.sub("0", text)))
        if repeated is not None:
            more = {"repeated": repeated} if repeated else {}
            log = structlog.get_logger(record.name)
            log.log(record.levelno, text, exc_info=exception, **more)

    def _repeated(self, saying: tuple[str, str]) -> int | None:
        """How often this was said since it was logged; None if it is not to be logged again yet."""
        now_s = self._now_s()
        logged_s, repeated = self._said.pop(saying, (float("-inf"), 0))
        if now_s - logged_s < SAY_AGAIN_S:
            self._said[saying] = logged_s, repeated + 1
            return None
        self._said[saying] = now_s, 0
        if len(self._said) > SAYINGS_MAX:
            self._said.popitem(last=False)
        return repeated


def configure(settings: LogSettings) -> None:
    """Log as the settings say, from now on and in the whole process."""
    least = LEVELS[settings.level]
    as_json = settings.format == "json" or (settings.format == "auto" and not sys.stderr.isatty())
    structlog.configure(
        processors=_processors(as_json),
        wrapper_class=structlog.make_filtering_bound_logger(least),
        logger_factory=_make,
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
            logger_factory=_make,
        )


def _processors(as_json: bool) -> list[Processor]:
    common: list[Processor] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _add_name,
        structlog.processors.format_exc_info,
    ]
    if as_json:
        return [*common, _in_order, structlog.processors.JSONRenderer()]
    return [*common, structlog.processors.KeyValueRenderer(key_order=FIRST)]


def _make(name: str = "mqk", *_others: object) -> NamedLines:
    return NamedLines(name)


def _add_name(logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    event["logger"] = getattr(logger, "name", "mqk")
    return event


def _in_order(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    return {key: event[key] for key in FIRST if key in event} | dict(event)
