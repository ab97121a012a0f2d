"""pymqi as a wheel of its Python files: its source distribution needs IBM's headers to build.

What the distribution says of itself, and its licence, come with them. This module runs pip, and
knows nothing of what the files do.
"""

from __future__ import annotations

import base64
import hashlib
import re
import subprocess
import tarfile
import zipfile
from pathlib import Path

from adapter.errors import StartError
from adapter.host import launch

DOWNLOAD_TIMEOUT_S = 300
"""pip makes an environment of its own to ask the distribution for its name; a slow network."""
INSTALL_TIMEOUT_S = 120
FILE_BYTES_MAX = 8 * 1024 * 1024
"""Its longest file has some hundred thousand bytes."""
SDIST = re.compile(r"pymqi-(?P<version>[0-9][0-9A-Za-z.]*)\.tar\.gz")
PYTHON_FILE = re.compile(r"pymqi-[^/]+/code/(?P<inside>pymqi/\w+\.py)")
WHEEL = "Wheel-Version: 1.0\nGenerator: mqk\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def download(folder: Path, version: str | None = None) -> Path:
    """Fetch the source distribution with pip; return its file. Raises StartError."""
    wanted = "pymqi" if version is None else f"pymqi=={version}"
    arguments = ["download", "--no-deps", "--no-binary=:all:", f"--dest={folder}", wanted]
    _pip(arguments, DOWNLOAD_TIMEOUT_S, f"pip could not download {wanted}")
    found = sorted(folder.glob("pymqi-*.tar.gz"))
    if not found:
        raise StartError(f"pip downloaded no source distribution of {wanted}")
    return found[0]


def make_wheel(sdist: Path, folder: Path) -> Path:
    """Put the Python files of a source distribution into a wheel. Raises StartError."""
    named = SDIST.fullmatch(sdist.name)
    if named is None:
        raise StartError(f"{sdist.name} is not named like a source distribution of pymqi")
    about = f"pymqi-{named['version']}.dist-info"
    files = _files(sdist, about)
    files[f"{about}/WHEEL"] = WHEEL.encode()
    files[f"{about}/RECORD"] = _record(files, about)
    wheel = folder / f"pymqi-{named['version']}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return wheel


def install(wheel: Path, target: Path | None = None) -> None:
    """Install a wheel into this environment, or into a folder. Raises StartError."""
    where = [] if target is None else [f"--target={target}"]
    arguments = ["install", "--no-deps", "--no-index", "--force-reinstall", *where, str(wheel)]
    _pip(arguments, INSTALL_TIMEOUT_S, f"pip could not install {wheel.name}")


def _files(sdist: Path, about: str) -> dict[str, bytes]:
    """Return what goes into the wheel, by its name there."""
    files: dict[str, bytes] = {}
    try:
        with tarfile.open(sdist, "r:gz") as archive:
            for member in archive:
                name = _name_inside(member.name, about)
                content = archive.extractfile(member) if name and member.isfile() else None
                if name and content is not None:
                    files[name] = content.read(FILE_BYTES_MAX)
    except (tarfile.TarError, OSError, EOFError) as error:
        raise StartError(f"{sdist} cannot be read: {error}") from error
    if "pymqi/__init__.py" not in files or f"{about}/METADATA" not in files:
        raise StartError(f"{sdist.name} does not hold what a release of pymqi holds")
    return files


def _name_inside(name: str, about: str) -> str | None:
    """Say under which name a file of the distribution goes into the wheel, if it does."""
    _, _, rest = name.partition("/")
    special = {"PKG-INFO": f"{about}/METADATA", "LICENSE": f"{about}/licenses/LICENSE"}
    python = PYTHON_FILE.fullmatch(name)
    return python["inside"] if python else special.get(rest)


def _record(files: dict[str, bytes], about: str) -> bytes:
    lines = []
    for name, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(content)}\n")
    return "".join([*lines, f"{about}/RECORD,,\n"]).encode()


def _pip(arguments: list[str], timeout_s: int, failed: str) -> None:
    command = launch.python("-m", "pip", "--disable-pip-version-check", "--quiet", *arguments)
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise StartError(f"{failed} within {timeout_s} s") from error
    if done.returncode:
        said = done.stdout.decode("utf-8", "replace").strip().splitlines()
        raise StartError(f"{failed}: {said[-1] if said else 'it does not say why'}")
