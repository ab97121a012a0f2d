"""The kinds of objects, as MQSC words them and PCF numbers them, and their read-only attributes.

The attributes that can be given are core's one table. What is read-only (depths, types, who is
connected) is described here by rows of the same make, so that both languages show both alike.
"""

from __future__ import annotations

from functools import cached_property

from msgspec import Struct

from adapter.administration.reported import choice, table, text, whole
from adapter.administration.values import Filter, plain
from adapter.core.attributes.export import EXPORT
from adapter.core.attributes.feed import FEED
from adapter.core.attributes.objects import KINDS, QUEUE_MANAGER, SUBSCRIPTION, WITH_QUEUE_NAMES
from adapter.core.attributes.table import NAME_LENGTH_MAX, AttributeRow, Table
from adapter.core.attributes.unsupported import UNSUPPORTED

CHANNEL_NAME_LENGTH = 20
DATE_LENGTH, TIME_LENGTH = 12, 8  # MQ_DATE_LENGTH, MQ_TIME_LENGTH
QUEUE_TYPES = {"QLOCAL": 1, "QMODEL": 2, "QALIAS": 3, "QREMOTE": 6}
TYPE_KEYWORDS = ("TYPE", "CHLTYPE", "AUTHTYPE")
"""What MQSC calls the type of an object, depending on its kind."""


ALTERATION = table(
    text("alteration_date", "ALTDATE", 2027, "when it was altered, UTC", DATE_LENGTH, ""),
    text("alteration_time", "ALTTIME", 2028, "when it was altered, UTC", TIME_LENGTH, ""),
)
"""Reported of an object; blank if that is not known."""
QUEUE_TYPE = ALTERATION | table(
    text("creation_date", "CRDATE", 2004, "when it was defined, UTC", DATE_LENGTH, ""),
    text("creation_time", "CRTIME", 2005, "when it was defined, UTC", TIME_LENGTH, ""),
    choice("queue_type", "TYPE", 20, "what kind of queue", QUEUE_TYPES),
)
"""Reported of every object that has a queue's name."""
QUEUE_FIGURES = QUEUE_TYPE | table(
    whole("current_depth", "CURDEPTH", 3, "messages on it, uncommitted puts too", 0),
    whole("open_input_count", "IPPROCS", 17, "handles that have it open for input", 0),
    whole("open_output_count", "OPPROCS", 18, "handles that have it open for output", 0),
)
"""Reported of a local queue."""
IDENTIFIED = ALTERATION | table(text("identifier", "QMID", 2032, "its name among all", default=""))
"""Reported of the queue manager."""
COUNTED = ALTERATION | table(whole("name_count", "NAMCOUNT", 19, "names in it"))
"""Reported of a namelist."""
REPORTED: dict[str, Table] = {
    "queue": QUEUE_FIGURES,
    "namelist": COUNTED,
    QUEUE_MANAGER: IDENTIFIED,
    SUBSCRIPTION: {},
}
"""Where it is not what is reported of every object, or of every one with a queue's name."""


class Kind(Struct, frozen=True, dict=True):
    """One kind of object. kind: core's name for it; name_*: how its own name is called.

    name_length: what PCF pads it to, 0 if it has no certain length. unsupported: attributes of IBM
    MQ without effect here.
    """

    kind: str
    word: str
    noun: str
    name_keyword: str
    name_number: int
    given: Table = {}
    reported: Table = {}
    name_length: int = NAME_LENGTH_MAX
    unsupported: Table = {}

    @property
    def rows(self) -> Table:
        """All that has a meaning here, by Python name."""
        return self.reported | self.given

    @cached_property
    def every_row(self) -> Table:
        """All that can be asked for: what has a meaning here, and what has none."""
        return self.rows | self.unsupported

    @property
    def always(self) -> list[AttributeRow]:
        """What is shown of it whatever is asked for: of which type it is."""
        return [row for row in self.every_row.values() if row.attribute.keyword in TYPE_KEYWORDS]

    @property
    def has_queue_name(self) -> bool:
        """Whether it shares the one namespace of queues."""
        return self.kind in WITH_QUEUE_NAMES

    def by_keyword(self, keyword: str) -> AttributeRow | None:
        """Return what MQSC calls so."""
        rows = self.every_row.values()
        return next((row for row in rows if row.attribute.keyword == keyword), None)

    def by_number(self, number: int) -> AttributeRow | None:
        """Return what PCF numbers so."""
        rows = self.every_row.values()
        return next((row for row in rows if row.attribute.number == number), None)

    def by_bare_word(self, word: str) -> tuple[AttributeRow, object] | None:
        """Return which attribute has which value where MQSC writes just this word."""
        for row in self.given.values():
            if row.attribute.bare and word in row.attribute.words:
                return row, (False, True)[row.attribute.words.index(word)]
        return None


def _kind(kind: str, word: str, noun: str, name_keyword: str, name_number: int) -> Kind:
    reported = QUEUE_TYPE if kind in WITH_QUEUE_NAMES else ALTERATION
    reported = REPORTED.get(kind, reported)
    length = {"channel": CHANNEL_NAME_LENGTH, SUBSCRIPTION: 0}.get(kind, NAME_LENGTH_MAX)
    unsupported = UNSUPPORTED[kind]
    return Kind(
        kind, word, noun, name_keyword, name_number, KINDS[kind], reported, length, unsupported
    )


DEFINED = {
    one.word: one
    for one in (
        _kind("queue", "QLOCAL", "queue", "QUEUE", 2016),
        _kind("alias", "QALIAS", "queue", "QUEUE", 2016),
        _kind("remote", "QREMOTE", "queue", "QUEUE", 2016),
        _kind("model", "QMODEL", "queue", "QUEUE", 2016),
        _kind("process", "PROCESS", "process", "PROCESS", 2012),
        _kind("namelist", "NAMELIST", "namelist", "NAMELIST", 2010),
        _kind("topic", "TOPIC", "topic", "TOPIC", 2092),
        _kind(SUBSCRIPTION, "SUB", "subscription", "SUB", 3152),
        _kind("channel", "CHANNEL", "channel", "CHANNEL", 3501),
        _kind("authinfo", "AUTHINFO", "authentication information", "AUTHINFO", 2045),
        _kind(FEED, "FEED", "feed", "FEED", 900_100),
        _kind(EXPORT, "EXPORT", "export", "EXPORT", 900_200),
        _kind(QUEUE_MANAGER, "QMGR", "queue manager", "QMNAME", 2015),
    )
}
"""The kinds that can be defined and altered, by their word."""
QUEUE_WORDS = tuple(word for word, one in DEFINED.items() if one.has_queue_name)


def _rows_of_any(words: tuple[str, ...]) -> Table:
    """Return the rows of several kinds; of those of one name the one that takes most values."""
    rows: Table = {}
    for word in words:
        for name, row in DEFINED[word].every_row.items():
            known = rows.get(name)
            if known is None or len(known.choices) < len(row.choices):
                rows[name] = row
    return rows


ANY_QUEUE = Kind("queue", "QUEUE", "queue", "QUEUE", 2016, _rows_of_any(QUEUE_WORDS))
"""What may be asked of queues of any kind."""


class FoundObject(Struct, frozen=True):
    """One object: its kind, its name, and the values of its attributes by Python name."""

    kind: Kind
    name: str
    values: dict[str, object]

    def value(self, row: AttributeRow) -> object:
        """Return the value of an attribute; of what has no effect here, the one that holds."""
        return self.values.get(row.name, row.default)

    def passes(self, condition: Filter) -> bool:
        """Say whether this object has the attribute that a condition is on, with a value that
        meets it. The condition may be on the row of another kind, which takes other values.
        """
        own = self.kind.every_row.get(condition.row.name)
        return own is not None and condition.passes(plain(own, self.value(own)))
