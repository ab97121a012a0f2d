"""Writes the arrows between rooms into ARCHITECTURE.md: `python -m tests.docs.rooms`, from the top.

An arrow is an import, anywhere in a file. Rooms stand in levels: each imports rooms of the levels
before it only, so the table is also the proof that there is no cycle. The same is written for the
folders of core. This module reads imports; it must not know what a room is for.
"""

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from tests.tidy_rules import FLOORS, Source, python_sources, room_of

TOP = Path(__file__).parents[2]
PAGE = TOP / "ARCHITECTURE.md"
BEGIN = "<!-- Written by `python -m tests.docs.rooms` from the imports: change them there. -->\n"
END = "<!-- Written by hand again. -->\n"
CORE = "adapter.core."

Arrows = dict[str, set[str]]
"""Of each room, or folder, the others that it imports."""


class Cycle(Exception):  # noqa: N818 -- it is a finding
    """These rooms import each other in a circle."""


def sources() -> list[Source]:
    """The files of all rooms."""
    return [source for source in python_sources(TOP) if source.room is not None]


def between_rooms(files: Iterable[Source]) -> Arrows:
    """The arrows between the rooms of adapter, and spark_jobs.

    What the front door, adapter itself, loads on demand is left out: its users name it.
    """
    files = [source for source in files if source.room not in FLOORS]
    rooms = {source.room for source in files}

    def known(module: str) -> str | None:
        names = (room_of(module), module.split(".", maxsplit=1)[0])
        return next((name for name in names if name in rooms), None)

    return _arrows(files, lambda source: source.room, known)


def within_core(files: Iterable[Source]) -> Arrows:
    """The arrows between the folders and single files of core, and the families of rules."""

    def place_of(module: str) -> str | None:
        first, *rest = module.removeprefix(CORE).split(".")
        if not module.startswith(CORE) or module == f"{CORE}rules":
            return None
        return f"{first}.{rest[0]}" if first == "rules" else first

    core = [source for source in files if source.module.startswith(CORE)]
    return _arrows(core, lambda source: place_of(source.module), place_of)


def _arrows(
    files: Iterable[Source],
    where: Callable[[Source], str | None],
    place_of: Callable[[str], str | None],
) -> Arrows:
    arrows: Arrows = {}
    for source in files:
        here = where(source)
        if here is None:
            continue
        found = arrows.setdefault(here, set())
        names = _at_once(source) if here == "adapter" else (name for _, name in source.imports)
        found.update(there for name in names if (there := place_of(name)) and there != here)
    return arrows


def _at_once(source: Source) -> Iterator[str]:
    """What a file imports when it is loaded."""
    for node in source.tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            lines = Source(source.path, ast.unparse(node))
            yield from (name for _, name in lines.imports)


def levels(arrows: Mapping[str, set[str]]) -> list[list[str]]:
    """Rooms by level: each imports rooms of earlier levels only. Raises Cycle."""
    placed: set[str] = set()
    found: list[list[str]] = []
    while len(placed) < len(arrows):
        level = sorted(room for room in arrows if room not in placed and arrows[room] <= placed)
        if not level:
            raise Cycle(sorted(arrows.keys() - placed))
        found.append(level)
        placed.update(level)
    return found


def table(arrows: Mapping[str, set[str]], heading: str) -> Iterator[str]:
    """One row for each room, those that import nothing first."""
    yield f"| level | {heading} | imports |"
    yield "|---|---|---|"
    for number, level in enumerate(levels(arrows)):
        for room in level:
            named = ", ".join(f"`{one}`" for one in sorted(arrows[room]))
            yield f"| {number} | `{room}` | {named} |"


def written(text: str, files: Iterable[Source]) -> str:
    """The page with what is made from the imports of the files in its place. Raises Cycle."""
    files = list(files)
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    made = [
        *table(between_rooms(files), "room"),
        "",
        "Within `core/`:",
        "",
        *table(within_core(files), "folder"),
    ]
    return before + BEGIN + "\n" + "\n".join(made) + "\n\n" + END + after


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(), sources()))
