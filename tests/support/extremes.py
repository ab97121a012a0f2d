"""Inputs of core with one value at an end of its type: what core accepts of them can be written.

Before a step of a run, a copy of its core is given the same input with one value changed to the
largest, the smallest, the longest there is. Core refuses it, or what it does is written in entries
and snapshots, and read again as it was.

Nothing of an input is listed by hand: what a command or an arrival holds is found by its fields, so
that a new field is tried from then on.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import suppress
from random import Random
from typing import Annotated, Any, Final, get_args, get_origin

import msgspec

from adapter.core import dispatch
from adapter.core.contract.commands import Request
from adapter.core.contract.records import QueueRestored
from adapter.core.effects import Effects
from adapter.core.inputs import Arrived, Audited, Fed, FeedBegins, Input, Introduced
from adapter.core.model.manager import QueueManager
from adapter.runtime.owner.snapshots import parts_of
from adapter.storage.format import entries
from tests.support.hard_state import snapshot_of
from tests.support.runs import Given, Run

NUMBERS: Final = (
    *(0, 1, 2, 10, 255, 65_535, 2**31 - 1, 2**31, 2**32, 2**53, 2**62, 2**63 - 1),
    *(-1, -2, -(2**31), -(2**31) - 1, -(2**63)),
)
UNSIGNED: Final = (2**63, 2**63 + 1, 2**64 - 1)
"""What the wire carries besides: an input that no client sent has none of these."""
WIDE: Final = "\U0001f600"
TEXTS: Final = ("", "x", "\0", "ä\n", WIDE, WIDE * 48, "x" * 48, "x" * 249, "x" * 5_000)
LAST_BYTES: Final = 8
"""Of an id they are the number: of a unit in its session."""

FROM_OUTSIDE: Final = (Request, Arrived, Fed, FeedBegins, Introduced, Audited)
"""What others say; of other inputs the owner itself makes each value."""
OWN_FIELDS: Final = frozenset({"code"})
"""Of these too: it is what the owner found wrong with an arrival."""

Change = Callable[[Any], None]
Place = tuple[str, Any, Change]
"""Where a value is, the value, and what replaces it."""


class Extremes:
    """Tries some inputs of a run: for Run.replay."""

    def __init__(self, run: Run, chance: Random, tries: int) -> None:
        self._chance = chance
        said = [at for at, one in enumerate(run.inputs) if isinstance(one.given, FROM_OUTSIDE)]
        self._tried = frozenset(chance.choices(said, k=tries) if said else ())

    def __call__(self, qm: QueueManager, number: int, one: Given) -> None:
        found = changed(one.given, self._chance) if number in self._tried else None
        if found is None:
            return
        given, what = found
        again = copy.deepcopy(qm)
        try:
            check_written(again, dispatch.step(again, one.now, given))
        except Exception as error:
            raise AssertionError(f"input {number}, {what}") from error


def check_written(qm: QueueManager, effects: Effects) -> None:
    """What a step caused, and the state behind it, are read as they were written."""
    logged = [record for record in effects.records if record.logged]
    assert entries.decode(entries.encode(logged)) == logged
    described = list(dispatch.snapshot(qm))
    read = [one for part in parts_of(described) for one in entries.decode(part)]
    assert read == described
    restored = QueueManager(qm.name, bytes(16), qm.limits)
    for record in read:
        assert dispatch.replay(restored, record) == "", record
    known, again = snapshot_of(qm), snapshot_of(restored)
    for one in (*known.values(), *again.values()):
        if isinstance(one, QueueRestored):
            one.attributes.pop("kept_bytes", None)  # of what is not in memory, an estimate
    assert again == known


def changed(given: Input, chance: Random) -> tuple[Input, str] | None:
    """Return a copy of an input in which one value is another one, and which; None: there is none.

    What a client sends is changed in its command, and goes through its wire form.
    """
    again = copy.deepcopy(given)
    of_client = isinstance(again, Request)
    inner = again.command if isinstance(again, Request) else again
    if chance.randrange(2):
        _fill(inner, chance)
    places = list(_places(inner, type(inner).__name__))
    if not places:
        return None
    name, value, put = chance.choice(places)
    new = _another(value, chance, of_client=of_client)
    put(new)
    what = f"{name}: {new!r}"
    if not isinstance(again, Request):
        return again, what
    kind = type(again.command)
    try:
        again.command = msgspec.msgpack.decode(msgspec.msgpack.encode(again.command), type=kind)
    except (msgspec.ValidationError, TypeError):
        return None
    return again, what


def _fill(one: Any, chance: Random) -> None:
    """Let parts be there that an input may leave out: a client may say each of them."""
    if isinstance(one, (list, dict)):
        for part in one.values() if isinstance(one, dict) else one:
            _fill(part, chance)
    if not isinstance(one, msgspec.Struct):
        return
    for field in msgspec.structs.fields(one):
        value = getattr(one, field.name)
        if value is None and chance.randrange(2):
            made = next(filter(None, map(_made_of, get_args(field.type))), None)
            msgspec.structs.force_setattr(one, field.name, made)
        else:
            _fill(value, chance)


def _made_of(kind: Any) -> Any:
    """Return a value of a kind that may be left out, if one can be made without knowing more."""
    if get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    if get_origin(kind) is dict:
        return {"name": 1}
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        with suppress(TypeError):  # it has fields without defaults
            return kind()
    return None


def _places(one: Any, path: str) -> Iterator[Place]:
    """Find the values within a value, and how each is replaced."""
    if isinstance(one, msgspec.Struct):
        for name in one.__struct_fields__:
            if name not in OWN_FIELDS:
                yield from _place(getattr(one, name), f"{path}.{name}", _set_field(one, name))
    elif isinstance(one, (list, dict)):
        for key in range(len(one)) if isinstance(one, list) else list(one):
            yield from _place(one[key], f"{path}.{key}", _set_item(one, key))


def _place(value: Any, path: str, put: Change) -> Iterator[Place]:
    if isinstance(value, (int, str, bytes)):
        yield path, value, put
    elif isinstance(value, tuple):
        for at in range(len(value)):
            yield f"{path}.{at}", value[at], _set_part(value, at, put)
    else:
        yield from _places(value, path)


def _set_field(one: Any, name: str) -> Change:
    return lambda value: msgspec.structs.force_setattr(one, name, value)


def _set_item(one: Any, key: Any) -> Change:
    def put(value: Any) -> None:
        one[key] = value

    return put


def _set_part(parts: tuple[Any, ...], at: int, put: Change) -> Change:
    return lambda value: put((*parts[:at], value, *parts[at + 1 :]))


def _another(value: Any, chance: Random, *, of_client: bool) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return chance.choice(NUMBERS + UNSIGNED if of_client else NUMBERS)
    if isinstance(value, str):
        return chance.choice(TEXTS)
    if isinstance(value, bytes):
        number = chance.choice((*UNSIGNED, 0, 1, 2**63 - 1)).to_bytes(LAST_BYTES, "big")
        same_length = value[:-LAST_BYTES] + number, b"\xff" * len(value)
        if not of_client:  # it has been read by a schema, which says how long
            return chance.choice(same_length)
        return chance.choice((same_length[0], *same_length, b"", value * 300))
    return value
