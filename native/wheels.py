"""`make wheels`: compiled wheels, one for pure Python, that of the client, the source distribution.

A compiled wheel is built of the source distribution, for each Python that pyproject.toml names and
this machine has, in an environment of its own with the versions of constraints.txt. Each wheel is
examined, installed in a new environment and run. cibuildwheel does the same in containers, by the
same settings.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Iterable
from pathlib import Path

from native import contents, pythons
from native.locked import locked
from native.modules import compiled
from native.pythons import Python
from native.target import TOP
from native.wheel import SWITCH

WORK = TOP / "build" / "wheels"
BUILDING = ("hatchling", "mypy", "setuptools", "mqk")
"""What an environment that compiles has: with mqk's own requirements, whose types mypyc reads."""
PROGRAM = TOP / "tests" / "compiled" / "installed.py"
UNWANTED = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
"""What would lead the programs of an environment to other packages."""
IS_LINUX = sys.platform == "linux"


def main() -> None:
    """Build and test; status 1, with the reason, if a wheel is not what it should be."""
    parser = argparse.ArgumentParser(prog="python -m native.wheels", description=__doc__)
    parser.add_argument("--into", type=Path, default=TOP / "dist", help="folder of the results")
    parser.add_argument("python", nargs="*", help="3.12, or the path of a Python; else all targets")
    given = parser.parse_args()
    into: Path = given.into.resolve()
    WORK.mkdir(parents=True, exist_ok=True)
    project = (TOP / "pyproject.toml").read_text(encoding="utf-8")
    found = look_for(given.python or pythons.targets(project), needed=bool(given.python))
    version = tomllib.loads(project)["project"]["version"]
    sdist, pure, client = make_pure(into, version)
    for wheel in (pure, client):
        refuse(wheel, contents.wrong_pure(wheel))
    try_out(pure, found[0], 0)
    made = [pure]
    for python in found:
        source = unpack(sdist, WORK / python.tag / "source")
        modules = compiled(source)
        wheel = make_compiled(source, python)
        places = (str(TOP), str(Path.home()), python.prefix)
        own = [one for one in places if len(Path(one).parts) > 2]  # /usr is on every machine
        refuse(wheel, contents.wrong_compiled(wheel, pure, modules, own))
        try_out(wheel, python, len(modules))
        made.append(Path(shutil.move(wheel, into / wheel.name)))
    for path in (sdist, client, *made):
        print(f"{path.stat().st_size / 1e6:6.2f} MB  {path.name}")


def look_for(wanted: Iterable[str], needed: bool) -> list[Python]:
    """Return the Pythons that this machine has, and say which it lacks."""
    found = []
    for one in wanted:
        python = pythons.ask(one) if os.sep in one else pythons.find(one)
        if python:
            found.append(python)
        elif needed:
            sys.exit(f"There is no CPython {one} with its headers on this machine")
        else:
            print(f"Python {one} is left out: this machine has none with its headers")
    if not found:
        sys.exit("This machine has no Python that pyproject.toml names in [tool.cibuildwheel]")
    return found


def make_pure(into: Path, version: str) -> tuple[Path, Path, Path]:
    """Build the source distribution, and of it the wheel of mqk in pure Python; also the client's.

    What was built of this version before is deleted.
    """
    into.mkdir(parents=True, exist_ok=True)
    for old in (*into.glob(f"mqk-{version}[-.]*"), *into.glob(f"mqk_client-{version}-*")):
        old.unlink()
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(into)]
    run("sdist", [*build, "--sdist", str(TOP)])
    (sdist,) = into.glob(f"mqk-{version}.tar.gz")
    source = unpack(sdist, WORK / "py3" / "source")
    run("wheel", [*build, "--wheel", str(source)], **{SWITCH: "0"})
    run("client", [*build, "--wheel", str(source / "packaging/client")])
    (pure,) = into.glob(f"mqk-{version}-*.whl")
    (client,) = into.glob(f"mqk_client-{version}-*.whl")
    return sdist, pure, client


def unpack(sdist: Path, folder: Path) -> Path:
    """Unpack a source distribution anew; what mypyc has made of the last one is kept."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        if old.name != "build":
            shutil.rmtree(old) if old.is_dir() else old.unlink()
    with tarfile.open(sdist) as packed:
        (top,) = {name.partition("/")[0] for name in packed.getnames()}
        packed.extractall(folder, filter="data")
    for path in (folder / top).iterdir():
        path.rename(folder / path.name)
    (folder / top).rmdir()
    return folder


def make_compiled(source: Path, python: Python) -> Path:
    """Build the compiled wheel for a Python, with the tag of the oldest Linux that can run it."""
    print(f"Compiling for Python {python.version} ({python.executable})", flush=True)
    folder = WORK / python.tag
    compiler = environment(folder / "tools", python, BUILDING, keep=True)
    wheels = fresh(folder / "wheels")
    # Without the path of this machine's libraries that pyenv's Python adds.
    linking = {"LDSHARED": f"{os.environ.get('CC', 'cc')} -shared"} if IS_LINUX else {}
    run(
        f"compiling-{python.tag}",
        [str(compiler), "-m", "pip", "wheel", "--no-build-isolation", "--no-deps",
         "--disable-pip-version-check", "--wheel-dir", str(wheels), str(source)],
        **linking, **{SWITCH: "1", "OPTIMIZE": ""},
    )  # fmt: skip
    (wheel,) = wheels.glob("*.whl")
    if not IS_LINUX:
        return wheel
    tools = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    repaired = fresh(folder / "repaired")
    repair = [sys.executable, "-m", "auditwheel", "repair", "--strip", "-w", str(repaired)]
    run(f"repairing-{python.tag}", [*repair, str(wheel)], PATH=tools)  # where patchelf is
    (wheel,) = repaired.glob("*.whl")
    return wheel


def try_out(wheel: Path, python: Python, modules: int) -> None:
    """Install a wheel in a new environment, with what it needs, and run a program on it."""
    folder = WORK / (python.tag if modules else "py3") / "installed"
    installed = environment(folder, python, ("mqk",), keep=False)
    pip = [str(installed), "-m", "pip", "--disable-pip-version-check"]
    run(f"installing-{python.tag}", [*pip, "install", "--no-deps", "--no-index", str(wheel)])
    run(f"checking-{python.tag}", [*pip, "check"])
    said = run(f"running-{python.tag}", [str(installed), "-P", str(PROGRAM), str(modules)])
    print(f"Python {python.version}: {wheel.name} runs: {said.strip()}", flush=True)


def environment(folder: Path, python: Python, names: Iterable[str], keep: bool) -> Path:
    """Make an environment with the tested versions of these and all they need; no source is built.

    keep: one that has the same versions is taken as it is. Returns its Python.
    """
    wanted = locked(names, (TOP / "constraints.txt").read_text(encoding="utf-8"))
    stamp, executable = folder / "locked.txt", folder / "bin" / "python"
    if keep and stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted:
        return executable
    shutil.rmtree(folder, ignore_errors=True)
    run(f"environment-{python.tag}", [python.executable, "-m", "venv", str(folder)])
    requirements = folder / "wanted.txt"
    requirements.write_text(wanted, encoding="utf-8")
    run(
        f"environment-{python.tag}",
        [str(executable), "-m", "pip", "install", "--disable-pip-version-check", "--quiet",
         "--require-hashes", "--no-deps", "--only-binary=:all:", "-r", str(requirements)],
    )  # fmt: skip
    requirements.rename(stamp)
    return executable


def fresh(folder: Path) -> Path:
    """Return the folder, empty."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def run(step: str, command: list[str], **variables: str) -> str:
    """Run a program and return its output; end with it and its errors if it fails."""
    own = {name: value for name, value in os.environ.items() if name not in UNWANTED}
    done = subprocess.run(
        command, env={**own, **variables}, cwd=WORK, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"{done.stdout}{done.stderr}\n{step} failed: {' '.join(command)}")
    return done.stdout


def refuse(wheel: Path, problems: Iterable[str]) -> None:
    """End if there are problems."""
    if found := list(problems):
        sys.exit("\n".join([f"{wheel.name} is not as it should be:", *found]))


if __name__ == "__main__":
    main()
