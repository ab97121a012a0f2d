"""Receivers: what arrives is put by the authorities of whom it comes for."""

import itertools

import pytest

from adapter.core import inputs
from adapter.core.contract import authority_commands as ac
from adapter.core.contract import broker as b
from adapter.core.contract import commands as c
from adapter.core.contract import msmq as m
from adapter.core.contract.arrivals import Arrival, ArrivedUnit, Origin
from adapter.core.contract.authorities import ALTERNATE_USER, PUBLISH, PUT, SET_ALL
from adapter.core.contract.broker_header import BrokerHeader
from adapter.core.contract.channel_rules import SetChannelRule
from adapter.core.contract.message import MessageData
from adapter.core.contract.msmq_header import ACKNOWLEDGE_NOT_ARRIVED, MsmqHeader
from adapter.core.contract.transmission import Transmission
from adapter.core.model.broker_queue import key_of
from adapter.core.mq_layouts import dead_letter
from adapter.core.rules.messages.receiving import COMMAND
from adapter.core.rules.msmq.computers import computer_of
from tests.support.authorities import checked
from tests.support.core import Client

DEAD = "DEAD"
SEQS = itertools.count(1)


def site() -> Client:
    """A queue manager that checks authorities, with queues and a dead-letter queue."""
    client = checked()
    for name in ("Q", DEAD, "SYSTEM.DELAYED.QUEUE"):
        client.define(name)
    client.do(c.AlterObject("queue_manager", "QM1", {"dead_letter_queue": DEAD}))
    return client


def receiver(client: Client, name: str = "FROM.QMA", **attributes: str) -> None:
    given = {"channel_type": "RCVR", "queue_manager": "QMA"} | attributes
    client.do(c.DefineObject("channel", name, given, True))


def grant(client: Client, user: str, bits: int, name: str = "Q", kind: str = "queue") -> None:
    client.do(ac.SetAuthority(name, kind, [user], [], bits))


def arrive(client: Client, message: MessageData, source: str = "QMA") -> None:
    unit = ArrivedUnit(
        f"mq.QM1.in.{source}",
        "topic id",
        seq := next(SEQS),
        Origin(f"id of {source}"),
        [Arrival(message, 0, seq)],
        source,
    )
    client.core.take(client.core.give(inputs.Arrived(unit)))


def message(user: str = "ann", to: str = "Q", manager: str = "QM1") -> MessageData:
    return MessageData(
        body=b"arrived",
        message_id=next(SEQS).to_bytes(24, "big"),
        correlation_id=bytes(24),
        group_id=bytes(24),
        priority=0,
        persistence=1,
        put_time_ms=5,
        user=user,
        transmission=Transmission(to, manager),
    )


def depths(client: Client) -> tuple[int, int]:
    return client.core.queue().depth, client.core.queue(DEAD).depth


def missing(client: Client) -> list[tuple[str, str, str, int]]:
    found = [(one.user, one.object_type, one.name, one.missing) for one in client.core.denials]
    assert {one.command for one in client.core.denials} <= {COMMAND}
    client.core.denials.clear()
    return found


def test_a_receiver_without_a_user_puts_everything() -> None:
    client = site()
    arrive(client, message())
    receiver(client)
    arrive(client, message())
    assert depths(client) == (2, 0)


def test_a_user_of_a_receiver_needs_put_and_setall() -> None:
    client = site()
    receiver(client, mca_user="qma")
    arrive(client, message())
    assert depths(client) == (0, 1)
    (stored,) = client.core.queue(DEAD).stored.values()
    header = dead_letter.from_dlh(stored.message.body)
    where = header.destination, header.destination_queue_manager
    assert (header.reason, *where) == (2035, "Q", "QM1")
    assert stored.message.user == "ann", "its origin is as it was"
    assert missing(client) == [("qma", "qmgr", "QM1", SET_ALL)]
    grant(client, "qma", SET_ALL, "", "qmgr")
    arrive(client, message())
    assert missing(client) == [("qma", "queue", "Q", SET_ALL)]
    grant(client, "qma", SET_ALL)
    arrive(client, message())
    assert missing(client) == [("qma", "queue", "Q", PUT)]
    grant(client, "qma", PUT)
    arrive(client, message("eve"))
    assert depths(client) == (1, 3)
    assert missing(client) == []


def test_with_the_context_its_user_needs_put() -> None:
    client = site()
    receiver(client, mca_user="qma", put_authority="CTX")
    grant(client, "qma", SET_ALL | PUT)
    grant(client, "qma", SET_ALL, "", "qmgr")
    grant(client, "ann", PUT)
    arrive(client, message("ann"))
    assert missing(client) == [("qma", "qmgr", "QM1", ALTERNATE_USER)]
    grant(client, "qma", ALTERNATE_USER, "", "qmgr")
    for user in ("eve", "", "qma"):
        arrive(client, message(user))
    assert depths(client) == (1, 3)
    assert missing(client) == [("eve", "queue", "Q", PUT), ("", "queue", "Q", PUT)]
    arrive(client, message("ann"))
    assert depths(client) == (2, 3)


def test_the_queue_manager_may_stand_in_for_the_user_of_a_context() -> None:
    client = site()
    receiver(client, put_authority="CTX")
    grant(client, "ann", PUT)
    arrive(client, message("ann"))
    arrive(client, message("eve"))
    assert depths(client) == (1, 1)


def test_what_goes_on_to_another_queue_manager_is_checked_by_its_name() -> None:
    client = site()
    client.define("QMC", usage="XMITQ")
    receiver(client, put_authority="CTX")
    arrive(client, message(to="FAR", manager="QMC"))
    assert missing(client) == [("ann", "queue", "QMC", PUT)]
    grant(client, "ann", PUT, "QMC")
    arrive(client, message(to="FAR", manager="QMC"))
    assert client.core.queue("QMC").depth == 1


def test_a_transmission_queue_is_made_for_who_may_put_to_it() -> None:
    client = site()
    receiver(client, mca_user="qma")
    client.core.give(inputs.QueueManagersKnown(frozenset({"QMC"})))
    arrive(client, message(to="FAR", manager="QMC"))
    assert depths(client) == (0, 1)
    assert "QMC" not in client.core.qm.queues
    grant(client, "qma", SET_ALL, "", "qmgr")
    grant(client, "qma", PUT | SET_ALL, "QMC")
    arrive(client, message(to="FAR", manager="QMC"))
    assert client.core.queue("QMC").depth == 1


@pytest.mark.parametrize("authority", ["DEF", "CTX"])
def test_what_is_published_by_an_alias_needs_the_right_to_publish(authority: str) -> None:
    """As where a program opens the alias."""
    client = site()
    client.do(c.DefineObject("topic", "NEWS", {"topic_string": "news"}))
    client.do(c.DefineObject("alias", "A", {"target": "NEWS", "target_type": "TOPIC"}))
    client.do(c.DefineObject("subscription", "S", {"topic_string": "news", "destination": "Q"}))
    receiver(client, mca_user="qma", put_authority=authority)
    putter = "qma" if authority == "DEF" else "ann"
    grant(client, "qma", SET_ALL | ALTERNATE_USER, "", "qmgr")
    grant(client, "qma", SET_ALL, "A")
    grant(client, putter, PUT | (SET_ALL if putter == "qma" else 0), "A")
    arrive(client, message(to="A"))
    assert depths(client) == (0, 1)
    assert missing(client) == [(putter, "topic", "news", PUBLISH)]
    grant(client, putter, PUBLISH, "NEWS", "topic")
    arrive(client, message(to="A"))
    assert depths(client) == (1, 1)
    assert missing(client) == []


@pytest.mark.parametrize(
    ("source", "name"), [("QMB", "SYSTEM.AUTO.RECEIVER"), ("", "SYSTEM.KAFKA.RECEIVER")]
)
def test_others_have_the_receiver_of_all_others(source: str, name: str) -> None:
    client = site()
    receiver(client, mca_user="qma")
    receiver(client, name, mca_user="others", queue_manager="")
    grant(client, "others", PUT | SET_ALL)
    arrive(client, message(), source)
    assert missing(client) == [("others", "qmgr", "QM1", SET_ALL)]
    grant(client, "others", SET_ALL, "", "qmgr")
    arrive(client, message(), source)
    assert depths(client) == (1, 1)
    client.core.crash_with_snapshot()
    client.core.give(inputs.Configured({}, checks_authorities=True))
    arrive(client, message())
    assert [one[0] for one in missing(client)] == ["qma"]


def test_a_receiver_that_is_altered_counts_for_what_arrives_then() -> None:
    client = site()
    receiver(client, mca_user="qma")
    client.do(c.AlterObject("channel", "FROM.QMA", {"queue_manager": "QMB"}))
    arrive(client, message())
    assert depths(client) == (1, 0)
    arrive(client, message(), "QMB")
    assert depths(client) == (1, 1)
    client.do(c.DeleteObject("channel", "FROM.QMA"))
    arrive(client, message(), "QMB")
    assert depths(client) == (2, 1)


def test_where_authorities_are_not_checked_a_receiver_has_no_effect() -> None:
    client = site()
    receiver(client, mca_user="qma")
    client.core.give(inputs.Configured({}, checks_authorities=False))
    arrive(client, message())
    assert depths(client) == (1, 0)


def test_what_waits_for_room_is_denied_once() -> None:
    client = site()
    receiver(client, mca_user="qma")
    client.do(c.AlterObject("queue_manager", "QM1", {"dead_letter_queue": ""}))
    unit = ArrivedUnit("mq.QM1.in.QMA", "id", 1, Origin("QMA"), [Arrival(message(), 0, 1)], "QMA")
    for _ in range(3):
        client.core.take(client.core.give(inputs.Arrived(unit)))
    assert len(missing(client)) == 1


def test_a_message_of_msmq_is_answered_that_access_is_denied() -> None:
    client = site()
    client.do(m.MsmqCreate(".\\private$\\mail"))
    client.do(m.MsmqCreate(".\\private$\\admin"))
    receiver(client, put_authority="CTX")
    everyone = ac.SetAuthority("private$\\mail", "queue", [], ["everyone"], 0, PUT)
    client.do(everyone)
    grant(client, "ann", PUT, "private$\\admin")
    sent = message(to="private$\\mail")
    sent.msmq = MsmqHeader(
        acknowledge=ACKNOWLEDGE_NOT_ARRIVED,
        administration_queue="DIRECT=OS:.\\private$\\admin",
        source=computer_of(client.core.qm),
    )
    arrive(client, sent)
    assert client.core.queue("private$\\mail").depth == 0
    (answer,) = client.core.queue("private$\\admin").stored.values()
    assert answer.message.msmq is not None
    assert answer.message.msmq.message_class == 0x8004
    assert missing(client) == [("ann", "queue", "private$\\mail", PUT)]
    grant(client, "ann", PUT, "private$\\mail")
    again = message(to="private$\\mail")
    again.msmq = MsmqHeader(source="OTHER")
    arrive(client, again)
    assert client.core.queue("private$\\mail").depth == 1


def test_a_dialog_is_broken_off_by_who_may_not_send_to_the_service() -> None:
    client = site()
    client.do(b.BrokerCreate("queue", "ASKED"))
    client.do(b.BrokerCreate("service", "ASK", {"queue": "ASKED", "contracts": "DEFAULT"}))
    client.define("QMA", usage="XMITQ")
    receiver(client, put_authority="CTX")
    key = key_of("ASKED")

    def begin(dialog: bytes) -> None:
        sent = message(to="ASK")
        sent.broker = BrokerHeader(
            conversation=dialog,
            message_type="DEFAULT",
            service="ASK",
            contract="DEFAULT",
            from_service="ASKING",
            from_queue_manager="QMA",
            from_initiator=True,
        )
        arrive(client, sent)

    begin(b"d" * 16)
    assert client.core.queue(key).depth == 0
    (answer,) = client.core.queue("QMA").stored.values()
    assert "-8494".encode("utf-16-le") in answer.message.body
    assert missing(client) == [("ann", "service", "ASK", PUT)]
    grant(client, "ann", PUT, "ASK", "service")
    begin(b"e" * 16)
    assert client.core.queue(key).depth == 1


def enable(client: Client) -> None:
    client.do(c.AlterObject("queue_manager", "QM1", {"channel_rules": "ENABLED"}))


def test_a_record_maps_a_queue_manager_to_a_user() -> None:
    """In the place of MCAUSER of its receiver, and of all receivers whose name fits."""
    client = site()
    enable(client)
    receiver(client, mca_user="qma")
    mapping = SetChannelRule("FROM.*", "QMGRMAP", queue_manager="QM*", mca_user="mapped")
    client.do(mapping)
    arrive(client, message())
    assert missing(client) == [("mapped", "qmgr", "QM1", SET_ALL)]
    grant(client, "mapped", SET_ALL, "", "qmgr")
    grant(client, "mapped", SET_ALL | PUT)
    arrive(client, message())
    arrive(client, message(), "QMB")
    assert depths(client) == (2, 1), "the receiver of all others has another name"
    client.do(SetChannelRule("FROM.*", "QMGRMAP", "REPLACE", queue_manager="QM*", source="CHANNEL"))
    arrive(client, message())
    assert missing(client) == [("qma", "qmgr", "QM1", SET_ALL)]


@pytest.mark.parametrize("checks", [True, False])
def test_a_queue_manager_may_have_no_access_at_all(checks: bool) -> None:
    client = site()
    client.core.give(inputs.Configured({}, checks_authorities=checks))
    enable(client)
    client.do(SetChannelRule("*", "QMGRMAP", queue_manager="QMA", source="NOACCESS"))
    arrive(client, message())
    arrive(client, message(), "QMB")
    arrive(client, message(), "")
    assert depths(client) == (2, 1)
    client.do(
        SetChannelRule("*", "QMGRMAP", "REPLACE", queue_manager="QMA", source="NOACCESS", warn=True)
    )
    arrive(client, message())
    client.do(SetChannelRule("*", "QMGRMAP", "REPLACE", queue_manager="QMA", source="NOACCESS"))
    client.do(c.AlterObject("queue_manager", "QM1", {"channel_rules": "DISABLED"}))
    arrive(client, message())
    assert depths(client) == (4, 1)
