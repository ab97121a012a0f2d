"""Whether each module has tests of its name, or a reason why not: tests/untested_modules.txt.

A module that decides nothing, because nothing in it branches, needs none. The name of every other
one is looked for in tests/unit, which mirrors the code, or in the folder that mirrors its room.
What has no tests of its name is listed below the tests that cover it instead: these are there, and
lead to it by their imports. The list only shrinks. This module does not know whether tests are any
good: mutants and planted bugs say that.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from tests.tidy_rules import Source, named_modules

UNTESTED_MAX = 218
"""How many modules are listed: lower it with each that has got its tests."""
TESTS = " tests: "
ELSEWHERE: Mapping[str, str] = {"spark_jobs": "tests.spark"}
"""Rooms whose tests have a folder of their own."""
INSTALLED = "adapter.toplevel."
"""Modules of this folder are installed beside adapter, and are called by their last names."""
BRANCHES = (
    *(ast.If, ast.IfExp, ast.While, ast.For, ast.AsyncFor),
    *(ast.Match, ast.BoolOp, ast.Compare),
)

USUAL = frozenset({"TYPE_CHECKING", "__name__ == '__main__'"})


def untested(sources: Iterable[Source], listed: str, most: int = UNTESTED_MAX) -> list[str]:
    """Modules without tests that are not listed; and what is listed and should not be."""
    by_path = {source.path: source for source in sources}
    without = set(_without_tests(by_path.values()))
    groups = dict(_groups(listed))
    paths = [path for group in groups.values() for path in group]
    count = f"{len(paths)} modules are listed, of {most}: the list only shrinks"
    return [
        *_wrong_groups(groups, by_path),
        *(f"{path}: it is listed twice" for path in sorted(set(paths)) if paths.count(path) > 1),
        *(f"{path}: it is listed, and not there" for path in paths if path not in by_path),
        *(
            f"{path}: it is listed, and has tests of its name, or decides nothing"
            for path in paths
            if path in by_path and path not in without
        ),
        *(
            f"{path}: it has no file of tests in tests/unit whose name begins with its own"
            for path in sorted(without.difference(paths))
        ),
        *([count] if len(paths) != most else []),
    ]


def _without_tests(sources: Iterable[Source]) -> Iterator[str]:
    """The modules that decide something and have no tests of their name."""
    files = [source for source in sources if source.module.startswith("tests.")]
    tests = {source.module for source in files}
    for source in sources:
        if source.room is None or not _decides(source):
            continue
        *room, name = source.module.removeprefix("adapter.").split(".")
        packages = [".".join(room)]
        if Path(source.path).stem == "__init__":
            packages.append(".".join([*room, name]))
        folders = [_folder(package) for package in packages]
        wanted = [f"{folder}.test_{name}" for folder in folders]
        if not any(
            one == begin or one.startswith(f"{begin}_") for one in tests for begin in wanted
        ):
            yield source.path


def _folder(package: str) -> str:
    """The folder of the tests of a package."""
    return ELSEWHERE.get(package) or ".".join(filter(None, ["tests.unit", package]))


def _decides(source: Source) -> bool:
    """Whether a module does one thing or another; the same whoever imports or runs it."""
    usual = {
        id(part)
        for node in source.nodes
        if isinstance(node, ast.If) and ast.unparse(node.test) in USUAL
        for part in (node, node.test)
    }
    return any(
        (isinstance(node, BRANCHES) and id(node) not in usual)
        or (isinstance(node, ast.comprehension) and bool(node.ifs))
        for node in source.nodes
    )


def _groups(listed: str) -> Iterator[tuple[str, list[str]]]:
    """Each heading of the list, and the paths below it."""
    for part in listed.split("\n## ")[1:]:
        heading, *paths = part.splitlines()
        yield heading, [path for path in paths if path]


def _wrong_groups(groups: Mapping[str, list[str]], by_path: Mapping[str, Source]) -> Iterator[str]:
    """Headings without a reason or tests, and modules that their tests do not lead to."""
    graph = _imports(by_path.values())
    for heading, paths in groups.items():
        reason, _, names = heading.partition(TESTS)
        roots = []
        for name in names.split():
            found = [source.module for path, source in by_path.items() if path.startswith(name)]
            if not found or not name.startswith("tests/"):
                yield f"{name}: {reason!r} names it, and there are no such tests"
            roots += found
        if not names or not reason:
            yield f"{heading!r}: say why, and behind {TESTS.strip()!r} which tests there are"
        reached = _reached(graph, roots)
        for path in paths:
            if path in by_path and by_path[path].module not in reached:
                yield f"{path}: no test of {reason!r} leads to it"


def _imports(sources: Iterable[Source]) -> dict[str, set[str]]:
    """Of each module, the modules that it imports, or names for others to import."""
    known = {source.module: source for source in sources}
    installed = {name.removeprefix(INSTALLED): name for name in known if name.startswith(INSTALLED)}

    def module_of(name: str) -> str:
        while name and name not in known:
            name = name.rpartition(".")[0]
        return name

    def named(source: Source) -> Iterator[str]:
        yield from (name for _, name in source.imports)
        yield from named_modules(source)
        if source.module.startswith("tests."):
            words = set(re.findall(r"\w+", source.text))
            yield from (installed[name] for name in words.intersection(installed))

    return {module: {module_of(name) for name in named(source)} for module, source in known.items()}


def _reached(graph: Mapping[str, set[str]], roots: Iterable[str]) -> set[str]:
    """The modules that these lead to."""
    reached: set[str] = set()
    found = set(roots)
    while found:
        reached |= found
        found = {after for one in found for after in graph.get(one, ())} - reached
    return reached
