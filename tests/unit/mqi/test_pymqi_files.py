"""A source distribution becomes a wheel of its Python files."""

import csv
import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from adapter.errors import StartError
from adapter.mqi import pymqi_files

FILES = {
    "pymqi-9.8/PKG-INFO": "Metadata-Version: 2.1\nName: pymqi\nVersion: 9.8\n",
    "pymqi-9.8/LICENSE": "as it is\n",
    "pymqi-9.8/setup.py": "raise SystemExit('needs headers')\n",
    "pymqi-9.8/code/pymqi/__init__.py": "import pymqe\n",
    "pymqi-9.8/code/pymqi/CMQC.py": "MQCC_OK = 0\n",
    "pymqi-9.8/code/pymqi/pymqe.c": "#include <cmqc.h>\n",
    "pymqi-9.8/code/pymqi/../../evil.py": "raise SystemExit\n",
}


def sdist(folder: Path, files: dict[str, str], name: str = "pymqi-9.8.tar.gz") -> Path:
    """Write a source distribution."""
    path = folder / name
    with tarfile.open(path, "w:gz") as archive:
        for inside, text in files.items():
            member = tarfile.TarInfo(inside)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    return path


def test_a_wheel_has_the_python_files_and_what_belongs_to_them(tmp_path: Path) -> None:
    wheel = pymqi_files.make_wheel(sdist(tmp_path, FILES), tmp_path)
    assert wheel.name == "pymqi-9.8-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        record = archive.read("pymqi-9.8.dist-info/RECORD").decode()
    assert names == {
        "pymqi/__init__.py",
        "pymqi/CMQC.py",
        "pymqi-9.8.dist-info/METADATA",
        "pymqi-9.8.dist-info/WHEEL",
        "pymqi-9.8.dist-info/RECORD",
        "pymqi-9.8.dist-info/licenses/LICENSE",
    }
    assert {row[0] for row in csv.reader(io.StringIO(record))} == names


def test_pip_takes_it(tmp_path: Path) -> None:
    wheel = pymqi_files.make_wheel(sdist(tmp_path, FILES), tmp_path)
    pymqi_files.install(wheel, tmp_path / "target")
    assert (tmp_path / "target" / "pymqi" / "CMQC.py").read_text() == "MQCC_OK = 0\n"


def test_what_is_no_release_of_pymqi(tmp_path: Path) -> None:
    with pytest.raises(StartError, match="not named"):
        pymqi_files.make_wheel(sdist(tmp_path, FILES, "other-1.tar.gz"), tmp_path)
    empty = sdist(tmp_path, {"pymqi-9.8/LICENSE": ""})
    with pytest.raises(StartError, match="does not hold"):
        pymqi_files.make_wheel(empty, tmp_path)
    broken = tmp_path / "pymqi-9.9.tar.gz"
    broken.write_bytes(b"no archive")
    with pytest.raises(StartError, match="cannot be read"):
        pymqi_files.make_wheel(broken, tmp_path)


def test_pip_says_why_it_failed(tmp_path: Path) -> None:
    with pytest.raises(StartError, match="could not install"):
        pymqi_files.install(tmp_path / "pymqi-0-py3-none-any.whl", tmp_path)
