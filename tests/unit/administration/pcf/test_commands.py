"""Commands of PCF as bytes, done on a queue manager."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

import adapter
from adapter.administration import values
from adapter.administration.kinds import DEFINED, Kind
from adapter.administration.pcf import commands as c
from adapter.administration.pcf.command_server import replies_to
from adapter.administration.pcf.commands import FAMILIES, Commands, Family
from adapter.administration.pcf.structures import (
    COMMAND_XR,
    LAST,
    NOT_LAST,
    Bytes,
    CommandHeader,
    CommandRequest,
    FilterParameter,
    Integer,
    Integers,
    Parameter,
    String,
    Strings,
    decode,
    encode,
)
from adapter.character_sets import Order
from adapter.core.attributes.table import AttributeRow
from adapter.testing import TestQueueManager
from tests.support.attribute_samples import given_rows, needed, samples

FAMILY = {one.word: one for one in FAMILIES}
QUEUE = FAMILY["QUEUE"]
QMGR = DEFINED["QMGR"]
TYPES = {"QLOCAL": 1, "QMODEL": 2, "QALIAS": 3, "QREMOTE": 6}
ROWS = [
    pytest.param(kind, row, id=f"{kind.word}.{row.attribute.keyword}")
    for kind in DEFINED.values()
    if kind.word != "SUB"  # what they take depends on the others: they have a test of their own
    for row in given_rows(kind.given)
]

Ask = Callable[..., list[CommandRequest]]


@pytest.fixture(scope="module")
def ask(qm: adapter.Connection) -> Ask:
    """ask(command, *parameters): the replies, taken apart."""
    commands = Commands(qm)

    def call(command: int, *parameters: Parameter, order: Order = "<") -> list[CommandRequest]:
        body = encode(CommandHeader(type=COMMAND_XR, version=3, command=command), parameters, order)
        bodies, _ = replies_to(commands, adapter.Message(body, format="MQADMIN "))
        return [decode(one) for one in bodies]

    return call


def ok(replies: list[CommandRequest]) -> list[dict[int, object]]:
    """The parameters of replies that all went well, numbered, the last one marked."""
    headers = [one.header for one in replies]
    assert [one.reason for one in headers] == [0] * len(headers)
    assert [one.sequence for one in headers] == list(range(1, len(headers) + 1))
    assert [one.control == LAST for one in headers] == [False] * (len(headers) - 1) + [True]
    return [
        {
            one.number: getattr(one, "values", getattr(one, "value", None))
            for one in reply.parameters
        }
        for reply in replies
    ]


def reason(replies: list[CommandRequest]) -> int:
    """Why a command failed; the summary follows."""
    what, summary = replies
    assert (what.header.comp_code, what.header.control) == (2, 0)
    assert (summary.header.comp_code, summary.header.reason) == (2, 3008)
    assert (summary.header.control, summary.parameters) == (LAST, [])
    return what.header.reason


def parameter(row: AttributeRow, value: object) -> Parameter:
    """How PCF gives the value."""
    number, written = row.attribute.number, values.plain(row, value)
    if isinstance(written, int):
        return Integer(number, written)
    if isinstance(written, list):
        return Strings(number, tuple(written))
    return String(number, written)


def needed_of(kind: Kind, but: str = "") -> list[Parameter]:
    """What an object of a kind cannot be created without. but: what is given anyway."""
    rows = {kind.given[name]: value for name, value in needed(kind.kind).items() if name != but}
    return [parameter(row, value) for row, value in rows.items()]


def family_of(kind: Kind) -> Family:
    return QUEUE if kind.has_queue_name else FAMILY[kind.word]


def type_of(kind: Kind) -> list[Parameter]:
    return [Integer(20, TYPES[kind.word])] if kind.has_queue_name else []


@pytest.mark.parametrize(("kind", "row"), ROWS)
def test_every_attribute_that_is_created_is_inquired(
    ask: Ask, kind: Kind, row: AttributeRow
) -> None:
    for value in samples(row):
        wanted = parameter(row, value)
        if kind is QMGR:
            assert ok(ask(c.CHANGE_QMGR, wanted)) == [{}]
            (found,) = ok(ask(c.INQUIRE_QMGR, Integers(1001, (row.attribute.number,))))
        else:
            family, name = family_of(kind), String(kind.name_number, "T")
            given = [*type_of(kind), Integer(1006, 1), wanted, *needed_of(kind, but=row.name)]
            assert ok(ask(family.create, name, *given)) == [{}]
            selector = Integers(family.selector, (row.attribute.number,))
            (found,) = ok(ask(family.inquire, name, *type_of(kind), selector))
        shown = found[row.attribute.number]
        assert shown == getattr(wanted, "values", getattr(wanted, "value", None))
    if kind is QMGR:
        ok(ask(c.CHANGE_QMGR, parameter(row, row.default)))
    else:
        ok(ask(family_of(kind).delete, String(kind.name_number, "T"), *type_of(kind)))


@pytest.mark.parametrize("family", FAMILIES, ids=lambda one: one.word)
def test_the_life_of_an_object(ask: Ask, family: Family) -> None:
    kind = DEFINED["QLOCAL" if family is QUEUE else family.word]
    describe = kind.given["description"].attribute.number
    name, twin = String(kind.name_number, "LIFE.1"), String(kind.name_number, "LIFE.2")
    some = String(kind.name_number, "LIFE.*")
    exists = 4042 if family.word == "CHANNEL" else 4001
    gone = 4032 if family.word == "CHANNEL" else 2085
    ok(ask(family.create, name, String(describe, "one"), *needed_of(kind)))
    assert reason(ask(family.create, name)) == exists
    other = [String(900_202, "OTHER")] if family.word == "EXPORT" else []  # each has its own queue
    ok(ask(family.copy, String(family.source, "LIFE.1"), String(family.target, "LIFE.2"), *other))
    ok(ask(family.change, twin, String(describe, "two")))
    found = ok(ask(family.inquire, some, Integers(family.selector, (describe,))))
    assert [one[describe] for one in found] == ["one", "two"]
    (names,) = ok(ask(family.inquire_names, some))
    assert names[family.names] == ("LIFE.1", "LIFE.2")
    for one in (name, twin):
        ok(ask(family.delete, one))
        assert reason(ask(family.delete, one)) == gone
    for command in (family.inquire, family.inquire_names):
        assert reason(ask(command, some)) == gone
    assert reason(ask(family.change, name, String(describe, "x"))) == gone
    assert reason(ask(family.create, String(kind.name_number, "no name"))) == 4008
    assert reason(ask(family.create)) == 3019


def test_the_type_of_what_is_deleted_may_be_named(ask: Ask) -> None:
    channel = FAMILY["CHANNEL"]
    name, kind = String(3501, "C"), Integer(1511, 7)
    ok(ask(channel.create, name, kind))
    assert ok(ask(channel.inquire, name, kind, Integers(1015, (3501,))))[0] == {3501: "C", 1511: 7}
    assert reason(ask(channel.inquire, name, Integer(1511, 6))) == 4032
    ok(ask(channel.delete, name, kind))


def test_ping_and_both_byte_orders(ask: Ask) -> None:
    for order in ("<", ">"):
        (reply,) = ask(c.PING_QMGR, order=order)
        assert (reply.order, reply.header.command, reply.header.reason) == (order, 40, 0)


def test_an_inventory_of_queues(ask: Ask, qm: adapter.Connection) -> None:
    ok(ask(QUEUE.create, String(2016, "INV.Q"), Integer(20, 1), String(2013, "IBM MQ like")))
    ok(ask(QUEUE.create, String(2016, "INV.A"), Integer(20, 3), String(2002, "INV.Q")))
    qm.put("INV.Q", "x")
    every = ok(ask(QUEUE.inquire, String(2016, "INV.*")))
    assert [(one[2016], one[20]) for one in every] == [("INV.A", 3), ("INV.Q", 1)]
    asked = Integers(1002, (2016,))
    (deep,) = ok(ask(QUEUE.inquire, String(2016, "*"), asked, FilterParameter(3, 4, 0)))
    assert deep == {2016: "INV.Q", 20: 1, 3: 1}
    (like,) = ok(
        ask(QUEUE.inquire, String(2016, "INV.*"), asked, FilterParameter(2013, 18, "IBM MQ *"))
    )
    assert like[2013] == "IBM MQ like"
    ok(ask(QUEUE.create, String(2016, "INV.M"), Integer(20, 2)))
    for definition_type, name in ((1, "INV.Q"), (3, "INV.M")):
        condition = FilterParameter(7, 2, definition_type)
        (one,) = ok(ask(QUEUE.inquire, String(2016, "INV.*"), asked, condition))
        assert (one[2016], one[7]) == (name, definition_type)
    ok(ask(QUEUE.delete, String(2016, "INV.M"), Integer(20, 2)))
    aliases = ok(ask(QUEUE.inquire, String(2016, "*"), Integer(20, 3)))
    assert {one[20] for one in aliases} == {3}
    (names,) = ok(ask(QUEUE.inquire_names, String(2016, "INV.*")))
    assert names == {3011: ("INV.A", "INV.Q"), 1261: (3, 1)}
    ok(ask(c.CLEAR_QUEUE, String(2016, "INV.Q")))
    ok(ask(QUEUE.delete, String(2016, "INV.Q"), Integer(1007, 0)))


def test_a_queue_with_messages_is_deleted_by_purge(ask: Ask, qm: adapter.Connection) -> None:
    ok(ask(QUEUE.create, String(2016, "FULL")))
    qm.put("FULL", "x")
    with qm.queue("FULL", open_for="input"):
        assert reason(ask(QUEUE.delete, String(2016, "FULL"), Integer(1007, 1))) == 4004
    assert reason(ask(QUEUE.delete, String(2016, "FULL"))) == 2055
    ok(ask(QUEUE.delete, String(2016, "FULL"), Integer(1007, 1)))


def test_the_status_of_queues(ask: Ask, qm: adapter.Connection) -> None:
    ok(ask(QUEUE.create, String(2016, "STATUS")))
    with qm.unit(), qm.queue("STATUS") as queue:
        queue.put("x")
        (found,) = ok(ask(c.INQUIRE_STATUS, String(2016, "STATUS"), Integer(1103, 1105)))
    assert (found[3], found[1027], found[18], found[1103]) == (1, 1, 1, 1105)
    assert reason(ask(c.INQUIRE_STATUS, String(2016, "NONE"))) == 4091
    handles = Integer(1103, 1104)
    assert reason(ask(c.INQUIRE_STATUS, String(2016, "STATUS"), handles)) == 4091
    assert reason(ask(c.INQUIRE_STATUS, String(2016, "STATUS"), Integer(1103, 1))) == 3229
    with qm.queue("STATUS", open_for="input_exclusive"):
        (handle,) = ok(ask(c.INQUIRE_STATUS, String(2016, "STATUS"), handles))
    assert (handle[1103], handle[1098], handle[1099], handle[3058]) == (1104, 2, 0, "a test")


def test_totals_count_from_the_last_reset(ask: Ask, qm: adapter.Connection) -> None:
    ok(ask(QUEUE.create, String(2016, "TOTALS")))
    qm.put("TOTALS", "x")
    with qm.unit():
        qm.put("TOTALS", "y")
    (first,) = ok(ask(c.RESET_TOTALS, String(2016, "TOTALS")))
    assert isinstance(first.pop(35), int)
    assert first == {2016: "TOTALS", 36: 2, 37: 2, 38: 0}
    qm.get("TOTALS")
    (second,) = ok(ask(c.RESET_TOTALS, String(2016, "TOT*")))
    assert second == {2016: "TOTALS", 36: 2, 37: 0, 38: 1, 35: 0}
    (third,) = ok(ask(c.RESET_TOTALS, String(2016, "TOTALS")))
    assert third == {2016: "TOTALS", 36: 1, 37: 0, 38: 0, 35: 0}
    assert reason(ask(c.RESET_TOTALS, String(2016, "NONE"))) == 2085


def test_the_status_of_a_queue_names_its_last_put_and_get(ask: Ask, qm: adapter.Connection) -> None:
    ok(ask(QUEUE.create, String(2016, "LAST")))
    asked = (String(2016, "LAST"), Integer(20, 1))
    (untouched,) = ok(ask(c.INQUIRE_STATUS, *asked))
    assert [untouched[number] for number in (3128, 3129, 3130, 3131)] == ["", "", "", ""]
    before = datetime.now(UTC).replace(microsecond=0)
    qm.put("LAST", "x")
    qm.get("LAST")
    (used,) = ok(ask(c.INQUIRE_STATUS, *asked))
    for date, time in ((3128, 3129), (3130, 3131)):
        when = datetime.strptime(f"{used[date]} {used[time]} +0000", "%Y-%m-%d %H.%M.%S %z")
        assert before <= when <= datetime.now(UTC)
    assert reason(ask(c.INQUIRE_STATUS, String(2016, "LAST"), Integer(20, 3))) == 3022


def test_channels_show_the_clients_that_are_connected(ask: Ask, manager: TestQueueManager) -> None:
    with adapter.connect(manager.address, application="seen", user="amy"):
        found = ok(ask(42, String(3501, "*"), Integers(1524, (3506, 3548, 3527, 1527, 3529))))
        seen = next(one for one in found if one[3548] == "seen")
        assert (seen[3527], seen[1527], seen[1511]) == ("amy", 3, 7)
        assert str(seen[3506]).startswith("127.0.0.1")
    assert ok(ask(42, String(3501, "SYSTEM.*"), Integer(1523, 1011)))
    assert reason(ask(42, String(3501, "OTHER"))) == 3065


def test_channels_for_clients_are_always_started(ask: Ask) -> None:
    assert ok(ask(28, String(3501, "SYSTEM.DEF.SVRCONN"))) == [{}]
    assert reason(ask(28, String(3501, "NONE"))) == 4032


def test_publish_and_subscribe_has_a_status(ask: Ask) -> None:
    (found,) = ok(ask(185))
    assert (found[2015], found[1311], found[1314]) == ("QM1", 3, 1)
    assert reason(ask(185, Integer(1314, 2))) == 2085


def test_the_listener_is_there(ask: Ask, manager: TestQueueManager) -> None:
    (listener,) = ok(ask(97, String(3554, "*")))
    (running,) = ok(ask(98, String(3554, "*")))
    port = int(manager.address.rpartition(":")[2])
    assert (listener[1522], running[1522], running[1599]) == (port, port, 2)
    assert reason(ask(97, String(3554, "NONE"))) == 2085
    assert reason(ask(98, String(3554, "NONE"))) == 3250


def test_topics_and_subscriptions_have_a_status(ask: Ask, qm: adapter.Connection) -> None:
    qm.define_queue("STATUS.OUT")
    qm.define_object("topic", "FRUIT", topic_string="fruit", publish="DISABLED", def_priority=3)
    apples: Any = {"topic_string": "fruit/apple", "destination": "STATUS.OUT"}
    pears: Any = {"topic_string": "pear/#", "topic_object": "FRUIT", "destination": "STATUS.OUT"}
    qm.define_object("subscription", "APPLES", **apples)
    qm.define_object("subscription", "PEARS", **pears)
    found = {one[2094]: one for one in ok(ask(183, String(2094, "fruit/#")))}
    assert set(found) == {"fruit", "fruit/apple"}
    apple = found["fruit/apple"]
    assert (apple[181], apple[6], apple[204], apple[2105]) == (1, 3, 1, "")
    assert (found["fruit"][204], found["fruit"][2105]) == (0, "FRUIT")
    assert reason(ask(183, String(2094, "vegetable"))) == 3308
    assert reason(ask(183, String(2094, "#"), Integer(1302, 1296))) == 3229
    names = {one[3152]: one for one in ok(ask(182, String(3152, "*")))}
    assert {"APPLES", "PEARS"} <= set(names)
    ident = names["APPLES"][7016]
    assert isinstance(ident, bytes)
    assert [one[3152] for one in ok(ask(182, Bytes(7016, ident)))] == ["APPLES"]
    assert reason(ask(182, String(3152, "NONE"))) == 2428
    (by_id,) = ok(ask(176, Bytes(7016, ident)))
    assert by_id[3152] == "APPLES"
    ok(ask(179, Bytes(7016, ident)))
    assert reason(ask(179, Bytes(7016, ident))) == 2428
    assert reason(ask(176, Bytes(7016, ident))) == 2428
    ok(ask(179, String(3152, "PEARS")))
    qm.delete_object("topic", "FRUIT")


def test_connections_list_whoever_asks(
    ask: Ask, qm: adapter.Connection, manager: TestQueueManager
) -> None:
    every = ok(ask(c.INQUIRE_CONNECTION, Bytes(7007, b"")))
    mine = next(one for one in every if one[3058] == "a test")
    assert (mine[1], mine[1110]) == (25, 1111)
    assert mine[3501]
    assert mine[3506] == ""  # it is connected within the process
    ident = mine[7006]
    assert isinstance(ident, bytes)
    assert len(ident) == 24
    assert ok(ask(c.INQUIRE_CONNECTION, Bytes(7006, ident)))[0][7006] == ident
    assert reason(ask(c.INQUIRE_CONNECTION, Bytes(7006, bytes(24)))) == 3174
    assert reason(ask(c.INQUIRE_CONNECTION, Bytes(7007, b""), Integer(1110, 1))) == 3229
    with qm.queue("SYSTEM.DEAD.LETTER.QUEUE", open_for="output"):
        (handle,) = ok(ask(c.INQUIRE_CONNECTION, Bytes(7006, ident), Integer(1110, 1112)))
        both = ok(ask(c.INQUIRE_CONNECTION, Bytes(7006, ident), Integer(1110, 1113)))
    assert (handle[3046], handle[1016], handle[1022]) == ("SYSTEM.DEAD.LETTER.QUEUE", 1, 16)
    assert [one[1110] for one in both] == [1111, 1112]
    with adapter.connect(manager.address, application="victim"):
        asked = ask(c.INQUIRE_CONNECTION, Bytes(7007, b""), FilterParameter(3058, 2, "victim"))
        (victim,) = ok(asked)
        assert str(victim[3506]).startswith("127.0.0.1")
        found = victim[7006]
        assert isinstance(found, bytes)
        ok(ask(c.STOP_CONNECTION, Bytes(7006, found)))
        assert reason(ask(c.STOP_CONNECTION, Bytes(7006, found))) == 3174
    assert reason(ask(c.STOP_CONNECTION, Bytes(7006, b"x"))) == 3174


def test_the_queue_manager(ask: Ask) -> None:
    (found,) = ok(ask(c.INQUIRE_QMGR))
    assert found[2015] == "QM1"
    assert found[2125] == "SYSTEM.DEFAULT.AUTHINFO.IDPWOS"
    assert ok(ask(c.INQUIRE_QMGR, Integers(1001, (25,))))[0].keys() == {2015, 25}
    (status,) = ok(ask(c.INQUIRE_QMGR_STATUS))
    assert status.keys() == {2015, 1149, 1230, 1232, 1233, 3175, 3176}
    assert (status[1149], status[1233]) == (2, 0)
    assert reason(ask(c.CHANGE_QMGR, Integer(25, -5))) == 4005
    authentication = FAMILY["AUTHINFO"]
    (check,) = ok(ask(authentication.inquire, String(2045, "SYSTEM.DEFAULT.AUTHINFO.IDPWOS")))
    assert 258 in check


def test_names_are_not_compared_with_a_number(ask: Ask) -> None:
    assert reason(ask(FAMILY["NAMELIST"].inquire, String(2010, "*"), Integer(2020, 5))) == 3242


def test_mqsc_may_be_asked_by_pcf(ask: Ask) -> None:
    lines = ok(ask(c.ESCAPE, Integer(1017, 1), String(3014, "PING QMGR")))
    assert lines == [{1017: 1, 3014: "AMQ8415I: queue manager QM1 answers."}]
    replies = ask(c.ESCAPE, Integer(1017, 1), String(3014, "FISH"))
    headers = [one.header for one in replies]
    assert {one.reason for one in headers} == {3008}
    assert [one.sequence for one in headers] == list(range(1, len(replies) + 1))
    assert [one.control for one in headers[-2:]] == [NOT_LAST, LAST]
    texts = [one.value for reply in replies for one in reply.parameters if isinstance(one, String)]
    assert "FISH" in texts[0], "why it failed"
    assert reason(ask(c.ESCAPE, Integer(1017, 2), String(3014, "x"))) == 3054


@pytest.mark.parametrize(
    ("command", "parameters", "expected"),
    [
        (9999, [], 3007),
        (90, [], 3173),
        (176, [String(3152, "*")], 2428),
        (204, [String(3501, "*")], 3338),
        (13, [String(2016, "A?")], 4008),
        (13, [String(2016, "*"), Integer(20, 99)], 3022),
        (13, [String(2016, "*"), Integer(63, 1)], 3014),
        (13, [Integer(2016, 1)], 3013),
        (11, [String(2016, "A"), Integer(20, 3), Integer(15, 1)], 3014),
        (11, [String(2016, "SYSTEM.DEFAULT.LOCAL.QUEUE"), Integer(20, 3)], 4001),
        (40, [Integer(1, 1)], 3014),
        (12, [String(2016, "NONE")], 2085),
    ],
)
def test_a_command_that_cannot_be_done_has_a_reason(
    ask: Ask, command: int, parameters: list[Parameter], expected: int
) -> None:
    assert reason(ask(command, *parameters)) == expected


def test_the_parameter_that_is_wrong_is_named(ask: Ask) -> None:
    what, _ = ask(QUEUE.create, String(2016, "A"), Integer(10, 7))
    assert what.parameters == [Integer(1012, 10)]


def test_the_life_of_a_subscription(ask: Ask, qm: adapter.Connection) -> None:
    ok(ask(QUEUE.create, String(2016, "SUBBED")))
    name, destination = String(3152, "my: one"), String(3154, "SUBBED")
    ok(ask(177, name, String(2094, "fruit/+"), destination, Bytes(7015, b"c" * 24)))
    qm.publish("fruit/apple", "x")
    message = qm.get("SUBBED")
    assert message is not None
    assert message.correlation_id == b"c" * 24
    ok(ask(178, name, String(3159, "u"), Bytes(7015, bytes(24))))
    (found,) = ok(ask(176, String(3152, "my*")))
    assert {number: found[number] for number in (3152, 2094, 3154, 3159, 1273, 7015)} == {
        3152: "my: one",
        2094: "fruit/+",
        3154: "SUBBED",
        3159: "u",
        1273: 2,
        7015: bytes(24),
    }
    assert isinstance(found[7016], bytes)
    assert len(found[7016]) == 24
    ok(ask(179, name))
    assert reason(ask(179, name)) == 2428
    assert reason(ask(176, name)) == 2428


def test_what_is_retained_is_cleared_by_topic(ask: Ask, qm: adapter.Connection) -> None:
    qm.publish("pcf/a", "x", retain=True)
    topic, kind = String(2094, "pcf/+"), Integer(1305, 1)
    assert reason(ask(c.CLEAR_TOPIC, topic, Integer(1305, 2))) == c.VALUE_ERROR
    assert reason(ask(c.CLEAR_TOPIC, topic, kind, Integer(1306, 2))) == c.VALUE_ERROR
    assert reason(ask(c.CLEAR_TOPIC, topic)) == 3019  # MQRCCF_PARM_COUNT_TOO_SMALL
    ok(ask(c.CLEAR_TOPIC, topic, kind, Integer(1306, 1)))
    assert qm.clear_retained("pcf/+") == 0
