"""Attributes whose feature does not exist here: one value of each holds."""

from adapter.core.attributes.objects import KINDS
from adapter.core.attributes.table import problem_with
from adapter.core.attributes.unsupported import UNSUPPORTED


def test_every_kind_has_a_table() -> None:
    assert list(UNSUPPORTED) == list(KINDS)


def test_nothing_is_both_supported_and_unsupported() -> None:
    for kind, table in UNSUPPORTED.items():
        keywords = {row.attribute.keyword for row in KINDS[kind].values()}
        numbers = {row.attribute.number for row in KINDS[kind].values()} - {0}
        assert not keywords & set(table), kind
        assert not numbers & {row.attribute.number for row in table.values()}, kind


def test_the_value_that_holds_is_one_that_the_row_takes() -> None:
    for kind, table in UNSUPPORTED.items():
        for row in table.values():
            assert problem_with(table, kind, row.name, row.default) is None
            assert len(row.attribute.numbers) == len(row.choices)
