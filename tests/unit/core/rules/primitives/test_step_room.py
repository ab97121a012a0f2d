"""What one step moves: a step is over when either messages or bytes are used up."""

from adapter.core.rules.primitives.step_room import BYTES_PER_STEP, StepRoom


def test_a_step_is_over_after_so_many_messages() -> None:
    room = StepRoom(2)
    room.take(1)
    assert not room.is_over
    room.take(1)
    assert room.is_over


def test_a_step_is_over_after_so_many_bytes() -> None:
    room = StepRoom(2)
    room.take(BYTES_PER_STEP)
    assert room.is_over


def test_there_is_room_for_what_fits_in_both() -> None:
    room = StepRoom(10, 100)
    room.take(90, 8)
    assert room.has(10, 2)
    assert not room.has(11)
    assert not room.has(1, 3)
