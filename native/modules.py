"""Which modules are compiled, and what mypyc refuses or, worse, compiles to something else.

    python -m native.modules

prints the hot modules that stay interpreted, and why.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

CLIENT = (
    "adapter/connection/channel/arguments.py",
    "adapter/connection/channel/books.py",
    "adapter/connection/channel/channel.py",
    "adapter/connection/channel/commits.py",
    "adapter/connection/channel/deferred.py",
    "adapter/connection/channel/flag.py",
    "adapter/connection/channel/forking.py",
    "adapter/connection/channel/interrupted.py",
    "adapter/connection/channel/leading.py",
    "adapter/connection/channel/link/tcp.py",
    "adapter/connection/channel/numbering.py",
    "adapter/connection/channel/outstanding.py",
    "adapter/connection/channel/reading.py",
    "adapter/connection/channel/receiving.py",
    "adapter/connection/channel/requests.py",
    "adapter/connection/channel/sending.py",
    "adapter/connection/channel/state.py",
    "adapter/connection/channel/unit.py",
    "adapter/connection/channel/verbs.py",
    "adapter/client/conversion.py",
    "adapter/client/handles.py",
    "adapter/client/prefetch.py",
    "adapter/client/putting.py",
    "adapter/client/unit.py",
    "adapter/core/contract/request.py",
    "adapter/core/contract/traits.py",
    "adapter/core/contract/weights.py",
    "adapter/host/watched.py",
    "adapter/connection/wire/codec.py",
)
"""What a client runs through, and the queue manager with it. It needs nothing of SERVER."""
SERVER = (
    "adapter/core/contract/pages.py",
    "adapter/core/contract/ranges.py",
    "adapter/core/contract/replies.py",
    "adapter/core/contract/stored.py",
    "adapter/core/contract/unit_records.py",
    "adapter/core/dispatch.py",
    "adapter/core/effects.py",
    "adapter/core/inputs.py",
    "adapter/core/model/*.py",
    "adapter/core/rules/broker/commit.py",
    "adapter/core/rules/drive/serving.py",
    "adapter/core/rules/drive/trigger.py",
    "adapter/core/rules/messages/*.py",
    "adapter/core/rules/network/resolve.py",
    "adapter/core/rules/objects/quiesce.py",
    "adapter/core/rules/objects/session.py",
    "adapter/core/rules/primitives/*.py",
    "adapter/core/tables.py",
    "adapter/storage/format/avro.py",
    "adapter/storage/format/descriptor.py",
    "adapter/storage/format/entries.py",
    "adapter/storage/format/movable.py",
    "adapter/storage/format/msmq_header.py",
    "adapter/storage/ledger/envelope.py",
    "adapter/storage/ledger/kafka.py",
    "adapter/storage/ledger/scan.py",
    "adapter/storage/ledger/term.py",
    "adapter/storage/ledger/validity.py",
    "adapter/storage/movers/batch.py",
    "adapter/storage/movers/mover.py",
    "adapter/storage/movers/stream.py",
    "adapter/storage/movers/writer.py",
    "adapter/runtime/owner/appends.py",
    "adapter/runtime/owner/calls.py",
    "adapter/runtime/owner/client_sink.py",
    "adapter/runtime/owner/clock.py",
    "adapter/runtime/owner/core_steps.py",
    "adapter/runtime/owner/failed_steps.py",
    "adapter/runtime/owner/lifecycle.py",
    "adapter/runtime/owner/lone_client.py",
    "adapter/runtime/owner/loop.py",
    "adapter/runtime/owner/owner.py",
    "adapter/runtime/owner/promises.py",
    "adapter/runtime/owner/term.py",
    "adapter/runtime/owner/term_timer.py",
    "adapter/server/access/audit.py",
    "adapter/server/listen/connections.py",
    "adapter/server/listen/frame_budget.py",
    "adapter/server/doors/gate.py",
    "adapter/server/doors/mqk/connection.py",
    "adapter/server/doors/mqk/handler.py",
    "adapter/server/doors/mqk/progress.py",
    "adapter/connection/wire/session.py",
)
"""What else a put, a get and a commit run through in a queue manager, and copies in its movers."""
GROUPS = {"mqk_client": CLIENT, "mqk": SERVER}
"""Libraries. What the first one holds needs nothing of the second: a client loads it alone."""
INTERPRETED = frozenset(
    {
        "adapter/core/model/destination.py",
        "adapter/core/model/moment.py",
        "adapter/core/model/routes.py",
        "adapter/core/model/topics.py",
        "adapter/core/model/trigger_event.py",
        "adapter/storage/ledger/envelope.py",
    }
)
"""Those of them that hold what mypyc refuses. A test keeps the list: none is added unseen."""
C_WORDS = frozenset(
    f"_{word}"
    for word in (
        *("alignof", "asm", "attribute", "complex", "const", "extension", "imag", "inline"),
        *("label", "real", "restrict", "signed", "thread", "typeof", "volatile"),
    )
)
"""With the underscore that mypyc puts before an attribute they are words of C."""
SUBCLASSED = {
    "adapter/connection/channel/books.py": ("ChannelBooks",),
    "adapter/connection/channel/channel.py": ("Channel",),
    "adapter/connection/channel/commits.py": ("CommitsBooks",),
    "adapter/connection/channel/link/tcp.py": ("TcpLink",),
    "adapter/connection/channel/unit.py": ("UnitBooks", "AnyUnit"),
    "adapter/client/prefetch.py": ("PrefetchBooks",),
    "adapter/client/unit.py": ("ProducingUnit",),
    "adapter/core/model/store.py": ("Store",),
    "adapter/storage/movers/mover.py": ("Mover",),
    "adapter/runtime/owner/client_sink.py": ("ClientSink",),
    "adapter/runtime/owner/clock.py": ("Clock",),
    "adapter/runtime/owner/loop.py": ("OwnerLoop",),
    "adapter/server/listen/connections.py": ("ClientConnections",),
}
"""Classes that have interpreted subclasses, some in tests: compiled, they must say so."""
WITHOUT_CYCLES = {
    "adapter/core/contract/replies.py": ("Reply",),
    "adapter/core/contract/request.py": ("Request",),
    "adapter/core/contract/stored.py": ("Stored",),
    "adapter/core/contract/unit_records.py": (
        *("RecordPart", "OutcomeOf", "Placed", "Taken", "UnitCommitted"),
    ),
    "adapter/core/effects.py": ("Effects",),
    "adapter/core/inputs.py": ("Now", "OutcomesSeen"),
    "adapter/core/rules/messages/plan.py": ("Plan",),
    "adapter/core/rules/primitives/decision.py": ("Decision",),
    "adapter/runtime/owner/promises.py": ("Collected",),
    "adapter/connection/wire/session.py": ("Incoming", "Received"),
}
"""Classes of which a round trip makes many, and that nothing they have leads back to: compiled,
they are not followed by the garbage collection, and the memory of one is used for the next."""
SURROGATES = re.compile("[\ud800-\udfff]")
BUILT_IN = frozenset({"list", "dict", "set", "tuple", "bytes", "str", "int"})


def hot(top: Path) -> list[Path]:
    """Return the hot modules, relative to the top, whether they can be compiled or not."""
    return [path for patterns in GROUPS.values() for path in _found(top, patterns)]


def _found(top: Path, patterns: tuple[str, ...]) -> list[Path]:
    found = (path for pattern in patterns for path in sorted(top.glob(pattern)))
    return [path.relative_to(top) for path in found if path.name != "__init__.py"]


def refused(text: str) -> list[str]:
    """Say why a module is not compiled, a line each; none if it is."""
    tree = ast.parse(text)
    fields = _names_of_field(tree)
    return [why for node in ast.walk(tree) for why in _wrong(node, fields)]


def _names_of_field(tree: ast.Module) -> frozenset[str]:
    """By which names a module calls msgspec.field."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {
                f"{one.asname or one.name}.field" for one in node.names if one.name == "msgspec"
            }
        elif isinstance(node, ast.ImportFrom) and node.module == "msgspec":
            found |= {one.asname or one.name for one in node.names if one.name == "field"}
    return frozenset(found)


def _wrong(node: ast.AST, fields: frozenset[str]) -> Iterator[str]:
    if isinstance(node, ast.Attribute):
        if isinstance(node.ctx, ast.Store) and node.attr in C_WORDS:
            yield f"{node.lineno}: the attribute {node.attr} would be a word of C"
    elif isinstance(node, ast.With) or (isinstance(node, ast.Try) and node.finalbody):
        for word in _leaves(node.body):
            yield f"{node.lineno}: {word} in a with or a try with finally, which mypyc refuses"
    elif isinstance(node, ast.Constant):
        if isinstance(node.value, str) and SURROGATES.search(node.value):
            yield f"{node.lineno}: a text with half of a character, which mypyc refuses"
    elif isinstance(node, ast.ClassDef):
        yield from (f"{node.lineno}: class {node.name} {why}" for why in _wrong_class(node, fields))


def _wrong_class(node: ast.ClassDef, fields: frozenset[str]) -> Iterator[str]:
    if node.keywords:
        yield "has keywords, which compiled code loses without a word"
    for line in node.body:
        value = line.value if isinstance(line, ast.AnnAssign) else None
        if isinstance(value, ast.Call) and ast.unparse(value.func) in fields:
            yield "has a field(...), which compiled code takes for the value"
    for base in node.bases:
        name = base.value if isinstance(base, ast.Subscript) else base
        if isinstance(name, ast.Name) and name.id in BUILT_IN:
            yield f"is a {ast.unparse(base)}, which mypyc refuses"


def _leaves(body: list[ast.stmt]) -> Iterator[str]:
    """The words that leave a block for its loop."""
    for node in body:
        if isinstance(node, ast.Break | ast.Continue):
            yield type(node).__name__.lower()
        for field in ("body", "orelse", "handlers"):
            if not isinstance(node, ast.For | ast.While | ast.FunctionDef | ast.ClassDef):
                yield from _leaves(getattr(node, field, []))


def compiled(top: Path) -> list[Path]:
    """Return the modules that are compiled."""
    return [path for paths in groups(top).values() for path in paths]


def groups(top: Path) -> dict[str, list[Path]]:
    """Return the modules that are compiled, by the name of their library."""
    return {
        name: [path for path in _found(top, patterns) if str(path) not in INTERPRETED]
        for name, patterns in GROUPS.items()
    }


if __name__ == "__main__":
    for module in hot(Path()):
        for reason in refused(module.read_text(encoding="utf-8")):
            print(f"{module}:{reason}")
