"""Planted bugs: each a patch in bugs/, a sentence and a diff, applied to a copy of one file.

Hunks are found by their text and not by their line numbers, so that a patch lives as long as the
lines it is about.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

TOP = Path(__file__).parents[2]
BUGS = Path(__file__).parent / "bugs"
TIMEOUT_S = 240.0
FOUND_BY = "Found by "
USUAL = ["everything", "1-25"]
NO_FINDS = {"TypeError", "NameError", "AttributeError"}
"""What a run ends with if a patch no longer fits what it changes."""


class Outdated(Exception):  # noqa: N818 -- it says what the patch is
    """The lines that a patch changes are no longer there, or there twice."""


def patches() -> list[Path]:
    """All planted bugs."""
    return sorted(BUGS.glob("*.patch"))


def planted(patch: Path, folder: Path) -> None:
    """Link the package into a folder, but for a file that has a bug in it."""
    path, text = applied(patch)
    source = folder / path
    for name in ("adapter", "schemas"):
        _open(TOP / name, folder / name)
    for parent in reversed(source.relative_to(folder).parents[:-2]):
        _open(TOP / parent, folder / parent)
    compiled = source.parent.relative_to(folder) / "__pycache__"
    if (TOP / compiled).exists():
        _open(TOP / compiled, folder / compiled)  # where the file with the bug is compiled to
    source.unlink()  # which is a link
    source.write_text(text)


def applied(patch: Path) -> tuple[str, str]:
    """Return the path of the file that a patch changes, and its text with the bug."""
    path, hunks = read(patch.read_text())
    text = (TOP / path).read_text()
    for old, new in hunks:
        if text.count(old) != 1:
            raise Outdated(
                f"{patch.name} no longer applies: {path} holds these lines {text.count(old)} times "
                f"and not once; plant the bug anew in what is there now:\n{old}"
            )
        text = text.replace(old, new)
    return path, text


def _open(original: Path, copy: Path) -> None:
    """Make a folder of links to what a folder holds; of those that are linked it replaces one."""
    copy.unlink(missing_ok=True)
    copy.mkdir(parents=True)
    for one in original.iterdir():
        (copy / one.name).symlink_to(one)


def arguments_of(patch: Path) -> list[str]:
    """Return what finds a bug: what its second line says, or the first seeds of everything."""
    second = patch.read_text().split("\n")[1]
    return second.removeprefix(FOUND_BY).split() if second.startswith(FOUND_BY) else USUAL


def read(text: str) -> tuple[str, list[tuple[str, str]]]:
    """Read a patch of one file: its path, and of each hunk the lines before and after."""
    lines = iter(text.splitlines(keepends=True))
    path = next(line.split()[1].removeprefix("b/") for line in lines if line.startswith("+++ "))
    return path, list(_hunks(lines))


def _hunks(lines: Iterator[str]) -> Iterator[tuple[str, str]]:
    old, new = "", ""
    for line in lines:
        if line.startswith("@@"):
            if old:
                yield old, new
            old, new = "", ""
            continue
        old += line[1:] if line[0] in " -" else ""
        new += line[1:] if line[0] in " +" else ""
    yield old, new


def judged(
    folder: Path, arguments: Sequence[str], variables: Mapping[str, str] = {}
) -> subprocess.CompletedProcess[str]:
    """Run seeds on the package in a folder. variables: further ones, of the environment."""
    found = {
        **os.environ,
        **variables,
        "PYTHONPATH": f"{folder}{os.pathsep}{TOP}",
        "PYTHONHASHSEED": "0",  # so that a seed that finds a bug always does
        "HYPOTHESIS_STORAGE_DIRECTORY": str(TOP / ".hypothesis"),  # what it has found in modules
    }
    command = [sys.executable, "-m", "tests.simulation", *arguments]
    return subprocess.run(
        command,
        check=False,
        cwd=folder,
        env=found,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )
