"""Tokens of a queue of claims: one set of them, whatever programs make it at once."""

import threading
from collections.abc import Iterator

import pytest

import adapter
from adapter import errors as e
from adapter import testing
from adapter.connection.channel.channel import Channel
from adapter.connection.channel.steps import run
from adapter.core.contract import commands as c
from adapter.kafka import claims
from adapter.kafka.claims import TOKENS, prepare, token_of
from tests.support.loopback import Loopback, OnCommand, loopback

QUEUE = "CLAIMS"


@pytest.fixture
def manager() -> Iterator[testing.TestQueueManager]:
    with testing.queue_manager() as running:
        yield running


@pytest.fixture
def server() -> Iterator[Loopback]:
    with loopback() as running:
        yield running


def channel_of(qm: adapter.Connection) -> Channel:
    return qm.unit().channel


def ready(qm: adapter.Connection) -> bool:
    return run(channel_of(qm), prepare(channel_of(qm), QUEUE))


def tokens(qm: adapter.Connection) -> list[bytes]:
    return [one.correlation_id for one in qm.queue(QUEUE).browse()]


def test_the_queue_and_its_tokens_are_made_once(manager: testing.TestQueueManager) -> None:
    with manager.connect() as qm:
        assert [ready(qm), ready(qm)] == [True, True]
        found = tokens(qm)
        assert len(found) == len(set(found)) == TOKENS
        assert {token_of(b"%d" % number) for number in range(10_000)} == set(found)
        assert all(one.persistent for one in qm.queue(QUEUE).browse())
        (status,) = qm.queue_status(QUEUE)
        assert (status.open_input_count, status.open_output_count) == (0, 0)


def test_keys_of_every_kind_have_a_token() -> None:
    for key in (b"", b"\0", b"\xff" * 1000, "ключ".encode()):
        assert token_of(key) == token_of(bytes(bytearray(key)))
        assert len(token_of(key)) == 24


def test_tokens_that_units_have_count(manager: testing.TestQueueManager) -> None:
    with manager.connect() as qm, manager.connect() as other:
        assert ready(qm)
        with qm.unit(), qm.queue(QUEUE) as queue:
            for _ in range(TOKENS):
                assert queue.get() is not None
            assert ready(other)
        assert ready(other)  # the unit took them away: they are made again
        assert len(tokens(other)) == TOKENS


def test_it_waits_while_another_program_puts_them(manager: testing.TestQueueManager) -> None:
    with manager.connect() as qm, manager.connect() as other:
        qm.define_queue(QUEUE)
        with other.queue(QUEUE, open_for="input_exclusive"):
            assert not ready(qm)
        assert ready(qm)
        assert len(tokens(qm)) == TOKENS


def test_many_programs_at_once(manager: testing.TestQueueManager) -> None:
    def make() -> None:
        with manager.connect() as qm:
            while not ready(qm):
                pass

    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    with manager.connect() as qm:
        assert sorted(tokens(qm)) == sorted({token_of(b"%d" % number) for number in range(9999)})


@pytest.mark.parametrize("kind", [c.AskStatus, c.DefineQueue, c.Open, c.Put, c.Commit, c.Close])
def test_a_connection_that_is_lost_meanwhile(server: Loopback, kind: type) -> None:
    with adapter.connect(server.address) as qm:
        channel = channel_of(qm)
        OnCommand(server, kind, server.cut_here)
        while not run(channel, prepare(channel, QUEUE)):
            pass
        assert len(tokens(qm)) == TOKENS


def test_units_claim_in_one_order(manager: testing.TestQueueManager) -> None:
    with manager.connect() as qm:
        unit, other = qm.unit(), qm.unit()
        keys = [b"a", b"b", b"c", b"a"]
        wanted = claims.missing(unit, QUEUE, keys)
        assert wanted == sorted(wanted) == claims.missing(other, QUEUE, reversed(keys))
        claims.note(unit, QUEUE, wanted[0])
        assert claims.missing(unit, QUEUE, keys) == wanted[1:]
        assert claims.missing(unit, "OTHER", keys) == wanted
        assert claims.missing(other, QUEUE, keys) == wanted


@pytest.mark.parametrize("at", range(7))
def test_there_is_one_set_of_tokens_wherever_a_program_loses_its_connection(
    server: Loopback, at: int
) -> None:
    """And its exclusive handle with it, so that another program puts the tokens meanwhile."""
    with adapter.connect(server.address) as other:
        other.define_queue(QUEUE)
    with adapter.connect(server.address) as other, adapter.connect(server.address) as qm:
        channel = channel_of(qm)
        steps, is_ready, step = prepare(channel, QUEUE), False, 0
        try:
            while True:
                channel.await_all(next(steps))
                if step == at:
                    link = channel._state.link
                    assert link is not None
                    cut(server, max(server.clients))
                    channel._recovery.lose(link, "cut")
                    while not ready(other):
                        pass
                step += 1
        except StopIteration as end:
            is_ready = end.value
        while not is_ready:
            is_ready = ready(qm)
        assert step > at
        assert len(tokens(qm)) == TOKENS


def cut(server: Loopback, number: int) -> None:
    """Break a connection, and have the queue manager know of it."""

    def gone() -> None:
        server.clients[number].cut()
        server.gone(number)

    server.call(gone)


def test_a_token_that_is_not_free() -> None:
    with pytest.raises(e.ClaimNotFree, match="another unit has had the claim"):
        claims.put_back([], token_of(b"k"), QUEUE)
