"""Visitors: who counts as whom, what may be done, and what is noted of it."""

import pytest

from adapter.core.contract import authorities as a
from adapter.core.contract.authorities import AuthorityRecord
from adapter.core.contract.channel_rules import ChannelRule
from adapter.core.contract.parties import Party, Principal, Proof
from adapter.core.contract.visitors import VisitorRequest
from adapter.core.model.manager import QueueManager
from adapter.core.rules.objects.visitors import judge

ANN = Party("HTTP client", Principal("ann", Proof.PASSWORD), "10.1.1.1:5", host="10.1.1.1")


@pytest.fixture
def qm() -> QueueManager:
    made = QueueManager("QM1", b"owner")
    made.attributes.channel_rules = "ENABLED"
    made.authorities.are_checked = True
    return made


def asked(party: Party = ANN, bits: int = a.CHANGE) -> VisitorRequest:
    return VisitorRequest(party, "set the level", a.REGISTRY, "orders", bits)


def test_the_records_of_the_user_count(qm: QueueManager) -> None:
    denied = judge(qm, asked())
    assert (denied.is_allowed, [one.missing for one in denied.denied]) == (False, [a.CHANGE])
    qm.authorities.set(AuthorityRecord("or*", a.REGISTRY, "ann", False, a.CHANGE))
    allowed = judge(qm, asked())
    assert (allowed.is_allowed, allowed.denied) == (True, [])
    assert not judge(qm, asked(bits=a.CHANGE | a.DISPLAY)).is_allowed


def test_who_only_says_a_name_is_nobody(qm: QueueManager) -> None:
    qm.authorities.set(AuthorityRecord("**", a.REGISTRY, "ann", False, a.CHANGE))
    claimed = Party("HTTP client", Principal("ann"), host="10.1.1.1")
    judged = judge(qm, asked(claimed))
    assert judged.party is not None
    assert (judged.is_allowed, judged.party.user) == (False, "")


def test_nothing_is_asked_where_authorities_are_not_checked(qm: QueueManager) -> None:
    qm.authorities.are_checked = False
    judged = judge(qm, asked())
    assert (judged.is_allowed, judged.party) == (True, ANN)


def test_who_asks_for_nothing_has_to_be_let_in_alone(qm: QueueManager) -> None:
    assert judge(qm, VisitorRequest(ANN)).is_allowed
    qm.channel_rules.set(ChannelRule("*", "BLOCKADDR", addresses=["10.1.*"]))
    judged = judge(qm, VisitorRequest(ANN))
    assert (judged.party, judged.is_allowed, len(judged.denied)) == (None, False, 1)


def test_what_only_warns_is_noted(qm: QueueManager) -> None:
    qm.channel_rules.set(ChannelRule("*", "BLOCKADDR", addresses=["10.1.*"], warn=True))
    judged = judge(qm, VisitorRequest(ANN))
    assert (judged.is_allowed, len(judged.denied)) == (True, 1)


def test_nothing_of_the_state_changes(qm: QueueManager) -> None:
    judge(qm, asked())
    assert (qm.step.denied, qm.connections) == ([], {})
