"""What is put aside goes to another queue than the one that it came from."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import adapter
from adapter import testing
from adapter.client.aside import leads_to, put_aside
from adapter.client.unit_steps import carry_out
from tests.drivers import Threads
from tests.support.few_rights import as_ann
from tests.support.ways_back import WAYS, define_ways, way

NAMES = [label for label, (_, manager, _) in WAYS.items() if not manager and "topic" not in label]


@pytest.fixture
def qm() -> Iterator[adapter.Connection]:
    with testing.queue_manager("QM1") as manager, manager.connect() as connection:
        connection.define_queue("Q")
        yield connection


@pytest.mark.parametrize("label", NAMES)
def test_whether_a_name_leads_to_the_queue_of_a_message(qm: adapter.Connection, label: str) -> None:
    define_ways(qm, "Q")
    name, _, is_reached = way(label, "Q", "QM1")
    with qm.unit() as unit:
        assert carry_out(unit, leads_to(unit.channel, name, "Q")) == is_reached
        assert not carry_out(unit, leads_to(unit.channel, "NONE", "Q"))


def test_who_may_not_say_for_whom_puts_as_the_own_user(tmp_path: Path) -> None:
    with as_ann(Threads(), tmp_path, "get") as (operator, ann):
        operator.put("Q", "a", user="bob", expiry_s=60)
        with ann.unit() as unit:
            message = ann.get("Q", unit=unit)
            assert message is not None
            carry_out(unit, put_aside(unit, "FAILED", message))
        moved = operator.get("FAILED")
        assert moved is not None
        assert (moved.body, moved.user, moved.expiry_s) == (b"a", "ann", 60)
