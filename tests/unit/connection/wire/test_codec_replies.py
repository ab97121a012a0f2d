"""Answers are put together in frames of bounded size, in their order, each of them once."""

import tracemalloc
from collections import deque

import pytest

from adapter.connection.wire import codec, frames
from adapter.core.contract.message import Delivered, MessageData
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Done, Messages, Refused

MOST = frames.FRAME_BYTES_MAX
Answers = deque[codec.Outgoing]


def of_size(request: int, size: int) -> codec.Outgoing:
    """An answer of about so many bytes."""
    message = Delivered(MessageData(body=bytes(size)), 0, 1, 0, 0, b"", 0, 1, 0, 1)
    return request, Messages([message])


def sent(answers: Answers) -> list[list[int]]:
    """The request numbers in each frame, until all are sent."""
    found = []
    while answers:
        (payload,) = codec.FrameBuffer().feed(codec.encode_replies(answers))
        frame = codec.decode_server_frame(payload)
        assert isinstance(frame, frames.AnyReplies)
        assert len(payload) <= frames.FRAME_BYTES_MAX
        found.append([answer.request for answer in frame.answers])
    return found


@pytest.mark.parametrize(
    ("sizes", "numbers"),
    [
        ([10], [[0]]),
        ([10, 10, 10], [[0, 1, 2]]),
        ([600_000, 600_000, 10], [[0, 1], [2]]),
        ([10, 8_000_000, 10], [[0, 1], [2]]),
        ([1_000_000, MOST - 900_000, 10], [[0], [1], [2]]),
        ([MOST - 216], [[0]]),
        ([MOST + 1, 10], [[0, 1]]),
    ],
)
def test_frames_of_bounded_size(sizes: list[int], numbers: list[list[int]]) -> None:
    assert sent(deque(of_size(at, size) for at, size in enumerate(sizes))) == numbers


@pytest.mark.parametrize("neighbours", [0, 1])
def test_an_answer_that_no_frame_can_carry_becomes_a_refusal(neighbours: int) -> None:
    answers: Answers = deque([of_size(7, frames.FRAME_BYTES_MAX + 1)])
    answers.extend((8, Done()) for _ in range(neighbours))
    (payload,) = codec.FrameBuffer().feed(codec.encode_replies(answers))
    frame = codec.decode_server_frame(payload)
    assert isinstance(frame, frames.AnyReplies)
    refused = frame.answers[0].result
    assert isinstance(refused, Refused)
    assert (frame.answers[0].request, refused.reason) == (7, Reason.LIMIT_REACHED)
    assert "ask for less at once" in refused.detail


@pytest.mark.parametrize("count", [1, 3])
def test_a_long_answer_is_in_memory_once_while_it_is_encoded(count: int) -> None:
    size = 6_000_000
    answers: Answers = deque(of_size(at, size) for at in range(count))
    tracemalloc.start()
    try:
        frame = codec.encode_replies(answers)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert size < len(frame) <= peak_bytes < 1.6 * size, "a buffer that grows may be half empty"


def test_figures_travel_with_answers() -> None:
    answers: Answers = deque([(1, Done()), (2, frames.Figures({"queues": 3}))])
    assert sent(answers) == [[1, 2]]
