"""What `make wheels` decides: for which Pythons, from which versions, and what a wheel may hold.

Nothing is built here: `make wheels` itself examines, installs and runs each wheel it has built.
"""

import stat
import sys
import tomllib
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from native import contents, locked, pythons
from native.pythons import Python

TOP = Path(__file__).parents[1]
PROJECT = (TOP / "pyproject.toml").read_text(encoding="utf-8")
CONSTRAINTS = (TOP / "constraints.txt").read_text(encoding="utf-8")
MODULES = [Path("adapter/core/dispatch.py"), Path("adapter/runtime/owner/loop.py")]
PLAIN = ["adapter/__init__.py", "adapter/core/dispatch.py", "adapter/runtime/owner/loop.py"]
SUFFIX = ".cpython-312-x86_64-linux-gnu.so"
COMPILED = (
    "mqk__mypyc",
    "mqk_client__mypyc",
    "adapter/core/dispatch",
    "adapter/runtime/owner/loop",
)
EXTENSIONS = [f"{one}{SUFFIX}" for one in COMPILED]
MANYLINUX = "mqk-1.0-cp312-cp312-manylinux2014_x86_64.manylinux_2_17_x86_64.whl"

Packed = Callable[..., Path]


@pytest.fixture
def packed(tmp_path: Path) -> Packed:
    """Make a wheel with these files; each holds the text."""

    def make(name: str, files: Iterable[str], text: str = "") -> Path:
        with zipfile.ZipFile(tmp_path / name, "w") as wheel:
            for file in (*files, "mqk-1.0.dist-info/RECORD"):
                wheel.writestr(file, text)
            if "cp31" in name:  # auditwheel packs folders, hatchling does not
                wheel.mkdir("adapter")
        return tmp_path / name

    return make


@pytest.fixture
def pure(packed: Packed) -> Path:
    return packed("mqk-1.0-py3-none-any.whl", PLAIN)


def wrong(wheel: Path, pure: Path, *places: str) -> list[str]:
    return list(contents.wrong_compiled(wheel, pure, MODULES, places))


def test_the_pythons_are_those_that_cibuildwheel_builds_for() -> None:
    project = '[tool.cibuildwheel]\nbuild = ["cp311-*", "cp314-manylinux_x86_64", "cp311-x", "pp3"]'
    assert pythons.targets(project) == ["3.11", "3.14"]


def test_they_are_those_that_the_project_names() -> None:
    project = tomllib.loads(PROJECT)["project"]
    mark = "Programming Language :: Python :: 3."
    named = [one.rpartition(" ")[2] for one in project["classifiers"] if one.startswith(mark)]
    assert pythons.targets(PROJECT) == named
    assert project["requires-python"] == f">={named[0]}"


def test_this_python_says_what_it_is() -> None:
    found = pythons.ask(sys.executable)
    assert found is not None
    assert found.version == f"{sys.version_info[0]}.{sys.version_info[1]}"
    assert found.tag == f"cp{sys.version_info[0]}{sys.version_info[1]}"
    assert found.prefix == sys.base_prefix
    assert pythons.find(found.version) == found


@pytest.mark.parametrize(
    "answer",
    [
        '["PyPy", [3, 12], "/x", "/", true, false]',
        '["CPython", [3, 12], "/x", "/", false, false]',
        '["CPython", [3, 12], "/x", "/", true, true]',
    ],
    ids=["pypy", "without headers", "without the GIL"],
)
def test_a_python_that_cannot_compile_is_none(tmp_path: Path, answer: str) -> None:
    assert pythons.ask(str(script(tmp_path / "python", f"echo '{answer}'"))) is None


def test_a_command_that_fails_or_is_not_there_is_none(tmp_path: Path) -> None:
    assert pythons.ask(str(script(tmp_path / "python", "exit 127"))) is None
    assert pythons.ask(str(tmp_path / "nothing")) is None


def test_the_newest_python_of_pyenv_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = '["CPython", [3, 99], "{}", "/", true, false]'
    for patch in ("3.99.9", "3.99.10"):
        folder = tmp_path / "versions" / patch / "bin"
        folder.mkdir(parents=True)
        script(folder / "python", f"echo '{answer.format(patch)}'")
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    assert pythons.find("3.99") == Python("3.99", "3.99.10", "/")
    assert pythons.find("3.98") is None


def test_the_newest_python_of_uv_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = '["CPython", [3, 99], "{}", "/", true, false]'
    for patch in ("3.99.9", "3.99.10"):
        folder = tmp_path / f"cpython-{patch}-linux-x86_64-gnu" / "bin"
        folder.mkdir(parents=True)
        script(folder / "python3.99", f"echo '{answer.format(patch)}'")
    monkeypatch.setenv("UV_PYTHON_INSTALL_DIR", str(tmp_path))
    assert pythons.find("3.99") == Python("3.99", "3.99.10", "/")


def script(path: Path, line: str) -> Path:
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_what_a_distribution_needs_is_locked_with_its_hashes() -> None:
    found = locked.locked(["mqk[registry]", "hatchling"], CONSTRAINTS)
    names = {line.partition("==")[0] for line in found.splitlines() if line[:1].isalnum()}
    assert {"msgspec", "aiosignal", "httpx2", "pathspec"} <= names
    assert not names & {"mqk", "pytest", "pyspark"}
    assert found.count("--hash=sha256:") > len(names)
    assert "\nhttpx2==" not in locked.locked(["mqk"], CONSTRAINTS)


def test_what_constraints_do_not_name_is_refused() -> None:
    with pytest.raises(LookupError, match=r"constraints\.txt does not name .*pathspec"):
        locked.locked(["hatchling"], "hatchling==1.0 \\\n    --hash=sha256:0\n")


def test_a_wheel_is_for_a_python_and_platforms() -> None:
    platforms = ["manylinux2014_x86_64", "manylinux_2_17_x86_64"]
    assert contents.tags(Path(MANYLINUX)) == ("cp312", platforms)
    assert contents.tags(Path("mqk-1.0-py3-none-any.whl")) == ("py3", ["any"])


def test_a_good_wheel_is_let_be(packed: Packed, pure: Path) -> None:
    assert wrong(packed(MANYLINUX, PLAIN + EXTENSIONS), pure, "/builder") == []
    assert list(contents.wrong_pure(pure)) == []


@pytest.mark.parametrize(
    ("name", "files", "problem"),
    [
        (
            "mqk-1.0-cp312-cp312-linux_x86_64.whl",
            PLAIN + EXTENSIONS,
            "it does not say which Linux can run it: it is for linux_x86_64",
        ),
        (MANYLINUX, PLAIN + EXTENSIONS[:3], "adapter/runtime/owner/loop is not compiled"),
        (MANYLINUX, PLAIN + EXTENSIONS[1:], "mqk__mypyc is not compiled"),
        (
            MANYLINUX,
            [*PLAIN, *EXTENSIONS, f"adapter/host/texts{SUFFIX}"],
            "adapter/host/texts is compiled, and is no hot module",
        ),
        (
            MANYLINUX.replace("cp312", "cp313"),
            PLAIN + EXTENSIONS,
            f"mqk__mypyc{SUFFIX} is not for cp313",
        ),
        (MANYLINUX, PLAIN[1:] + EXTENSIONS, "adapter/__init__.py is missing"),
        (MANYLINUX, [*PLAIN, *EXTENSIONS, "made-of"], "made-of is new"),
        (MANYLINUX, [*PLAIN, *EXTENSIONS, "build/x.c"], "build/x.c is left over from building"),
        (
            MANYLINUX,
            [*PLAIN, *EXTENSIONS, "adapter/__pycache__/x.pyc"],
            "adapter/__pycache__/x.pyc is left over from building",
        ),
    ],
)
def test_a_bad_wheel_is_found(
    packed: Packed, pure: Path, name: str, files: list[str], problem: str
) -> None:
    assert problem in wrong(packed(name, files), pure)


def test_a_path_of_the_machine_is_found(packed: Packed, pure: Path) -> None:
    wheel = packed(MANYLINUX, PLAIN + EXTENSIONS, "RUNPATH /builder/lib")
    assert wrong(wheel, pure, "/builder") == [
        f"{one} holds the path /builder" for one in EXTENSIONS
    ]


def test_a_pure_wheel_has_no_extension_modules(packed: Packed) -> None:
    wheel = packed("mqk-1.0-py3-none-any.whl", PLAIN + EXTENSIONS[:1])
    assert "mqk__mypyc is compiled, and is no hot module" in contents.wrong_pure(wheel)
    other = packed("mqk-1.0-cp312-cp312-linux_x86_64.whl", PLAIN)
    assert list(contents.wrong_pure(other)) == ["it is for cp312 on linux_x86_64 only"]
