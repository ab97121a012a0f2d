"""Avro values as programs put and get them: which registry, and the values' own door.

The registry's client and the codec are loaded when they are first needed: a program that moves
bytes pays nothing for them. It knows no queue.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from adapter.connection.channel import arguments as a
from adapter.connection.channel.closing import Closing
from adapter.connection.channel.forking import disown_in_child, new_lock
from adapter.errors import InvalidOption, InvalidType
from adapter.registry.port import NotKnownError

if TYPE_CHECKING:
    from adapter.registry.port import SchemaRegistry
    from adapter.registry.values import SchemaName, Values


class Schemas(Closing):
    """Writes and reads Avro values in the standard frame, with the schemas of one registry.

    registry: its URL (for Apicurio ending with /apis/ccompat/v7), or an object with the methods of
    adapter.registry.port.SchemaRegistry. Nothing is asked before the first value. Its methods may
    be called from any thread.
    """

    def __init__(self, registry: SchemaRegistry | str | None) -> None:
        if isinstance(registry, bytes | int | float):
            raise InvalidType(f"registry is a URL or a schema registry, not {a.shown(registry)}")
        self._named = registry
        self._made: SchemaRegistry | None = None
        self._values: Values | None = None
        self._lock = new_lock()
        disown_in_child(self)

    @property
    def registry(self) -> SchemaRegistry:
        """The registry that is asked. Raises InvalidOption if none was named."""
        return self._door().registry

    def encode(
        self, value: Any, *, schema: SchemaName, subject: str = "", register: bool = False
    ) -> bytes:
        """Write a value: the body that Queue.put_value() would put; see there."""
        return self._door().encode(value, schema, subject, register=register)

    def decode(self, body: bytes, *, schema: SchemaName | None = None, named: bool = False) -> Any:
        """Read a body, as Message.decode() does; see there."""
        return self._door().decode(body, schema, named=named)

    def without_asking(self) -> Values:
        """Return what encodes and decodes with the schemas that are known.

        Raises NotKnownError, and so do its methods, where the registry would be asked.
        """
        with self._lock:
            if self._values is None:
                raise NotKnownError
            return self._values.without_asking()

    def close(self) -> None:
        """Let go of connections to the registry, if they were made here. Twice is no error."""
        with self._lock:
            made, self._made, self._values = self._made, None, None
        if made is not None:
            made.close()

    def disown(self) -> None:
        """Make connections of its own to the registry, in a forked child."""
        self._made = self._values = None

    def _door(self) -> Values:
        with self._lock:
            if self._values is None:
                self._values = self._open()
            return self._values

    def _open(self) -> Values:
        from adapter.registry.values import Values  # noqa: PLC0415

        if self._named is None:
            raise InvalidOption(
                "no schema registry was named: adapter.connect(registry=URL), or set MQK_REGISTRY"
            )
        if not isinstance(self._named, str):
            return Values(self._named)
        from adapter.registry.rest import RestRegistry  # noqa: PLC0415

        self._made = RestRegistry(self._named)
        return Values(self._made)
