"""REFRESH SECURITY: what is open is closed if it would be refused now."""

from adapter.core import inputs
from adapter.core.contract import authority_commands as ac
from adapter.core.contract import commands as c
from adapter.core.contract import msmq as m
from adapter.core.contract.authorities import GET, PUT, bits_of
from adapter.core.contract.message import MessageData
from adapter.core.contract.parties import Party, Principal, Proof
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Done, Messages, Refused
from tests.support.authorities import checked, operator, user
from tests.support.core import Client


def grant(client: Client, words: str, name: str = "Q", kind: str = "queue") -> None:
    client.do(ac.SetAuthority(name, kind, ["ann"], [], bits_of(kind, words.split())))


def revoke(client: Client, words: str, name: str = "Q", kind: str = "queue") -> None:
    client.do(ac.SetAuthority(name, kind, ["ann"], [], 0, bits_of(kind, words.split())))


def site() -> tuple[Client, Client]:
    """An operator, and ann, who may connect."""
    client = checked()
    client.define("Q")
    grant(client, "connect", "", "qmgr")
    ann = client.core.connect()
    user(ann, "ann")
    return client, ann


def refresh(client: Client) -> int:
    answer = client.do(ac.RefreshSecurity())
    assert isinstance(answer, Done)
    return answer.count


def test_a_handle_without_its_authority_is_closed_and_another_stays() -> None:
    client, ann = site()
    grant(client, "put get")
    ann.open("Q", c.OUTPUT, 1)
    ann.open("Q", c.INPUT | c.OUTPUT, 2)
    unit = ann.begin()
    ann.put("kept", unit=unit, handle=2)
    waiting = ann.send(c.Get(2, wait_ms=-1))
    assert refresh(client) == 0
    revoke(client, "get")
    assert ann.answer(waiting) is None, "it goes on until a refresh"
    client.core.denials.clear()
    assert refresh(client) == 1
    (denied,) = client.core.denials
    assert (denied.connection, denied.command, denied.missing) == (
        ann.number,
        "RefreshSecurity",
        GET,
    )
    answer = ann.answer(waiting)
    assert isinstance(answer, Refused)
    assert answer.reason is Reason.AUTHORITY_MISSING
    assert ann.refused(c.Get(2)) is Reason.HANDLE_NOT_OPEN
    ann.put("goes on", handle=1)
    ann.do(c.Commit(unit))
    assert client.core.queue().depth == 2
    assert client.core.queue().opens.input == 0
    assert refresh(client) == 0


def test_a_connection_that_may_not_connect_is_ended() -> None:
    client, ann = site()
    grant(client, "put")
    ann.open("Q", c.OUTPUT)
    unit = ann.begin()
    ann.put("backed out", unit=unit)
    revoke(client, "connect", "", "qmgr")
    assert refresh(client) == 1
    assert client.core.closed[ann.number] == Refused(Reason.AUTHORITY_MISSING, "QM1")
    assert ann.number not in client.core.qm.connections
    assert client.core.queue().depth == 0


def test_who_refreshes_is_not_ended_and_privileged_principals_keep_all() -> None:
    client, ann = site()
    grant(client, "chg", "", "qmgr")
    client.open("Q")
    revoke(client, "connect", "", "qmgr")
    ann.open("Q")
    assert refresh(ann) == 0
    assert isinstance(client.do(c.Get(1)), Messages)


def test_groups_that_change_count_too() -> None:
    client, ann = site()
    client.do(ac.SetAuthority("Q", "queue", [], ["staff"], PUT))
    client.core.give(inputs.GroupsKnown({"ann": ("staff",)}))
    ann.open("Q", c.OUTPUT)
    assert refresh(client) == 0
    client.core.give(inputs.GroupsKnown({}))
    assert refresh(client) == 1


def test_alternate_users_topics_subscriptions_consumers_and_msmq() -> None:
    client, ann = site()
    client.do(c.DefineObject("topic", "TREE", {"topic_string": "tree"}))
    client.do(m.MsmqCreate(".\\private$\\mail"))
    client.do(ac.SetAuthority("private$\\mail", "queue", [], ["everyone"], 0, PUT))
    for words, name, kind in (
        ("altusr", "", "qmgr"),
        ("get", "Q", "queue"),
        ("sub pub", "TREE", "topic"),
        ("put", "private$\\mail", "queue"),
    ):
        grant(client, words, name, kind)
    client.do(ac.SetAuthority("Q", "queue", ["bob"], [], PUT))
    opens = (
        (c.Open(1, "Q", c.OUTPUT, alternate_user="bob"), "altusr", "", "qmgr"),
        (c.OpenTopic(2, "tree/a"), "pub", "TREE", "topic"),
        (
            c.Subscribe(3, "tree/b", queue_handle=4, options=c.CREATE | c.MANAGED),
            "sub",
            "TREE",
            "topic",
        ),
        (c.OpenConsumer(5, "Q", "READER", 1000), "get", "Q", "queue"),
        (m.MsmqOpen(6, ".\\private$\\mail", m.SEND_ACCESS), "put", "private$\\mail", "queue"),
    )
    for command, *_ in opens:
        assert not isinstance(ann.do(command), Refused), command
    handles = client.core.qm.connections[ann.number].handles
    assert set(handles) == {1, 2, 3, 4, 5, 6}
    assert refresh(client) == 0
    gone: set[int] = set()
    for command, words, name, kind in opens:
        revoke(client, words, name, kind)
        assert refresh(client) == 1, command
        gone |= {command.handle, getattr(command, "queue_handle", 0)}
        assert set(handles) == {1, 2, 3, 4, 5, 6} - gone
    assert not client.core.qm.connections[ann.number].openings


def test_who_made_a_dynamic_queue_keeps_it() -> None:
    client, ann = site()
    client.do(c.DefineObject("model", "MODEL", {"definition_type": "TEMPDYN"}))
    grant(client, "get", "MODEL")
    ann.do(c.Open(1, "MODEL", c.INPUT, "OWN.*"))
    revoke(client, "get", "MODEL")
    assert refresh(client) == 0
    (name,) = [one for one in client.core.qm.queues if one.startswith("OWN.")]
    revoke(client, "get", name)
    assert refresh(client) == 1
    assert name not in client.core.qm.queues


def test_a_durable_subscription_needs_what_one_may_have_it_open_with() -> None:
    """Who has made it needs no resume, and who has resumed it no sub."""
    client, ann = site()
    client.do(c.DefineObject("topic", "TREE", {"topic_string": "tree"}))
    grant(client, "sub", "TREE", "topic")
    ann.do(c.Subscribe(1, "tree", name="NAMED", options=c.CREATE | c.MANAGED | c.DURABLE))
    assert refresh(client) == 0
    grant(client, "resume", "TREE", "topic")
    revoke(client, "sub", "TREE", "topic")
    assert refresh(client) == 0
    revoke(client, "resume", "TREE", "topic")
    assert refresh(client) == 1


def test_handles_that_are_closed_leave_nothing() -> None:
    client, ann = site()
    grant(client, "put")
    for _ in range(3):
        ann.open("Q", c.OUTPUT)
        ann.do(c.Close(1))
    assert not client.core.qm.connections[ann.number].openings
    assert ann.refused(c.Open(1, "Q", c.BROWSE)) is Reason.AUTHORITY_MISSING
    assert not client.core.qm.connections[ann.number].openings


def test_where_authorities_are_not_checked_nothing_is_closed() -> None:
    client, ann = site()
    grant(client, "put")
    ann.open("Q", c.OUTPUT)
    revoke(client, "put")
    client.core.qm.authorities.are_checked = False
    assert refresh(client) == 0
    operator(ann)
    party = Party("x", Principal("eve", Proof.PASSWORD))
    client.core.give(inputs.Introduced(ann.number, party))
    assert not isinstance(ann.do(c.Put(1, [MessageData(body=b"a")])), Refused)
