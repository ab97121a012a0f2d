"""The run fails on every outcome but passed: each kind is shown to fail, a clean run to pass."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.each import each

ROOT = Path(__file__).parents[2]
CLEAN = {"PYTEST_ADDOPTS": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
CONFTEST = """
from tests.strict_outcomes import StrictOutcomes, add_option as pytest_addoption
def pytest_configure(config):
    config.pluginmanager.register(StrictOutcomes.of(config))
"""
PASSING = "def test_good(): pass\n"


def run(tmp_path: Path, source: str, *arguments: str, ci: str = "") -> tuple[int, str]:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_sample.py").write_text("import pytest\n" + PASSING + source)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}", "CI": ci} | CLEAN,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def test_a_run_in_which_everything_passes_is_green(tmp_path: Path) -> None:
    status, output = run(tmp_path, "", "--strict-outcomes", ci="true")
    assert status == 0, output


BAD_OUTCOMES = {
    "skip_mark": ("@pytest.mark.skip\ndef test_bad(): pass\n", "skipped: "),
    "skip_if": ("@pytest.mark.skipif(True, reason='x')\ndef test_bad(): pass\n", "skipped: "),
    "skip_call": ("def test_bad(): pytest.skip('x')\n", "skipped: "),
    "skip_module": ("pytest.skip('x', allow_module_level=True)\n", "skipped while collecting: "),
    "import_or_skip": ("pytest.importorskip('no_such_module')\n", "skipped while collecting: "),
    "xfail_mark": ("@pytest.mark.xfail\ndef test_bad(): assert 0\n", "expected to fail: "),
    "xpass": ("@pytest.mark.xfail\ndef test_bad(): pass\n", "expected to fail: "),
    "xfail_call": ("def test_bad(): pytest.xfail('x')\n", "expected to fail: "),
}


@pytest.mark.parametrize("processes", [(), ("-p", "xdist", "-n", "1")], ids=["one", "xdist"])
def test_an_outcome_that_proves_nothing_fails_the_run(
    tmp_path: Path, processes: tuple[str, ...]
) -> None:
    for name, (source, _) in BAD_OUTCOMES.items():
        (tmp_path / f"test_{name}.py").write_text("import pytest\n" + source)
    status, output = run(tmp_path, "", *processes)
    assert status == 1, output
    for name, (_, word) in BAD_OUTCOMES.items():
        assert f"{word}test_{name}.py" in output, output


def test_a_rerun_fails_the_run(tmp_path: Path) -> None:
    plugin = """
import pytest
@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logreport(report):
    if report.when == "call":
        report.outcome = "rerun"
"""
    (tmp_path / "rerunning.py").write_text(plugin)
    status, output = run(tmp_path, "", "-p", "rerunning")
    assert status == 1, output
    assert "rerun: " in output


@pytest.mark.parametrize(
    ("arguments", "ci"),
    [
        (("--strict-outcomes",), ""),
        ((), "true"),
        (("-p", "xdist", "-n", "1", "--strict-outcomes"), ""),
    ],
)
def test_a_deselection_fails_a_strict_run(
    tmp_path: Path, arguments: tuple[str, ...], ci: str
) -> None:
    source = "def test_other(): pass\n"
    status, output = run(tmp_path, source, "-k", "good", *arguments, ci=ci)
    assert status == 1, output
    assert "deselected: test_sample.py::test_other" in output


def test_a_deselection_by_hand_is_fine(tmp_path: Path) -> None:
    status, output = run(tmp_path, "def test_other(): assert 0\n", "-k", "good")
    assert status == 0, output


def test_a_table_names_each_row_that_fails() -> None:
    def is_even(number: int) -> None:
        assert number % 2 == 0, "odd"

    each([0, 2])(is_even)()
    with pytest.raises(pytest.fail.Exception, match=r"(?s)2 of 4 rows fail\n1: .*odd.*\n3: "):
        each([0, 1, 2, 3])(is_even)()
    with pytest.raises(AssertionError, match="proves nothing"):
        each([])
