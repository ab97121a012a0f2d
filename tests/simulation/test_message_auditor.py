"""The auditor of messages must be able to say no, and yes to what the manual says."""

from typing import Any

import pytest

from tests.simulation.letters import Letter, Queue, Wants
from tests.simulation.message_auditor import DEAD, MessageAuditor
from tests.simulation.work_auditor import refused

IN_ORDER = Wants("ann", 1, logical=True)


@pytest.fixture
def auditor() -> MessageAuditor:
    """Ann and Bob have queue Q open under handle 1; there are a dead-letter queue and R."""
    auditor = MessageAuditor()
    for name in ("Q", "R", DEAD):
        auditor.defined(Queue(name))
    for client in ("ann", "bob"):
        auditor.open(client, 1, "Q")
    return auditor


def put(auditor: MessageAuditor, name: str, unit: str = "", **said: Any) -> Any:
    return auditor.put("ann", 1, Letter(name, body=name, **said), unit, logical=True)


def names(answer: Any) -> list[str]:
    assert answer[0] == "got", answer
    return [shown[0] for shown in answer[1]]


def got(auditor: MessageAuditor, wants: Wants = IN_ORDER) -> list[str]:
    return names(auditor.get(wants))


def test_what_is_expected_is_accepted_and_nothing_else(auditor: MessageAuditor) -> None:
    answer = put(auditor, "a")
    auditor.check(answer, ("put", "", "", 1))
    with pytest.raises(AssertionError, match="due is"):
        auditor.check(answer, ("put", "", "g1", 1))


def test_a_group_is_put_and_got_in_order(auditor: MessageAuditor) -> None:
    assert put(auditor, "one", grouped=True) == ("put", "", "g1", 1)
    assert put(auditor, "alone") == refused("INCOMPLETE_GROUP")
    assert put(auditor, "soft", grouped=True, hard=False) == refused("INCONSISTENT_PERSISTENCE")
    whole = IN_ORDER._replace(whole=True)
    assert got(auditor, whole) == []
    put(auditor, "two", last=True, priority=9)
    assert got(auditor, whole) == ["one"]
    assert got(auditor, whole._replace(client="bob")) == []
    assert got(auditor, whole) == ["two"]


def test_a_unit_that_is_backed_out_takes_its_handle_back(auditor: MessageAuditor) -> None:
    auditor.begun("ann", "u")
    put(auditor, "one", "u", grouped=True)
    put(auditor, "two", "u", grouped=True)
    auditor.backed_out("u")
    assert put(auditor, "one", grouped=True) == ("put", "", "g2", 1)


def test_a_message_is_cut_and_joined(auditor: MessageAuditor) -> None:
    auditor.queues["Q"].longest = 20
    put(auditor, "x" * 40)
    assert auditor.listing()["Q"] == [("x" * 40, at, 0) for at in (0, 16, 32)]
    answer = auditor.get(Wants("ann", 1, complete=True))
    assert answer == ("got", [("x" * 40, 0, "x" * 40, 0, "", 1, False)], "")


def test_a_lock_hides_a_message_until_the_handle_is_closed(auditor: MessageAuditor) -> None:
    put(auditor, "a")
    assert got(auditor, Wants("bob", 1, browses=True, lock=True)) == ["a"]
    assert auditor.get(Wants("ann", 1, name="w1")) is None
    auditor.close("bob", 1)
    assert names(auditor.served["w1"]) == ["a"]


@pytest.mark.parametrize("ends", ["close", "lose", "crash"])
def test_a_temporary_queue_goes_with_its_maker(auditor: MessageAuditor, ends: str) -> None:
    auditor.make("ann", 2, "DYN", "TEMPDYN")
    assert auditor.put("ann", 2, Letter("hard"), "", logical=False) == refused(
        "PERSISTENT_NOT_ALLOWED"
    )
    auditor.open("bob", 2, "DYN")
    auditor.get(Wants("bob", 2, name="w1"))
    if ends == "crash":
        auditor.crashed(keeps_soft=True)
    elif ends == "lose":
        auditor.lost("ann")
    else:
        auditor.close("ann", 2)
    assert "DYN" not in auditor.listing()
    if ends != "crash":
        assert auditor.served == {"w1": refused("QUEUE_DELETED")}
        assert auditor.get(Wants("bob", 2)) == refused("QUEUE_DELETED")


def test_a_permanent_one_is_deleted_when_nobody_uses_it(auditor: MessageAuditor) -> None:
    auditor.make("ann", 2, "DYN", "PERMDYN")
    auditor.open("bob", 2, "DYN")
    auditor.put("ann", 2, Letter("kept"), "", logical=False)
    assert auditor.close("ann", 2, "PURGE") == refused("QUEUE_IN_USE")
    auditor.crashed(keeps_soft=False)
    auditor.open("ann", 2, "DYN")
    assert auditor.close("ann", 2, "DELETE") == refused("QUEUE_NOT_EMPTY")
    assert auditor.close("ann", 2, "PURGE") == ("done", "")
    assert "DYN" not in auditor.listing()


def test_reports_go_with_what_caused_them(auditor: MessageAuditor) -> None:
    auditor.begun("ann", "u")
    put(auditor, "a", "u", report="ad", reply_to="R")
    assert auditor.listing()["R"] == []
    auditor.committed("u")
    got(auditor, Wants("ann", 1))
    assert auditor.listing()["R"] == [("259 a", 0, 0), ("260 a", 0, 0)]
    put(auditor, "b", report="e", reply_to="NONE", expires_ms=5)
    auditor.passes(5)
    assert auditor.listing()["Q"] == []
    assert auditor.listing()[DEAD] == [("2085 258 b", 0, 0)]
