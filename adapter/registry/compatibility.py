"""Whether one Avro schema reads what another one writes, in a bounded number of steps.

The rules are those of Apache avro. What is ours is what they cost: its judge writes both schemas as
text for each pair of types that it compares, and collects the fields of a record for each of them.
Here a pair is known by its objects, fields are collected once, and after STEPS_MAX pairs the answer
is that the schemas are too large to be compared.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from adapter.errors import InvalidSchema

if TYPE_CHECKING:
    from avro.schema import Schema

STEPS_MAX = 20_000
"""Pairs of types that one request compares: half a second. Records of 1,000 fields have 1,000."""
REASONS_MAX = 100
"""So many things that speak against a schema are enough."""


def unreadable(reader: Schema, writer: Schema, steps: int = 0) -> tuple[list[str], int]:
    """Say why a reader cannot read all that a writer may write; [] if it can. Raises InvalidSchema.

    steps: taken before by the same request; returns also how many it has taken by now.
    """
    from avro import compatibility as judge  # noqa: PLC0415

    checker = _checker()(steps)
    result = checker.get_compatibility(reader, writer)
    if result.compatibility is judge.SchemaCompatibilityType.compatible:
        return [], checker.steps
    kinds = sorted({kind.value.replace("_", " ") for kind in result.incompatibilities})
    where = sorted(str(message) for message in result.messages)[:REASONS_MAX]
    return [f"{', '.join(kinds)} ({', '.join(where)})"], checker.steps


def _checker() -> Any:
    """Make the class of the judge. Its import takes an eighth of a second, which is not for all."""
    from avro import compatibility as judge  # noqa: PLC0415

    in_progress = judge.SchemaCompatibilityType.recursion_in_progress

    class BoundedChecker(judge.ReaderWriterCompatibilityChecker):
        """Apache avro's judge, which counts its steps."""

        def __init__(self, steps: int) -> None:
            super().__init__()  # type: ignore[no-untyped-call]
            self.steps = steps
            self._results: dict[tuple[int, int], Any] = {}
            self._by_name: dict[int, Any] = {}
            """Of each record that was written: its fields, which avro collects anew each time."""

        def get_compatibility(
            self,
            reader: Any,
            writer: Any,
            reference_token: str = judge.ReaderWriterCompatibilityChecker.ROOT_REFERENCE_TOKEN,
            location: list[str] | None = None,
        ) -> Any:
            pair = id(reader), id(writer)
            found = self._results.get(pair)
            if found is not None:
                is_open = found.compatibility is in_progress
                return judge.CompatibleResult if is_open else found
            self._count()
            self._results[pair] = judge.SchemaCompatibilityResult()
            place = [*(location or ()), reference_token]
            found = self._results[pair] = self.calculate_compatibility(reader, writer, place)
            del found.incompatibilities[REASONS_MAX:]
            return found

        def check_reader_writer_record_fields(
            self, reader: Any, writer: Any, location: list[str]
        ) -> Any:
            if id(writer) not in self._by_name:
                fields = {one.name: one for one in writer.fields}
                known = SimpleNamespace(type=writer.type, fields_dict=fields)
                self._by_name[id(writer)] = known
            found = self._by_name[id(writer)]
            return super().check_reader_writer_record_fields(reader, found, location)

        def _count(self) -> None:
            self.steps += 1
            if self.steps > STEPS_MAX:
                raise InvalidSchema(
                    f"these schemas are too large to be compared: it takes more than {STEPS_MAX:,} "
                    "steps; use unions of fewer types, or another compatibility level"
                )

    return BoundedChecker
