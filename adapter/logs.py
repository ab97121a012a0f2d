"""How the processes of a queue manager log: to standard error, one line an event.

JSON for programs, key=value for people. What libraries log goes the same way. This module knows
nothing of what is logged.
"""

from __future__ import annotations

import logging
import sys
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
    """Hands what libraries log through Python's logging to structlog."""

    def emit(self, record: logging.LogRecord) -> None:
        """Take one record."""
        exception = record.exc_info if record.exc_info and record.exc_info[0] else None
        log = structlog.get_logger(record.name)
        log.log(record.levelno, record.getMessage(), exc_info=exception)


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
