"""Message handles: what they hold, and what is no property."""

from typing import Any

import pytest

from adapter import mq_constants as mq
from adapter.mqi.message_handles import HANDLES_MAX, MessageHandles
from adapter.mqi.reasons import MqiFailure


def reason(call: Any, *arguments: Any) -> int:
    with pytest.raises(MqiFailure) as refused:
        call(*arguments)
    return refused.value.reason


def test_the_folder_usr_need_not_be_said() -> None:
    handles = MessageHandles()
    number = handles.create(1)
    handles.set(1, number, "usr.a", mq.MQTYPE_STRING, "1")
    handles.set(1, number, "jms.b", mq.MQTYPE_STRING, "2")
    assert handles.properties_to_put(1, number, 0) == {"a": "1", "jms.b": "2"}
    assert handles.find(1, number, "a", 0)[0] == "a"
    assert handles.find(1, number, "usr.a", 0)[0] == "a"
    assert handles.find(1, number, "jms.%", 0)[0] == "jms.b"
    assert handles.find(1, number, "usr.%", 0)[0] == "a"


def test_new_properties_come_over_those_of_the_original() -> None:
    handles = MessageHandles()
    original, new = handles.create(1), handles.create(1)
    handles.set(1, original, "a", mq.MQTYPE_STRING, "old")
    handles.set(1, original, "b", mq.MQTYPE_STRING, "old")
    handles.set(1, new, "b", mq.MQTYPE_STRING, "new")
    assert handles.properties_to_put(1, original, new) == {"a": "old", "b": "new"}
    assert handles.properties_to_put(1, handles.create(1), 0) is None


def test_a_get_replaces_what_a_handle_holds() -> None:
    handles = MessageHandles()
    number = handles.create(1)
    handles.set(1, number, "a", mq.MQTYPE_STRING, "old")
    handles.get(number, 1).take({"b": 2})
    assert reason(handles.find, 1, number, "a", 0) == mq.MQRC_PROPERTY_NOT_AVAILABLE
    assert handles.find(1, number, "b", 0)[1].type == mq.MQTYPE_INT32


def test_the_cursor() -> None:
    handles = MessageHandles()
    number = handles.create(1)
    for name in "abc":
        handles.set(1, number, name, mq.MQTYPE_STRING, name)
    assert handles.find(1, number, "%", 0)[0] == "a"
    assert handles.find(1, number, "%", mq.MQIMPO_INQ_NEXT)[0] == "b"
    assert handles.find(1, number, "", mq.MQIMPO_INQ_PROP_UNDER_CURSOR)[0] == "b"
    handles.unset(1, number, "", under_cursor=True)
    under = mq.MQIMPO_INQ_PROP_UNDER_CURSOR
    assert reason(handles.find, 1, number, "", under) == mq.MQRC_PROPERTY_NOT_AVAILABLE


def test_handles_belong_to_their_connection() -> None:
    handles = MessageHandles()
    number = handles.create(1)
    assert reason(handles.delete, 2, number) == mq.MQRC_HMSG_ERROR
    loose = handles.create(mq.MQHC_UNASSOCIATED_HCONN)
    handles.forget(1)
    assert reason(handles.get, number, 1) == mq.MQRC_HMSG_ERROR
    handles.delete(2, loose)


class Meanwhile(int):
    """A connection; whenever it is compared, another thread has made a handle."""

    handles: MessageHandles
    made: list[int]

    def __eq__(self, other: object) -> bool:
        self.made.append(self.handles.create(2))
        return int(self) == other

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(int(self))


def test_other_threads_make_handles_while_those_of_a_connection_are_forgotten() -> None:
    connection = Meanwhile(1)
    handles = connection.handles = MessageHandles()
    made = connection.made = list[int]()
    numbers = [handles.create(1) for _ in range(3)]
    handles.forget(connection)
    assert [reason(handles.get, number, 1) for number in numbers] == [mq.MQRC_HMSG_ERROR] * 3
    assert len(made) >= 3
    for number in made:
        handles.delete(2, number)


def test_there_is_a_most() -> None:
    handles = MessageHandles()
    for _ in range(HANDLES_MAX):
        handles.create(1)
    assert reason(handles.create, 1) == mq.MQRC_HMSG_NOT_AVAILABLE


@pytest.mark.parametrize(
    ("kind", "value", "refused"),
    [
        (mq.MQTYPE_INT8, 300, mq.MQRC_PROP_NUMBER_FORMAT_ERROR),
        (mq.MQTYPE_INT32, "5", mq.MQRC_PROP_NUMBER_FORMAT_ERROR),
        (77, 1, mq.MQRC_PROPERTY_TYPE_ERROR),
    ],
)
def test_values_that_are_none_of_their_type(kind: int, value: Any, refused: int) -> None:
    handles = MessageHandles()
    assert reason(handles.set, 1, handles.create(1), "a", kind, value) == refused


def test_the_type_of_a_number_that_came_is_only_guessed() -> None:
    handles = MessageHandles()
    number = handles.create(1)
    handles.set(1, number, "set", mq.MQTYPE_INT32, 5)
    assert not handles.find(1, number, "set", 0)[1].is_of(mq.MQTYPE_INT64)
    handles.get(number, 1).take({"whole": 300, "part": 0.5, "wide": 1e300, "text": "1"})
    of = {name: handles.find(1, number, name, 0)[1] for name in ("whole", "part", "wide", "text")}
    assert of["whole"].is_of(mq.MQTYPE_INT16)
    assert not of["whole"].is_of(mq.MQTYPE_INT8)
    assert not of["whole"].is_of(mq.MQTYPE_FLOAT64)
    assert of["part"].is_of(mq.MQTYPE_FLOAT32)
    assert not of["part"].is_of(mq.MQTYPE_INT32)
    assert not of["wide"].is_of(mq.MQTYPE_FLOAT32)
    assert not of["text"].is_of(mq.MQTYPE_INT32)
