"""The kinds of objects, and which of them share names."""

from adapter.core.attributes.objects import APPLICATION_TYPES, KINDS, TYPES, WITH_QUEUE_NAMES


def test_every_kind_has_its_table_and_its_type() -> None:
    assert list(KINDS) == list(TYPES)
    assert set(WITH_QUEUE_NAMES) <= set(KINDS)


def test_application_types_are_mqs() -> None:
    assert APPLICATION_TYPES["UNIX"] == 6
    assert APPLICATION_TYPES["OPENTP1"] == 15
    assert APPLICATION_TYPES["UNKNOWN"] == -1
