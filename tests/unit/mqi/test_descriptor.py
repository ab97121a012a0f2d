"""Whatever numbers a message has, it can be told to the program that has taken it."""

from typing import get_type_hints

import pytest

from adapter.core.contract.details import Details
from adapter.core.contract.message import Delivered, MessageData
from adapter.core.contract.transmission import Transmission
from adapter.mqi import md_extension, structs, transmission
from adapter.mqi.descriptor import place_of, tell_got, token_of
from adapter.mqi.rfh2 import with_properties

NOW_MS = 1_800_000_000_000
EXTREMES = (-(2**63), -(2**31) - 1, -1, 0, 2**31, 10**11, 2**63 - 1, 2**64 - 1)


def whole_numbers(kind: type) -> list[str]:
    """The names of the fields that are whole numbers."""
    return [name for name, hint in get_type_hints(kind).items() if hint is int]


CASES = [
    (kind, name, value)
    for kind in (MessageData, Details, Delivered)
    for name in whole_numbers(kind)
    for value in EXTREMES
]


def delivered_with(kind: type, name: str, value: int) -> Delivered:
    details = Details()
    message = MessageData(b"body", expires_at_ms=NOW_MS + 5_000, details=details)
    message.properties = {"colour": "red"}
    message.transmission = Transmission("Q", "QM2")
    delivered = Delivered(message, 0, 1, 2, 0, b"", 0, 0, 0, 0)
    changed = next(one for one in (message, details, delivered) if type(one) is kind)
    setattr(changed, name, value)
    return delivered


def empty(version: int) -> structs.Fields:
    md = structs.MQMD.read(bytes(structs.MQMD.size))
    return md | {"Version": version}


@pytest.mark.parametrize(("kind", "name", "value"), CASES)
@pytest.mark.parametrize("version", [1, 2])
def test_a_descriptor_holds_what_is_nearest(
    kind: type, name: str, value: int, version: int
) -> None:
    own = delivered_with(kind, name, value)
    waiting = transmission.seen("QM1", own, {"colour": "red"})
    for delivered in (own, waiting):
        md = empty(version)
        tell_got(md, delivered, NOW_MS)
        body = with_properties(md, {"colour": "red"}, delivered.message.body)
        body = md_extension.put_on(md, delivered.message, body)
        assert body.endswith(b"body")
        again = structs.MQMD.read(structs.MQMD.write(md))
        again.pop(structs.BEYOND, None)
        assert again == md
        assert len(token_of(delivered)) == 16


def test_an_expiry_is_at_most_that_of_the_manual() -> None:
    ten_years = delivered_with(MessageData, "expires_at_ms", NOW_MS + 10 * 365 * 86_400_000)
    md = empty(2)
    tell_got(md, ten_years, NOW_MS)
    assert md["Expiry"] == 999_999_999
    ten_years.message.expires_at_ms = NOW_MS + 1_250
    tell_got(md, ten_years, NOW_MS)
    assert md["Expiry"] == 12


def test_a_token_of_a_place_says_it() -> None:
    delivered = delivered_with(Delivered, "seq", -5)
    place = delivered.lane, delivered.seq, delivered.n
    assert place_of(token_of(delivered)) == place
