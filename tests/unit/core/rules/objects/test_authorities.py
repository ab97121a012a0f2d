"""Authority records as commands make them: refused, shown, explained, granted by creation."""

from random import Random

import pytest

from adapter.core import inputs
from adapter.core.contract import authority_commands as ac
from adapter.core.contract import commands as c
from adapter.core.contract import msmq as m
from adapter.core.contract.authorities import CONNECT, GET, PUT, AuthorityRecord, bits_of
from adapter.core.contract.limits import Limits
from adapter.core.contract.message import MessageData
from adapter.core.contract.parties import Party, Principal, Proof
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import (
    AuthorityExplained,
    AuthorityRecords,
    Done,
    Opened,
    PutDone,
    Refused,
)
from adapter.core.model.manager import QueueManager
from tests.support.authorities import checked, operator, set_records, user
from tests.support.core import Client, Core


def records(client: Client, *args: object, **named: object) -> list[AuthorityRecord]:
    answer = client.do(ac.InquireAuthorities(*args, **named))  # type: ignore[arg-type]
    assert isinstance(answer, AuthorityRecords)
    return answer.records


def test_a_record_is_set_changed_and_deleted() -> None:
    client = checked()
    client.do(ac.SetAuthority("A.*", "queue", ["ann"], ["staff"], PUT | GET))
    client.do(ac.SetAuthority("A.*", "queue", ["ann"], [], 0, GET))
    assert records(client) == [
        AuthorityRecord("A.*", "queue", "ann", False, PUT),
        AuthorityRecord("A.*", "queue", "staff", True, PUT | GET),
    ]
    before = len(client.core.entries)
    client.do(ac.SetAuthority("A.*", "queue", ["ann"], [], PUT))
    assert len(client.core.entries) == before + 1, "the outcome, and no record"
    answer = client.do(ac.DeleteAuthority("A.*", "queue", ["ann", "eve"], ["staff"]))
    assert answer == Done(2)
    assert records(client) == []
    gone = client.refused(ac.DeleteAuthority("A.*", "queue", ["ann"]))
    assert gone is Reason.OBJECT_NOT_FOUND


def test_what_is_no_record() -> None:
    client = checked()
    for command, reason in (
        (ac.SetAuthority("A", "fish", ["ann"]), Reason.OBJECT_TYPE_ERROR),
        (ac.SetAuthority("A**", "queue", ["ann"]), Reason.NAME_ERROR),
        (ac.SetAuthority("A", "queue"), Reason.OPTIONS_ERROR),
        (ac.SetAuthority("A", "queue", [""]), Reason.OPTIONS_ERROR),
        (ac.SetAuthority("A", "queue", ["x" * 65]), Reason.OPTIONS_ERROR),
        (ac.SetAuthority("A", "queue", ["ann"], [], CONNECT), Reason.ATTRIBUTE_ERROR),
        (ac.SetAuthority("A", "queue", ["ann"], [], 0, 1 << 40), Reason.ATTRIBUTE_ERROR),
        (ac.SetAuthority("OTHER", "qmgr", ["ann"], [], CONNECT), Reason.NAME_ERROR),
        (ac.ExplainAuthority("ann", "fish", "A"), Reason.OBJECT_TYPE_ERROR),
        (ac.InquireAuthorities("A", "fish"), Reason.OBJECT_TYPE_ERROR),
        (ac.InquireAuthorities("A", of="all"), Reason.OPTIONS_ERROR),
    ):
        assert client.refused(command) is reason, command


def test_there_is_a_bound() -> None:
    core = Core(Limits(authority_records=2))
    client = core.connect()
    client.do(ac.SetAuthority("A", "queue", ["ann", "bob"]))
    too_many = ac.SetAuthority("A", "queue", ["eve"])
    assert client.refused(too_many) is Reason.LIMIT_REACHED


def test_records_are_selected() -> None:
    client = checked()
    client.do(ac.SetAuthority("A.**", "queue", ["ann"], ["everyone"], PUT))
    client.do(ac.SetAuthority("A.B", "queue", ["bob"], [], PUT))
    client.do(ac.SetAuthority("", "qmgr", ["ann"], [], CONNECT))
    assert [one.entity for one in records(client, "A.B")] == ["bob"]
    assert [one.entity for one in records(client, "A.B", of="matching")] == [
        *("ann", "everyone", "bob")
    ]
    mine = records(client, "A.B", entity="ann", of="members")
    assert [one.entity for one in mine] == ["ann", "everyone"]
    assert [one.profile for one in records(client, "QM1", "qmgr")] == ["SELF"]
    assert records(client, entity="everyone") == []
    assert len(records(client, entity="everyone", is_group=True)) == 1


def test_an_answer_is_explained() -> None:
    client = checked()
    client.do(ac.SetAuthority("A.**", "queue", ["ann"], ["staff"], PUT))
    client.do(ac.SetAuthority("A.B", "queue", ["ann"]))
    answer = client.do(ac.ExplainAuthority("ann", "queue", "A.B"))
    none = AuthorityRecord("A.B", "queue", "ann", False, 0)
    assert answer == AuthorityExplained(0, [none], True)
    answer = client.do(ac.ExplainAuthority("ann", "queue", "A.B", ["staff"]))
    assert isinstance(answer, AuthorityExplained)
    assert answer.bits == PUT
    client.core.qm.authorities.are_checked = False
    answer = client.do(ac.ExplainAuthority("ann", "qmgr", ""))
    assert answer == AuthorityExplained(0, [], False)


def test_records_outlive_a_crash_and_a_snapshot() -> None:
    client = checked()
    client.do(ac.SetAuthority("A.**", "queue", ["ann"], ["staff"], PUT))
    client.do(ac.SetAuthority("A.B", "queue", ["ann"]))
    before = list(client.core.qm.authorities.every())
    client.core.crash()
    assert list(client.core.qm.authorities.every()) == before
    client.core.crash_with_snapshot()
    assert list(client.core.qm.authorities.every()) == before


def test_who_connects_without_authority_is_let_go() -> None:
    core = checked().core
    for principal, is_let_in in (
        (Principal("ann", Proof.PASSWORD), False),
        (Principal("bob", Proof.PASSWORD), True),
        (Principal("bob", Proof.NONE), False),
        (Principal("eve", Proof.PEER, ("staff",)), True),
        (Principal("", Proof.OPERATOR), True),
        (Principal("QM1", Proof.OWN), True),
        (Principal("root", Proof.CONTEXT), False),
    ):
        set_records(core, ("qmgr", "SELF", ["connect"]), user="bob")
        core.qm.authorities.set(AuthorityRecord("SELF", "qmgr", "staff", True, CONNECT))
        client = core.connect()
        party = Party("a", principal)
        core.take(core.give(inputs.Introduced(client.number, party)))
        assert (client.number in core.qm.connections) is is_let_in, principal
        if not is_let_in:
            assert core.closed[client.number] == Refused(Reason.AUTHORITY_MISSING, "QM1")
            assert core.denials.pop().command == "Connect"
        assert party.principal is principal, "what the server logs is what it has found out"


def test_the_answer_says_no_more_than_the_name() -> None:
    client = checked()
    user(client)
    answer = client.do(c.Open(1, "Q", c.OUTPUT | c.BROWSE))
    assert answer == Refused(Reason.AUTHORITY_MISSING, "Q")
    (denied,) = client.core.denials
    assert (denied.user, denied.command, denied.object_type) == ("ada", "Open", "queue")
    assert denied.missing == bits_of("queue", ["put", "browse"])


def test_a_revoked_authority_counts_from_the_next_open_on() -> None:
    client = checked()
    client.define("Q")
    set_records(client.core, ("queue", "Q", ["put"]))
    user(client)
    client.open("Q", c.OUTPUT)
    set_records(client.core)
    assert isinstance(client.do(c.Put(1, [MessageData(b"x")])), PutDone)
    assert client.refused(c.Open(2, "Q", c.OUTPUT)) is Reason.AUTHORITY_MISSING


def test_who_creates_an_object_may_do_everything_with_it() -> None:
    client = checked()
    client.do(c.DefineObject("model", "M", {"definition_type": "TEMPDYN"}))
    set_records(
        *(client.core, ("queue", "**", ["crt"]), ("process", "P", ["crt"])),
        *(("queue", "M", ["get"]), ("topic", "T", ["crt"])),
    )
    user(client)
    client.define("Q")
    client.do(c.DefineObject("process", "P"))
    client.do(c.DefineObject("topic", "T", {"topic_string": "t"}))
    made = client.do(c.Open(5, "M", c.INPUT, "TEMP.*"))
    assert isinstance(made, Opened)
    found = {(one.object_type, one.profile) for one in client.core.qm.authorities.every()}
    assert {("queue", "Q"), ("process", "P"), ("topic", "T"), ("queue", made.queue)} <= found
    assert not isinstance(client.do(c.Open(6, made.queue, c.SET | c.BROWSE)), Refused)
    client.do(c.Close(6))
    client.do(c.Close(5))
    assert client.do(c.DeleteQueue("Q")) == Done(0)
    operator(client)
    assert not {made.queue, "Q"} & {one.profile for one in records(client)}
    client.define("Q")
    assert "Q" not in {one.profile for one in records(client)}, "an operator needs none"


def test_a_queue_that_is_made_on_the_way_is_not_its_users() -> None:
    client = checked()
    client.core.give(inputs.QueueManagersKnown(frozenset({"QM2"})))
    set_records(client.core, ("queue", "QM2", ["put"]))
    user(client)
    assert not isinstance(client.do(c.Open(1, "FAR", c.OUTPUT, queue_manager="QM2")), Refused)
    assert client.core.qm.authorities.count == 1


def test_everyone_may_send_to_a_new_queue_of_msmq() -> None:
    client = checked()
    set_records(client.core, ("queue", "private$\\mail", ["crt"]))
    user(client)
    client.do(m.MsmqCreate(".\\private$\\mail"))
    user(client, "eve")
    mail = ".\\private$\\mail"
    assert not isinstance(client.do(m.MsmqOpen(1, mail, m.SEND_ACCESS)), Refused)
    denied = client.refused(m.MsmqOpen(2, mail, m.RECEIVE_ACCESS))
    assert denied is Reason.AUTHORITY_MISSING


def test_reset_figures_are_a_change_of_each_queue() -> None:
    client = checked()
    client.define("A")
    client.define("B")
    set_records(client.core, ("queue", "A", ["chg", "dsp"]), ("queue", "B", ["dsp"]))
    user(client)
    assert client.refused(c.AskStatus("*", reset=True)) is Reason.AUTHORITY_MISSING
    assert not isinstance(client.do(c.AskStatus("A", reset=True)), Refused)


def test_users_have_what_the_groups_have_that_are_known_of_them() -> None:
    """Those of the operating system count too; for others by whose authority something is opened
    as well; who has no proof is in no group.
    """
    client = checked()
    core = client.core
    client.define("Q")
    client.do(ac.SetAuthority("Q", "queue", [], ["staff"], PUT))
    client.do(ac.SetAuthority("Q", "queue", [], ["tills"], GET))
    opening = c.Open(1, "Q", c.OUTPUT | c.INPUT)
    user(client, "ann", ("tills",))
    assert client.refused(opening) is Reason.AUTHORITY_MISSING
    core.give(inputs.GroupsKnown({"ann": ("staff", "tills"), "": ("staff", "tills")}))
    assert client.do(opening) == Done()
    user(client, "bob")
    assert client.refused(c.Open(2, "Q", c.OUTPUT)) is Reason.AUTHORITY_MISSING
    user(client, "")
    assert client.refused(c.Open(2, "Q", c.OUTPUT)) is Reason.AUTHORITY_MISSING
    operator(client)
    client.do(ac.SetAuthority("", "qmgr", ["bob"], [], bits_of("qmgr", ["altusr"])))
    shown = records(client, "Q", entity="ann", of="members")
    assert [one.entity for one in shown] == ["staff", "tills"]
    explained = client.do(ac.ExplainAuthority("ann", "queue", "Q"))
    assert isinstance(explained, AuthorityExplained)
    assert explained.bits == PUT | GET
    user(client, "bob")
    assert client.do(c.Open(2, "Q", c.OUTPUT, alternate_user="ann")) == Done()
    core.give(inputs.GroupsKnown({}))
    again = c.Open(3, "Q", c.OUTPUT, alternate_user="ann")
    assert client.refused(again) is Reason.AUTHORITY_MISSING


def test_records_of_a_temporary_queue_go_with_it() -> None:
    client = checked()
    client.do(c.DefineObject("model", "M", {"definition_type": "TEMPDYN"}))
    made = client.do(c.Open(5, "M", c.INPUT, "TEMP.*"))
    assert isinstance(made, Opened)
    client.do(ac.SetAuthority(made.queue, "queue", ["ann"], ["staff"], PUT | GET))
    client.do(ac.SetAuthority("TEMP.**", "queue", ["ann"], [], PUT))
    assert {one.profile for one in records(client)} >= {made.queue, "TEMP.**"}
    client.core.crash()
    left = {one.profile for one in client.core.qm.authorities.every()}
    assert "TEMP.**" in left
    assert made.queue not in left


@pytest.mark.parametrize("seed", range(20))
def test_records_are_the_same_after_a_restart_whatever_temporary_queues_there_were(
    seed: int,
) -> None:
    """A record of the ledger stays when a temporary queue of its name comes and goes."""
    chance, client = Random(seed), checked()
    client.do(c.DefineObject("model", "M", {"definition_type": "TEMPDYN"}))
    core, is_open = client.core, False

    def known(qm: QueueManager) -> list[AuthorityRecord]:
        return sorted(qm.authorities.every(), key=repr)

    for _ in range(60):
        match chance.randrange(5):
            case 0:
                client.do(ac.SetAuthority("T", "queue", [chance.choice("ab")], [], GET))
            case 1:
                client.do(ac.SetAuthority("T", "queue", [chance.choice("ab")], [], PUT, GET))
            case 2:
                client.do(ac.DeleteAuthority("T", "queue", [chance.choice("ab")]))
            case 3:
                client.do(c.Close(9) if is_open else c.Open(9, "M", c.INPUT, "T"))
                is_open = not is_open
            case _:
                core.snapshot()
        if not is_open:
            assert known(core.qm) == known(core.replayed())
