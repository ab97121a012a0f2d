"""When an end speaks, and when the other is dead: counted in looks."""

from itertools import pairwise

import pytest

from adapter.connection.wire.codec import FrameBuffer, decode_client_frame, decode_server_frame
from adapter.connection.wire.frames import AnyReplies, Requests
from adapter.connection.wire.heartbeats import (
    CLIENT_DEAD,
    CLIENT_HEARTBEAT,
    LOOKS,
    LOOKS_MIN,
    SERVER_DEAD,
    SERVER_HEARTBEAT,
    Finding,
    Heartbeat,
    agreed_ms,
    looks_of,
)


def test_heartbeats_are_frames_that_say_nothing() -> None:
    (request,) = FrameBuffer().feed(CLIENT_HEARTBEAT)
    assert decode_client_frame(request) == Requests([])
    (reply,) = FrameBuffer().feed(SERVER_HEARTBEAT)
    assert decode_server_frame(reply) == AnyReplies([])


@pytest.mark.parametrize("looks", [LOOKS_MIN, 3, LOOKS, 10])
def test_an_end_that_says_nothing_speaks_within_an_interval(looks: int) -> None:
    """Also counted from right after a look, when the last thing may have been said."""
    heartbeat = Heartbeat(looks, SERVER_DEAD)
    said = 0
    found = []
    for heard in range(10 * looks):
        found.append(heartbeat.look(said, heard))
        said += found[-1] is Finding.SPEAK
    spoke = [at for at, one in enumerate(found) if one is Finding.SPEAK]
    assert spoke[0] + 1 <= looks
    assert {later - earlier for earlier, later in pairwise(spoke)} == {-(-looks * 3 // 4)}


def test_an_end_that_says_something_need_not_speak() -> None:
    heartbeat = Heartbeat(LOOKS, SERVER_DEAD)
    assert {heartbeat.look(at, at) for at in range(100)} == {Finding.NOTHING}


@pytest.mark.parametrize(
    ("looks", "dead", "after"), [(LOOKS_MIN, CLIENT_DEAD, 6), (LOOKS, SERVER_DEAD, 10), (3, 2.5, 7)]
)
def test_an_end_that_is_not_heard_for_some_intervals_is_dead(
    looks: int, dead: float, after: int
) -> None:
    heartbeat = Heartbeat(looks, dead)
    heartbeat.look(0, 1)
    found = [heartbeat.look(at, 1) for at in range(1, after + 1)]
    assert found[-1] is Finding.DEAD
    assert Finding.DEAD not in found[:-1]


def test_one_byte_is_a_sign_of_life() -> None:
    heartbeat = Heartbeat(LOOKS, SERVER_DEAD)
    for at in range(10):
        for _ in range(5 * LOOKS // 2):
            assert heartbeat.look(0, at) is not Finding.DEAD


def test_an_excused_end_has_all_the_time_again() -> None:
    heartbeat = Heartbeat(LOOKS, SERVER_DEAD)
    heartbeat.look(0, 0)
    for at in range(5 * LOOKS // 2 - 1):
        heartbeat.look(at, 0)
    heartbeat.excuse()
    for at in range(5 * LOOKS // 2 - 1):
        assert heartbeat.look(at, 0) is not Finding.DEAD
    assert heartbeat.is_quiet
    assert heartbeat.look(0, 0) is Finding.DEAD


@pytest.mark.parametrize(
    ("one", "other", "agreed"), [(0, 0, 0), (1000, 0, 0), (0, 1000, 0), (1000, 5000, 5000)]
)
def test_the_longer_interval_counts_and_none_if_an_end_wants_none(
    one: int, other: int, agreed: int
) -> None:
    assert agreed_ms(one, other) == agreed_ms(other, one) == agreed


def test_there_are_two_looks_at_least() -> None:
    assert looks_of(1000, 0.25) == LOOKS
    assert looks_of(1000, 5.0) == LOOKS_MIN
    assert looks_of(10_000, 0.25) == 10 * LOOKS
    assert looks_of(0, 0.25) == 0
