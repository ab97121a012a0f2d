"""All planted bugs of the compiled modules in one build, each switched on by its name.

Theory. A compilation takes minutes, and there are dozens of bugs. So the function that a bug
changes is kept, and its changed copy stands beside it, under the function's name and the bug's. The
function begins with a branch that goes there if the bug is switched on. That is one comparison of
two strings more in each of these functions, and all else is what is shipped. A bug must change one
function, and not its parameters.

This module makes text of text; it compiles nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from msgspec import Struct

VARIABLE = "MQK_PLANTED_BUG"
SWITCH_MODULE = f'''"""Which planted bug is switched on."""

import os
from typing import Final

PLANTED: Final[str] = os.environ.get("{VARIABLE}", "")
'''
FUTURE = "from __future__ import annotations\n"
IMPORT = "from adapter.planted import PLANTED\n"

Def = ast.FunctionDef | ast.AsyncFunctionDef


class Unswitchable(Exception):  # noqa: N818 -- it says what the bug is
    """A bug is not the change of one function."""


class Found(Struct):
    """A function in a text. is_method: its first parameter is the object."""

    node: Def
    is_method: bool


def switched(text: str, changed: Mapping[str, str]) -> str:
    """Return a module with all its bugs. changed: the module's text with each bug, by its name."""
    lines = text.splitlines(keepends=True)
    inserted = [(_imports_at(ast.parse(text)), IMPORT if FUTURE in text else FUTURE + IMPORT)]
    for name, other in changed.items():
        original, copy = _difference(name, text, other)
        inserted.append((_body_at(original.node), _branch(original, name)))
        inserted.append((original.node.end_lineno or 0, _copy(copy.node, other, name)))
    for at, what in sorted(inserted, key=lambda one: -one[0]):
        lines.insert(at, what)
    return "".join(lines)


def _imports_at(module: ast.Module) -> int:
    """Return the index of the first line that imports something, and nothing of the future."""
    for one in module.body:
        is_from = isinstance(one, ast.ImportFrom) and one.module != "__future__"
        if is_from or isinstance(one, ast.Import):
            return one.lineno - 1
    raise Unswitchable("a module that imports nothing")


def _difference(name: str, text: str, other: str) -> tuple[Found, Found]:
    before, after = dict(_functions(ast.parse(text))), dict(_functions(ast.parse(other)))
    differ = [
        key for key, one in before.items()
        if key not in after or ast.dump(one.node) != ast.dump(after[key].node)
    ]  # fmt: skip
    if len(differ) != 1 or before.keys() != after.keys():
        raise Unswitchable(f"{name} changes {differ or 'no function'}, and is to change one")
    original, copy = before[differ[0]], after[differ[0]]
    if ast.dump(original.node.args) != ast.dump(copy.node.args):
        raise Unswitchable(f"{name} changes the parameters of {differ[0]}")
    return original, copy


def _functions(within: ast.Module | ast.ClassDef, of: str = "") -> Iterator[tuple[str, Found]]:
    for one in within.body:
        if isinstance(one, Def):
            yield of + one.name, Found(one, bool(of))
        elif isinstance(one, ast.ClassDef):
            yield from _functions(one, f"{of}{one.name}.")


def _body_at(node: Def) -> int:
    """Return the index of the line before which the body begins, behind its docstring."""
    first, *rest = node.body
    is_docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return (rest[0] if is_docstring and rest else first).lineno - 1


def _branch(found: Found, name: str) -> str:
    """Return the lines that a function begins with."""
    node, indent = found.node, " " * (found.node.col_offset + 4)
    arguments = node.args
    plain = [one.arg for one in (*arguments.posonlyargs, *arguments.args)][found.is_method :]
    call = [
        *plain,
        *([f"*{arguments.vararg.arg}"] if arguments.vararg else []),
        *(f"{one.arg}={one.arg}" for one in arguments.kwonlyargs),
        *([f"**{arguments.kwarg.arg}"] if arguments.kwarg else []),
    ]
    target = f"{'self.' if found.is_method else ''}{node.name}__{name}"
    if not _is_property(node):
        target += f"({', '.join(call)})"
    if isinstance(node, ast.AsyncFunctionDef):
        target = f"await {target}"
    lines = [f'if PLANTED == "{name}":']
    if any(isinstance(one, ast.Yield | ast.YieldFrom) for one in ast.walk(node)):
        lines += [f"    yield from {target}", "    return"]
    elif node.returns is not None and ast.unparse(node.returns) == "None":
        lines += [f"    {target}", "    return"]
    else:
        lines += [f"    return {target}"]
    return "".join(f"{indent}{line}\n" for line in lines)


def _is_property(node: Def) -> bool:
    decorators = [ast.unparse(one) for one in node.decorator_list]
    if decorators not in ([], ["property"]):
        raise Unswitchable(f"{node.name} is decorated with {decorators}")
    return bool(decorators)


def _copy(node: Def, text: str, name: str) -> str:
    """Return the lines of a function with a bug, under a name of its own."""
    lines = text.splitlines(keepends=True)
    begin = min([node.lineno, *(one.lineno for one in node.decorator_list)]) - 1
    of_it = "".join(lines[begin : node.end_lineno])
    return "\n" + of_it.replace(f"def {node.name}", f"def {node.name}__{name}", 1)
