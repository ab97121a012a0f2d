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
