"""Browses over a lost connection, whose queue was another one of that name when there was a link
again: places of the old queue say nothing of the new one.
"""

import itertools
from collections.abc import Callable, Iterator

import pytest

import adapter
from adapter.client.browse import BATCH
from adapter.connection.channel.requests import Pending
from adapter.core import inputs
from adapter.core.contract import commands as c
from adapter.core.contract.message import MessageData
from adapter.core.contract.results import Refused
from tests.support.loopback import Loopback

Connect = Callable[..., adapter.Connection]
Browse = Callable[[adapter.Queue], Iterator[adapter.Message]]

OTHER = 999
"""The number of a connection."""


def cursor(queue: adapter.Queue) -> Iterator[adapter.Message]:
    return queue.browse()


def following(queue: adapter.Queue) -> Iterator[adapter.Message]:
    return queue.browse(timeout=None)


def do(server: Loopback, *commands: c.Command) -> None:
    """Do something that another client asks for, while none can connect."""

    def work() -> None:
        server.give(inputs.Connected(OTHER))
        numbers = itertools.count(1)
        for at, command in enumerate([c.SessionOpen(bytes(16)), *commands], 1):
            number = next(numbers) if Pending(command).durable else 0
            request = c.Request(OTHER, at, number, command)
            for reply in server._done(server.give(request)):
                assert not isinstance(reply.result, Refused), reply.result
        server.give(inputs.Disconnected(OTHER))

    server.call(work)


def puts(queue: str, bodies: list[bytes]) -> list[c.Command]:
    return [
        c.Open(1, queue, c.OUTPUT),
        *(c.Put(1, [MessageData(one)]) for one in bodies),
        c.Close(1),
    ]


def anew(bodies: list[bytes]) -> list[c.Command]:
    return [c.DeleteQueue("Q", True), c.DefineQueue("Q", {}), *puts("Q", bodies)]


def elsewhere(bodies: list[bytes]) -> list[c.Command]:
    alias = c.DefineObject("alias", "A", {"target": "R"}, replace=True)
    return [c.DefineQueue("R", {}), alias, *puts("R", bodies)]


@pytest.mark.parametrize("browse", [cursor, following])
@pytest.mark.parametrize(("name", "replace"), [("Q", anew), ("A", elsewhere), ("A", anew)])
@pytest.mark.parametrize("count", [1, BATCH // 2, BATCH + 20])
def test_each_message_of_the_new_queue_is_shown_once(
    server: Loopback,
    qm: adapter.Connection,
    browse: Browse,
    name: str,
    replace: Callable[[list[bytes]], list[c.Command]],
    count: int,
) -> None:
    qm.define_object("alias", "A", target="Q")
    old = [b"old %d" % one for one in range(BATCH)]
    qm.queue("Q").put_many(old)
    messages = browse(qm.queue(name))
    assert [next(messages).body for _ in old] == old
    server.crash()
    new = [b"new %d" % one for one in range(count)]
    do(server, *replace(new))
    server.start()
    assert [next(messages).body for _ in new] == new
    if browse is cursor:
        assert list(messages) == []


@pytest.mark.parametrize("browse", [cursor, following])
def test_the_same_queue_shows_only_what_was_not_shown(
    server: Loopback, qm: adapter.Connection, browse: Browse
) -> None:
    old = [b"old %d" % one for one in range(BATCH)]
    qm.define_object("alias", "A", target="Q")
    qm.queue("Q").put_many(old)
    messages = browse(qm.queue("A"))
    assert [next(messages).body for _ in old] == old
    server.crash()
    do(server, *puts("Q", [b"new"]))
    server.start()
    assert next(messages).body == b"new"
