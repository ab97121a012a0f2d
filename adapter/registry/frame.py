"""The standard frame of an Avro value (a zero byte, the id, Avro), and what parses schemas.

Confluent's serializers and all that are compatible write and read the same. It knows no registry.

What reads and writes values must take every schema that a registry takes. fastavro refuses some for
what means nothing: a decimal that is not valid (which by Avro's specification is what it is stored
as), a property beside a type with a default, a default of an enum that is no symbol. So it is given
what a schema says of the bytes of its values, and nothing else.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any

import fastavro

from adapter.errors import InvalidSchema, NotAvro
from adapter.registry import java_form, meanings

MAGIC = 0
FRAME = struct.Struct(">BI")
ID_MAX = 2**31 - 1
OTHER_FRAMES: Mapping[int, str] = {
    1: "it begins with a schema's GUID, which is read from headers only",
    3: "it is in the frame of AWS Glue",
}


def schema_id_of(body: bytes) -> int:
    """Read which schema a body names. Raises NotAvro for one that is not in the standard frame."""
    if len(body) < FRAME.size or body[0] != MAGIC:
        why = OTHER_FRAMES.get(body[0]) if body else None
        begins = f"it begins with {body[: FRAME.size].hex()}" if body else "it is empty"
        raise NotAvro(
            f"a body of {len(body)} bytes is not in the standard frame (a zero byte, the schema's "
            f"id, Avro): {why or begins}; read it as bytes"
        )
    schema_id: int = FRAME.unpack_from(body)[1]
    if not 1 <= schema_id <= ID_MAX:
        raise NotAvro(f"a body of {len(body)} bytes names schema {schema_id}: read it as bytes")
    return schema_id


def written_frame(schema_id: int) -> bytes:
    """Write which schema a body is of. Raises NotAvro for a number that no body can name."""
    if not 1 <= schema_id <= ID_MAX:
        raise NotAvro(
            f"schema {schema_id} has a number that no body can name: it has 1 to {ID_MAX}"
        )
    return FRAME.pack(MAGIC, schema_id)


def parse(text: str, name: str) -> Any:
    """Parse a schema, of which what says nothing of its values' bytes is left out. Raises
    InvalidSchema.
    """
    try:
        # Names are looked up in a table of their own: another schema may use them differently.
        return fastavro.parse_schema(_essence(java_form.java_form(json.loads(text))), {})
    except (fastavro.schema.SchemaParseException, fastavro.schema.UnknownType) as error:
        raise InvalidSchema(f"{name} is not a valid Avro schema: {error}") from error
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise InvalidSchema(f"{name} is not a valid Avro schema: {error!r}") from error


def _essence(node: Any) -> Any:
    """Return of a schema, in Java's form, what its values depend on."""
    if isinstance(node, list):
        return [_essence(one) for one in node]
    if not isinstance(node, dict) or not isinstance(node.get("type"), str):
        return node
    kind = node["type"]
    has = {key: node[key] for key in ("name", "namespace", "aliases", "size") if key in node}
    has |= _logical(node)
    for key in ("items", "values"):
        if key in node:
            has[key] = _essence(node[key])
    if kind in java_form.RECORDS and isinstance(node.get("fields"), list):
        has["fields"] = [_field(one) for one in node["fields"]]
    if kind == "enum":
        symbols = has["symbols"] = node.get("symbols")
        if isinstance(symbols, list) and node.get("default") in symbols:
            has["default"] = node["default"]
    return {"type": kind, **has} if has or kind not in java_form.PRIMITIVES else kind


def _field(field: Any) -> Any:
    if not isinstance(field, dict) or "type" not in field:
        return field
    has = {key: field[key] for key in ("name", "default", "aliases") if key in field}
    return {**has, "type": _essence(field["type"])}


def _logical(node: Mapping[str, Any]) -> dict[str, Any]:
    """Return the logical type of a type, if it is valid."""
    logical = node.get("logicalType")
    if not isinstance(logical, str) or node["type"] in ("float", "double"):
        return {}  # none is stored so; and beside it fastavro takes no whole number as a default
    if logical != meanings.DECIMAL:
        return {"logicalType": logical}
    keys = "logicalType", "precision", "scale"
    return {key: node[key] for key in keys if key in node} if meanings.is_decimal(node) else {}
