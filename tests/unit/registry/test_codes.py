"""The registry's error codes: each an error here, and a status on the wire."""

import pytest

from adapter.errors import RegistryNotAuthorized, RegistryNotAvailable, SchemaError, SchemaNotFound
from adapter.registry import codes


@pytest.mark.parametrize(("code", "kind"), codes.ERRORS.items())
def test_every_code_is_an_error_with_its_status(code: int, kind: type[SchemaError]) -> None:
    error = codes.refusal(code, "text", "s")
    assert type(error) is kind
    assert (error.code, error.object_name) == (code, "s")
    assert codes.status_of(code) == int(str(code)[:3])


def test_every_code_of_the_table_is_in_it() -> None:
    named = {value for name, value in vars(codes).items() if isinstance(value, int)}
    named -= {codes.SERVER_ERRORS, codes.CODES_PER_STATUS}
    assert named == set(codes.ERRORS)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (401, RegistryNotAuthorized),
        (40301, RegistryNotAuthorized),
        (418, SchemaError),
        (503, RegistryNotAvailable),
        (50099, RegistryNotAvailable),
        (404, SchemaNotFound),
    ],
)
def test_a_code_that_others_use_is_an_error_too(code: int, kind: type[SchemaError]) -> None:
    assert type(codes.refusal(code, "text")) is kind
