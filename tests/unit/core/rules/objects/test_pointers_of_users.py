"""What leads whom to what: every kind of pointing object, judged as its definition would be."""

from collections.abc import Sequence
from typing import Any

import pytest

from adapter.core.attributes import broker
from adapter.core.contract import authority_commands as ac
from adapter.core.contract import commands as c
from adapter.core.contract.authorities import bits_of, words_of
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import PointersFound
from adapter.core.rules.objects.pointers import RULES
from tests.support.authorities import checked, user
from tests.support.core import Client

OF_EVE = {
    "queue": ("Q", ["put", "get"]),
    "alias": ("AL", ["get"]),
    "remote": ("REM", ["put"]),
    "topic": ("TREE", ["sub"]),
    "feed": ("F", ["chg"]),
    "export": ("E", ["chg"]),
}
LEADS = {
    "queue": ("Q", {"backout_requeue_queue": "SECRET"}, [("queue", "SECRET", ["put"])]),
    "alias": ("AL", {"target": "SECRET"}, [("queue", "SECRET", ["browse", "get", "put"])]),
    "remote": (
        "REM",
        {"remote_name": "X", "remote_queue_manager": "QM2", "transmission_queue": "SECRET"},
        [("queue", "SECRET", ["put"])],
    ),
    "topic": ("TREE", {"topic_string": "pay/roll"}, [("topic", "pay/roll", ["pub", "sub"])]),
    "feed": ("F", {"queue": "SECRET", "topic": "orders"}, [("queue", "SECRET", ["put"])]),
    "export": ("E", {"queue": "SECRET", "topic": "results"}, [("queue", "SECRET", ["get"])]),
}


def found(
    client: Client, entity: str, *, is_group: bool = False, groups: Sequence[str] = ()
) -> list[tuple[Any, ...]]:
    answer = client.do(ac.InquirePointers(entity, is_group, list(groups)))
    assert isinstance(answer, PointersFound)
    assert answer.are_checked
    return [
        (one.kind, one.name, [(it.object_type, it.name, words_of(it.bits)) for it in one.lacks])
        for one in answer.pointers
    ]


def grant(
    client: Client, kind: str, name: str, words: list[str], *, is_group: bool = False
) -> None:
    names = ([], ["eve"]) if is_group else (["eve"], [])
    client.do(ac.SetAuthority(name, kind, *names, bits_of(kind, words)))


@pytest.fixture
def client() -> Client:
    """Of an operator."""
    made = checked()
    made.define("SECRET", usage="TRANSMISSION")
    return made


def define(client: Client, kind: str, name: str, attributes: dict[str, Any]) -> None:
    if kind == "queue":
        client.do(c.DefineQueue(name, attributes))
    else:
        client.do(c.DefineObject(kind, name, attributes))


@pytest.mark.parametrize("kind", LEADS)
@pytest.mark.parametrize("is_group", [False, True])
def test_what_leads_to_a_target_without_a_right_is_found(
    client: Client, kind: str, is_group: bool
) -> None:
    name, attributes, lacks = LEADS[kind]
    define(client, kind, name, attributes)
    assert found(client, "eve", is_group=is_group) == [], "it may not be used"
    object_type = "queue" if kind in ("alias", "remote") else kind
    grant(client, object_type, *OF_EVE[kind], is_group=is_group)
    assert found(client, "eve", is_group=is_group) == [(kind, name, lacks)]
    assert found(client, "bob") == []
    for target_type, target, words in lacks:
        grant(
            client,
            target_type,
            "**" if target_type == "topic" else target,
            words,
            is_group=is_group,
        )
    grant(client, "topic", "SYSTEM.BASE.TOPIC", ["pub", "sub"], is_group=is_group)
    grant(client, "queue", "SECRET", ["setall"], is_group=is_group)
    assert found(client, "eve", is_group=is_group) == []


def test_a_subscription_leads_its_owner(client: Client) -> None:
    client.define("INBOX")
    grant(client, "topic", "SYSTEM.BASE.TOPIC", ["sub"])
    grant(client, "queue", "INBOX", ["put"])
    eve = client.core.connect()
    user(eve, "eve")
    options = c.CREATE | c.DURABLE
    eve.do(c.Subscribe(2, "a", name="S", options=options, destination="INBOX"))
    assert found(client, "eve") == []
    client.do(ac.SetAuthority("INBOX", "queue", ["eve"], [], 0, bits_of("queue", ["put"])))
    assert found(client, "eve") == [("subscription", "S", [("queue", "INBOX", ["put"])])]


def test_groups_that_are_named_count_for_a_user(client: Client) -> None:
    """For what it may use, and for what it may do with what that leads to."""
    client.do(c.DefineObject("alias", "AL", {"target": "SECRET"}))
    client.do(ac.SetAuthority("AL", "queue", [], ["staff"], bits_of("queue", ["get"])))
    client.do(ac.SetAuthority("SECRET", "queue", ["eve"], [], bits_of("queue", ["get"])))
    assert found(client, "eve") == []
    lacks = [("alias", "AL", [("queue", "SECRET", ["browse", "put"])])]
    assert found(client, "eve", groups=["staff"]) == lacks
    rest = bits_of("queue", ["browse", "put", "setall"])
    client.do(ac.SetAuthority("SECRET", "queue", [], ["staff"], rest))
    assert found(client, "eve", groups=["staff"]) == []


def test_all_that_an_object_leads_to_is_found(client: Client) -> None:
    client.do(c.DefineObject("topic", "NEWS", {"topic_string": "news"}))
    client.do(c.DefineObject("alias", "TO.NEWS", {"target": "NEWS", "target_type": "TOPIC"}))
    client.define("Q", backout_requeue_queue="TO.NEWS", initiation_queue="SECRET")
    grant(client, "queue", "Q", ["get"])
    grant(client, "queue", "TO.NEWS", ["browse"])
    lacks = [
        ("queue", "TO.NEWS", ["put"]),
        ("topic", "news", ["pub"]),
        ("queue", "SECRET", ["put"]),
    ]
    assert found(client, "eve") == [
        ("alias", "TO.NEWS", [("topic", "news", ["pub", "sub"])]),
        ("queue", "Q", lacks),
    ]


def test_every_kind_of_pointing_object_is_looked_at(client: Client) -> None:
    of_broker = {kind for kind in RULES if kind.startswith(broker.PREFIX)}
    assert RULES.keys() - of_broker - {"model"} == LEADS.keys()
    assert found(client, "eve") == []


def test_a_name_that_no_user_has(client: Client) -> None:
    assert client.refused(ac.InquirePointers("")) is Reason.OPTIONS_ERROR
