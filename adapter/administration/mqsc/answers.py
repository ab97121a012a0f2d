"""What a command is answered with: MQ's message numbers and severities, in sentences of our own.

Scripts look for the numbers; people read the rest. An error says what happened, to which object,
and what to do.
"""

from __future__ import annotations

import re

from adapter.administration.kinds import DEFINED, FoundObject, Kind
from adapter.administration.values import text
from adapter.administration.without_effect import Accepted
from adapter.core.attributes.table import AttributeRow
from adapter.errors import Error

COLUMN = 40
"""Two columns of this width, behind three blanks."""
_OF_OBJECTS = {
    "QUEUE": (8006, 8008, 8007, 8409),
    "PROCESS": (8010, 8012, 8011, 8407),
    "NAMELIST": (8552, 8551, 8553, 8550),
    "TOPIC": (8690, 8691, 8692, 8633),
    "SUB": (8094, 8097, 8095, 8096),
    "CHANNEL": (8014, 8016, 8015, 8414),
    "AUTHINFO": (8563, 8567, 8564, 8566),
    "FEED": (901, 902, 903, 904),
    "EXPORT": (911, 912, 913, 914),
}
NUMBERS = {
    (verb, kind): number
    for kind, numbers in _OF_OBJECTS.items()
    for verb, number in zip(("DEFINE", "ALTER", "DELETE", "DISPLAY"), numbers, strict=True)
} | {
    ("ALTER", "QMGR"): 8005,
    ("DISPLAY", "QMGR"): 8408,
    ("DISPLAY", "QSTATUS"): 8450,
    ("DISPLAY", "QMSTATUS"): 8705,
    ("DISPLAY", "CONN"): 8276,
    ("DISPLAY", "QSTATS"): 8450,
    ("DISPLAY", "CHSTATUS"): 8417,
    ("DISPLAY", "LISTENER"): 8630,
    ("DISPLAY", "LSSTATUS"): 8631,
    ("DISPLAY", "TPSTATUS"): 8754,
    ("DISPLAY", "SBSTATUS"): 8099,
    ("DISPLAY", "PUBSUB"): 8723,
    ("DISPLAY", "CMDSERV"): 8705,
    ("CLEAR", "QUEUE"): 8022,
    ("STOP", "CONN"): 8457,
    ("PING", "QMGR"): 8415,
}
"""AMQ numbers of what went well, by verb and kind; all kinds of queues are one here. Those below
1000 are of objects that IBM MQ does not have."""
DONE = {
    "DEFINE": "created",
    "ALTER": "changed",
    "DELETE": "deleted",
    "CLEAR": "cleared",
    "STOP": "stopped",
    "PING": "answers",
}
SYNTAX_ERROR = 8405
NAME_ERROR = 8424
FAILED = 8101
FAILURES = {
    2085: 8147,  # not found
    2100: 8150,  # exists already
    2042: 8148,  # in use
    2055: 8143,  # not empty
    2101: 8149,  # damaged
    2035: 8135,  # not authorized
    2152: NAME_ERROR,
    4005: SYNTAX_ERROR,
    2009: 8145,  # connection broken
    2059: 8146,  # not available
    2161: 8146,
    2162: 8146,
}
"""AMQ numbers of failures by reason code; all others are FAILED."""

BY_PYTHON_NAME = {row.name: row for kind in DEFINED.values() for row in kind.rows.values()}
PYTHON_NAME = re.compile(r"\b(?P<name>[a-z]+(?:_[a-z]+)+)\b(?:=(?P<value>True|False))?")
"""Names of one word are left alone: they are English as well."""


def message(number: int, severity: str, sentence: str) -> str:
    """Write one numbered message. severity: I, W or E."""
    return f"AMQ{number:04}{severity}: {printable(sentence)}"


def printable(text: str) -> str:
    """Return a text with a dot for each sign that would move a terminal's cursor."""
    return "".join(one if one.isprintable() else "." for one in text)


WARNING = re.compile(r"AMQ\d{4}W: ")


def is_warning(line: str) -> bool:
    """Say whether a line reports that a command had no effect, or not all of it."""
    return bool(WARNING.match(line))


def number_of(verb: str, kind: Kind) -> int:
    """Return the number of what tells that a command went well."""
    return NUMBERS[verb, "QUEUE" if kind.has_queue_name else kind.word]


def done(verb: str, kind: Kind, name: str, more: str = "") -> str:
    """Report that a command succeeded."""
    sentence = f"{kind.noun} {name} {DONE[verb]}{more}."
    return message(number_of(verb, kind), "I", sentence)


def done_in_part(verb: str, kind: Kind, name: str, without_effect: list[str]) -> str:
    """Report that a command succeeded, but for attributes that have no effect here."""
    given = ", ".join(without_effect)
    sentence = f"{kind.noun} {name} {DONE[verb]}; not supported, without effect: {given}."
    return message(number_of(verb, kind), "W", sentence)


def acceptance_of(command: Accepted, name: str) -> str:
    """Report that a command was read and has no effect, and what holds instead."""
    what = f"{command.noun} {name}".rstrip()
    return message(command.number, "W", f"{what} accepted without effect: {command.why}.")


def unavailable(command: str, why: str) -> str:
    """Report that a command cannot be done here, and why."""
    return message(FAILED, "E", f"{command} failed: {why} [MQRC_FUNCTION_NOT_SUPPORTED, 2298].")


def unsupported(verb: str, what: str, text: str) -> str:
    """Report that a command failed: mqk does not keep what the value promises."""
    sentence = f"{verb} {what} failed: {text}"
    return message(FAILED, "E", f"{sentence} [MQRC_FUNCTION_NOT_SUPPORTED, 2298].")


def cleared_topics(topic: str, count: str) -> str:
    """Report that retained publications of a topic string are discarded. count: in words."""
    sentence = f"topic string {topic} cleared: publications retained for {count} discarded."
    return message(NUMBERS["CLEAR", "QUEUE"], "I", sentence)


def not_mqsc(problem: str, near: str) -> list[str]:
    """Report a syntax error, and near what."""
    end = "" if problem.endswith("?") else "."
    lines = [message(SYNTAX_ERROR, "E", f"syntax error: {problem}{end}")]
    return [*lines, f"   near: {near}"] if near else lines


def failure_of(error: Error) -> str:
    """Tell that a command was refused, with the reason."""
    number = FAILURES.get(error.reason, FAILED)
    return message(number, "E", f"{spoken(error.text)} [{error.reason_name}, {error.reason}].")


def spoken(sentence: str) -> str:
    """Say in MQSC's words what the queue manager says in Python's: MAXDEPTH for max_depth."""
    sentence = sentence.replace("replace=True", "REPLACE").replace("purge=True", "PURGE")
    return PYTHON_NAME.sub(_keyword, sentence)


def _keyword(match: re.Match[str]) -> str:
    row = BY_PYTHON_NAME.get(match["name"])
    if row is None:
        return match[0]
    if match["value"] is None:
        return row.attribute.keyword
    return shown_value(row, match["value"] == "True")


def shown_value(row: AttributeRow, value: object) -> str:
    """Write an attribute and its value."""
    written = text(row, value)
    return written if row.attribute.bare else f"{row.attribute.keyword}({written or ' '})"


def none_exist(noun: str, why: str) -> str:
    """Report that no object of a kind exists, whatever its name, and what holds instead."""
    sentence = f"no {noun} exists: {why}"
    return message(FAILURES[2085], "E", f"{sentence} [MQRC_UNKNOWN_OBJECT_NAME, 2085].")


def nothing_fits(noun: str) -> str:
    """Report that a question has an empty answer."""
    sentence = f"no {noun} fits: leave out a parameter, or define one"
    return message(FAILURES[2085], "E", f"{sentence} [MQRC_UNKNOWN_OBJECT_NAME, 2085].")


def not_found(kind: Kind, name: str, condition: bool, guess: str = "") -> str:
    """Report that an object does not exist. condition: none meets it; guess: similar names."""
    missing = "meets the condition" if condition else "exists"
    remedy = f"did you mean {guess}?" if guess else "check the name, or define it"
    sentence = f"no {kind.noun} {name} {missing}: {remedy}"
    return message(FAILURES[2085], "E", f"{sentence} [MQRC_UNKNOWN_OBJECT_NAME, 2085].")


def shown(found: FoundObject, wanted: frozenset[str]) -> list[str]:
    """Show one object in columns. wanted: Python names of attributes; its type comes first."""
    kind = found.kind
    cells = [f"{kind.name_keyword}({found.name})"]
    rows = [row for row in kind.every_row.values() if row.name in wanted]
    rows.sort(key=lambda row: (row not in kind.always, row.attribute.keyword))
    cells += [shown_value(row, found.value(row)) for row in rows]
    heading = message(number_of("DISPLAY", kind), "I", f"{kind.noun} details:")
    return [heading, *columns(cells)]


def columns(cells: list[str]) -> list[str]:
    """Write cells in two columns; long ones have a line of their own."""
    lines, line = [], ""
    for cell in map(printable, cells):
        if line and len(line) < COLUMN and len(cell) < COLUMN:
            lines.append(f"   {line.ljust(COLUMN)}{cell}")
            line = ""
            continue
        if line:
            lines.append(f"   {line}")
        line = cell
    if line:
        lines.append(f"   {line}")
    return lines
