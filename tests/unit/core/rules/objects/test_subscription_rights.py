"""Rights on subscriptions: whose they are, what others need, and whose copies reach which queue."""

import pytest

from adapter.core import inputs
from adapter.core.contract import authority_commands as ac
from adapter.core.contract import commands as c
from adapter.core.contract.authorities import bits_of
from adapter.core.contract.message import MessageData
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Refused, Subscribed
from adapter.core.mq_layouts import dead_letter
from tests.support.authorities import checked, is_denied, operator, user
from tests.support.core import Client

RESUMED = c.Subscribe(3, name="S", options=c.RESUME | c.DURABLE, queue_handle=4)


def grant(client: Client, name: str, *words: str, of: str = "eve", kind: str = "queue") -> None:
    """Let a user have these words on an object, and no others."""
    operator(client)
    client.do(ac.DeleteAuthority(name, kind, [of]))
    client.do(ac.SetAuthority(name, kind, [of], [], bits_of(kind, list(words))))


def site() -> Client:
    """A queue manager with a topic, and with queues for its subscriptions."""
    client = checked()
    for name in ("SECRET", "EVE.Q", "DEAD"):
        client.define(name)
    client.do(c.AlterObject("queue_manager", "QM1", {"dead_letter_queue": "DEAD"}))
    client.do(c.DefineObject("topic", "NEWS", {"topic_string": "news"}))
    grant(client, "NEWS", "sub", "resume", "pub", kind="topic")
    grant(client, "NEWS", "sub", "resume", of="ann", kind="topic")
    grant(client, "EVE.Q", "put", "get")
    return client


def administered(client: Client) -> None:
    """Define a subscription as an administrator does."""
    operator(client)
    client.do(
        c.DefineObject("subscription", "S", {"topic_string": "news", "destination": "SECRET"})
    )


def publish(client: Client) -> None:
    operator(client)
    client.do(c.OpenTopic(8, "news"))
    client.do(c.Put(8, [MessageData(body=b"x")]))
    client.do(c.Close(8))


@pytest.mark.parametrize(
    "command",
    [
        RESUMED,
        c.Subscribe(3, name="S", options=c.ALTER | c.DURABLE, queue_handle=4),
        c.Subscribe(3, name="S", options=c.ALTER | c.DURABLE, destination="EVE.Q"),
        c.Subscribe(3, name="S", options=c.RESUME | c.MANAGED | c.DURABLE, queue_handle=4),
        c.AlterObject("subscription", "S", {"destination": "EVE.Q"}),
        c.DefineObject("subscription", "S", {"destination": "EVE.Q"}, True),
        c.DeleteObject("subscription", "S"),
        c.DefineObject(
            "subscription",
            "N",
            {"topic_string": "news", "destination": "EVE.Q", "destination_queue_manager": "QM9"},
        ),
    ],
    ids=repr,
)
def test_sub_and_resume_give_nothing_of_others(command: c.Command) -> None:
    client = site()
    administered(client)
    user(client, "eve")
    assert is_denied(client, command)


def test_who_may_make_one_is_told_that_it_is_there() -> None:
    """As programs do that make what they need: nothing of it is changed."""
    client = site()
    administered(client)
    user(client, "eve")
    same = {"topic_string": "news", "destination": "EVE.Q"}
    told = client.do(c.DefineObject("subscription", "S", same))
    assert isinstance(told, Refused)
    assert told.reason is Reason.SUBSCRIPTION_EXISTS
    assert client.core.qm.topics.named["S"].destination == "SECRET"
    for other in ({**same, "topic_string": "other"}, {**same, "destination": "SECRET"}):
        assert is_denied(client, c.DefineObject("subscription", "S", other))


def test_one_that_is_resumed_without_its_queue_is_not_removed_by_others() -> None:
    client = site()
    administered(client)
    user(client, "eve")
    assert not is_denied(client, c.Subscribe(3, name="S", options=c.RESUME | c.DURABLE))
    assert is_denied(client, c.CloseSubscription(3, True))
    assert not is_denied(client, c.CloseSubscription(3))
    assert "S" in client.core.qm.topics.named


@pytest.mark.parametrize("ends", ["crash", "snapshot"])
def test_the_owner_of_a_managed_one_resumes_alters_and_removes_it(ends: str) -> None:
    client = site()
    user(client, "ann")
    made = c.Subscribe(
        3, "news", name="S", options=c.CREATE | c.DURABLE | c.MANAGED, queue_handle=4
    )
    assert not is_denied(client, made)
    assert client.core.qm.topics.named["S"].owner == "ann"
    client.do(c.Close(4))
    client.do(c.CloseSubscription(3))
    if ends == "snapshot":
        client.core.snapshot()
    assert client.core.replayed().topics.named["S"].owner == "ann"
    user(client, "eve")
    assert is_denied(client, RESUMED)
    user(client, "ann")
    assert not is_denied(client, RESUMED)
    client.do(c.Close(4))
    assert not is_denied(client, c.CloseSubscription(3, True))
    assert "S" not in client.core.qm.topics.named


def test_one_of_an_earlier_time_goes_on_if_its_queue_is_managed() -> None:
    client = site()
    user(client, "ann")
    made = c.Subscribe(
        3, "news", name="S", options=c.CREATE | c.DURABLE | c.MANAGED, queue_handle=4
    )
    client.do(made)
    client.do(c.Close(4))
    client.do(c.CloseSubscription(3))
    client.core.qm.topics.named["S"].owner = ""
    user(client, "eve")
    assert not is_denied(client, RESUMED)
    client.do(c.Close(4))
    assert not is_denied(client, c.CloseSubscription(3, True))


def test_a_refresh_closes_one_whose_queue_may_no_longer_be_read() -> None:
    client = site()
    administered(client)
    grant(client, "SECRET", "get")
    user(client, "eve")
    assert not is_denied(client, RESUMED)
    grant(client, "SECRET", "inq")
    client.do(ac.SetAuthority("SELF", "qmgr", ["eve"], [], bits_of("qmgr", ["connect", "chg"])))
    user(client, "eve")
    client.do(ac.RefreshSecurity())
    assert 4 not in client.core.qm.connections[client.number].handles


@pytest.mark.parametrize("words", [("put",), ("get",), ("browse",)])
def test_copies_reach_their_queue_by_the_rights_of_the_owner(words: tuple[str, ...]) -> None:
    client = site()
    grant(client, "SECRET", "put")
    user(client, "eve")
    given = {"topic_string": "news", "destination": "SECRET"}
    assert not is_denied(client, c.DefineObject("subscription", "N", given))
    grant(client, "SECRET", *words)
    publish(client)
    assert client.core.queue("SECRET").depth == (words == ("put",))
    letters = [one.message.body for one in client.core.queue("DEAD").in_memory()]
    reasons = [dead_letter.from_dlh(one).reason for one in letters]
    assert reasons == ([] if words == ("put",) else [2035])


@pytest.mark.parametrize("may_put", [False, True])
def test_copies_have_a_transmission_queue_made_by_the_rights_of_the_owner(may_put: bool) -> None:
    client = site()
    given = {"topic_string": "news", "destination": "FAR", "destination_queue_manager": "QM2"}
    client.core.give(inputs.QueueManagersKnown(frozenset({"QM2"})))
    grant(client, "QM2", "put", "setall")
    user(client, "eve")
    assert not is_denied(client, c.DefineObject("subscription", "N", given))
    operator(client)
    client.do(c.DeleteQueue("QM2"))
    grant(client, "QM2", *(("put", "setall") if may_put else ("browse",)))
    publish(client)
    assert ("QM2" in client.core.qm.queues) is may_put
    assert client.core.queue("DEAD").depth == (not may_put)


def test_one_that_may_not_reach_its_queue_takes_nothing_from_its_group() -> None:
    client = site()
    grant(client, "SECRET", "put")
    user(client, "eve")
    given = {"topic_string": "news", "destination": "SECRET"}
    assert not is_denied(client, c.DefineObject("subscription", "kombu SECRET of eve", given))
    operator(client)
    client.do(c.DefineObject("subscription", "kombu SECRET of others", given))
    grant(client, "SECRET", "get")
    publish(client)
    assert [client.core.queue(name).depth for name in ("SECRET", "DEAD")] == [1, 0]


def test_what_an_administrator_defined_is_delivered_without_records() -> None:
    client = site()
    administered(client)
    publish(client)
    assert client.core.queue("SECRET").depth == 1


def test_the_queue_of_an_own_subscription_may_be_bound_to_more_topics() -> None:
    """As temporary queues of frameworks are. Others may not, and no record of it is left."""
    client = site()
    user(client, "eve")
    managed = client.do(c.Subscribe(3, "news", options=c.CREATE | c.MANAGED, queue_handle=4))
    assert isinstance(managed, Subscribed)
    more = c.Subscribe(5, "news/more", options=c.CREATE, destination=managed.queue)
    client.do(more)
    operator(client)
    for topic in ("news", "news/more"):
        client.do(c.OpenTopic(8, topic))
        client.do(c.Put(8, [MessageData(body=topic.encode())]))
        client.do(c.Close(8))
    user(client, "eve")
    assert client.get(handle=4) + client.get(handle=4) == ["news", "news/more"]
    user(client, "ann")
    to_it = c.Subscribe(6, "news/more", options=c.CREATE, destination=managed.queue)
    assert is_denied(client, to_it)
    assert is_denied(client, c.Open(7, managed.queue, c.OUTPUT))
    client.core.crash()
    assert not client.core.qm.authorities.entities_named("queue", managed.queue)


def test_a_durable_subscription_grants_nothing_on_its_queue() -> None:
    client = site()
    user(client, "eve")
    options = c.CREATE | c.MANAGED | c.DURABLE
    managed = client.do(c.Subscribe(3, "news", name="D", options=options, queue_handle=4))
    assert isinstance(managed, Subscribed)
    assert not client.core.qm.authorities.entities_named("queue", managed.queue)
