"""A house rule of its own: the truth of Kafka records, which is that of their values.

A confluent_kafka.Message has a length, so one with an empty value is false, and a loop `while
record := consumer.poll()` ends there. What a name holds is read from annotations, and from calls
of poll() and consume(); it is followed within one file, by name alone.
"""

from __future__ import annotations

import ast
import re

from tests.tidy_rules import Source

ONE = frozenset({"poll", "_poll"})
MANY = frozenset({"consume"})
HOLDS_MANY = re.compile(r"\b(?:list|deque|tuple|Sequence|Iterable|Iterator|Generator)\[")


def truth_of_records(source: Source) -> list[str]:
    """No Kafka record is asked whether it is true."""
    if not any(name.split(".")[0] == "confluent_kafka" for _, name in source.imports):
        return []
    records = Records(source)
    return [
        f"{source.path}:{asked.lineno}: an empty Kafka record is false; ask whether it is None"
        for node in source.nodes
        for asked in asked_for_truth(node)
        if records.is_one(asked)
    ] + [
        f"{source.path}:{node.lineno}: an empty Kafka record is false; ask whether it is None"
        for node in source.nodes
        if isinstance(node, ast.Call) and _keeps_true_ones(node, records)
    ]


def asked_for_truth(node: ast.AST) -> list[ast.expr]:
    """The expressions that a node asks whether they are true."""
    match node:
        case ast.If() | ast.While() | ast.IfExp() | ast.Assert():
            return [node.test]
        case ast.BoolOp():
            return node.values
        case ast.UnaryOp(op=ast.Not()):
            return [node.operand]
        case ast.comprehension():
            return node.ifs
        case ast.Call(func=ast.Name(id="bool"), args=[one]):
            return [one]
    return []


def _keeps_true_ones(node: ast.expr, records: Records) -> bool:
    """Whether a node asks of each of several records whether it is true."""
    match node:
        case ast.Call(func=ast.Name(id="filter"), args=[ast.Constant(value=None), many]):
            return records.are_many(many)
        case ast.Call(func=ast.Name(id="any" | "all"), args=[many]):
            return records.are_many(many)
    return False


class Records:
    """Which expressions of a file are a Kafka record, and which are several."""

    def __init__(self, source: Source) -> None:
        types = [
            re.escape(alias.asname or alias.name)
            for node in source.nodes
            if isinstance(node, ast.ImportFrom) and node.module == "confluent_kafka"
            for alias in node.names
            if alias.name == "Message"
        ]
        written = "|".join([r"confluent_kafka\.Message", *types])
        self._type = re.compile(rf"(?<![\w.])(?:{written})(?!\w)")
        self._one, self._many = set(ONE), set(MANY)
        """Names of variables and functions."""
        for node in source.nodes:
            if isinstance(node, ast.FunctionDef):
                self._annotated(node.name, node.returns)
            elif isinstance(node, ast.arg):
                self._annotated(node.arg, node.annotation)
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                self._annotated(node.target.id, node.annotation)
        for _ in range(2):  # a name may stand before what says what it holds
            for node in source.nodes:
                self._bind(node)

    def is_one(self, found: ast.expr) -> bool:
        """Whether an expression is a record, or None."""
        match found:
            case ast.Call(func=ast.Name(id="next"), args=[many, *_]):
                return self.are_many(many)
            case ast.Subscript(value=many, slice=ast.Constant() | ast.UnaryOp()):
                return self.are_many(many)
        return self._is(found, self._one)

    def are_many(self, found: ast.expr) -> bool:
        """Whether an expression is a collection of records, or iterates over some."""
        match found:
            case ast.Call(func=ast.Name(id="iter" | "list" | "islice"), args=[many, *_]):
                return self.are_many(many)
            case ast.BoolOp(values=[*several]):
                return any(map(self.are_many, several))
            case ast.GeneratorExp(elt=each) | ast.ListComp(elt=each):
                return self.is_one(each)
        return self._is(found, self._many)

    def _is(self, found: ast.expr, names: set[str]) -> bool:
        match found:
            case ast.NamedExpr(value=value):
                return self._is(value, names)
            case ast.Name(id=name) | ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
                return name in names
        return False

    def _annotated(self, name: str, annotation: ast.expr | None) -> None:
        text = "" if annotation is None else ast.unparse(annotation)
        if self._type.search(text):
            (self._many if HOLDS_MANY.search(text) else self._one).add(name)

    def _bind(self, node: ast.AST) -> None:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                pass
            case ast.NamedExpr(target=ast.Name(id=name), value=value):
                pass
            case ast.For(target=ast.Name(id=name), iter=many):
                return self._add(name, self.are_many(many), self._one)
            case ast.comprehension(target=ast.Name(id=name), iter=many):
                return self._add(name, self.are_many(many), self._one)
            case _:
                return None
        self._add(name, self.is_one(value), self._one)
        return self._add(name, self.are_many(value), self._many)

    def _add(self, name: str, holds: bool, names: set[str]) -> None:
        if holds:
            names.add(name)
