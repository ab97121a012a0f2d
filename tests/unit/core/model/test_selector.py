"""Selection strings: what fits, what is unknown, and what is no selection string."""

from typing import Any

import pytest

from adapter.core.contract.details import Details
from adapter.core.contract.message import MessageData
from adapter.core.model.selector import DIGITS_MAX, NESTED_MAX, SelectorError, parse
from adapter.core.mq_layouts.mqmd import FIELDS

PROPERTIES: dict[str, Any] = {
    "colour": "red",
    "weight": 12,
    "price": 2.5,
    "urgent": True,
    "late": False,
    "blob": b"\x0a\xfc",
    "nothing": None,
    "$tax": 7,
    "it's": "O'Neill",
    "pattern": "50%_off",
}
MESSAGE = MessageData(
    b"",
    message_id=b"m" * 24,
    priority=7,
    persistence=1,
    format="MQSTR",
    reply_to="REPLIES",
    put_time_ms=1_700_000_000_120,
    expiry_ms=1_234,
    properties=PROPERTIES,
    details=Details(appl_type=25, offset=3),
)

TRUE = [
    "colour = 'red'",
    "colour <> 'blue'",
    "weight > 10 AND weight < 13",
    "weight >= 12 and weight <= 12",
    "weight = 12.0",
    "price * 2 = 5",
    "$tax = 7 AND $tax IS NOT NULL",
    f"weight < {'9' * DIGITS_MAX}",
    f"weight < {'9' * (DIGITS_MAX + 1)}.0",
    "weight - 2 * 5 = 2",
    "(weight - 2) * 5 = 50",
    "-weight = -12",
    "+weight = 12",
    "weight / 5 = 2.4",
    "weight = 0xC",
    "weight = 1.2E1",
    "urgent",
    "urgent = TRUE",
    "urgent <> FALSE",
    "NOT late",
    "not not urgent",
    "weight BETWEEN 10 AND 12",
    "weight NOT BETWEEN 13 AND 20",
    "weight BETWEEN 10 AND 12 AND urgent",
    "colour IN ('green', 'red')",
    "colour NOT IN ('green', 'blue')",
    "colour LIKE 'r%'",
    "colour LIKE '_e_'",
    "colour LIKE '%e%'",
    "colour NOT LIKE 'b%'",
    "pattern LIKE '50!%!_%' ESCAPE '!'",
    "absent IS NULL",
    "nothing IS NULL",
    "colour IS NOT NULL",
    "absent = 1 OR urgent",
    "NOT (absent = 1 AND late)",
    "\"it's\" = 'O''Neill'",
    'blob = "0x0AFC"',
    "usr.colour = 'red'",
    "Root.MQMD.Priority = 7",
    "Root.MQMD.Format = 'MQSTR'",
    'Root.MQMD.MsgId = "0x' + "6d" * 24 + '"',
    "Root.MQMD.PutDate = '20231114'",
    "Root.MQMD.PutTime = '22132012'",
    "Root.MQMD.Expiry = 13",
    "Root.MQMD.PutApplType = 25 AND Root.MQMD.Offset = 3",
    "late = FALSE AND late OR urgent",
]
NOT_TRUE = [
    "colour = 'blue'",
    "colour = 12",
    "colour <> 12",
    "weight = '12'",
    "absent = 1",
    "NOT absent = 1",
    "absent <> 1",
    "absent",
    "NOT absent",
    "colour",
    "weight",
    "absent = 1 OR late",
    "absent = 1 AND urgent",
    "absent IN ('a')",
    "absent NOT IN ('a')",
    "absent LIKE '%'",
    "absent NOT LIKE '%'",
    "absent BETWEEN 1 AND 2",
    "absent NOT BETWEEN 1 AND 2",
    "weight / 0 = 1",
    "weight / 0 <> 1",
    "colour + 1 = 1",
    "late",
    "colour > weight",
    "colour IS NULL",
    "weight LIKE '12'",
    "Root.MQMD.Priority > 7",
]
ERRORS = [
    "",
    "   ",
    "colour =",
    "= 'red'",
    "colour = 'red",
    "colour == 'red'",
    "1 + 1",
    "'red'",
    "colour = 'red' AND",
    "(colour = 'red'",
    "colour = 'red')",
    "colour LIKE 5",
    "colour LIKE 'a!' ESCAPE '!'",
    "colour LIKE 'a' ESCAPE 'ab'",
    "colour IN ()",
    "colour IN (1, 2)",
    "colour NOT 'red'",
    "weight BETWEEN 1",
    "'a' < 'b'",
    "urgent > TRUE",
    "1 = 'a'",
    "NOT 5",
    "'a' + 1 = 2",
    "colour IS 5",
    "weight ? 5",
    "Root.MQMD.BackoutCount = 1",
    "Root.MQRFH2.X = 1",
    "5 IN ('a')",
]


@pytest.mark.parametrize("text", TRUE)
def test_what_fits(text: str) -> None:
    assert parse(text)(MESSAGE) is True


@pytest.mark.parametrize("text", NOT_TRUE)
def test_what_is_false_or_unknown_does_not_fit(text: str) -> None:
    assert parse(text)(MESSAGE) is False


@pytest.mark.parametrize("text", ERRORS)
def test_what_is_no_selection_string(text: str) -> None:
    with pytest.raises(SelectorError):
        parse(text)


def test_without_properties_everything_is_unknown() -> None:
    assert not parse("colour = 'red' OR NOT colour = 'red'")(MessageData())
    assert parse("colour IS NULL")(MessageData())


@pytest.mark.parametrize("name", FIELDS)
def test_every_field_has_a_value_of_one_kind(name: str) -> None:
    """Also of a message that says nothing."""
    kinds = {type(FIELDS[name](message)) for message in (MessageData(), MESSAGE)}
    assert len(kinds) == 1


def test_bounds() -> None:
    parse("(" * NESTED_MAX + "a" + ")" * NESTED_MAX)
    for text in (
        "(" * (NESTED_MAX + 1) + "a" + ")" * (NESTED_MAX + 1),
        "NOT " * (NESTED_MAX + 1) + "a",
        "-" * (NESTED_MAX + 1) + "1 = 1",
        " OR ".join(["a"] * 2000),
        " + ".join(["1"] * 600) + " = 1",
        f"weight = {'9' * (DIGITS_MAX + 1)}",
    ):
        with pytest.raises(SelectorError, match="more than"):
            parse(text)
