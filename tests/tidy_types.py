"""House rules of classes: each has a name of its own, and stays small.

Like tidy_rules, these know nothing of pytest; test_tidy.py runs them on the repository and on bad
samples.
"""

import ast
from collections.abc import Iterable

from tests.tidy_rules import Source

CLASS_LINES_MAX = 280
CLASS_ATTRIBUTES_MAX = 20

TWICE = frozenset(
    {
        "QueueDeleted",
    }
)
"""Names that two classes have: a record, whose name is in the ledger's schema, and an error that
programs catch. The list may only become shorter."""

PUBLISHED = frozenset(
    {
        *("BrowsedMessage", "Connection", "Consumer", "KafkaTopic", "Message", "Queue"),
        *("Subscription", "Unit"),
    }
)
"""Names that two faces publish: each those of its own field, and adapter.aio those of adapter."""


def class_sizes(sources: Iterable[Source]) -> list[str]:
    """Classes stay small. Fields of a Struct are data, and are not counted."""
    return [
        problem
        for source in sources
        if source.room is not None
        for node in source.nodes
        if isinstance(node, ast.ClassDef) and (problem := _too_large(source, node))
    ]


def _too_large(source: Source, node: ast.ClassDef) -> str:
    length = (node.end_lineno or node.lineno) - node.lineno + 1
    attributes = {
        one.attr
        for one in ast.walk(node)
        if isinstance(one, ast.Attribute)
        and isinstance(one.ctx, ast.Store)
        and isinstance(one.value, ast.Name)
        and one.value.id == "self"
    }
    if length <= CLASS_LINES_MAX and len(attributes) <= CLASS_ATTRIBUTES_MAX:
        return ""
    return (
        f"{source.path}:{node.lineno}: {node.name} has {length} lines and {len(attributes)} "
        f"attributes, {CLASS_LINES_MAX} and {CLASS_ATTRIBUTES_MAX} at most"
    )


def type_names(sources: Iterable[Source]) -> list[str]:
    """A name of a class means one class; names that begin with _ are their module's."""
    defined: dict[str, list[str]] = {}
    for source in sources:
        for node in source.nodes if source.room is not None else ():
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                defined.setdefault(node.name, []).append(f"{source.path}:{node.lineno}")
    twice = {name: places for name, places in defined.items() if len(places) > 1}
    known = TWICE if _is_whole(sources) else frozenset()
    return [
        f"{places[-1]}: there is a class {name} already: {places[0]}"
        for name, places in twice.items()
        if name not in TWICE | PUBLISHED
    ] + [f"{name} names one class: take it from TWICE" for name in sorted(known - set(twice))]


def _is_whole(sources: Iterable[Source]) -> bool:
    """Whether these are the files of the repository, and not a few bad ones."""
    return any(source.module == "adapter" for source in sources)
