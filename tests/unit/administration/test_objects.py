"""Names, ids and open options."""

import pytest

import adapter
import adapter.testing
from adapter.administration import objects, status
from adapter.administration.kinds import DEFINED
from adapter.core.contract import commands as c
from adapter.errors import InvalidName, ObjectNotFound


@pytest.mark.parametrize(
    ("modes", "options"),
    [
        (c.INPUT, 2),
        (c.INPUT | c.EXCLUSIVE, 4),
        (c.OUTPUT, 16),
        (c.BROWSE | c.INQUIRE | c.SET, 8 + 32 + 64),
        (c.INPUT | c.OUTPUT, 2 + 16),
    ],
)
def test_open_options_are_those_of_the_manual(modes: int, options: int) -> None:
    assert status.open_options(modes) == options


def test_a_connection_has_24_bytes() -> None:
    prefix = status.extended_id("QM1")
    assert prefix == b"MQK QM1         "
    assert len(status.extended_id("A" * 48)) == 16
    assert status.connection_id(255) == "00000000000000FF"


def test_patterns_have_one_star_at_their_end() -> None:
    with adapter.testing.queue_manager("QM1") as manager, manager.connect() as qm:
        for word in ("QLOCAL", "QALIAS", "PROCESS"):
            for pattern in ("A?", "[A]", "*A", "", "A B"):
                with pytest.raises(InvalidName):
                    objects.find(qm, DEFINED[word], pattern)
        with pytest.raises(ObjectNotFound):
            objects.attributes_like(qm, DEFINED["PROCESS"], "NONE")


def test_a_subscription_like_another_is_on_its_topic(qm: adapter.Connection) -> None:
    qm.define_queue("LIKE.Q")
    qm.define_object("topic", "LIKE.T", topic_string="base")
    subscription = DEFINED["SUB"]
    objects.define(
        qm,
        subscription,
        "S1",
        {"topic_object": "LIKE.T", "topic_string": "x", "destination": "LIKE.Q"},
        False,
    )
    managed = {"topic_string": "x", "destination_class": "MANAGED"}
    objects.define(qm, subscription, "M1", managed, False)
    for like, new in (("S1", "S2"), ("M1", "M2")):
        given = objects.attributes_like(qm, subscription, like)
        objects.define(qm, subscription, new, given, False)
    found = {one.name: one.attributes for one in qm.objects("subscription")}
    assert found["S2"]["topic_string"] == found["S1"]["topic_string"] == "base/x"
    assert found["S2"]["destination"] == "LIKE.Q"
    assert found["M2"]["destination_class"] == "MANAGED"
    assert found["M2"]["destination"] != found["M1"]["destination"]
