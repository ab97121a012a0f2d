"""Values as MQSC writes them and as PCF numbers them; conditions."""

import pytest

from adapter.administration import values
from adapter.administration.values import NoSuchValueError, filter_on, fits
from adapter.core.attributes.objects import KINDS
from adapter.core.attributes.table import AttributeRow
from tests.support.each import each

QUEUE = KINDS["queue"]
EVERY = [(kind, row) for kind, table in KINDS.items() for row in table.values()]


def name_of(value: str | AttributeRow) -> str:
    return value.name if isinstance(value, AttributeRow) else value


@each(EVERY, name_of)
def test_every_member_has_one_word_and_one_number(kind: str, row: AttributeRow) -> None:
    members = values.members(row)
    assert len(set(values.words(row))) == len(set(values.numbers(row))) == len(members)
    for member in members:
        assert values.from_text(row, values.text(row, member).lower()) == member
        assert values.from_plain(row, values.plain(row, member)) == member


@each(EVERY, name_of)
def test_every_default_goes_both_ways(kind: str, row: AttributeRow) -> None:
    assert values.from_text(row, values.text(row, row.default)) == row.default
    assert values.from_plain(row, values.plain(row, row.default)) == row.default


@pytest.mark.parametrize(
    ("name", "value", "word", "number"),
    [
        ("inhibit_put", True, "DISABLED", 1),
        ("inhibit_get", False, "ENABLED", 0),
        ("share", True, "SHARE", 1),
        ("def_persistence", True, "YES", 1),
        ("def_input_open_option", "EXCLUSIVE", "EXCL", 4),
        ("msg_delivery_sequence", "FIFO", "FIFO", 1),
        ("trigger_control", False, "NOTRIGGER", 0),
        ("trigger_type", "DEPTH", "DEPTH", 3),
        ("usage", "XMITQ", "XMITQ", 1),
        ("max_depth", 7, "7", 7),
        ("description", "a b", "a b", "a b"),
    ],
)
def test_words_and_numbers_are_those_of_the_manual(
    name: str, value: object, word: str, number: int | str
) -> None:
    assert values.text(QUEUE[name], value) == word
    assert values.plain(QUEUE[name], value) == number


@pytest.mark.parametrize("given", ["12x", "", "1.5", "--1", "1" * 19, "\N{SUPERSCRIPT TWO}"])
def test_what_is_no_number_is_refused(given: str) -> None:
    with pytest.raises(NoSuchValueError, match="whole number"):
        values.from_text(QUEUE["max_depth"], given)


def test_what_is_no_word_and_no_number_of_an_attribute_is_refused() -> None:
    with pytest.raises(NoSuchValueError, match="ENABLED, DISABLED"):
        values.from_text(QUEUE["inhibit_put"], "YES")
    with pytest.raises(NoSuchValueError, match="one of 0, 1"):
        values.from_plain(QUEUE["inhibit_put"], 2)
    with pytest.raises(NoSuchValueError, match="takes int"):
        values.from_plain(QUEUE["max_depth"], "x")


def test_names_are_a_list() -> None:
    row = KINDS["namelist"]["names"]
    assert values.plain(row, "A,B") == ["A", "B"]
    assert values.plain(row, "") == []
    assert values.from_plain(row, ["A  ", "B"]) == "A,B"


def test_application_types_have_words() -> None:
    row = KINDS["process"]["appl_type"]
    assert values.text(row, 6) == "UNIX"
    assert values.from_text(row, "windowsnt") == 11
    assert values.from_text(row, "70000") == 70_000
    assert values.text(row, 70_000) == "70000"


@pytest.mark.parametrize(
    ("operator", "passing"),
    [(1, [1]), (2, [2]), (3, [1, 2]), (4, [3]), (5, [1, 3]), (6, [2, 3])],
)
def test_numbers_are_compared(operator: int, passing: list[int]) -> None:
    condition = filter_on(QUEUE["max_depth"], operator, 2)
    assert [one for one in (1, 2, 3) if condition.passes(one)] == passing


@pytest.mark.parametrize(
    ("operator", "want", "passing"),
    [
        (18, "IBM *", ["IBM MQ"]),
        (21, "IBM *", ["", "IB"]),
        (18, "IB", ["IB"]),
        (2, "IB  ", ["IB"]),
        (4, "IB", ["IBM MQ"]),
    ],
)
def test_texts_are_compared(operator: int, want: str, passing: list[str]) -> None:
    condition = filter_on(QUEUE["description"], operator, want)
    assert [one for one in ("", "IB", "IBM MQ") if condition.passes(one)] == passing


@pytest.mark.parametrize(("operator", "passes"), [(10, True), (13, False), (26, True), (29, False)])
def test_lists_contain_or_exclude(operator: int, passes: bool) -> None:
    row = KINDS["namelist"]["names"]
    assert filter_on(row, operator, "AB" if operator < 20 else "A*").passes(["X", "AB"]) is passes
    assert filter_on(row, operator, "B").passes(["X", "AB"]) is not passes


def test_words_are_compared_by_their_numbers() -> None:
    condition = filter_on(QUEUE["inhibit_put"], 2, 1)
    assert condition.passes(1)
    assert not condition.passes(0)


@pytest.mark.parametrize(
    ("name", "operator", "want"),
    [
        ("max_depth", 18, 1),
        ("max_depth", 10, 1),
        ("max_depth", 2, "x"),
        ("description", 2, 5),
        ("description", 99, "x"),
        ("inhibit_put", 18, 1),
    ],
)
def test_a_comparison_goes_with_its_attribute(name: str, operator: int, want: int | str) -> None:
    with pytest.raises(NoSuchValueError):
        filter_on(QUEUE[name], operator, want)


@pytest.mark.parametrize(
    ("name", "generic", "yes"),
    [
        ("A", "A", True),
        ("AB", "A", False),
        ("AB", "A*", True),
        ("A", "*", True),
        ("B", "A*", False),
    ],
)
def test_a_star_at_the_end_stands_for_anything(name: str, generic: str, yes: bool) -> None:
    assert fits(name, generic) is yes
