"""Runs the commands of a script, one after the other, on a connection, and reports on each.

A command with a syntax error, or that fails, does not stop the script: so it is on IBM MQ. The
summary at the end names the lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from difflib import get_close_matches

from adapter.administration import objects, senders, without_effect
from adapter.administration.kinds import ANY_QUEUE, DEFINED, QUEUE_WORDS, FoundObject, Kind
from adapter.administration.mqsc import answers, authority_records, channel_rules, meaning
from adapter.administration.mqsc.statement import GUESSES_MAX, Statement, parse
from adapter.administration.mqsc.text import NotMqscError, RefusedError, ScriptLine, lines_of, quote
from adapter.administration.status import reset_totals
from adapter.administration.status_kinds import (
    CONNECTION,
    CONNECTION_HANDLES,
    QUEUE_HANDLES,
    STATUS_KINDS,
)
from adapter.client.connection import Connection
from adapter.core.attributes.objects import QUEUE_MANAGER
from adapter.errors import ConnectionBroken, Error, ObjectNotFound, QueueNotFound

SHOWN = DEFINED | {one.word: one for one in STATUS_KINDS}
HANDLES = {("QSTATUS", "HANDLE"): QUEUE_HANDLES, ("CONN", "HANDLE"): CONNECTION_HANDLES}
"""What DISPLAY QSTATUS and CONN show of TYPE(HANDLE)."""
QUEUE = "QUEUE"
"""DISPLAY shows all kinds of queues by this word."""
LINES_SHOWN = 50


class Script:
    """A run of commands on one connection.

    echo: whether each is shown before its answer. summary: whether they are counted at the end.
    wrong, failed, without_effect: numbers of the lines with syntax errors, of commands that failed,
    and of commands that had no effect or not all of it.
    """

    def __init__(self, qm: Connection, *, echo: bool = True, summary: bool = True) -> None:
        self._qm = qm
        self._echo = echo
        self._summarized = summary
        self.commands = 0
        self.wrong: list[int] = []
        self.failed: list[int] = []
        self.without_effect: list[int] = []

    def run(self, lines: Iterable[str]) -> Iterator[str]:
        """Run the commands of the lines; yield what is to be shown, as it comes.

        Raises ConnectionBroken when the queue manager cannot be reached any more.
        """
        for line in lines_of(lines):
            if self._echo:
                yield f"{line.number:6} : {line.text}"
            statement, problem = _read(line)
            if statement is not None and statement.verb == "END":
                break
            self.commands += 1
            if statement is None:
                self.wrong.append(line.number)
                yield from problem
            else:
                yield from self._done(statement, line.number)
        if self._summarized:
            yield from self._summary()

    def _done(self, statement: Statement, number: int) -> Iterator[str]:
        try:
            for answer in command(self._qm, statement):
                if answers.is_warning(answer):
                    self.without_effect.append(number)
                yield answer
        except NotMqscError as problem:
            self.wrong.append(number)
            yield from answers.not_mqsc(problem.text, problem.near)
        except without_effect.UnsupportedError as problem:
            self.failed.append(number)
            what = f"{statement.kind} {statement.name}".rstrip()
            yield answers.unsupported(statement.verb, what, problem.text)
        except RefusedError as refusal:
            self.failed.append(number)
            yield refusal.line
        except ConnectionBroken as error:
            self.failed.append(number)
            yield answers.failure_of(error)
            raise
        except Error as error:
            self.failed.append(number)
            yield answers.failure_of(error)

    def _summary(self) -> Iterator[str]:
        yield f"{_count_of(self.commands, 'MQSC command')} read."
        for lines, what in (
            (self.wrong, "not run because of syntax errors"),
            (self.failed, "failed"),
            (self.without_effect, "not supported, without effect as a whole or in part"),
        ):
            if lines:
                yield f"{_count_of(len(lines), 'command')} {what}: {_places(lines)}."
        if not self.wrong and not self.failed:
            yield "No command failed."


def _count_of(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _places(lines: list[int]) -> str:
    numbers = ", ".join(str(one) for one in lines[:LINES_SHOWN])
    more = f" and {len(lines) - LINES_SHOWN} more" if len(lines) > LINES_SHOWN else ""
    return f"{'line' if len(lines) == 1 else 'lines'} {numbers}{more}"


def _read(line: ScriptLine) -> tuple[Statement | None, list[str]]:
    if line.problem:
        return None, answers.not_mqsc(line.problem, "")
    try:
        return parse(line.text), []
    except NotMqscError as problem:
        return None, answers.not_mqsc(problem.text, problem.near)


def command(qm: Connection, statement: Statement) -> Iterator[str]:
    """Do one command; yield the lines of its answer.

    Raises NotMqscError, RefusedError, and the errors of the SDK.
    """
    verb, word = statement.verb, statement.kind
    why = without_effect.UNAVAILABLE_COMMANDS.get(
        (verb, word), without_effect.UNAVAILABLE.get(word, "")
    )
    if why:
        raise RefusedError(answers.unavailable(f"{verb} {word}", why))
    if (verb, word) in without_effect.NONE_EXIST:
        noun, held = without_effect.NONE_EXIST[verb, word]
        raise RefusedError(answers.none_exist(noun, held))
    if (verb, word) in without_effect.ACCEPTED:
        yield from _accept(statement)
    elif (verb, word) in OTHER:
        yield from OTHER[verb, word](qm, statement)
    elif verb == "DISPLAY":
        yield from display(qm, statement)
    else:
        kind = SHOWN.get(word)
        if kind is None or (verb, _family(kind)) not in answers.NUMBERS or verb not in WITH_KIND:
            raise NotMqscError(f"unknown command {verb} {word}", word)
        if kind.word == "SUB" and not statement.name:
            by_id = any(one.keyword == "SUBID" for one in statement.parameters)
            if statement.verb == "DEFINE" or not by_id:
                raise NotMqscError("SUB takes a name, such as SUB(A)", "SUB")
        if word == "CHANNEL" and verb in without_effect.MOVER and meaning.is_of_mover(statement):
            meaning.check_mover(kind, statement)
            yield answers.acceptance_of(without_effect.MOVER[verb], statement.name)
            return
        try:
            yield from WITH_KIND[verb](qm, kind, statement)
        except (ObjectNotFound, QueueNotFound) as error:
            guess = _guess(qm, kind, statement.name) if error.object_name == statement.name else ""
            if not guess:
                raise
            raise RefusedError(answers.not_found(kind, statement.name, False, guess)) from error


def _guess(qm: Connection, kind: Kind, name: str) -> str:
    """Return similar names, as MQSC writes them; empty if no name is similar."""
    if not name or name.endswith("*"):
        return ""
    by_upper = {one.name.upper(): one.name for one in objects.find(qm, kind, "*")}
    close = [by_upper[one] for one in get_close_matches(name.upper(), by_upper, GUESSES_MAX)]
    return " or ".join(one if one == one.upper() else quote(one) for one in close)


def _family(kind: Kind) -> str:
    return QUEUE if kind.has_queue_name else kind.word


def _accept(statement: Statement) -> Iterator[str]:
    """Check a command that has no effect here, and say so."""
    found = without_effect.ACCEPTED[statement.verb, statement.kind]
    meaning.check_parameters(found.rows, statement)
    yield answers.acceptance_of(found, statement.name)


def _define(qm: Connection, kind: Kind, statement: Statement) -> Iterator[str]:
    given = meaning.given(kind, statement)
    attributes = given.attributes
    if given.like:
        attributes = objects.attributes_like(qm, kind, given.like) | attributes
    objects.define(qm, kind, statement.name, attributes, given.replace)
    yield _done("DEFINE", kind, statement.name, given)


def _alter(qm: Connection, kind: Kind, statement: Statement) -> Iterator[str]:
    given = meaning.given(kind, statement)
    name = _name(qm, kind, statement.name, given.ident)
    if given.attributes:
        objects.alter(qm, kind, name, given.attributes)
    elif not given.named:
        raise NotMqscError(f"ALTER {kind.word} names no attribute to change", kind.word)
    elif kind.kind != QUEUE_MANAGER and not objects.exists(qm, kind, name):
        raise RefusedError(answers.not_found(kind, name, False))
    yield _done("ALTER", kind, name or qm.name, given)


def _done(verb: str, kind: Kind, name: str, given: meaning.Given) -> str:
    if given.without_effect:
        return answers.done_in_part(verb, kind, name, given.without_effect)
    return answers.done(verb, kind, name)


def _name(qm: Connection, kind: Kind, name: str, ident: str) -> str:
    """Return the name of an object; of a subscription it may be found by its id."""
    if not ident:
        return name
    found = objects.name_by_id(qm, name or "*", ident)
    if found is None:
        raise RefusedError(answers.not_found(kind, f"with SUBID {ident}", False))
    return found


def _delete(qm: Connection, kind: Kind, statement: Statement) -> Iterator[str]:
    given = meaning.given(kind, statement)
    name = _name(qm, kind, statement.name, given.ident)
    try:
        objects.delete(qm, kind, name, given.purge)
    except (ObjectNotFound, QueueNotFound):
        if not given.ignore_state:
            raise
    yield answers.done("DELETE", kind, name)


def _clear(qm: Connection, kind: Kind, statement: Statement) -> Iterator[str]:
    if kind.word != "QLOCAL" or statement.parameters:
        raise NotMqscError(
            "CLEAR takes the name of a local queue, such as CLEAR QLOCAL(A)", kind.word
        )
    count = objects.clear(qm, statement.name)
    yield answers.done("CLEAR", kind, statement.name, f": {_count_of(count, 'message')} discarded")


def _clear_topics(qm: Connection, statement: Statement) -> Iterator[str]:
    """CLEAR TOPICSTR: + and # stand for levels. What there is, is all of this queue manager."""
    given = {one.keyword: one.values or () for one in statement.parameters}
    words = {keyword: [one.text for one in values] for keyword, values in given.items()}
    is_local = words.pop("SCOPE", ["LOCAL"]) == ["LOCAL"]
    if words.pop("CLRTYPE", None) != ["RETAINED"] or not is_local or words:
        raise NotMqscError(
            "CLEAR TOPICSTR takes CLRTYPE(RETAINED), and SCOPE(LOCAL) or nothing", statement.name
        )
    count = qm.clear_retained(statement.name)
    yield answers.cleared_topics(statement.name, _count_of(count, "topic"))


def _reset_totals(qm: Connection, statement: Statement) -> Iterator[str]:
    """RESET QSTATS: show the totals since the last reset, and reset them."""
    if statement.parameters:
        raise NotMqscError("RESET QSTATS takes no parameter", statement.parameters[0].keyword)
    found = reset_totals(qm, statement.name)
    if not found:
        raise RefusedError(answers.not_found(SHOWN["QLOCAL"], statement.name, False))
    for one in found:
        yield from answers.shown(one, frozenset(one.kind.rows))


def _start_channel(qm: Connection, statement: Statement) -> Iterator[str]:
    """START CHANNEL: of a sender; channels for clients need no start."""
    kind = SHOWN["CHANNEL"]
    meaning.check_parameters(without_effect.IGNORE_STATE, statement)
    if senders.switch(qm, statement.name, stopped=False):
        yield answers.message(8018, "I", f"channel {statement.name} is started: it sends.")
        return
    if not objects.exists(qm, kind, statement.name):
        raise RefusedError(answers.not_found(kind, statement.name, False))
    yield answers.message(8018, "I", f"channel {statement.name} is started: clients may use it.")


def _stop_channel(qm: Connection, statement: Statement) -> Iterator[str]:
    """STOP CHANNEL: of a sender, until it is started."""
    meaning.check_parameters(without_effect.STOPPING, statement)
    if not senders.switch(qm, statement.name, stopped=True):
        raise RefusedError(answers.unavailable("STOP CHANNEL", without_effect.NOT_STOPPED))
    yield answers.message(8019, "I", f"channel {statement.name} is stopped until START CHANNEL.")


def _stop(qm: Connection, kind: Kind, statement: Statement) -> Iterator[str]:
    ident = statement.name.upper()
    if len(ident) != kind.name_length or set(ident) - set("0123456789ABCDEF"):
        raise NotMqscError("CONN takes the 16 digits that DISPLAY CONN shows", statement.name)
    objects.end_connection(qm, ident)
    yield answers.done("STOP", kind, ident)


def _ping(qm: Connection, kind: Kind, statement: Statement) -> Iterator[str]:
    if statement.parameters:
        raise NotMqscError("PING QMGR takes no parameter", statement.parameters[0].keyword)
    objects.find(qm, kind, qm.name)
    yield answers.done("PING", kind, qm.name)


def display(qm: Connection, statement: Statement) -> Iterator[str]:
    """DISPLAY: the objects that fit, each under a heading of its own."""
    if statement.kind == QUEUE:
        found, asked, kind = _queues(qm, statement)
    else:
        shown = SHOWN.get(statement.kind)
        if shown is None:
            raise NotMqscError(f"unknown command DISPLAY {statement.kind}", statement.kind)
        wanted_type = meaning.type_of(statement)
        kind = HANDLES.get((shown.word, wanted_type), shown)
        asked = meaning.read_display(kind, statement)
        found = objects.find(qm, kind, statement.name or "*")
        if shown.word == "CHANNEL":
            found += senders.find(qm, statement.name or "*")
        if shown is CONNECTION and wanted_type in meaning.EVERY_TYPE:
            found += objects.find(qm, CONNECTION_HANDLES, statement.name)
    is_every = not asked.types or any(one in meaning.EVERY_TYPE for one in asked.types)
    of_every_type = is_every or kind in HANDLES.values()  # what handles are is said by their type
    if not of_every_type:
        found = [
            one for one in found if any(one.value(row) in asked.types for row in one.kind.always)
        ]
    if asked.ident:
        found = [one for one in found if str(one.values.get("ident", "")).upper() == asked.ident]
    found = objects.passing(found, asked.filters)
    if not found:
        name = statement.name or f"with SUBID {asked.ident}"
        has_condition = bool(asked.filters) or not of_every_type
        guess = "" if has_condition else _guess(qm, kind, statement.name)
        raise RefusedError(answers.not_found(kind, name, has_condition, guess))
    for one in found:
        rows = one.kind.every_row if asked.everything else one.kind.rows
        wanted = asked.attributes or frozenset(rows)
        yield from answers.shown(one, wanted | {row.name for row in one.kind.always})


def _queues(
    qm: Connection, statement: Statement
) -> tuple[list[FoundObject], meaning.DisplayRequest, Kind]:
    """DISPLAY QUEUE: keywords may be of any kind of queue."""
    asked = meaning.read_display(ANY_QUEUE, statement)
    return objects.find_queues(qm, QUEUE_WORDS, statement.name), asked, DEFINED["QLOCAL"]


OTHER: dict[tuple[str, str], Callable[[Connection, Statement], Iterator[str]]] = {
    ("CLEAR", "TOPICSTR"): _clear_topics,
    ("RESET", "QSTATS"): _reset_totals,
    ("START", "CHANNEL"): _start_channel,
    ("STOP", "CHANNEL"): _stop_channel,
    **authority_records.COMMANDS,
    **channel_rules.COMMANDS,
}
WITH_KIND: dict[str, Callable[[Connection, Kind, Statement], Iterator[str]]] = {
    "DEFINE": _define,
    "ALTER": _alter,
    "DELETE": _delete,
    "CLEAR": _clear,
    "STOP": _stop,
    "PING": _ping,
}


def split_lines(text: str) -> list[str]:
    """Return the lines of a script, as those of a file: no other character ends one, because names
    may have any.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    return lines if lines[-1] else lines[:-1]


def run(qm: Connection, text: str) -> str:
    """Do what a text says and return what is to be shown, a line each."""
    return "".join(f"{line}\n" for line in Script(qm).run(split_lines(text)))
