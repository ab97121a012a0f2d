"""Queues that frameworks declare: looked for first, and defined if they are missing."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import adapter
from adapter import testing
from adapter.errors import NotAuthorized
from adapter.frameworks import queues
from adapter.server.access import credentials
from adapter.testing import TestQueueManager
from tests.support.passwords import hash_cheaply


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[TestQueueManager]:
    """A queue manager that checks what ann may do."""
    credentials.write(tmp_path / "users", {"ann": hash_cheaply("secret")})
    checked: dict[str, Any] = {"credentials_file": tmp_path / "users", "authorities": True}
    with testing.queue_manager("QM1", **checked, unix_path=tmp_path / "socket") as running:
        yield running


@pytest.fixture
def operator(manager: TestQueueManager, tmp_path: Path) -> Iterator[adapter.Connection]:
    """The operator, who has defined a queue Q and its alias A."""
    assert manager.address
    with adapter.connect(f"unix:{tmp_path / 'socket'}") as operator:
        operator.define_queue("Q", max_depth=7, backout_requeue_queue="BAD")
        operator.define_object("alias", "A", target="Q")
        operator.set_authority("SELF", "qmgr", users=["ann"], add=["connect"])
        yield operator


@pytest.fixture
def ann(manager: TestQueueManager, operator: adapter.Connection) -> Iterator[adapter.Connection]:
    assert operator.name  # who lets ann connect
    with adapter.connect(manager.address, user="ann", password="secret") as connection:
        yield connection


@pytest.mark.parametrize("name", ["Q", "A"])
def test_what_exists_is_neither_defined_nor_changed(
    operator: adapter.Connection, name: str
) -> None:
    assert queues.exists(operator, name)
    queues.define(operator, name, max_depth=5)
    assert operator.queues("Q")[0].attributes["max_depth"] == 7


def test_what_is_missing_is_defined(operator: adapter.Connection) -> None:
    assert not queues.exists(operator, "NEW")
    queues.define(operator, "NEW", max_depth=5)
    assert operator.queues("NEW")[0].attributes["max_depth"] == 5


@pytest.mark.parametrize("right", ["get", "put"])
def test_a_user_who_may_only_work_on_a_queue_can_declare_it(
    operator: adapter.Connection, ann: adapter.Connection, right: str
) -> None:
    operator.set_authority("Q", users=["ann"], add=[right])
    assert queues.exists(ann, "Q")
    queues.define(ann, "Q")
    with pytest.raises(NotAuthorized):
        queues.define(ann, "NEW")


def test_whether_there_is_a_queue_is_not_told_to_who_may_do_nothing_with_it(
    ann: adapter.Connection,
) -> None:
    with pytest.raises(NotAuthorized):
        queues.exists(ann, "Q")
    with pytest.raises(NotAuthorized):
        queues.define(ann, "Q")


@pytest.mark.parametrize(("name", "expected"), [("Q", "BAD"), ("A", "BAD"), ("BAD", "")])
def test_the_backout_queue_of_an_alias_is_that_of_its_queue(
    operator: adapter.Connection, name: str, expected: str
) -> None:
    operator.define_queue("BAD")
    assert queues.backout_queue(operator, name) == expected


@pytest.mark.parametrize(("name", "expected"), [("Q", "Q"), ("A", "Q"), ("NONE", "NONE")])
def test_an_alias_leads_to_its_queue(
    operator: adapter.Connection, name: str, expected: str
) -> None:
    assert queues.local_name(operator, name) == expected


def test_where_an_alias_leads_is_not_told_to_who_may_not_see_it(
    operator: adapter.Connection, ann: adapter.Connection
) -> None:
    operator.set_authority("A", users=["ann"], add=["put", "get"])
    assert queues.local_name(ann, "A") == "A"
