"""What happened on the queue manager of the golden ledger: something of everything.

A story is only ever told once: the ledger that it gave is kept, and later releases replay it. Tell
the next one beside it when records are new.
"""

from typing import Any

import msgspec

from adapter.core import inputs
from adapter.core.contract import authority_commands as ac
from adapter.core.contract import broker as b
from adapter.core.contract import commands as c
from adapter.core.contract.arrivals import Arrival, ArrivedUnit, Lowest, Origin
from adapter.core.contract.channel_rules import SetChannelRule
from adapter.core.contract.feeds import FedBatch, FedMessage, FeedStart
from adapter.core.contract.message import MessageData
from adapter.core.contract.parties import Principal, Proof
from adapter.core.contract.transmission import Transmission
from adapter.storage.format import entries as entry_format
from adapter.storage.format import names
from adapter.storage.ledger.envelope import ENTRY, NO_KEY, NOBODY, encode, encode_change
from adapter.storage.ledger.port import Raw
from adapter.storage.ledger.seals import SealKeys, Seals
from tests.support.authorities import become
from tests.support.core import START_MS, Client, Core

FIRST_OWNER = bytes(range(16))
SECOND_OWNER = bytes(range(16, 32))
FROZEN_OWNER = bytes(range(32, 48))
THIRD_OWNER = bytes(range(48, 64))
LAST_OWNER = bytes(range(64, 80))
MANAGER = "GOLDEN"
LEDGER = names.ledger_topic(MANAGER)
KEYS = SealKeys((bytes(range(32)), bytes(range(32, 64))))
"""Of the golden ledgers that are sealed: no secret."""


def tell() -> list[bytes]:
    """Let everything happen that a ledger can hold; its entries."""
    core = Core()
    client = core.connect()
    _queues(client)
    _messages(client)
    _units(client)
    _sessions(core, client)
    _consumers(client)
    _delays(core, client)
    _arrivals(core)
    _conversations(client)
    _feeds(core, client)
    _authorities(client)
    _identities(core)
    return core.entries


def _queues(client: Client) -> None:
    client.define("ORDERS", backout_threshold=3, backout_requeue_queue="ORDERS.BACKOUT")
    client.define("ORDERS.BACKOUT", msg_delivery_sequence="FIFO", def_priority=2)
    client.define("SMALL", max_depth=1)
    client.define("HARD", harden_get_backout=True)
    client.define("AGAIN")
    client.open("AGAIN", handle=9)
    client.put("of the first incarnation", handle=9)
    client.do(c.Close(9))
    client.do(c.DeleteQueue("AGAIN", purge=True))
    client.define("AGAIN", max_message_length=1000)
    client.do(c.AlterQueue("AGAIN", {"inhibit_get": True}))
    client.do(c.DefineObject("process", "WORKER", {"appl_id": "run"}))
    client.do(c.AlterObject("process", "WORKER", {"env_data": "&"}))
    client.do(c.DefineObject("alias", "GONE", {"target": "ORDERS"}))
    client.do(c.DeleteObject("alias", "GONE"))
    client.do(c.AlterObject("queue_manager", "QM1", {"trigger_interval_ms": 60_000}))
    names = ("ORDERS", "ORDERS.BACKOUT", "SMALL", "HARD", "AGAIN")
    for handle, name in enumerate(names, 1):
        client.open(name, handle=handle)


def _messages(client: Client) -> None:
    everything: dict[str, Any] = {
        "correlation_id": b"c" * 24,
        "group_id": b"g" * 24,
        "group_seq": 2,
        "last_in_group": True,
        "format": "MQSTR",
        "message_type": 1,
        "report": 3,
        "feedback": 4,
        "reply_to": "REPLIES",
        "reply_to_queue_manager": "QM2",
        "user": "me",
        "application": "a story",
        "properties": {
            "colour": "red",
            "count": 7,
            "exact": True,
            "raw": b"\x00\xff",
            "none": None,
        },
    }
    client.put("everything", priority=7, **everything)
    for priority in (0, 9, 4):
        client.put(f"priority {priority}", priority=priority)
    client.put("not persistent", persistence=0)
    client.put("in its order", priority=9, handle=2)
    client.put("of the second incarnation", handle=5)
    client.put("soon gone", handle=4, expiry_ms=1000)
    client.put("fills it", handle=3)
    client.do(c.Put(3, [MessageData(body=b"one too many")]))
    client.get(handle=1)


def _units(client: Client) -> None:
    backed_out = client.begin()
    client.get(backed_out, limit=2)
    client.do(c.Backout(backed_out))
    hardened = client.begin()
    client.put("counted when delivered", handle=4)
    client.get(hardened, handle=4, limit=2)
    client.do(c.Backout(hardened))
    mixed = client.begin()
    client.put("first of three", "second of three", unit=mixed)
    client.put("third of three", unit=mixed, handle=5, persistence=1)
    client.get(mixed)
    client.do(c.Commit(mixed))
    client.do(c.PurgeQueue("SMALL"))
    client.do(c.PurgeQueue("SMALL"))


def _sessions(core: Core, client: Client) -> None:
    client.seen(1, 2, 3)
    gone = core.connect()
    gone.open_session(core.new_session_id())
    gone.lose()
    client.do(c.AskOutcome(client.session + (77).to_bytes(8, "big")))
    core.advance(4000)
    client.put("the last", priority=1)


def _consumers(client: Client) -> None:
    client.define("BATCHES", backout_threshold=1)
    client.open("BATCHES", handle=6)
    for number in range(4):
        client.put(f"in batch {number}", handle=6)
    client.do(c.OpenConsumer(7, "BATCHES", "READER", 60_000))
    claim = client.core.queue("BATCHES").consumers["READER"].claim
    for batch in (1, 2, 3):
        client.do(c.ClaimBatch(7, 1, batch - 1))
    client.do(c.ReadBatches(7, claim, 0, 3))
    client.do(c.ConsumeBatches(7, claim, 1))
    client.do(c.Close(7))
    client.do(c.OpenConsumer(7, "BATCHES", "READER", 60_000))
    client.do(c.ReadBatches(7, claim, 1, 2))
    client.do(c.OpenConsumer(8, "BATCHES", "GONE", 60_000))
    client.do(c.Close(8))
    client.do(c.DeleteConsumer("BATCHES", "GONE"))


def _delays(core: Core, client: Client) -> None:
    client.define("SYSTEM.DELAYED.QUEUE", inhibit_put=True)
    client.define("LATER")
    client.open("LATER", handle=10)
    client.put("released", handle=10, delay_ms=1_000)
    client.put("expired before", handle=10, delay_ms=1_000, expiry_ms=500)
    client.put("waits still", handle=10, delay_ms=86_400_000, priority=3)
    core.advance(2)


def _arrivals(core: Core) -> None:
    arrived = MessageData(
        body=b"from another queue manager",
        message_id=b"m" * 24,
        transmission=Transmission("ORDERS.BACKOUT", "QM1"),
    )
    unit = ArrivedUnit(
        "mq.GOLDEN.in.OTHER",
        "id of a topic",
        7,
        Origin("id of OTHER", "GOLDEN", 1),
        [Arrival(arrived, 0, 3)],
        "OTHER",
        b"u" * 24,
        [Lowest(0, 2, 1)],
    )
    core.take(core.give(inputs.Arrived(unit)))


def _conversations(client: Client) -> None:
    dialog = b"d" * 16
    client.do(b.BrokerCreate("queue", "ASKED"))
    client.do(b.BrokerCreate("service", "S", {"queue": "ASKED", "contracts": "DEFAULT"}))
    unit = client.begin()
    client.do(b.BrokerBegin(unit, dialog, "S", "S", group=b"g" * 16))
    client.do(b.BrokerSend(unit, [dialog], body=b"asked"))
    client.do(c.Commit(unit))
    unit = client.begin()
    client.do(b.BrokerReceive(unit, "ASKED"))
    client.do(c.Backout(unit))
    unit = client.begin()
    client.do(b.BrokerEnd(unit, dialog, cleanup=True))
    client.do(c.Commit(unit))


def _feeds(core: Core, client: Client) -> None:
    client.define("FED")
    for name in ("SHOP", "ELSEWHERE"):
        client.do(c.DefineObject("feed", name, {"topic": "shop.orders", "queue": "FED"}))
    version = core.qm.feeds.by_name["SHOP"].version
    start = FeedStart("SHOP", version, "id of a topic", {0: 5, 1: 0})
    core.take(core.give(inputs.FeedBegins(start)))
    messages = [FedMessage(MessageData(body=b"of a topic", persistence=1), 5)]
    batch = FedBatch("SHOP", version, "id of a topic", 0, 5, 6, messages)
    core.take(core.give(inputs.Fed(batch)))
    client.do(c.SeekFeed("ELSEWHERE", "LATEST"))
    mapping: dict[str, Any] = {
        "priority_header": "urgency",
        "priority_rules": "9: tier = 'gold'",
        "expiry": 36_000,
        "expiry_header": "ttl",
        "delay": 5,
        "delay_header": "wait",
        "descriptor": "CONNECT",
        "value": "AVROJSON",
        "fields": "number, customer.tier",
    }
    given = {"topic": "shop.orders.avro", "queue": "FED"} | mapping
    client.do(c.DefineObject("feed", "MAPPED", given))
    publishing = {"topic": "shop.news", "topic_string": "shop/news"}
    client.do(c.DefineObject("feed", "NEWS", publishing))
    client.do(c.AlterObject("feed", "NEWS", {"priority_header": "urgency", "expiry": 10}))


def _authorities(client: Client) -> None:
    orders = ac.SetAuthority("ORDERS.**", "queue", ["ada", "bob"], ["everyone"], 0x1E)
    client.do(orders)
    client.do(ac.SetAuthority("ORDERS.SECRET", "queue", ["ada"]))
    client.do(ac.SetAuthority("", "qmgr", ["ada"], [], 0x1))
    client.do(ac.DeleteAuthority("ORDERS.**", "queue", ["bob"]))


def _identities(core: Core) -> None:
    known = core.connect()
    become(known, Principal("ann", Proof.PASSWORD))
    known.open_session(core.new_session_id())
    mapped = SetChannelRule("SHOP.*", "USERMAP", client_user="till", mca_user="ann")
    known.do(msgspec.structs.replace(mapped, check_client="REQDADM"))
    known.do(SetChannelRule("*", "BLOCKUSER", users=["*MQADMIN", "eve"]))
    known.do(SetChannelRule("*", "BLOCKADDR", addresses=["10.1.*"]))
    known.do(SetChannelRule("*", "BLOCKADDR", "REMOVEALL"))


def records() -> list[Raw]:
    """The ledger: four owners, and what failures and a forger leave behind between their entries.

    The first one seals nothing, the next two do, each with a key of its own, and the last one ends
    that.
    """
    entries = tell()
    third = len(entries) // 3
    parts = entries[:third], entries[third : 2 * third], entries[2 * third :]
    own = [Seals(LEDGER, SealKeys(keys)) for keys in (KEYS.keys, KEYS.keys[::-1])]
    last = Seals(LEDGER, SealKeys(KEYS.keys, seals=False))
    keys = [one.begins_with for one in own]
    first = [encode(ENTRY, FIRST_OWNER, n, one) for n, one in enumerate(parts[0], 1)]
    second = [encode(ENTRY, SECOND_OWNER, n, one) for n, one in enumerate(parts[1], 1)]
    third_ones = [encode(ENTRY, THIRD_OWNER, n, one) for n, one in enumerate(parts[2], 1)]
    values = [
        encode_change(FIRST_OWNER, NOBODY, b"GOLDEN (process 1)"),
        *first,
        first[-1],  # written twice
        own[0].change(SECOND_OWNER, FIRST_OWNER, NO_KEY, b"GOLDEN (process 2)"),
        encode_change(FROZEN_OWNER, FIRST_OWNER, b"GOLDEN (process 1)"),  # it does not know that
        encode(ENTRY, FIRST_OWNER, third + 1, parts[1][0]),  # of an owner that was deposed
        encode(ENTRY, SECOND_OWNER, 1, parts[0][-1]),  # forged
        *(own[0].seal(keys[0], one) for one in second),
        own[1].change(THIRD_OWNER, SECOND_OWNER, keys[0], b"GOLDEN (process 3)"),
        own[0].seal(keys[0], encode(ENTRY, SECOND_OWNER, third + 1, parts[2][0])),  # deposed
        *(own[1].seal(keys[1], one) for one in third_ones),
        own[1].seal(keys[1], encode(ENTRY, THIRD_OWNER, len(third_ones) + 2, parts[0][-1])),
        last.change(LAST_OWNER, THIRD_OWNER, keys[1], b"GOLDEN (process 4)"),
        encode(ENTRY, LAST_OWNER, 1, entry_format.encode([])),
    ]
    return [Raw(offset, START_MS + offset, value) for offset, value in enumerate(values)]
