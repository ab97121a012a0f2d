"""Commands made up at random: most are understood, many are refused, some are of no shape at all.

What they do is kept to queues whose names begin with N, and to persistent messages that do not
expire, so that a queue manager that starts again must hold the same.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from adapter.core.contract import commands as c
from adapter.core.contract.traits import is_durable

NUMBERS = (0, 1, 2, 3, -1, 9, 10, 255, 65_536, 2**31 - 1, 2**31, -(2**31), 2**63 - 1, -(2**63))
HUGE = 2**64 - 1
NAMES = ("N1", "N2", "N3", "N4", "N/%._", "N" * 48, "N" * 49, "", "no name", "N*", "N[", "Nä\0")
SAFE = "NSAFE"
"""It is put to and got from, and never altered or purged: something stays on it."""
TEXTS = ("", "x", "ä" * 8, "x" * 9, "x" * 65, "\0", "0" * 300)
ATTRIBUTES: dict[str, tuple[Any, ...]] = {
    "max_depth": (0, 3, 999_999_999, 10**9, -1, "3", None, 3.0),
    "def_priority": (0, 9, 10, -1, True),
    "inhibit_put": (True, False, 1),
    "inhibit_get": (True, False, "no"),
    "max_message_length": (0, 100, 4_194_304, 2**40),
    "msg_delivery_sequence": ("FIFO", "PRIORITY", "LIFO"),
    "share": (True, False),
    "backout_threshold": (0, 1, 2, -1),
    "backout_requeue_queue": ("", "N1", "x" * 49),
    "description": ("", "ä" * 64, "x" * 65),
    "no_such_attribute": (1,),
}


class Nonsense:
    """Makes commands for one session."""

    def __init__(self, chance: Random, session: bytes) -> None:
        self._chance = chance
        self._session = session
        self._kinds: list[Callable[[], Any]] = [
            *[self._open] * 3, self._close, *[self._put] * 6, *[self._get] * 4, self._browse,
            *[self._begin] * 2, self._touch, self._commit, self._backout, self._ask,
            *[self._define] * 2, self._alter, self._delete, self._purge, self._inquire,
            self._status, self._set, self._session_open, self._session_resume, self._shapeless,
        ]  # fmt: skip

    def command(self) -> Any:
        """Make one."""
        return self._chance.choice(self._kinds)()

    def is_durable(self, command: Any) -> bool:
        """Say whether a command that is well formed needs a number."""
        if isinstance(command, list):
            return bool(command) and command[0] == 5 and not (len(command) > 3 and command[3])
        return is_durable(command)

    def _number(self) -> int:
        return self._chance.choice(NUMBERS)

    def _handle(self) -> int:
        return self._chance.choice((1, 1, 1, 2, 2, 3, self._number()))

    def _name(self) -> str:
        return self._chance.choice(NAMES[:4] * 3 + NAMES)

    def _unit(self) -> bytes:
        mine = self._session + self._chance.randrange(4).to_bytes(8, "big")
        others = (b"", b"", mine[:20], mine + b"x", self._session[::-1] + bytes(8))
        return self._chance.choice((mine, mine, mine, mine, *others))

    def _ident(self) -> bytes:
        return self._chance.choice((b"", b"", b"", bytes(24), b"x" * 24, b"x" * 23, b"x" * 4000))

    def _open(self) -> c.Open:
        modes = self._chance.choice((13, 13, 13, 63, 2, 4, 8, 0, 64, self._number()))
        return c.Open(self._handle(), self._chance.choice((SAFE, self._name())), modes)

    def _close(self) -> c.Close:
        return c.Close(self._handle())

    def _put(self) -> list[Any]:
        messages = [self._message() for _ in range(self._chance.choice((1, 1, 1, 0, 2, 5)))]
        unit = self._unit()
        options = self._chance.choice((0, 0, 0, 1, c.DEFERRED, c.DEFERRED | 1))
        more = [unit, options] if options else [unit] if unit else []
        return [5, self._handle(), messages, *more]

    def _options(self) -> int:
        """Options of a get or browse: mostly none, or such as there are."""
        if self._chance.random() < 0.7:
            return 0
        return self._chance.choice((1 << self._chance.randrange(10), 3, 9, self._number()))

    def _details(self) -> list[Any]:
        pick = self._chance.choice
        return [
            pick((b"", b"t" * 32, b"short")),
            pick(TEXTS),
            self._number(),
            pick(("", "orig", "much too long")),
            pick((0, 5, self._number())),
            pick((0, 1, 2, 6, 8, 24, 30, self._number())),
            pick((-1, self._number())),
        ]

    def _message(self) -> list[Any]:
        pick = self._chance.choice
        if self._chance.random() < 0.7:
            return [b"sense"]
        fields = [
            pick((b"", b"body", b"x" * 101, b"x" * 5000)),
            *[self._ident() for _ in range(3)],
            pick((1, 1, self._number())),
            pick((False, True)),
            pick((-1, 0, 5, 9, self._number())),
            pick((1, 1, -1, 2)),
            pick((-1, -1, 10**9, 0, -5)),
            pick(TEXTS),
            pick((8, 8, 1, 65_536, self._number())),
            *[pick((0, self._number())) for _ in range(2)],
            546,
            1208,
            *[pick(("", "", *TEXTS)) for _ in range(4)],
            pick((None, None, {}, self._properties())),
            self._number(),
            self._number(),
            "a field of a later release",
        ]
        return fields[: pick((1, 1, 5, 9, 20, 23))]

    def _properties(self) -> dict[Any, Any]:
        pick = self._chance.choice
        values: tuple[Any, ...] = (
            1,
            HUGE,
            -(2**63),
            1.5,
            True,
            None,
            "x" * 50,
            b"x",
            [],
            {"x": 1},
            [[]],
        )
        return {pick(("a", "", "ä", "x" * 200, 7)): pick(values) for _ in range(3)}

    def _get(self) -> c.Get:
        pick = self._chance.choice
        place = pick((None, None, None, (0, 1, 0), (self._number(), self._number(), -1)))
        wait_ms = pick((0, 0, 0, 1, 3, -2, -(2**40), 2**40))
        limit = pick((1, 1, 1, 3, 10_000, self._number()))
        return c.Get(
            self._handle(), self._unit(), wait_ms, limit,
            self._ident(), self._ident(), self._ident(), pick((False, True)), place,
            self._options(), pick((1, 2, self._number())), pick((0, self._number())), pick((0, 9)),
        )  # fmt: skip

    def _browse(self) -> c.Browse:
        pick = self._chance.choice
        ids = (self._ident(), self._ident(), self._ident())
        limit = pick((1, 100, self._number()))
        return c.Browse(self._handle(), pick((False, True)), limit, *ids, self._options())

    def _begin(self) -> c.Begin:
        return c.Begin(self._unit(), self._chance.choice((False, True)))

    def _touch(self) -> c.Touch:
        return c.Touch(self._unit())

    def _commit(self) -> c.Commit:
        return c.Commit(self._unit())

    def _backout(self) -> c.Backout:
        return c.Backout(self._unit())

    def _ask(self) -> c.AskOutcome:
        return c.AskOutcome(self._unit())

    def _attributes(self) -> dict[Any, Any]:
        names = self._chance.sample(sorted(ATTRIBUTES), self._chance.randrange(3))
        return {name: self._chance.choice(ATTRIBUTES[name]) for name in names}

    def _define(self) -> c.DefineQueue:
        return c.DefineQueue(self._name(), self._attributes(), self._chance.choice((False, True)))

    def _alter(self) -> c.AlterQueue:
        return c.AlterQueue(self._name(), self._attributes())

    def _set(self) -> c.SetAttributes:
        return c.SetAttributes(self._handle(), self._attributes())

    def _delete(self) -> c.DeleteQueue:
        return c.DeleteQueue(self._name(), self._chance.choice((False, True)))

    def _purge(self) -> c.PurgeQueue:
        return c.PurgeQueue(self._name())

    def _inquire(self) -> c.Inquire:
        return c.Inquire(self._name())

    def _status(self) -> c.AskStatus:
        return c.AskStatus(self._name())

    def _session_open(self) -> c.SessionOpen:
        return c.SessionOpen(self._chance.choice((self._session, b"", bytes(16))))

    def _session_resume(self) -> c.SessionResume:
        ident = self._chance.choice((b"", bytes(16), self._session[::-1]))
        return c.SessionResume(ident, [self._number()], self._number())

    def _shapeless(self) -> Any:
        pick = self._chance.choice
        values: tuple[Any, ...] = (
            None,
            True,
            1.5,
            HUGE,
            b"x",
            "x",
            [],
            {},
            [[]],
            {"a": []},
            self._number(),
        )
        return pick((*values, [pick((3, 5, 6, 11, 99)), *[pick(values) for _ in range(4)]]))
