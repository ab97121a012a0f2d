"""Every argument of every verb, given what no program should give it.

A verb takes it or raises an error of adapter.errors; nothing costs the connection. Which values are
taken, and which error is raised, is said in test_arguments.
"""

import inspect
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import adapter
from adapter import errors as e
from adapter.client.attributes import QueueDefinition, QueueManagerSettings
from adapter.client.message import PutFields
from adapter.client.producing import RecordFields
from adapter.core.contract.details import Details
from tests.drivers import TASKS, Driver
from tests.support.loopback import Loopback


class WithoutText:
    """A value that cannot be shown."""

    def __repr__(self) -> str:
        raise RuntimeError("it has no text")


NAIVE = datetime.fromisoformat("2030-01-01")
FIELD: tuple[Any, ...] = (
    *(None, -1, 2**31, 2**70, 10**5000, 1.5, "\ud800", "x" * 49, "é" * 25, b"x", []),
)
NASTY: tuple[Any, ...] = (
    *(None, True, 0, -1, 2**31, 2**63, 2**64, 10**400, -(10**400), 10**5000),
    *(0.001, float("nan"), float("inf"), float("-inf"), 1e17, 1e308),
    *("", " ", "Q", "\ud800", "a\0b", "é" * 30, "x" * 70_000, "None"),
    *(b"", b"x", b"\xff" * 25, bytearray(b"x"), memoryview(bytes(40)).cast("I")),
    *([], {}, (), [1], {1: 2}, {"a": []}, {"a": "\ud800"}, [[]], ["\ud800"], {1}, [None]),
    *(timedelta.max, timedelta.min, datetime(9999, 12, 31, tzinfo=UTC), NAIVE),
    *(object(), WithoutText(), int, len, Ellipsis, 1j),
)
"""Values of all kinds. No number of them is one that a connection has."""
DEAD_LETTERS = tuple(
    adapter.DeadLetter(**{name: value})
    for name in adapter.DeadLetter.__struct_fields__
    for value in FIELD
)
DETAILS = tuple(Details(**{name: value}) for name in Details.__struct_fields__ for value in FIELD)
MORE = {"dead_letter": DEAD_LETTERS, "details": DETAILS}
"""Values of further arguments, which have fields of their own."""
GIVEN: dict[str, Any] = {
    "name": "Q",
    "queue": "Q",
    "consumer": "C",
    "topic": "a/b",
    "kind": "alias",
    "body": b"x",
    "value": b"x",
    "messages": [b"x"],
    "queues": [("Q", 1)],
    "records": [b"x"],
    "timeout": 0,
    "number": 99,
    "unit_id": b"u" * 24,
    "place": (0, 1, 0),
    "message_id": b"i" * 24,
    "user": "ann",
    "profile": "Q",
    "role": "app-put",
    "to": "LATEST",
    "schema": 1,
    "message": adapter.Message(b"x", reply_to="Q"),
    "after": 0,
    "through": 0,
    "limit": 1,
    "token": "a.b.c",
}
"""What the other arguments of a verb are given, if it needs them."""
FIELDS: dict[str, type] = {
    **dict.fromkeys(("put", "put_value", "publish", "request", "reply"), PutFields),
    **dict.fromkeys(("define_queue", "alter_queue", "set"), QueueDefinition),
    **dict.fromkeys(("define_object", "alter_object"), QueueDefinition),
    "alter_queue_manager": QueueManagerSettings,
    "produce": RecordFields,
}
"""What the verbs with any arguments of their own take."""
ENDS = {"close", "disconnect", "stop_queue_manager", "switch_queue_manager", "events"}
ENDS |= {"renew_token"}
"""Verbs that end what others need, or that the scripted queue manager does not know."""
KINDS: dict[str, tuple[type, Callable[[adapter.Connection], Any]]] = {
    "connection": (adapter.Connection, lambda qm: qm),
    "queue": (adapter.Queue, lambda qm: qm.queue("Q")),
    "subscription": (adapter.Subscription, lambda qm: qm.subscribe("a/#")),
    "consumer": (adapter.Consumer, lambda qm: qm.consumer("Q", "C")),
    "topic": (adapter.KafkaTopic, lambda qm: qm.kafka_topic("orders")),
    "unit": (adapter.Unit, lambda qm: qm.unit()),
}
ARGUMENTS_KINDS = [inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL]


INNER = {
    *("await_outcome", "belongs_to", "check_open", "commit_among", "give_up", "pause", "perform"),
    *("put_later", "send_kept", "settle", "submit"),
}
"""What other modules of the client call."""


def verbs() -> Iterator[tuple[str, str]]:
    for kind, (of, _) in KINDS.items():
        for name, _ in inspect.getmembers(of, callable):
            if not name.startswith("_") and name not in ENDS | INNER:
                yield kind, name


def arguments(kind: str, verb: str) -> tuple[dict[str, Any], set[str]]:
    """Return what a verb needs, and each name that it takes."""
    parameters = inspect.signature(getattr(KINDS[kind][0], verb)).parameters
    needed: dict[str, Any] = {}
    taken: set[str] = set()
    for name, one in list(parameters.items())[1:]:
        if one.kind in ARGUMENTS_KINDS:
            taken |= FIELDS[verb].__annotations__.keys()
            continue
        taken.add(name)
        if one.default is one.empty or name == "timeout":
            needed[name] = GIVEN[name]
    return needed, taken


def call(of: Any, verb: str, given: dict[str, Any]) -> None:
    """Call a verb; what it returns is read from, if it can be."""
    found = getattr(of, verb)(**given)
    if verb in ("browse", "units"):
        with suppress(StopIteration):
            next(found)


@pytest.mark.parametrize(("kind", "verb"), list(verbs()))
def test_of_a_verb(driver: Driver, qm: adapter.Connection, kind: str, verb: str) -> None:
    qm.define_queue("Q", replace=True)
    of = KINDS[kind][1](qm)
    needed, taken = arguments(kind, verb)
    for name in sorted(taken - ({"cancel"} if driver.name == TASKS else set())):
        for value in (*NASTY, *MORE.get(name, ())):
            if name in ("timeout", "wait_s") and value is None:
                continue  # it waits for ever
            try:
                call(of, verb, {**needed, name: value})
            except e.Error as error:
                assert error.text, (name, type(value))  # noqa: PT017
            except Exception as error:
                raise AssertionError(
                    f"{verb}({name}=a value of {type(value).__name__}): {error!r}"
                ) from error
    assert qm.statistics()["connections_lost"] == 0


def test_of_messages(qm: adapter.Connection) -> None:
    queue = qm.queue("Q")
    for name in adapter.Message.__struct_fields__:
        for value in (*NASTY, *MORE.get(name, ())):
            try:
                message = adapter.Message(**{name: value})
                if not isinstance(value, WithoutText):
                    assert repr(message)
                queue.put(message)
                qm.reply(message, b"")
            except e.Error:
                pass
            except Exception as error:
                raise AssertionError(f"{name}={type(value).__name__}: {error!r}") from error
    assert qm.statistics()["connections_lost"] == 0


def test_of_connect(server: Loopback, driver: Driver) -> None:
    for name in inspect.signature(adapter.connect).parameters:
        for value in NASTY:
            given: dict[str, Any] = {"connect_timeout_s": 0.1, name: value}
            address = given.pop("address", server.address)
            if name in ("bootstrap_servers", "wait_s") and value not in (None, ""):
                continue  # it looks for a Kafka, or waits
            try:
                driver.connect(address, **given).close()
            except e.Error:
                pass
            except Exception as error:
                raise AssertionError(f"{name}={type(value).__name__}: {error!r}") from error


class Text(str):
    """As template engines and YAML readers have it."""

    __slots__ = ()


class Whole(int):
    """As an IntEnum."""


class Number(float):
    """As numpy has it."""

    __slots__ = ()


class Data(bytes):
    """Bytes of a type of their own."""


PLAIN: tuple[Any, ...] = (
    *("Q", "a/b", "LATEST", "alias", "ann", 1, 0, 0.001, b"x", "a.b.c"),
    *({"a": "x", "b": 1, "c": 0.5, "d": b"x"}, {"a": [1, "x"]}, ["Q"], [("Q", 1)], (0, 1, 0)),
    adapter.Message(b"x", reply_to="Q", priority=1, properties={"a": "x"}),
    Details(identity_data="x", appl_type=1),
    adapter.DeadLetter(reason=1, destination="Q"),
)
WRONG_TYPE = (e.InvalidType, e.InvalidAttribute, e.InvalidProperty)


def subclassed(value: Any) -> Any:
    """Return the same value of subclasses of the types that it has."""
    if isinstance(value, dict):
        return {subclassed(name): subclassed(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(subclassed, value))
    if isinstance(value, adapter.Message | Details | adapter.DeadLetter):
        fields = {name: getattr(value, name) for name in value.__struct_fields__}
        return type(value)(**{name: subclassed(one) for name, one in fields.items()})
    made: dict[type, Callable[[Any], Any]] = {str: Text, int: Whole, float: Number, bytes: Data}
    return made[type(value)](value) if type(value) in made else value


def refusal(of: Any, verb: str, given: dict[str, Any]) -> e.Error | None:
    try:
        call(of, verb, given)
    except e.Error as error:
        return error
    return None


@pytest.mark.parametrize(("kind", "verb"), list(verbs()))
def test_a_subclass_of_a_type_is_taken_where_the_type_is(
    driver: Driver, qm: adapter.Connection, kind: str, verb: str
) -> None:
    qm.define_queue("Q", replace=True)
    of = KINDS[kind][1](qm)
    needed, taken = arguments(kind, verb)
    for name in sorted(taken - ({"cancel"} if driver.name == TASKS else set())):
        for value in PLAIN:
            first = refusal(of, verb, {**needed, name: value})
            if isinstance(first, WRONG_TYPE):
                continue
            again = refusal(of, verb, {**needed, name: subclassed(value)})
            assert not isinstance(again, WRONG_TYPE), (name, value, again)
            assert "cannot be sent" not in str(again), (name, value, again)
    assert qm.statistics()["connections_lost"] == 0


def test_connect_takes_texts_of_subclasses(server: Loopback, driver: Driver) -> None:
    for name in ("user", "application", "password", "queue_manager", "token"):
        given = {"queue_manager": "QM1"}.get(name, "a.b.c")
        driver.connect(server.address, **{name: Text(given)}).close()
    driver.connect(Text(server.address)).close()
