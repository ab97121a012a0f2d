"""The layouts of a trigger message are the manual's, byte for byte."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter.core.mq_layouts.trigger_message import (
    TM_LENGTH,
    TMC2_LENGTH,
    TriggerFields,
    from_tm,
    from_tmc2,
    to_tm,
    to_tmc2,
)

EXAMPLE = TriggerFields(
    queue="ORDERS",
    process="ORDERS.WORKER",
    trigger_data="daily",
    appl_type=6,
    appl_id="/opt/orders/worker",
    env_data="-v &",
    user_data="south",
    queue_manager="QM1",
)


def text(length: int) -> st.SearchStrategy[str]:
    """Text that fits a field and survives it: no NUL, no blank at its end, nothing private."""
    characters = st.characters(exclude_characters="\0", exclude_categories=["Cs", "Co"])
    return (
        st.text(characters, max_size=length)
        .map(lambda found: found.rstrip(" "))
        .filter(lambda found: len(found.encode()) <= length)
    )


messages = st.builds(
    TriggerFields,
    queue=text(48),
    process=text(48),
    trigger_data=text(64),
    appl_type=st.integers(-(2**31), 2**31 - 1),
    appl_id=text(256),
    env_data=text(128),
    user_data=text(128),
)


def test_every_field_of_an_mqtm_is_where_the_manual_has_it() -> None:
    data = to_tm(EXAMPLE)
    assert len(data) == TM_LENGTH == 684
    assert data[:8] == b"TM  \x01\0\0\0"
    assert data[8:56] == b"ORDERS".ljust(48)
    assert data[56:104] == b"ORDERS.WORKER".ljust(48)
    assert data[104:168] == b"daily".ljust(64)
    assert data[168:172] == struct.pack("<i", 6)
    assert data[172:428] == b"/opt/orders/worker".ljust(256)
    assert data[428:556] == b"-v &".ljust(128)
    assert data[556:684] == b"south".ljust(128)


def test_every_field_of_an_mqtmc2_is_where_the_manual_has_it() -> None:
    data = to_tmc2(EXAMPLE)
    assert len(data) == TMC2_LENGTH == 732
    assert data[:8] == b"TMC    2"
    assert data[8:56] == b"ORDERS".ljust(48)
    assert data[56:104] == b"ORDERS.WORKER".ljust(48)
    assert data[104:168] == b"daily".ljust(64)
    assert data[168:172] == b"6   "
    assert data[172:428] == b"/opt/orders/worker".ljust(256)
    assert data[428:556] == b"-v &".ljust(128)
    assert data[556:684] == b"south".ljust(128)
    assert data[684:732] == b"QM1".ljust(48)


@given(messages)
def test_what_was_written_as_mqtm_is_read(message: TriggerFields) -> None:
    assert from_tm(to_tm(message)) == message


@given(messages, text(48))
def test_what_was_written_as_mqtmc2_is_read(message: TriggerFields, manager: str) -> None:
    """ApplType has four characters there: a longer number is not told."""
    read = from_tmc2(to_tmc2(message))
    number = message.appl_type if len(str(message.appl_type)) <= 4 else -1
    fields = {name: getattr(message, name) for name in message.__struct_fields__}
    assert read == TriggerFields(**fields | {"appl_type": number})
    named = TriggerFields(**fields | {"queue_manager": manager})
    assert from_tmc2(to_tmc2(named)).queue_manager == manager


@given(messages)
def test_an_mqtm_of_a_machine_with_the_other_order_of_bytes_is_read(
    message: TriggerFields,
) -> None:
    data = bytearray(to_tm(message))
    data[4:8] = data[4:8][::-1]
    data[168:172] = data[168:172][::-1]
    assert from_tm(bytes(data)) == message


@given(st.binary(max_size=800))
def test_other_bytes_are_refused_with_the_reason(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"MQTM is 684 bytes|MQTM begins with"):
        from_tm(data)
    with pytest.raises(ValueError, match="MQTMC2 is 732 characters"):
        from_tmc2(data)


@pytest.mark.parametrize(("at", "byte"), [(0, b"X"), (4, b"\x02")])
def test_another_structure_or_version_of_this_length_is_refused(at: int, byte: bytes) -> None:
    data = to_tm(EXAMPLE)
    with pytest.raises(ValueError, match="begins with"):
        from_tm(data[:at] + byte + data[at + 1 :])


def test_blanks_that_a_launcher_cut_off_are_not_missed() -> None:
    assert from_tmc2(to_tmc2(EXAMPLE).rstrip()) == EXAMPLE


def test_what_does_not_fit_is_cut_between_characters() -> None:
    message = TriggerFields(queue="Q", trigger_data="é" * 40)
    assert from_tm(to_tm(message)).trigger_data == "é" * 32
    message = TriggerFields(queue="Q", trigger_data="x" + "é" * 40)
    assert from_tm(to_tm(message)).trigger_data == "x" + "é" * 31
