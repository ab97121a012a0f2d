"""The language of rules tables: what is to become of messages on a dead-letter queue.

    * what to do first
    RETRYINT(30) WAIT(YES)
    REASON(MQRC_Q_FULL) ACTION(RETRY) RETRY(5)
    ACTION(FWD) FWDQ(REALLY.DEAD) HEADER(YES)

parse() reads a table and says of everything that is wrong where it is and what to do. This module
knows the language; it knows no queue manager.
Reference: IBM MQ, "DLQ rules table conventions", "DLQ rules (patterns and actions)".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from msgspec import Struct

from adapter import errors
from adapter import mq_constants as constants
from adapter.core.contract.wildcards import expression_of

RETRY_INTERVAL_S = 60
NUMBER_MAX = 999_999_999
NAME_LENGTH_MAX = 48
TEXT_LENGTHS = {
    "APPLIDAT": 32,
    "APPLNAME": 28,
    "DESTQ": NAME_LENGTH_MAX,
    "DESTQM": NAME_LENGTH_MAX,
    "FORMAT": 8,
    "REPLYQ": NAME_LENGTH_MAX,
    "REPLYQM": NAME_LENGTH_MAX,
    "USERID": 12,
}
"""Patterns of text, and how long the field is that each is compared with."""
SYMBOLS_OF = {
    "APPLTYPE": ("MQAT_",),
    "FEEDBACK": ("MQFB_", "MQRC_"),
    "MSGTYPE": ("MQMT_",),
    "PERSIST": ("MQPER_",),
    "REASON": ("MQRC_", "MQFB_"),
}
"""Patterns of numbers, and how the names begin that may stand for them."""
NAMED = ("MQRC_", "MQFB_", "MQMT_", "MQPER_", "MQAT_")
CONTROL = ("INPUTQ", "INPUTQM", "RETRYINT", "WAIT")
ACTIONS = ("DISCARD", "IGNORE", "RETRY", "FWD")
ACTION_KEYWORDS = ("ACTION", "FWDQ", "FWDQM", "HEADER", "PUTAUT", "RETRY")
FORWARD_QUEUES = ("&DESTQ", "&REPLYQ")
FORWARD_MANAGERS = ("&DESTQM", "&REPLYQM")

_KEYWORD = re.compile(r"[A-Za-z]+")
_QUOTED = re.compile(r"'((?:[^']|'')*)'")
_PLAIN = re.compile(r"[^()',\s][^()']*")


class Mistake(Struct, frozen=True):
    """One thing that is wrong in a rules table. line and column count from 1."""

    line: int
    column: int
    text: str

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}: {self.text}"


class RulesError(errors.InvalidValue):
    """A rules table is invalid; .mistakes lists every mistake."""

    def __init__(self, mistakes: Iterable[Mistake]) -> None:
        self.mistakes = list(mistakes)
        super().__init__("; ".join(map(str, self.mistakes)))
        self.args = (self.mistakes,)


class Control(Struct, frozen=True, kw_only=True):
    """The control data. wait_s: 0 ends when nothing can be done, None never."""

    input_queue: str = ""
    input_queue_manager: str = ""
    retry_interval_s: int = RETRY_INTERVAL_S
    wait_s: int | None = 0


class DeadLetterRule(Struct, frozen=True, kw_only=True):
    """A pattern and an action. texts and numbers: what the message's fields must be, by keyword.

    forward_queue and forward_queue_manager: names, or &DESTQ and the like. header: whether a
    message that is forwarded keeps its header. retry: how often the action is tried.
    """

    line: int
    texts: dict[str, re.Pattern[str]]
    numbers: dict[str, int]
    action: str
    forward_queue: str = ""
    forward_queue_manager: str = ""
    header: bool = True
    put_authority: str = "DEF"
    retry: int = 1

    def matches(self, texts: dict[str, str], numbers: dict[str, int]) -> bool:
        """Whether a message with these fields fits; every keyword of the pattern has one."""
        return all(numbers[key] == wanted for key, wanted in self.numbers.items()) and all(
            pattern.fullmatch(texts[key].rstrip(" ")) for key, pattern in self.texts.items()
        )


class RulesTable(Struct, frozen=True):
    """A rules table."""

    control: Control
    rules: list[DeadLetterRule]


class RuleValue(Struct, frozen=True):
    """A keyword's value as it was written; at: where in its entry."""

    text: str
    quoted: bool
    at: int


class RuleText:
    """One entry, its lines joined: each character remembers where it stood."""

    def __init__(self, characters: list[tuple[str, int, int]]) -> None:
        self.text = "".join(character for character, _, _ in characters)
        self._places = [(line, column) for _, line, column in characters]

    @property
    def line(self) -> int:
        return self._places[0][0]

    def mistake(self, at: int, text: str) -> Mistake:
        """Say what is wrong at a character, or behind the last one."""
        line, column = self._places[min(at, len(self._places) - 1)]
        return Mistake(line, column + (at >= len(self._places)), text)


class _Wrong(Exception):  # noqa: N818 -- parse() makes a RulesError of it
    """Something is wrong at a character of an entry."""

    def __init__(self, at: int, text: str) -> None:
        super().__init__(at, text)
        self.at, self.text = at, text


def parse(text: str) -> RulesTable:
    """Read a rules table. Raises RulesError, with everything that is wrong."""
    control = Control()
    rules: list[DeadLetterRule] = []
    mistakes: list[Mistake] = []
    for number, entry in enumerate(entries(text)):
        try:
            values = _values(entry.text)
            if number == 0 and set(values) <= set(CONTROL):
                control = _control(values)
            else:
                rules.append(_rule(entry.line, values))
        except _Wrong as wrong:
            mistakes.append(entry.mistake(wrong.at, wrong.text))
    if not rules and not mistakes:
        mistakes.append(Mistake(1, 1, "a rules table has at least one rule: add one"))
    if mistakes:
        raise RulesError(mistakes)
    return RulesTable(control, rules)


# -- lines, keywords and values


def entries(text: str) -> Iterator[RuleText]:
    """Join lines that are continued, and leave comments and blank lines out.

    A + at the end of a line: the entry continues at the first character of the next line that
    is not a blank; a -: at its start.
    """
    characters: list[tuple[str, int, int]] = []
    joined = ""
    for number, line in enumerate(text.splitlines(), 1):
        content = line.rstrip()
        if not content or content.lstrip().startswith("*"):
            continue
        begin = len(content) - len(content.lstrip()) if joined != "-" else 0
        joined = content[-1] if content[-1] in "+-" else ""
        end = len(content) - bool(joined)
        characters += [(content[at], number, at + 1) for at in range(begin, end)]
        if not joined and characters:
            yield RuleText(characters)
            characters = []
    if characters:
        yield RuleText(characters)


def _values(text: str) -> dict[str, RuleValue]:
    """Read KEYWORD(value) KEYWORD('value') ..., each keyword once."""
    found: dict[str, RuleValue] = {}
    at = _skip(text, 0, " ,\t")
    while at < len(text):
        match = _KEYWORD.match(text, at)
        if match is None:
            raise _Wrong(at, f"a keyword was expected, not {text[at]!r}")
        keyword = match[0].upper()
        if keyword in found:
            raise _Wrong(at, f"{keyword} is there twice: leave one out")
        if keyword not in (*CONTROL, *TEXT_LENGTHS, *SYMBOLS_OF, *ACTION_KEYWORDS):
            raise _Wrong(at, f"unknown keyword {keyword}")
        found[keyword], at = _value(text, match.end(), keyword)
        at = _skip(text, at, " ,\t")
    return found


def _value(text: str, at: int, keyword: str) -> tuple[RuleValue, int]:
    """Read a value in parentheses; returns it, and where it ends."""
    at = _skip(text, at)
    if text[at : at + 1] != "(":
        raise _Wrong(at, f"{keyword} takes a value in parentheses: {keyword}(...)")
    at = _skip(text, at + 1)
    quoted = _QUOTED.match(text, at)
    plain = _PLAIN.match(text, at)
    if quoted:
        value, end = RuleValue(quoted[1].replace("''", "'"), True, at), quoted.end()
    elif plain:
        value, end = RuleValue(plain[0].rstrip().upper(), False, at), plain.end()
    elif text[at : at + 1] == "'":
        raise _Wrong(at, "a quotation mark is not closed: close it with another one")
    else:
        raise _Wrong(at, f"{keyword} has no value: give it one, ' ' for a blank")
    if not value.text:
        raise _Wrong(at, f"{keyword} has an empty value: write ' ' for a blank")
    end = _skip(text, end)
    if text[end : end + 1] != ")":
        raise _Wrong(end, f"a ) was expected behind the value of {keyword}")
    return value, end + 1


def _skip(text: str, at: int, what: str = " \t") -> int:
    while at < len(text) and text[at] in what:
        at += 1
    return at


# -- what the values mean


def _control(values: dict[str, RuleValue]) -> Control:
    readers: dict[str, tuple[str, Callable[[RuleValue], Any]]] = {
        "INPUTQ": ("input_queue", _name),
        "INPUTQM": ("input_queue_manager", _name),
        "RETRYINT": ("retry_interval_s", lambda value: _whole("RETRYINT", value, 1)),
        "WAIT": ("wait_s", _wait),
    }
    return Control(**{readers[key][0]: readers[key][1](value) for key, value in values.items()})


def _rule(line: int, values: dict[str, RuleValue]) -> DeadLetterRule:
    for key, value in values.items():
        if key in CONTROL:
            raise _Wrong(
                value.at, f"{key} is control data: that is the first entry, and an entry of its own"
            )
    action = _action(values)
    texts = {key: _text(key, values[key]) for key in values if key in TEXT_LENGTHS}
    numbers = {key: _number(key, values[key]) for key in values if key in SYMBOLS_OF}
    return DeadLetterRule(
        line=line,
        texts=texts,
        numbers={key: number for key, number in numbers.items() if number is not None},
        action=action,
        forward_queue=_forward("FWDQ", FORWARD_QUEUES, values),
        forward_queue_manager=_forward("FWDQM", FORWARD_MANAGERS, values),
        header=_choice("HEADER", ("YES", "NO"), values) == "YES",
        put_authority=_choice("PUTAUT", ("DEF", "CTX"), values),
        retry=_whole("RETRY", values["RETRY"], 1) if "RETRY" in values else 1,
    )


def _action(values: dict[str, RuleValue]) -> str:
    if "ACTION" not in values:
        raise _Wrong(0, "the rule has no ACTION: add ACTION(DISCARD, IGNORE, RETRY or FWD)")
    action = _choice("ACTION", ACTIONS, values)
    if action == "FWD" and "FWDQ" not in values:
        raise _Wrong(values["ACTION"].at, "ACTION(FWD) needs FWDQ, the queue to forward to")
    for key in ("FWDQ", "FWDQM", "HEADER"):
        if key in values and action != "FWD":
            raise _Wrong(
                values[key].at, f"{key} goes with ACTION(FWD) only, and this is ACTION({action})"
            )
    return action


def _choice(key: str, choices: tuple[str, ...], values: dict[str, RuleValue]) -> str:
    """One of some words; the first is the default."""
    if key not in values:
        return choices[0]
    word = values[key].text.upper()
    if word not in choices:
        raise _Wrong(values[key].at, f"{key} is {', '.join(choices[:-1])} or {choices[-1]}")
    return word


def _name(value: RuleValue) -> str:
    name = value.text.strip(" ")
    if len(name) > NAME_LENGTH_MAX:
        raise _Wrong(value.at, f"a name has at most {NAME_LENGTH_MAX} characters, not {len(name)}")
    return name


def _forward(key: str, variables: tuple[str, ...], values: dict[str, RuleValue]) -> str:
    if key not in values:
        return ""
    value = values[key]
    name = _name(value)
    if not name and key == "FWDQ":
        raise _Wrong(value.at, "FWDQ(' ') names no queue: name one")
    if name.startswith("&"):
        if name.upper() not in variables:
            raise _Wrong(value.at, f"{key} takes a name, {' or '.join(variables)}, not {name}")
        return name.upper()
    if set(name) & set("*?"):
        raise _Wrong(value.at, f"{key} takes a name: * and ? stand for nothing here")
    return name


def _wait(value: RuleValue) -> int | None:
    word = value.text.upper()
    if word in ("YES", "NO"):
        return None if word == "YES" else 0
    return _whole("WAIT", value, 0, " or YES or NO")


def _whole(key: str, value: RuleValue, low: int, others: str = "") -> int:
    if value.quoted or not value.text.isdecimal() or not low <= int(value.text) <= NUMBER_MAX:
        raise _Wrong(value.at, f"{key} is a number of {low} to {NUMBER_MAX}{others}")
    return int(value.text)


def _text(key: str, value: RuleValue) -> re.Pattern[str]:
    """Make a pattern: * is any characters, ? is any one; blanks at the end do not count."""
    text = value.text.rstrip(" ")
    longest = TEXT_LENGTHS[key]
    if len(text.replace("*", "")) > longest:
        raise _Wrong(value.at, f"{key} has at most {longest} characters, not {len(text)}")
    return re.compile(expression_of(text))


def _number(key: str, value: RuleValue) -> int | None:
    """Read a number or the name of one; None for *, which is any."""
    word = value.text.upper()
    if word == "*":
        return None
    if word in SYMBOLS and word.startswith(SYMBOLS_OF[key]):
        return SYMBOLS[word]
    if not value.quoted and re.fullmatch(r"-?\d{1,10}", word):
        return int(word)
    names = " or ".join(f"{begin}..." for begin in SYMBOLS_OF[key])
    raise _Wrong(
        value.at,
        f"{key} is a whole number without quotation marks, a name that is known ({names}), or * "
        f"for any, not {value.text!r}: write the number",
    )


def _reasons(kind: type[errors.Error]) -> Iterator[tuple[str, int]]:
    yield kind.reason_name, kind.reason
    for below in kind.__subclasses__():
        yield from _reasons(below)


SYMBOLS: dict[str, int] = {
    **{name: number for name, number in vars(constants).items() if name.startswith(NAMED)},
    **dict(_reasons(errors.Error)),
    "MQRC_ALIAS_BASE_Q_TYPE_ERROR": 2001,
    "MQRC_PERSISTENT_NOT_ALLOWED": 2048,
    "MQRC_Q_SPACE_NOT_AVAILABLE": 2056,
    "MQRC_Q_TYPE_ERROR": 2057,
    "MQRC_UNKNOWN_ALIAS_BASE_Q": 2082,
    "MQRC_DLH_ERROR": 2141,
    "MQRC_HEADER_ERROR": 2142,
    "MQRC_UNKNOWN_XMIT_Q": 2196,
    "MQRC_UNKNOWN_DEF_XMIT_Q": 2197,
    "MQRC_PUT_RETAINED": 2479,
    "MQFB_NONE": 0,
    "MQFB_QUIT": 256,
    "MQFB_EXPIRATION": 258,
    "MQFB_COA": 259,
    "MQFB_COD": 260,
    "MQFB_CHANNEL_COMPLETED": 262,
    "MQFB_CHANNEL_FAIL": 264,
    "MQFB_APPL_CANNOT_BE_STARTED": 265,
    "MQFB_TM_ERROR": 266,
    "MQFB_APPL_TYPE_ERROR": 267,
    "MQFB_STOPPED_BY_MSG_EXIT": 268,
    "MQFB_ACTIVITY": 269,
    "MQFB_XMIT_Q_MSG_ERROR": 271,
    "MQFB_PAN": 275,
    "MQFB_NAN": 276,
    "MQMT_REPLY": 2,
    "MQMT_REPORT": 4,
    "MQMT_DATAGRAM": 8,
    "MQPER_NOT_PERSISTENT": 0,
    "MQPER_PERSISTENT": 1,
    "MQAT_UNKNOWN": -1,
    "MQAT_CICS": 1,
    "MQAT_ZOS": 2,
    "MQAT_IMS": 3,
    "MQAT_AIX": 6,
    "MQAT_UNIX": 6,
    "MQAT_QMGR": 7,
    "MQAT_OS400": 8,
    "MQAT_WINDOWS": 9,
    "MQAT_WINDOWS_NT": 11,
    "MQAT_OPEN_TP1": 15,
    "MQAT_USER": 25,
    "MQAT_BROKER": 26,
    "MQAT_JAVA": 28,
}
"""Names of numbers. A number that has no name here is written as a number."""
