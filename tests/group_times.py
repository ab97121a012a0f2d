"""A pytest plugin: how long each group of tests took, and each process of the run.

A run in several processes lasts as long as the one that ends last: its groups are what to balance.
"""

import time
from collections import defaultdict
from collections.abc import Callable

import pytest

GROUPS = 25
"""How many are shown."""


class GroupTimes:
    """Counts seconds by group and by process. group_of: the group of a test, by its node id."""

    def __init__(self, group_of: Callable[[str], str]) -> None:
        self._group_of = group_of
        self._began = time.monotonic()
        self._groups: defaultdict[str, float] = defaultdict(float)
        self._processes: defaultdict[str, float] = defaultdict(float)
        self._ended_s: dict[str, float] = {}
        self._by: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        process = getattr(report, "worker_id", "main")
        group = self._group_of(report.nodeid)
        self._groups[group] += report.duration
        self._processes[process] += report.duration
        self._ended_s[process] = time.monotonic() - self._began
        self._by[group] = process

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if len(self._processes) < 2:
            return
        terminalreporter.section(f"slowest {GROUPS} groups")
        for process, busy_s in sorted(self._processes.items()):
            end_s = self._ended_s[process]
            terminalreporter.line(f"{process}: {busy_s:.0f} s of tests, the last at {end_s:.0f} s")
        by_time = sorted(self._groups.items(), key=lambda one: one[1], reverse=True)
        for group, took_s in by_time[:GROUPS]:
            terminalreporter.line(f"{took_s:7.1f}s {self._by[group]} {group}")
