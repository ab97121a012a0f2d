"""No decision is larger than a unit may be, however much waits to be moved by it.

The records of one decision are written in one entry of the ledger, which takes no more than so many
bytes. Here a unit has a million bytes at most, and a step moves a tenth of that of what waits.
"""

import random
from collections.abc import Callable

import pytest

from adapter.core import inputs
from adapter.core.contract import commands as c
from adapter.core.contract import msmq as m
from adapter.core.contract.arrivals import Arrival, ArrivedUnit, Origin
from adapter.core.contract.limits import Limits
from adapter.core.contract.message import MessageData
from adapter.core.contract.msmq_header import (
    ACKNOWLEDGE_NOT_ARRIVED,
    ACKNOWLEDGE_NOT_RECEIVED,
    DEAD_LETTER,
    MsmqHeader,
)
from adapter.core.contract.transmission import Transmission
from adapter.core.contract.unit_records import UnitCommitted
from adapter.core.effects import Effects
from adapter.core.model.report import CONFIRM_ON_ARRIVAL, EXCEPTION, EXPIRATION
from adapter.core.rules.primitives import step_room
from adapter.storage.format import entries
from adapter.storage.ledger.port import PAYLOAD_BYTES_MAX
from tests.support.core import Client, Core
from tests.support.dialogs import Afar, Dialogs
from tests.support.examples import examples

UNIT_BYTES, UNIT_MESSAGES, STEP = 1_000_000, 100, 100_000
BODY = "x" * 40_000
LARGEST = UNIT_BYTES * PAYLOAD_BYTES_MAX // Limits().unit_bytes
FULL_DATA = 7
TOPIC = "mq.QM1.in.QMA"


@pytest.fixture(autouse=True)
def sizes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return what the messages of each decision weigh, from here on."""
    monkeypatch.setattr(step_room, "BYTES_PER_STEP", STEP)
    found: list[int] = []
    take = Core.take

    def measured(core: Core, effects: Effects) -> Effects:
        ends = [*effects.cuts, len(effects.records)]
        for first, end in zip([0, *ends], ends, strict=False):
            moved = [one for one in effects.records[first:end] if isinstance(one, UnitCommitted)]
            found.append(sum(map(entries.weight, moved)))
        return take(core, effects)

    monkeypatch.setattr(Core, "take", measured)
    return found


def client_of(*queues: str) -> Client:
    client = Core(unit_bytes=UNIT_BYTES, unit_messages=UNIT_MESSAGES).connect()
    client.core.configure()
    for name in queues:
        client.define(name)
    client.do(c.AlterObject("queue_manager", "QM1", {"dead_letter_queue": "DEAD"}))
    return client


def depths(client: Client, *queues: str) -> list[int]:
    return [client.core.queue(name).depth for name in queues]


def pass_time(core: Core, steps: int = 40) -> None:
    for _ in range(steps):
        core.advance(1)


def release_held() -> None:
    at = Dialogs(unit_bytes=UNIT_BYTES)
    far = Afar(at)
    far.send()
    at.alter("Answers", status=False)
    far.send(count=40, padding=len(BODY))
    at.alter("Answers", status=True)
    pass_time(at.core)
    assert len(at.session().receive_all("Answers")) == 41


def release_delayed() -> None:
    client = client_of("DEAD", "Q")
    client.open()
    for _ in range(40):
        client.put(BODY, delay_ms=500)
    pass_time(client.core)
    assert depths(client, "Q") == [40]


def expire_reported() -> None:
    client = client_of("DEAD", "Q", "R")
    client.open()
    for _ in range(40):
        client.put(BODY, expiry_ms=500, report=EXPIRATION * FULL_DATA, reply_to="R")
    pass_time(client.core)
    assert depths(client, "Q", "R") == [0, 40]


def move_what_came_back() -> None:
    client = client_of("DEAD", "ASIDE")
    move = {"backout_action": "MOVE", "backout_threshold": 1, "backout_requeue_queue": "ASIDE"}
    client.do(c.DefineQueue("Q", move))
    client.open()
    for _ in range(40):
        client.put(BODY)
    unit = client.begin()
    client.take(unit, limit=40)
    client.do(c.Backout(unit))
    pass_time(client.core)
    assert depths(client, "Q", "ASIDE") == [0, 40]


def remove_of_msmq(command: c.Command) -> None:
    """Each message becomes a dead letter, and its acknowledgment has its body."""
    client = client_of("DEAD")
    for path in ("q", "admin"):
        client.do(m.MsmqCreate(f".\\private$\\{path}"))
    client.do(m.MsmqOpen(1, ".\\private$\\q", m.SEND_ACCESS))
    client.do(m.MsmqOpen(2, ".\\private$\\q", m.RECEIVE_ACCESS))
    header = MsmqHeader(
        acknowledge=ACKNOWLEDGE_NOT_RECEIVED,
        journal=DEAD_LETTER,
        administration_queue=".\\private$\\admin",
    )
    for _ in range(40):
        client.do(m.MsmqSend(1, MessageData(body=BODY.encode(), persistence=1, msmq=header)))
    client.do(command)
    assert depths(client, "private$\\admin", "system$;deadletter") == [40, 40]


def purge_of_msmq() -> None:
    remove_of_msmq(m.MsmqPurge(2))


def delete_of_msmq() -> None:
    remove_of_msmq(m.MsmqDelete(".\\private$\\q"))


MOVES = [release_held, release_delayed, expire_reported, move_what_came_back]
REMOVALS = [purge_of_msmq, delete_of_msmq]


@pytest.mark.parametrize("move", MOVES + REMOVALS)
def test_what_waits_is_moved_by_decisions_that_an_entry_takes(
    move: Callable[[], None], sizes: list[int]
) -> None:
    move()
    assert max(sizes) <= LARGEST


class Sender:
    """Another queue manager, whose units are within its bounds."""

    def __init__(self, client: Client, chance: random.Random) -> None:
        self.client, self.chance = client, chance
        self.seq = 0

    def message(self, to: str, size: int) -> Arrival:
        """Return the next message: it may ask for any report, and be one of MSMQ."""
        self.seq += 1
        kinds = [0, EXCEPTION, EXCEPTION * FULL_DATA, CONFIRM_ON_ARRIVAL * FULL_DATA]
        message = MessageData(
            body=self.seq.to_bytes(4, "big") + bytes(size),
            message_id=self.seq.to_bytes(24, "big"),
            correlation_id=bytes(24),
            group_id=bytes(24),
            priority=0,
            persistence=1,
            put_time_ms=5,
            report=self.chance.choice(kinds),
            reply_to="REPORTS",
            transmission=Transmission(to, "QM1"),
        )
        if to == "MSMQ":
            message.body = message.body[: UNIT_BYTES // 25]  # a message of MSMQ has 4 MB at most
            message.report = 0
            message.transmission = Transmission(
                self.chance.choice(["private$\\gone", "private$\\q"])
            )
            message.msmq = MsmqHeader(
                acknowledge=ACKNOWLEDGE_NOT_ARRIVED,
                journal=DEAD_LETTER,
                administration_queue=".\\private$\\admin",
            )
        return Arrival(message, 0, self.seq)

    def unit(self) -> list[Arrival]:
        """Return the messages of a unit, few or many, short or long."""
        count = self.chance.choice([1, 5, 11, UNIT_MESSAGES])
        names = self.chance.choice([["A"], ["FULL"], ["MSMQ"], ["A", "Q", "FULL", "GONE", "MSMQ"]])
        size = UNIT_BYTES // count - 1_000
        return [self.message(self.chance.choice(names), size) for _ in range(count)]

    def send(self, messages: list[Arrival]) -> None:
        """Let a unit arrive, in as many steps as it takes, with crashes between them."""
        offset = messages[-1].seq
        unit = ArrivedUnit(TOPIC, "id", offset, Origin("QMA"), messages, "QMA", b"u" * 24)
        core = self.client.core
        is_put = False
        while not is_put:
            core.take(core.give(inputs.Arrived(unit)))
            is_put = core.qm.arrivals.position(TOPIC, "id") == offset
            assert is_put is (TOPIC not in core.qm.arrivals.unfinished)
            assert TOPIC not in core.qm.arrivals.blocked
            if self.chance.random() < 0.1:
                core.crash()


def destination(subscriptions: int) -> Client:
    """A queue manager with queues, an alias of a topic and queues of MSMQ."""
    client = client_of("DEAD", "Q", "REPORTS")
    client.define("FULL", max_depth=1)
    client.do(c.DefineObject("topic", "NEWS", {"topic_string": "news"}))
    client.do(c.DefineObject("alias", "A", {"target": "NEWS", "target_type": "TOPIC"}))
    for number in range(subscriptions):
        client.define(f"S{number}")
        to = {"topic_string": "news", "destination": f"S{number}"}
        client.do(c.DefineObject("subscription", f"S{number}", to))
    for path in ("private$\\q", "private$\\admin"):
        client.do(m.MsmqCreate(f".\\{path}"))
    return client


def sent_to(client: Client, name: str) -> list[int]:
    """Return the numbers of the messages on a queue, in order."""
    return [
        int.from_bytes(one.message.body[:4], "big") for one in client.core.queue(name).in_order()
    ]


def to_of(one: Arrival) -> str:
    return one.message.transmission.queue if one.message.transmission else ""


def dead_letters_for(client: Client, name: str) -> list[MessageData]:
    """Return the dead letters that were to go to a queue."""
    padded = name.encode().ljust(48)
    found = [one.message for one in client.core.queue("DEAD").in_order()]
    return [one for one in found if padded in one.body[:64]]


@pytest.mark.parametrize("seed", range(examples(40)))
def test_a_unit_that_arrives_is_put_by_decisions_that_an_entry_takes(
    seed: int, sizes: list[int]
) -> None:
    """Whatever it causes here: copies, dead letters, reports, acknowledgments of MSMQ."""
    chance = random.Random(seed)
    client = destination(chance.choice([0, 1, 9, 20]))
    sender = Sender(client, chance)
    sizes.clear()
    units = [sender.unit() for _ in range(4)]
    for unit in units:
        sender.send(unit)
    assert max(sizes) <= LARGEST
    published = [one.seq for unit in units for one in unit if to_of(one) == "A"]
    for name in [
        name for name in client.core.qm.queues if name.startswith("S") and name[1:].isdigit()
    ]:
        taken = sent_to(client, name)
        assert taken == sorted(set(taken)), "once each, in order"
        assert len(taken) + len(dead_letters_for(client, "A")) == len(published)
    assert sent_to(client, "Q") == [one.seq for unit in units for one in unit if to_of(one) == "Q"]
