"""Putters: what a message causes reaches a queue by the authorities of who put the message."""

import itertools
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from adapter.core import inputs
from adapter.core.contract import authority_commands as ac
from adapter.core.contract import commands as c
from adapter.core.contract import msmq as m
from adapter.core.contract.arrivals import Arrival, ArrivedUnit, Origin
from adapter.core.contract.authorities import bits_of
from adapter.core.contract.details import THE_QUEUE_MANAGER, Details
from adapter.core.contract.message import MessageData
from adapter.core.contract.msmq_header import (
    ACKNOWLEDGE_ARRIVAL,
    ACKNOWLEDGE_NOT_RECEIVED,
    DEAD_LETTER,
    MsmqHeader,
)
from adapter.core.contract.parties import Party, Principal, Proof
from adapter.core.contract.results import Messages, PutDone
from adapter.core.contract.transmission import Transmission
from adapter.core.model.report import (
    CONFIRM_ON_ARRIVAL,
    CONFIRM_ON_DELIVERY,
    EXCEPTION,
    EXPIRATION,
    REPORT,
)
from adapter.core.mq_layouts import dead_letter
from tests.support.authorities import become, checked, is_denied, operator, user
from tests.support.core import Client, client_on
from tests.support.msmq import drain

Q, SECRET, DEAD, TINY = "Q", "SECRET", "DEAD", "TINY"
MSMQ, SECRET_PATH = "private$\\own", "private$\\msec"
NOT_AUTHORIZED = 2035
FULL_DATA = 7
SEQS = itertools.count(1)
RIGHTS: dict[str, tuple[str, ...]] = {
    "nothing": (),
    "browse": ("browse", "inq", "dsp", "setall"),
    "get": ("get",),
    "put": ("put",),
    "put and get": ("put", "get"),
}


def site() -> Client:
    """A queue manager that checks authorities, where ada may use Q, and nothing else."""
    client = checked()
    for name in (Q, SECRET, DEAD):
        client.define(name)
    client.define(TINY, max_message_length=1)
    client.do(c.AlterObject("queue_manager", "QM1", {"dead_letter_queue": DEAD}))
    client.do(c.DefineObject("topic", "NEWS", {"topic_string": "news"}))
    client.do(c.DefineObject("subscription", "S", {"topic_string": "news", "destination": TINY}))
    for path in (MSMQ, SECRET_PATH):
        client.do(m.MsmqCreate(f".\\{path}"))
    for name, words in ((Q, ("put", "get")), (MSMQ, ("put", "get"))):
        grant(client, name, *words)
    grant(client, "NEWS", "pub", kind="topic")
    return client


def grant(client: Client, name: str, *words: str, of: str = "ada", kind: str = "queue") -> None:
    """Let a user have these words on an object, and no others."""
    operator(client)
    client.do(ac.DeleteAuthority(name, kind, [of]))
    client.do(ac.DeleteAuthority(name, kind, [], ["everyone"]))
    bits = bits_of(kind, list(words))
    client.do(ac.SetAuthority(name, kind, [of], [], bits))


def put(client: Client, kind: int, **fields: Any) -> None:
    """Put a message as ada, that asks for a report with all of its data."""
    client.do(c.Open(1, Q, c.OUTPUT))
    message = MessageData(
        body=b"secret", report=kind * FULL_DATA, reply_to=SECRET, format="MQSTR", **fields
    )
    client.do(c.Put(1, [message]))
    client.do(c.Close(1))


def confirm_arrival(client: Client) -> None:
    user(client)
    put(client, CONFIRM_ON_ARRIVAL)


def confirm_delivery(client: Client) -> None:
    """Another user gets the message."""
    user(client)
    put(client, CONFIRM_ON_DELIVERY)
    operator(client)
    client.do(c.Open(1, Q, c.INPUT))
    client.take()


def expire(client: Client) -> None:
    user(client)
    put(client, EXPIRATION, expiry_ms=1000)
    client.core.advance(2)


def expire_after_a_crash(client: Client) -> None:
    user(client)
    put(client, EXPIRATION, expiry_ms=1000)
    client.core.crash()
    client.core.give(inputs.Configured({}, checks_authorities=True))
    client.core.advance(2)
    client.core.give(inputs.Connected(client.number))
    client.session, client.issued = b"", 0


def publish(client: Client) -> None:
    """A subscription's queue does not take its copy: that is an exception."""
    user(client)
    client.do(c.OpenTopic(1, "", "NEWS"))
    message = MessageData(
        body=b"secret", report=EXCEPTION * FULL_DATA, reply_to=SECRET, format="MQSTR"
    )
    client.do(c.Put(1, [message]))


REPORTS: dict[str, Callable[[Client], None]] = {
    "arrival": confirm_arrival,
    "delivery": confirm_delivery,
    "expiry": expire,
    "expiry after a crash": expire_after_a_crash,
    "exception": publish,
}


def on(client: Client, name: str) -> list[MessageData]:
    """Return what is on a queue, as an operator."""
    operator(client)
    client.do(c.Open(9, name, c.BROWSE))
    answer = client.do(c.Browse(9, limit=100))
    client.do(c.Close(9))
    assert isinstance(answer, Messages), answer
    return [one.message for one in answer.messages]


def dead_reports(client: Client) -> list[int]:
    """Return the reasons of the dead letters that were to go to the queue."""
    headers = [dead_letter.from_dlh(one.body) for one in on(client, DEAD)]
    return [header.reason for header in headers if header.destination == SECRET]


@pytest.mark.parametrize("rights", RIGHTS)
@pytest.mark.parametrize("effect", REPORTS)
def test_a_report_reaches_its_queue_by_the_rights_of_who_put_the_message(
    effect: str, rights: str
) -> None:
    client = site()
    grant(client, SECRET, *RIGHTS[rights])
    client.core.denials.clear()
    REPORTS[effect](client)
    bodies = [one.body for one in on(client, SECRET)]
    if "put" in RIGHTS[rights]:
        assert (bodies, dead_reports(client)) == ([b"secret"], [])
    elif "get" in RIGHTS[rights]:
        assert (bodies, dead_reports(client)) == ([b""], [])
        assert on(client, SECRET)[0].format == ""
    else:
        assert (bodies, dead_reports(client)) == ([], [NOT_AUTHORIZED])
        (denied,) = client.core.denials
        assert (denied.user, denied.name, denied.command) == ("ada", SECRET, "Report")


@pytest.mark.parametrize("effect", ["arrival", "delivery", "expiry after a crash"])
def test_a_context_lends_no_rights(effect: str) -> None:
    """Who may set the context does not act with the rights of the user that it names."""
    client = site()
    grant(client, SECRET, "all", of="admin")
    grant(client, Q, "put", "setid")
    operator(client)
    client.do(ac.SetAuthority("SELF", "qmgr", ["ada"], [], bits_of("qmgr", ["setid", "connect"])))
    user(client)
    client.do(c.Open(1, Q, c.OUTPUT | c.SET_IDENTITY))
    kind = {"arrival": CONFIRM_ON_ARRIVAL, "delivery": CONFIRM_ON_DELIVERY}.get(effect, EXPIRATION)
    asked = MessageData(
        body=b"secret",
        report=kind * FULL_DATA,
        reply_to=SECRET,
        user="admin",
        expiry_ms=1000 if kind == EXPIRATION else -1,
        details=Details(putter=THE_QUEUE_MANAGER),
    )
    client.do(c.Put(1, [asked], options=c.SET_IDENTITY))
    client.do(c.Close(1))
    if kind == EXPIRATION:
        client.core.crash()
        client.core.give(inputs.Configured({}, checks_authorities=True))
        client.core.advance(2)
        client.core.give(inputs.Connected(client.number))
        client.session, client.issued = b"", 0
    operator(client)
    client.do(c.Open(1, Q, c.INPUT))
    client.take()
    assert (on(client, SECRET), dead_reports(client)) == ([], [NOT_AUTHORIZED])
    assert client.core.denials[-1].user == "ada"


FORWARDERS: dict[str, Callable[[Client], None]] = {
    "an operator": operator,
    "a part of the queue manager": lambda client: become(client, Principal("QM1", Proof.OWN)),
    "a user": lambda client: user(client, "bob"),
}
CONTEXTS = {"set": c.SET_IDENTITY | c.SET_ORIGIN, "pass": c.PASS_IDENTITY | c.PASS_ORIGIN}


def forward(client: Client, how: str) -> None:
    """Get a message from one queue and put it to another one with its context, as it asks."""
    client.do(c.Open(2, Q, c.INPUT | c.SAVE_CONTEXT))
    client.do(c.Open(3, "OUT", c.OUTPUT | CONTEXTS[how]))
    (found,) = client.take(handle=2)
    details = None if how == "pass" else found.message.details  # programs of the MQI know of none
    again = msgspec.structs.replace(found.message, put_time_ms=0, details=details)
    options = CONTEXTS[how]
    answer = client.do(c.Put(3, [again], options=options, context=2 if how == "pass" else 0))
    assert isinstance(answer, PutDone)
    operator(client)
    client.do(c.Open(4, "OUT", c.INPUT))
    (got,) = client.take(handle=4)
    assert got.message.user == found.message.user


def forwarding() -> Client:
    """A site where bob may do what an operator does with two queues."""
    client = site()
    client.define("OUT")
    for name in (Q, "OUT"):
        client.do(ac.SetAuthority(name, "queue", ["bob"], [], bits_of("queue", ["all"])))
    of_manager = bits_of("qmgr", ["setid", "setall", "connect"])
    client.do(ac.SetAuthority("SELF", "qmgr", ["bob"], [], of_manager))
    return client


@pytest.mark.parametrize("how", CONTEXTS)
@pytest.mark.parametrize("forwarder", FORWARDERS)
@pytest.mark.parametrize("putter", ["ada", ""])
@pytest.mark.parametrize("who", ["forwarder", "putter", "both"])
def test_who_forwards_a_message_lends_it_no_rights(
    putter: str, forwarder: str, how: str, who: str
) -> None:
    """What it causes needs the rights of the user in its context, and of who puts it."""
    client = forwarding()
    secret = bits_of("queue", ["put"])
    if who != "putter":
        client.do(ac.SetAuthority(SECRET, "queue", ["bob"], [], secret))
    if who != "forwarder":
        to = ([putter], []) if putter else ([], ["everyone"])
        client.do(ac.SetAuthority(SECRET, "queue", *to, secret))
    client.do(ac.SetAuthority(Q, "queue", [], ["everyone"], bits_of("queue", ["put"])))
    become(client, Principal(putter, Proof.PASSWORD if putter else Proof.NONE))
    client.do(c.Open(1, Q, c.OUTPUT))
    asked = MessageData(
        b"secret", report=CONFIRM_ON_DELIVERY * FULL_DATA, reply_to=SECRET, format="MQSTR"
    )
    client.do(c.Put(1, [asked]))
    FORWARDERS[forwarder](client)
    forward(client, how)
    of_everyone = who == "putter" and not putter  # which bob has too
    needs_bob = forwarder == "a user" and not of_everyone
    reached = 2 * (who == "both" or (who == "putter" and not needs_bob))
    reached += who == "putter" and needs_bob  # when ada's own was got
    assert [one.body for one in on(client, SECRET)] == [b"secret"] * reached
    assert dead_reports(client) == [NOT_AUTHORIZED] * (2 - reached)


@pytest.mark.parametrize("how", CONTEXTS)
@pytest.mark.parametrize("forwarder", ["an operator", "a part of the queue manager"])
def test_an_operator_forwards_what_was_kept_of_the_putter(forwarder: str, how: str) -> None:
    """Of a message of another operator's all rights; of one with a context no more than before."""
    client = forwarding()
    become(client, Principal("owner", Proof.OPERATOR))
    put(client, CONFIRM_ON_DELIVERY)
    FORWARDERS[forwarder](client)
    forward(client, how)
    assert [one.body for one in on(client, SECRET)] == [b"secret"] * 2
    client.do(ac.SetAuthority(SECRET, "queue", ["ada"], [], bits_of("queue", ["put"])))
    user(client, "bob")
    client.do(c.Open(5, Q, c.OUTPUT | c.SET_IDENTITY))
    asked = MessageData(b"a", report=CONFIRM_ON_DELIVERY, reply_to=SECRET, user="ada")
    client.do(c.Put(5, [asked], options=c.SET_IDENTITY))
    FORWARDERS[forwarder](client)
    forward(client, how)
    assert dead_reports(client) == [NOT_AUTHORIZED] * 2
    assert {one.user for one in client.core.denials} == {"bob"}


def test_without_a_context_who_puts_counts() -> None:
    client = site()
    client.do(c.Open(1, Q, c.OUTPUT | c.INPUT))
    asked = MessageData(b"a", report=CONFIRM_ON_ARRIVAL, reply_to=SECRET)
    client.do(c.Put(1, [asked], options=c.NO_CONTEXT))
    assert len(on(client, SECRET)) == 1


def test_what_a_program_says_of_its_putter_is_not_believed() -> None:
    client = site()
    user(client)
    put(client, CONFIRM_ON_ARRIVAL, details=Details(putter=THE_QUEUE_MANAGER))
    assert (on(client, SECRET), dead_reports(client)) == ([], [NOT_AUTHORIZED])


def test_nobody_has_the_rights_of_everyone_also_with_the_context_of_another() -> None:
    client = site()
    grant(client, SECRET, "all", of="admin")
    everyone = bits_of("queue", ["put", "setid"])
    client.do(ac.SetAuthority(Q, "queue", [], ["everyone"], everyone))
    of_manager = bits_of("qmgr", ["setid", "connect"])
    client.do(ac.SetAuthority("SELF", "qmgr", [], ["everyone"], of_manager))
    become(client, Principal())
    client.do(c.Open(1, Q, c.OUTPUT | c.SET_IDENTITY))
    asked = MessageData(b"secret", report=CONFIRM_ON_ARRIVAL, reply_to=SECRET, user="admin")
    client.do(c.Put(1, [asked], options=c.SET_IDENTITY))
    assert (on(client, SECRET), dead_reports(client)) == ([], [NOT_AUTHORIZED])


@pytest.mark.parametrize("effect", REPORTS)
def test_what_an_operator_puts_is_reported_without_records(
    effect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = site()
    monkeypatch.setitem(globals(), "user", operator)
    REPORTS[effect](client)
    assert [one.body for one in on(client, SECRET)] == [b"secret"]


@pytest.mark.parametrize(
    ("message_type", "format_name", "putter"),
    [(1, "MQADMIN", THE_QUEUE_MANAGER), (1, "MQSTR", None), (8, "MQADMIN", None)],
)
def test_who_puts_a_command_of_pcf_is_kept(
    message_type: int, format_name: str, putter: str | None
) -> None:
    """The command server answers it, also if the user of its context may not connect."""
    client = site()
    client.do(c.Open(1, Q, c.OUTPUT | c.INPUT))
    asked = MessageData(b"", message_type=message_type, format=format_name, reply_to=SECRET)
    client.do(c.Put(1, [asked]))
    (found,) = client.take()
    details = found.message.details
    assert (None if details is None else details.putter) == putter


def test_groups_of_a_token_count_as_long_as_the_queue_manager_runs() -> None:
    client = site()
    client.do(ac.SetAuthority(SECRET, "queue", [], ["staff"], bits_of("queue", ["put"])))
    ada = Party("", Principal("ada", Proof.TOKEN, ("staff",)))
    of_manager = bits_of("qmgr", ["connect"])
    client.do(ac.SetAuthority("SELF", "qmgr", ["ada"], [], of_manager))
    client.core.give(inputs.Introduced(client.number, ada))
    put(client, CONFIRM_ON_DELIVERY)
    operator(client)
    client.do(c.Open(1, Q, c.INPUT))
    client.take()
    assert [one.body for one in on(client, SECRET)] == [b"secret"]


@pytest.mark.parametrize(
    ("attributes", "reports"),
    [({}, 1), ({"mca_user": "qma"}, 0), ({"mca_user": "qma", "put_authority": "CTX"}, 0)],
)
def test_what_arrived_is_reported_by_the_rights_by_which_it_was_put(
    attributes: dict[str, str], reports: int
) -> None:
    client = site()
    given = {"channel_type": "RCVR", "queue_manager": "QMA", **attributes}
    client.do(c.DefineObject("channel", "FROM.QMA", given, True))
    of_manager = bits_of("qmgr", ["setall", "altusr"])
    client.do(ac.SetAuthority("SELF", "qmgr", ["qma"], [], of_manager))
    grant(client, Q, "put", "setall", of="qma")
    grant(client, Q, "put", of="ada")
    message = MessageData(
        body=b"secret",
        message_id=bytes(23) + b"1",
        correlation_id=bytes(24),
        group_id=bytes(24),
        priority=0,
        persistence=1,
        put_time_ms=5,
        user="ada",
        report=CONFIRM_ON_DELIVERY,
        reply_to=SECRET,
        details=Details(putter=THE_QUEUE_MANAGER),
        transmission=Transmission(Q, "QM1"),
    )
    arrival = Arrival(message, 0, next(SEQS))
    unit = ArrivedUnit("mq.QM1.in.QMA", "id", arrival.seq, Origin("QMA"), [arrival], "QMA")
    client.core.take(client.core.give(inputs.Arrived(unit)))
    client.do(c.Open(1, Q, c.INPUT))
    assert client.get() == ["secret"]
    assert len(on(client, SECRET)) == reports
    assert dead_reports(client) == [NOT_AUTHORIZED] * (1 - reports)


def send(client: Client, **header: Any) -> None:
    """Send a message of MSMQ as ada."""
    user(client)
    assert not is_denied(client, m.MsmqOpen(1, f".\\{MSMQ}", m.SEND_ACCESS))
    message = MessageData(b"secret", msmq=MsmqHeader(**header), expiry_ms=1000)
    client.do(m.MsmqSend(1, message))
    client.core.advance(2)


@pytest.mark.parametrize("rights", RIGHTS)
@pytest.mark.parametrize("kind", [ACKNOWLEDGE_ARRIVAL, ACKNOWLEDGE_NOT_RECEIVED])
def test_an_acknowledgment_of_msmq_needs_the_rights_of_its_sender(kind: int, rights: str) -> None:
    client = site()
    grant(client, SECRET_PATH, *RIGHTS[rights])
    send(client, acknowledge=kind, administration_queue=f".\\{SECRET_PATH}")
    operator(client)
    bodies = [body for body, _ in drain(client, f".\\{SECRET_PATH}")]
    if "put" in RIGHTS[rights]:
        assert bodies == ["" if kind == ACKNOWLEDGE_ARRIVAL else "secret"]
    else:
        assert bodies == ([""] if "get" in RIGHTS[rights] else [])


@pytest.mark.parametrize("rights", RIGHTS)
def test_a_dead_letter_of_msmq_goes_where_its_sender_may_put(rights: str) -> None:
    client = site()
    client.do(m.MsmqCreate(".\\private$\\exact", {"transactional": True}))
    client.do(m.MsmqCreate(".\\private$\\letters", {"transactional": True}))
    grant(client, "private$\\exact", "put")
    grant(client, "private$\\letters", *RIGHTS[rights])
    user(client)
    client.do(m.MsmqOpen(1, ".\\private$\\exact", m.SEND_ACCESS))
    header = MsmqHeader(journal=DEAD_LETTER, dead_letter_queue=".\\private$\\letters")
    client.do(m.MsmqSend(1, MessageData(b"secret", msmq=header, expiry_ms=1000), single=True))
    client.core.advance(2)
    operator(client)
    named = [body for body, _ in drain(client, ".\\private$\\letters")]
    assert named == (["secret"] if "put" in RIGHTS[rights] else [])
    if not named:
        (letter,) = drain(client, "DIRECT=OS:QM1\\SYSTEM$;DEADXACT")
        assert letter[0] == "secret"


def test_nothing_is_asked_without_the_setting() -> None:
    client = client_on(Q, SECRET)
    client.put("a", report=CONFIRM_ON_ARRIVAL, reply_to=SECRET)
    (report,) = client.take(handle=2)
    assert report.message.message_type == REPORT
    (message,) = client.take()
    assert message.message.details is None
