"""Properties in front of a body, as ibmmq reads them."""

from typing import Any

import ibmmq

from adapter.mqi.rfh2 import has_more, with_properties


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
    assert has_more(said | {"a": "1"})
    assert not has_more(said), "a program is given no header for what it has not asked for"
