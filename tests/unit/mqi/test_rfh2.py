"""Properties in front of a body, as ibmmq reads them."""

import struct
from typing import Any
from xml.etree import ElementTree

import ibmmq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapter.core.contract.message import MessageData
from adapter.mqi.property_names import NAME_LENGTH_MAX, OF_PUBLICATIONS
from adapter.mqi.rfh2 import (
    FIXED,
    NAMES_LENGTH_MAX,
    are_compatible,
    has_damaged_properties,
    header_of,
    properties_of,
    with_properties,
    without_properties,
)
from tests.support.examples import examples


def read(properties: dict[str, Any]) -> tuple[ibmmq.RFH2, bytes]:
    """Let ibmmq take a body with its header apart."""
    md = {"Encoding": 546, "CodedCharSetId": 819, "Format": b"MQSTR   "}
    whole = with_properties(md, properties, b"body")
    assert md == {"Encoding": 546, "CodedCharSetId": 1208, "Format": b"MQHRF2  "}
    header = ibmmq.RFH2()
    header.unpack(whole)
    return header, whole[header["StrucLength"] :]


def test_the_header_says_what_the_descriptor_said() -> None:
    header, body = read({"a": "1"})
    assert body == b"body"
    assert header["Format"] == b"MQSTR   "
    assert header["CodedCharSetId"] == 819


def test_each_type_is_written_as_mq_does() -> None:
    header, _ = read(
        {"t": "<&>", "b": True, "i": 5, "l": 2**40, "f": 0.5, "x": b"\1\xff", "n": None}
    )
    assert header["usr"].decode().strip() == (
        "<usr><t>&lt;&amp;&gt;</t>"
        '<b dt="boolean">1</b><i dt="i4">5</i><l dt="i8">1099511627776</l>'
        '<f dt="r8">0.5</f><x dt="bin.hex">01ff</x><n xsi:nil="true"></n></usr>'
    )


def test_folders_are_kept_apart() -> None:
    header, _ = read({"a": "1", "jms.Dst": "queue:///Q"})
    assert header["usr"].strip() == b"<usr><a>1</a></usr>"
    assert header["jms"].strip() == b"<jms><Dst>queue:///Q</Dst></jms>"


def test_what_is_said_of_a_publication_has_a_folder_of_its_own() -> None:
    said: dict[str, Any] = {"MQTopicString": "a/b", "MQSubUserData": "x", "MQIsRetained": True}
    header, _ = read(said | {"a": "1"})
    assert header["mqps"].strip() == (
        b'<mqps><Top>a/b</Top><Sud>x</Sud><Ret dt="boolean">1</Ret></mqps>'
    )
    assert header["usr"].strip() == b"<usr><a>1</a></usr>"
    assert are_compatible(said | {"a": "1"})
    assert not are_compatible(said), "a program is given no header for what it has not asked for"


def message_of(folders: list[str], body: bytes = b"body") -> MessageData:
    """A message whose program wrote a header of these folders."""
    data = b"".join(struct.pack("<i", len(text.encode())) + text.encode() for text in folders)
    head = FIXED.pack(b"RFH ", 2, FIXED.size + len(data), 546, 1208, b"MQSTR   ", 0, 1208)
    return MessageData(head + data + body, format="MQHRF2")


def taken_off(message: MessageData, *, all_folders: bool = False) -> bytes:
    md = {"Encoding": 546, "CodedCharSetId": 1208, "Format": b"MQHRF2  "}
    header = header_of(message)
    if header is None:
        return message.body
    return without_properties(md, header, all_folders=all_folders)


@pytest.mark.parametrize(
    ("folder", "properties"),
    [
        ("<usr><a>1</a></usr>", {"a": "1"}),
        ("<usr><x>1</x><a><b>2</b><c><d>3</d></c></a></usr>", {"x": "1", "a.b": "2", "a.c.d": "3"}),
        ('<usr><a dt="boolean">true</a><b dt="boolean">0</b></usr>', {"a": True, "b": False}),
        ("<usr><a>see xsi:nil</a></usr>", {"a": "see xsi:nil"}),
        ('<usr><a xsi:nil="true"></a></usr>', {"a": None}),
        ('<usr><a xsi:type="string">1</a></usr>', {"a": "1"}),
        ("<usr><a_x002D_b>1</a_x002D_b></usr>", {"a-b": "1"}),
        ("<usr></usr>", {}),
    ],
)
def test_what_a_folder_says_are_properties(folder: str, properties: dict[str, Any]) -> None:
    message = message_of([folder])
    assert properties_of(header_of(message)) == properties
    assert not has_damaged_properties(header_of(message))
    assert taken_off(message) == b"body"


@pytest.mark.parametrize(
    "folder",
    [
        "<usr><a>1</b></usr>",
        "<usr><a>1",
        "<usr><x:a>1</x:a></usr>",
        "<usr><!-- --></usr>",
        "<usr><?x y?><a>1</a></usr>",
        "<usr>text<a>1</a></usr>",
        "<usr><a>1</a>text</usr>",
        "<usr><a>text<c>1</c></a></usr>",
        "<usr><a><c>1</c>text</a></usr>",
        "<usr><a>1</a><a>2</a></usr>",
        "<usr><a><c>1</c></a><a><c>1</c></a></usr>",
        "<usr><b>of the folder before</b></usr>",
        "<usr><a>1</a><_x0061_>2</_x0061_></usr>",
    ],
)
def test_a_folder_that_cannot_be_read_stays_in_the_body(folder: str) -> None:
    message = message_of(["<usr><b>2</b></usr>", folder])
    assert properties_of(header_of(message)) == {"b": "2"}
    assert has_damaged_properties(header_of(message))
    for all_folders in (False, True):
        assert folder.encode() in taken_off(message, all_folders=all_folders)


@pytest.mark.parametrize(
    "nested",
    [
        [(2_048, 1)],
        [(200_000, 1)],  # each level's name is as long as all before it
        [(2_000, 1_000)],
        [(2_000, 200)] * 3,
    ],
)
def test_names_that_are_too_long_are_damage(nested: list[tuple[int, int]]) -> None:
    """Short texts may say long names, and a program that reads them is not to stop for that."""
    folders = []
    for at, (deep, wide) in enumerate(nested):
        leaves = "".join(f"<n{at}_{n}/>" for n in range(wide))
        folders.append(f"<usr>{'<a>' * deep}{leaves}{'</a>' * deep}</usr>")
    message = message_of(["<usr><b>2</b></usr>", *folders])
    header = header_of(message)
    assert has_damaged_properties(header)
    found = properties_of(header)
    assert found["b"] == "2"
    assert all(len(name) <= NAME_LENGTH_MAX for name in found)
    assert sum(map(len, found)) <= NAMES_LENGTH_MAX
    assert folders[-1].encode() in taken_off(message)


def test_the_longest_names_are_read() -> None:
    leaves = "".join(f"<n{n:03}/>" for n in range(250))
    message = message_of([f"<usr>{'<a>' * 2_045}{leaves}{'</a>' * 2_045}</usr>"])
    found = properties_of(header_of(message))
    assert len(found) == 250
    assert {len(name) for name in found} == {NAME_LENGTH_MAX - 1}


NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="."), min_size=1)
TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff"))
VALUES = st.one_of(
    TEXTS, st.booleans(), st.none(), st.integers(-(2**63), 2**63 - 1), st.binary(), st.floats(-9, 9)
)


@given(st.dictionaries(NAMES, VALUES, min_size=1))
@settings(max_examples=examples(200))
def test_all_properties_come_back_whatever_their_names(properties: dict[str, Any]) -> None:
    """Other faces name them freely: no name makes a header that cannot be read, or another one."""
    properties = {name: one for name, one in properties.items() if name not in OF_PUBLICATIONS}
    md = {"Encoding": 546, "CodedCharSetId": 1208, "Format": b"MQSTR   "}
    message = MessageData(with_properties(md, properties, b"body"), format="MQHRF2")
    assert properties_of(header_of(message)) == properties
    assert not has_damaged_properties(header_of(message))


@pytest.mark.parametrize("name", ["x>1</x><y", "a<b", "1a", "content-type", "a b", "_x0020_", "ü"])
def test_a_name_forges_no_other_property(name: str) -> None:
    header, _ = read({name: "v"})
    (one,) = ElementTree.fromstring(header["usr"].decode())
    assert one.text == "v"


PIECES = ["<usr>", "</usr>", "<a>", "</a>", "<a b='1'>", "x", "&", "&lt;", "_x110000_", "_xD800_"]
PIECES += ["<_x110000_>", "</_x110000_>", "<_xDFFF_/>", 'dt="i4"', '<n dt="i8">9', "</n>", "<!--"]
PIECES += ['<n dt="bin.hex">f</n>', '<n dt="r8">1e999</n>', '<n xmlns="y"/>', "<usr/>", "\0", " "]


@given(st.lists(st.sampled_from(PIECES), max_size=12), st.binary(max_size=4))
@settings(max_examples=examples(300))
def test_no_header_that_a_program_wrote_is_too_much(pieces: list[str], rest: bytes) -> None:
    """A get reads it behind the last moment at which it could fail."""
    for folder in ("".join(pieces), f"<usr>{''.join(pieces)}</usr>"):
        message = message_of([folder, "<usr><z>1</z></usr>"], rest)
        found = properties_of(header_of(message))
        assert found["z"] == "1"
        assert all(name.encode() for name in found)
        has_damaged_properties(header_of(message))
        for all_folders in (False, True):
            assert taken_off(message, all_folders=all_folders).endswith(rest)


@settings(max_examples=examples(300))
@given(st.dictionaries(st.sampled_from("abc"), st.text(st.characters(exclude_categories=["Cs"]))))
def test_every_text_is_read_as_it_was_written(properties: dict[str, str]) -> None:
    md = {"Encoding": 546, "CodedCharSetId": 819, "Format": b"MQSTR   "}
    body = with_properties(md, properties, b"body")
    assert properties_of(header_of(MessageData(body, format="MQHRF2", encoding=546))) == properties


@pytest.mark.parametrize(
    ("written", "read_as"),
    [
        ("a\r\nb", "a\r\nb"),
        ("a&#xD;b&#13;", "a\rb\r"),
        ("x\x01y", "x\x01y"),
        ("&#1;&#x1F;&#65;", "\x01\x1fA"),
        ("\U000f0001", "\U000f0001"),
        ("&#xD800;", None),
    ],
)
def test_characters_that_xml_lacks(written: str, read_as: str | None) -> None:
    folder = f"<usr><t>good</t><c>{written}</c></usr>".encode()
    folder = folder.ljust(-(-len(folder) // 4) * 4)
    data = struct.pack("<i", len(folder)) + folder
    head = FIXED.pack(b"RFH ", 2, FIXED.size + len(data), 546, 1208, b"MQSTR   ", 0, 1208)
    message = MessageData(head + data, format="MQHRF2", encoding=546)
    expected = {} if read_as is None else {"t": "good", "c": read_as}
    assert properties_of(header_of(message)) == expected
    assert has_damaged_properties(header_of(message)) == (read_as is None)


LETTERS = ["_", "x", "0041", "00", "4", "$", "A", "_x0041_", "\u00e9", "\U00010400"]


@settings(max_examples=examples(500))
@given(st.sets(st.lists(st.sampled_from(LETTERS), min_size=1, max_size=5).map("".join), min_size=1))
def test_every_name_is_read_as_it_was_written_and_none_is_that_of_another(names: set[str]) -> None:
    properties = {name: str(n) for n, name in enumerate(names)}
    md = {"Encoding": 546, "CodedCharSetId": 819, "Format": b"MQSTR   "}
    body = with_properties(md, properties, b"body")
    assert properties_of(header_of(MessageData(body, format="MQHRF2", encoding=546))) == properties


@settings(max_examples=examples(300))
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["", "0", "0000"]),
            st.sampled_from([1, 13, 0x41, 0x4_0041, 0x5_0001, 0x10_FFFD]),
            st.sampled_from(["d", "x", "as it is"]),
        )
    )
)
def test_references_are_the_characters_that_they_name(said: list[tuple[str, int, str]]) -> None:
    written = "".join(
        chr(number) if how == "as it is" and number > 31
        else f"&#{zeros}{number};" if how == "d" else f"&#x{zeros}{number:X};"
        for zeros, number, how in said
    )  # fmt: skip
    message = message_of([f"<usr><a>{written}</a></usr>"])
    assert properties_of(header_of(message)) == {"a": "".join(chr(one[1]) for one in said)}


@pytest.mark.parametrize("body", [b"<usr><a>x\xffy</a></usr>", b"<usr><a>x</a></usr>\xc3"])
def test_a_folder_of_other_bytes_than_its_character_set_has_stays(body: bytes) -> None:
    data = struct.pack("<i", len(body)) + body
    head = FIXED.pack(b"RFH ", 2, FIXED.size + len(data), 546, 1208, b"MQSTR   ", 0, 1208)
    message = MessageData(head + data + b"body", format="MQHRF2", encoding=546)
    assert properties_of(header_of(message)) == {}
    assert has_damaged_properties(header_of(message))
    assert taken_off(message) == message.body


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("i4", "5", 5), ("i4", " -5 ", -5), ("i4", "1_0", "1_0"), ("i4", "\u0663", "\u0663"),
        ("i4", "99999999999", "99999999999"), ("i8", "99999999999", 99999999999),
        ("int", "3000000000", 3_000_000_000), ("int", str(2**63), str(2**63)),
        ("i8", str(2**63), str(2**63)), ("i1", "-128", -128), ("i1", "300", "300"),
        ("i2", "32768", "32768"), ("i2", "-32768", -32768), ("int", "2147483647", 2147483647),
        ("i8", "9" * 5000, "9" * 5000), ("r8", "1_0.5", "1_0.5"), ("r8", "1e-7", 1e-7),
        ("r8", ".5", 0.5), ("r8", "-Infinity", float("-inf")), ("r8", "1e999", "1e999"),
        ("r4", "0x1p3", "0x1p3"), ("bin.hex", "0aFF", b"\n\xff"), ("bin.hex", "0a f", "0a f"),
        ("bin.hex", "", b""), ("boolean", "2", "2"), ("boolean", " true", True),
    ],
)  # fmt: skip
def test_a_value_is_of_its_type_or_text(kind: str, text: str, value: object) -> None:
    found = properties_of(header_of(message_of([f'<usr><a dt="{kind}">{text}</a></usr>'])))
    assert found == {"a": value}
    assert type(found["a"]) is type(value)
