"""Exceptions of signal handlers at every point of a program where one may come.

CPython runs signal handlers between two instructions: behind a call, where a function begins and
where a loop begins again. An exception that a handler raises is raised there. Interruptor raises
one at the n-th such point inside adapter.connection.channel and adapter.client, in the thread that
it is used in. One kind of point is left out: the begin of `__exit__`, which no with statement of
Python is safe against. Behind the call of a function of Python nothing is looked for, unless it is
compiled.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final

import adapter
from native.modules import CLIENT

TOP: Final = Path(adapter.__file__).parent
PLACES: Final = tuple(f"{TOP / room}/" for room in ("channel", "client"))
COMPILED: Final = frozenset(str(TOP.parent / path) for path in CLIENT)
"""Functions of these may be compiled: signals are looked for behind a call of one."""
BREAKS: Final = frozenset(
    dis.opmap[name] for name in ("CALL", "CALL_FUNCTION_EX", "JUMP_BACKWARD", "RESUME")
)
"""Instructions behind which signals are looked for."""


class Interruption(BaseException):
    """As KeyboardInterrupt."""


class TimeLimit(Exception):  # noqa: N818 -- as SoftTimeLimitExceeded of Celery
    """As those by which programs limit the time of their work."""


class Interruptor:
    """Calls a function, and raises at its n-th point. seen: how many points there were.

    raised: where it was raised, or "".
    """

    def __init__(self, number: int, error: type[BaseException] = Interruption) -> None:
        """number: 0: nothing is raised, and all points are counted."""
        self.seen = 0
        self.raised = ""
        self._number = number
        self._error = error
        self._last: dict[FrameType, int] = {}
        self._handlers: dict[CodeType, list[tuple[int, int, int]]] = {}

    def call(self, work: Callable[[], object]) -> None:
        """Call a function; what it raises comes here, too."""
        sys.settrace(self._trace)
        try:
            work()
        finally:
            sys.settrace(None)
            self._last.clear()

    def _trace(self, frame: FrameType, event: str, _argument: object) -> Any:
        if event == "call":
            if not frame.f_code.co_filename.startswith(PLACES) or _is_finalizer(frame):
                return None
            frame.f_trace_opcodes = True
            frame.f_trace_lines = False
        elif event == "opcode":
            self._step(frame)
        elif event == "return":
            self._last.pop(frame, None)
            if frame.f_back is not None and frame.f_code.co_filename not in COMPILED:
                self._last.pop(frame.f_back, None)  # nothing is looked for behind such a call
        return self._trace

    def _step(self, frame: FrameType) -> None:
        now, before = frame.f_lasti, self._last.get(frame)
        self._last[frame] = now
        code = frame.f_code
        if before is None or code.co_code[before] not in BREAKS or not self._is_point(code, before):
            return
        if self._handler(code, before) != self._handler(code, now):
            return  # what is raised here would not come where it comes from a signal handler
        self.seen += 1
        if self.seen == self._number:
            sys.settrace(None)
            place = Path(code.co_filename).relative_to(TOP)
            self.raised = f"{place}:{frame.f_lineno} {code.co_qualname}"
            raise self._error(self.raised)

    def _is_point(self, code: CodeType, before: int) -> bool:
        return code.co_name != "__exit__" or code.co_code[before] != RESUME

    def _handler(self, code: CodeType, at: int) -> int:
        """Return where an exception at an instruction is handled, -1: in the caller."""
        found = self._handlers.get(code)
        if found is None:
            parse: Any = dis._parse_exception_table  # type: ignore[attr-defined]
            found = [(one.start, one.end, one.target) for one in parse(code)]
            self._handlers[code] = found
        for start, end, target in found:
            if start <= at < end:
                return target
        return -1


def _is_finalizer(frame: FrameType | None) -> bool:
    """Whether a call is made by __del__, which Python lets no exception leave."""
    while frame is not None:
        if frame.f_code.co_name == "__del__":
            return True
        frame = frame.f_back
    return False


RESUME: Final = dis.opmap["RESUME"]
