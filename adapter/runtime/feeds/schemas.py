"""Decodes the values of records for feeds: Avro in the frame that names its schema.

A schema is asked of the registry once, and kept. While the registry does not answer nothing can be
decided, and the feed waits. A schema that the registry does not have may be on its way: what is
registered is seen by one server of a registry before another. So it is asked for again until a
value has waited for some seconds, and only then is it what cannot be decoded. Since when a value
waits, its reader says: an answer may take long, and there may be many to wait for, so that nothing
follows from when a schema was asked for last. This module knows no topic, and does not know what
becomes of a value.
"""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable

import structlog

from adapter.core.attributes.feed import FeedAttributes
from adapter.errors import (
    Error,
    InvalidSchema,
    NotAvro,
    RegistryNotAvailable,
    SchemaError,
    SchemaNotFound,
)
from adapter.registry import codes
from adapter.registry.bounded_values import ValueReader, json_of
from adapter.registry.frame import FRAME, schema_id_of
from adapter.registry.port import SchemaRegistry
from adapter.runtime.feeds.port import FeedError, Preparation, UnaskedError, UnsettledError
from adapter.storage.format.feeds import DecodedValue, TopicRecord

SCHEMAS_MAX = 1_000
UNUSABLE_MAX = 10_000
"""Of those that cannot be used, or not yet, only the numbers are kept, and why."""
SETTLE_S = 5.0
"""So long an unknown schema may be on its way."""
AGAIN_S = 30.0
"""After so long it is asked for again; values that came in between are lost to it."""
log = structlog.get_logger("mqk.feeds")

DECODED = ("AVRO", "AVROJSON")

MakeRegistry = Callable[[], SchemaRegistry]


class _Asked:
    """What is known of a schema: what reads its values, or why none can be read, since when.

    unknown: what the registry said, while the schema may be on its way.
    """

    __slots__ = ("asked_s", "reader", "unknown", "why")

    def __init__(self) -> None:
        self.reader: ValueReader | None = None
        self.why = self.unknown = ""
        self.asked_s = -math.inf

    def is_settled(self, now_s: float, wait: Preparation) -> bool:
        """Whether nothing is to be asked for these values. One answer counts for all the time that
        values wait, however long their other schemas take.
        """
        is_recent = self.asked_s >= wait.since_s or now_s - self.asked_s < AGAIN_S
        return self.reader is not None or (bool(self.why) and is_recent)


class FeedSchemas:
    """The schemas of a queue manager's feeds. For any thread."""

    def __init__(
        self, registry: MakeRegistry | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """registry: makes what is asked, and may raise an Error; None: no schema can be asked for.
        clock: seconds.
        """
        self._make = registry
        self._clock = clock
        self._lock = threading.Lock()
        self._registry: SchemaRegistry | None = None
        self._asked: OrderedDict[int, _Asked] = OrderedDict()
        """Those that can be used, and read values."""
        self._unusable: OrderedDict[int, _Asked] = OrderedDict()

    def prepare(
        self, records: Iterable[TopicRecord], feed: FeedAttributes, wait: Preparation
    ) -> None:
        """Ask for the schemas of these values, so that decode() does not. Blocking, bounded by the
        time that it has, and a last question by the registry's timeouts.

        Raises UnaskedError if the time was over before all were asked for, UnsettledError while it
        is not decided whether they can be decoded, and FeedError if the registry does not answer.
        """
        if feed.value not in DECODED:
            return
        ids = {number for one in records if (number := _schema_of(one)) is not None}
        why = ""
        for number in sorted(ids):
            found = self._ask(number, wait)
            if found is None:
                raise UnaskedError(why or f"schema {number} of a value is still to be asked for")
            why = why or found
        if why:
            raise UnsettledError(why)

    def decode(self, record: TopicRecord, feed: FeedAttributes) -> DecodedValue | None:
        """Return what a record's value is; None if the feed decodes no values, and for null.

        Its schema has been prepared. Raises FeedError if it was forgotten since, for those of other
        feeds: the record is to be read again.
        """
        if feed.value not in DECODED or record.value is None:
            return None
        number = _schema_of(record)
        if number is None:
            begins = record.value[: FRAME.size].hex() or "nothing"
            return DecodedValue(
                why=f"its value is not Avro in the frame with a schema's number: it begins with "
                f"{begins}"
            )
        known = self._asked.get(number) or self._unusable.get(number)
        if known is None:
            raise FeedError(
                f"schema {number} of a value was forgotten: feeds have too many at once"
            )
        if known.reader is None:
            return DecodedValue(why=known.why)
        try:
            value = known.reader.read(record.value)
        except NotAvro as error:
            return DecodedValue(why=f"its value cannot be decoded by schema {number}: {error.text}")
        return DecodedValue(number, value, json_of(value) if feed.value == "AVROJSON" else None)

    def close(self) -> None:
        """Let go of connections. The registry is asked again if that is needed."""
        with self._lock:
            registry, self._registry = self._registry, None
        if registry is not None:
            registry.close()

    def _ask(self, number: int, wait: Preparation) -> str | None:
        """Ask for a schema, unless it is known; returns why that is to be tried again, or "". None:
        there was no time to ask.

        Raises FeedError if the registry does not answer, or answers none of these questions.
        """
        now_s = self._clock()
        with self._lock:
            known = self._asked.get(number) or self._unusable.get(number) or _Asked()
            if known.is_settled(now_s, wait):
                self._keep(number, known)
                return ""
        if known.unknown and known.asked_s >= wait.round_s:
            return known.unknown
        if now_s >= wait.until_s:
            return None
        why = ""
        try:
            text = self._open().schema(number)
            known.reader = _reader(text, number)
        except SchemaError as error:
            # Without a code it is about the schema's text; else of a user without rights, or of
            # what is no registry, all of which an operator can change.
            if isinstance(error, RegistryNotAvailable) or (error.code and not _is_unknown(error)):
                raise FeedError(error.text) from error
            why = self._note(known, number, error, now_s - wait.since_s)
        except Error as error:
            raise FeedError(error.text) from error
        known.asked_s, known.unknown = now_s, why
        with self._lock:
            self._keep(number, known)
        return why

    def _keep(self, number: int, known: _Asked) -> None:
        """Remember a schema, and forget those of its kind that were not asked for the longest."""
        if known.reader is not None:
            self._unusable.pop(number, None)
            kept, most = self._asked, SCHEMAS_MAX
        else:
            kept, most = self._unusable, UNUSABLE_MAX
        kept[number] = known
        kept.move_to_end(number)
        while len(kept) > most:
            kept.popitem(last=False)

    def _note(self, known: _Asked, number: int, error: SchemaError, waited_s: float) -> str:
        """Note that a schema cannot be used; returns why that is not certain yet, or "".

        waited_s: how long the values had waited when it was asked for.
        """
        if not isinstance(error, SchemaNotFound):
            known.why = f"its value has schema {number}, which cannot be used: {error.text}"
        elif known.why or waited_s >= SETTLE_S:
            known.why = f"its value has schema {number}, which is not registered: {error.text}"
        else:
            return f"schema {number} of a value is not registered yet: {error.text}"
        return ""

    def _open(self) -> SchemaRegistry:
        with self._lock:
            if self._registry is None:
                if self._make is None:
                    raise RegistryNotAvailable(
                        "there is no schema registry to decode values by: set schema_registry of "
                        "the queue manager"
                    )
                self._registry = self._make()
            return self._registry


def _reader(text: str, number: int) -> ValueReader:
    """Return what reads the values of a schema. InvalidSchema, whatever a foreign one leads to."""
    name = f"schema {number}"
    try:
        return ValueReader(text, name)
    except SchemaError:
        raise
    except Exception as error:
        log.exception("a schema cannot be used", schema=number)
        raise InvalidSchema(f"{name} cannot be used: {error!r:.200}", name) from error


def _is_unknown(error: SchemaError) -> bool:
    """Whether a registry says that it does not have a schema."""
    return isinstance(error, SchemaNotFound) and error.code != codes.NOT_FOUND


def _schema_of(record: TopicRecord) -> int | None:
    """Return the number of the schema that a record's value names."""
    try:
        return schema_id_of(record.value) if record.value is not None else None
    except NotAvro:
        return None
