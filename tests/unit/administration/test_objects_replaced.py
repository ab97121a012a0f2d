"""DEFINE with REPLACE: what is not given is as of a new object, for each attribute of each kind."""

from typing import Any

import pytest

import adapter
from adapter.administration import objects
from adapter.administration.kinds import DEFINED, Kind
from adapter.core.attributes.table import AttributeRow
from adapter.errors import Error
from tests.support.attribute_samples import given_rows, needed, samples

KINDS = {kind.word: kind for kind in DEFINED.values() if kind.word != "QMGR"}
SUBSCRIPTION = {"topic_string": "news", "destination": "Q"}


def first_value(row: AttributeRow) -> Any:
    """A value that is not the default."""
    return next(value for value in [*samples(row), object()] if value != row.default)


def values(qm: adapter.Connection, kind: Kind, name: str) -> dict[str, Any]:
    (found,) = objects.find(qm, kind, name)
    return {row.name: found.values[row.name] for row in given_rows(kind.given)}


@pytest.mark.parametrize("word", KINDS)
def test_what_is_not_given_is_as_of_a_new_object(qm: adapter.Connection, word: str) -> None:
    kind = KINDS[word]
    qm.define_queue("Q")
    least = SUBSCRIPTION if word == "SUB" else needed(kind.kind)
    objects.define(qm, kind, "NEW", least, replace=False)
    new = values(qm, kind, "NEW")
    objects.delete(qm, kind, "NEW", purge=False)
    changed = 0
    for row in given_rows(kind.given):
        if row.name in objects.KEPT.get(kind.kind, ()) or row.name in least:
            continue
        try:
            objects.define(qm, kind, "T", least | {row.name: first_value(row)}, replace=True)
        except Error:
            continue  # not by itself
        changed += values(qm, kind, "T") != new
        objects.define(qm, kind, "T", least, replace=True)
        assert values(qm, kind, "T") == new, row.name
    assert changed, "something was reset"


def test_the_default_object_says_what_a_replaced_one_gets(qm: adapter.Connection) -> None:
    kind = DEFINED["QLOCAL"]
    objects.define(qm, kind, "A", {"max_depth": 7, "inhibit_put": True}, replace=False)
    qm.alter_queue("SYSTEM.DEFAULT.LOCAL.QUEUE", max_depth=8, description="the default")
    objects.define(qm, kind, "A", {"backout_threshold": 2}, replace=True)
    found = values(qm, kind, "A")
    assert [found[name] for name in ("max_depth", "inhibit_put", "backout_threshold")] == [
        8,
        False,
        2,
    ]
    assert found["description"] == ""


def test_messages_stay_on_a_replaced_queue(qm: adapter.Connection) -> None:
    kind = DEFINED["QLOCAL"]
    objects.define(qm, kind, "A", {"max_depth": 7}, replace=False)
    qm.put("A", "x")
    objects.define(qm, kind, "A", {}, replace=True)
    assert qm.queue("A").depth() == 1


def test_a_subscription_stays_the_one_that_it_is(qm: adapter.Connection) -> None:
    kind = DEFINED["SUB"]
    qm.define_queue("Q")
    given = SUBSCRIPTION | {"user_data": "u", "selector": "a = 1"}
    objects.define(qm, kind, "S", given, replace=False)
    objects.define(qm, kind, "S", {}, replace=True)
    found = values(qm, kind, "S")
    assert (found["topic_string"], found["selector"]) == ("news", "a = 1")
    assert found["user_data"] == ""
