"""How much Python executes: a measure of costs that no machine and no neighbour disturbs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any


def operations(work: Callable[[], object]) -> int:
    """Count the bytecode operations of a call; what is implemented in C counts as one."""
    count = 0

    def add() -> None:
        nonlocal count
        count += 1

    _run(work, add)
    return count


if sys.version_info >= (3, 12):

    def _run(work: Callable[[], object], add: Callable[[], None]) -> None:
        """Call add before each operation: a tracer misses those of code that runs first."""
        tool, event = sys.monitoring.PROFILER_ID, sys.monitoring.events.INSTRUCTION

        def count(_code: CodeType, _offset: int) -> None:
            add()

        sys.monitoring.use_tool_id(tool, "operations")
        sys.monitoring.register_callback(tool, event, count)
        sys.monitoring.set_events(tool, event)
        try:
            work()
        finally:
            sys.monitoring.set_events(tool, 0)
            sys.monitoring.register_callback(tool, event, None)
            sys.monitoring.free_tool_id(tool)

else:

    def _run(work: Callable[[], object], add: Callable[[], None]) -> None:
        """Call add before each operation."""

        def trace(frame: FrameType, event: str, argument: object) -> Any:
            del argument
            if event == "call":
                frame.f_trace_opcodes, frame.f_trace_lines = True, False
            elif event == "opcode":
                add()
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            work()
        finally:
            sys.settrace(before)
