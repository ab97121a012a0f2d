"""Selection strings: SQL-92 conditions over properties and fields of a message, as MQ has them.

A string is parsed once, when a queue is opened with it, into a function of a message. Logic has
three values: what is asked of a property that a message does not have is unknown (None), and only
what is true fits. This module knows messages and no queue.

Operators: OR, AND, NOT; = <> < <= > >=; [NOT] BETWEEN, IN, LIKE with ESCAPE, IS [NOT] NULL; + - * /
and signs; parentheses. Text and truth values are compared with = and <> only. Names are properties,
with or without `usr.`, or fields (`Root.MQMD.Priority`). Literals: 'text' with '' for a quote,
numbers, "0x0AFC" for bytes, TRUE, FALSE.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from operator import not_
from typing import Any, Final

from msgspec import Struct

from adapter.core.contract.message import MessageData
from adapter.core.model.like import like
from adapter.core.mq_layouts.mqmd import FIELDS

TEXT_MAX: Final = 10_240
"""MQ's bound on a selection string (MQ_SELECTOR_LENGTH)."""
NODES_MAX: Final = 300
"""Each costs about a microsecond for every message that comes."""
NESTED_MAX: Final = 50
"""Far beyond what people write, and what Python's stack bears."""
DIGITS_MAX: Final = 4_300
"""Of a whole number: Python makes none of a longer text (sys.int_info.default_max_str_digits)."""

Value = Any
Evaluate = Callable[[MessageData], Value]
Fits = Callable[[MessageData], bool]

_TOKEN: Final = re.compile(
    r"""\s*(?:
    (?P<number>0[xX][0-9a-fA-F]+ | (?:\d+\.\d*|\.\d+|\d+)(?:[eE][+-]?\d+)?)
    | (?P<text>'(?:[^']|'')*')
    | (?P<bytes>"0[xX](?:[0-9a-fA-F]{2})*")
    | (?P<name>"[^"]+" | (?:[^\W\d]|\$)[\w$.]*)
    | (?P<sign><>|<=|>=|[=<>+\-*/(),])
    )""",
    re.VERBOSE,
)
_WORDS: Final = frozenset(
    ("AND", "OR", "NOT", "BETWEEN", "IN", "LIKE", "ESCAPE", "IS", "NULL", "TRUE", "FALSE")
)
_ANY, _NUMBER, _TEXT, _TRUTH, _BYTES = "value", "number", "text", "condition", "bytes"


class SelectorError(ValueError):
    """An invalid selection string; the text says where and why."""


class Node(Struct):
    """A part of a condition: how it is evaluated, and of what kind its value is."""

    kind: str
    evaluate: Evaluate


def parse(text: str) -> Fits:
    """Return a function that says whether a message fits; SelectorError if it is invalid."""
    parser = _Parser(_tokens(text))
    node = parser.either()
    parser.end()
    evaluate = _condition(node).evaluate
    return lambda message: evaluate(message) is True


def _tokens(text: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    at, end = 0, len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None:
            raise SelectorError(f"character {at + 1}: unexpected {text[at : at + 20].strip()!r}")
        kind = match.lastgroup or ""
        value = match[kind]
        if kind == "name" and value.upper() in _WORDS:
            kind, value = "word", value.upper()
        found.append((kind, value))
        at = match.end()
        if len(found) > 4 * NODES_MAX:
            raise SelectorError(f"it has more than {4 * NODES_MAX} parts")
    return found


class _Parser:
    """Reads tokens from left to right; what binds least is read first."""

    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self._tokens = tokens
        self._at = 0
        self._nodes = 0
        self._nested = 0

    def end(self) -> None:
        """Refuse what is left over."""
        if self._at < len(self._tokens):
            raise SelectorError(f"{self._tokens[self._at][1]!r} stands where nothing more may")

    def either(self) -> Node:
        node = self._both()
        while self._take("word", "OR"):
            node = self._node(_TRUTH, _join(_condition(node), _condition(self._both()), True))
        return node

    def _both(self) -> Node:
        node = self._negation()
        while self._take("word", "AND"):
            node = self._node(_TRUTH, _join(_condition(node), _condition(self._negation()), False))
        return node

    def _negation(self) -> Node:
        if not self._take("word", "NOT"):
            return self._read_comparison()
        self._deeper(1)
        node = _condition(self._negation())
        self._deeper(-1)
        return self._node(_TRUTH, _of_known(node.evaluate, not_))

    def _read_comparison(self) -> Node:
        left = self._sum()
        for sign in ("=", "<>", "<=", ">=", "<", ">"):
            if self._take("sign", sign):
                return self._node(_TRUTH, _comparison(sign, left, self._sum()))
        if self._take("word", "IS"):
            negated = self._take("word", "NOT")
            self._expect("word", "NULL")
            return self._node(
                _TRUTH, lambda message: (left.evaluate(message) is None) is not negated
            )
        negated = self._take("word", "NOT")
        for word, read in (("BETWEEN", self._between), ("IN", self._in), ("LIKE", self._like)):
            if self._take("word", word):
                node = read(left)
                return self._node(_TRUTH, _of_known(node.evaluate, not_)) if negated else node
        if negated:
            raise SelectorError("behind NOT stands BETWEEN, IN or LIKE")
        return left

    def _between(self, node: Node) -> Node:
        low = self._sum()
        self._expect("word", "AND")
        high = self._sum()
        from_low = Node(_TRUTH, _comparison(">=", node, low))
        to_high = Node(_TRUTH, _comparison("<=", node, high))
        return self._node(_TRUTH, _join(from_low, to_high, False))

    def _in(self, node: Node) -> Node:
        self._expect("sign", "(")
        values = {self._literal_text()}
        while self._take("sign", ","):
            values.add(self._literal_text())
        self._expect("sign", ")")
        return self._node(_TRUTH, _of_known(_of_kind(node, _TEXT), frozenset(values).__contains__))

    def _like(self, node: Node) -> Node:
        pattern = self._literal_text()
        escape = self._literal_text() if self._take("word", "ESCAPE") else ""
        if len(escape) > 1:
            raise SelectorError("ESCAPE is one character")
        try:
            matches = like(pattern, escape)
        except ValueError as error:
            raise SelectorError(str(error)) from error
        return self._node(_TRUTH, _of_known(_of_kind(node, _TEXT), matches))

    def _sum(self) -> Node:
        node = self._product()
        while True:
            sign = "+" if self._take("sign", "+") else "-" if self._take("sign", "-") else ""
            if not sign:
                return node
            node = self._node(_NUMBER, _arithmetic(sign, node, self._product()))

    def _product(self) -> Node:
        node = self._sign()
        while True:
            sign = "*" if self._take("sign", "*") else "/" if self._take("sign", "/") else ""
            if not sign:
                return node
            node = self._node(_NUMBER, _arithmetic(sign, node, self._sign()))

    def _sign(self) -> Node:
        if self._take("sign", "+"):
            return Node(_NUMBER, _of_kind(self._signed_deeper(), _NUMBER))
        if self._take("sign", "-"):
            zero = Node(_NUMBER, lambda _message: 0)
            return self._node(_NUMBER, _arithmetic("-", zero, self._signed_deeper()))
        return self._primary()

    def _signed_deeper(self) -> Node:
        self._deeper(1)
        node = self._sign()
        self._deeper(-1)
        return node

    def _primary(self) -> Node:
        if self._take("sign", "("):
            self._deeper(1)
            node = self.either()
            self._deeper(-1)
            self._expect("sign", ")")
            return node
        kind, value = self._next()
        if kind == "number":
            return self._node(_NUMBER, _constant(_number(value)))
        if kind == "text":
            return self._node(_TEXT, _constant(_unquoted(value)))
        if kind == "bytes":
            return self._node(_BYTES, _constant(bytes.fromhex(value[3:-1])))
        if kind == "word" and value in ("TRUE", "FALSE"):
            return self._node(_TRUTH, _constant(value == "TRUE"))
        if kind == "name":
            return self._node(_ANY, _value_of(value.strip('"')))
        raise SelectorError(f"{value or 'the end'!r} stands where a value is due")

    def _literal_text(self) -> str:
        kind, value = self._next()
        if kind != "text":
            raise SelectorError(f"{value or 'the end'!r} stands where 'text' is due")
        return _unquoted(value)

    def _node(self, kind: str, evaluate: Evaluate) -> Node:
        self._nodes += 1
        if self._nodes > NODES_MAX:
            raise SelectorError(f"it has more than {NODES_MAX} parts")
        return Node(kind, evaluate)

    def _deeper(self, step: int) -> None:
        self._nested += step
        if self._nested > NESTED_MAX:
            raise SelectorError(f"it is nested more than {NESTED_MAX} times")

    def _next(self) -> tuple[str, str]:
        if self._at == len(self._tokens):
            return "", ""
        self._at += 1
        return self._tokens[self._at - 1]

    def _take(self, kind: str, value: str) -> bool:
        if self._at < len(self._tokens) and self._tokens[self._at] == (kind, value):
            self._at += 1
            return True
        return False

    def _expect(self, kind: str, value: str) -> None:
        if not self._take(kind, value):
            found = self._tokens[self._at][1] if self._at < len(self._tokens) else "the end"
            raise SelectorError(f"{found!r} stands where {value!r} is due")


def _unquoted(literal: str) -> str:
    return literal[1:-1].replace("''", "'")


def _number(literal: str) -> int | float:
    if literal[:2] in ("0x", "0X"):
        return int(literal, 16)
    if not literal.isdigit():
        return float(literal)
    if len(literal) > DIGITS_MAX:
        raise SelectorError(f"a whole number has more than {DIGITS_MAX} digits")
    return int(literal)


def _condition(node: Node) -> Node:
    """Take what may be true or false; a property may."""
    return Node(_TRUTH, _of_kind(node, _TRUTH))


def _of_kind(node: Node, kind: str) -> Evaluate:
    """Take a value of a kind: refuse what can never be one, and make unknown what is not."""
    if node.kind == kind:
        return node.evaluate
    if node.kind != _ANY:
        raise SelectorError(f"a {node.kind} stands where a {kind} is due")
    evaluate = node.evaluate

    def of_kind(message: MessageData) -> Value:
        value = evaluate(message)
        return value if _kind_of(value) == kind else None

    return of_kind


def _kind_of(value: Value) -> str:
    if isinstance(value, bool):
        return _TRUTH
    if isinstance(value, (int, float)):
        return _NUMBER
    return _TEXT if isinstance(value, str) else _BYTES if isinstance(value, bytes) else ""


def _constant(value: Value) -> Evaluate:
    return lambda _message: value


def _value_of(name: str) -> Evaluate:
    if name.startswith("Root."):
        field = FIELDS.get(name.removeprefix("Root.MQMD."))
        if field is None:
            raise SelectorError(f"unknown field {name!r}")
        return field
    short = name.removeprefix("usr.")

    def property_of(message: MessageData) -> Value:
        properties = message.properties
        if not properties:
            return None
        return properties.get(name, properties.get(short))

    return property_of


def _join(left: Node, right: Node, decisive: bool) -> Evaluate:
    """Join two conditions. decisive: what one of them alone decides: False by AND, True by OR."""
    first, second = left.evaluate, right.evaluate

    def joined(message: MessageData) -> Value:
        one = first(message)
        if one is decisive:
            return decisive
        other = second(message)
        if other is decisive:
            return decisive
        return None if one is None or other is None else not decisive

    return joined


def _of_known(evaluate: Evaluate, judge: Callable[[Any], bool]) -> Evaluate:
    """Judge a value; of one that is unknown nothing is known."""

    def judged(message: MessageData) -> Value:
        value = evaluate(message)
        return None if value is None else judge(value)

    return judged


_COMPARE: Final[dict[str, Callable[[Value, Value], bool]]] = {
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def _comparison(sign: str, left: Node, right: Node) -> Evaluate:
    """Compare; values of different kinds are neither equal nor anything else: that is false."""
    known = {node.kind for node in (left, right)} - {_ANY}
    ordered = sign not in ("=", "<>")
    if len(known) > 1 or (ordered and known - {_NUMBER}):
        kinds = " and ".join(sorted(known))
        raise SelectorError(f"{kinds} cannot be compared by {sign}")
    first, second, compare = left.evaluate, right.evaluate, _COMPARE[sign]

    def compared(message: MessageData) -> Value:
        one, other = first(message), second(message)
        if one is None or other is None:
            return None
        kind = _kind_of(one)
        if kind != _kind_of(other) or (ordered and kind != _NUMBER):
            return False
        return compare(one, other)

    return compared


_CALCULATE: Final[dict[str, Callable[[Value, Value], Value]]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
}


def _arithmetic(sign: str, left: Node, right: Node) -> Evaluate:
    """Calculate; a division by nothing, and what no number holds, is unknown."""
    first, second = _of_kind(left, _NUMBER), _of_kind(right, _NUMBER)
    calculate = _CALCULATE[sign]

    def calculated(message: MessageData) -> Value:
        one, other = first(message), second(message)
        if one is None or other is None:
            return None
        try:
            return calculate(one, other)
        except (ZeroDivisionError, OverflowError):
            return None

    return calculated
