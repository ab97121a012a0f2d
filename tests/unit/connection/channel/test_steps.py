"""Verbs as steps, driven by a thread."""

from collections.abc import Sequence
from typing import cast

import pytest

import adapter
from adapter import errors as e
from adapter.connection.channel.channel import Channel
from adapter.connection.channel.requests import Pending
from adapter.connection.channel.steps import ROOM, Steps, ask, exchange, run
from adapter.core.contract import commands as c
from adapter.core.contract.results import Descriptions, Statuses
from tests.support.loopback import Loopback


def test_a_verb_asks_and_reads_the_answers(server: Loopback, qm: adapter.Connection) -> None:
    channel = qm._channel

    def names() -> Steps[list[str]]:
        found = yield from ask(channel, c.Inquire("*", False), Descriptions)
        more = [Pending(c.AskStatus(queue.name, False, False)) for queue in found.queues]
        yield from exchange(channel, more)
        return [channel.result(one, Statuses).queues[0].name for one in more]

    assert run(channel, names()) == ["Q"]
    assert (server.count(c.Inquire), server.count(c.AskStatus)) == (1, 1)


def test_it_yields_first_room_and_then_what_it_has_sent(qm: adapter.Connection) -> None:
    steps = ask(qm._channel, c.Inquire("*", False), Descriptions)
    assert next(steps) is ROOM
    (request,) = next(steps)
    assert request.request > 0
    qm._channel.await_all([request])
    with pytest.raises(StopIteration) as end:
        next(steps)
    assert end.value.value.queues[0].name == "Q"


def test_an_error_reaches_the_caller(qm: adapter.Connection) -> None:
    with pytest.raises(e.QueueNotFound):
        run(qm._channel, ask(qm._channel, c.PurgeQueue("MISSING"), Descriptions))


class Interrupted:
    """A channel whose waits Ctrl-C ends."""

    def await_all(self, _requests: Sequence[Pending]) -> None:
        raise KeyboardInterrupt


def test_a_verb_that_is_left_can_tidy_up() -> None:
    ended = []

    def verb() -> Steps[None]:
        try:
            yield ROOM
        finally:
            ended.append("ended")

    with pytest.raises(KeyboardInterrupt) as caught:
        run(cast("Channel", Interrupted()), verb())
    assert ended == ["ended"], "at once, though the traceback still refers to the steps"
    del caught
