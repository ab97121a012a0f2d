"""Avro schemas as a registry compares them: parsed, written one way, and held against each other.

Apache avro parses and judges; what is ours is which pairs of schemas a level compares. It
knows no subjects and no numbers.
"""

from __future__ import annotations

import hashlib
import json
import math
import warnings
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from adapter.errors import InvalidSchema
from adapter.registry import compatibility, java_form, spelling
from adapter.registry.compatibility import Effort, JudgedPairs
from adapter.registry.defaults import TooLongDefaultsError, wrong_defaults

if TYPE_CHECKING:
    from avro.schema import Schema

SCHEMA_BYTES_MAX = 512 * 1024
"""Of one schema's text. Readers keep them all; a body's schema has some kilobytes."""
QUOTED_LENGTH_MAX = 300
OF_OTHERS = java_form.OF_TYPES - {"type"}
"""What types of other kinds have; Java's parser drops it of a primitive one."""
TYPES_WITHIN: Mapping[str, str] = MappingProxyType(
    {"array": "items", "map": "values", "record": "fields", "error": "fields"}
)
"""By kind of a type: under which key it has others."""


class CompatibilityRule(Struct, frozen=True):
    """What a level asks for: who reads whom, and how far back. backward: the new one reads."""

    backward: bool = False
    forward: bool = False
    transitive: bool = False


RULES: Mapping[str, CompatibilityRule] = MappingProxyType(
    {
        "NONE": CompatibilityRule(),
        "BACKWARD": CompatibilityRule(backward=True),
        "BACKWARD_TRANSITIVE": CompatibilityRule(backward=True, transitive=True),
        "FORWARD": CompatibilityRule(forward=True),
        "FORWARD_TRANSITIVE": CompatibilityRule(forward=True, transitive=True),
        "FULL": CompatibilityRule(backward=True, forward=True),
        "FULL_TRANSITIVE": CompatibilityRule(backward=True, forward=True, transitive=True),
    }
)


def canonical(text: str) -> str:
    """Write a schema as it is kept: no blanks, and {"type": "int"} as "int". Raises InvalidSchema.

    Two texts that differ in nothing else are one schema; docs, defaults and the order of what a
    type says stay as they were written. Of a primitive type, name, doc and the like mean nothing,
    and are dropped, as Java does.
    """
    if len(text.encode(errors="replace")) > SCHEMA_BYTES_MAX:
        raise InvalidSchema(f"a schema has at most {SCHEMA_BYTES_MAX} bytes")
    require_json(text)
    try:
        return _judge(text)
    except TooLongDefaultsError as error:
        raise InvalidSchema(f"this schema is refused: {error}") from None
    except RecursionError:
        raise InvalidSchema(f"this schema is nested too deep: {_cut(text)}") from None


def _judge(text: str) -> str:
    if wrong := sorted(set(wrong_defaults(parse(text)))):
        raise InvalidSchema(f"the default of {', '.join(wrong)} is not a value of its type")
    node = json.loads(text)
    if misspelt := sorted(set(spelling.wrong(node))):
        raise InvalidSchema(f"invalid Avro schema: {'; '.join(misspelt)}")
    form = java_form.JavaForm()
    made = form.of(node, "")
    # Readers refuse a type that is defined again: Java writes its name instead.
    kept = made if form.repeated else _plain(node)
    return json.dumps(kept, separators=(",", ":"), ensure_ascii=False)


def require_json(text: str) -> None:
    """Refuse what Python's parser takes and no other one: numbers that are none, or beyond a
    double, and half characters. Raises InvalidSchema.
    """
    try:
        kept = json.loads(text, parse_constant=_refuse_number, parse_float=_finite)
        json.dumps(kept, ensure_ascii=False).encode()
    except ValueError as error:  # UnicodeEncodeError is one
        shown = ascii(_cut(text))[1:-1]
        raise InvalidSchema(f"invalid Avro schema: {_first_words(error)}: {shown}") from None
    except RecursionError:
        raise InvalidSchema(f"this schema is nested too deep: {_cut(text)}") from None


def _refuse_number(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON")


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refuse_number(text)


def identity(text: str) -> str:
    """What two canonical texts have alike if they are the same schema: the form of Java, in which
    the order of what a type says does not count.
    """
    form = java_form.java_form(json.loads(text))
    sorted_text = json.dumps(form, separators=(",", ":"), sort_keys=True)
    return hashlib.sha256(sorted_text.encode()).hexdigest()


def parse(text: str) -> Schema:
    """Parse a schema. Raises InvalidSchema."""
    # An eighth of a second, which only who judges schemas spends.
    import avro.errors  # noqa: PLC0415
    import avro.schema  # noqa: PLC0415

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of logical types that it does not know
            return avro.schema.parse(_form_for_judge(text))
    except (avro.errors.AvroException, ValueError, TypeError, AttributeError) as error:
        raise InvalidSchema(f"invalid Avro schema: {_first_words(error)}: {_cut(text)}") from None
    except RecursionError:
        raise InvalidSchema(f"this schema is nested too deep: {_cut(text)}") from None


def _form_for_judge(text: str) -> str:
    """Write a schema as Java does, which takes more spellings than the judge. The judge knows no
    "error", which differs from a record in protocols only.
    """
    form = java_form.JavaForm()
    made = form.of(json.loads(text), "")
    if form.wrong:
        raise ValueError(form.wrong[0])
    return json.dumps(spelling.records_only(made) if '"error"' in text else made)


def problems(
    level: str,
    schema: str,
    earlier: Sequence[tuple[int, str]],
    judged: JudgedPairs | None = None,
) -> list[str]:
    """Say what speaks against a schema behind earlier ones, by a level of RULES; [] if nothing.

    earlier: number and text of each, in order. Without `transitive` only the last one counts.
    judged: what is known of pairs, and what is found out is added to. Raises InvalidSchema.
    """
    rule = RULES[level]
    pairs = JudgedPairs() if judged is None else judged
    effort = Effort()
    found: list[str] = []
    new: Schema | None = None
    new_key = _key(schema)
    for number, text in earlier if rule.transitive else earlier[-1:]:
        key = _key(text)
        backward = rule.backward and not pairs.has(new_key, key)
        forward = rule.forward and not pairs.has(key, new_key)
        if key == new_key or not (backward or forward):
            continue  # whatever its aliases are, a schema reads itself
        new = new or _parse_paid(schema, effort)
        old = _parse_paid(text, effort)
        if backward:
            if why := compatibility.unreadable(new, old, effort):
                found.append(f"it cannot read what version {number} wrote: {'; '.join(why)}")
            else:
                pairs.add(new_key, key)
        if forward:
            if why := compatibility.unreadable(old, new, effort):
                found.append(f"version {number} cannot read what it writes: {'; '.join(why)}")
            else:
                pairs.add(key, new_key)
    return found


def _parse_paid(text: str, effort: Effort) -> Schema:
    effort.parse(text)
    return parse(text)


def _key(text: str) -> bytes:
    """Return what stands for a schema where pairs of them are remembered."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).digest()


def unreadable(reader: Schema, writer: Schema) -> list[str]:
    """Say why a reader cannot read all that a writer may write; [] if it can."""
    is_same = bool(reader.to_json() == writer.to_json())
    return [] if is_same else compatibility.unreadable(reader, writer)


def _plain(node: Any) -> Any:
    """Write {"type": "int"} as "int", everywhere, without what a primitive type does not have.

    Properties are no types, whatever they look like: they stay as they are.
    """
    if isinstance(node, list):
        return [_plain(one) for one in node]
    if not isinstance(node, dict):
        return node
    kind = node.get("type")
    if isinstance(kind, str) and kind in java_form.PRIMITIVES:
        kept = {key: value for key, value in node.items() if key not in OF_OTHERS}
        return kind if len(kept) == 1 else kept
    part = TYPES_WITHIN.get(kind) if isinstance(kind, str) else "type"
    if part not in node:
        return node
    within = node[part]
    if part == "fields" and isinstance(within, list):
        return node | {part: [_plain_field(one) for one in within]}
    return node | {part: _plain(within)}


def _plain_field(field: Any) -> Any:
    """Write a field, which has a name although its type may be primitive."""
    if not isinstance(field, dict) or "type" not in field:
        return field
    return field | {"type": _plain(field["type"])}


def _first_words(error: BaseException) -> str:
    return _cut(str(error).splitlines()[0] if str(error) else type(error).__name__)


def _cut(text: str) -> str:
    return text if len(text) <= QUOTED_LENGTH_MAX else text[: QUOTED_LENGTH_MAX - 3] + "..."
