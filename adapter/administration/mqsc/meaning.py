"""What the parameters of a command mean: attributes, options, conditions.

Keywords are looked up in the tables of attributes. An attribute of IBM MQ without effect here may
be given, so that definitions saved from IBM MQ can be read; it is reported if its value is not the
one that holds anyway.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

from msgspec import Struct

from adapter.administration.kinds import QUEUE_WORDS, Kind
from adapter.administration.mqsc.statement import Statement, StatementParameter, expected_words
from adapter.administration.mqsc.text import NotMqscError
from adapter.administration.values import (
    Filter,
    NoSuchValueError,
    filter_on,
    from_text,
    members,
    plain,
)
from adapter.administration.without_effect import (
    LISTS,
    MOVER_KEYWORDS,
    OF_MOVERS,
    UNSUPPORTED_VALUES,
    UnsupportedError,
    given_as,
    is_noted,
    problem,
)
from adapter.core.attributes.objects import QUEUE_MANAGER, SUBSCRIPTION
from adapter.core.attributes.table import AttributeRow, Table

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
SUBID_LENGTH = 48
MONITORED = frozenset({"QSTATUS", "CHSTATUS"})
"""What DISPLAY ... MONITOR may ask of: it shows all."""
CHANNEL_CONDITIONS = frozenset({"CONNAME", "XMITQ"})
"""What DISPLAY CHSTATUS takes with a value: of which channels."""
CHANNEL_INSTANCES = frozenset({"CURRENT", "SAVED", "SHORT"})
"""Of which instances DISPLAY CHSTATUS may ask."""
EVERY_TYPE = ("ALL", "*")
OF_CLUSTERS = "QCLUSTER"
"""A type of queues that IBM MQ has."""
HEXADECIMAL = frozenset({"DESTCORL", "PUBACCT"})


class Given(Struct):
    """What a DEFINE, ALTER or DELETE gives.

    without_effect: attributes, as they were given, with a value that has no effect here. named:
    whether it names an attribute at all. ident: of a subscription, in place of its name. choices:
    such as REPLACE, once they are made.
    """

    attributes: dict[str, Any] = {}
    replace: bool = False
    purge: bool = False
    like: str = ""
    without_effect: list[str] = []
    named: bool = False
    ignore_state: bool = False
    ident: str = ""
    choices: list[str] = []


class DisplayRequest(Struct):
    """What a DISPLAY asks for. attributes: none means all; types: only these, by word.

    everything: with what has no effect here. ident: of a subscription, in place of its name.
    """

    attributes: frozenset[str] = frozenset()
    filters: list[Filter] = []
    types: tuple[str, ...] = ()
    everything: bool = False
    ident: str = ""


def given(kind: Kind, statement: Statement) -> Given:
    """Read the parameters of DEFINE, ALTER and DELETE.

    Raises NotMqscError, and UnsupportedError for a value that the queue manager would not act upon.
    """
    result = Given(attributes={}, without_effect=[])
    _check_supported(statement)
    for parameter in statement.parameters:
        if not _option(kind, statement.verb, parameter, result):
            _attribute(kind, parameter, result)
    return result


def is_of_mover(statement: Statement) -> bool:
    """Whether a definition is of a channel between queue managers."""
    return any(
        parameter.keyword == "CHLTYPE" and one.text.strip().upper() in OF_MOVERS
        for parameter in statement.parameters
        for one in parameter.values or ()
    )


def check_mover(kind: Kind, statement: Statement) -> None:
    """Refuse what no definition of a channel between queue managers gives: it is a mistake."""
    for parameter in statement.parameters:
        word = SYNONYMS.get(parameter.keyword, parameter.keyword)
        if word not in MOVER_KEYWORDS and kind.by_keyword(word) is None:
            raise _unknown(kind, parameter.keyword)


def _check_supported(statement: Statement) -> None:
    """Refuse a definition of what does not exist here, whatever else it gives."""
    for parameter in statement.parameters:
        values = UNSUPPORTED_VALUES.get(parameter.keyword, {})
        for one in parameter.values or ():
            word = one.text.strip().upper()
            if word in values:
                text = f"{parameter.keyword}({word}): {values[word]}"
                raise UnsupportedError(text, parameter.keyword)


def _option(kind: Kind, verb: str, parameter: StatementParameter, result: Given) -> bool:
    """Take a parameter that is not an attribute; whether it was one."""
    word = parameter.keyword
    if word in ("REPLACE", "NOREPLACE") and verb == "DEFINE":
        _choose(parameter, result)
        result.replace = word == "REPLACE"
    elif word in ("PURGE", "NOPURGE") and verb == "DELETE" and kind.word == "QLOCAL":
        _choose(parameter, result)
        result.purge = word == "PURGE"
    elif word in ("FORCE", "NOFORCE") and verb == "ALTER":
        _choose(parameter, result)
    elif word == "LIKE" and verb == "DEFINE":
        result.like = _one(parameter)
    elif word == "SUBID" and kind.kind == SUBSCRIPTION and verb != "DEFINE":
        result.ident = subscription_id(parameter)
    elif verb == "DELETE":
        _deletion(kind, parameter, result)
    else:
        return False
    return True


DELETIONS = {
    "AUTHREC": ("YES",),  # authority records with the name of an object go with it
    "CHLTABLE": ("QMGRTBL", "CLNTTAB"),
    "IGNSTATE": ("NO", "YES"),
}
"""What DELETE takes besides, and the values of each."""


def _deletion(kind: Kind, parameter: StatementParameter, result: Given) -> None:
    word, types = parameter.keyword, [row.attribute.keyword for row in kind.always]
    if word in types:
        row = next(row for row in kind.always if row.attribute.keyword == word)
        _value(row, parameter)
        return
    if word not in DELETIONS:
        known = {one: one for one in (*DELETIONS, *types)}
        raise NotMqscError(
            f"unknown parameter {word} of DELETE {kind.word}; {expected_words(word, known)}", word
        )
    value = _one(parameter).upper()
    if value not in DELETIONS[word]:
        raise NotMqscError(f"{word} takes one of {', '.join(DELETIONS[word])}, not {value}", word)
    result.ignore_state |= word == "IGNSTATE" and value == "YES"


def subscription_id(parameter: StatementParameter) -> str:
    """Read SUBID: 48 hexadecimal digits, plain or as X'...'."""
    ident = _digits(parameter).upper()
    if len(ident) != SUBID_LENGTH or set(ident) - set("0123456789ABCDEF"):
        raise NotMqscError(f"SUBID takes {SUBID_LENGTH} hexadecimal digits", parameter.keyword)
    return ident


def _attribute(kind: Kind, parameter: StatementParameter, result: Given) -> None:
    word = SYNONYMS.get(parameter.keyword, parameter.keyword)
    result.named = True
    bare = kind.by_bare_word(word)
    if bare is not None:
        _alone(parameter)
        row, value = bare
    else:
        found = kind.by_keyword(word)
        if found is None or found.attribute.bare:
            raise _unknown(kind, parameter.keyword)
        row, value = found, _value(found, parameter)
    if row.attribute.fixed and value != row.default and kind.kind != QUEUE_MANAGER:
        raise NotMqscError(f"{row.attribute.keyword} cannot be set", word)
    if row.attribute.fixed or row.name in kind.unsupported:
        text = problem(row, value) if not row.attribute.fixed else None
        if text is not None:
            raise NotMqscError(text, parameter.keyword)
        if is_noted(row, value):
            result.without_effect.append(given_as(parameter.keyword, _one(parameter)))
        return
    if row.name in result.attributes:
        raise NotMqscError(f"{row.attribute.keyword} is given twice", word)
    result.attributes[row.name] = value


def _unknown(kind: Kind, word: str) -> NotMqscError:
    known = {row.attribute.keyword: row.attribute.keyword for row in kind.every_row.values()}
    near = get_close_matches(word, known, 1)
    more = f"; did you mean {near[0]}?" if near else ""
    return NotMqscError(f"{kind.word} has no attribute {word}{more}", word)


def _value(row: AttributeRow, parameter: StatementParameter) -> Any:
    if row.attribute.keyword == "NAMES":
        if parameter.values is None:
            raise NotMqscError("NAMES takes names in parentheses, such as NAMES(A,B)", "NAMES")
        names = [one.text for one in parameter.values]
        return ",".join(one for one in names if one.strip())
    if row.attribute.keyword in HEXADECIMAL:
        return _digits(parameter)
    try:
        return from_text(row, _one(parameter))
    except NoSuchValueError as wrong:
        raise NotMqscError(str(wrong), parameter.keyword) from wrong


def _digits(parameter: StatementParameter) -> str:
    """Read bytes in hexadecimal, plain or as X'...'; zeros are no id."""
    values = [one.text for one in parameter.values or ()]
    if len(values) == 2 and values[0].upper() == "X":
        values = values[1:]
    if len(values) != 1:
        raise NotMqscError(f"{parameter.keyword} takes one value", parameter.keyword)
    digits = values[0].strip()
    return digits if digits.strip("0") else ""


def _one(parameter: StatementParameter) -> str:
    if parameter.values is None or len(parameter.values) > TEXTS_MAX:
        word = parameter.keyword
        raise NotMqscError(
            f"{word} takes one value in parentheses, such as {word}(A); set a text that has blanks "
            "or commas in quotation marks",
            word,
        )
    return parameter.values[0].text


def _choose(parameter: StatementParameter, result: Given) -> None:
    """Take a word such as REPLACE, which is given once: with NO before it, or without."""
    _alone(parameter)
    choice = parameter.keyword.removeprefix("NO")
    if choice in result.choices:
        raise NotMqscError(f"{choice} or NO{choice} is given twice", parameter.keyword)
    result.choices.append(choice)


def _alone(parameter: StatementParameter) -> None:
    if parameter.values is not None:
        raise NotMqscError(f"{parameter.keyword} takes no value", parameter.keyword)


def check_parameters(
    rows: Table, statement: Statement, lists: frozenset[str] = LISTS
) -> dict[str, list[str]]:
    """Return the parameters of a command that has no kind of its own, checked by their rows.

    lists: those that take several values.
    """
    known = {row.attribute.keyword: row.attribute.keyword for row in rows.values()}
    result = {}
    for parameter in statement.parameters:
        word = parameter.keyword
        if word not in known:
            what = f"{statement.verb} {statement.kind}"
            raise NotMqscError(
                f"unknown parameter {word} of {what}; {expected_words(word, known)}", word
            )
        result[word] = _check_value(rows[word], parameter, word in lists)
    return result


def _check_value(row: AttributeRow, parameter: StatementParameter, is_list: bool) -> list[str]:
    if row.type is bool:
        _alone(parameter)
        return []
    texts = [one.text for one in parameter.values] if is_list and parameter.values else []
    texts = texts or [_one(parameter)]
    for one in texts:
        try:
            wrong = problem(row, from_text(row, one))
        except NoSuchValueError as error:
            wrong = str(error)
        if wrong is not None:
            raise NotMqscError(wrong, parameter.keyword)
    return [one.strip().upper() if row.choices else one for one in texts]


def type_of(statement: Statement) -> str:
    """Return the one type that a DISPLAY asks for, or nothing."""
    for parameter in statement.parameters:
        if parameter.keyword == "TYPE" and parameter.values is not None:
            return parameter.values[0].text.upper() if len(parameter.values) == 1 else ""
    return ""


def read_display(kind: Kind, statement: Statement) -> DisplayRequest:
    """Read the parameters of DISPLAY. kind: whose attributes they are."""
    names: set[str] = set()
    result = DisplayRequest(filters=[])
    for parameter in statement.parameters:
        word = SYNONYMS.get(parameter.keyword, parameter.keyword)
        if word == "WHERE":
            result.filters.append(_condition(kind, parameter))
        elif parameter.values is not None and _type_row(kind, word) is not None:
            _take_types(kind, parameter, result)
        elif word == "SUBID" and parameter.values is not None:
            result.ident = subscription_id(parameter)
        elif word == "ALL" or (word == "MONITOR" and kind.word in MONITORED):
            _alone(parameter)
            result.everything = True
        else:
            _choice_or_name(kind, parameter, word, names, result)
    if names and not result.everything:
        names |= {one.row.name for one in result.filters}
        result.attributes = frozenset(names)
    return result


def _type_row(kind: Kind, word: str) -> AttributeRow | None:
    """Return the row of what type an object is, if a keyword of DISPLAY means that.

    TYPE stands for the keyword that the kind has for it, and so does QTYPE for one of queues.
    """
    row = next(iter(kind.always), None)
    if row is None:
        return None
    synonyms = [row.attribute.keyword]
    if kind.given:
        synonyms.append("TYPE")
    if kind.has_queue_name:
        synonyms.append("QTYPE")
    return row if word in synonyms else None


def _take_types(kind: Kind, parameter: StatementParameter, result: DisplayRequest) -> None:
    """Take of which types objects are to be: what is of none that exists here, is not found."""
    row = _type_row(kind, parameter.keyword)
    assert row is not None
    known = [*row.choices, *UNSUPPORTED_VALUES.get(row.attribute.keyword, ())]
    if kind.has_queue_name:
        known = [*QUEUE_WORDS, OF_CLUSTERS] if kind.word == "QUEUE" else [kind.word]
    if kind.given or kind.word == "CONN":
        known += EVERY_TYPE
    types = tuple(one.text.upper() for one in parameter.values or ())
    for one in types:
        if one not in known:
            text = f"{parameter.keyword} takes one of {', '.join(known)}, not {one}"
            raise NotMqscError(text, parameter.keyword)
    if result.types:
        raise NotMqscError(f"{row.attribute.keyword} is given twice", parameter.keyword)
    result.types = types


def _choice_or_name(
    kind: Kind, parameter: StatementParameter, word: str, names: set[str], result: DisplayRequest
) -> None:
    """Take the name of an attribute; with a value it is a condition, where DISPLAY has some."""
    if word in CHANNEL_INSTANCES and kind.word == "CHSTATUS":
        _alone(parameter)
        return  # there are no saved ones
    row = _row(kind, word)
    is_condition = word in CHANNEL_CONDITIONS and kind.word == "CHSTATUS"
    if parameter.values is not None and is_condition:
        want = plain(row, _value(row, parameter))
        assert isinstance(want, int | str)
        result.filters.append(filter_on(row, OPERATORS["EQ"], want))
        return
    _alone(parameter)
    names.add(row.name)


def _row(kind: Kind, keyword: str) -> AttributeRow:
    row = _type_row(kind, keyword) or kind.by_keyword(SYNONYMS.get(keyword, keyword))
    if row is None:
        raise _unknown(kind, keyword)
    return row


def _condition(kind: Kind, parameter: StatementParameter) -> Filter:
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
