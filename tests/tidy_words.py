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


PAST = re.compile(r"_*(?!un)(?:[a-z]+ed|told|gone|came|made|kept|held|taken|begun|met|lost|sent)")
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
    ]


def imperative_names(source: Source) -> list[str]:
    """The past tense is for records: a function of core's rules says what it does or returns."""
    if not source.module.startswith("adapter.core.rules."):
        return []
    return [
        f"{source.path}:{node.lineno}: {node.name} is a past tense, which is for records"
        for node in source.tree.body
        if isinstance(node, ast.FunctionDef)
        and PAST.fullmatch(node.name)
        and not _returns_record_or_bool(node)
    ]


def _returns_record_or_bool(node: ast.FunctionDef) -> bool:
    """Whether it returns a record of its name, such as Placed or UnitArrived, or is a question."""
    returned = ast.unparse(node.returns) if node.returns is not None else ""
    return returned == "bool" or returned.endswith(node.name.strip("_").capitalize())


def _documentation(nodes: Iterable[ast.AST]) -> Iterator[ast.expr]:
    """Strings that stand alone: docstrings, and those below a constant."""
    return (node.value for node in nodes if isinstance(node, ast.Expr))
