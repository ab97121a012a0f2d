"""Whether one Avro schema reads what another one writes, in a bounded number of steps.

The rules are those of Apache avro, but for three. Aliases mean what resolution.py makes of them, as
Java does when it reads: a field of the writer's has one name by them, and two of one name are
refused. Values that have one logical type and another meaning (another unit, another scale) are not
read as each other. And what it costs is ours: Apache's judge writes both schemas as text for each
pair of types that it compares, and collects the fields of a record for each of them. Here a pair is
known by its objects, fields are collected once, and after STEPS_MAX pairs the answer is that the
schemas are too large to be compared.

Theory. A type that contains itself meets pairs of types that are being judged. Such a pair is taken
to be compatible for the moment, and what is found by that counts for this moment only: if the pair
turns out not to be, whatever was found within it is forgotten, for another branch of a union may be
taken then, and the same types may be met again. What is not compatible in spite of the assumption
stays so. `low` is the outermost open pair that a result rests on; one that rests on no open pair is
certain.

A schema is compared with every version of its subject. How much all of them take is bounded, too:
see Effort. Of versions that were found compatible it is remembered (JudgedPairs), so that the next
request pays for the new ones only.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from adapter.errors import InvalidSchema
from adapter.registry import meanings
from adapter.registry.java_form import PRIMITIVES

if TYPE_CHECKING:
    from avro.schema import Schema

STEPS_MAX = 20_000
"""Pairs of types that two schemas have: half a second. Records of 1,000 fields have 1,000."""
STEPS_OF_ALL_MAX = 200_000
"""Of one request, with all versions: five to ten seconds, in which nothing else waits for it."""
CHARACTERS_PER_STEP = 20
"""So much of a schema's text is parsed in the time of one step."""
REASONS_MAX = 100
"""So many things that speak against a schema are enough."""
JUDGED_MAX = 10_000
"""Pairs of schemas that are remembered, of which each takes 300 bytes or so."""


Plain = str | tuple[str, ...]
"""A type that names no other one: a primitive one, or a union of these."""


class Effort:
    """What one request has spent on comparing schemas. For one thread."""

    def __init__(self) -> None:
        self.steps = 0
        self.read: set[tuple[Plain | None, Plain | None]] = set()
        """Plain types that are known to read others, whichever versions have them: a table's
        hundreds of columns are of a few types, and cost nothing more in its next version.
        """

    def spend(self, steps: int) -> None:
        """Take steps. Raises InvalidSchema if the request has taken too many."""
        self.steps += steps
        if self.steps > STEPS_OF_ALL_MAX:
            raise _too_large(STEPS_OF_ALL_MAX, "with all earlier versions")

    def parse(self, text: str) -> None:
        """Pay for the parsing of a schema. Raises InvalidSchema."""
        self.spend(len(text) // CHARACTERS_PER_STEP)


class JudgedPairs:
    """Which schemas are known to read which other ones, by keys of their texts. For any thread."""

    def __init__(self, most: int = JUDGED_MAX) -> None:
        """most: so many pairs are remembered, those that were asked for last."""
        self._most = most
        self._lock = threading.Lock()
        self._pairs: OrderedDict[tuple[bytes, bytes], None] = OrderedDict()

    def has(self, reader: bytes, writer: bytes) -> bool:
        """Whether a reader is known to read all that a writer may write."""
        with self._lock:
            if (reader, writer) not in self._pairs:
                return False
            self._pairs.move_to_end((reader, writer))
            return True

    def add(self, reader: bytes, writer: bytes) -> None:
        """Remember that a reader reads all that a writer may write."""
        with self._lock:
            self._pairs[reader, writer] = None
            while len(self._pairs) > self._most:
                self._pairs.popitem(last=False)


def unreadable(reader: Schema, writer: Schema, effort: Effort | None = None) -> list[str]:
    """Say why a reader cannot read all that a writer may write; [] if it can. Raises InvalidSchema.

    effort: pays for it.
    """
    from avro import compatibility as judge  # noqa: PLC0415

    checker = _checker()(effort or Effort())
    result = checker.get_compatibility(reader, writer)
    if result.compatibility is judge.SchemaCompatibilityType.compatible:
        return []
    kinds = sorted({kind.value.replace("_", " ") for kind in result.incompatibilities})
    where = sorted(str(message) for message in result.messages)[:REASONS_MAX]
    return [f"{', '.join(kinds)} ({', '.join(where)})"]


def _too_large(steps: int, what: str) -> InvalidSchema:
    return InvalidSchema(
        f"these schemas are too large to be compared{what and ' '}{what}: it takes more than "
        f"{steps:,} steps; use unions of fewer types, or another compatibility level"
    )


class _Assumed(Struct):
    """A pair that was found compatible. low: the outermost open pair that this rests on."""

    low: int
    result: Any


class _Verdicts:
    """What was found of pairs, and what that rests on; see above. For one comparison."""

    def __init__(self) -> None:
        self._certain: dict[tuple[int, int], Any] = {}
        self._assumed: OrderedDict[tuple[int, int], _Assumed] = OrderedDict()
        self._open: dict[tuple[int, int], int] = {}
        """How deep each pair lies that is being judged."""
        self._lows: list[int] = []
        """Of each open pair: the outermost one that what was found in it rests on."""
        self._begun: list[int] = []
        """Of each open pair: how many assumed ones there were before."""

    def known(self, pair: tuple[int, int], compatible: Any) -> Any:
        """Return what is known of a pair, or None. compatible: what is taken of an open one."""
        if (found := self._certain.get(pair)) is not None:
            return found
        if (low := self._open.get(pair)) is not None:
            self._rest_on(low)
            return compatible
        if (assumed := self._assumed.get(pair)) is not None:
            self._rest_on(assumed.low)
            return assumed.result
        return None

    def begin(self, pair: tuple[int, int]) -> None:
        """A pair is being judged."""
        self._open[pair] = len(self._lows)
        self._lows.append(len(self._lows))
        self._begun.append(len(self._assumed))

    def end(self, pair: tuple[int, int], found: Any, *, is_compatible: bool) -> None:
        """The innermost open pair has been judged."""
        depth, low, begun = self._open.pop(pair), self._lows.pop(), self._begun.pop()
        if is_compatible and low < depth:
            self._assumed[pair] = _Assumed(low, found)
            self._rest_on(low)
            return
        while len(self._assumed) > begun:
            within, inner = self._assumed.popitem()
            if is_compatible:
                self._certain[within] = inner.result
        self._certain[pair] = found

    def _rest_on(self, low: int) -> None:
        """Note that what is being found rests on an open pair, or on one further out."""
        if self._lows:
            self._lows[-1] = min(self._lows[-1], low)


class _FieldsByName(Struct):
    """The fields of a writer's record, by the names that a reader has for them. doubled: says which
    one two fields have, or "".
    """

    fields: dict[str, Any]
    doubled: str


def _fields_by_name(reader: Any, writer: Any) -> _FieldsByName:
    aliases: dict[str, str] = {}
    if writer.fullname in (reader.fullname, *_aliases_of(reader)):
        aliases = {
            alias: field.name
            for field in reader.fields
            for alias in field.props.get("aliases") or ()
        }
    fields: dict[str, Any] = {}
    doubled = ""
    for field in writer.fields:
        name = aliases.get(field.name, field.name)
        if name in fields:
            doubled = f"by aliases, two fields of {writer.fullname} are {name}"
        fields[name] = field
    return _FieldsByName(fields, doubled)


def _aliases_of(named: Any) -> list[str]:
    """Return the full names of a type's aliases."""
    space = named.fullname.rpartition(".")[0]
    return [
        alias if "." in alias or not space else f"{space}.{alias}"
        for alias in named.props.get("aliases") or ()
    ]


def _plain(schema: Any) -> Plain | None:
    """Return a type by what it says, if that is all that it means; None for others."""
    if schema.type != "union":
        return str(schema.type) if len(schema.props) == 1 and schema.type in PRIMITIVES else None
    found = tuple(one for one in map(_plain, schema.schemas) if isinstance(one, str))
    return found if len(found) == len(schema.schemas) else None


class _Work:
    """What comparing two schemas has taken. effort: of the whole request, which pays for it."""

    def __init__(self, effort: Effort) -> None:
        self.effort = effort
        self._steps = 0
        self._plain: dict[int, Plain | None] = {}

    def plain_of(self, schema: Any) -> Plain | None:
        """Return a type by what it says; see _plain."""
        key = id(schema)
        if key not in self._plain:
            self._plain[key] = _plain(schema)
        return self._plain[key]

    def count(self) -> None:
        """Take a step. Raises InvalidSchema if these were too many."""
        self._steps += 1
        if self._steps > STEPS_MAX:
            raise _too_large(STEPS_MAX, "")
        self.effort.spend(1)


def _judge_fields(
    checker: Any, judge: Any, wanted: list[Any], written: dict[str, Any], location: list[str]
) -> Any:
    """Judge the fields of a reader's record by those of the writer's."""
    missing = judge.SchemaIncompatibilityType.reader_field_missing_default_value
    result = judge.CompatibleResult
    for number, field in enumerate(wanted):
        place = [*location, "fields", str(number)]
        if field.name in written:
            types = field.type, written[field.name].type
            result = judge.merge(result, checker.get_compatibility(*types, "type", place))
        elif not field.has_default:
            result = judge.merge(result, judge.incompatible(missing, field.name, place))
    return result


def _checker() -> Any:
    """Make the class of the judge. Its import takes an eighth of a second, which is not for all."""
    from avro import compatibility as judge  # noqa: PLC0415

    kinds = judge.SchemaIncompatibilityType

    class BoundedChecker(judge.ReaderWriterCompatibilityChecker):
        """Apache avro's judge, which counts its steps."""

        def __init__(self, effort: Effort) -> None:
            super().__init__()  # type: ignore[no-untyped-call]
            self._verdicts = _Verdicts()
            self._work = _Work(effort)
            self._by_name: dict[tuple[int, int], _FieldsByName] = {}
            """Of each record that was written: its fields, which avro collects anew each time."""

        def get_compatibility(
            self,
            reader: Any,
            writer: Any,
            reference_token: str = judge.ReaderWriterCompatibilityChecker.ROOT_REFERENCE_TOKEN,
            location: list[str] | None = None,
        ) -> Any:
            pair = id(reader), id(writer)
            found = self._verdicts.known(pair, judge.CompatibleResult)
            if found is not None:
                return found
            plain = self._work.plain_of(reader), self._work.plain_of(writer)
            if plain in self._work.effort.read:
                return judge.CompatibleResult
            self._work.count()
            self._verdicts.begin(pair)
            place = [*(location or ()), reference_token]
            found = self.calculate_compatibility(reader, writer, place)
            del found.incompatibilities[REASONS_MAX:]
            is_compatible = found.compatibility is judge.SchemaCompatibilityType.compatible
            self._verdicts.end(pair, found, is_compatible=is_compatible)
            if is_compatible and None not in plain:
                self._work.effort.read.add(plain)
            return found

        def calculate_compatibility(self, reader: Any, writer: Any, location: list[str]) -> Any:
            found = super().calculate_compatibility(reader, writer, location)
            if why := meanings.differ(reader.props, writer.props):
                other = judge.incompatible(kinds.type_mismatch, why, location)
                return judge.merge(found, other)
            return found

        def check_reader_writer_record_fields(
            self, reader: Any, writer: Any, location: list[str]
        ) -> Any:
            pair = id(reader), id(writer)
            if pair not in self._by_name:
                self._by_name[pair] = _fields_by_name(reader, writer)
            known = self._by_name[pair]
            if known.doubled:
                return judge.incompatible(kinds.name_mismatch, known.doubled, location)
            return _judge_fields(self, judge, reader.fields, known.fields, location)

    return BoundedChecker
