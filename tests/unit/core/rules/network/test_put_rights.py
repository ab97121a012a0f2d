"""Rights to put by a name: every way to use a name asks for what an open of it asks for."""

import itertools
from collections.abc import Callable

import pytest

from adapter.core import inputs
from adapter.core.contract import commands as c
from adapter.core.contract import msmq as m
from adapter.core.contract.arrivals import Arrival, ArrivedUnit, Origin
from adapter.core.contract.message import MessageData
from adapter.core.contract.results import Refused
from adapter.core.contract.transmission import Transmission
from adapter.core.model.report import CONFIRM_ON_ARRIVAL
from tests.support.authorities import checked, is_denied, operator, set_records, user
from tests.support.core import Client

Name = tuple[str, str]
"""Of a queue, and of the queue manager that is named with it."""
NAMES: dict[str, tuple[Name, set[tuple[str, str, str]]]] = {
    "queue": (("Q", ""), {("queue", "Q", "put")}),
    "alias": (("TO.Q", ""), {("queue", "TO.Q", "put")}),
    "remote queue": (("FAR", ""), {("queue", "FAR", "put")}),
    "queue manager": (("Q", "QM2"), {("queue", "QM2", "put")}),
    "alias of this one": (("Q", "HERE"), {("queue", "Q", "put")}),
    "transmission queue": (("QM2", ""), {("queue", "QM2", "put"), ("queue", "QM2", "setall")}),
    "alias of it": (("TO.QM2", ""), {("queue", "TO.QM2", "put"), ("queue", "TO.QM2", "setall")}),
    "alias of a topic": (("TO.NEWS", ""), {("queue", "TO.NEWS", "put"), ("topic", "NEWS", "pub")}),
}
"""What a put by each name needs."""


def site() -> Client:
    client = checked()
    for name in ("Q", "START", "DEAD"):
        client.define(name)
    client.define("QM2", usage="XMITQ")
    client.do(c.AlterObject("queue_manager", "QM1", {"dead_letter_queue": "DEAD"}))
    client.do(c.DefineObject("topic", "NEWS", {"topic_string": "news"}))
    client.do(c.DefineObject("alias", "TO.Q", {"target": "Q"}))
    client.do(c.DefineObject("alias", "TO.QM2", {"target": "QM2"}))
    client.do(c.DefineObject("alias", "TO.NEWS", {"target": "NEWS", "target_type": "TOPIC"}))
    far = {"remote_name": "Q", "remote_queue_manager": "QM2"}
    client.do(c.DefineObject("remote", "FAR", far))
    client.do(c.DefineObject("remote", "HERE", {"remote_queue_manager": "QM1"}))
    given = {"channel_type": "RCVR", "queue_manager": "QMA", "mca_user": "ada"}
    client.do(c.DefineObject("channel", "FROM.QMA", given, True))
    return client


def has_authority(client: Client) -> bool:
    """Whether nothing has been denied."""
    return not client.core.denials


def by_open(client: Client, name: Name) -> bool:
    return not is_denied(client, c.Open(1, name[0], c.OUTPUT, queue_manager=name[1]))


def by_report(client: Client, name: Name) -> bool:
    client.do(c.Open(1, "START", c.OUTPUT))
    asked = MessageData(
        b"a", report=CONFIRM_ON_ARRIVAL, reply_to=name[0], reply_to_queue_manager=name[1]
    )
    client.do(c.Put(1, [asked]))
    return has_authority(client)


def by_subscription(client: Client, name: Name) -> bool:
    given = {"topic_string": "else", "destination": name[0], "destination_queue_manager": name[1]}
    return not is_denied(client, c.DefineObject("subscription", "S", given))


def by_copy(client: Client, name: Name) -> bool:
    operator(client)
    given = {"topic_string": "else", "destination": name[0], "destination_queue_manager": name[1]}
    client.do(c.DefineObject("subscription", "S", given))
    client.core.qm.topics.named["S"].owner = "ada"
    client.do(c.OpenTopic(1, "else"))
    client.do(c.Put(1, [MessageData(b"a")]))
    return has_authority(client)


def by_receiver(client: Client, name: Name) -> bool:
    message = MessageData(
        b"a",
        message_id=bytes(24),
        correlation_id=bytes(24),
        group_id=bytes(24),
        priority=0,
        persistence=1,
        put_time_ms=5,
        transmission=Transmission(*name),
    )
    unit = ArrivedUnit("mq.QM1.in.QMA", "id", 1, Origin("QMA"), [Arrival(message, 0, 1)], "QMA")
    client.core.take(client.core.give(inputs.Arrived(unit)))
    return has_authority(client)


def by_pointer(client: Client, name: Name) -> bool:
    return not is_denied(client, c.AlterQueue("START", {"backout_requeue_queue": name[0]}))


def by_msmq(client: Client, name: Name) -> bool:
    return not is_denied(client, m.MsmqOpen(1, f"DIRECT=OS:QM1\\{name[0]}", m.SEND_ACCESS))


BY_TWO_NAMES = (by_open, by_report, by_subscription, by_copy, by_receiver)
RESOLVED_BEFORE = [(by_report, "remote queue"), (by_copy, "alias of a topic")]
"""A put replaces such a reply-to queue, and no subscription has such a queue."""
WAYS: list[tuple[Callable[[Client, Name], bool], str]] = [
    *(one for one in itertools.product(BY_TWO_NAMES, NAMES) if one not in RESOLVED_BEFORE),
    *itertools.product([by_pointer], [one for one, (name, _) in NAMES.items() if not name[1]]),
    *itertools.product([by_msmq], ["queue", "transmission queue"]),
]
OTHERWISE = {
    ("queue", "START", "put"),
    ("queue", "START", "chg"),
    ("qmgr", "SELF", "setall"),
    ("qmgr", "SELF", "connect"),
    ("topic", "SYSTEM.BASE.TOPIC", "sub"),
}
"""What the ways ask for beside the right to put."""


def grant(client: Client, rights: set[tuple[str, str, str]]) -> None:
    words: dict[tuple[str, str], list[str]] = {}
    for object_type, name, word in rights:
        words.setdefault((object_type, name), []).append(word)
    set_records(client.core, *((*of, given) for of, given in words.items()))


@pytest.mark.parametrize(("way", "name"), WAYS)
def test_every_use_of_a_name_needs_what_a_put_by_it_needs(
    way: Callable[[Client, Name], bool], name: str
) -> None:
    named, needed = NAMES[name]
    kept = OTHERWISE
    if way is by_receiver:  # what arrives keeps its context, also if it is put elsewhere
        kept = OTHERWISE | {("queue", of, "setall") for kind, of, _ in needed if kind == "queue"}
    for lacking in (None, *sorted(needed - kept)):
        client = site()
        grant(client, (needed | kept) - {lacking or ("", "", "")})
        client.core.denials.clear()
        user(client)
        assert way(client, named) is (lacking is None), lacking


def test_to_browse_an_alias_needs_neither_pub_nor_setall() -> None:
    client = site()
    set_records(client.core, ("queue", "TO.QM2", ("browse",)))
    user(client)
    assert not is_denied(client, c.Open(1, "TO.QM2", c.BROWSE))
    assert is_denied(client, c.Open(2, "TO.QM2", c.BROWSE | c.OUTPUT))


def test_an_alias_of_a_topic_that_is_not_there_needs_put_alone() -> None:
    client = site()
    client.do(c.DefineObject("alias", "LATER", {"target": "GONE", "target_type": "TOPIC"}))
    set_records(client.core, ("queue", "LATER", ("put",)))
    user(client)
    answer = client.answer(client.send(c.Open(1, "LATER", c.OUTPUT)))
    assert isinstance(answer, Refused)
    assert not client.core.denials


@pytest.mark.parametrize("target", ["SYSTEM.BASE.TOPIC", "GONE"])
@pytest.mark.parametrize("way", [by_report, by_receiver])
def test_what_leads_to_no_topic_is_a_dead_letter(
    way: Callable[[Client, Name], bool], target: str
) -> None:
    """No request can be refused there: an exception would end the queue manager's term."""
    client = site()
    client.do(c.DefineObject("alias", "TO.NONE", {"target": target, "target_type": "TOPIC"}))
    needed = {("queue", "TO.NONE", "put"), ("queue", "TO.NONE", "setall")}
    grant(client, needed | OTHERWISE | {("topic", "SYSTEM.BASE.TOPIC", "pub")})
    client.core.denials.clear()
    user(client)
    assert way(client, ("TO.NONE", ""))
    assert client.core.qm.queues["DEAD"].available_count == 1
