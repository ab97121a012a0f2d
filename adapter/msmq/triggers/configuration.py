r"""Triggers in a TOML file, as `mqk triggers run` reads it. Every problem is named with its line.

    [[trigger]]
    name = "PrivateTrigger"
    queue = '.\private$\MyQueue'

    [[trigger.rule]]
    name = "MyRule1"
    conditions = [{ label_contains = "marketing" }]
    run = "notify"
    parameters = [{ property = "label" }, { trigger = "name" }, "literal", 3]

In place of run, call = "module:function". This module does not know how triggers are run.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from adapter.errors import Error, InvalidValue
from adapter.msmq.names import HERE, one_name
from adapter.msmq.triggers.actions import Action, Call, MessageProperty, Run, TriggerId, TriggerName
from adapter.msmq.triggers.conditions import CONDITIONS, MessageCondition
from adapter.msmq.triggers.model import Processing, Rule, Trigger, check_together

FILE_BYTES_MAX = 1024 * 1024
OF_TRIGGER = ("name", "queue", "serialized", "processing", "enabled", "id", "rule")
OF_RULE = ("name", "conditions", "run", "call", "parameters")
HEADER = re.compile(r"\s*\[\[?\s*([\w.]+)\s*\]\]?\s*(#.*)?$")
KEY = re.compile(r"""\s*["']?(\w+)["']?\s*=""")
AT_LINE = re.compile(r"\(at line (\d+), column \d+\)")


class TriggerFileError(InvalidValue):
    """A file of triggers is invalid; problems: one line each, FILE:LINE: what is wrong."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.args = (problems,)
        self.problems = problems

    def __str__(self) -> str:
        return self.text


class EntryProblem(Exception):  # noqa: N818 -- it is collected, not raised to users
    """Something wrong with one key of a table; "": with the table itself."""

    def __init__(self, key: str, text: str) -> None:
        super().__init__(text)
        self.key = key
        self.text = text


class TableProblems:
    """What is wrong with one table: all of it, so that a file is corrected at once."""

    def __init__(self, line: int, keys: dict[str, int]) -> None:
        self.found: list[tuple[int, str]] = []
        self._line = line
        self._keys = keys

    def read(self, read: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """Return what is read, or note the problem and return None."""
        try:
            return read(*arguments, **named)
        except EntryProblem as problem:
            self.found.append((self._keys.get(problem.key, self._line), problem.text))
        except Error as error:
            self.found.append((self._line, error.text))
        return None

    def read_each(self, read: Callable[[Any], Any], entries: list[Any]) -> list[Any]:
        """Return what is read of each entry; note the problems of the others."""
        return [self.read(read, entry) for entry in entries]

    def check_keys(self, entry: dict[str, Any], known: tuple[str, ...], what: str) -> None:
        """Note the keys that are not known."""
        for key in entry:
            if key not in known:
                text = _unknown(key, known, what)
                self.found.append((self._keys.get(key, self._line), text))


class Lines(Struct):
    """Where the tables of a file are. tables: header, number of its line, and its keys' lines."""

    tables: list[tuple[str, int, dict[str, int]]]

    def of_triggers(self) -> list[tuple[int, dict[str, int], list[tuple[int, dict[str, int]]]]]:
        """Return each trigger's line and keys, and those of its rules."""
        found: list[tuple[int, dict[str, int], list[tuple[int, dict[str, int]]]]] = []
        for header, line, keys in self.tables:
            if header == "trigger":
                found.append((line, keys, []))
            elif header == "trigger.rule" and found:
                found[-1][2].append((line, keys))
        return found


def read(path: Path) -> list[Trigger]:
    """Read the triggers of a file. Raises TriggerFileError; OSError if it cannot be read."""
    with path.open("rb") as file:
        body = file.read(FILE_BYTES_MAX + 1)
    if len(body) > FILE_BYTES_MAX:
        raise TriggerFileError([f"{path}: it has more than {FILE_BYTES_MAX} bytes"])
    try:
        text = body.decode()
        table = tomllib.loads(text)
    except UnicodeDecodeError as error:
        line = body[: error.start].count(b"\n") + 1
        raise TriggerFileError([f"{path}:{line}: it is not valid UTF-8"]) from error
    except tomllib.TOMLDecodeError as error:
        found = AT_LINE.search(str(error))
        where = found[1] if found else str(text.count("\n") + 1)
        raise TriggerFileError(
            [f"{path}:{where}: {AT_LINE.sub('', str(error)).strip()}"]
        ) from error
    triggers, problems = _triggers(table, locate(text))
    if problems:
        raise TriggerFileError([f"{path}:{line}: {text}" for line, text in sorted(problems)])
    return triggers


def locate(text: str) -> Lines:
    """Find the tables and keys of a valid file."""
    tables: list[tuple[str, int, dict[str, int]]] = [("", 1, {})]
    for number, line in enumerate(text.splitlines(), 1):
        header, key = HEADER.match(line), KEY.match(line)
        if header is not None:
            tables.append((header[1], number, {}))
        elif key is not None:
            tables[-1][2].setdefault(key[1], number)
    return Lines(tables)


def _triggers(table: dict[str, Any], lines: Lines) -> tuple[list[Trigger], list[tuple[int, str]]]:
    triggers: list[Trigger] = []
    problems: list[tuple[int, str]] = []
    top = lines.tables[0][2] | {header: line for header, line, _ in reversed(lines.tables)}
    problems += [
        (top.get(key, 1), _unknown(key, ("trigger",), "the file"))
        for key in table
        if key != "trigger"
    ]
    entries = table.get("trigger", [])
    if not isinstance(entries, list) or not entries:
        problems.append((top.get("trigger", 1), "no trigger is defined: add a table [[trigger]]"))
        return [], problems
    places = lines.of_triggers()
    names: set[str] = set()
    for at, entry in enumerate(entries):
        line, keys, rules = places[at] if at < len(places) else (top.get("trigger", 1), {}, [])
        of_trigger = TableProblems(line, keys)
        trigger = of_trigger.read(_trigger, entry, of_trigger, rules, line, names)
        if trigger is not None:
            name = one_name(trigger.queue, HERE)
            others = [one for one in triggers if one_name(one.queue, HERE) == name]
            of_trigger.read(check_together, [*others, trigger])
            triggers.append(trigger)
        problems += of_trigger.found
    return triggers, problems


def _trigger(
    entry: Any,
    problems: TableProblems,
    places: list[tuple[int, dict[str, int]]],
    line: int,
    names: set[str],
) -> Trigger | None:
    """Read a trigger; None if there are problems. names: those that are taken."""
    if not isinstance(entry, dict):
        raise EntryProblem("", "a trigger is a table: write [[trigger]]")
    problems.check_keys(entry, OF_TRIGGER, "a trigger")
    name = problems.read(_text, entry, "name", "a trigger")
    if name in names:
        problems.read(_refuse, "name", f"trigger {name} is defined twice: choose another name")
    names.add(name)
    what = "a trigger" if name is None else f"trigger {name}"
    fields = {
        "queue": problems.read(_text, entry, "queue", what),
        "serialized": problems.read(_flag, entry, "serialized", False),
        "processing": problems.read(_processing, entry),
        "enabled": problems.read(_flag, entry, "enabled", True),
        "id": problems.read(_text, entry, "id", what) if "id" in entry else None,
    }
    is_valid = not problems.found
    rules = problems.read(_rules, entry, problems, places, line) or []
    found: Trigger | None = (
        problems.read(Trigger, name, rules=rules, **fields) if is_valid else None
    )
    return found


def _refuse(key: str, text: str) -> None:
    raise EntryProblem(key, text)


def _rules(
    entry: dict[str, Any],
    problems: TableProblems,
    places: list[tuple[int, dict[str, int]]],
    line: int,
) -> list[Rule]:
    """Return the rules of a trigger; note the problems of the others."""
    listed = entry.get("rule", [])
    if not isinstance(listed, list):
        raise EntryProblem("rule", "rules are tables: write [[trigger.rule]]")
    rules = []
    for at, one in enumerate(listed):
        of_rule = TableProblems(*(places[at] if at < len(places) else (line, {})))
        rule = of_rule.read(_rule, one, of_rule)
        rules += [rule] if rule is not None else []
        problems.found += of_rule.found
    return rules


def _rule(entry: Any, problems: TableProblems) -> Rule | None:
    """Read a rule; None if there are problems."""
    if not isinstance(entry, dict):
        raise EntryProblem("", "a rule is a table: write [[trigger.rule]]")
    problems.check_keys(entry, OF_RULE, "a rule")
    name = problems.read(_text, entry, "name", "a rule")
    conditions = problems.read(_list_of, entry, "conditions", '[{ label_contains = "urgent" }]')
    parameters = problems.read(_list_of, entry, "parameters", '[{ property = "label" }, "literal"]')
    conditions = problems.read_each(_condition, conditions or [])
    values = problems.read_each(_parameter, parameters or [])
    action = problems.read(_action, entry, "a rule" if name is None else f"rule {name}", values)
    return None if problems.found else Rule(name, conditions=conditions, action=action)


def _list_of(entry: dict[str, Any], key: str, example: str) -> list[Any]:
    value = entry.get(key, [])
    if not isinstance(value, list):
        raise EntryProblem(key, f"{key} is a list, as {example}")
    return value


def condition_name(kind: type[MessageCondition]) -> str:
    """Return the name of a condition in a file."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower()


def _condition(entry: Any) -> MessageCondition:
    kinds = {condition_name(kind): kind for kind in CONDITIONS}
    if not isinstance(entry, dict) or len(entry) != 1:
        raise EntryProblem(
            "conditions", 'a condition is a table of one key, as { label_contains = "x" }'
        )
    ((name, value),) = entry.items()
    if name not in kinds:
        raise EntryProblem("conditions", _unknown(name, tuple(kinds), "a condition"))
    wanted = msgspec.structs.fields(kinds[name])[0].type
    if type(value) is not wanted:
        raise EntryProblem("conditions", f"{name} is {_article(wanted)}, not {value!r}")
    kind: Any = kinds[name]
    condition: MessageCondition = kind(value)
    return condition


def _article(kind: type) -> str:
    return f"an {kind.__name__}" if kind is int else f"a {kind.__name__}"


def _action(entry: dict[str, Any], what: str, parameters: list[Any]) -> Action:
    given = [key for key in ("run", "call") if key in entry]
    if len(given) != 1:
        raise EntryProblem(given[-1] if given else "", f"{what} has one of run and call")
    text, values = _text(entry, given[0], what), tuple(parameters)
    try:
        return Run(text, values) if given[0] == "run" else Call(text, values)
    except Error as error:
        raise EntryProblem(given[0], error.text) from error


def _parameter(entry: Any) -> Any:
    if isinstance(entry, str | int | float):
        return entry
    if not isinstance(entry, dict) or len(entry) != 1:
        raise EntryProblem(
            "parameters",
            'a parameter is a text, a number, { property = "label" }, { trigger = "name" } or '
            f'{{ trigger = "id" }}, not {entry!r}',
        )
    ((key, value),) = entry.items()
    if key == "property":
        names = tuple(one.value for one in MessageProperty)
        if value not in names:
            raise EntryProblem("parameters", _unknown(str(value), names, "property"))
        return MessageProperty(value)
    if key == "trigger" and value in ("name", "id"):
        return TriggerName() if value == "name" else TriggerId()
    raise EntryProblem(
        "parameters", _unknown(f"{key} = {value!r}", ("property", "trigger"), "a parameter")
    )


def _processing(entry: dict[str, Any]) -> Processing:
    value = entry.get("processing", Processing.PEEKING.value)
    names = tuple(one.value for one in Processing)
    if value not in names:
        raise EntryProblem("processing", _unknown(str(value), names, "processing"))
    return Processing(value)


def _text(entry: dict[str, Any], key: str, what: str) -> str:
    if key not in entry:
        raise EntryProblem("", f"{what} has no {key}: add one")
    value = entry[key]
    if not isinstance(value, str) or not value:
        raise EntryProblem(key, f"{key} is a text that is not empty, not {value!r}")
    return value


def _flag(entry: dict[str, Any], key: str, default: bool) -> bool:
    value = entry.get(key, default)
    if not isinstance(value, bool):
        raise EntryProblem(key, f"{key} is true or false, not {value!r}")
    return value


def _unknown(name: str, known: tuple[str, ...], what: str) -> str:
    near = get_close_matches(name, known, n=1)
    choice = f"did you mean {near[0]}?" if near else f"use {', '.join(known)}"
    return f"unknown key or value {name!r} of {what}: {choice}"
