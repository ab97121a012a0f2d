"""Values of the property `kombu` that are no envelope of this room, and odd ones that are."""

import json
from collections.abc import Iterator
from typing import Any

from adapter.core.contract.message import Property

GOOD: dict[str, Any] = {
    "content-type": "application/json",
    "content-encoding": "utf-8",
    "headers": {"task": "t"},
    "properties": {"delivery_info": {"exchange": "", "routing_key": "celery"}},
}
VALUES: list[Any] = [None, 5, float("inf"), True, "x", [], [{}], {}, {"a": []}]
PARTS: list[Any] = [None, 5, "x", [], {}]
TYPES = ("uuid", "datetime", "decimal", "bytes", "base64", "date", "nothing known")
TYPED = [{"__type__": kind, "__value__": value} for kind in TYPES for value in PARTS]
"""What kombu's JSON makes objects of, most of them broken."""
FITTING: dict[tuple[str, ...], tuple[type, ...]] = {
    ("content-type",): (str, type(None)),
    ("content-encoding",): (str, type(None)),
    ("headers",): (dict,),
    ("properties",): (dict,),
    ("properties", "delivery_info"): (dict,),
    ("properties", "body_encoding"): (type(None),),
}
"""Which types are right, by the place in an envelope."""


def _with(path: tuple[str, ...], value: Any) -> str:
    envelope = json.loads(json.dumps(GOOD))
    at = envelope
    for name in path[:-1]:
        at = at[name]
    at[path[-1]] = value
    return json.dumps(envelope)


def _wrong() -> Iterator[str]:
    for path, fitting in FITTING.items():
        yield from (_with(path, value) for value in VALUES if not isinstance(value, fitting))
    for missing in ("headers", "properties"):
        yield json.dumps({name: value for name, value in GOOD.items() if name != missing})
    for value in (*VALUES, *TYPED):
        yield json.dumps(value)


BAD_ENVELOPES: list[Property] = [
    *_wrong(),
    "", "x", "[" * 100_000, "9" * 5_000, '{"properties":{}}', '{"a": ', "\0",
    _with(("properties", "x"), {"__type__": "decimal", "__value__": "x"}),
    5, 1.5, True, b"{}", b"\xff",
]  # fmt: skip
ODD_ENVELOPES = [
    _with(("properties",), {}),
    _with(("properties", "delivery_info"), {}),
    _with(("more",), [1, 2]),
    _with(("content-type",), None),
    _with(("properties", "priority"), [{}]),
    _with(("properties", "delivery_tag"), {"a": 1}),
    json.dumps({"headers": {"task": "t"}, "properties": {}}),
]
