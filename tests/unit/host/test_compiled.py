"""Which code runs: compiled modules are counted by their files."""

from pathlib import Path

import pytest

from adapter.host import compiled

SUFFIXES = (".cpython-311-x86_64-linux-gnu.so", ".abi3.so", ".so")


def test_modules_of_this_python_are_counted(tmp_path: Path) -> None:
    (tmp_path / "core").mkdir()
    for name in ("core/dispatch" + SUFFIXES[0], "entries.abi3.so", "loop.so", "loop.py"):
        (tmp_path / name).touch()
    assert compiled.count(tmp_path, SUFFIXES) == 3


def test_modules_of_another_python_are_not_counted(tmp_path: Path) -> None:
    (tmp_path / "loop.cpython-399-x86_64-linux-gnu.so").touch()
    assert compiled.count(tmp_path, SUFFIXES) == 0


@pytest.mark.parametrize(("modules", "text"), [(0, "pure Python"), (39, "compiled (39 modules)")])
def test_text(modules: int, text: str) -> None:
    assert compiled.text(modules) == text
