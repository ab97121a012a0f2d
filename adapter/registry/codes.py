"""The error codes of the schema registry API, and the errors that they become here.

A code's first three digits are the HTTP status that it comes with. The table is closed: a code that
is not in it, from a registry that has more of them, is a SchemaError.
"""

from collections.abc import Mapping
from types import MappingProxyType

from adapter import errors

BAD_REQUEST = 400
NOT_LOGGED_IN = 401
FORBIDDEN = 403
NOT_FOUND = 404
METHOD_NOT_ALLOWED = 405
INCOMPATIBLE = 409
UNPROCESSABLE = 422
NOT_AUTHORIZED = 40301
NO_SUBJECT = 40401
NO_VERSION = 40402
NO_SCHEMA = 40403
SUBJECT_DELETED = 40404
SUBJECT_NOT_DELETED = 40405
VERSION_DELETED = 40406
VERSION_NOT_DELETED = 40407
NO_LEVEL = 40408
NO_MODE = 40409
INVALID_SCHEMA = 42201
INVALID_VERSION = 42202
INVALID_LEVEL = 42203
INVALID_MODE = 42204
NOT_PERMITTED = 42205
SCHEMA_TOO_LARGE = 42209
STORE_FAILED = 50001
STORE_TIMED_OUT = 50002
FORWARDING_FAILED = 50003

ERRORS: Mapping[int, type[errors.SchemaError]] = MappingProxyType(
    {
        BAD_REQUEST: errors.SchemaError,
        NOT_LOGGED_IN: errors.RegistryNotAuthorized,
        FORBIDDEN: errors.RegistryNotAuthorized,
        NOT_AUTHORIZED: errors.RegistryNotAuthorized,
        NOT_FOUND: errors.SchemaNotFound,
        METHOD_NOT_ALLOWED: errors.SchemaError,
        INCOMPATIBLE: errors.SchemaIncompatible,
        UNPROCESSABLE: errors.SchemaError,
        NO_SUBJECT: errors.SchemaNotFound,
        NO_VERSION: errors.SchemaNotFound,
        NO_SCHEMA: errors.SchemaNotFound,
        SUBJECT_DELETED: errors.SchemaNotFound,
        SUBJECT_NOT_DELETED: errors.SchemaError,
        VERSION_DELETED: errors.SchemaNotFound,
        VERSION_NOT_DELETED: errors.SchemaError,
        NO_LEVEL: errors.SchemaNotFound,
        NO_MODE: errors.SchemaNotFound,
        INVALID_SCHEMA: errors.InvalidSchema,
        INVALID_VERSION: errors.SchemaError,
        INVALID_LEVEL: errors.SchemaError,
        INVALID_MODE: errors.SchemaError,
        NOT_PERMITTED: errors.SchemaError,
        SCHEMA_TOO_LARGE: errors.InvalidSchema,
        STORE_FAILED: errors.RegistryNotAvailable,
        STORE_TIMED_OUT: errors.RegistryNotAvailable,
        FORWARDING_FAILED: errors.RegistryNotAvailable,
    }
)
SERVER_ERRORS = 500
CODES_PER_STATUS = 100


def status_of(code: int) -> int:
    """The HTTP status of an error code."""
    return code if code < SERVER_ERRORS + CODES_PER_STATUS else code // CODES_PER_STATUS


def refusal(code: int, text: str, subject: str = "") -> errors.SchemaError:
    """Make the error of a code. text: what the registry says."""
    error = ERRORS.get(code)
    if error is None:
        down = status_of(code) >= SERVER_ERRORS
        error = errors.RegistryNotAvailable if down else errors.SchemaError
    return error(text, subject, code)
