"""Fields as properties: what has a path and one value; nothing else."""

from typing import Any

import pytest

from adapter.storage.format.record_fields import NAME_LENGTH_MAX, fields_of

VALUE: dict[str, Any] = {
    "number": 7,
    "note": None,
    "raw": b"\xff",
    "customer": {"tier": "gold", "tags": {"a": 1.5, "": 2}, "orders": [1, 2]},
    "lines": [{"sku": 1}],
}


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("NONE", {}),
        ("number", {"number": 7}),
        ("number , customer.tier", {"number": 7, "customer.tier": "gold"}),
        ("customer.tags.a, note, raw", {"customer.tags.a": 1.5, "note": None, "raw": b"\xff"}),
        ("customer, lines, customer.orders, lines.sku", {}),
        ("missing, number.x, note.x, customer.missing, .", {}),
        (
            "ALL",
            {
                "number": 7, "note": None, "raw": b"\xff", "customer.tier": "gold",
                "customer.tags.a": 1.5,
            },
        ),
    ],
)  # fmt: skip
def test_fields_by_their_paths(wanted: str, found: dict[str, Any]) -> None:
    assert dict(fields_of(VALUE, wanted)) == found


@pytest.mark.parametrize("value", [None, 7, "text", [1], b""])
@pytest.mark.parametrize("wanted", ["ALL", "number"])
def test_a_value_that_is_no_record_has_no_fields(value: object, wanted: str) -> None:
    assert dict(fields_of(value, wanted)) == {}


def test_a_path_is_not_longer_than_a_name() -> None:
    long = "x" * NAME_LENGTH_MAX
    assert dict(fields_of({long: 1, long + "x": 2, "a": {long: 3}}, "ALL")) == {long: 1}
