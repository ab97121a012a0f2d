"""The directory takes whatever any writer of its topic has written."""

import random

import pytest

from adapter.runtime.network.directory import (
    Directory,
    DirectoryEntry,
    by_computer,
    entry_record,
    route_record,
)
from tests.support.examples import examples

VALUES = (
    b"",
    b"null",
    b'{"queue_manager":"\xff"}',
    b'{"source":"\xed\xa0\x80","destination":"QMB"}',
    b"\xff",
    b"[" * 100_000,
    b'{"x":' + b"[" * 100_000,
    b'{"queue_manager":"QMA","x":' + b'{"a":' * 50_000,
    b'{"queue_manager":"\\ud800"}',
    b'{"version":1e999}',
    b'{"version":NaN}',
    b'{"queue_manager":7}',
    b'{"queue_manager":"QMA","version":2,"address":"later"}',
    b'{"source":"QMA","destination":"QMB","version":2}',
    b'{"source":null,"destination":"QMB"}',
)
KEYS = (
    None,
    b"",
    b"\xff\xff",
    b"queue-manager",
    b"queue-manager QMA",
    b"route",
    b"route QMA QMB",
    b"x",
)


@pytest.mark.parametrize("seed", range(examples(20)))
def test_what_cannot_be_read_is_left_out(seed: int) -> None:
    chance = random.Random(seed)
    directory = Directory()
    known = entry_record(DirectoryEntry("QM1", "127.0.0.1:1414"))
    directory.take(known.key, known.value)
    for _ in range(30):
        directory.take(chance.choice(KEYS), chance.choice(VALUES))
        assert directory.entry("QM1") == DirectoryEntry("QM1", "127.0.0.1:1414")
        assert directory.entry("QMA") is None
        assert not directory.sources("QMB")


def test_a_route_that_is_forgotten_is_no_source_any_more() -> None:
    directory = Directory()
    for source in ("QMA", "QMC"):
        route = route_record(source, "QMB")
        directory.take(route.key, route.value)
    directory.take(route_record("QMA", "QMB").key, None)
    assert set(directory.sources("QMB")) == {"QMC"}


def test_a_computer_is_found_by_its_former_names_where_no_other_has_them() -> None:
    directory = Directory()
    assert by_computer([]) == {}
    for entry in (
        DirectoryEntry("QM1", computer="Now", former_computers=("qm1", "then", "taken")),
        DirectoryEntry("QM2", computer="TAKEN"),
        DirectoryEntry("QM3"),
    ):
        record = entry_record(entry)
        directory.take(record.key, record.value)
    found = {name: directory.of_computer(name) for name in ("now", "QM1", "Then", "taken", "qm3")}
    assert found == {"now": "QM1", "QM1": "QM1", "Then": "QM1", "taken": "QM2", "qm3": "QM3"}
    assert directory.of_computer("QM2") == ""


def test_an_entry_of_an_earlier_release_has_no_former_names() -> None:
    directory = Directory()
    directory.take(b"queue-manager QM1", b'{"version":1,"queue_manager":"QM1","computer":"C"}')
    assert directory.entry("QM1") == DirectoryEntry("QM1", computer="C")
    assert directory.of_computer("c") == "QM1"
