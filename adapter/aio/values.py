"""Avro values for tasks: at once with schemas that are known; else a thread asks the registry."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from adapter.client.schemas import Schemas
from adapter.registry.port import NotKnownError

if TYPE_CHECKING:
    from adapter.registry.values import SchemaName


async def encode(
    schemas: Schemas, value: object, schema: SchemaName, subject: str, register: bool
) -> bytes:
    """Write a value; see Schemas.encode()."""
    try:
        return schemas.without_asking().encode(value, schema, subject, register=register)
    except NotKnownError:
        return await asyncio.to_thread(
            schemas.encode, value, schema=schema, subject=subject, register=register
        )


async def decode(schemas: Schemas, body: bytes, schema: SchemaName | None, named: bool) -> Any:
    """Read a value; see Schemas.decode()."""
    try:
        return schemas.without_asking().decode(body, schema, named=named)
    except NotKnownError:
        return await asyncio.to_thread(schemas.decode, body, schema=schema, named=named)
