"""What the commands of a transcript mean, and how their outcomes are printed.

One World is one queue manager with its clients. Ids are printed as symbols in the order in which
they appear (m1, m2, ... and the names of units), so that a transcript is the same every time.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec import Struct

from adapter.core import inputs
from adapter.core.attributes.objects import KINDS, QUEUE_MANAGER
from adapter.core.attributes.queue import QUEUE_ATTRIBUTES
from adapter.core.contract import commands as c
from adapter.core.contract.details import Details
from adapter.core.contract.message import ID_LENGTH, NO_ID, TERM_BITS, Delivered, MessageData
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import (
    Descriptions,
    Done,
    Messages,
    ObjectDescription,
    Objects,
    Opened,
    PutDone,
    QueueDescription,
    QueueStatus,
    Refused,
    Result,
    Statuses,
    Subscribed,
    UnitOutcome,
)
from adapter.core.contract.traits import is_durable, is_one_way
from adapter.core.mq_layouts import dead_letter, trigger_message
from tests.scenarios import authorities, broker, exports, feeds, msmq, topics
from tests.scenarios.arrivals import InboundTopic
from tests.scenarios.beyond import (
    FLAGS,
    PUT_OPTIONS,
    PUT_WORDS,
    group_parts,
    options_of,
    report_of,
    warning,
)
from tests.scenarios.drivers import Answered, Driver
from tests.scenarios.language import Call, TranscriptError, call_of
from tests.scenarios.people import Person
from tests.scenarios.values import duration_ms, place_of, value_of

MODES = {
    "input": c.INPUT,
    "exclusive": c.EXCLUSIVE,
    "output": c.OUTPUT,
    "browse": c.BROWSE,
    "inquire": c.INQUIRE,
    "set": c.SET,
    "co_op": c.CO_OP,
}
BODY_SHOWN = 40


class Sent(Struct):
    """A request on its way. number: of a durable command."""

    person: Person
    request: int


OWN_NAME = "QM1"
"""What a transcript calls its queue manager, whatever the name is that it has."""


class World:
    """A queue manager and its clients, as a transcript sees them."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._people: dict[str, Person] = {}
        self.guids = broker.Guids()
        self._ids: dict[bytes, str] = {}
        self._unit_names: dict[bytes, str] = {}
        self._waits = 0
        self._show_numbers = False
        self._inbound = InboundTopic(driver.queue_manager)

    def do(self, command: str) -> list[str]:
        """Do one command and return what it prints."""
        call = call_of(command)
        manage = MANAGE.get(call.verb)
        if manage is not None:
            return manage(self, call)
        make = COMMANDS.get(call.verb)
        if make is None:
            raise TranscriptError(f"there is no verb {call.verb!r}")
        person = self._person(call.client)
        command_of_core = make(self, person, call)
        if call.options:
            raise TranscriptError(f"{call.verb} does not take {', '.join(call.options)}")
        return self._send(person, command_of_core)

    # -- clients

    def _person(self, name: str) -> Person:
        """Return a client, connected and with its session."""
        person = self._people.setdefault(name, Person(name))
        if not person.connected:
            self._driver.connect(name)
            person.connected = True
            if not person.opened:
                self._quietly(person, c.SessionOpen(person.session))
                person.opened = True
            else:
                self._quietly(person, c.SessionResume(person.session, [], person.issued))
        return person

    def _quietly(self, person: Person, command: c.Command) -> list[str]:
        lines = self._send(person, command)
        assert lines[0] == "ok", lines
        return lines[1:]

    def _send(
        self, person: Person, command: c.Command, number: int | None = None, *, heard: bool = True
    ) -> list[str]:
        """Send a command; return its outcome, and what else it caused."""
        if is_one_way(command) and not isinstance(command, c.Begin):
            self._driver.send(person.name, 0, 0, command)
            return ["sent", *self._settle(person, 0)]
        if number is None:
            number = 0
            if is_durable(command):
                number = person.issued = person.issued + 1
                person.sent[number] = command
        person.requests += 1
        person.numbers[person.requests] = number
        self._driver.send(person.name, person.requests, number, command)
        if not heard:
            person.unheard.add(number)
        elif number in person.unheard:
            person.unheard.remove(number)
        return self._settle(person, person.requests)

    def _settle(self, person: Person, request: int) -> list[str]:
        own: list[str] = []
        others: list[str] = []
        for answered in self._driver.settle(person.name):
            if (answered.client, answered.request) == (person.name, request):
                own = self._own(person, answered)
            else:
                others += self._other(answered)
        if request and not own and person.connected:
            self._waits += 1
            person.waits[request] = f"w{self._waits}"
            own = [f"waits as w{self._waits}"]
        return own + others

    def _own(self, person: Person, answered: Answered) -> list[str]:
        number = person.numbers[answered.request]
        lines = self._shown(answered.result)
        if number and number not in person.unheard:
            self._driver.seen(person.name, number)
        if number and self._show_numbers:
            lines[0] += f" (#{number})"
        return lines

    def _other(self, answered: Answered) -> list[str]:
        person = self._people[answered.client]
        if not answered.request:
            self._gone(person)
            return [f"{person.name} is disconnected: {self._shown(answered.result)[0]}"]
        wait = person.waits.pop(answered.request)
        if person.numbers[answered.request]:
            self._driver.seen(person.name, person.numbers[answered.request])
        return [f"{wait} ends: {line}" for line in self._shown(answered.result)]

    def _gone(self, person: Person) -> None:
        person.connected = False
        person.handles.clear()
        person.waits.clear()

    # -- commands that are no requests

    def _advance(self, call: Call) -> list[str]:
        self._driver.advance(duration_ms(call.words[0]) / 1000)
        return self._everywhere()

    def _disconnect(self, call: Call) -> list[str]:
        person = self._people[call.client]
        self._driver.disconnect(person.name)
        self._gone(person)
        return self._everywhere()

    def _restart(self, call: Call) -> list[str]:
        self._driver.restart(clean=call.verb == "restart")
        for person in self._people.values():
            self._gone(person)
        return []

    def _resume(self, call: Call) -> list[str]:
        """Come back and say which numbers are unanswered."""
        person = self._people[call.client]
        if person.connected:
            raise TranscriptError(f"{person.name} is connected: disconnect first")
        self._driver.connect(person.name)
        person.connected = True
        unanswered = [int(word.removeprefix("#")) for word in call.words]
        return self._send(person, c.SessionResume(person.session, unanswered, person.issued))

    def _again(self, call: Call) -> list[str]:
        person = self._person(call.client)
        number = int(call.words[0].removeprefix("#"))
        return self._send(person, person.sent[number], number)

    def _lost(self, call: Call) -> list[str]:
        """Give a number out to a command that never arrives."""
        person = self._person(call.client)
        command = self._within(person, call)
        person.issued += 1
        person.sent[person.issued] = command
        return [f"lost on its way (#{person.issued})"]

    def _unheard(self, call: Call) -> list[str]:
        """Send a durable command whose answer does not reach the client."""
        person = self._person(call.client)
        first, *rest = self._send(person, self._within(person, call), heard=False)
        return [f"unheard: {first}", *rest]

    def _within(self, person: Person, call: Call) -> c.Command:
        verb, *words = call.words
        return COMMANDS[verb](self, person, Call(call.client, verb, words, call.options))

    def _arrive(self, call: Call) -> list[str]:
        """Let records arrive from another queue manager."""
        units = self._inbound.append(call)
        waits: list[str] = []
        for unit in units:
            qm = self._driver.give(lambda _, unit=unit: inputs.Arrived(unit))  # type: ignore[misc]
            name = qm.arrivals.blocked.get(unit.topic, "")
            waits += [f"waits for room at {name}"] if name else []
        return waits or (self._everywhere() if units else ["no unit is whole"])

    def _limits(self, _: Call) -> list[str]:
        raise TranscriptError("limits are the first command, or none")

    def _numbers(self, _: Call) -> list[str]:
        self._show_numbers = True
        return []

    def _everywhere(self) -> list[str]:
        lines = [line for each in self._driver.settle("") for line in self._other(each)]
        return lines or ["ok"]

    # -- commands of core

    def _define(self, _: Person, call: Call) -> c.Command:
        replace = "replace" in call.words[1:]
        return c.DefineQueue(call.words[0], attributes(call), replace)

    def _alter(self, _: Person, call: Call) -> c.Command:
        return c.AlterQueue(call.words[0], attributes(call))

    def _delete(self, _: Person, call: Call) -> c.Command:
        return c.DeleteQueue(call.words[0], "purge" in call.words[1:])

    def _purge(self, _: Person, call: Call) -> c.Command:
        return c.PurgeQueue(call.words[0])

    def _set(self, person: Person, call: Call) -> c.Command:
        return c.SetAttributes(self._handle(person, call), attributes(call))

    def _define_object(self, _: Person, call: Call) -> c.Command:
        replace = "replace" in call.words[2:]
        given = attributes(call)
        if given.get("remote_queue_manager") == OWN_NAME:
            given["remote_queue_manager"] = self._driver.queue_manager
        return c.DefineObject(call.words[0], call.words[1], given, replace)

    def _alter_object(self, _: Person, call: Call) -> c.Command:
        kind, name = call.words
        name = self._driver.queue_manager if kind == QUEUE_MANAGER else name
        return c.AlterObject(kind, name, attributes(call))

    def _delete_object(self, _: Person, call: Call) -> c.Command:
        return c.DeleteObject(call.words[0], call.words[1])

    def _display_objects(self, _: Person, call: Call) -> c.Command:
        return c.InquireObjects(call.words[0], call.words[1])

    def _open(self, person: Person, call: Call) -> c.Command:
        dynamic = call.options.pop("name", "")
        name = call.options.pop("as", dynamic or call.words[0])
        handle = person.handles.setdefault(name, len(person.handles) + 1)
        modes = sum(MODES[word] for word in call.words[1:])
        return c.Open(handle, call.words[0], modes, dynamic, call.options.pop("where", ""))

    def _close(self, person: Person, call: Call) -> c.Command:
        delete = c.DELETE * ("delete" in call.words[1:]) + c.PURGE * ("purge" in call.words[1:])
        return c.Close(self._handle(person, call), delete)

    def _begin(self, person: Person, call: Call) -> c.Command:
        name = call.words[0]
        unit = person.session + (len(person.units) + 1).to_bytes(8, "big")
        person.units[name] = unit
        self._unit_names[unit] = name
        return c.Begin(unit, "ahead" in call.words)

    def _touch(self, _: Person, call: Call) -> c.Command:
        return c.Touch(self.unit(call.words[0]))

    def _commit(self, _: Person, call: Call) -> c.Command:
        return c.Commit(self.unit(call.words[0]))

    def _backout(self, _: Person, call: Call) -> c.Command:
        return c.Backout(self.unit(call.words[0]))

    def _outcome(self, _: Person, call: Call) -> c.Command:
        return c.AskOutcome(self.unit(call.words[0]))

    def _put(self, person: Person, call: Call) -> c.Command:
        options = call.options
        unit, kinds = self.unit(options.pop("unit", "")), {"np": 0, "hard": 1}
        flags = sum(FLAGS.get(word, 0) for word in call.words[1:])
        bodies = [body.encode() for body in call.words[1:] if body not in PUT_WORDS]
        if "size" in options:
            bodies.append(b"x" * int(options.pop("size")))
        expiry = options.pop("expiry", "")
        message = MessageData(
            priority=int(options.pop("p", -1)),
            persistence=next((kinds[word] for word in call.words[1:] if word in kinds), -1),
            message_id=self.ident(options.pop("id", "")),
            correlation_id=self.ident(options.pop("correl", "")),
            group_id=self.ident(options.pop("group", "")),
            expiry_ms=duration_ms(expiry) if expiry else -1,
            details=Details(flags=flags) if flags else None,
            report=report_of(options.pop("report", "")),
            reply_to=options.pop("reply_to", ""),
            delay_ms=duration_ms(options.pop("after", "0s")),
        )
        messages = [msgspec.structs.replace(message, body=body) for body in bodies]
        asked = sum(PUT_OPTIONS.get(word, 0) for word in call.words[1:])
        handle, level = self._handle(person, call), int(options.pop("level", 9))
        return c.Put(handle, messages, unit, asked, level)

    def _get(self, person: Person, call: Call) -> c.Command:
        options = call.options
        wait = options.pop("wait", "")
        return c.Get(
            self._handle(person, call),
            self.unit(options.pop("unit", "")),
            -1 if "wait" in call.words else duration_ms(wait) if wait else 0,
            int(options.pop("limit", 1)),
            self.ident(options.pop("id", "")),
            self.ident(options.pop("correl", "")),
            self.ident(options.pop("group", "")),
            "alone" in call.words,
            place_of(options.pop("place", "")),
            *self._options(call),
        )

    def _browse(self, person: Person, call: Call) -> c.Command:
        options = call.options
        return c.Browse(
            self._handle(person, call),
            "first" in call.words,
            int(options.pop("limit", 1)),
            self.ident(options.pop("id", "")),
            self.ident(options.pop("correl", "")),
            self.ident(options.pop("group", "")),
            *self._options(call),
            wait_ms=-1 if "wait" in call.words else 0,
            place=place_of(options.pop("place", "")),
        )

    def _options(self, call: Call) -> tuple[int, int, int]:
        """Read what a get or browse asks for beyond ids: options, number in a group, offset."""
        return options_of(call)

    def _status(self, _: Person, call: Call) -> c.Command:
        return c.AskStatus(call.words[0])

    def _describe(self, _: Person, call: Call) -> c.Command:
        return c.Inquire(call.words[0])

    # -- symbols

    def _handle(self, person: Person, call: Call) -> int:
        """Return the handle of this name; one that is not open has a number that is not either."""
        return person.handles.get(call.words[0], 99)

    def unit(self, name: str) -> bytes:
        if not name:
            return b""
        for person in self._people.values():
            if name in person.units:
                return person.units[name]
        return name.encode().ljust(ID_LENGTH, b"\0")

    def ident(self, name: str) -> bytes:
        """Return the id that is printed so, or one that says so; none if there is no name."""
        known = [ident for ident, symbol in self._ids.items() if symbol == name]
        return known[0] if known else name.encode().ljust(ID_LENGTH, b"\0") if name else b""

    def _symbol(self, ident: bytes) -> str:
        if not ident.startswith(b"MQK "):
            return ident.rstrip(b"\0").decode()
        return self._ids.setdefault(ident, f"m{len(self._ids) + 1}")

    # -- outcomes

    def _shown(self, result: Result) -> list[str]:
        if isinstance(result, Refused):
            return [self._refusal(result)]
        if isinstance(result, PutDone):
            return ["put " + " ".join(map(self._symbol, result.message_ids)) + warning(result)]
        if isinstance(result, Messages):
            lines = [self._message(each) for each in result.messages] or ["no message"]
            return [*lines[:-1], lines[-1] + warning(result)]
        if isinstance(result, UnitOutcome):
            return [result.state]
        if isinstance(result, Statuses):
            return [status_line(each) for each in result.queues] or ["no queue"]
        if isinstance(result, Descriptions):
            said = broker.described(self.guids, result.queues)
            return said or [description_line(each) for each in result.queues] or ["no queue"]
        if isinstance(result, Subscribed):
            return [topics.subscribed(result)]
        if isinstance(result, Opened) and not result.is_transmission:
            return [f"ok, {result.queue}"]
        if isinstance(result, Objects):
            return [object_line(each) for each in result.objects] or ["no object"]
        if isinstance(result, Done):
            return [(f"ok, {result.count}" if result.count else "ok") + warning(result)]
        return ["ok"]

    def _refusal(self, refused: Refused) -> str:
        text = f"refused {Reason(refused.reason).name}"
        text += f" {refused.name}" if refused.name else ""
        text += f": {refused.detail}" if refused.detail else ""
        for ident, name in self._unit_names.items():
            text = text.replace(ident.hex(), name)
        for person in self._people.values():
            text = text.replace(person.session.hex(), person.name)
        return self.guids.named_in(text)

    def _message(self, each: Delivered) -> str:
        message = each.message
        if message.broker is not None:
            return broker.row_line(self.guids, each)
        parts = [
            self._symbol(message.message_id),
            shown(message),
            f"p={message.priority}",
            f"at {each.lane}/{each.seq}" + (f"+{each.n % (1 << TERM_BITS)}" if each.n else ""),
        ]
        if not message.persistence:
            parts.append("np")
        for name in ("correlation_id", "group_id"):
            ident = getattr(message, name)
            if ident != NO_ID and not (name == "group_id" and ident.startswith(b"MQK ")):
                parts.append(f"{name.split('_')[0][:6]}={self._symbol(ident)}")
        parts += group_parts(message)
        if message.expires_at_ms:
            parts.append(f"expiry={message.expiry_ms / 1000:g}s")
        if each.unit in self._unit_names:
            parts.append(f"unit={self._unit_names[each.unit]} {numbers(each)}")
        if each.backout_count:
            parts.append(f"backed out {each.backout_count}")
        return " ".join(parts)


def numbers(each: Delivered) -> str:
    """Say which message of its unit it is, and of those on this queue."""
    return (
        f"{each.unit_index + 1}/{each.unit_size}"
        f" here {each.queue_unit_index + 1}/{each.queue_unit_size}"
    )


def shown(message: MessageData) -> str:
    """Say what the queue manager's own messages say; quote another one's body."""
    header, rest = dead_letter.split(message.format, message.body)
    if header is not None:
        said = shown_trigger if header.format == trigger_message.FORMAT else shown_body
        return f"dead, {header.reason} at {header.destination}, {said(rest)}"
    return shown_trigger(rest) if message.format == trigger_message.FORMAT else shown_body(rest)


def shown_trigger(body: bytes) -> str:
    """Say for which queue a trigger message is, and what is to be started."""
    said = trigger_message.from_tm(body)
    started = f": {said.process} {said.appl_id}".rstrip() if said.process else ""
    data = f", {said.trigger_data}" if said.trigger_data else ""
    return f"<trigger for {said.queue}{started}{data}>"


def shown_body(body: bytes) -> str:
    """Quote a body, or say how long it is."""
    return f'"{body.decode()}"' if len(body) <= BODY_SHOWN else f"({len(body)} bytes)"


def status_line(status: QueueStatus) -> str:
    """Print the figures of a queue, zeros left out."""
    priorities = [f"p{n}:{count}" for n, count in enumerate(status.depth_by_priority) if count]
    listed = f" ({' '.join(reversed(priorities))})" * bool(priorities)
    figures = [
        f"depth {status.current_depth}{listed}",
        f"uncommitted puts {status.uncommitted_puts}" * bool(status.uncommitted_puts),
        f"uncommitted gets {status.uncommitted_gets}" * bool(status.uncommitted_gets),
        f"open for input {status.open_input_count}" * bool(status.open_input_count),
        f"open for output {status.open_output_count}" * bool(status.open_output_count),
        f"waiting {status.waiting_gets}" * bool(status.waiting_gets),
        f"oldest {status.oldest_message_age_s:g}s" * bool(status.oldest_message_age_s),
        f"delayed {status.delayed}" * bool(status.delayed),
    ]
    return f"{status.name}: " + ", ".join(filter(None, figures))


def description_line(queue: QueueDescription) -> str:
    """Print a queue and the attributes that are not as defined by default."""
    given = {
        name: value
        for name, value in queue.attributes.items()
        if value != QUEUE_ATTRIBUTES[name].default
    }
    name = f"{queue.name} (incarnation {queue.incarnation})" if queue.incarnation else queue.name
    return " ".join([name, *(f"{key}={text_of(value)}" for key, value in given.items())])


def object_line(each: ObjectDescription) -> str:
    """Print an object and the attributes that are not as defined by default."""
    rows = KINDS[each.kind]
    given = {
        name: value
        for name, value in each.attributes.items()
        if name != "ident" and value != rows[name].default
    }
    return " ".join([each.name, *(f"{key}={text_of(value)}" for key, value in given.items())])


def text_of(value: object) -> str:
    """Write an attribute value as transcripts do."""
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def attributes(call: Call) -> dict[str, object]:
    """Read NAME=VALUE as attributes: yes and no, numbers, texts."""
    given = {name: value_of(value) for name, value in call.options.items()}
    call.options.clear()
    return given


COMMANDS: dict[str, Callable[[World, Person, Call], c.Command]] = {
    "define": World._define,
    "alter": World._alter,
    "delete": World._delete,
    "purge": World._purge,
    "set": World._set,
    "open": World._open,
    "close": World._close,
    "begin": World._begin,
    "touch": World._touch,
    "commit": World._commit,
    "backout": World._backout,
    "outcome": World._outcome,
    "put": World._put,
    "get": World._get,
    "browse": World._browse,
    "show": World._status,
    "describe": World._describe,
    "def": World._define_object,
    "alt": World._alter_object,
    "del": World._delete_object,
    "dis": World._display_objects,
    **(topics.COMMANDS | msmq.COMMANDS | broker.COMMANDS | authorities.COMMANDS),
    "seek": feeds.seek,
    "open_topic": exports.open_topic,
}
MANAGE: dict[str, Callable[[World, Call], list[str]]] = {
    "advance": World._advance,
    "disconnect": World._disconnect,
    "restart": World._restart,
    "crash": World._restart,
    "resume": World._resume,
    "again": World._again,
    "lost": World._lost,
    "unheard": World._unheard,
    "limits": World._limits,
    "numbers": World._numbers,
    "arrive": World._arrive,
    "garbage": World._arrive,
    **(feeds.MANAGE | authorities.MANAGE),
}
