"""Bodies in another character set and byte order, and what is not converted."""

import struct
from typing import Any

import pytest
from ibmmq import CMQC, CMQCFC, DLH, PCFExecute

from adapter import mq_constants as mq
from adapter.character_sets import CODECS
from adapter.mqi.conversion import convert

BIG, LITTLE = 273, 546
EBCDIC, UTF_8, LATIN_1 = 500, 1208, 819
NO_ORDER = mq.MQRC_TARGET_INTEGER_ENC_ERROR


def described(format_: str, encoding: int, ccsid: int) -> dict[str, Any]:
    return {"Format": format_.encode().ljust(8), "Encoding": encoding, "CodedCharSetId": ccsid}


def ebcdic(text: str, length: int = 0) -> bytes:
    return text.ljust(length).encode("cp500")


def dead_letter(order: str, codec: str, encoding: int, ccsid: int, format_: str) -> bytes:
    texts = ["DLH ", "ORDERS".ljust(48), "QM1".ljust(48), format_.ljust(8), "sender".ljust(28)]
    ident, queue, manager, name, program = (text.encode(codec) for text in texts)
    stamp = "20260731".encode(codec)
    return struct.pack(
        order + "4sii48s48sii8si28s8s8s",
        *(ident, 1, 2053, queue, manager, encoding, ccsid, name, 6, program, stamp, stamp),
    )


def rfh2(
    order: str, codec: str, encoding: int, ccsid: int, format_: str, names: int = UTF_8
) -> bytes:
    name_codec = {UTF_8: "utf-8", 1200: f"utf-16-{'l' if order == '<' else 'b'}e"}[names]
    folder = "<usr><size>12</size></usr>  ".encode(name_codec)
    head = ("RFH ".encode(codec), 2, 40 + len(folder), encoding, ccsid)
    behind = (format_.ljust(8).encode(codec), 0, names, len(folder))
    return struct.pack(order + "4siiii8siii", *head, *behind) + folder


def extension(order: str, codec: str, encoding: int, ccsid: int) -> bytes:
    head = ("MDE ".encode(codec), 2, 72, encoding, ccsid, "MQSTR   ".encode(codec), 0)
    return struct.pack(order + "4siiii8si24siiii", *head, bytes(range(24)), 3, 4, 8, -1)


def trigger(order: str, codec: str) -> bytes:
    texts = ["Q".ljust(48), "P".ljust(48), "T".ljust(64)]
    queue, process, data = (text.encode(codec) for text in texts)
    rest = [text.encode(codec) for text in ("prog".ljust(256), "env".ljust(128), " " * 128)]
    head = ("TM  ".encode(codec), 1, queue, process, data, 6)
    return struct.pack(order + "4si48s48s64si256s128s128s", *head, *rest)


def pcf(order: str, codec: str, ccsid: int, names: tuple[str, str] = ("AB  ", "CDEF")) -> bytes:
    """A message with every type of structure."""
    a, b = (name.encode(codec) for name in names)
    width = max(len(a), len(b))
    parts = [
        struct.pack(order + "9i", 2, 36, 1, 5, 1, 1, 0, 0, 10),
        struct.pack(order + "4i", CMQCFC.MQCFT_INTEGER, 16, 7, -5),
        struct.pack(order + "5i", CMQCFC.MQCFT_STRING, 24, 8, ccsid, 3) + "Q.1".encode(codec),
        b"\0",
        struct.pack(order + "6i", CMQCFC.MQCFT_INTEGER_LIST, 24, 9, 2, 10, 11),
        struct.pack(order + "6i", CMQCFC.MQCFT_STRING_LIST, 24 + 2 * width, 10, ccsid, 2, width),
        a + b,
        struct.pack(order + "4i", CMQCFC.MQCFT_BYTE_STRING, 20, 11, 3) + b"\1\2\3\0",
        struct.pack(order + "4i", CMQCFC.MQCFT_GROUP, 16, 12, 1),
        struct.pack(order + "4iq", CMQCFC.MQCFT_INTEGER64, 24, 13, 0, 2**40),
        struct.pack(order + "4i2q", CMQCFC.MQCFT_INTEGER64_LIST, 32, 14, 2, 1, -2),
        struct.pack(order + "5i", CMQCFC.MQCFT_INTEGER_FILTER, 20, 15, 2, 99),
        struct.pack(order + "6i", CMQCFC.MQCFT_STRING_FILTER, 28, 16, 18, ccsid, 2),
        "A*".encode(codec) + b"\0\0",
        struct.pack(order + "5i", CMQCFC.MQCFT_BYTE_STRING_FILTER, 24, 17, 2, 4) + b"\4\3\2\1",
    ]
    return b"".join(parts)


@pytest.mark.parametrize("ccsid", CODECS)
def test_every_set_has_a_codec(ccsid: int) -> None:
    body = "MQ 12".encode(CODECS[ccsid])
    md = described("MQSTR", LITTLE, ccsid)
    assert convert(md, body, LITTLE, UTF_8) == (b"MQ 12", 0)
    assert md["CodedCharSetId"] == UTF_8


def test_utf_16_is_in_the_byte_order_of_its_encoding() -> None:
    md = described("MQSTR", BIG, 1200)
    assert convert(md, "Zürich".encode("utf-16-be"), LITTLE, 0) == ("Zürich".encode(), 0)
    assert md == described("MQSTR", LITTLE, UTF_8)
    md = described("MQSTR", LITTLE, 1200)
    assert convert(md, "Zü".encode("utf-16-le"), BIG, 1200) == ("Zü".encode("utf-16-be"), 0)


@pytest.mark.parametrize("ccsid", sorted(CODECS))
def test_a_character_that_the_target_lacks_is_its_substitute(ccsid: int) -> None:
    text, md = "5 €\U0001f600ß\u05d0.", described("MQSTR", LITTLE, UTF_8)
    body, warning = convert(md, text.encode(), LITTLE, ccsid)
    assert (warning, md["CodedCharSetId"]) == (0, ccsid)
    found = body.decode(CODECS[ccsid])
    assert len(found) == len(text)
    assert all(one in (said, "\x1a") for one, said in zip(found, text, strict=True))
    lacks = [one for one in text if (one.encode(CODECS[ccsid], "ignore") or b"") == b""]
    assert found.count("\x1a") == len(lacks)


def test_substitutes_are_those_of_mq() -> None:
    for ccsid, substitute in ((LATIN_1, b"\x1a"), (EBCDIC, b"\x3f")):
        md = described("MQSTR", LITTLE, UTF_8)
        assert convert(md, "\u05d0".encode(), LITTLE, ccsid) == (substitute, 0)


@pytest.mark.parametrize(
    ("body", "md", "asked", "reason"),
    [
        (b"x", described("MINE", LITTLE, LATIN_1), (LITTLE, UTF_8), mq.MQRC_FORMAT_ERROR),
        (b"x", described("MINE", BIG, UTF_8), (LITTLE, UTF_8), mq.MQRC_FORMAT_ERROR),
        (b"x", described("", LITTLE, LATIN_1), (LITTLE, UTF_8), mq.MQRC_FORMAT_ERROR),
        (b"x", described("MQSTR", LITTLE, 7), (LITTLE, 0), mq.MQRC_SOURCE_CCSID_ERROR),
        (b"x", described("MQSTR", LITTLE, LATIN_1), (LITTLE, 7), mq.MQRC_TARGET_CCSID_ERROR),
        (b"\xff", described("MQSTR", LITTLE, UTF_8), (LITTLE, 819), mq.MQRC_NOT_CONVERTED),
        (b"xy", described("MQSTR", 0, 1200), (LITTLE, 0), mq.MQRC_SOURCE_INTEGER_ENC_ERROR),
        (trigger("<", "utf-8"), described("MQTRIG", 0, 0), (LITTLE, 0), 2112),
        (trigger("<", "utf-8"), described("MQTRIG", LITTLE, UTF_8), (0, 0), NO_ORDER),
        (trigger("<", "utf-8"), described("MQTRIG", LITTLE, UTF_8), (LITTLE, 1200), 2115),
    ],
)
def test_what_cannot_be_converted_stays(
    body: bytes, md: dict[str, Any], asked: tuple[int, int], reason: int
) -> None:
    before = dict(md)
    assert convert(md, body, *asked) == (body, reason)
    assert md == before


def test_nothing_is_to_be_done() -> None:
    for asked in (0, UTF_8):
        assert convert(described("MINE", BIG, UTF_8), b"\xff", BIG, asked) == (b"\xff", 0)
    assert convert(described("", BIG, LATIN_1), b"", LITTLE, UTF_8) == (b"", 0)


@pytest.mark.parametrize(
    ("format_", "big", "little"),
    [
        ("MQTRIG", trigger(">", "cp500"), trigger("<", "utf-8")),
        ("MQADMIN", pcf(">", "cp500", EBCDIC), pcf("<", "utf-8", UTF_8)),
        ("MQEVENT", pcf(">", "cp500", 0), pcf("<", "utf-8", 0)),
        ("MQPCF", pcf(">", "cp500", EBCDIC), pcf("<", "utf-8", UTF_8)),
        (
            "MQDEAD",
            dead_letter(">", "cp500", BIG, EBCDIC, "MQSTR") + ebcdic("Zürich"),
            dead_letter("<", "utf-8", LITTLE, UTF_8, "MQSTR") + "Zürich".encode(),
        ),
        (
            "MQHRF2",
            rfh2(">", "cp500", BIG, LATIN_1, "MQSTR") + "Zürich".encode("latin-1"),
            rfh2("<", "utf-8", LITTLE, UTF_8, "MQSTR") + "Zürich".encode(),
        ),
        (
            "MQHRF2",
            rfh2(">", "cp500", BIG, EBCDIC, "MQSTR", 1200) + ebcdic("text"),
            rfh2("<", "utf-8", LITTLE, UTF_8, "MQSTR", 1200) + b"text",
        ),
        (
            "MQHRF",
            struct.pack(">4siiii8si", ebcdic("RFH "), 1, 35, BIG, EBCDIC, ebcdic("MQSTR", 8), 0)
            + ebcdic("A b")
            + ebcdic("text"),
            struct.pack("<4siiii8si", b"RFH ", 1, 35, LITTLE, UTF_8, b"MQSTR   ", 0) + b"A btext",
        ),
        (
            "MQHMDE",
            extension(">", "cp500", BIG, EBCDIC) + ebcdic("text"),
            extension("<", "utf-8", LITTLE, UTF_8) + b"text",
        ),
        (
            "MQDEAD",
            dead_letter(">", "cp500", BIG, EBCDIC, "MQHRF2")
            + rfh2(">", "cp500", BIG, EBCDIC, "MQADMIN")
            + pcf(">", "cp500", EBCDIC),
            dead_letter("<", "utf-8", LITTLE, UTF_8, "MQHRF2")
            + rfh2("<", "utf-8", LITTLE, UTF_8, "MQADMIN")
            + pcf("<", "utf-8", UTF_8),
        ),
    ],
)
def test_formats_of_mq_are_converted(format_: str, big: bytes, little: bytes) -> None:
    """From a mainframe to here, and back."""
    md = described(format_, BIG, EBCDIC)
    assert convert(md, big, LITTLE, UTF_8) == (little, 0)
    assert md == described(format_, LITTLE, UTF_8)
    body, warning = convert(md, little, BIG, EBCDIC)
    assert (len(body) > 0, warning) == (True, 0)
    assert md == described(format_, BIG, EBCDIC)
    assert convert(md, body, LITTLE, UTF_8) == (little, 0)


@pytest.mark.parametrize("ccsid", [0, -2])
def test_a_header_that_leaves_the_character_set_open_inherits_it(ccsid: int) -> None:
    body = rfh2(">", "cp500", BIG, ccsid, "MQSTR") + ebcdic("text")
    md = described("MQHRF2", BIG, EBCDIC)
    assert convert(md, body, LITTLE, UTF_8) == (
        rfh2("<", "utf-8", LITTLE, UTF_8, "MQSTR") + b"text",
        0,
    )


@pytest.mark.parametrize(
    ("format_", "rest", "warning"),
    [
        ("", b"\xff\0", 0),
        ("MINE", b"\xff\0", mq.MQRC_FORMAT_ERROR),
        ("MQHRF2", b"RFH ", mq.MQRC_FORMAT_ERROR),
        ("MQSTR", b"", 0),
    ],
)
@pytest.mark.parametrize("ccsid", [EBCDIC, -2])
def test_a_header_describes_what_stays_behind_it(
    format_: str, rest: bytes, warning: int, ccsid: int
) -> None:
    body = dead_letter(">", "cp500", BIG, ccsid, format_) + rest
    md = described("MQDEAD", BIG, EBCDIC)
    header = dead_letter("<", "utf-8", BIG, EBCDIC, format_)
    assert convert(md, body, LITTLE, UTF_8) == (header + rest, warning)
    assert md == described("MQDEAD", LITTLE, UTF_8)


def test_strings_of_pcf_grow() -> None:
    little = pcf("<", "utf-8", UTF_8, ("Zürich ", "Bern    "))
    big = pcf(">", "latin-1", LATIN_1, ("Zürich ", "Bern   "))
    md = described("MQADMIN", BIG, LATIN_1)
    body, warning = convert(md, big, LITTLE, UTF_8)
    assert (len(body) % 4, warning) == (0, 0)
    assert body == little
    assert PCFExecute.unpack(body)[0][10] == ["Zürich ".encode(), b"Bern    "]


def test_a_field_gives_up_its_blanks_for_longer_text() -> None:
    def header(codec: str, name: str) -> bytes:
        return dead_letter("<", codec, LITTLE, UTF_8, "").replace(
            "ORDERS".ljust(48).encode(), name.encode(codec).ljust(48)
        )

    md = described("MQDEAD", LITTLE, LATIN_1)
    body, warning = convert(md, header("latin-1", "Zürich"), LITTLE, UTF_8)
    assert (body, warning) == (header("utf-8", "Zürich"), 0)
    long = header("latin-1", "ü" * 25)
    md = described("MQDEAD", LITTLE, LATIN_1)
    assert convert(md, long, LITTLE, UTF_8) == (long, mq.MQRC_CONVERTED_STRING_TOO_BIG)


def test_ibmmq_reads_a_converted_header() -> None:
    body = dead_letter(">", "cp500", BIG, EBCDIC, "MQSTR")
    read = DLH()
    read.unpack(convert(described("MQDEAD", BIG, EBCDIC), body, LITTLE, UTF_8)[0])
    assert (read.Reason, read.DestQName.rstrip()) == (CMQC.MQRC_Q_FULL, b"ORDERS")


WHOLE = {
    "MQDEAD": dead_letter(">", "cp500", BIG, EBCDIC, "MQSTR"),
    "MQHRF2": rfh2(">", "cp500", BIG, EBCDIC, "MQSTR"),
    "MQHMDE": extension(">", "cp500", BIG, EBCDIC),
    "MQTRIG": trigger(">", "cp500"),
    "MQADMIN": pcf(">", "cp500", EBCDIC),
}


@pytest.mark.parametrize("format_", WHOLE)
def test_damaged_structures_stay(format_: str) -> None:
    """Cut at every place, and with every integer wrong: never an exception."""
    whole = WHOLE[format_]
    for length in range(1, len(whole)):
        cut = whole[:length]
        body, warning = convert(described(format_, BIG, EBCDIC), cut, LITTLE, UTF_8)
        assert warning == 0 or (body, warning) == (cut, mq.MQRC_FORMAT_ERROR)
        assert warning or (format_, length) in PREFIXES
    for place in range(0, len(whole), 4):
        for number in (-(2**31), -1, 0, 3, 2**31 - 1):
            wrong = whole[:place] + struct.pack(">i", number) + whole[place + 4 :]
            body, warning = convert(described(format_, BIG, EBCDIC), wrong, LITTLE, UTF_8)
            assert warning == 0 or body == wrong


PREFIXES = {("MQADMIN", n) for n in (36, 52, 76, 100, 132, 152, 168, 192, 224, 244, 272)}
"""Messages of PCF that are cut between two structures: the count is not what ends them."""
