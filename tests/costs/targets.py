"""Everything that reads what strangers send, each by itself.

An input is bytes; where two things meet, as a pattern and a text, a zero byte is between them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress

from adapter.administration.mqsc import statement
from adapter.administration.mqsc import text as mqsc
from adapter.administration.pcf import structures as pcf
from adapter.core.contract.message import MessageData
from adapter.core.contract.reasons import Refusal
from adapter.core.contract.topic_strings import Matcher
from adapter.core.model import selector
from adapter.core.model.authorities import pattern_of
from adapter.core.model.channel_rules import fits, names_of
from adapter.core.model.like import like
from adapter.core.mq_layouts import dead_letter, transmission_header, trigger_message
from adapter.core.rules.network import topic_strings
from adapter.mqi import rfh2
from adapter.msmq.binary_formatter import BinaryMessageFormatter
from adapter.msmq.xml_formatter import XmlMessageFormatter
from adapter.registry import avro_schema
from adapter.registry.values import parsed, read
from adapter.runtime import xml_validation
from adapter.services import dead_letter_rules
from adapter.storage.format import descriptor
from tests.costs.climbing import Target

BETWEEN = b"\0"
BRACES = (b"{", b"}", b"[", b"]", b'"', b":", b",", b"null", b"0", b'""')
TREE = json.dumps(
    {
        "type": "record",
        "name": "T",
        "fields": [
            {"name": "a", "type": {"type": "array", "items": ["null", "T", "string"]}},
            {"name": "m", "type": {"type": "map", "values": "long"}},
        ],
    }
)
XSD = (
    '<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="a"><xs:complexType>'
    '<xs:sequence><xs:element name="b" minOccurs="0" maxOccurs="unbounded" type="xs:string"/>'
    "</xs:sequence></xs:complexType></xs:element></xs:schema>"
)
XML = (b"<a>", b"</a>", b"<b>x</b>", b"<b>", b"</b>", b"&lt;", b"<!-- -->", b"<![CDATA[x]]>", b"x",
       b"<?p?>", b"\r", b" a='1'", b" xmlns:n='u'", b"<n:b/>")  # fmt: skip
PARSED = parsed(1, TREE, "a tree")
PROPERTIES = {"s": "a" * 2_000, "n": 5, "t": "ab" * 1_000 + "c"}


def text_of(given: bytes) -> str:
    return given.decode("latin-1")


def parts(given: bytes, count: int) -> list[str]:
    found = text_of(given).split("\0", count - 1)
    return found + [""] * (count - len(found))


def match_like(given: bytes) -> None:
    pattern, text = parts(given, 2)
    like(pattern)(text)


def select(given: bytes) -> None:
    fits = selector.parse(text_of(given))
    fits(MessageData(properties=dict(PROPERTIES)))


def match_topics(given: bytes) -> None:
    """Topic strings of subscriptions, one in a line, and one of a publication."""
    topic, *patterns = text_of(given).split("\n")
    matcher: Matcher[int] = Matcher()
    for number, pattern in enumerate(patterns):
        with suppress(Refusal):
            topic_strings.check(pattern)
            matcher.add(pattern, str(number), number)
    topic_strings.check(topic)
    matcher.matching(topic)


def match_name(given: bytes) -> None:
    """A profile of authorities, of 48 characters as all names, and a name."""
    profile, name = parts(given, 2)
    pattern_of(profile[:48]).fullmatch(name)


def match_wildcards(given: bytes) -> None:
    """Patterns of channel authentication records and of rules tables, of 48 characters too."""
    pattern, text = parts(given, 2)
    fits(pattern[:48], text)
    for rule in dead_letter_rules.parse(f"DESTQ('{pattern[:48]}') ACTION(IGNORE)").rules:
        rule.matches({"DESTQ": text}, {})


def read_mqsc(given: bytes) -> None:
    for line in mqsc.lines_of(text_of(given).splitlines()):
        with suppress(mqsc.NotMqscError):
            statement.parse(line.text)


def read_properties(given: bytes) -> None:
    """An MQRFH2 with one folder."""
    size = len(given)
    head = b"RFH " + (2).to_bytes(4, "big") + (36 + 4 + size).to_bytes(4, "big")
    head += (273).to_bytes(4, "big") + (1208).to_bytes(4, "big") + b"        " + bytes(4)
    body = head + (1208).to_bytes(4, "big") + size.to_bytes(4, "big") + given
    rfh2.header_of(MessageData(body=body, format="MQHRF2", encoding=273))


def read_tree(given: bytes) -> None:
    read(given, 0, PARSED)


TARGETS: Mapping[str, Target] = {
    "like": Target(
        (b"%", b"_", b"a", b"b", b"%a_%", BETWEEN), (b"%a%b\0ab", b"a_%\0aab"), match_like
    ),
    "selector": Target(
        (b"s", b" LIKE ", b"'%a_b%'", b" OR ", b" AND ", b"NOT ", b"(", b")", b"n", b"+1", b"=5",
         b" IN ('a','b')", b" BETWEEN 1 AND 2", b" IS NULL", b"'", b"t"),
        (b"s LIKE '%a_b%' OR n = 5", b"NOT (n+1=5 AND s='a')"),
        select,
    ),
    "topics": Target(
        (b"#", b"+", b"x", b"/", b"\n", b"#/", b"x/", b"+/", b"\nx/#/y"),
        (b"x/x/x\n#/x/#/y\n+/x/#", b"a/b\n#\na/#\n+/b"),
        match_topics,
    ),
    "names": Target((b"*", b"?", b".", b"**", b"A", BETWEEN), (b"A.**.B*\0A.B.B",), match_name),
    "wildcards": Target(
        (b"*", b"?", b"A", b"*A", b"A" * 16, BETWEEN), (b"*A*A*A*AB\0AAAAAAAA",), match_wildcards
    ),
    "mqsc": Target(
        (b"DEFINE QLOCAL(", b"Q", b")", b" DESCR('", b"'", b" +\n", b" -\n", b"\n", b"*", b" ",
         b" MAXDEPTH(", b"1", b"(", b","),
        (b"DEFINE QLOCAL(Q) DESCR('a''b') +\n MAXDEPTH(5)\n* c\nDISPLAY Q(*) ALL",),
        read_mqsc,
    ),
    "pcf": Target(
        (bytes(4), b"\0\0\0\1", b"\0\0\0\x24", b"\xff" * 4, b"\0\0\0\x0c", b"\0\0\0\3", b"x"),
        (bytes.fromhex("00000001000000240000000100000002000000010000000100000000000000000000"
                       "0001" "00000004000000180000000700000333000000024142"),),
        pcf.decode,
    ),
    "schema": Target(
        (*BRACES, b'"type"', b'"record"', b'"name"', b'"fields"', b'"int"', b'"enum"', b'"symbols"',
         b'"array"', b'"items"', b'"default"', b'{"type":"array","items":', b'["null",'),
        (TREE.encode(), b'["null",{"type":"enum","name":"E","symbols":["A"],"default":"A"}]'),
        lambda given: avro_schema.canonical(text_of(given)),
    ),
    "value": Target(
        (b"\0", b"\1", b"\2", b"\4", b"\x80", b"\xff", b"\2\0", b"\4x"), (b"\2\0\0\0", b"\0\0"),
        read_tree,
    ),
    "xml": Target(
        XML, (b"<a><b>x</b></a>",),
        lambda given: xml_validation.why_invalid("VALID_XML", XSD, given),
    ),
    "xml of msmq": Target(
        (*XML, b"<ArrayOfInt>", b"<int>1</int>", b"</ArrayOfInt>"),
        (b'<?xml version="1.0"?><string>x</string>', b"<ArrayOfInt><int>1</int></ArrayOfInt>"),
        lambda given: XmlMessageFormatter().read(given, 0),
    ),
    "binary of msmq": Target(
        (b"\0", b"\1", b"\x0b", b"\x06", b"\xff", b"\x05abcde"),
        (BinaryMessageFormatter().write(["a", "b"])[0], BinaryMessageFormatter().write(5)[0]),
        lambda given: BinaryMessageFormatter().read(given, 768),
    ),
    "properties": Target(
        (b"<usr>", b"</usr>", b"<a>", b"</a>", b"x", b"&#1;", b"&amp;", b"<b dt='i4'>5</b>",
         b"\x01"),
        (b"<usr><a>x</a><b dt='i4'>5</b></usr>",),
        read_properties,
    ),
    "rules of dead letters": Target(
        (b"REASON(", b")", b"MQRC_Q_FULL", b" ACTION(", b"RETRY", b"FWD", b"\n", b"+\n", b"*", b"'",
         b" DESTQ(", b"A*", b" PERSIST("),
        (b"inputq(A) wait(5)\nREASON(MQRC_Q_FULL) ACTION(RETRY) RETRY(5)\nACTION(FWD) FWDQ(B)",),
        lambda given: dead_letter_rules.parse(text_of(given)),
    ),
    "names of certificates": Target(
        (b"CN=", b"a", b",", b"+", b'"', b"\\", b"*", b"O=", b" "), (b"CN=till*,O=Shop",),
        lambda given: names_of(text_of(given)),
    ),
    "headers of MQ": Target(
        (b"DLH ", b"XQH ", b"MD  ", b"TM  ", bytes(8), b"x", b" " * 48), (b"DLH \0\0\0\1",),
        lambda given: [
            read_header(given)
            for read_header in (
                dead_letter.from_dlh,
                transmission_header.message_behind,
                trigger_message.from_tm,
            )
        ],
    ),
    "descriptor": Target(
        (b"\0", b"\1", b"\2", b"\x80", b"\xff", b"\x04ab"), (bytes(40),),
        lambda given: descriptor.decode(given, b""),
    ),
}  # fmt: skip
