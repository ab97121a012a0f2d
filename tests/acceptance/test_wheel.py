"""The wheel and the source distribution of mqk: the demo works from what pip installs."""

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
TIMEOUT_S = 60.0
PROGRAM = """
import mqk_demo.checker, mqk_demo.command
print(mqk_demo.checker.__file__)
mqk_demo.checker.HeaderDecoder()
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with both, and with the wheel's packages."""
    folder = tmp_path_factory.mktemp("made")
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder)],
        cwd=TOP, check=True, capture_output=True,
    )  # fmt: skip
    (wheel,) = folder.glob("mqk-*.whl")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(folder / "packages")
    return folder


def run(folder: Path, *arguments: str) -> str:
    """Run Python on the wheel's packages; its standard output."""
    return subprocess.run(
        [sys.executable, "-P", *arguments],
        env={**os.environ, "PYTHONPATH": str(folder / "packages")},
        cwd=folder, check=True, capture_output=True, text=True, timeout=TIMEOUT_S,
    ).stdout  # fmt: skip


def test_the_wheel_has_the_demo_and_what_its_checker_reads(made: Path) -> None:
    assert run(made, "-c", PROGRAM).split() == [str(made / "packages/mqk_demo/checker.py")]
    assert "--flights" in run(made, "-m", "adapter.cli", "demo", "--help")


def test_the_source_distribution_has_every_file_of_the_packages(made: Path) -> None:
    (path,) = made.glob("mqk-*.tar.gz")
    with tarfile.open(path) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    ours = {
        str(path.relative_to(TOP))
        for package in ("adapter", "mqk_demo", "spark_jobs", "schemas", "native")
        for path in (TOP / package).rglob("*")
        if path.suffix in {".py", ".avsc", ".xml"}
    }
    assert {"mqk_demo/checker.py", "schemas/entry.avsc", "spark_jobs/pom.xml"} <= ours
    assert ours <= names
