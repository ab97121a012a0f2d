"""The pytest plugin, in runs of pytest that have found it as an installed distribution's."""

import os
import tomllib
from pathlib import Path

import pytest

pytest_plugins = ("pytester",)

TOP = Path(__file__).parents[2]
MODULES = (TOP, TOP / "adapter" / "toplevel")
RUN_S = 60.0

OF_NOBODY = """
import sys

def test_of_another_project():
    assert not [name for name in sys.modules if name.partition(".")[0] == "adapter"]
    assert "pytest_mqk" in sys.modules
"""
IN_MEMORY = """
import asyncio
import adapter
import pytest

def test_a_connection(mqk_connection, mqk_queue_manager):
    mqk_connection.define_queue("Q")
    mqk_connection.put("Q", "1")
    mqk_queue_manager.crash()
    mqk_queue_manager.start()
    assert mqk_connection.get("Q").text == "1"
    assert mqk_connection.name == "QM1"

def test_another_queue_manager(mqk_connection):
    assert mqk_connection.queues() == []

@pytest.mark.mqk_queue_manager("SHOP", clock="manual")
def test_settings(mqk_queue_manager, mqk_connection):
    assert mqk_connection.name == "SHOP"
    mqk_connection.define_queue("Q")
    mqk_connection.put("Q", "1", expiry_s=60)
    mqk_queue_manager.clock.advance(61)
    assert mqk_connection.get("Q") is None

def test_tasks(mqk_aio_connection, mqk_connection):
    mqk_connection.define_queue("Q")

    async def work():
        async with mqk_aio_connection(application="billing") as qm:
            await qm.put("Q", "1")
            return (await qm.get("Q")).application, qm

    application, qm = asyncio.run(work())
    assert application == "billing"
    assert qm.is_closed
"""
KAFKA = """
import pytest
from adapter import localkafka

class Recorded:
    bootstrap_servers = "127.0.0.1:1"
    events = []

    def __enter__(self):
        self.events.append("started")
        return self

    def __exit__(self, *error):
        print("*** stopped after", self.events)

@pytest.fixture(scope="session", autouse=True)
def no_real_one():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(localkafka, "LocalKafka", Recorded)
        yield

def test_before():
    assert Recorded.events == []

@pytest.mark.parametrize("number", [1, 2])
def test_one_for_the_session(mqk_kafka, number):
    assert mqk_kafka.bootstrap_servers == "127.0.0.1:1"
    assert Recorded.events == ["started"]
"""


@pytest.fixture
def installed(
    pytester: pytest.Pytester, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> pytest.Pytester:
    """A place to run pytest in, where a distribution has the entry points of pyproject.toml."""
    project = tomllib.loads((TOP / "pyproject.toml").read_text())["project"]
    info = tmp_path / "site" / "mqk_plugin-0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mqk-plugin\nVersion: 0\n")
    rows = [f"{name} = {module}" for name, module in project["entry-points"]["pytest11"].items()]
    (info / "entry_points.txt").write_text("\n".join(["[pytest11]", *rows, ""]))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(str, (info.parent, *MODULES))))
    monkeypatch.setenv("PYTEST_ADDOPTS", "")
    pytester.makeini("[pytest]\naddopts = --strict-markers -p no:cacheprovider\n")
    return pytester


def run(installed: pytest.Pytester, source: str, *arguments: str) -> pytest.RunResult:
    installed.makepyfile(source)
    return installed.runpytest_subprocess(*arguments, timeout=RUN_S)


def test_a_project_that_uses_no_fixture_loads_nothing(installed: pytest.Pytester) -> None:
    run(installed, OF_NOBODY).assert_outcomes(passed=1)


def test_each_test_has_a_queue_manager_in_memory(installed: pytest.Pytester) -> None:
    run(installed, IN_MEMORY).assert_outcomes(passed=4)


def test_a_session_has_one_kafka(installed: pytest.Pytester) -> None:
    found = run(installed, KAFKA, "-s")
    found.assert_outcomes(passed=3)
    found.stdout.fnmatch_lines(["*stopped after [[]'started']"])


def test_fixtures_and_the_mark_are_listed_with_what_they_are(installed: pytest.Pytester) -> None:
    fixtures = run(installed, "", "--fixtures").stdout
    fixtures.fnmatch_lines(["mqk_connection*", "*A connection to mqk_queue_manager*"])
    installed.runpytest_subprocess("--markers").stdout.fnmatch_lines(
        ["@pytest.mark.mqk_queue_manager(name, [*][*]settings): *"]
    )
