"""A pytest plugin: every collected test must run and pass, or the run fails.

A skipped, deselected, re-run or expectedly failing test looks green and proves nothing. A skip, a
re-run or an expected failure always fails here; a deselection fails when ``--strict-outcomes`` is
given (make test, make check) or CI=true, because picking tests by hand is fine while working.
"""

import os
from collections.abc import Generator, Sequence
from typing import Any

import pytest


def add_option(parser: pytest.Parser) -> None:
    """Declare ``--strict-outcomes``; conftest calls this from its own hook."""
    parser.addoption(
        "--strict-outcomes",
        action="store_true",
        help="fail the run when a collected test is deselected (always so with CI=true)",
    )


class StrictOutcomes:
    """Turns every outcome but passed and failed into a failure, and says which test it was."""

    def __init__(self, refuse_deselection: bool) -> None:
        self._refuse_deselection = refuse_deselection
        self._refused: list[str] = []

    @classmethod
    def of(cls, config: pytest.Config) -> "StrictOutcomes":
        in_ci = os.environ.get("CI", "").lower() in {"true", "1"}
        return cls(refuse_deselection=in_ci or bool(config.getoption("--strict-outcomes")))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        report = yield
        if report.outcome == "skipped":
            self._refused.append(f"skipped while collecting: {report.nodeid}")
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if hasattr(report, "wasxfail"):
            self._refused.append(f"expected to fail: {report.nodeid}")
        elif report.outcome not in {"passed", "failed"}:  # plugins add outcomes such as rerun
            self._refused.append(f"{report.outcome}: {report.nodeid}")

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        if self._refuse_deselection:
            self._refused.extend(f"deselected: {item.nodeid}" for item in items)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """What another process of the run has met (pytest-xdist); reports come by themselves."""
        found = getattr(node, "workeroutput", {}).get("refused", [])
        self._refused.extend(line for line in found if line not in self._refused)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["refused"] = self._refused
        if self._refused and session.exitstatus in {pytest.ExitCode.OK, 5}:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._refused:
            terminalreporter.section("refused outcomes (every test must run and pass)", red=True)
            for line in self._refused:
                terminalreporter.line(line, red=True)
