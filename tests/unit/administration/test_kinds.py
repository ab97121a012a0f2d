"""Every kind: keywords, numbers and names are its own."""

import pytest

from adapter.administration.kinds import DEFINED, Kind
from adapter.administration.status_kinds import (
    CONNECTION_HANDLES,
    QUEUE_HANDLES,
    QUEUE_TOTALS,
    STATUS_KINDS,
)
from adapter.core.attributes.objects import KINDS

EVERY = [*DEFINED.values(), *STATUS_KINDS, QUEUE_HANDLES, CONNECTION_HANDLES, QUEUE_TOTALS]


def test_every_kind_of_core_has_a_word() -> None:
    assert {one.kind for one in DEFINED.values()} == set(KINDS)


@pytest.mark.parametrize("kind", EVERY, ids=lambda one: one.kind)
def test_keywords_and_numbers_stand_for_one_attribute(kind: Kind) -> None:
    keywords = [row.attribute.keyword for row in kind.rows.values()]
    numbers = [row.attribute.number for row in kind.rows.values()] + [kind.name_number]
    assert len(set(keywords)) == len(keywords)
    assert len(set(numbers)) == len(numbers)
    for row in kind.rows.values():
        assert kind.by_keyword(row.attribute.keyword) is row
        assert kind.by_number(row.attribute.number) is row


@pytest.mark.parametrize("kind", DEFINED.values(), ids=lambda one: one.word)
def test_a_bare_word_is_a_value(kind: Kind) -> None:
    for row in kind.given.values():
        if row.attribute.bare:
            off, on = row.attribute.words
            assert kind.by_bare_word(on) == (row, True)
            assert kind.by_bare_word(off) == (row, False)
    assert kind.by_bare_word("FISH") is None
