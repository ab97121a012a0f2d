"""What type checkers are told of attributes is what the queue manager takes."""

from typing import Annotated, Any, get_args, get_origin, get_type_hints

import pytest
from msgspec import Struct
from msgspec.structs import fields

from adapter.client import attributes as told
from adapter.core.attributes.objects import QueueManagerAttributes
from adapter.core.attributes.queue import QueueAttributes
from adapter.core.attributes.table import Attribute, Dated


def rows(table: type[Struct]) -> dict[str, tuple[Any, Attribute]]:
    """Type and description of each attribute, by name."""
    found = {}
    for field in fields(table):
        if field.name in Dated.__struct_fields__:
            continue
        assert get_origin(field.type) is Annotated
        kind, *notes = get_args(field.type)
        found[field.name] = kind, next(one for one in notes if isinstance(one, Attribute))
    return found


@pytest.mark.parametrize(
    ("kind", "table", "by_set"),
    [
        (told.QueueDefinition, QueueAttributes, False),
        (told.QueueSettings, QueueAttributes, True),
        (told.QueueManagerSettings, QueueManagerAttributes, False),
    ],
)
def test_the_types_are_those_of_the_table(kind: type, table: type[Struct], by_set: bool) -> None:
    assert get_type_hints(kind) == {
        name: kind
        for name, (kind, attribute) in rows(table).items()
        if not attribute.fixed and (attribute.by_set or not by_set)
    }
