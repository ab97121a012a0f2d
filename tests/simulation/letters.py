"""What the auditor of messages keeps: letters, the queues they lie on, handles and units.

It imports nothing of the product.
"""

from __future__ import annotations

from typing import NamedTuple

NOWHERE = (-99, 0)
"""Before the first place of any queue."""


class Letter:
    """A message on a queue, or a segment of one.

    group: its name, of a segment outside any group too. grouped: it belongs to a group. report:
    letters a, d, e for the reports it asks for. held: "", the unit that got it, or LOCK. lifts: how
    often it came back.
    """

    __slots__ = (
        "body",
        "colour",
        "discards",
        "end",
        "expires_ms",
        "group",
        "grouped",
        "hard",
        "held",
        "last",
        "lifts",
        "name",
        "number",
        "offset",
        "order",
        "priority",
        "reply_to",
        "report",
        "segment",
    )

    def __init__(
        self,
        name: str,
        *,
        body: str = "",
        priority: int = 0,
        hard: bool = True,
        colour: str = "",
        group: str = "",
        number: int = 1,
        grouped: bool = False,
        last: bool = False,
        segment: bool = False,
        end: bool = False,
        offset: int = 0,
        expires_ms: int = 0,
        report: str = "",
        reply_to: str = "",
        discards: bool = False,
    ) -> None:
        self.name = name
        self.body = body
        self.priority = priority
        self.hard = hard
        self.colour = colour
        self.group = group
        self.number = number
        self.grouped = grouped or last
        self.last = last
        self.segment = segment or end
        self.end = end
        self.offset = offset
        self.expires_ms = expires_ms
        self.report = report
        self.reply_to = reply_to
        self.discards = discards
        self.order = 0
        self.lifts = 0
        self.held = ""

    def part(self, start: int, size: int) -> Letter:
        """Return a segment of it; the last one ends the message, unless it was a segment before."""
        cut = Letter(self.name, body=self.body[start : start + size], end=False)
        for one in ("priority", "hard", "colour", "group", "number", "grouped", "last"):
            setattr(cut, one, getattr(self, one))
        for one in ("expires_ms", "report", "reply_to", "discards"):
            setattr(cut, one, getattr(self, one))
        cut.segment, cut.offset = True, self.offset + start
        cut.end = start + size >= len(self.body) and (self.end or not self.segment)
        return cut

    @property
    def place(self) -> tuple[int, int]:
        """Where it comes in the order of delivery."""
        return -self.priority, self.order

    def is_over(self, now_ms: int) -> bool:
        """Whether its time is over."""
        return 0 < self.expires_ms <= now_ms


class At(NamedTuple):
    """Where a handle is in a group or in a segmented message: what comes next."""

    group: str
    number: int
    offset: int
    in_group: bool
    in_message: bool
    hard: bool
    in_unit: bool
    logical: bool

    @property
    def left(self) -> str:
        """What a handle is warned of that leaves logical order here."""
        if not self.logical:
            return ""
        return "INCOMPLETE_MESSAGE" if self.in_message else "INCOMPLETE_GROUP"


def after(letter: Letter, *, in_unit: bool, logical: bool) -> At | None:
    """Say what comes next behind a message, if it is in the middle of something."""
    number, offset = letter.number, 0
    in_message = letter.segment and not letter.end
    if in_message:
        offset = letter.offset + len(letter.body)
    elif letter.grouped and not letter.last:
        number += 1
    else:
        return None
    rest = letter.grouped, in_message, letter.hard, in_unit, logical
    return At(letter.group, number, offset, *rest)


class Queue:
    """A queue. kind: "", TEMPDYN or PERMDYN. longest: message that it takes uncut."""

    def __init__(self, name: str, kind: str = "", longest: int = 1_000) -> None:
        self.name = name
        self.kind = kind
        self.longest = longest
        self.items: list[Letter] = []
        self.is_gone = False

    @property
    def free(self) -> list[Letter]:
        """What nobody holds, in the order of delivery."""
        return [one for one in self.items if not one.held]

    def segments(self, first: Letter) -> list[Letter]:
        """Return the segments of a message from this one to the last, or [] if one is missing."""
        found = [first]
        while found[-1].segment and not found[-1].end:
            behind = found[-1].offset + len(found[-1].body)
            following = [
                one
                for one in self.free
                if (one.group, one.number, one.offset) == (first.group, first.number, behind)
            ]
            if not following:
                return []
            found.append(following[0])
        return found

    def is_shown_whole(self, first: Letter) -> bool:
        """Whether a message can be had as one: it is all there, and all persistent or all not."""
        return len({one.hard for one in self.segments(first)}) == 1

    def has_all(self, letter: Letter) -> bool:
        """Whether every segment of its message is there."""
        if not letter.segment:
            return True
        mine = [one for one in self.free if one.group == letter.group]
        begins = [one for one in mine if one.number == letter.number and not one.offset]
        return bool(begins) and bool(self.segments(begins[0]))

    def has_group(self, letter: Letter) -> bool:
        """Whether every message of its group is there, whole."""
        if not letter.grouped:
            return self.has_all(letter)
        mine = [one for one in self.free if one.group == letter.group]
        last = max((one.number for one in mine if one.last), default=0)
        whole = {one.number for one in mine if not one.offset and self.has_all(one)}
        return bool(last) and whole >= set(range(1, last + 1))


class Handle:
    """A handle. colour: what it selects, or "". makes: its queue was made for it."""

    def __init__(self, client: str, queue: Queue, colour: str = "", *, makes: bool = False) -> None:
        self.client = client
        self.queue = queue
        self.colour = colour
        self.makes = makes
        self.at: dict[str, At | None] = {"put": None, "get": None, "browse": None}
        self.cursor = self.head = NOWHERE
        self.locked: Letter | None = None


class Unit:
    """An open unit. before: where handles were before it, by handle and verb."""

    def __init__(self, client: str) -> None:
        self.client = client
        self.puts: list[tuple[Queue, Letter]] = []
        self.gets: list[tuple[Queue, Letter]] = []
        self.before: dict[tuple[Handle, str], At | None] = {}


class Wants(NamedTuple):
    """What a get or browse asks for. name: of the one that asks and waits; else ""."""

    client: str
    handle: int
    unit: str = ""
    group: str = ""
    logical: bool = False
    whole: bool = False
    complete: bool = False
    segments: bool = False
    under: bool = False
    restart: bool = False
    lock: bool = False
    browses: bool = False
    name: str = ""
