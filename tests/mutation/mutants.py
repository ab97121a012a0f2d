"""Mutants of core: its source with one rule switched off.

A rule is a refusal (`raise Refusal` becomes nothing), a function that checks or applies (it does
nothing), or one that decides (it does nothing and says that it is done).
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

TOP = Path(__file__).parents[2]
ROOM = TOP / "adapter" / "core"
FILES = ("rules/*.py", "dispatch.py")
SWITCHED_OFF = ("apply_", "check", "_check", "written_later", "acknowledge", "restarted")
"""Beginnings of the names of functions that return nothing, or what they caused."""
DECIDES = "decide_"
NOTHING_DECIDED = """
from adapter.core.results import Done
return Decision([], Done(), qm.entry_n)
"""


class Mutant(Struct, frozen=True):
    """One rule switched off. module: where; name: what; text: the whole module without it."""

    module: str
    name: str
    text: str


def mutants() -> list[Mutant]:
    """Every mutant, in the order of files and lines."""
    paths = sorted(path for pattern in FILES for path in ROOM.glob(pattern))
    return [mutant for path in paths for mutant in mutants_of(path)]


def mutants_of(path: Path) -> Iterator[Mutant]:
    """The mutants of one module."""
    text = path.read_text()
    module = ".".join(path.relative_to(TOP).with_suffix("").parts)
    met: Counter[str] = Counter()
    for function in ast.parse(text).body:
        if not isinstance(function, ast.FunctionDef):
            continue
        for name, first, last, instead in _changes(function):
            met[name] += 1
            numbered = f"{name} ({met[name]})" if met[name] > 1 else name
            yield Mutant(module, numbered, _with(text, first, last, instead))


def _changes(function: ast.FunctionDef) -> Iterator[tuple[str, ast.stmt, ast.stmt, str]]:
    """What to switch off in a function: a name, the first and last statement, what stands there."""
    body = function.body
    if function.name.startswith(DECIDES):
        yield function.name, body[0], body[-1], NOTHING_DECIDED
    elif function.name.startswith(SWITCHED_OFF):
        caused = function.returns is not None and ast.unparse(function.returns) == "Executed"
        yield function.name, body[0], body[-1], f"return {'Executed()' if caused else None}"
    for node in ast.walk(function):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            raised = node.exc
            if isinstance(raised.func, ast.Name) and raised.func.id == "Refusal":
                reason = ast.unparse(raised.args[0])
                yield f"{function.name}: {reason}", node, node, "pass"


def _with(text: str, first: ast.stmt, last: ast.stmt, instead: str) -> str:
    """The text with other statements in place of some."""
    lines = text.splitlines()
    indent = " " * first.col_offset
    new = [indent + line for line in instead.strip().splitlines()]
    lines[first.lineno - 1 : last.end_lineno] = new
    return "\n".join(lines) + "\n"
