"""Whatever arrives becomes a message or a dead letter, once, and its entry can be read again.

Each way in is given records made up at random: of Kafka clients, of other queue managers, and of
the topics of feeds. Nothing of them may end a queue manager, as each successor would read them too.
"""

import json
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from adapter.core import inputs
from adapter.core.attributes.feed import FEED, FeedAttributes
from adapter.core.contract import commands as c
from adapter.core.contract.answers import DISCARD
from adapter.core.contract.details import Details
from adapter.core.contract.feeds import FedBatch, FeedStart
from adapter.core.contract.message import Delivered, MessageData
from adapter.core.contract.msmq_header import MsmqHeader
from adapter.core.contract.results import Done
from adapter.core.contract.transmission import Transmission
from adapter.runtime.network.collecting import InboundCollector
from adapter.runtime.network.port import ReceivedRecord
from adapter.storage.format import descriptor, entries, feeds, inbound, transfer
from adapter.storage.format.schemas import VERSIONS_END, LaterReleaseError
from tests.support.core import Core
from tests.support.examples import examples
from tests.support.hard_state import check_snapshots

RECORDS = 25
"""Of one seed."""
TEXTS = (
    *("", "x", "Q", "ä" * 48, "\0", "a\0b", "x" * 48, "x" * 49, "x" * 300, "\U0001f600", "\ufffe"),
    *("SYSTEM.ADMIN.COMMAND.QUEUE", "no such queue", "DEAD", "NaN", "-1", "0", "yes", "no", "null"),
)
NUMBERS = (
    *(0, 1, -1, 2, 8, 9, 10, 127, 128, 255, 256, 65_536, 999_999_999, 10**12, 99_999_999_900),
    *(2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 10**30),
)
HALF = ("\\ud800", "x\\udfff", "\\ud83d", "\\ud83d\\ude00")
"""Of a pair, and a pair."""
JSON = (
    *(f'{{"a":"{one}"}}' for one in HALF),
    *(f'{{"{one}":1}}' for one in HALF),
    *('{"a":NaN}', '{"a":Infinity}', '{"a":1e999}', '{"a":-0.0}', '{"a":' + "9" * 400 + "}"),
    *('{"":1}', '{"a":null,"a":true}', '{"a":[1]}', '{"a":{}}', "[]", "1", "", "{"),
    '{"\\u0000":""}',
    "[" * 5_000,
    json.dumps({f"p{at}": at for at in range(1_100)}),
    json.dumps({"x" * 5_000: "y" * 50_000}),
)


def value_of(chance: Random) -> bytes:
    """Make a value of a header."""
    kind = chance.randrange(6)
    if kind == 0:
        return chance.choice(JSON).encode()
    if kind == 1:
        return chance.randbytes(chance.choice([0, 1, 24, 25, 60]))
    if kind == 2:
        return chance.randbytes(chance.choice([0, 1, 24, 24, 25])).hex().encode()
    if kind == 3:
        return chance.choice(TEXTS).encode()
    return str(chance.choice(NUMBERS)).encode()


def inbound_headers(chance: Random) -> dict[str, bytes | None]:
    """Make the headers of a Kafka client's record, of which most are valid."""
    usual: dict[str, bytes | None] = {"mq.queue": b"Q"}
    for name in chance.sample(sorted(inbound.FIELDS), chance.randint(0, 4)):
        usual[f"mq.{name}"] = value_of(chance) if chance.random() < 0.9 else None
    if chance.random() < 0.3:
        usual["mq.properties"] = chance.choice(JSON).encode()
    if chance.random() < 0.1:
        usual["mq.queue"] = value_of(chance)
    if chance.random() < 0.1:
        name = chance.choice(["mq.", "mq.persistent", "mq.transmission", "other"])
        usual[name] = value_of(chance)
    return usual


def new_core() -> Core:
    core = Core()
    client = core.connect()
    for name in ("Q", "DEAD", "SYSTEM.DELAYED.QUEUE"):
        if name not in core.qm.queues:
            client.define(name, max_message_length=100_000_000)
    client.do(c.AlterObject("queue_manager", "QM1", {"dead_letter_queue": "DEAD"}))
    return core


def puts_of(core: Core, since: int) -> int:
    """Count the messages that entries put; each entry is read as it was written."""
    count = 0
    for payload in core.entries[since:]:
        records = entries.decode(payload)
        assert entries.encode(records) == payload
        count += sum(len(getattr(one, "puts", ())) for one in records)
    return count


def check_replay(core: Core) -> None:
    check_snapshots(core.qm, core.replayed())


@pytest.mark.parametrize("seed", range(examples(20)))
def test_a_record_of_a_kafka_client_is_a_message_or_a_dead_letter(seed: int) -> None:
    chance = Random(seed)
    core = new_core()
    collector = InboundCollector("QM1", "mq.QM1.in", "topic 1", "")
    for offset in range(RECORDS):
        value = chance.choice([None, b"", b"body", b"\xff" * 10])
        record = ReceivedRecord("mq.QM1.in", offset, value, inbound_headers(chance))
        (ready,) = collector.take(record, 0.0)
        since = len(core.entries)
        core.take(core.give(inputs.Arrived(ready.given)))
        assert puts_of(core, since) == 1, record
        assert not core.qm.arrivals.blocked
    check_replay(core)


def text_of(chance: Random) -> str:
    return chance.choice(TEXTS)


def number_of(chance: Random, bits: int = 64) -> int:
    ends = 2 ** (bits - 1)
    return chance.choice([one for one in NUMBERS if -ends <= one < ends])


STRANGE: dict[str, Callable[[Random], Any]] = {
    **dict.fromkeys(("group_seq", "priority", "expiry_ms", "message_type"), number_of),
    **dict.fromkeys(("report", "feedback", "encoding", "ccsid"), number_of),
    **dict.fromkeys(("put_time_ms", "expires_at_ms", "deliver_at_ms"), number_of),
    **dict.fromkeys(("format", "reply_to", "reply_to_queue_manager"), text_of),
    **dict.fromkeys(("user", "application"), text_of),
    "properties": lambda chance: {
        text_of(chance): chance.choice([text_of(chance), 1, 0.5, None, True, b"\xff"])
    },
    "transmission": lambda chance: Transmission(*(text_of(chance) for _ in range(3))),
    "details": lambda chance: Details(
        offset=number_of(chance, 32),
        flags=number_of(chance, 32),
        original_length=number_of(chance, 32),
    ),
    "msmq": lambda chance: MsmqHeader(
        label=text_of(chance), source=text_of(chance), transactional=chance.random() < 0.5
    ),
}


def transferred(chance: Random) -> MessageData:
    """Make a message as another queue manager may have it on a transmission queue."""
    message = MessageData(
        body=chance.choice([b"", b"body", b"\xff" * 10]),
        message_id=chance.randbytes(24),
        correlation_id=bytes(24),
        group_id=bytes(24),
        priority=chance.randint(0, 9),
        persistence=1,
        put_time_ms=1_700_000_000_000,
        transmission=Transmission("Q", "QM1"),
    )
    for name in chance.sample(sorted(STRANGE), chance.choice([0, 1, 1, 2, 5])):
        setattr(message, name, STRANGE[name](chance))
    return message


@pytest.mark.parametrize("seed", range(examples(20)))
def test_what_another_queue_manager_sends_is_a_message_or_a_dead_letter(seed: int) -> None:
    """Whatever is in its fields, and whichever of its bytes are damaged."""
    chance = Random(seed)
    core = new_core()
    collector = InboundCollector("QM1", "mq.QM1.in.QMA", "topic 1", "QMA")
    for offset in range(RECORDS):
        sent = Delivered(transferred(chance), 0, offset + 1, 0, 0, b"u" * 24, 0, 1, 0, 1)
        ident = f"{chance.getrandbits(64):x}"  # damage that cannot be seen is its own
        lowest = [0, offset + 1, 0]
        header = transfer.Transfer("QMA", ident, "XMIT", 1, 0, 0, lowest, b"s", 0, 1)
        ((pairs, value),) = transfer.encode(sent, header)
        headers: dict[str, bytes | None] = dict(pairs)
        damaged = ""
        if chance.random() < 0.4:
            damaged = chance.choice([transfer.HEADER, descriptor.HEADER])
            headers[damaged] = damage(chance, headers[damaged] or b"")
        record = ReceivedRecord("mq.QM1.in.QMA", offset, value, headers)
        ready = collector.take(record, 0.0)
        ready += collector.wait_no_longer(1_000.0)
        assert not collector.later, "such a version is tried elsewhere"
        since = len(core.entries)
        for one in ready:
            core.take(core.give(inputs.Arrived(one.given)))
        count = puts_of(core, since)
        assert count <= 1 or sent.message.report
        may_go = sent.message.msmq is not None or sent.message.report & DISCARD
        assert damaged or may_go or count, sent
    check_replay(core)


def damage(chance: Random, data: bytes) -> bytes:
    """Damage bytes, so that no later release can have written them."""
    kind = chance.randrange(4)
    if kind == 0:
        return data[: chance.randrange(len(data))]
    if kind == 1:
        return data + chance.randbytes(chance.randint(1, 5))
    if kind == 2:
        return b"~" + chance.randbytes(chance.randint(0, 5))
    at = chance.randrange(1, len(data))
    return data[:at] + bytes((data[at] ^ (1 << chance.randrange(8)),)) + data[at + 1 :]


@pytest.mark.parametrize("seed", range(examples(20)))
def test_a_record_of_a_topic_that_is_fed_is_a_message_or_a_dead_letter(seed: int) -> None:
    chance = Random(seed)
    core = new_core()
    client = core.connect()
    attributes: dict[str, Any] = {
        "topic": "others",
        "queue": "Q",
        "key": chance.choice(["PROPERTY", "CORRELID", "GROUPID"]),
        "descriptor": chance.choice(["NONE", "CONNECT"]),
        "expiry_header": "expiry",
        "delay_header": "delay",
        "priority_header": "priority",
        "tombstones": chance.choice(["EMPTY", "DEADLETTER"]),
    }
    client.open_session(core.new_session_id())
    assert isinstance(client.do(c.DefineObject(FEED, "F", attributes)), Done), attributes
    feed = core.qm.objects[FEED, "F"]
    assert isinstance(feed, FeedAttributes)
    version = core.qm.feeds.by_name["F"].version
    core.take(core.give(inputs.FeedBegins(FeedStart("F", version, "id", {0: 0}))))
    names = (
        *("expiry", "delay", "priority", "h", "", "KafkaKey", "KafkaHeader", "JMSXGroupID"),
        *(f"JMS_IBM_MQMD_{one}" for one in ("MsgId", "Expiry", "Priority", "Format", "ReplyToQ")),
        *(f"JMS_IBM_MQMD_{one}" for one in ("MsgSeqNumber", "MsgFlags", "Feedback", "MsgType")),
        *TEXTS,
    )
    for offset in range(RECORDS):
        headers = [
            (chance.choice(names), chance.choice([None, value_of(chance), value_of(chance)]))
            for _ in range(chance.choice([0, 1, 3, 8]))
        ]
        record = feeds.TopicRecord(
            partition=0,
            offset=offset,
            key=chance.choice([None, b"", b"k", value_of(chance)]),
            value=chance.choice([None, b"", b"body"]),
            headers=None if chance.random() < 0.05 else headers,
            time_ms=chance.choice([-1, 0, 1_700_000_000_000, 2**63 - 1]),
        )
        message = feeds.message_of(record, feed)
        assert message is not None
        since = len(core.entries)
        batch = FedBatch("F", version, "id", 0, offset, offset + 1, [message])
        core.take(core.give(inputs.Fed(batch)))
        assert puts_of(core, since) == 1, record
    check_replay(core)


@pytest.mark.parametrize("version", range(descriptor.VERSION + 1, VERSIONS_END))
def test_a_later_version_is_not_damage(version: int) -> None:
    with pytest.raises(LaterReleaseError):
        descriptor.decode(bytes((version,)) + b"whatever", b"")
