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

from native import contents, modules

TOP = Path(__file__).parents[2]
PROGRAM = Path(__file__).parent / "installed.py"


def build(folder: Path, switch: str) -> None:
    """Build a wheel and unpack it beside itself."""
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder)],
        cwd=TOP, env={**os.environ, "MQK_COMPILE": switch}, check=True, capture_output=True,
    )  # fmt: skip
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(folder / "packages")


def run(folder: Path, modules: int) -> None:
    """Run the program on the wheel's packages; it fails if another number of them is compiled."""
    subprocess.run(
        [sys.executable, "-P", str(PROGRAM), str(modules)],
        env={**os.environ, "PYTHONPATH": str(folder / "packages")},
        cwd=folder, check=True,
    )  # fmt: skip


@pytest.mark.timeout(600)  # it compiles, if `make compiled` has not
def test_a_compiled_wheel_is_for_one_platform_and_runs(tmp_path: Path) -> None:
    for name, switch in (("pure", ""), ("compiled", "1")):
        tmp_path.joinpath(name).mkdir()
        build(tmp_path / name, switch)
    (pure,), (compiled,) = (tmp_path.glob(f"{name}/*.whl") for name in ("pure", "compiled"))
    found = modules.compiled(TOP)
    python, platforms = contents.tags(compiled)
    assert python == f"cp{sys.version_info[0]}{sys.version_info[1]}"
    assert platforms != ["any"]
    assert list(contents.wrong_pure(pure)) == []
    # The platform's tag is that of this machine until `make wheels` has examined the libraries.
    wrong = contents.wrong_compiled(compiled, pure, found, [str(TOP)])
    assert [one for one in wrong if "which Linux" not in one] == []
    run(tmp_path / "compiled", len(found))
    run(tmp_path / "pure", 0)
