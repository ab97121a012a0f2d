"""Permissions of MSMQ and Service Broker: authority records of one object, and who may set them."""

import pytest

from adapter.core.contract import authority_commands as ac
from adapter.core.contract import broker as b
from adapter.core.contract import commands as c
from adapter.core.contract import msmq as m
from adapter.core.contract.authorities import (
    ALL,
    APPLICABLE,
    BROWSE,
    CONNECT,
    DISPLAY,
    EVERYONE,
    GET,
    INQUIRE,
    PUT,
    QUEUE,
    SERVICE,
)
from adapter.core.contract.limits import Limits
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import AuthorityRecords, Descriptions
from tests.support.authorities import checked, is_denied, operator, set_records, user
from tests.support.core import Client, Core

MAIL, KEY = ".\\private$\\Mail", "private$\\mail"
CREATES = (QUEUE, "**", ("crt",)), (SERVICE, "**", ("crt",))
NEW = {(EVERYONE, True): PUT | INQUIRE | DISPLAY}


def created(name: str = MAIL) -> Client:
    """Return the client of ada, who has created a queue of MSMQ."""
    client = checked()
    set_records(client.core, *CREATES)
    user(client)
    client.do(m.MsmqCreate(name))
    return client


def of(client: Client, name: str = KEY, object_type: str = QUEUE) -> dict[tuple[str, bool], int]:
    """Return who has what by the name of an object."""
    operator(client)
    answer = client.do(ac.InquireAuthorities(name, object_type))
    assert isinstance(answer, AuthorityRecords)
    return {(one.entity, one.is_group): one.bits for one in answer.records}


def test_the_creator_has_full_control_and_gives_of_it() -> None:
    client = created()
    assert of(client) == NEW | {("ada", False): APPLICABLE[QUEUE]}
    user(client)
    client.do(m.MsmqPermit(MAIL, [ac.PermissionChange("ann", False, ALL, GET | BROWSE)]))
    assert of(client)["ann", False] == GET | BROWSE
    user(client, "ann")
    assert not is_denied(client, m.MsmqOpen(1, MAIL, m.RECEIVE_ACCESS))
    assert is_denied(client, m.MsmqPermit(MAIL, [ac.PermissionChange("ann", False, ALL, PUT)]))
    assert client.core.denials[-1].name == KEY
    user(client, "eve", ("staff",))
    assert not is_denied(client, m.MsmqOpen(2, MAIL, m.SEND_ACCESS))
    assert is_denied(client, m.MsmqOpen(3, MAIL, m.RECEIVE_ACCESS))


def test_changes_follow_one_another() -> None:
    client = created()
    client.do(
        m.MsmqPermit(
            MAIL,
            [
                ac.PermissionChange("ann", False, ALL, GET),
                ac.PermissionChange("ann", False, ALL, PUT),
                ac.PermissionChange("bob", False, ALL, PUT),
                ac.PermissionChange("bob", False, 0, GET),
                ac.PermissionChange(EVERYONE, True),
                ac.PermissionChange("eve"),
            ],
        )
    )
    expected = {"ann": GET | PUT, "bob": GET, "ada": APPLICABLE[QUEUE]}
    assert of(client) == {(name, False): bits for name, bits in expected.items()}


def test_what_is_wrong_changes_nothing() -> None:
    client = created()
    before = of(client)
    good = ac.PermissionChange("ann", False, ALL, GET)
    for change, reason in (
        (ac.PermissionChange("bob", False, ALL, CONNECT), Reason.ATTRIBUTE_ERROR),
        (ac.PermissionChange("bob", False, 0, 1 << 40), Reason.ATTRIBUTE_ERROR),
        (ac.PermissionChange("", False, 0, GET), Reason.OPTIONS_ERROR),
        (ac.PermissionChange("x" * 65, True, 0, GET), Reason.OPTIONS_ERROR),
    ):
        assert client.refused(m.MsmqPermit(MAIL, [good, change])) is reason
    assert client.refused(m.MsmqPermit(".\\private$\\none", [good])) is Reason.QUEUE_NOT_FOUND
    for part in (";journal", ";sub"):
        client.do(m.MsmqOpen(5, MAIL + ";sub", m.PEEK_ACCESS))
        client.do(m.MsmqAlter(MAIL, {"journaling": True}))
        assert client.refused(m.MsmqPermit(MAIL + part, [good])) is Reason.ATTRIBUTE_ERROR
    assert of(client) == before


def test_a_queue_is_reset_to_what_its_creator_and_everyone_had() -> None:
    client = created()
    give = [ac.PermissionChange(name, False, ALL, PUT) for name in ("ann", "bob")]
    client.do(m.MsmqPermit(MAIL, [*give, ac.PermissionChange("ada", False, 0, GET)]))
    operator(client)
    client.do(ac.SetAuthority("private$\\*", QUEUE, ["ann"], [], GET))
    client.do(m.MsmqPermit(MAIL, reset=True))
    assert of(client) == NEW | {("ada", False): APPLICABLE[QUEUE]}
    assert of(client, "private$\\*") == {("ann", False): GET}


def test_a_queue_of_an_operator_is_reset_to_what_everyone_has() -> None:
    client = checked()
    client.do(m.MsmqCreate(MAIL))
    assert of(client) == {}
    client.do(m.MsmqPermit(MAIL, [ac.PermissionChange("ann", False, 0, GET)], reset=True))
    assert of(client) == NEW | {("ann", False): GET}


def test_the_creator_is_known_after_a_snapshot() -> None:
    client = created()
    client.core.crash_with_snapshot()
    again = client.core.connect()
    operator(again)
    again.do(m.MsmqPermit(MAIL, [ac.PermissionChange("ada")]))
    again.do(m.MsmqPermit(MAIL, reset=True))
    assert of(again) == NEW | {("ada", False): APPLICABLE[QUEUE]}


def test_a_name_with_wildcards_grants_nothing_of_other_queues() -> None:
    client = created()
    user(client, "eve")
    operator(client)
    client.do(b.BrokerCreate("queue", "Mail"))
    client.do(ac.SetAuthority("broker$\\?*", QUEUE, ["eve"], [], 0x10000))
    user(client, "eve")
    client.do(b.BrokerCreate("queue", "*"))
    assert of(client, "broker$\\*") == {}
    user(client, "eve")
    assert is_denied(client, b.BrokerBrowse("Mail"))
    operator(client)
    change = b.BrokerPermit("queue", "*", [ac.PermissionChange("eve", False, 0, GET)])
    assert client.refused(change) is Reason.OPTIONS_ERROR


def test_a_service_and_its_queue_are_granted_by_who_controls_them() -> None:
    client = checked()
    set_records(client.core, *CREATES)
    user(client)
    client.do(b.BrokerCreate("queue", "Asked"))
    client.do(b.BrokerCreate("service", "Ask", {"queue": "Asked", "contracts": "DEFAULT"}))
    client.do(b.BrokerPermit("service", "Ask", [ac.PermissionChange("ann", False, ALL, PUT)]))
    client.do(b.BrokerPermit("queue", "dbo.ASKED", [ac.PermissionChange("s", True, ALL, GET)]))
    assert of(client, "Ask", SERVICE)["ann", False] == PUT
    assert of(client, "broker$\\asked")["s", True] == GET
    user(client)
    gone = b.BrokerPermit("service", "None", [ac.PermissionChange("ann", False, ALL, PUT)])
    assert is_denied(client, gone)
    operator(client)
    assert client.refused(gone) is Reason.OBJECT_NOT_FOUND
    assert client.refused(b.BrokerPermit("queue", "None")) is Reason.QUEUE_NOT_FOUND
    assert client.refused(b.BrokerPermit("fish", "Ask")) is Reason.OBJECT_TYPE_ERROR
    get = b.BrokerPermit("service", "Ask", [ac.PermissionChange("ann", False, ALL, GET)])
    assert client.refused(get) is Reason.ATTRIBUTE_ERROR


def test_who_creates_a_contract_controls_no_service_of_its_name() -> None:
    client = checked()
    client.do(b.BrokerCreate("queue", "Asked"))
    client.do(b.BrokerCreate("service", "Ask", {"queue": "Asked", "contracts": "DEFAULT"}))
    set_records(client.core, *CREATES)
    user(client)
    client.do(b.BrokerCreate("contract", "Ask", {"by_any": "DEFAULT"}))
    client.do(b.BrokerCreate("contract", "Own", {"by_any": "DEFAULT"}))
    assert of(client, "Ask", SERVICE) == {}
    assert of(client, "Own", SERVICE) == {("ada", False): APPLICABLE[SERVICE]}


def test_there_is_a_bound() -> None:
    client = Core(Limits(authority_records=2)).connect()
    client.do(m.MsmqCreate(MAIL))
    three = [ac.PermissionChange(name, False, ALL, GET) for name in ("a", "b", "c")]
    assert client.refused(m.MsmqPermit(MAIL, three)) is Reason.LIMIT_REACHED
    client.do(m.MsmqPermit(MAIL, three[:2]))
    assert client.refused(m.MsmqPermit(MAIL, three[2:])) is Reason.LIMIT_REACHED
    client.do(m.MsmqPermit(MAIL, [ac.PermissionChange("a"), three[2]]))
    assert set(of(client)) == {("b", False), ("c", False)}


@pytest.mark.parametrize(
    ("pattern", "is_said"), [("*", True), ("**", False), ("SECRE*", False), ("S*", False)]
)
def test_that_something_is_not_shown_is_said_of_all_alone(pattern: str, is_said: bool) -> None:
    """Else the names of what is not shown could be found letter by letter."""
    client = checked()
    client.define("SECRET")
    client.define("OPEN")
    assert answer_to(client, pattern).hides is False
    set_records(client.core, ("queue", "**", ["dsp"]), ("queue", "SECRET", ["none"]))
    user(client)
    assert answer_to(client, pattern).hides is is_said


def answer_to(client: Client, pattern: str) -> Descriptions:
    answer = client.do(c.Inquire(pattern))
    assert isinstance(answer, Descriptions)
    assert "SECRET" not in [one.name for one in answer.queues] or not answer.hides
    return answer
