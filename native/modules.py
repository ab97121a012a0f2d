"""Which modules are compiled, and what mypyc refuses or, worse, compiles to something else.

    python -m native.modules

prints the hot modules that stay interpreted, and why.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

HOT = (
    "adapter/core/contract/pages.py",
    "adapter/core/contract/ranges.py",
    "adapter/core/contract/replies.py",
    "adapter/core/dispatch.py",
    "adapter/core/tables.py",
    "adapter/core/model/*.py",
    "adapter/core/rules/broker/commit.py",
    "adapter/core/rules/messages/browse.py",
    "adapter/core/rules/messages/context.py",
    "adapter/core/rules/primitives/access.py",
    "adapter/core/rules/primitives/cursor.py",
    "adapter/core/rules/primitives/decision.py",
    "adapter/core/rules/messages/deferred.py",
    "adapter/core/rules/primitives/details.py",
    "adapter/core/rules/messages/get.py",
    "adapter/core/rules/primitives/groups.py",
    "adapter/core/rules/primitives/lifetime.py",
    "adapter/core/rules/primitives/matching.py",
    "adapter/core/rules/messages/pages.py",
    "adapter/core/rules/primitives/parking.py",
    "adapter/core/rules/messages/plan.py",
    "adapter/core/rules/messages/put.py",
    "adapter/core/rules/objects/quiesce.py",
    "adapter/core/rules/messages/report.py",
    "adapter/core/rules/network/resolve.py",
    "adapter/core/rules/primitives/selection.py",
    "adapter/core/rules/drive/serving.py",
    "adapter/core/rules/objects/session.py",
    "adapter/core/rules/primitives/staging.py",
    "adapter/core/rules/drive/trigger.py",
    "adapter/core/rules/primitives/trigger_events.py",
    "adapter/core/rules/messages/unit.py",
    "adapter/core/rules/primitives/waiting.py",
    "adapter/format/avro.py",
    "adapter/format/descriptor.py",
    "adapter/format/entries.py",
    "adapter/format/msmq_header.py",
    "adapter/ledger/envelope.py",
    "adapter/ledger/kafka.py",
    "adapter/ledger/term.py",
    "adapter/owner/appends.py",
    "adapter/owner/clock.py",
    "adapter/owner/lone_client.py",
    "adapter/owner/loop.py",
    "adapter/owner/owner.py",
    "adapter/owner/promises.py",
    "adapter/owner/term.py",
    "adapter/server/connections.py",
    "adapter/server/frame_budget.py",
    "adapter/server/mqk/connection.py",
    "adapter/server/mqk/handler.py",
    "adapter/server/mqk/progress.py",
    "adapter/wire/codec.py",
    "adapter/wire/session.py",
)
"""What a put, a get and a commit run through."""
INTERPRETED = frozenset(
    {
        "adapter/core/model/destination.py",
        "adapter/core/model/moment.py",
        "adapter/core/model/routes.py",
        "adapter/core/model/topics.py",
        "adapter/core/model/trigger_event.py",
        "adapter/ledger/envelope.py",
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
    "adapter/core/model/store.py": "Store",
    "adapter/owner/loop.py": "OwnerLoop",
    "adapter/server/connections.py": "ClientConnections",
}
"""Classes of which tests have subclasses: compiled, they must say that they may be subclassed."""
BUILT_IN = frozenset({"list", "dict", "set", "tuple", "bytes", "str", "int"})


def hot(top: Path) -> list[Path]:
    """Return the hot modules, relative to the top, whether they can be compiled or not."""
    found = (path for pattern in HOT for path in sorted(top.glob(pattern)))
    return [path.relative_to(top) for path in found if path.name != "__init__.py"]


def refused(text: str) -> list[str]:
    """Say why a module is not compiled, a line each; none if it is."""
    return [
        f"{getattr(node, 'lineno', 0)}: {why}"
        for node in ast.walk(ast.parse(text))
        for why in _wrong(node)
    ]


def _wrong(node: ast.AST) -> Iterator[str]:
    kept = isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    if kept and node.attr in C_WORDS:
        yield f"the attribute {node.attr} would be a word of C"
    if isinstance(node, ast.With) or (isinstance(node, ast.Try) and node.finalbody):
        for word in _leaves(node.body):
            yield f"{word} in a with or a try with finally, which mypyc refuses"
    if not isinstance(node, ast.ClassDef):
        return
    if node.keywords:
        yield f"class {node.name} has keywords, which compiled code loses without a word"
    for line in node.body:
        if isinstance(line, ast.AnnAssign) and "field(" in ast.unparse(line):
            yield f"class {node.name} has a field(...), which compiled code takes for the value"
    for base in node.bases:
        if ast.unparse(base).partition("[")[0] in BUILT_IN:
            yield f"class {node.name} is a {ast.unparse(base)}, which mypyc refuses"


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
    return [path for path in hot(top) if str(path) not in INTERPRETED]


if __name__ == "__main__":
    for module in hot(Path()):
        for reason in refused(module.read_text(encoding="utf-8")):
            print(f"{module}:{reason}")
