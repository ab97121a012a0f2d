"""Commands, one after the other, on a connection; and what is told of each.

A command that is not MQSC, or that the queue manager refuses, does not keep the next one from
being done: so does MQ's own. How many of them there were is told at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from adapter import Connection
from adapter.errors import ConnectionBroken, Error
from adapter.mqi import objects
from adapter.mqi.kinds import (
    CONNECTION,
    CONNECTION_HANDLES,
    DEFINED,
    QMGR_STATUS,
    QUEUE_HANDLES,
    QUEUE_STATUS,
    QUEUE_WORDS,
    Found,
    Kind,
)
from adapter.mqi.mqsc import answers, meaning
from adapter.mqi.mqsc.statement import Statement, parse
from adapter.mqi.mqsc.text import Line, NotMqscError, lines_of

SHOWN = DEFINED | {one.word: one for one in (QUEUE_STATUS, QMGR_STATUS, CONNECTION)}
HANDLES = {("QSTATUS", "HANDLE"): QUEUE_HANDLES, ("CONN", "HANDLE"): CONNECTION_HANDLES}
"""What DISPLAY QSTATUS and CONN show of TYPE(HANDLE)."""
QUEUE = "QUEUE"
"""DISPLAY shows all kinds of queues by this word."""


class Script:
    """A run of commands on one connection.

    echo: whether each is shown before its answer. summary: whether they are counted at the end.
    """

    def __init__(self, qm: Connection, *, echo: bool = True, summary: bool = True) -> None:
        self._qm = qm
        self._echo = echo
        self._summarized = summary
        self.commands = 0
        self.wrong = 0
        self.failed = 0

    def run(self, lines: Iterable[str]) -> Iterator[str]:
        """Do what the lines say; yield what is to be shown, as it comes.

        Raises ConnectionBroken when the queue manager cannot be reached any more.
        """
        for line in lines_of(lines):
            if self._echo:
                yield f"{line.number:6} : {line.text}"
            statement, problem = _read(line)
            self.commands += 1
            if statement is not None and statement.verb == "END":
                self.commands -= 1
                break
            if statement is None:
                self.wrong += 1
                yield from problem
            else:
                yield from self._done(statement)
        if self._summarized:
            yield from self._summary()

    def _done(self, statement: Statement) -> Iterator[str]:
        try:
            yield from command(self._qm, statement)
        except NotMqscError as problem:
            self.wrong += 1
            yield from answers.not_mqsc(problem.text, problem.near)
        except RefusedError as refusal:
            self.failed += 1
            yield refusal.told
        except ConnectionBroken as error:
            self.failed += 1
            yield answers.failed(error)
            raise
        except Error as error:
            self.failed += 1
            yield answers.failed(error)

    def _summary(self) -> Iterator[str]:
        yield f"{_counted(self.commands, 'MQSC command')} read."
        if self.wrong:
            yield f"{_counted(self.wrong, 'command')} not understood, and not done."
        if self.failed:
            yield f"{_counted(self.failed, 'command')} refused by the queue manager."
        if not self.wrong and not self.failed:
            yield "All of them were done."


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _read(line: Line) -> tuple[Statement | None, list[str]]:
    if line.problem:
        return None, answers.not_mqsc(line.problem, "")
    try:
        return parse(line.text), []
    except NotMqscError as problem:
        return None, answers.not_mqsc(problem.text, problem.near)


class RefusedError(Exception):
    """A command could not be done. told: the line that says so."""

    def __init__(self, told: str) -> None:
        super().__init__(told)
        self.told = told


def command(qm: Connection, statement: Statement) -> Iterator[str]:
    """Do one command; yield the lines of its answer.

    Raises NotMqscError, RefusedError, and the errors of the SDK.
    """
    if statement.verb == "DISPLAY":
        yield from display(qm, statement)
        return
    if (statement.verb, statement.kind) == ("CLEAR", "TOPICSTR"):
        yield from _clear_topics(qm, statement)
        return
    verbs: dict[str, Callable[[Connection, Kind, Statement], Iterator[str]]] = {
        "DEFINE": _define,
        "ALTER": _alter,
        "DELETE": _delete,
        "CLEAR": _clear,
        "STOP": _stop,
        "PING": _ping,
    }
    kind = SHOWN.get(statement.kind)
    if kind is None or (statement.verb, _family(kind)) not in answers.NUMBERS:
        raise NotMqscError(f"there is no {statement.verb} {statement.kind}", statement.kind)
    yield from verbs[statement.verb](qm, kind, statement)


def _family(kind: Kind) -> str:
    return QUEUE if kind.has_queue_name else kind.word


def _define(qm: Connection, kind: Kind, statement: Statement) -> Iterator[str]:
    given = meaning.given(kind, statement)
    attributes = given.attributes
    if given.like:
        attributes = objects.attributes_like(qm, kind, given.like) | attributes
    objects.define(qm, kind, statement.name, attributes, given.replace)
    yield answers.done("DEFINE", kind, statement.name, _ignored(given))


def _alter(qm: Connection, kind: Kind, statement: Statement) -> Iterator[str]:
    given = meaning.given(kind, statement)
    if given.attributes:
        objects.alter(qm, kind, statement.name, given.attributes)
    elif not given.ignored:
        raise NotMqscError(f"ALTER {kind.word} names no attribute to change", kind.word)
    yield answers.done("ALTER", kind, statement.name or qm.name, _ignored(given))


def _ignored(given: meaning.Given) -> str:
    return f" ({', '.join(given.ignored)} without effect)" if given.ignored else ""


def _delete(qm: Connection, kind: Kind, statement: Statement) -> Iterator[str]:
    given = meaning.given(kind, statement)
    objects.delete(qm, kind, statement.name, given.purge)
    yield answers.done("DELETE", kind, statement.name)


def _clear(qm: Connection, kind: Kind, statement: Statement) -> Iterator[str]:
    if kind.word != "QLOCAL" or statement.parameters:
        raise NotMqscError(
            "CLEAR takes the name of a local queue, such as CLEAR QLOCAL(A)", kind.word
        )
    count = objects.clear(qm, statement.name)
    yield answers.done("CLEAR", kind, statement.name, f", of {_counted(count, 'message')}")


def _clear_topics(qm: Connection, statement: Statement) -> Iterator[str]:
    """CLEAR TOPICSTR: + and # stand for levels. What there is, is all of this queue manager."""
    given = {one.keyword: one.values for one in statement.parameters}
    words = {keyword: values[0].text for keyword, values in given.items() if values}
    if words.pop("CLRTYPE", "") != "RETAINED" or words.pop("SCOPE", "LOCAL") != "LOCAL" or words:
        raise NotMqscError(
            "CLEAR TOPICSTR takes CLRTYPE(RETAINED), and SCOPE(LOCAL) or nothing", statement.name
        )
    count = qm.clear_retained(statement.name)
    yield answers.cleared_topics(statement.name, _counted(count, "topic"))


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
            raise NotMqscError(f"there is no DISPLAY {statement.kind}", statement.kind)
        kind = HANDLES.get((shown.word, meaning.type_of(statement)), shown)
        asked = meaning.asked(kind, statement)
        _check_types(kind, asked)
        found = objects.find(qm, kind, statement.name)
    found = objects.passing(found, asked.filters)
    if not found:
        raise RefusedError(answers.not_found(kind, statement.name, bool(asked.filters)))
    for one in found:
        wanted = asked.attributes or frozenset(one.kind.rows)
        yield from answers.shown(one, wanted | {row.name for row in one.kind.always})


def _check_types(kind: Kind, asked: meaning.Asked) -> None:
    row = kind.by_keyword("TYPE")
    known = row.choices if row is not None else ()
    if kind.has_queue_name:
        known = (kind.word,)
    if any(one not in known for one in asked.types):
        raise NotMqscError(f"DISPLAY {kind.word} has no such TYPE", "TYPE")


def _queues(qm: Connection, statement: Statement) -> tuple[list[Found], meaning.Asked, Kind]:
    """DISPLAY QUEUE: keywords may be of any kind of queue."""
    every = DEFINED["QLOCAL"]
    rows = {name: row for word in QUEUE_WORDS for name, row in DEFINED[word].rows.items()}
    kind = Kind(every.kind, QUEUE, every.noun, every.name_keyword, every.name_number, rows)
    asked = meaning.asked(kind, statement)
    words = asked.types or QUEUE_WORDS
    unknown = [word for word in words if word not in QUEUE_WORDS]
    if unknown:
        raise NotMqscError(f"TYPE takes {', '.join(QUEUE_WORDS)}, not {unknown[0]}", "TYPE")
    return objects.find_queues(qm, words, statement.name), asked, every


def run(qm: Connection, text: str) -> str:
    """Do what a text says and return what is to be shown, a line each."""
    return "".join(f"{line}\n" for line in Script(qm).run(text.splitlines()))
