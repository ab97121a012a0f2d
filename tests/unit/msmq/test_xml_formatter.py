"""XmlMessageFormatter: as XmlSerializer writes, and safe for foreign bodies."""

from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from uuid import UUID

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter.msmq import InvalidOperationError, XmlMessageFormatter
from adapter.msmq.xml_formatter import NOT_XML

HEAD = b'<?xml version="1.0"?>\n'


class Order(msgspec.Struct):
    number: int
    name: str
    lines: list[str] = []
    note: str | None = None


@pytest.mark.parametrize(
    ("value", "body"),
    [
        ("a < b é", b"<string>a &lt; b \xc3\xa9</string>"),
        (7, b"<int>7</int>"),
        (2**40, b"<long>1099511627776</long>"),
        (True, b"<boolean>true</boolean>"),
        (1.5, b"<double>1.5</double>"),
        (Decimal("1.20"), b"<decimal>1.20</decimal>"),
        (datetime(2003, 4, 24, tzinfo=UTC), b"<dateTime>2003-04-24T00:00:00+00:00</dateTime>"),
        (UUID(int=1), b"<guid>00000000-0000-0000-0000-000000000001</guid>"),
        ([1, 2], b"<ArrayOfInt><int>1</int><int>2</int></ArrayOfInt>"),
        (["a"], b"<ArrayOfString><string>a</string></ArrayOfString>"),
    ],
)
def test_values_as_xml_serializer_writes_them(value: object, body: bytes) -> None:
    formatter = XmlMessageFormatter()
    assert formatter.write(value) == (HEAD + body, 0)
    assert formatter.read(HEAD + body, 0) == value


def test_structs_are_read_by_their_target_types() -> None:
    formatter = XmlMessageFormatter((Order,))
    for order in (Order(1, "flour", ["a", "b"]), Order(2, "x", [], "note")):
        assert formatter.read(*formatter.write(order)) == order
    body = b"<Order><number>1</number><name>flour</name></Order>"
    assert XmlMessageFormatter((Order,)).read(body, 0) == Order(1, "flour")
    with pytest.raises(InvalidOperationError, match="<Order>"):
        XmlMessageFormatter().read(body, 0)


def test_what_net_writes_with_a_declaration_and_names_is_read() -> None:
    body = (
        '\ufeff<?xml version="1.0" encoding="utf-8"?><string xmlns:xsi="http://www.w3.org/2001/'
        'XMLSchema-instance">ü</string>'
    ).encode()
    assert XmlMessageFormatter().read(body, 0) == "ü"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"text",
        b"<string>a",
        b"<unknown/>",
        b"<int>x</int>",
        b'<?xml version="1.0" encoding="foo"?><string/>',
        b'<?xml version="1.0" encoding="rot13"?><string/>',
        b'<?xml version="1.0" encoding="hex"?><string/>',
        b'<!DOCTYPE x [<!ENTITY a "b">]><string>&a;</string>',
        b'<!DOCTYPE x SYSTEM "file:///etc/passwd"><string/>',
        b"<a>" * 5_000 + b"</a>" * 5_000,
        b"<ArrayOfX>" * 5_000 + b"</ArrayOfX>" * 5_000,
    ],
)
def test_other_bodies_are_refused(body: bytes) -> None:
    with pytest.raises(InvalidOperationError):
        XmlMessageFormatter().read(body, 0)


@pytest.mark.parametrize(
    "value", [None, object(), "\0", [1, "a"], [[1], ["a"]], [[1], 1], [[], 1], 2**63, "\ud800"]
)
def test_values_that_xml_has_not_are_refused(value: object) -> None:
    with pytest.raises(InvalidOperationError, match="cannot write"):
        XmlMessageFormatter().write(value)


@given(body=st.binary(max_size=100))
def test_any_body_is_read_or_refused(body: bytes) -> None:
    try:
        XmlMessageFormatter((Order,)).read(body, 0)
    except InvalidOperationError:
        return


@given(value=st.text(st.characters(codec="utf-8", exclude_categories=["Cs"])))
def test_texts_come_back(value: str) -> None:
    formatter = XmlMessageFormatter()
    if not NOT_XML.search(value):
        assert formatter.read(*formatter.write(value)) == value


class Marital(Enum):
    SINGLE = 1
    MARRIED = 2


class Somebody(msgspec.Struct):
    name: str
    marital: Marital
    nick: str | None
    earlier: Marital | None = Marital.SINGLE


def test_finding_msmq_d9_enums_and_values_that_are_left_out() -> None:
    formatter = XmlMessageFormatter((Somebody, Marital))
    for person in (Somebody("Ann", Marital.MARRIED, None), Somebody("Bob", Marital.SINGLE, "B")):
        body, kind = formatter.write(person)
        assert formatter.read(body, kind) == person
    assert b"<marital>MARRIED</marital>" in formatter.write(Somebody("A", Marital.MARRIED, None))[0]
    assert formatter.read(*formatter.write(Marital.MARRIED)) is Marital.MARRIED
    with pytest.raises(InvalidOperationError):
        formatter.read(b"<Marital>DIVORCED</Marital>", 0)


@pytest.mark.parametrize(
    ("inner", "text"),
    [
        (b"a\r\nb\rc\n", "a\r\nb\rc\n"),
        (b"<!-- \r -->a\r", "a\r"),
        (b"<![CDATA[a\r\n<b>]]>\r", "a\r\n<b>\r"),
        (b"a&#13;&#xD;", "a\r\r"),
    ],
)
def test_carriage_returns_of_net_stay(inner: bytes, text: str) -> None:
    """.NET writes them as they are, and its XmlTextReader reads them so."""
    head = b'<?xml version="1.0"?>\r\n<!-- \r -->\r\n'
    body = head + b"<string\r\n>" + inner + b"</string\r>\r\n<!-- \r -->\r"
    assert XmlMessageFormatter().read(body, 0) == text


def test_what_is_no_document_with_returns_costs_little() -> None:
    for open_mark in (b"<!--", b"<![CDATA[", b"<", b"<a "):
        with pytest.raises(InvalidOperationError):
            XmlMessageFormatter().read(b"<a>\r" + open_mark * 50_000 + b"</a", 0)


@pytest.mark.parametrize(
    ("value", "body"),
    [
        ([1, 2**40], b"<ArrayOfLong><long>1</long><long>1099511627776</long></ArrayOfLong>"),
        (
            [[], [1]],
            (
                b"<ArrayOfArrayOfInt><ArrayOfInt /><ArrayOfInt><int>1</int></ArrayOfInt>"
                b"</ArrayOfArrayOfInt>"
            ),
        ),
        (
            [[], []],
            b"<ArrayOfArrayOfString><ArrayOfString /><ArrayOfString /></ArrayOfArrayOfString>",
        ),
    ],
    ids=["long", "nested", "empty"],
)
def test_the_items_of_a_list_have_one_type(value: object, body: bytes) -> None:
    formatter = XmlMessageFormatter()
    assert formatter.write(value) == (HEAD + body, 0)
    assert formatter.read(HEAD + body, 0) == value


@given(value=st.lists(st.lists(st.lists(st.integers(-(2**63), 2**63 - 1)))))
def test_lists_of_lists_come_back(value: list[list[list[int]]]) -> None:
    formatter = XmlMessageFormatter()
    assert formatter.read(*formatter.write(value)) == value


class Renamed(msgspec.Struct, rename="camel"):
    first_name: str
    last_name: str | None


class Pair(msgspec.Struct, array_like=True, tag=True):
    left: int
    right: list[int] = []
    note: str | None = "none"


class Together(msgspec.Struct):
    many: tuple[int, ...]
    two: tuple[int, int]
    pairs: tuple[Pair, ...] = ()
    limit: int | None = 5
    lists: list[int] | None = msgspec.field(default_factory=list)


@pytest.mark.parametrize(
    "value",
    [
        Renamed("Ann", None),
        Pair(1),
        Pair(1, [2], None),
        Together((), (1, 2)),
        Together((1, 2**40), (1, 2), (Pair(1), Pair(2, [3])), None, None),
    ],
    ids=str,
)
def test_structs_of_each_form_come_back(value: msgspec.Struct) -> None:
    formatter = XmlMessageFormatter((Renamed, Pair, Together))
    assert formatter.read(*formatter.write(value)) == value


def test_what_differs_from_its_default_is_written() -> None:
    formatter = XmlMessageFormatter()
    assert formatter.write(Renamed("Ann", None))[0].endswith(
        b"<Renamed><firstName>Ann</firstName></Renamed>"
    )
    assert formatter.write(Pair(1, note=None))[0].endswith(
        b'<Pair xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><left>1</left><right />'
        b'<note xsi:nil="true" /></Pair>'
    )
    with pytest.raises(InvalidOperationError, match="has no left"):
        XmlMessageFormatter((Pair,)).read(b"<Pair><right/></Pair>", 0)


class Mixed(Enum):
    ONE = 1
    TWO = "two"


class OfMixed(msgspec.Struct):
    mixed: Mixed


def test_a_struct_that_msgspec_does_not_support_is_refused() -> None:
    formatter = XmlMessageFormatter((OfMixed,))
    with pytest.raises(InvalidOperationError, match="cannot read"):
        formatter.read(*formatter.write(OfMixed(Mixed.ONE)))
