"""The wheel has the two modules beside the package, and so has an editable install."""

import zipfile
from pathlib import Path

import pytest
from hatchling import build

TOP = Path(__file__).parents[2]


def test_the_modules_lie_at_the_top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(TOP)
    with zipfile.ZipFile(tmp_path / build.build_wheel(str(tmp_path))) as wheel:
        names = set(wheel.namelist())
    assert {"ibmmqc.py", "pymqe.py", "adapter/mqi/interface.py"} <= names
    assert not any(name.startswith("adapter/toplevel") for name in names)


def test_an_editable_install_finds_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(TOP)
    with zipfile.ZipFile(tmp_path / build.build_editable(str(tmp_path))) as wheel:
        (paths,) = (wheel.read(name) for name in wheel.namelist() if name.endswith(".pth"))
    assert set(paths.decode().split()) == {str(TOP), str(TOP / "adapter" / "toplevel")}
