"""What programs see of a schema registry: schemas by id, by subject and version.

A schema is text: Avro's JSON. A subject is a name under which versions 1, 2, ... of a schema are
kept; an id is one text's number in all subjects. It knows no HTTP and no topic.

Every method raises RegistryNotAvailable if the registry cannot be asked, and SchemaError (its
subclasses, with the registry's own code) for what it refuses.
"""

from typing import Literal, Protocol

from msgspec import Struct

Level = Literal[
    "NONE",
    "BACKWARD",
    "BACKWARD_TRANSITIVE",
    "FORWARD",
    "FORWARD_TRANSITIVE",
    "FULL",
    "FULL_TRANSITIVE",
]
Latest = Literal["latest"]
LATEST: Latest = "latest"


class Registered(Struct, frozen=True):
    """One version of a subject. schema: its text."""

    subject: str
    version: int
    schema_id: int
    schema: str


class SchemaRegistry(Protocol):
    """A schema registry. Its methods may be called from any thread, and block."""

    def schema(self, schema_id: int) -> str:
        """Return the text of the schema with this id. Raises SchemaNotFound."""

    def version(self, subject: str, version: int | Latest = LATEST) -> Registered:
        """Return one version of a subject. Raises SchemaNotFound."""

    def subjects(self) -> list[str]:
        """Return the names of all subjects, sorted."""

    def versions(self, subject: str) -> list[int]:
        """Return the numbers of a subject's versions, in order. Raises SchemaNotFound."""

    def register(self, subject: str, schema: str) -> int:
        """Make a schema the subject's latest version, if it has it not yet; the schema's id.

        Raises InvalidSchema, or SchemaIncompatible if the subject's level forbids it.
        """

    def lookup(self, subject: str, schema: str) -> Registered:
        """Return the version of a subject that is this schema. Raises SchemaNotFound."""

    def check(self, subject: str, schema: str) -> list[str]:
        """Say what speaks against registering a schema, by the subject's level; [] if nothing.

        Raises InvalidSchema.
        """

    def level(self, subject: str | None = None) -> str:
        """Return the compatibility level of a subject, or of all that have none of their own."""

    def set_level(self, level: Level, subject: str | None = None) -> None:
        """Set the compatibility level of a subject, or of all that have none of their own."""

    def delete_version(self, subject: str, version: int, *, permanent: bool = False) -> None:
        """Delete a version; permanent: one that was deleted before, with its schema.

        Raises SchemaNotFound.
        """

    def delete_subject(self, subject: str, *, permanent: bool = False) -> list[int]:
        """Delete all versions of a subject; their numbers. See delete_version."""

    def close(self) -> None:
        """Let go of connections. May be called twice."""


class NotKnownError(Exception):
    """A schema is not kept in memory, and the registry is not to be asked for it now."""
