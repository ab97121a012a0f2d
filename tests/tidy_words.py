"""House rules of words: texts say what is wrong, in words of the field.

Like tidy_rules, these know nothing of pytest; test_tidy.py runs them on the repository and on bad
samples.
"""

import ast
import re
from collections.abc import Iterable, Iterator

from tests.tidy_rules import Source

RIDDLES = re.compile(
    r"(?<!\bthere )\b[Ii]s (?:not one\b(?! of)|none\b)|\b[Aa]re (?:not one\b|none of (?:ours|mqk))"
)
"""`X is none`, `X is not one`: say what X is, as `invalid X`."""
VAGUE = re.compile(r"\bis not one of\b|\bthere is none\b", re.IGNORECASE)
"""What no docstring says: write of what there is none, or for which values something happens."""
PRONOUNS = re.compile(
    r"\b(?:nobody|somebody|whoever|let in|mend(?:ed|s)?|is no setting)\b", re.IGNORECASE
)
"""What no text for users has: name the client, the owner, the operator, and the field's verb."""

PERSONS = re.compile(r"\b(?:[Nn]obody|[Ss]omebody|[Ww]hoever)\b")
"""What no documentation has, for it does not say who: the client, the owner, the program."""
PAST = re.compile(
    r"_*(?!un|need$|feed$)(?:[a-z]+ed|told|gone|came|made|kept|held|taken|begun|met|lost|sent)"
)
"""A past participle alone. Of a function it says neither what it does nor what it returns."""


def plain_words(source: Source) -> list[str]:
    """Texts say what is wrong, in words of the field."""
    if source.room is None:
        return []
    documentation = {id(node) for node in _documentation(source.nodes)}
    return [
        f"{source.path}:{node.lineno}: {match[0]!r} is a riddle: write what is meant"
        for node in source.nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        for match in (pattern.search(node.value) for pattern in (RIDDLES, PRONOUNS, VAGUE))
        if match is not None
        and match.re in ((RIDDLES, VAGUE) if id(node) in documentation else (RIDDLES, PRONOUNS))
    ] + _persons(source)


def _persons(source: Source) -> list[str]:
    """Documentation names who does something."""
    return [
        f"{source.path}:{node.lineno}: {match[0]!r}: name the client, the owner, the program, ..."
        for node in _documentation(source.nodes)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        for match in PERSONS.finditer(node.value)
    ]


def imperative_names(source: Source) -> list[str]:
    """The past tense is for records, and for what has happened: a function that returns a value is
    named for what it does or returns.

    Of core's rules, every function is.
    """
    if source.room is None:
        return []
    of_rules = source.module.startswith("adapter.core.rules.")
    return [
        f"{source.path}:{node.lineno}: {name} is a past tense, which is for records"
        for name, node in _functions(source.tree)
        if PAST.fullmatch(node.name)
        and not _returns_record_or_bool(node)
        and (of_rules or (_returns_value(node) and not _is_property(node)))
    ]


def _functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Functions of a module and methods of its classes, by their names in it."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            for one in node.body:
                if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef):
                    yield f"{node.name}.{one.name}", one


def _returns_value(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return node.returns is not None and ast.unparse(node.returns) != "None"


def _is_property(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any("property" in ast.unparse(one) for one in node.decorator_list)


def _returns_record_or_bool(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether it returns a record of its name, such as Placed or UnitArrived, or is a question."""
    returned = ast.unparse(node.returns) if node.returns is not None else ""
    return returned == "bool" or returned.endswith(node.name.strip("_").capitalize())


def _documentation(nodes: Iterable[ast.AST]) -> Iterator[ast.expr]:
    """Strings that stand alone: docstrings, and those below a constant."""
    return (node.value for node in nodes if isinstance(node, ast.Expr))
