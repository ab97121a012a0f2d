"""Objects of Service Broker that have one name: the rights by it, as one is created or dropped."""

from itertools import permutations, product

import pytest

from adapter.core.attributes import broker as kinds
from adapter.core.contract import authority_commands as ac
from adapter.core.contract import broker as b
from adapter.core.contract.authorities import (
    ALL,
    APPLICABLE,
    CHANGE,
    CREATE,
    DISPLAY,
    PUT,
    QUEUE,
    SERVICE,
    AuthorityRecord,
)
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import AuthorityRecords, Refused
from tests.support.authorities import checked, is_denied, operator, set_records, user
from tests.support.core import Client

NAME, KEY = "Store", "broker$\\stored"
ATTRIBUTES: dict[str, dict[str, str | int]] = {
    kinds.MESSAGE_TYPE: {},
    kinds.CONTRACT: {"by_any": "DEFAULT"},
    kinds.SERVICE: {"queue": "Stored", "contracts": "DEFAULT"},
    kinds.ROUTE: {"service": "Elsewhere", "address": "QM2"},
    kinds.PRIORITY: {"local_service": "Elsewhere", "level": 7},
    kinds.NOTIFICATION: {
        "queue": "Stored",
        "object": "Stored",
        "event": "QUEUE_ACTIVATION",
    },
}
"""What there may be of one name."""
PAIRS = list(permutations(ATTRIBUTES, 2))
EVERY = APPLICABLE[SERVICE]


def create(kind: str) -> b.BrokerCreate:
    return b.BrokerCreate(kind, NAME, dict(ATTRIBUTES[kind]))


def site() -> Client:
    """A queue manager at which ada and eve may create whatever they like."""
    client = checked()
    client.do(b.BrokerCreate("queue", "Stored"))
    set_records(client.core)
    needed = ("**", SERVICE, CREATE), ("Elsewhere", SERVICE, CHANGE), (KEY, QUEUE, PUT | DISPLAY)
    for name, (profile, object_type, bits) in product(("ada", "eve"), needed):
        client.do(ac.SetAuthority(profile, object_type, [name], [], bits))
    return client


def rights(client: Client) -> dict[str, int]:
    operator(client)
    answer = client.do(ac.InquireAuthorities(NAME, SERVICE))
    assert isinstance(answer, AuthorityRecords)
    return {one.entity: one.bits for one in answer.records if one.profile == NAME}


@pytest.mark.parametrize(("dropped", "stays"), PAIRS)
def test_who_has_rights_on_one_has_them_when_the_other_was_dropped(
    dropped: str, stays: str
) -> None:
    client = site()
    user(client)
    client.do(create(stays))
    client.do(create(dropped))
    if kinds.SERVICE in (stays, dropped):
        client.do(b.BrokerPermit(SERVICE, NAME, [ac.PermissionChange("ann", False, ALL, PUT)]))
    assert rights(client)["ada"] == EVERY
    user(client)
    client.do(b.BrokerDrop(dropped, NAME))
    expected = {"ada": EVERY} | ({"ann": PUT} if stays == kinds.SERVICE else {})
    assert rights(client) == expected
    user(client)
    client.do(b.BrokerDrop(stays, NAME))
    assert rights(client) == {}


@pytest.mark.parametrize("stays", [one for one in ATTRIBUTES if one != kinds.NOTIFICATION])
def test_they_stay_when_a_notification_goes_with_its_queue(stays: str) -> None:
    client = site()
    operator(client)
    client.do(b.BrokerCreate(kinds.QUEUE, "Watched"))
    client.do(ac.SetAuthority("broker$\\watched", QUEUE, ["ada"], [], PUT | DISPLAY))
    user(client)
    client.do(create(stays))
    notification = create(kinds.NOTIFICATION)
    notification.attributes["object"] = "Watched"
    client.do(notification)
    before = rights(client)
    assert before == {"ada": EVERY}
    client.do(b.BrokerDrop(kinds.QUEUE, "Watched"))
    assert rights(client) == before


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_who_has_created_one_has_no_rights_on_that_of_another_user(first: str, second: str) -> None:
    client = site()
    user(client, "eve")
    client.do(create(first))
    user(client)
    answer = client.answer(client.send(create(second)))
    if first == kinds.SERVICE:  # who controls that, controls what is called so
        assert not isinstance(answer, Refused)
        user(client)
        assert is_denied(client, b.BrokerDrop(first, NAME))
        return
    assert isinstance(answer, Refused)
    assert answer.reason is Reason.OBJECT_EXISTS
    user(client, "eve")
    client.do(b.BrokerDrop(first, NAME))
    user(client)
    client.do(create(second))
    assert rights(client) == {"ada": EVERY}


def test_rights_that_are_none_over_a_new_object_do_not_keep_it_away() -> None:
    client = site()
    user(client)
    client.do(create(kinds.MESSAGE_TYPE))
    operator(client)
    for name, bits in (("eve", DISPLAY), ("ann", PUT)):
        client.core.qm.authorities.set(AuthorityRecord(NAME, SERVICE, name, False, bits))
    user(client)
    client.do(create(kinds.CONTRACT))
    refused = client.answer(client.send(create(kinds.SERVICE)))
    assert isinstance(refused, Refused)
    operator(client)
    client.core.qm.authorities.remove(NAME, SERVICE, "ann", False)
    user(client)
    client.do(create(kinds.SERVICE))
    assert rights(client) == {"ada": EVERY, "eve": DISPLAY}
