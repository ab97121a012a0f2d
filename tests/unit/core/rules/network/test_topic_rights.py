"""Rights on topics: those of all topic objects at and above a place count together."""

import pytest

from adapter.core.contract import authorities as a
from adapter.core.contract import commands as c
from adapter.core.contract.parties import Principal, Proof
from adapter.core.contract.reasons import Refusal
from adapter.core.rules.network import topic_rights
from adapter.core.rules.primitives.access import Asker
from tests.support.authorities import checked, set_records


def test_objects_above_grant_what_is_below() -> None:
    client = checked()
    client.do(c.DefineObject("topic", "A", {"topic_string": "a"}))
    client.do(c.DefineObject("topic", "B", {"topic_string": "a/b"}))
    set_records(client.core, ("topic", "A", ("pub",)), ("topic", "B", ("sub",)))
    qm = client.core.qm
    asker = Asker(qm, client.number, Principal("ada", Proof.PASSWORD), "Test")
    both = a.PUBLISH | a.SUBSCRIBE
    assert topic_rights.missing_of(qm, asker, "a/b/c", both) == 0
    assert topic_rights.missing_of(qm, asker, "a/b/c", both, but="B") == a.SUBSCRIBE
    assert topic_rights.missing_of(qm, asker, "a", both) == a.SUBSCRIBE
    topic_rights.require_object(qm, asker, "B", both)
    for name in ("A", "LATER"):
        with pytest.raises(Refusal):
            topic_rights.require_object(qm, asker, name, both)
