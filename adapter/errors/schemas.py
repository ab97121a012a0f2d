"""Errors of schemas and their registry."""

# ruff: noqa: N818 -- these are published names

from __future__ import annotations

from adapter.errors.root import Error


class SchemaError(Error):
    """A schema registry refused, or an Avro value could not be written or read.

    code: the registry's own error code, as 40401; 0 if no registry said it.
    """

    reason, reason_name = 2110, "MQRC_FORMAT_ERROR"

    def __init__(self, text: str, object_name: str = "", code: int = 0) -> None:
        super().__init__(text, object_name)
        self.args = (text, object_name, code)
        self.code = code


class SchemaNotFound(SchemaError):
    """The registry has no such schema, subject or version."""


class SchemaIncompatible(SchemaError):
    """A schema is incompatible with another: with an earlier version, or with its reader."""


class InvalidSchema(SchemaError):
    """A text is not a valid Avro schema."""


class NotAvro(SchemaError):
    """A body is not an Avro value in the standard frame, or a value does not fit its schema."""


class RegistryNotAuthorized(SchemaError):
    """The schema registry knows no such user, or lets it not do this."""

    reason, reason_name = 2035, "MQRC_NOT_AUTHORIZED"


class RegistryNotAvailable(SchemaError, ConnectionError):
    """The schema registry could not be reached, or failed."""

    reason, reason_name = 2102, "MQRC_RESOURCE_PROBLEM"
