"""Channel authentication records by MQSC, PCF and the SDK."""

import re
from collections.abc import Iterator

import pytest

import adapter
import adapter.testing
from adapter.administration.mqsc.execute import Script
from adapter.administration.pcf.commands import Commands
from adapter.administration.pcf.structures import Integer, Parameter, PcfError, String, Strings

CHANNEL, TYPE, ACTION, USERS, ADDRESS, MCAUSER = 3501, 1352, 1086, 3568, 3506, 3527


@pytest.fixture
def qm() -> Iterator[adapter.Connection]:
    with adapter.testing.queue_manager() as manager, manager.connect() as connection:
        yield connection


def told(qm: adapter.Connection, text: str) -> list[str]:
    """Return the answer to one command."""
    return list(Script(qm, echo=False, summary=False).run([text]))


def test_a_record_is_set_shown_checked_and_removed_by_mqsc(qm: adapter.Connection) -> None:
    (answer,) = told(qm, "SET CHLAUTH('*') TYPE(BLOCKUSER) USERLIST('eve','*MQADMIN')")
    assert answer.startswith("AMQ8877W: channel authentication record * set; ")
    assert "CHLAUTH(ENABLED)" in answer
    told(qm, "ALTER QMGR CHLAUTH(ENABLED)")
    (answer,) = told(
        qm,
        "SET CHLAUTH('SHOP.*') TYPE(ADDRESSMAP) ADDRESS('10.1.*') USERSRC(MAP) MCAUSER('eve') "
        "DESCR('tills') ACTION(REPLACE)",
    )
    assert answer == "AMQ8877I: channel authentication record SHOP.* set."
    shown = "\n".join(told(qm, "DISPLAY CHLAUTH(*) ALL"))
    for one in ("CHLAUTH(SHOP.*)", "ADDRESS(10.1.*)", "MCAUSER(eve)", "USERSRC(MAP)"):
        assert one in shown
    assert "USERLIST(eve,*MQADMIN)" in shown
    assert len(told(qm, "DIS CHLAUTH('SHOP.*') MATCH(EXACT)")) < len(shown.splitlines())
    checked = told(qm, "DIS CHLAUTH(SHOP.A) MATCH(RUNCHECK) ADDRESS('10.1.2.3') CLNTUSER('x')")
    assert re.findall(r"TYPE\((\w+)\)", "\n".join(checked)) == ["ADDRESSMAP", "BLOCKUSER"]
    (answer,) = told(qm, "DIS CHLAUTH(OTHER) MATCH(RUNCHECK) ADDRESS('10.2.2.3') CLNTUSER('x')")
    assert answer.startswith("AMQ8147E")
    told(qm, "SET CHLAUTH('*') TYPE(BLOCKUSER) ACTION(REMOVEALL)")
    told(qm, "SET CHLAUTH('SHOP.*') TYPE(ADDRESSMAP) ADDRESS('10.1.*') ACTION(REMOVE)")
    (answer,) = told(qm, "DIS CHLAUTH(*)")
    assert answer.startswith("AMQ8147E: no channel authentication record fits")


@pytest.mark.parametrize(
    "command",
    [
        "SET CHLAUTH(A) TYPE(USERMAP) CLNTUSER('a') CHCKCLNT(REQUIRED) USERSRC(NOACCESS)",
        "SET CHLAUTH(A) TYPE(USERMAP) CLNTUSER('a') CUSTOM('b') MCAUSER('b')",
        "SET CHLAUTH(A) TYPE(USERMAP) CLNTUSER('a')",
        "SET CHLAUTH(A) TYPE(BLOCKADDR) ADDRLIST('10.*')",
        "SET CHLAUTH(A) TYPE(ADDRESSMAP) ADDRESS('host.example.org') USERSRC(NOACCESS)",
        "SET CHLAUTH(A) TYPE(SSLPEERMAP) SSLPEER('CN=till*','O=Shop') MCAUSER('till')",
        "SET CHLAUTH(A) TYPE(SSLPEERMAP) SSLPEER(CN=till*,O=Shop) MCAUSER('till')",
    ],
)
def test_what_would_protect_nothing_is_refused(qm: adapter.Connection, command: str) -> None:
    assert not re.match(r"AMQ\d{4}[IW]", told(qm, command)[0])
    assert qm.channel_rules().rules == []


@pytest.mark.parametrize(
    ("parameters", "problem"),
    [
        ("ADDRESS('9.9.9.9')", "ADDRESS is given with MATCH(RUNCHECK) only"),
        ("CLNTUSER('a') MATCH(EXACT)", "CLNTUSER is given with MATCH(RUNCHECK) only"),
        ("NONSENSE", "unknown parameter NONSENSE of DISPLAY CHLAUTH"),
        ("WARN(YES)", "unknown parameter WARN of DISPLAY CHLAUTH"),
        ("TYPE", "TYPE takes one value"),
        ("SSLPEER('CN=a','O=b') MATCH(RUNCHECK)", "SSLPEER takes one value"),
    ],
)
def test_what_a_display_would_not_act_upon_is_refused(
    qm: adapter.Connection, parameters: str, problem: str
) -> None:
    answer = told(qm, f"DISPLAY CHLAUTH(*) {parameters}")[0]
    assert answer.startswith(f"AMQ8405E: syntax error: {problem}")


def test_words_may_have_blanks_around_them_and_columns_may_be_asked_for(
    qm: adapter.Connection,
) -> None:
    told(
        qm,
        "SET CHLAUTH(A) TYPE(' addressmap ') ADDRESS('10.*') USERSRC(noaccess) WARN(' yes ')",
    )
    (found,) = qm.channel_rules("A").rules
    assert (found.kind, found.warn) == ("ADDRESSMAP", True)
    shown = told(qm, "DISPLAY CHLAUTH(A) TYPE('addressmap ') ADDRESS MCAUSER SSLPEER ALTDATE")
    assert "ADDRESS(10.*)" in "".join(shown)


def test_clients_come_as_whom_the_records_say() -> None:
    with adapter.testing.queue_manager() as manager:
        manager.mqsc(
            "ALTER QMGR CHLAUTH(ENABLED)\n"
            "SET CHLAUTH('SYSTEM.DEF.SVRCONN') TYPE(USERMAP) CLNTUSER('bob') MCAUSER('till')\n"
            "SET CHLAUTH('SYSTEM.*') TYPE(USERMAP) CLNTUSER('eve') USERSRC(NOACCESS)"
        )
        with adapter.connect(manager.address, user="bob") as bob:
            (mine,) = [one for one in bob.connections() if one.user == "till"]
            assert mine.proof == "mapped"
            bob.define_queue("Q")
            bob.put("Q", "whose")
            message = bob.get("Q")
            assert message is not None
            assert message.user == "till"
        with pytest.raises(adapter.NotAuthorized):
            adapter.connect(manager.address, user="eve").close()


def test_a_record_by_pcf(qm: adapter.Connection) -> None:
    commands = Commands(qm)
    name, kind = String(CHANNEL, "SHOP.*", 20), Integer(TYPE, 1)
    lacking: tuple[tuple[list[Parameter], int], ...] = (([name], 3326), ([name, kind], 3019))
    for given, reason in lacking:
        with pytest.raises(PcfError) as refused:
            commands.execute(203, given)
        assert refused.value.reason == reason
    users = Strings(USERS, ("eve", "bob"), 3)
    assert commands.execute(203, [name, kind, users]) == [[]]
    mapped: list[Parameter] = [
        Integer(TYPE, 4),
        String(ADDRESS, "10.*", 4),
        String(MCAUSER, "till", 4),
    ]
    assert commands.execute(203, [name, *mapped]) == [[]]
    found = commands.execute(204, [String(CHANNEL, "*", 1)])
    by_number = [{one.number: one for one in reply} for reply in found]
    assert [one[TYPE] for one in by_number] == [Integer(TYPE, 4), Integer(TYPE, 1)]
    assert by_number[0][MCAUSER] == String(MCAUSER, "till", 0)
    assert by_number[1][USERS] == Strings(USERS, ("eve", "bob"), 3)
    gone: list[Parameter] = [name, kind, Integer(ACTION, 8)]
    assert commands.execute(203, gone) == [[]]
    other: list[Parameter] = [String(CHANNEL, "OTHER", 5)]
    for command, given in ((203, gone), (204, other)):
        with pytest.raises(PcfError) as refused:
            commands.execute(command, given)
        assert refused.value.reason == 3338
    with pytest.raises(PcfError) as refused:
        commands.execute(204, [name, String(ADDRESS, "10.1.1.1", 8)])
    assert (refused.value.reason, refused.value.parameter) == (3203, ADDRESS)


def test_a_record_by_the_sdk(qm: adapter.Connection) -> None:
    qm.set_channel_rule("A", "SSLPEERMAP", peer="O=Shop", mca_user="till", description="shops")
    (found,) = qm.channel_rules("A").rules
    assert (found.peer, found.mca_user, found.description) == ("O=Shop", "till", "shops")
    assert qm.channel_rules("A", check=True, peer="CN=a,O=Shop").rules == [found]
    assert qm.channel_rules("A", check=True, peer="CN=a").rules == []
    with pytest.raises(adapter.Error, match="needs users"):
        qm.set_channel_rule("A", "BLOCKUSER")
    assert qm.set_channel_rule("A", action="REMOVEALL") == 1
