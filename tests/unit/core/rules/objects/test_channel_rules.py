"""Channel authentication records: who may connect, and as whom."""

from typing import Any

import pytest

from adapter.core import inputs
from adapter.core.contract import authority_commands as ac
from adapter.core.contract import commands as c
from adapter.core.contract.authorities import CHANGE, CONNECT
from adapter.core.contract.channel_rules import (
    ChannelRule,
    InquireChannelRules,
    SetChannelRule,
)
from adapter.core.contract.parties import Party, Principal, Proof
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import ChannelRulesFound, Done, Refused
from adapter.core.model.channel_rules import Caller, ChannelRules, fits_host
from tests.support.authorities import checked, operator
from tests.support.core import Client, Core

SHOP = (("CN", "till 7"), ("OU", "North"), ("O", "Shop"))


def site(*, checks: bool = False) -> Client:
    """An operator of a queue manager at which channel authentication records count."""
    if checks:
        client = checked()
    else:
        core = Core()
        client = core.connect()
    operator(client)
    client.do(c.AlterObject("queue_manager", "QM1", {"channel_rules": "ENABLED"}))
    return client


def rule(client: Client, profile: str, kind: str, action: str = "ADD", **given: Any) -> None:
    answer = client.do(SetChannelRule(profile, kind, action, **given))
    assert isinstance(answer, Done), answer


def come(
    client: Client,
    user: str = "ann",
    channel: str = "SHOP.TILLS",
    host: str = "10.1.2.3",
    proof: Proof = Proof.NONE,
    **given: Any,
) -> str | None:
    """Connect, and return as whom; None: it is refused."""
    core = client.core
    core.denials.clear()
    number = core.connect().number
    party = Party("a program", Principal(user, proof), f"{host}:1", 0, channel, host, **given)
    core.take(core.give(inputs.Introduced(number, party)))
    known = core.qm.connections.get(number)
    if known is None:
        assert core.closed[number] == Refused(Reason.AUTHORITY_MISSING, "QM1")
        return None
    return known.party.user


def found(client: Client, *args: Any, **given: Any) -> list[ChannelRule]:
    answer = client.do(InquireChannelRules(*args, **given))
    assert isinstance(answer, ChannelRulesFound)
    assert answer.checked == client.core.qm.attributes.channel_rules
    return answer.rules


def test_without_a_record_all_come_as_who_they_are() -> None:
    assert come(site()) == "ann"


def test_while_they_are_disabled_records_count_for_nothing() -> None:
    client = site()
    rule(client, "*", "ADDRESSMAP", address="*", source="NOACCESS")
    client.do(c.AlterObject("queue_manager", "QM1", {"channel_rules": "DISABLED"}))
    assert come(client) == "ann"
    client.do(c.AlterObject("queue_manager", "QM1", {"channel_rules": "ENABLED"}))
    assert come(client) is None


def test_what_comes_by_no_network_comes_by_no_channel() -> None:
    client = site()
    rule(client, "*", "ADDRESSMAP", address="*", source="NOACCESS")
    rule(client, "*", "USERMAP", client_user="ann", source="NOACCESS")
    assert come(client) is None
    assert come(client, host="") == "ann"


def test_addresses_are_blocked_whatever_maps_them() -> None:
    client = site()
    rule(client, "*", "BLOCKADDR", addresses=["10.1.2-3.*", "fd00:*"])
    rule(client, "SHOP.TILLS", "ADDRESSMAP", address="10.1.2.3", source="CHANNEL")
    hosts = ("10.1.2.3", "10.1.3.255", "10.1.4.1", "fd00::7", "fe80::7")
    assert [come(client, host=one) for one in hosts] == [None, None, "ann", None, "ann"]
    assert not client.core.denials, "the last one was let in"
    come(client)
    (denied,) = client.core.denials
    assert (denied.object_type, denied.name) == ("channel rule", "* BLOCKADDR")


def test_the_most_specific_mapping_counts() -> None:
    """By channel; then a certificate, a user, an address; then by how much of it is said."""
    client = site()
    rules: tuple[tuple[str, str, dict[str, str], str], ...] = (
        ("*", "ADDRESSMAP", {"address": "*"}, "by-any"),
        ("*", "ADDRESSMAP", {"address": "10.1.*"}, "by-net"),
        ("*", "ADDRESSMAP", {"address": "10.1.2.3"}, "by-host"),
        ("*", "USERMAP", {"client_user": "ann"}, "by-user"),
        ("*", "USERMAP", {"client_user": "ann", "address": "10.1.2.3"}, "by-user-at-host"),
        ("*", "SSLPEERMAP", {"peer": "O=Shop"}, "by-company"),
        ("*", "SSLPEERMAP", {"peer": "CN=till*,O=Shop"}, "by-tills"),
        ("*", "SSLPEERMAP", {"peer": "CN=till 7,O=Shop"}, "by-till"),
        ("SHOP.*", "ADDRESSMAP", {"address": "*"}, "by-channels"),
        ("SHOP.TILLS", "ADDRESSMAP", {"address": "*"}, "by-channel"),
    )
    for profile, kind, given, user in rules:
        rule(client, profile, kind, mca_user=user, **given)
        assert come(client, peer=SHOP) == user
    for profile, kind, given, user in reversed(rules):
        assert come(client, peer=SHOP) == user
        rule(client, profile, kind, "REMOVE", **given)
    assert come(client, peer=SHOP) == "ann"
    assert not client.core.denials


def test_what_does_not_fit_does_not_count() -> None:
    client = site()
    given: dict[str, Any]
    for number, given in enumerate(
        (
            {"kind": "SSLPEERMAP", "peer": "CN=till 8"},
            {"kind": "SSLPEERMAP", "peer": "OU=North,OU=South"},
            {"kind": "SSLPEERMAP", "peer": "CN=till 7", "issuer": "CN=Other CA"},
            {"kind": "USERMAP", "client_user": "bob"},
            {"kind": "USERMAP", "client_user": "ann", "address": "10.1.2.4"},
            {"kind": "ADDRESSMAP", "address": "10.1.2-3.4"},
            {"kind": "QMGRMAP", "queue_manager": "*"},
        )
    ):
        rule(client, "*", mca_user=f"user {number}", **given)
    rule(client, "OTHER.*", "ADDRESSMAP", address="*", mca_user="other")
    known: dict[str, Any] = {"peer": SHOP, "issuer": (("CN", "Our CA"),)}
    assert come(client, **known) == "ann"
    assert come(client, issuer=(("CN", "Other CA"),), peer=SHOP) == "user 2"
    assert come(client, channel="OTHER.ONE") == "other"


def test_who_names_no_channel_comes_by_the_default_one() -> None:
    client = site()
    rule(client, "SYSTEM.*", "ADDRESSMAP", address="*", source="NOACCESS")
    assert come(client, channel="") is None
    assert come(client, channel="SYSTEM.OTHER") is None
    assert come(client) == "ann"


def test_a_user_that_a_record_names_is_known_and_its_authorities_count() -> None:
    client = site(checks=True)
    client.do(ac.SetAuthority("", "qmgr", ["till"], [], CONNECT))
    assert come(client) is None
    rule(client, "SHOP.*", "USERMAP", client_user="ann", mca_user="till")
    assert come(client) == "till"
    assert client.core.qm.connections[client.core.connect().number - 1].party.principal == (
        Principal("till", Proof.MAPPED)
    )


def test_users_are_blocked_as_whom_they_come_out() -> None:
    client = site()
    rule(client, "*", "BLOCKUSER", users=["till"])
    rule(client, "*", "USERMAP", client_user="ann", mca_user="till")
    assert come(client) is None
    assert come(client, "till") is None
    assert come(client, "bob") == "bob"
    rule(client, "SHOP.TILLS", "BLOCKUSER", users=["nobody"])
    assert come(client) == "till", "the most specific one counts, and no other"
    assert come(client, channel="SHOP.OTHER") is None


def test_administrators_are_blocked_by_what_they_may_do() -> None:
    client = site(checks=True)
    client.do(ac.SetAuthority("", "qmgr", ["ann", "bob"], [], CONNECT))
    client.do(ac.SetAuthority("", "qmgr", ["ann"], [], CHANGE))
    assert come(client, proof=Proof.PASSWORD) == "ann"
    rule(client, "*", "BLOCKUSER", users=["*MQADMIN"])
    assert come(client, proof=Proof.PASSWORD) is None
    assert come(client, "bob", proof=Proof.PASSWORD) == "bob"
    rule(client, "*", "USERMAP", client_user="bob", mca_user="ann")
    assert come(client, "bob", proof=Proof.PASSWORD) is None


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        ("BLOCKADDR", {"addresses": ["*"]}),
        ("BLOCKUSER", {"users": ["ann"]}),
        ("ADDRESSMAP", {"address": "*", "source": "NOACCESS"}),
    ],
)
def test_what_only_warns_is_noted(kind: str, given: dict[str, Any]) -> None:
    client = site()
    rule(client, "*", kind, warn=True, **given)
    assert come(client) == "ann"
    assert [one.name for one in client.core.denials] == [f"* {kind}"]


@pytest.mark.parametrize("kind", [{"source": "CHANNEL"}, {"mca_user": "ann"}])
@pytest.mark.parametrize("checks", [False, True])
@pytest.mark.parametrize(
    ("check", "administers", "proof", "comes"),
    [
        ("ASQMGR", True, Proof.NONE, True),
        ("ASQMGR", True, Proof.CERTIFICATE, True),
        ("REQUIRED", False, Proof.NONE, False),
        ("REQUIRED", False, Proof.CERTIFICATE, False),
        ("REQUIRED", False, Proof.PASSWORD, True),
        ("REQUIRED", True, Proof.TOKEN, True),
        ("REQDADM", False, Proof.CERTIFICATE, True),
        ("REQDADM", True, Proof.CERTIFICATE, False),
        ("REQDADM", True, Proof.PASSWORD, True),
    ],
)
def test_a_mapping_demands_a_password(
    kind: dict[str, str], checks: bool, check: str, administers: bool, proof: Proof, comes: bool
) -> None:
    """Who may do everything, because authorities are not checked, administers it too."""
    client = site(checks=checks)
    if checks:
        bits = CONNECT | CHANGE if administers else CONNECT
        client.do(ac.SetAuthority("", "qmgr", ["ann"], [], bits))
    elif not administers and check == "REQDADM":
        comes = False
    rule(client, "SHOP.*", "ADDRESSMAP", address="*", check_client=check, **kind)
    name = None if checks and proof is Proof.NONE and kind.get("source") else "ann"
    assert come(client, proof=proof) == (name if comes else None)


def test_lists_are_added_to_and_taken_from() -> None:
    client = site()
    rule(client, "*", "BLOCKUSER", users=["a", "b"])
    rule(client, "*", "BLOCKUSER", users=["b", "c"])
    assert [one.users for one in found(client)] == [["a", "b", "c"]]
    rule(client, "*", "BLOCKUSER", "REMOVE", users=["a"])
    assert [one.users for one in found(client)] == [["b", "c"]]
    rule(client, "*", "BLOCKUSER", "REPLACE", users=["d"])
    assert [one.users for one in found(client)] == [["d"]]
    rule(client, "*", "BLOCKUSER", "REMOVE", users=["d"])
    assert found(client) == []
    gone = SetChannelRule("*", "BLOCKUSER", "REMOVE", users=["d"])
    assert client.refused(gone) is Reason.OBJECT_NOT_FOUND


def test_a_mapping_is_added_once_and_replaced() -> None:
    client = site()
    rule(client, "A", "USERMAP", client_user="x", mca_user="y")
    again = SetChannelRule("A", "USERMAP", client_user="x", mca_user="z")
    assert client.refused(again) is Reason.OBJECT_EXISTS
    rule(client, "A", "USERMAP", "REPLACE", client_user="x", mca_user="z")
    rule(client, "A", "ADDRESSMAP", address="10.*", source="CHANNEL")
    assert [one.mca_user for one in found(client, "A", "USERMAP")] == ["z"]
    assert len(found(client, "A*")) == 2
    assert found(client, "B") == []
    rule(client, "A", "USERMAP", "REMOVEALL")
    assert [one.kind for one in found(client)] == ["ADDRESSMAP"]
    rule(client, "A", "", "REMOVEALL")
    assert found(client) == []


def test_a_check_says_which_records_would_count() -> None:
    client = site()
    rule(client, "*", "BLOCKADDR", addresses=["10.9.*"])
    rule(client, "SHOP.*", "SSLPEERMAP", peer="O=Shop", mca_user="shop")
    rule(client, "*", "BLOCKUSER", users=["shop"])
    rule(client, "FROM.*", "QMGRMAP", queue_manager="QM*", mca_user="qm")
    peer = "CN=till 7,O=Shop"
    checks: dict[str, dict[str, Any]] = {
        "blocked": {"address": "10.9.1.1"},
        "mapped": {"address": "10.1.1.1", "peer": peer},
        "as it is": {"address": "10.1.1.1"},
    }
    kinds = {
        name: [one.kind for one in found(client, "SHOP.A", is_check=True, **given)]
        for name, given in checks.items()
    }
    assert kinds == {
        "blocked": ["BLOCKADDR"],
        "mapped": ["SSLPEERMAP", "BLOCKUSER"],
        "as it is": [],
    }
    (one,) = found(client, "FROM.A", is_check=True, queue_manager="QM2")
    assert one.mca_user == "qm"


@pytest.mark.parametrize(
    "command",
    [
        SetChannelRule("A", "FISH"),
        SetChannelRule("", "BLOCKUSER", users=["a"]),
        SetChannelRule("A" * 21, "BLOCKUSER", users=["a"]),
        SetChannelRule("A", "BLOCKADDR", addresses=["*"]),
        SetChannelRule("*", "BLOCKADDR", addresses=["example.org"]),
        SetChannelRule("*", "BLOCKADDR", addresses=["10.1.2.3.4.5.6.7.8"]),
        SetChannelRule("A", "BLOCKUSER"),
        SetChannelRule("A", "BLOCKUSER", users=[""]),
        SetChannelRule("A", "BLOCKUSER", users=["a"], address="*"),
        SetChannelRule("A", "BLOCKUSER", users=["a"], source="CHANNEL"),
        SetChannelRule("A", "BLOCKUSER", users=[str(n) for n in range(257)]),
        SetChannelRule("A", "USERMAP", client_user="a"),
        SetChannelRule("A", "USERMAP", client_user="a", mca_user="b", source="CHANNEL"),
        SetChannelRule("A", "USERMAP", client_user="a", source="ELSEWHERE"),
        SetChannelRule("A", "USERMAP", client_user="a", mca_user="b", warn=True),
        SetChannelRule("A", "USERMAP", client_user="a\n", mca_user="b"),
        SetChannelRule("A", "SSLPEERMAP", peer="till", mca_user="b"),
        SetChannelRule("A", "QMGRMAP", queue_manager="QM", address="*", mca_user="b"),
        SetChannelRule("A", "QMGRMAP", queue_manager="QM", mca_user="b", check_client="REQUIRED"),
        SetChannelRule("A", "BLOCKUSER", users=["a"], check_client="REQUIRED"),
        SetChannelRule("A", "USERMAP", client_user="a", source="NOACCESS", check_client="REQUIRED"),
        SetChannelRule("A", "USERMAP", client_user="a", mca_user="b", check_client="OPTIONAL"),
    ],
)
def test_what_is_no_record(command: SetChannelRule) -> None:
    client = site()
    assert client.refused(command) is Reason.ATTRIBUTE_ERROR
    assert client.refused(SetChannelRule("A", "USERMAP", "FISH")) is Reason.OPTIONS_ERROR


@pytest.mark.parametrize(
    ("address", "is_one"),
    [
        *((one, True) for one in ("*", "10.*", "10.*.3.4", "10.1.2-7.*", "0.0.0.0-255")),
        *((one, True) for one in ("fd00:*", "::1", "fd00:0:0:0:0:0:0:1-ff", "FD00::A")),
        *((one, False) for one in ("10.1.2", "*.1", "10.*.3", "1.2.3.4.5", "10..2.3")),
        *((one, False) for one in ("300.1.1.1", "10.1.2.256", "10.9-7.1.1", "10.a.1.1")),
        *((one, False) for one in ("fd00::1-5", "::g", "1:2:3", "12345::", "host.example.org")),
    ],
)
def test_a_record_of_addresses_that_there_cannot_be_is_refused(address: str, is_one: bool) -> None:
    """It would refuse nobody, and look as if it did."""
    client = site()
    blocked = SetChannelRule("*", "BLOCKADDR", addresses=[address])
    mapped = SetChannelRule("*", "ADDRESSMAP", address=address, source="NOACCESS")
    for command in (blocked, mapped):
        if is_one:
            assert client.do(command) == Done()
        else:
            assert client.refused(command) is Reason.ATTRIBUTE_ERROR


def test_records_outlive_a_crash_and_a_snapshot() -> None:
    client = site()
    rule(client, "*", "BLOCKUSER", users=["eve"])
    rule(client, "A", "USERMAP", client_user="x", mca_user="y", description="of the shop")
    rule(client, "B", "USERMAP", client_user="x", mca_user="y")
    rule(client, "B", "USERMAP", "REMOVE", client_user="x")
    before = list(client.core.qm.channel_rules.every())
    assert len(before) == 2
    client.core.crash()
    assert list(client.core.qm.channel_rules.every()) == before
    client.core.crash_with_snapshot()
    assert list(client.core.qm.channel_rules.every()) == before


def test_addresses_as_rules_write_them() -> None:
    for pattern, host, expected in (
        ("*", "10.1.2.3", True),
        ("*", "", False),
        ("10.*", "10.1.2.3", True),
        ("10.1", "10.1.2.3", False),
        ("10.1.2.3", "10.1.2.3", True),
        ("10.1.2.3", "::ffff:10.1.2.3", True),
        ("10.1.2.30-40", "10.1.2.35", True),
        ("10.1.2.30-40", "10.1.2.41", False),
        ("fd00::1", "fd00:0:0:0:0:0:0:1", True),
        ("fd00:*", "fd01::1", False),
        ("fe80::1", "fe80::1%eth0", True),
        ("10.*", "unix", False),
        ("10.ff.*", "10.1.2.3", False),
        ("::ffff:10.1.2.3", "10.1.2.3", True),
        ("::ffff:10.1.2.3", "::ffff:10.1.2.3", True),
        ("::FFFF:a01:203", "10.1.2.3", True),
        ("::ffff:10.1.2.3", "10.1.2.4", False),
        ("::ffff:10.1.2.3", "::1", False),
    ):
        assert fits_host(pattern, host) is expected, (pattern, host)


def test_a_caller_of_a_queue_manager_meets_only_rules_of_queue_managers() -> None:
    rules = ChannelRules()
    rules.set(ChannelRule("*", "USERMAP", client_user="", source="CHANNEL"))
    rules.set(ChannelRule("*", "QMGRMAP", queue_manager="QM*", mca_user="a"))
    rules.set(ChannelRule("*", "QMGRMAP", queue_manager="QMA", mca_user="b"))
    mapped = rules.mapping(Caller("FROM.A", queue_manager="QMA"))
    assert mapped is not None
    assert mapped.mca_user == "b"


def test_a_connection_that_is_there_is_not_asked_again() -> None:
    client = site(checks=True)
    client.do(ac.SetAuthority("", "qmgr", ["ann", "till"], [], CONNECT))
    assert come(client, proof=Proof.PASSWORD) == "ann"
    number = max(client.core.qm.connections)
    rule(client, "*", "USERMAP", client_user="ann", mca_user="till")
    rule(client, "*", "BLOCKUSER", users=["till", "ann"])
    rule(client, "*", "ADDRESSMAP", address="*", source="NOACCESS")
    assert client.do(ac.RefreshSecurity()) == Done(0)
    assert client.core.qm.connections[number].party.user == "ann"
    assert come(client, proof=Proof.PASSWORD) is None, "it is asked when it comes again"
