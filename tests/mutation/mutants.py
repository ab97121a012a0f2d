"""Mutants of core: its source with one rule switched off.

A rule is a refusal (`raise Refusal` becomes nothing), a function that checks, applies or notes (it
does nothing), one that decides (it does nothing and says that it is done), a condition (it always
holds), or a way to a trigger message (there is none, or it does without one of its conditions).
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

TOP = Path(__file__).parents[2]
ROOM = TOP / "adapter" / "core"
FILES = ("rules/*/*.py", "dispatch.py")
SWITCHED_OFF = (
    *("apply_", "check", "_check", "written_later", "_acknowledge", "restarted"),
    *("note_put", "opened", "closed", "altered", "_release"),
)
"""Beginnings of the names of functions that return nothing, or None for nothing."""
DECIDES = "decide_"
TABLE = "trigger_conditions.py"
"""The table of conditions: its functions say whether one holds."""
WAYS = "WAYS"
NOTHING_DECIDED = """
from adapter.core.contract.results import Done
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
    is_table = path.name == TABLE
    if is_table:
        yield from _ways(module, text)
    for function in ast.parse(text).body:
        if not isinstance(function, ast.FunctionDef):
            continue
        changes = _holds(function) if is_table else _changes(function)
        for name, first, last, instead in changes:
            met[name] += 1
            numbered = f"{name} ({met[name]})" if met[name] > 1 else name
            yield Mutant(module, numbered, _with(text, first, last, instead))


def _changes(function: ast.FunctionDef) -> Iterator[tuple[str, ast.stmt, ast.stmt, str]]:
    """What to switch off in a function: a name, the first and last statement, what stands there."""
    body = function.body
    if function.name.startswith(DECIDES):
        yield function.name, body[0], body[-1], NOTHING_DECIDED
    elif function.name.startswith(SWITCHED_OFF):
        yield function.name, body[0], body[-1], "return None"
    for node in ast.walk(function):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            raised = node.exc
            if isinstance(raised.func, ast.Name) and raised.func.id == "Refusal":
                reason = ast.unparse(raised.args[0])
                yield f"{function.name}: {reason}", node, node, "pass"


def _holds(function: ast.FunctionDef) -> Iterator[tuple[str, ast.stmt, ast.stmt, str]]:
    """Let a condition, or a part of one, always hold."""
    if function.returns is not None and ast.unparse(function.returns) == "bool":
        yield f"{function.name} holds", function.body[0], function.body[-1], "return True"


def _ways(module: str, text: str) -> Iterator[Mutant]:
    """Take out each way of the table, and of each way every condition."""
    tree = ast.parse(text)
    table = next(node for node in tree.body if isinstance(node, ast.Assign) and _names(node, WAYS))
    assert isinstance(table.value, ast.Tuple), "a tuple of calls of Way"
    for way in table.value.elts:
        said = ast.get_source_segment(text, way) or ""
        yield Mutant(module, f"no {said.partition(',')[0]})", text.replace(f"    {said},\n", ""))
        assert isinstance(way, ast.Call)
        needed = way.args[1]
        assert isinstance(needed, ast.Tuple), "the conditions of a way"
        for condition in needed.elts:
            kept = [ast.unparse(one) for one in needed.elts if one is not condition]
            without = said.replace(
                ast.get_source_segment(text, needed) or "", f"({', '.join(kept)},)"
            )
            name = f"{said.partition(',')[0]}) without {ast.unparse(condition)}"
            yield Mutant(module, name, text.replace(said, without))


def _names(node: ast.Assign, name: str) -> bool:
    return [ast.unparse(target) for target in node.targets] == [name]


def _with(text: str, first: ast.stmt, last: ast.stmt, instead: str) -> str:
    """The text with other statements in place of some."""
    lines = text.splitlines()
    indent = " " * first.col_offset
    new = [indent + line for line in instead.strip().splitlines()]
    lines[first.lineno - 1 : last.end_lineno] = new
    return "\n".join(lines) + "\n"
