"""The standard frame of an Avro value (a zero byte, the id, Avro), and what parses schemas.

Confluent's serializers and all that are compatible write and read the same. It knows no registry.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any

import fastavro

from adapter.errors import InvalidSchema, NotAvro

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


def parse(text: str, name: str) -> Any:
    """Parse a schema. Raises InvalidSchema."""
    try:
        # Names are looked up in a table of their own: another schema may use them differently.
        return fastavro.parse_schema(json.loads(text), {})
    except (fastavro.schema.SchemaParseException, fastavro.schema.UnknownType) as error:
        raise InvalidSchema(f"{name} is not a valid Avro schema: {error}") from error
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise InvalidSchema(f"{name} is not a valid Avro schema: {error!r}") from error
