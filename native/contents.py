"""What a wheel of mqk must hold, and what must not be in it."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from packaging.utils import parse_wheel_filename

from native.modules import GROUPS

LIBRARIES = frozenset(f"{name}__mypyc" for name in GROUPS)
"""What mypyc makes of the modules; the file of each module only names its part of one."""
EXTENSION = ".so"
LEFT_OVER = (".c", ".h", ".o", ".pyc")


def tags(wheel: Path) -> tuple[str, list[str]]:
    """Return for which Python ("cp312", "py3") and which platforms a wheel is, by its name."""
    *_, found = parse_wheel_filename(wheel.name)
    return next(iter(found)).interpreter, sorted(one.platform for one in found)


def wrong_pure(wheel: Path) -> Iterator[str]:
    """Say what is wrong with a wheel of pure Python."""
    python, platforms = tags(wheel)
    if (python, platforms) != ("py3", ["any"]):
        yield f"it is for {python} on {', '.join(platforms)} only"
    yield from _wrong_files(names(wheel), "py3", [])


def wrong_compiled(
    wheel: Path, pure: Path, modules: Sequence[Path], places: Sequence[str]
) -> Iterator[str]:
    """Say what is wrong with a wheel that has compiled modules.

    pure: the wheel without them, of the same sources. modules: those that are compiled. places:
    folders of the machine that built it, of which no extension module may know.
    """
    python, platforms = tags(wheel)
    if any(one.startswith("linux_") for one in platforms):
        yield f"it does not say which Linux can run it: it is for {', '.join(platforms)}"
    found = names(wheel)
    yield from _wrong_files(found, python, modules)
    without = {name for name in found if not name.endswith(EXTENSION)}
    yield from (f"{name} is missing" for name in sorted(set(names(pure)) - without))
    yield from (f"{name} is new" for name in sorted(without - set(names(pure))))
    with zipfile.ZipFile(wheel) as packed:
        for name in filter(lambda name: name.endswith(EXTENSION), found):
            held = packed.read(name)
            yield from (f"{name} holds the path {one}" for one in places if one.encode() in held)


def names(wheel: Path) -> list[str]:
    """Return the files of a wheel, but for its metadata. auditwheel packs folders too."""
    with zipfile.ZipFile(wheel) as packed:
        return [
            one.filename
            for one in packed.infolist()
            if not one.is_dir() and ".dist-info/" not in one.filename
        ]


def _wrong_files(found: Iterable[str], python: str, modules: Sequence[Path]) -> Iterator[str]:
    extensions = []
    for name in found:
        if "__pycache__" in name or name.endswith(LEFT_OVER):
            yield f"{name} is left over from building"
        if name.endswith(EXTENSION):
            extensions.append(name)
    wanted = {str(path.with_suffix("")) for path in modules} | (LIBRARIES if modules else set())
    compiled = {name.partition(".")[0] for name in extensions}
    yield from (f"{name} is not compiled" for name in sorted(wanted - compiled))
    yield from (f"{name} is compiled, and is no hot module" for name in sorted(compiled - wanted))
    mark = f".cpython-{python.removeprefix('cp')}-"
    yield from (f"{name} is not for {python}" for name in extensions if mark not in name)
