"""Where the fields of a message are said to be, they are."""

from adapter.core.contract import message_fields
from adapter.core.contract.message import MessageData


def test_each_field_that_is_named_is_in_its_place() -> None:
    named = {name.lower(): at for name, at in vars(message_fields).items() if name.isupper()}
    assert named
    fields = MessageData.__struct_fields__
    assert named == {name: fields.index(name) for name in named}
