"""XmlMessageFormatter: as XmlSerializer writes, and safe for foreign bodies."""

import math
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum, Flag, IntEnum
from fractions import Fraction
from typing import Annotated, Any, NewType, Optional
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
    "value",
    [None, object(), "\0", [1, "a"], [[1], ["a"]], [[1], 1], [[], 1], 2**63, "\ud800", [None]],
)
def test_values_that_xml_has_not_are_refused(value: object) -> None:
    with pytest.raises(InvalidOperationError, match="cannot write"):
        XmlMessageFormatter().write(value)


@pytest.mark.parametrize("text", ["NaN", "Infinity", "1E999999999", "1E-999999999", "9" * 30])
def test_decimals_that_net_has_not_are_refused(text: str) -> None:
    with pytest.raises(InvalidOperationError, match="cannot write"):
        XmlMessageFormatter().write(Decimal(text))


def test_a_zone_of_seconds_is_refused() -> None:
    with pytest.raises(InvalidOperationError, match="zone"):
        XmlMessageFormatter().write(datetime(2024, 1, 1, tzinfo=timezone(timedelta(seconds=30))))


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
    with pytest.raises(InvalidOperationError, match="cannot write"):
        formatter.write(OfMixed(Mixed.ONE))
    with pytest.raises(InvalidOperationError, match="cannot read"):
        formatter.read(b"<OfMixed><mixed>ONE</mixed></OfMixed>", 0)


class Access(Flag):
    READ = 1
    WRITE = 2


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Part(msgspec.Struct):
    number: int
    level: Level | None = None


Number = NewType("Number", int)
LEAVES = (
    int, str, bool, float, Decimal, datetime, UUID, bytes, Any, Part, Level, Marital, Mixed, Access,
    Number,
)  # fmt: skip


def of(outer: Any, inner: Any) -> Any:
    """Return a type of other types, made of values."""
    return outer[inner]


DESCRIBED = msgspec.Meta(description="x")
types = st.recursive(
    st.sampled_from(LEAVES),
    lambda inner: st.one_of(
        inner.map(lambda kind: of(list, kind)),
        inner.map(lambda kind: of(tuple, (kind, ...))),
        inner.map(lambda kind: of(Sequence, kind)),
        inner.map(lambda kind: of(Annotated, (kind, DESCRIBED))),
        inner.map(lambda kind: of(Optional, kind)),
        st.tuples(inner, inner).map(lambda two: two[0] | two[1]),
    ),
    max_leaves=3,
)
contents = st.recursive(
    st.one_of(
        st.none(), st.text("a1\r\n <]", max_size=3), st.integers(-(2**64), 2**64), st.booleans(),
        st.floats(), st.decimals(), st.datetimes(), st.uuids(), st.binary(max_size=3),
        st.sampled_from([*Level, *Marital, *Mixed, *Access, Access.READ | Access.WRITE, Access(0)]),
        st.builds(Part, st.integers(0, 5), st.sampled_from([None, *Level])),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.tuples(inner, inner)),
    max_leaves=3,
)  # fmt: skip
names = st.sampled_from(["a", "a b", "1a", "a:b", "a}b", "{a}b", "é", "a/", "xmlns", "a x='1'"])


@given(
    kind=types,
    value=contents,
    default=st.sampled_from([msgspec.NODEFAULT, None, 5, ""]),
    name=st.one_of(st.just("a"), names),
    outer=st.sampled_from(["Outer", "string", "ArrayOfInt", "a b"]),
)
def test_what_is_written_is_read_or_it_is_refused(
    kind: Any, value: Any, default: Any, name: str, outer: str
) -> None:
    try:
        field = msgspec.field(name=name, default=default)
        made = msgspec.defstruct(outer, [("a", kind, field)])
    except (TypeError, ValueError):
        return  # no Struct has such a field
    formatter = XmlMessageFormatter((made, Level, Marital, Mixed, Access, Part))
    for written in (made(value), [made(value)] * 2, value):
        try:
            body, body_type = formatter.write(written)
        except InvalidOperationError:
            continue
        assert flat(formatter.read(body, body_type)) == flat(written)


Fitting = tuple[Any, Any]
fitting: st.SearchStrategy[Fitting] = st.recursive(
    st.one_of(
        st.tuples(st.just(str), st.text("a1\r\n <]", max_size=3)),
        st.tuples(st.sampled_from([int, Number]), st.integers(-(2**63), 2**63 - 1)),
        st.tuples(st.just(bool), st.booleans()),
        st.tuples(st.just(float), st.floats()),
        st.tuples(st.just(Decimal), st.decimals(-1000, 1000, places=3)),
        st.tuples(st.just(datetime), st.datetimes(timezones=st.sampled_from([None, UTC]))),
        st.tuples(st.just(UUID), st.uuids()),
        st.tuples(st.just(bytes), st.binary(max_size=3)),
        st.tuples(st.just(Level), st.sampled_from(Level)),
        st.tuples(st.just(Any), st.sampled_from(["a", None])),
        st.tuples(st.just(Part), st.builds(Part, st.integers(0, 5), st.sampled_from(Level))),
    ),
    lambda inner: st.one_of(
        inner.map(lambda one: (of(list, one[0]), [one[1]] * 2)),
        inner.map(lambda one: (of(tuple, (one[0], ...)), (one[1],))),
        inner.map(lambda one: (of(Sequence, one[0]), [])),
        inner.map(lambda one: (of(Annotated, (one[0], DESCRIBED)), one[1])),
        inner.map(lambda one: (of(Optional, one[0]), one[1])),
    ).filter(lambda one: not isinstance(one[1], list | tuple) or None not in one[1]),
    max_leaves=3,
)  # fmt: skip


@given(one=fitting, default=st.sampled_from([msgspec.NODEFAULT, None]))
def test_a_value_of_the_type_of_its_field_is_written_and_read(one: Fitting, default: Any) -> None:
    made = msgspec.defstruct("Made", [("a", one[0], msgspec.field(default=default))])
    formatter = XmlMessageFormatter((made,))
    value = made(one[1])
    assert flat(formatter.read(*formatter.write(value))) == flat(value)


def flat(value: Any) -> Any:
    """Return a value as a text that is the same for all that are the same value to a program."""
    if isinstance(value, msgspec.Struct):
        return [type(value).__name__, *(flat(getattr(value, n)) for n in value.__struct_fields__)]
    if isinstance(value, list | tuple):
        return [flat(one) for one in value]
    if isinstance(value, datetime):
        value = value.replace(fold=0)
    if isinstance(value, Enum | bool) or not isinstance(value, int | float | Decimal):
        return repr(value)
    is_finite = isinstance(value, int) or math.isfinite(value)
    return str(Fraction(value)) if is_finite else str(float(value))


@pytest.mark.parametrize("depth", [99, 100, 101, 5_000])
def test_lists_are_written_as_deep_as_they_are_read(depth: int) -> None:
    value: list[Any] = []
    for _ in range(depth - 1):
        value = [value]
    formatter = XmlMessageFormatter()
    if depth <= 100:
        assert formatter.read(*formatter.write(value)) == value
    else:
        with pytest.raises(InvalidOperationError, match="cannot write"):
            formatter.write(value)


def test_a_list_that_contains_itself_is_refused_at_once() -> None:
    value: list[Any] = []
    value += [value, value]
    with pytest.raises(InvalidOperationError, match="cannot write"):
        XmlMessageFormatter().write(value)
    shared = ["a"]
    assert XmlMessageFormatter().write([shared, shared])[0].count(b"<string>a</string>") == 2


XSI = b'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'


@pytest.mark.parametrize("said", [b"true", b"1", b" true "])
@pytest.mark.parametrize("name", [b"string", b"int", b"ArrayOfString", b"Order"])
def test_nil_is_none(said: bytes, name: bytes) -> None:
    body = b"<" + name + b" " + XSI + b' xsi:nil="' + said + b'"/>'
    formatter = XmlMessageFormatter((Order, Somebody))
    assert formatter.read(body, 0) is None
    note = b"<note " + XSI + b' xsi:nil="' + said + b'"/>'
    order = b"<Order><number>1</number><name>x</name>" + note + b"</Order>"
    assert formatter.read(order, 0) == Order(1, "x", [], None)
    wrong = body.replace(b'"' + said + b'"', b'"yes"')
    with pytest.raises(InvalidOperationError):
        formatter.read(wrong, 0)


@pytest.mark.parametrize(
    "body",
    [
        b"<string><b>x</b>tail</string>",
        b"<int>1<b/></int>",
        b"<Order><number>1</number><name><b>x</b></name></Order>",
        b"<Order><number>1_0</number><name>x</name></Order>",
        b"<Bill><total>1E999999999</total></Bill>",
        b"<Bill><total>1</total><rest>1E999999999</rest></Bill>",
        b"<Bill><total>NaN</total></Bill>",
    ],
)
def test_a_simple_value_is_one_of_its_type(body: bytes) -> None:
    with pytest.raises(InvalidOperationError, match="cannot read"):
        XmlMessageFormatter((Order, Bill)).read(body, 0)


class Bill(msgspec.Struct):
    total: Decimal
    rest: Decimal | int | None = None


def test_returns_in_a_section_cost_as_much_as_others() -> None:
    """One body of 4 MB took four seconds."""
    for text in ("\r" * 4_000_000, "\r]&<" * 1_000_000):
        body = f"<string><![CDATA[{text}]]></string>".encode()
        began_s = time.process_time()
        assert XmlMessageFormatter().read(body, 0) == text
        assert time.process_time() - began_s < 2


@given(text=st.text("\r\n]&<>;x", max_size=20).filter(lambda text: "]]>" not in text))
def test_a_section_is_read_as_it_is(text: str) -> None:
    body = f"<string>x<![CDATA[{text}]]>]]&gt;\r</string>".encode()
    assert XmlMessageFormatter().read(body, 0) == f"x{text}]]>\r" or "\r" not in text
