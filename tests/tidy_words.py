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
PERSONS_LEFT: dict[str, int] = {
    "adapter.core.dispatch": 1,
    "adapter.core.rules.broker.activation": 1,
    "adapter.core.rules.drive.restore": 1,
    "adapter.core.rules.drive.trigger": 1,
    "adapter.core.rules.messages.backout": 2,
    "adapter.core.rules.messages.deferred": 1,
    "adapter.core.rules.messages.delays": 1,
    "adapter.core.rules.messages.pages": 2,
    "adapter.core.rules.messages.unit": 2,
    "adapter.core.rules.pubsub.managed": 1,
    "adapter.core.rules.pubsub.publish": 1,
    "adapter.owner.loop": 1,
    "adapter.owner.replay": 3,
    "adapter.server.admission": 1,
    "adapter.server.commands": 1,
    "adapter.server.credentials": 2,
    "adapter.server.guesses": 1,
    "adapter.server.kafka_wiring": 1,
    "adapter.server.main": 1,
    "adapter.server.mqk.handler": 1,
    "adapter.server.settings": 1,
    "adapter.server.supervisor": 1,
}
"""How many of them a module still has: the numbers only fall."""
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
    """Documentation names who does something; so many pronouns are left in a room."""
    found = [
        f"{source.path}:{node.lineno}: {match[0]!r}: name the client, the owner, the program, ..."
        for node in _documentation(source.nodes)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        for match in PERSONS.finditer(node.value)
    ]
    left = PERSONS_LEFT.get(source.module, 0)
    if len(found) < left:
        return [f"{source.path}: {len(found)} pronouns are left: say so in PERSONS_LEFT"]
    return found if len(found) > left else []


LISTED = frozenset(
    {
        "adapter.channel.deferred.DeferredPuts.taken",
        "adapter.cli.connected.connected",
        "adapter.core.model.msmq_queue.MsmqQueue.described",
        "adapter.core.model.queue.LocalQueue.counted",
        "adapter.core.model.queue.LocalQueue.described",
        "adapter.core.model.store.Store.claimed",
        "adapter.core.model.store.Store.loaded",
        "adapter.ledger.kafka_reader.KafkaLedgerReader.reached",
        "adapter.ledger.memory.MemoryLedgerReader.reached",
        "adapter.ledger.port.LedgerReader.reached",
        "adapter.movers.process.MoverProcess.ended",
        "adapter.movers.process.MoverRun.ended",
        "adapter.movers.thread.MoverThread.ended",
        "adapter.msmq.message.Message.copied",
        "adapter.msmq.message.Message.encoded",
        "adapter.owner.promises.Promises.kept",
        "adapter.server.credentials.Credentials._kept",
        "adapter.server.credentials.hashed",
        "adapter.server.figures._named",
        "adapter.server.movers.Movers.ended",
        "adapter.server.movers.NoMovers.ended",
        "adapter.server.movers.copied",
    }
)
"""Functions in the past participle that are there: the list only gets shorter."""


def imperative_names(source: Source) -> list[str]:
    """The past tense is for records, and for what has happened: a function that returns a value is
    named for what it does or returns.

    Of core's rules, every function is.
    """
    if source.room is None:
        return []
    of_rules = source.module.startswith("adapter.core.rules.")
    found = {
        f"{source.module}.{name}": node
        for name, node in _functions(source.tree)
        if PAST.fullmatch(node.name)
        and not _returns_record_or_bool(node)
        and (of_rules or (_returns_value(node) and not _is_property(node)))
    }
    listed = {one for one in LISTED if one.rpartition(".")[0] in _owners(source)}
    return [
        f"{source.path}:{found[name].lineno}: {name} is a past tense, which is for records"
        for name in found.keys() - LISTED
    ] + [
        f"{source.path}: {name} is not there any more: take it off LISTED"
        for name in listed - found.keys()
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


def _owners(source: Source) -> set[str]:
    classes = (node.name for node in source.tree.body if isinstance(node, ast.ClassDef))
    return {source.module, *(f"{source.module}.{name}" for name in classes)}


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
