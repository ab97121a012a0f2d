"""What the parameters of a command mean: attributes, options, conditions.

Keywords are looked up in the tables of attributes. An attribute of MQ that has no meaning here may
be given with the value that changes nothing, so that definitions saved from MQ can be read; with
another value it is refused, for it would promise something.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from adapter.core.attributes.table import Row
from adapter.mqi.kinds import Kind
from adapter.mqi.mqsc.statement import Parameter, Statement
from adapter.mqi.mqsc.text import NotMqscError
from adapter.mqi.values import Filter, NoSuchValueError, filter_on, from_text, members, plain

OPERATORS = {
    "LT": 1,
    "EQ": 2,
    "LE": 3,
    "GT": 4,
    "NE": 5,
    "GE": 6,
    "CT": 10,
    "EX": 13,
    "LK": 18,
    "NL": 21,
    "CTG": 26,
    "EXG": 29,
}
"""MQCFOP_* by MQSC's word."""
SYNONYMS = {"TARGQ": "TARGET", "DESC": "DESCR", "XMITQUEUE": "XMITQ"}
TEXTS_MAX = 1
"""How many values an attribute takes, unless it is a list."""
WITHOUT_EFFECT: dict[str, dict[str, str]] = {
    "QUEUE": {
        "ACCTQ": "QMGR",
        "CAPEXPRY": "NOLIMIT",
        "CLCHNAME": "",
        "CLUSNL": "",
        "CLUSTER": "",
        "CLWLPRTY": "0",
        "CLWLRANK": "0",
        "CLWLUSEQ": "QMGR",
        "CUSTOM": "",
        "DEFBIND": "OPEN",
        "DEFPRESP": "SYNC",
        "DEFREADA": "NO",
        "DISTL": "NO",
        "IMGRCOVQ": "QMGR",
        "MAXFSIZE": "DEFAULT",
        "MONQ": "QMGR",
        "NPMCLASS": "NORMAL",
        "PROPCTL": "COMPAT",
        "QDEPTHHI": "80",
        "QDEPTHLO": "20",
        "QDPHIEV": "DISABLED",
        "QDPLOEV": "DISABLED",
        "QDPMAXEV": "ENABLED",
        "QSVCIEV": "NONE",
        "QSVCINT": "999999999",
        "RETINTVL": "999999999",
        "SCOPE": "QMGR",
        "STATQ": "QMGR",
        "STREAMQ": "",
        "STRMQOS": "BESTEF",
    },
    "NAMELIST": {"NLTYPE": "NONE"},
    "CHANNEL": {"HBINT": "300", "MAXMSGL": "4194304", "SHARECNV": "10", "SSLCAUTH": "REQUIRED"},
    "AUTHINFO": {"ADOPTCTX": "YES", "FAILDLAY": "1"},
}
"""What of MQ has no meaning here, and the value, MQ's default, that may be given all the same."""


class Given(Struct):
    """What a DEFINE, ALTER or DELETE gives. ignored: attributes without meaning here."""

    attributes: dict[str, Any] = {}
    replace: bool = False
    purge: bool = False
    like: str = ""
    ignored: list[str] = []


class Asked(Struct):
    """What a DISPLAY asks for. attributes: none means all; types: only these, by word."""

    attributes: frozenset[str] = frozenset()
    filters: list[Filter] = []
    types: tuple[str, ...] = ()


def given(kind: Kind, statement: Statement) -> Given:
    """Read the parameters of DEFINE, ALTER and DELETE; NotMqscError says what is wrong."""
    result = Given(attributes={}, ignored=[])
    for parameter in statement.parameters:
        word = parameter.keyword
        if word in ("REPLACE", "NOREPLACE") and statement.verb == "DEFINE":
            _alone(parameter)
            result.replace = word == "REPLACE"
        elif word in ("PURGE", "NOPURGE") and statement.verb == "DELETE" and kind.word == "QLOCAL":
            _alone(parameter)
            result.purge = word == "PURGE"
        elif word in ("FORCE", "NOFORCE") and statement.verb == "ALTER":
            _alone(parameter)
        elif word == "LIKE" and statement.verb == "DEFINE":
            result.like = _one(parameter)
        elif statement.verb == "DELETE":
            raise NotMqscError(f"DELETE {kind.word} has no {word}", word)
        else:
            _attribute(kind, parameter, result)
    return result


def _attribute(kind: Kind, parameter: Parameter, result: Given) -> None:
    word = SYNONYMS.get(parameter.keyword, parameter.keyword)
    bare = kind.by_bare_word(word)
    if bare is not None:
        _alone(parameter)
        row, value = bare
    else:
        found = kind.by_keyword(word)
        if found is None or found.attribute.bare:
            result.ignored.append(_without_effect(kind, parameter))
            return
        row, value = found, _value(found, parameter)
    if row.attribute.fixed:
        raise NotMqscError(f"{row.attribute.keyword} is told by the queue manager, not given", word)
    if row.name in result.attributes:
        raise NotMqscError(f"{row.attribute.keyword} is given twice", word)
    result.attributes[row.name] = value


def _value(row: Row, parameter: Parameter) -> Any:
    if row.attribute.keyword == "NAMES":
        names = [one.text for one in parameter.values or ()]
        return ",".join(one for one in names if one.strip())
    try:
        return from_text(row, _one(parameter))
    except NoSuchValueError as problem:
        raise NotMqscError(str(problem), parameter.keyword) from problem


def _without_effect(kind: Kind, parameter: Parameter) -> str:
    word = parameter.keyword
    known = WITHOUT_EFFECT.get("QUEUE" if kind.has_queue_name else kind.word, {})
    if word not in known:
        raise NotMqscError(f"{kind.word} has no attribute {word}", word)
    if _one(parameter).strip().upper() != known[word]:
        only = known[word] or " "
        raise NotMqscError(f"{word} has no effect here, and takes only {word}({only})", word)
    return word


def _one(parameter: Parameter) -> str:
    if parameter.values is None or len(parameter.values) > TEXTS_MAX:
        word = parameter.keyword
        raise NotMqscError(f"{word} takes one value in parentheses, such as {word}(A)", word)
    return parameter.values[0].text


def _alone(parameter: Parameter) -> None:
    if parameter.values is not None:
        raise NotMqscError(f"{parameter.keyword} takes no value", parameter.keyword)


def type_of(statement: Statement) -> str:
    """Return the one type that a DISPLAY asks for, or nothing."""
    for parameter in statement.parameters:
        if parameter.keyword == "TYPE" and parameter.values is not None:
            return parameter.values[0].text.upper() if len(parameter.values) == 1 else ""
    return ""


def asked(kind: Kind, statement: Statement) -> Asked:
    """Read the parameters of DISPLAY. kind: whose attributes they are."""
    names, result, everything = set(), Asked(filters=[]), False
    for parameter in statement.parameters:
        word = SYNONYMS.get(parameter.keyword, parameter.keyword)
        if word == "WHERE":
            result.filters.append(_condition(kind, parameter))
        elif word == "TYPE" and parameter.values is not None:
            result.types = tuple(one.text.upper() for one in parameter.values)
        elif word == "ALL":
            _alone(parameter)
            everything = True
        else:
            _alone(parameter)
            names.add(_row(kind, word).name)
    if names and not everything:
        names |= {one.row.name for one in result.filters}
        result.attributes = frozenset(names)
    return result


def _row(kind: Kind, keyword: str) -> Row:
    row = kind.by_keyword(SYNONYMS.get(keyword, keyword))
    if row is None:
        raise NotMqscError(f"{kind.word} has no attribute {keyword}", keyword)
    return row


def _condition(kind: Kind, parameter: Parameter) -> Filter:
    values = parameter.values or ()
    if len(values) != 3 or values[1].text.upper() not in OPERATORS:
        words = ", ".join(OPERATORS)
        raise NotMqscError(
            f"WHERE takes (attribute operator value); operators are {words}", "WHERE"
        )
    row = _row(kind, values[0].text.upper())
    try:
        want = values[2].text
        if row.type is int or members(row):
            want = plain(row, from_text(row, want))  # type: ignore[assignment]
        return filter_on(row, OPERATORS[values[1].text.upper()], want)
    except NoSuchValueError as problem:
        raise NotMqscError(str(problem), "WHERE") from problem
