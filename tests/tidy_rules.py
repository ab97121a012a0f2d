"""The house rules as functions: each takes sources and returns what is wrong, one line a problem.

Who may import whom is in tidy_layers.py. The rules know nothing of pytest; test_tidy.py runs them
on the repository and on bad samples.
"""

import ast
import gc
import re
import sys
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path

from msgspec import Struct

FUNCTION_LINES_MAX = 60
FILE_LINES_MAX = 600
COLUMNS_MAX = 100

# The demo's independent judge: nothing of ours may vouch for itself.
STANDS_ALONE = frozenset({"mqk_demo.checker"})
MAY_USE_KAFKA = frozenset(
    {
        *("storage.ledger", "storage.movers", "storage.topics"),
        *("registry", "localkafka", "kafka", "spark_jobs"),
    }
)
MAY_USE_KAFKA_MODULES = frozenset(
    {
        "adapter.storage.backup.kafka",
        "adapter.runtime.network.kafka",
        "adapter.runtime.exports.kafka",
        "adapter.runtime.exports.open_transactions",
        "adapter.runtime.exports.refused_records",
        "adapter.runtime.feeds.kafka",
        "adapter.cli.cluster",  # asks for settings that can lose messages (mqk doctor)
        "mqk_demo.checker",
    }
)

# core and wire compute: what they may use of the world is listed, all else is refused.
PURE_LIBRARIES = frozenset(
    {
        *("__future__", "abc", "array", "bisect", "collections", "contextlib", "enum", "fnmatch"),
        *(
            "functools",
            "hashlib",
            "heapq",
            "ipaddress",
            "itertools",
            "math",
            "msgspec",
            "operator",
            "re",
        ),
        *("string", "struct", "types", "typing", "zlib"),
    }
)
PURE_ROOMS = frozenset({"core", "connection.wire"})
# Rooms that turn inputs into outputs: time, chance and the network are handed to them.
NO_WORLD = frozenset(
    {"asyncio", "datetime", "logging", "random", "secrets", "socket", "threading", "time", "uuid"}
)
NO_WORLD_ROOMS = frozenset({"storage.format"})
READS_HEADERS = "adapter.storage.format.record_headers"
# Rooms of a queue manager's process: what ends unexpectedly there, somebody must hear of.
WATCHED_ROOMS = frozenset(
    {
        *("runtime.exports", "runtime.feeds", "runtime.network", "runtime.own_clients"),
        *("runtime.owner", "storage.ledger", "storage.movers", "registry", "server", "workers"),
    }
)
STARTERS = frozenset({"Thread", "create_task", "ensure_future", "add_done_callback", "Timer"})

# The only readers of a clock in rooms whose work must not depend on the time of day.
CLOCK_ROOMS = frozenset({"runtime.owner", "storage.topics"})
CLOCK_LIBRARIES = frozenset({"time", "datetime"})
CLOCKS = frozenset(
    {
        "adapter.runtime.owner.clock",
        *(
            "adapter.storage.topics.admin",
            "adapter.storage.topics.memory",
            "adapter.storage.topics.reader",
        ),
        "adapter.storage.topics.partition_consumer",
        "adapter.storage.topics.trim",
    }
)

# Modules that are started by name, or that users import.
ENTRY_POINTS = frozenset(
    {
        *("adapter.cli.main", "adapter.testing", "adapter.kafka", "adapter.mqi.trigger_monitor"),
        "adapter.localkafka.container",
        *("adapter.toplevel.ibmmqc", "adapter.toplevel.pymqe", "adapter.toplevel.pyspark_mq"),
        *("adapter.toplevel.mqk", "adapter.toplevel.pytest_mqk"),
    }
)
# sys.executable is for launch.python(), which keeps the working directory's modules out; doctor
# shows it, and Spark is handed it.
MAY_NAME_PYTHON = frozenset({"adapter.host.launch", "adapter.cli.doctor", "spark_jobs.session"})
BESIDE = frozenset({"mqk_demo", "spark_jobs"})
"""Packages that lie beside adapter."""
FLOORS = frozenset({"host", "host.settings", "connection", "storage", "runtime"})
"""Folders of adapter whose folders and files are rooms."""
VAGUE_NAMES = frozenset({"utils", "util", "helpers", "helper", "common", "misc", "stuff", "base"})

MARKS = re.compile("|".join((r"\bTO" + "DO", r"\bFIX" + "ME", r"\bXX" + r"X\b", r"\bHA" + r"CK\b")))
MACHINE_PATHS = re.compile(r"(?<![\w.])/(?:wor" + r"k|roo" + r"t|home/\w+|Users/\w+)/")
REGISTRY_HOSTS = re.compile(
    "|".join(
        re.escape(head + tail)
        for head, tail in (
            ("pypi", ".org"),
            ("python", "hosted.org"),
            ("repo1.maven", ".org"),
            ("repo.maven", ".apache.org"),
            ("registry.npm", "js.org"),
            ("crates", ".io"),
            ("proxy.golang", ".org"),
            ("deb.debian", ".org"),
        )
    )
)


class Source(Struct, frozen=True, dict=True):
    """One Python file: its path from the top, and what it says. It is parsed once."""

    path: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text, self.path)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        return list(ast.walk(self.tree))

    @cached_property
    def imports(self) -> list[tuple[int, str]]:
        """Line and full name of everything the module imports, also inside functions."""
        return [one for node in self.nodes for one in _imported(node)]

    @property
    def module(self) -> str:
        parts = Path(self.path).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    @property
    def room(self) -> str | None:
        """The room of a module: see room_of."""
        return room_of(self.module)


def room_of(module: str) -> str | None:
    """The room of a module of adapter, or of what is imported from one: its folder or, beside them,
    its name; on a floor with that of the floor, as in storage.ledger. None: it is in no room.

    A package that lies beside adapter is a room like its folders.
    """
    first, *rest = module.split(".")
    if first in BESIDE:
        return first
    if first != "adapter":
        return None
    room, *rest = rest or ["adapter"]
    while room in FLOORS and rest:
        room, rest = f"{room}.{rest[0]}", rest[1:]
    return room


def python_sources(top: Path) -> list[Source]:
    """Every Python file of the repository."""
    paths = (path for path in text_files(top) if path.suffix == ".py")
    return [Source(str(path.relative_to(top)), path.read_text(encoding="utf-8")) for path in paths]


def parse(sources: list[Source]) -> list[Source]:
    """Parse all of them at once; looking for garbage among trees would take longer than that."""
    gc.disable()
    try:
        assert all(source.imports is not None for source in sources)
        gc.freeze()
    finally:
        gc.enable()
    return sources


def text_files(top: Path) -> Iterator[Path]:
    """Every file that people wrote."""
    made = {".git", "build", "dist", "__pycache__", ".hypothesis"}
    for path in sorted(top.iterdir()):
        if path.name in made or path.name.startswith(".venv") or path.name.endswith("_cache"):
            continue
        if path.is_dir():
            yield from text_files(path)
        elif b"\0" not in path.read_bytes()[:1024]:
            yield path


def _imported(node: ast.AST) -> Iterator[tuple[int, str]]:
    if isinstance(node, ast.Import):
        yield from ((node.lineno, alias.name) for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.level:
        yield node.lineno, "." * node.level
    elif isinstance(node, ast.ImportFrom):
        yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def is_within(name: str, prefix: str) -> bool:
    return name == prefix or name.startswith(prefix + ".")


def libraries(source: Source) -> list[str]:
    """Who may use which libraries."""
    room = source.room
    if room is None:
        return []
    kafka = room in MAY_USE_KAFKA or source.module in MAY_USE_KAFKA_MODULES
    problems = []
    for line, name in source.imports:
        library = name.split(".")[0]
        if library == "adapter":
            continue
        pure = room in PURE_ROOMS and library not in PURE_LIBRARIES
        world = room in NO_WORLD_ROOMS and library in NO_WORLD
        clock = room in CLOCK_ROOMS and library in CLOCK_LIBRARIES and source.module not in CLOCKS
        alone = source.module in STANDS_ALONE and library not in {
            "confluent_kafka",
            "fastavro",
            *sys.stdlib_module_names,
        }
        if pure or world or clock or alone or (library == "confluent_kafka" and not kafka):
            problems.append(f"{source.path}:{line}: {source.module} must not use {library}")
        if library == "dataclasses":
            problems.append(f"{source.path}:{line}: data are msgspec Structs, not dataclasses")
    return problems


def children(source: Source) -> list[str]:
    """Python is started in one way only."""
    if source.room is None or source.module in MAY_NAME_PYTHON:
        return []
    return [
        f"{source.path}:{node.lineno}: start Python with the command of launch.python()"
        for node in source.nodes
        if isinstance(node, ast.Attribute) and ast.unparse(node) == "sys.executable"
    ]


def unwatched(source: Source) -> list[str]:
    """Nothing that runs beside its starter ends without a word: adapter.host.watched starts it."""
    if source.room not in WATCHED_ROOMS:
        return []
    calls = (node.func for node in source.nodes if isinstance(node, ast.Call))
    return [
        f"{source.path}:{called.lineno}: {called.attr}; start it by adapter.host.watched"
        for called in calls
        if isinstance(called, ast.Attribute) and called.attr in STARTERS
    ]


def headers_read(source: Source) -> list[str]:
    """Headers of a record of Kafka are read in one place: the client raises what is no name."""
    if source.module == READS_HEADERS or not source.path.startswith(("adapter/", "spark_jobs/")):
        return []
    calls = (node.func for node in source.nodes if isinstance(node, ast.Call) and not node.args)
    return [
        f"{source.path}:{called.lineno}: headers(); read them by format.record_headers.headers_of"
        for called in calls
        if isinstance(called, ast.Attribute) and called.attr == "headers"
    ]


def texts_of_processes(source: Source) -> list[str]:
    """What Linux tells of processes is read as bytes: each process chooses its name."""
    if not source.path.startswith("adapter/") or not any(
        isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and (node.value == "/proc" or node.value.startswith("/proc/"))
        for node in source.nodes
    ):
        return []
    return [
        f"{source.path}:{node.lineno}: read_text() below /proc; read bytes, as launch.status_of"
        for node in source.nodes
        if isinstance(node, ast.Attribute) and node.attr == "read_text"
    ]


def sizes(source: Source) -> list[str]:
    """Functions, files and lines stay small."""
    lines = source.text.splitlines()
    problems = [
        f"{source.path}:{number}: {len(line)} columns, {COLUMNS_MAX} at most"
        for number, line in enumerate(lines, 1)
        if len(line) > COLUMNS_MAX
    ]
    if len(lines) > FILE_LINES_MAX:
        problems.append(f"{source.path}: {len(lines)} lines, {FILE_LINES_MAX} at most")
    for node in source.nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > FUNCTION_LINES_MAX:
                problems.append(
                    f"{source.path}:{node.lineno}: {node.name} has {length} lines, "
                    f"{FUNCTION_LINES_MAX} at most"
                )
    return problems


def docstrings(source: Source) -> list[str]:
    """Every module says what it is for."""
    if ast.get_docstring(source.tree):
        return []
    return [f"{source.path}: no module docstring; say what it is for and what it must not know"]


def vague_names(source: Source) -> list[str]:
    """A module is named after what it holds."""
    found = VAGUE_NAMES & set(source.module.split("."))
    return [f"{source.path}: {name} says nothing; name what it holds" for name in sorted(found)]


def mutable_globals(source: Source) -> list[str]:
    """No state at module level: tables are upper case and never change."""
    problems = [
        f"{source.path}:{node.lineno}: global statement; pass the state along"
        for node in source.nodes
        if isinstance(node, ast.Global)
    ]
    mutable = ast.List | ast.Dict | ast.Set | ast.ListComp | ast.DictComp | ast.SetComp
    for statement in source.tree.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.value, mutable):
            names = [one.id for one in statement.targets if isinstance(one, ast.Name)]
            problems.extend(
                f"{source.path}:{statement.lineno}: {name} is mutable state at module level"
                for name in names
                if not name.isupper() and not name.startswith("__")
            )
    return problems


def unfinished(source: Source) -> list[str]:
    """Nothing is left for later in the code."""
    return [
        f"{source.path}:{node.lineno}: {node.id} marks unfinished work"
        for node in source.nodes
        if isinstance(node, ast.Name) and node.id == "NotImplementedError"
    ]


def hidden_tests(source: Source) -> list[str]:
    """Tests that do not run: marks that skip, and files that pytest does not collect."""
    name = Path(source.path).name
    if not source.path.startswith("tests/"):
        return []
    problems = [
        f"{source.path}:{node.lineno}: {node.attr}; a test runs and passes, or is not there"
        for node in source.nodes
        if isinstance(node, ast.Attribute)
        and node.attr in {"skip", "skipif", "xfail", "importorskip"}
        and "pytest" in ast.unparse(node)
    ]
    has_tests = any(
        isinstance(node, ast.FunctionDef) and node.name.startswith("test_") for node in source.nodes
    )
    if has_tests and not name.startswith("test_") and not name.endswith("_contract.py"):
        problems.append(f"{source.path}: has tests, but pytest collects only test_*.py")
    return problems


def dead_modules(sources: Iterable[Source]) -> list[str]:
    """Modules that nothing but tests uses, neither by import nor by name."""
    ours = [source for source in sources if source.room is not None]
    used: set[str] = set(ENTRY_POINTS)
    for source in ours:
        names = {name for _, name in source.imports} | set(named_modules(source))
        used |= {name for name in names if name != source.module}
    alive = {one for name in used for one in (name, name.rpartition(".")[0])}
    return [
        f"{source.path}: nothing uses it; remove it, or add it to ENTRY_POINTS"
        for source in ours
        if source.module not in alive and Path(source.path).stem not in {"__init__", "__main__"}
    ]


def named_modules(source: Source) -> Iterator[str]:
    """Modules that a string names, as for `python -m`."""
    for node in source.nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from re.findall(rf"\b(?:adapter|{'|'.join(BESIDE)})(?:\.\w+)+", node.value)


def unused_contracts(sources: Iterable[Source]) -> list[str]:
    """A contract suite that no test module takes up never runs."""
    tests = [source for source in sources if source.path.startswith("tests/")]
    taken = {
        module
        for source in tests
        if Path(source.path).name.startswith("test_")
        for _, name in source.imports
        for module in (name, name.rpartition(".")[0])
    }
    return [
        f"{source.path}: no test module takes this contract up"
        for source in tests
        if source.path.endswith("_contract.py") and source.module not in taken
    ]


def mirrors(sources: Iterable[Source]) -> list[str]:
    """tests/unit mirrors adapter, and what lies beside it: its folders, and its files begin with a
    module's name.
    """
    listed = list(sources)
    modules = {source.module for source in listed}
    problems = []
    for source in listed:
        parts = source.module.split(".")
        if parts[:2] != ["tests", "unit"] or not parts[-1].startswith("test_"):
            continue
        room = ".".join([*(() if parts[2] in BESIDE else ("adapter",)), *parts[2:-1]])
        subject = parts[-1].removeprefix("test_")
        inside = {one.removeprefix(room + ".").split(".")[0] for one in modules if room in one}
        beside = {one.removeprefix("tests.") for one in modules if one.startswith("tests.")}
        known = inside | {parts[-2]} | (beside if len(parts) == 3 else set())
        if room not in modules:
            problems.append(f"{source.path}: there is no {room} that it could mirror")
        elif not any(subject == one or subject.startswith(one + "_") for one in known):
            problems.append(f"{source.path}: its name begins with no module of {room}")
    return problems


def leftovers(path: str, text: str) -> list[str]:
    """Marks of unfinished work, paths of one machine, hosts of registries."""
    return [
        f"{path}:{text.count(chr(10), 0, match.start()) + 1}: {match[0]!r} is {what}"
        for what, pattern in (
            ("a mark of unfinished work", MARKS),
            ("a path of one machine", MACHINE_PATHS),
            ("a registry's host", REGISTRY_HOSTS),
        )
        for match in pattern.finditer(text)
    ]
