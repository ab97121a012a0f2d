"""Wheels with and without compiled modules, as `pip install` makes them: unpacked, and run.

Needs a C compiler, and is quick after `make compiled`: `make compiled-test` runs it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from native import modules

TOP = Path(__file__).parents[2]
PROGRAM = """
import sys
from adapter import compiled, testing
from adapter.core import dispatch
with testing.queue_manager() as manager, manager.connect() as qm:
    qm.define_queue("ORDERS")
    with qm.unit():
        qm.put("ORDERS", "42 widgets")
    print(qm.queue("ORDERS").get().text, compiled.count(), dispatch.__file__)
assert "mypy_extensions" not in sys.modules
"""


def build(folder: Path, switch: str) -> Path:
    """Build a wheel and unpack it beside itself."""
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder)],
        cwd=TOP, env={**os.environ, "MQK_COMPILE": switch}, check=True, capture_output=True,
    )  # fmt: skip
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(folder / "packages")
    return wheel


def run(folder: Path) -> list[str]:
    """Run the program on the wheel's packages."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", PROGRAM],
        env={**os.environ, "PYTHONPATH": str(folder / "packages")},
        cwd=folder, check=True, capture_output=True, text=True,
    )  # fmt: skip
    return done.stdout.split()


@pytest.mark.timeout(600)  # it compiles, if `make compiled` has not
def test_a_compiled_wheel_is_for_one_platform_and_runs(tmp_path: Path) -> None:
    wheel = build(tmp_path, "1")
    assert not wheel.name.endswith("-py3-none-any.whl")
    *text, count, core = run(tmp_path)
    assert text == ["42", "widgets"]
    assert int(count) == len(modules.compiled(TOP))
    assert core.endswith(".so")


def test_without_the_switch_the_wheel_is_pure_python(tmp_path: Path) -> None:
    wheel = build(tmp_path, "")
    assert wheel.name.endswith("-py3-none-any.whl")
    *_, count, core = run(tmp_path)
    assert int(count) == 0
    assert core.endswith("dispatch.py")
