"""Switches off each rule of core, one by one, and looks whether a test turns red: `make mutants`.

The tests are the transcripts of tests/scenarios on a bare core and then, for what they let live,
the smallest requests that are refused, what takes a Kafka, and at last all requirements of
tests/spec that need no broker. Prints a table; exit status 1 if a mutant lives.
`python -m tests.mutation WORD ...` tries only mutants whose module or name has a word.

Each mutant lives in a process of its own, forked before anything of adapter is imported.
"""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.util
import io
import os
import signal
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

import pytest

from tests.mutation.mutants import TOP, Mutant, mutants

PRELOADED = (
    *("click", "confluent_kafka", "confluent_kafka.admin", "fastavro", "msgspec", "structlog"),
    "uvloop",
)
"""What takes long to import and is none of ours."""
TIMEOUT_S = 120
"""A mutant that makes a test wait for ever is found, too."""
LIVES = ""
REFUSALS = "spec/test_refusals.py"
"""It finds most of what transcripts let live, in a second."""
WITH_KAFKA = (
    "unit/runtime/owner/test_retention.py",
    "unit/core/rules/primitives/test_parking.py",
    "unit/core/rules/consumers/test_batches.py",
    "unit/core/rules/objects/test_statistics.py",
)
"""What no program can bring about or see without one: consumed messages that are still on their
topics, topics that cannot be written, batches of what is on a topic, and events."""


class Instead(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Lets the mutant be imported in place of the module."""

    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """See MetaPathFinder."""
        if name != self._mutant.module:
            return None
        return importlib.util.spec_from_loader(name, self)

    def exec_module(self, module: ModuleType) -> None:
        """See Loader."""
        exec(compile(self._mutant.text, self._mutant.module, "exec"), vars(module))


class NoBroker:
    """Leaves out what needs a broker, and keeps the first that turns red."""

    def __init__(self) -> None:
        self.red = ""

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """See pytest."""
        items[:] = [item for item in items if "kafka" not in getattr(item, "fixturenames", ())]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """See pytest."""
        if report.failed and not self.red:
            self.red = report.nodeid.rpartition("::")[2]


def red_transcript() -> str:
    """The first transcript that does not end as it says; LIVES if all do."""
    from tests.scenarios.drivers import OnCore
    from tests.scenarios.language import parse, render
    from tests.scenarios.transcripts import TRANSCRIPTS, limits_of, name_of, played

    for path in TRANSCRIPTS:
        text = path.read_text()
        transcript = parse(text)
        try:
            outcome = render(played(transcript, OnCore(**limits_of(transcript))))
        except Exception as error:  # noqa: BLE001 -- the mutant's own
            outcome = repr(error)
        if outcome != text:
            return f"scenario {name_of(path)}"
    return LIVES


def red_in(*paths: str) -> str:
    """The first of these tests that turns red; LIVES if all pass."""
    watch = NoBroker()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        given = [str(TOP / "tests" / path) for path in paths]
        status = pytest.main(["-x", "-q", "--timeout=60", *given], [watch])
    return LIVES if not status else f"{paths[0].split('/')[0]} {watch.red or status}"


def found_by(mutant: Mutant | None) -> str:
    """Which test finds a mutant, or core as it is for None."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        signal.alarm(TIMEOUT_S)
        if mutant is not None:
            sys.meta_path.insert(0, Instead(mutant))
        try:
            red = red_transcript() or red_in(REFUSALS) or red_in(*WITH_KAFKA) or red_in("spec")
        except BaseException as error:  # noqa: BLE001 -- it could not even be imported
            red = repr(error)
        os.write(writing, red.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        red = pipe.read().decode()
    _, status = os.waitpid(child, 0)
    return red if not status else "a test that never ends"


def main(words: list[str]) -> int:
    """Try the mutants."""
    for name in PRELOADED:
        importlib.import_module(name)
    red = found_by(None)
    if red:
        print(f"core as it is does not pass: {red}")
        return 1
    alive = tried = 0
    for mutant in mutants():
        title = f"{mutant.module.removeprefix('adapter.core.')}  {mutant.name}"
        if words and not any(word in title for word in words):
            continue
        tried += 1
        red = found_by(mutant)
        alive += not red
        print(f"{title:<72}  {red or '*** LIVES ***'}", flush=True)
    print(f"{tried} rules were switched off; {alive} of them no test misses")
    return int(alive > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
