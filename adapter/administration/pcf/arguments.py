"""The parameters of one request, taken out one by one; a parameter that is not taken is refused.

Objects go the other way here: what is found becomes the parameters of a reply.
"""

from __future__ import annotations

from typing import Any

from adapter.administration.kinds import FoundObject, Kind
from adapter.administration.pcf import structures as pcf
from adapter.administration.status_kinds import CONNECTION
from adapter.administration.values import Filter, NoSuchValueError, filter_on, from_plain, plain
from adapter.administration.values import text as shown_text
from adapter.administration.without_effect import (
    LISTS,
    UnsupportedError,
    given_as,
    is_noted,
    problem,
)
from adapter.core.attributes.objects import QUEUE_MANAGER
from adapter.core.attributes.table import AttributeRow, Table
from adapter.core.contract.message import NO_ID

PADDED_MAX = 264
"""Texts of a fixed length come filled up with blanks, as MQ sends them; long ones do not."""
ALL = 1009  # MQIACF_ALL
NAME_COUNT = 19  # MQIA_NAME_COUNT
NAMES_NUMBER = 2020  # MQCA_NAMES
CHANNEL_CONDITIONS = (3505, 3506)  # MQCACH_XMIT_Q_NAME, _CONNECTION_NAME
BYTE_STRINGS = (7015, 7016)  # MQBACF_DESTINATION_CORREL_ID, _SUB_ID: hex digits elsewhere

# MQRCCF_*: what is wrong with a parameter.
INTEGER_UNKNOWN, STRING_UNKNOWN, LIST_UNKNOWN, BYTES_UNKNOWN, GROUP_UNKNOWN = (
    3014,
    3015,
    3047,
    3256,
    3240,
)
FILTER_UNKNOWN = 3243
DUPLICATE_INTEGER, DUPLICATE_STRING = 3017, 3018
TOO_FEW = 3019
WRONG_STRUCTURE = 3013
WRONG_VALUE = 4005
TOO_MANY_FILTERS = 3248
EQUAL = 2  # MQCFOP_EQUAL
INTEGER_MIN, INTEGER_MAX = -(2**31), 2**31 - 1
"""What MQCFIN holds; a figure beyond is shown as the last one: it was more."""


class Arguments:
    """What came with a request."""

    def __init__(self, parameters: list[pcf.Parameter]) -> None:
        self._given: dict[int, pcf.Parameter] = {}
        self._conditions: list[pcf.FilterParameter] = []
        self.without_effect: list[str] = []
        """What was given and has no effect here, as MQSC writes it."""
        for one in parameters:
            if isinstance(one, pcf.FilterParameter):
                self._conditions.append(one)
            elif one.number in self._given:
                reason = DUPLICATE_STRING if isinstance(one, pcf.String) else DUPLICATE_INTEGER
                raise pcf.PcfError(reason, f"parameter {one.number} comes twice", one.number)
            else:
                self._given[one.number] = one

    def text(self, number: int, default: str | None = None) -> str:
        """Take a text; TOO_FEW if it is missing and there is no default."""
        found = self._take(number, default is None)
        if found is None:
            return default or ""
        if not isinstance(found, pcf.String):
            raise pcf.PcfError(WRONG_STRUCTURE, f"parameter {number} is a string", number)
        return found.value

    def whole(self, number: int, default: int | None = None) -> int:
        """Take a number; TOO_FEW if it is missing and there is no default."""
        found = self._take(number, default is None)
        if found is None:
            return default or 0
        if not isinstance(found, pcf.Integer):
            raise pcf.PcfError(WRONG_STRUCTURE, f"parameter {number} is an integer", number)
        return found.value

    def flag(self, number: int, wrong: int) -> bool:
        """Take 1 for yes, 0 or nothing for no. wrong: the reason of what is neither."""
        value = self.whole(number, 0)
        if value not in (0, 1):
            raise pcf.PcfError(wrong, f"parameter {number} is 0 or 1, not {value}", number)
        return bool(value)

    def data(self, number: int) -> bytes:
        """Take bytes; none if they are missing."""
        found = self._take(number, needed=False)
        if found is None:
            return b""
        if not isinstance(found, pcf.Bytes):
            raise pcf.PcfError(WRONG_STRUCTURE, f"parameter {number} is a byte string", number)
        return found.value

    def selectors(self, number: int) -> frozenset[int] | None:
        """Take which attributes are asked for; None is all of them."""
        found = self._take(number, needed=False)
        if found is None:
            return None
        if not isinstance(found, pcf.Integer | pcf.Integers):
            raise pcf.PcfError(WRONG_STRUCTURE, f"parameter {number} is integers", number)
        values = found.values if isinstance(found, pcf.Integers) else (found.value,)
        return None if ALL in values else frozenset(values)

    def attributes(self, kind: Kind) -> dict[str, Any]:
        """Take all that is left as attributes of a kind, and refuse the rest.

        What is without effect is counted, and is not returned.
        """
        result = {}
        self._given.pop(NAME_COUNT, None)
        for number in list(self._given):
            row = kind.by_number(number)
            if row is None or (row.attribute.fixed and kind.kind != QUEUE_MANAGER):
                continue
            value = _value(row, self._given.pop(number))
            if row.attribute.fixed or row.name in kind.unsupported:
                self._pass_over(row, value, number)
            else:
                result[row.name] = value
        self.finish()
        return result

    def check(self, rows: Table, lists: frozenset[str] = LISTS) -> dict[str, list[Any]]:
        """Take the parameters of a command that has no kind of its own, by keyword, and refuse the
        rest. lists: those that take several values.
        """
        result = {}
        for row in rows.values():
            one = self._given.pop(row.attribute.number, None)
            if one is not None:
                values = _values(one, row.name in lists)
                result[row.name] = [_check_value(row, value, one.number) for value in values]
        self.finish()
        return result

    def _pass_over(self, row: AttributeRow, value: Any, number: int) -> None:
        wrong = None if row.attribute.fixed else problem(row, value)
        if wrong is not None:
            raise pcf.PcfError(WRONG_VALUE, wrong, number)
        try:
            if is_noted(row, value):
                self.without_effect.append(given_as(row.attribute.keyword, shown_text(row, value)))
        except UnsupportedError as refused:
            raise pcf.PcfError(WRONG_VALUE, refused.text, number) from refused

    def filters(self, kind: Kind) -> list[Filter]:
        """Take the filters, and what else selects objects by the value of an attribute."""
        found = [_filter(kind, one) for one in self._conditions]
        if len(found) > 1:
            raise pcf.PcfError(TOO_MANY_FILTERS, "a request has one filter at most")
        for number in list(self._given):
            row, one = kind.by_number(number), self._given[number]
            is_condition = isinstance(one, pcf.Integer) or number in CHANNEL_CONDITIONS
            if row is not None and is_condition and isinstance(one, pcf.Integer | pcf.String):
                del self._given[number]
                found.append(_condition(row, number, EQUAL, one.value))
        self._conditions = []
        return found

    def finish(self) -> None:
        """Refuse parameters that were not taken."""
        if self._conditions:
            number = self._conditions[0].number
            raise pcf.PcfError(FILTER_UNKNOWN, "this command takes no filter", number)
        for number, one in self._given.items():
            raise pcf.PcfError(_unknown(one), f"this command has no parameter {number}", number)

    def drop(self, *numbers: int) -> None:
        """Pass over what makes no difference here."""
        for number in numbers:
            self._given.pop(number, None)

    def _take(self, number: int, needed: bool) -> pcf.Parameter | None:
        found = self._given.pop(number, None)
        if found is None and needed:
            raise pcf.PcfError(TOO_FEW, f"parameter {number} is missing", number)
        return found


def _values(one: pcf.Parameter, is_list: bool) -> list[Any]:
    if isinstance(one, pcf.Integers | pcf.Strings):
        if len(one.values) != 1 and not is_list:
            text = f"parameter {one.number} is one value, not {len(one.values)}"
            raise pcf.PcfError(WRONG_STRUCTURE, text, one.number)
        return list(one.values)
    return [getattr(one, "value", None)]


def _check_value(row: AttributeRow, given: Any, number: int) -> Any:
    if row.type is bool and given not in (0, 1):
        raise pcf.PcfError(WRONG_VALUE, f"parameter {number} is 0 or 1, not {given!r}", number)
    if row.type is bool:
        return bool(given)
    try:
        value = from_plain(row, given)
    except NoSuchValueError as wrong:
        raise pcf.PcfError(WRONG_VALUE, str(wrong), number) from wrong
    wrong_text = problem(row, value)
    if wrong_text is not None:
        raise pcf.PcfError(WRONG_VALUE, wrong_text, number)
    return value


def _unknown(one: pcf.Parameter) -> int:
    if isinstance(one, pcf.Integer):
        return INTEGER_UNKNOWN
    if isinstance(one, pcf.String):
        return STRING_UNKNOWN
    if isinstance(one, pcf.Bytes):
        return BYTES_UNKNOWN
    return GROUP_UNKNOWN if isinstance(one, pcf.GroupParameter) else LIST_UNKNOWN


def _value(row: AttributeRow, one: pcf.Parameter) -> Any:
    if isinstance(one, pcf.Strings):
        given: Any = list(one.values)
    elif isinstance(one, pcf.Bytes) and row.attribute.number in BYTE_STRINGS:
        given = "" if one.value == NO_ID else one.value.hex()
    else:
        given = getattr(one, "value", None)
    try:
        return from_plain(row, given)
    except NoSuchValueError as problem:
        raise pcf.PcfError(WRONG_VALUE, str(problem), one.number) from problem


def _filter(kind: Kind, one: pcf.FilterParameter) -> Filter:
    row = kind.by_number(one.number)
    if row is None:
        text = f"a {kind.noun} has no attribute {one.number}"
        raise pcf.PcfError(FILTER_UNKNOWN, text, one.number)
    if isinstance(one.value, bytes):
        raise pcf.PcfError(3265, f"attribute {one.number} is not a byte string", one.number)
    return _condition(row, one.number, one.operator, one.value)


def _condition(row: AttributeRow, number: int, operator: int, want: int | str) -> Filter:
    try:
        return filter_on(row, operator, want)
    except NoSuchValueError as problem:
        reason = 3242 if isinstance(want, int) else 3246
        raise pcf.PcfError(reason, str(problem), number) from problem


def reply_of(
    found: FoundObject, wanted: frozenset[int] | None, filters: list[Filter] | None = None
) -> list[pcf.Parameter]:
    """Describe an object: its name and type, and the attributes asked for or filtered by."""
    kind = found.kind
    always = {row.attribute.number for row in kind.always}
    always |= {one.row.attribute.number for one in filters or ()}
    if wanted is not None and NAMES_NUMBER in wanted:
        always.add(NAME_COUNT)
    parameters = [_name(found)]
    for row in kind.every_row.values():
        number = row.attribute.number
        if number and (wanted is None or number in wanted or number in always):
            parameters += _parameters(row, found.value(row))
    return parameters


def _name(found: FoundObject) -> pcf.Parameter:
    if found.kind.word == CONNECTION.word:
        return pcf.Bytes(found.kind.name_number, connection_id(found))
    return pcf.String(found.kind.name_number, found.name, found.kind.name_length)


def connection_id(found: FoundObject) -> bytes:
    """Return the id of a connection, or of one whose handle was found."""
    return bytes.fromhex(str(found.values["extended_id"]) + found.name)


def _parameters(row: AttributeRow, value: Any) -> list[pcf.Parameter]:
    number, shown = row.attribute.number, plain(row, value)
    if isinstance(shown, int):
        return [pcf.Integer(number, max(INTEGER_MIN, min(shown, INTEGER_MAX)))]
    if isinstance(shown, list):
        return [pcf.Strings(number, tuple(shown), 48)]
    if number in BYTE_STRINGS:
        return [pcf.Bytes(number, bytes.fromhex(shown) or NO_ID)]
    length = row.attribute.length or 0
    return [pcf.String(number, shown, length if length <= PADDED_MAX else 0)]
