"""Arrivals: exactly once, to their queues or to the dead-letter queue, or not at all."""

import pytest

from adapter.core import inputs
from adapter.core.attributes import broker as kinds
from adapter.core.contract import broker as b
from adapter.core.contract import commands as c
from adapter.core.contract import msmq as m
from adapter.core.contract.arrivals import Arrival, ArrivedUnit, Lowest, Origin
from adapter.core.contract.bounds import LATEST_MS
from adapter.core.contract.broker_header import BrokerHeader
from adapter.core.contract.limits import Limits
from adapter.core.contract.message import MessageData
from adapter.core.contract.msmq_header import MsmqHeader
from adapter.core.contract.parked import ParkedQueue
from adapter.core.contract.records import EventRaised, UnitArrived
from adapter.core.contract.results import LowestPlaces
from adapter.core.contract.transmission import Transmission
from adapter.core.contract.unit_records import UnitCommitted
from adapter.core.model.broker_queue import key_of
from adapter.core.model.report import CONFIRM_ON_ARRIVAL, EXCEPTION
from adapter.core.mq_layouts import dead_letter
from tests.support.arrivals import ORIGIN, TOPIC, Site, arrival, site
from tests.support.core import Core, client_on
from tests.support.msmq import KEY, client_of_msmq, texts


def test_a_unit_arrives_whole() -> None:
    at = site("Q", "R")
    records = at.arrive(arrival("a", 1), arrival("b", 2, to="R"), arrival("c", 3))
    assert [type(record) for record in records] == [UnitCommitted, UnitArrived]
    assert at.client.get() == ["a"]
    assert at.client.get() == ["c"]
    assert at.client.get(handle=2) == ["b"]


def test_what_came_before_is_dropped() -> None:
    at = site("Q")
    at.arrive(arrival("a", 1), arrival("b", 2))
    assert [type(one) for one in at.arrive(arrival("b", 2), arrival("c", 3))] == [
        UnitCommitted,
        UnitArrived,
    ]
    assert [type(one) for one in at.arrive(arrival("a", 1))] == [UnitArrived]
    assert [at.client.get() for _ in range(4)] == [["a"], ["b"], ["c"], []]
    assert at.core.qm.arrivals.position(TOPIC, "topic id") == 3
    assert at.core.qm.arrivals.position(TOPIC, "another") == 0


def test_what_is_below_the_lowest_was_there_before() -> None:
    at = site("Q")
    at.arrive(arrival("c", 9), lowest=(9, 0))
    at.arrive(arrival("a", 8))
    assert at.client.get() == ["c"]
    assert at.client.get() == []
    lane = at.core.qm.arrivals.lane(ORIGIN, 0)
    assert lane.seqs.spans() == [(9, 9)]
    at.arrive(lowest=(10, 0))
    assert lane.seqs.spans() == []
    assert lane.has(9, 0)
    assert not lane.has(10, 0)


def test_messages_that_are_not_persistent_count_for_themselves() -> None:
    at = site("Q")
    at.arrive(arrival("a", 1), arrival("x", 1, n=70))
    at.arrive(arrival("x", 1, n=70), arrival("y", 1, n=71), arrival("b", 2), lowest=(2, 71))
    found = [at.client.get() for _ in range(5)]
    assert found == [["a"], ["x"], ["y"], ["b"], []]


def test_it_is_known_after_a_restart() -> None:
    for restart in ("crash", "crash_with_snapshot"):
        at = site("Q")
        at.arrive(arrival("a", 1), arrival("c", 3), arrival("x", 3, n=7), lowest=(1, 7))
        getattr(at.core, restart)()
        client = at.core.connect()
        at.arrive(arrival("a", 1), arrival("b", 2), arrival("c", 3), arrival("x", 3, n=7))
        client.open("Q")
        assert [client.get() for _ in range(4)] == [["a"], ["c"], ["b"], []], restart
        assert at.core.qm.arrivals.position(TOPIC, "topic id") == 2


def test_what_cannot_be_delivered_is_a_dead_letter() -> None:
    at = site("Q", "DLQ")
    at.client.do(c.AlterObject("queue_manager", "QM1", {"dead_letter_queue": "DLQ"}))
    at.arrive(arrival("a", 1), arrival("b", 2, to="NOWHERE"))
    assert at.client.get() == ["a"]
    letter = at.client.take(handle=2)[0].message
    header, body = dead_letter.split(letter.format, letter.body)
    assert header is not None
    assert (header.reason, header.destination, body) == (2085, "NOWHERE", b"b")


def test_without_room_nothing_is_taken_until_there_is() -> None:
    at = site("Q")
    at.client.do(c.AlterQueue("Q", {"max_depth": 2}))
    at.client.put("there")
    unit = (arrival("a", 1), arrival("b", 2))
    (event,) = at.arrive(*unit)
    assert isinstance(event, EventRaised)
    assert (event.kind, event.name) == ("arrival_blocked", "Q")
    assert at.is_blocked()
    assert at.arrive(*unit) == []
    assert at.client.get() == ["there"]
    at.arrive(*unit)
    assert not at.is_blocked()
    assert [at.client.get() for _ in range(3)] == [["a"], ["b"], []]


@pytest.mark.parametrize(
    ("altered", "code"),
    [
        (None, 0),
        (c.AlterObject("alias", "A", {"inhibit_put": True}), 2051),
        (c.AlterObject("topic", "T", {"publish": "DISABLED"}), 2051),
        (c.DeleteObject("topic", "T"), 2082),
    ],
)
def test_what_is_for_an_alias_of_a_topic_is_published(altered: c.Command | None, code: int) -> None:
    at = site("DLQ", "Q", "R")
    at.client.do(c.AlterObject("queue_manager", "QM1", {"dead_letter_queue": "DLQ"}))
    at.client.do(c.DefineObject("topic", "T", {"topic_string": "t"}))
    at.client.do(c.DefineObject("alias", "A", {"target": "T", "target_type": "TOPIC"}))
    for handle, queue in ((20, "Q"), (30, "R")):
        at.client.do(c.Subscribe(handle, "t", options=c.CREATE, destination=queue))
    if altered is not None:
        at.client.do(altered)
    at.arrive(arrival("a", 1, to="A"), arrival("b", 2))
    for body in ["b"] if code else ["a", "b"]:
        assert at.client.get(handle=2) == [body]
    assert at.client.get(handle=3) == ([] if code else ["a"])
    if code:
        letter = at.client.take()[0].message
        header, rest = dead_letter.split(letter.format, letter.body)
        assert header is not None
        assert (header.reason, header.destination) == (code, "A")
        assert rest == b"a"


def published(copies: int, **limits: int) -> Site:
    """A queue manager where what arrives for A is published, in so many copies."""
    names = ["DLQ", "Q", *(f"S{number}" for number in range(copies))]
    at = Site(client_on(*names, limits=Limits(**limits)))
    at.core.configure(dead_letter_queue="DLQ")
    at.client.do(c.DefineObject("topic", "T", {"topic_string": "t"}))
    at.client.do(c.DefineObject("alias", "A", {"target": "T", "target_type": "TOPIC"}))
    for name in names[2:]:
        to = {"topic_string": "t", "destination": name}
        at.client.do(c.DefineObject("subscription", name, to))
    return at


def bodies(at: Site, name: str) -> list[bytes]:
    return [stored.message.body for stored in at.core.queue(name).in_order()]


def test_copies_that_a_step_has_no_room_for_are_put_by_the_next() -> None:
    at = published(3, unit_messages=10)
    sent = [arrival(str(seq), seq, to="A" if seq % 5 else "Q") for seq in range(1, 10)]
    unit = ArrivedUnit(TOPIC, "topic id", 1, ORIGIN, sent, "QMA", b"u" * 24, [Lowest(0, 9, 0)])
    committed: list[UnitCommitted] = []
    for is_last in (False, True):
        records = at.core.take(at.core.give(inputs.Arrived(unit))).records
        committed += [one for one in records if isinstance(one, UnitCommitted)]
        assert (TOPIC in at.core.qm.arrivals.unfinished) is not is_last
        assert at.core.qm.arrivals.position(TOPIC, "topic id") == is_last
        at.core.crash()
    assert [len(one.puts) for one in committed] == [15 + 1, 9]
    assert [one.unit == b"u" * 24 for one in committed] == [False, True]
    at.arrive(arrival("10", 10, to="A"))
    for name in ("S0", "S1", "S2"):
        assert bodies(at, name) == [b"1", b"2", b"3", b"4", b"6", b"7", b"8", b"9", b"10"]
    assert (bodies(at, "Q"), bodies(at, "DLQ")) == ([b"5"], [])


def test_more_copies_than_any_unit_has_are_a_dead_letter_and_the_rest_arrives() -> None:
    at = published(3, unit_messages=2)
    at.arrive(arrival("a", 1, to="A"), arrival("b", 2))
    assert bodies(at, "Q") == [b"b"]
    (letter,) = [stored.message for stored in at.core.queue("DLQ").in_order()]
    header, rest = dead_letter.split(letter.format, letter.body)
    assert (header.reason if header is not None else 0, rest) == (2502, b"a")


def test_copies_behind_those_that_were_put_may_have_to_wait() -> None:
    at = published(2, unit_messages=4)
    sent = [arrival(str(seq), seq, to="A") for seq in range(1, 4)] + [arrival("4", 4)]
    at.client.do(c.AlterQueue("Q", {"inhibit_put": True}))
    at.client.do(c.AlterQueue("DLQ", {"inhibit_put": True}))
    unit = ArrivedUnit(TOPIC, "topic id", 1, ORIGIN, sent, "QMA", b"u" * 24)
    for _ in range(3):
        at.core.take(at.core.give(inputs.Arrived(unit)))
    assert at.is_blocked()
    assert TOPIC not in at.core.qm.arrivals.unfinished
    at.client.do(c.AlterQueue("Q", {"inhibit_put": False}))
    while not at.core.qm.arrivals.position(TOPIC, "topic id"):
        at.core.take(at.core.give(inputs.Arrived(unit)))
    assert bodies(at, "S1") == [b"1", b"2", b"3"]
    assert bodies(at, "Q") == [b"4"]


def test_what_is_no_message_is_a_dead_letter() -> None:
    at = site("Q", "DLQ")
    at.client.do(c.AlterObject("queue_manager", "QM1", {"dead_letter_queue": "DLQ"}))
    at.arrive(arrival("garbage", 1, code=2110))
    wrong = arrival("wrong", 2)
    wrong.message.group_seq = -1
    at.arrive(wrong)
    for body in (b"garbage", b"wrong"):
        letter = at.client.take(handle=2)[0].message
        header, rest = dead_letter.split(letter.format, letter.body)
        assert header is not None
        assert (header.reason, rest) == (2110, body)


def test_what_is_no_message_and_too_long_for_its_queue_is_a_dead_letter() -> None:
    """Nothing that no queue takes is stored anywhere, whatever else is wrong with it."""
    at = site("Q", "DLQ")
    at.client.do(c.AlterObject("queue_manager", "QM1", {"dead_letter_queue": "DLQ"}))
    at.client.do(c.AlterQueue("Q", {"max_message_length": 3}))
    wrong: dict[str, object] = {
        "put_time_ms": -1,
        "ccsid": 2**40,
        "report": 2**31,
        "properties": {"large": 2**64},
        "group_id": b"x",
    }
    for seq, (name, value) in enumerate(wrong.items(), 1):
        one = arrival("too long", seq)
        setattr(one.message, name, value)
        at.arrive(one)
        letter = at.client.take(handle=2)[0].message
        header, rest = dead_letter.split(letter.format, letter.body)
        assert header is not None
        assert (header.reason, rest, letter.properties) == (2110, b"too long", None), name


def test_an_answer_goes_to_a_name_that_a_queue_manager_can_have() -> None:
    """Any client of Kafka can write to the topic of what arrives, whatever it calls itself."""
    at = site("Q", "DEAD")
    at.client.do(c.AlterObject("queue_manager", "QM1", {"dead_letter_queue": "DEAD"}))
    for seq, name in enumerate(("x" * 49, "a b", chr(0)), 1):
        hostile = arrival("question", seq, to="")
        hostile.message.broker = BrokerHeader(
            conversation=b"c" * 16, sequence=3, message_type=b.END_DIALOG, service="S",
            from_service="F", from_queue_manager=name, from_initiator=True,
        )  # fmt: skip
        at.arrive(hostile)
        assert not at.is_blocked()
        assert name not in at.core.qm.queues
    assert at.core.qm.queues["DEAD"].available_count == 3


def test_what_a_plain_client_leaves_open_is_filled_in() -> None:
    at = site("Q")
    plain = Arrival(MessageData(body=b"a", transmission=Transmission("Q")), 0, 1)
    unit = ArrivedUnit("mq.QM1.in", "t", 1, Origin("t"), [plain])
    at.core.take(at.core.give(inputs.Arrived(unit)))
    (found,) = at.client.take()
    assert found.message.put_time_ms == at.core.now_ms
    assert len(found.message.message_id) == 24
    assert found.message.persistence == 1


def test_a_dead_letter_of_a_plain_client_is_complete() -> None:
    at = site("Q", "DEAD")
    at.client.do(c.AlterObject("queue_manager", "QM1", {"dead_letter_queue": "DEAD"}))
    at.client.do(c.AlterQueue("Q", {"max_message_length": 1}))
    plain = Arrival(MessageData(body=b"long", transmission=Transmission("Q")), 0, 1)
    unit = ArrivedUnit("mq.QM1.in", "t", 1, Origin("t"), [plain])
    at.core.take(at.core.give(inputs.Arrived(unit)))
    (found,) = at.client.take(handle=2)
    message = found.message
    assert (len(message.message_id), message.priority, message.persistence) == (24, 0, 1)
    assert message.put_time_ms == at.core.now_ms


def test_the_lowest_places_of_a_queue() -> None:
    client = client_on("Q")

    def lowest() -> tuple[int, int]:
        found = client.do(c.AskLowest(1))
        assert isinstance(found, LowestPlaces)
        one = found.lanes[0]
        return one.seq, one.n

    assert lowest() == (1, 1)
    client.put("a")
    client.put("b")
    client.put("x", persistence=0)
    assert lowest() == (1, 1)
    unit = client.begin()
    client.get(unit)
    assert lowest() == (1, 1), "a unit holds it"
    client.do(c.Commit(unit))
    assert lowest() == (2, 1)
    client.get()
    client.get()
    assert lowest() == (3, 2)


HELD = ParkedQueue(0, 1000, "no such topic")


def park(at: Site, **parked: ParkedQueue) -> None:
    at.core.give(inputs.MoversReported(parked))


def test_an_arrival_for_a_parked_queue_is_a_dead_letter_or_waits() -> None:
    at = Site(client_on("Q", "DEAD", limits=Limits(parked_bytes=1000)))
    at.client.do(c.AlterObject("queue_manager", "QM1", {"dead_letter_queue": "DEAD"}))
    park(at, Q=HELD)
    at.arrive(arrival("a", 1))
    letter = at.client.take(handle=2)[0].message
    header, body = dead_letter.split(letter.format, letter.body)
    assert header is not None
    assert (header.reason, body) == (2192, b"a")
    park(at, Q=HELD, DEAD=HELD)
    assert not [one for one in at.arrive(arrival("b", 2)) if isinstance(one, UnitArrived)]
    assert at.is_blocked()
    park(at)
    at.arrive(arrival("b", 2))
    assert at.client.get() == ["b"]
    assert not at.is_blocked()


def test_an_arrival_for_a_parked_queue_of_msmq_waits() -> None:
    client = client_of_msmq(Core(Limits(parked_bytes=1000)))
    at = Site(client)
    sent = arrival("a", 1, to=KEY)
    sent.message.msmq = MsmqHeader(source="OTHER", journal=1)
    park(at, **{KEY: ParkedQueue(0, 999, "no such topic")})
    at.arrive(sent)
    assert texts(client.do(m.MsmqReceive(1))) == ["a"]
    park(at, **{KEY: HELD})
    sent = arrival("b", 2, to=KEY)
    sent.message.msmq = MsmqHeader(source="OTHER", journal=1)
    (event,) = at.arrive(sent)
    assert isinstance(event, EventRaised)
    assert (event.kind, event.name) == ("arrival_blocked", KEY)
    assert at.arrive(sent) == []
    assert at.is_blocked()
    assert texts(client.do(m.MsmqReceive(1))) == []
    park(at)
    at.arrive(sent)
    assert texts(client.do(m.MsmqReceive(1))) == ["b"]


def test_finding_reliability_d5_arrivals_of_service_broker_wait_for_the_movers() -> None:
    client = Core(Limits(uncopied_bytes=1000)).connect()
    client.do(b.BrokerCreate(kinds.QUEUE, "Far"))
    client.do(b.BrokerCreate(kinds.SERVICE, "Far", {"queue": "Far", "contracts": b.DEFAULT}))
    at = Site(client)
    at.core.give(inputs.Copied(at.core.entry_n))
    vars(at.core)["_page"] = lambda: None  # nothing more is copied
    for seq in (0, 1):
        at.arrive(of_a_dialog(seq))
    assert not at.is_blocked()
    (event,) = at.arrive(of_a_dialog(2))
    assert isinstance(event, EventRaised)
    assert event.kind == "arrival_blocked"
    at.core.give(inputs.Copied(at.core.entry_n))
    at.arrive(of_a_dialog(2))
    assert not at.is_blocked()
    assert at.core.qm.queues[key_of("Far")].depth == 3


def of_a_dialog(seq: int) -> Arrival:
    sent = arrival("a", seq + 1)
    sent.message.broker = BrokerHeader(
        conversation=b"c" * 16,
        sequence=seq,
        message_type=b.DEFAULT,
        service="Far",
        contract=b.DEFAULT,
        from_service="Near",
        from_queue_manager="QMA",
        from_initiator=True,
    )
    return sent


def test_a_message_of_a_damaged_unit_is_a_dead_letter_with_all_that_it_says() -> None:
    at = site("Q", "DEAD")
    at.client.do(c.AlterObject("queue_manager", "QM1", {"dead_letter_queue": "DEAD"}))
    one = arrival("a", 1, code=271)
    one.message.properties = {"colour": "red"}
    at.arrive(one)
    assert at.client.get() == []
    (dead,) = at.client.take(handle=2)
    assert dead.message.message_id == one.message.message_id
    assert dead.message.properties == {"colour": "red"}
    header = dead_letter.from_dlh(dead.message.body)
    assert (header.reason, header.destination) == (271, "Q")


@pytest.mark.parametrize("time", ["put_time_ms", "expires_at_ms", "deliver_at_ms"])
@pytest.mark.parametrize("at_ms", [-1, LATEST_MS + 1, 2**63 - 1, 2**70])
def test_a_time_beyond_all_is_a_dead_letter_and_can_be_written(time: str, at_ms: int) -> None:
    """What has come so late is in a snapshot too, and on the dead-letter queue's topic."""
    at = site("Q", "DLQ")
    at.client.do(c.AlterObject("queue_manager", "QM1", {"dead_letter_queue": "DLQ"}))
    damaged = arrival("x", 1)
    setattr(damaged.message, time, at_ms)
    at.arrive(damaged)
    assert at.core.queue("DLQ").depth == 1
    at.core.crash_with_snapshot()
    assert at.core.queue("DLQ").depth == 1


def test_the_latest_time_is_kept() -> None:
    at = site("Q")
    latest = arrival("x", 1)
    latest.message.expires_at_ms = LATEST_MS
    at.arrive(latest)
    assert at.core.queue("Q").depth == 1
    at.core.crash_with_snapshot()
    assert at.core.queue("Q").depth == 1


@pytest.mark.parametrize("delay_ms", [-5, 2**63 - 1])
def test_a_delay_beyond_all_is_a_dead_letter_also_of_what_is_too_long(delay_ms: int) -> None:
    """A plain client says it: whatever else is wrong, no time is made of it."""
    at = site("Q", "DLQ")
    at.client.do(c.AlterObject("queue_manager", "QM1", {"dead_letter_queue": "DLQ"}))
    at.client.do(c.AlterQueue("Q", {"max_message_length": 3}))
    wrong = arrival("longer than three", 1)
    wrong.message.put_time_ms, wrong.message.delay_ms = 0, delay_ms
    at.arrive(wrong)
    (letter,) = at.client.take(handle=2)
    assert letter.message.deliver_at_ms == 0
    at.core.crash_with_snapshot()


def test_reports_that_have_no_room_beside_their_unit_are_put_behind_it() -> None:
    at = Site(client_on("Q", "R", limits=Limits(unit_bytes=10_000)))
    asking = [arrival("x" * 3_000, seq) for seq in (1, 2)]
    for one in asking:
        one.message.report, one.message.reply_to = CONFIRM_ON_ARRIVAL * 7, "R"
    records = at.arrive(*asking)
    sizes = [len(one.puts) for one in records if isinstance(one, UnitCommitted)]
    assert sizes == [2, 1, 1]
    assert at.core.queue("R").depth == 2


@pytest.mark.parametrize(("length", "reported"), [(4_400, 4_400), (5_100, 0)])
def test_an_exception_report_that_has_no_room_beside_its_unit_has_no_data(
    length: int, reported: int
) -> None:
    """Its message is a dead letter in the same unit, which has arrived and cannot be refused."""
    at = Site(client_on("Q", "R", "DEAD", limits=Limits(unit_bytes=10_000)))
    at.core.configure(dead_letter_queue="DEAD")
    asking = arrival("x" * length, 1, to="NONE")
    asking.message.report, asking.message.reply_to = EXCEPTION * 7, "R"
    at.arrive(asking)
    (report,) = at.client.take(handle=2)
    assert report.message.feedback == 2085
    assert len(report.message.body) == reported
    assert at.core.queue("DEAD").depth == 1


def test_a_unit_that_has_overtaken_the_one_before_it_is_left_out() -> None:
    at = site("Q")
    event, _ = at.arrive(arrival("b", 2), lowest=(2, 0), behind=(0, 1, 0))
    assert isinstance(event, EventRaised)
    told = (event.kind, event.name, event.details)
    assert told == ("arrival_left_out", TOPIC, {"from": "QMA", "behind": "0/1/0"})
    assert at.client.get() == []
    assert at.core.qm.arrivals.position(TOPIC, "topic id") == 1
    at.arrive(arrival("a", 1))
    at.arrive(arrival("b", 2), behind=(0, 1, 0))
    at.arrive(arrival("n", 3, n=7), behind=(0, 2, 0))
    at.arrive(arrival("c", 4), behind=(0, 3, 7))
    assert [at.client.get() for _ in range(5)] == [["a"], ["b"], ["n"], ["c"], []]


def test_what_a_unit_is_behind_has_arrived_if_its_source_has_it_no_more() -> None:
    at = site("Q")
    at.arrive(arrival("c", 3), lowest=(3, 0))
    at.arrive(arrival("d", 4), behind=(0, 2, 0))
    assert [at.client.get() for _ in range(2)] == [["c"], ["d"]]
