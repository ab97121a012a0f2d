"""A durable consumer of a queue, for programs that read the queue's topic themselves.

It says which messages are the consumer's, in batches, and when they are consumed; what they say is
read from Kafka, by a program that has room for it. This module does not know Kafka.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TypeVar

from adapter.client.verb import ThreadFace, Verb
from adapter.connection.channel import arguments as a
from adapter.connection.channel import requests as rq
from adapter.connection.channel.books import ChannelBooks
from adapter.connection.channel.channel import Channel
from adapter.connection.channel.closing import Closing
from adapter.connection.channel.forking import is_mine, new_lock
from adapter.connection.channel.requests import Pending, open_request
from adapter.connection.channel.steps import Steps, ask
from adapter.connection.channel.verbs import ask_to_open, close_handles
from adapter.core.contract import commands as c
from adapter.core.contract.results import Batches, ConsumerState
from adapter.errors import NotOpen

AnswerT = TypeVar("AnswerT")
BatchCommand = c.ClaimBatch | c.ReadBatches | c.ConsumeBatches
BATCH_MAX = 10_000


class ConsumerVerbs:
    """What is asked of an open consumer."""

    _channel: ChannelBooks

    def __init__(
        self,
        channel: ChannelBooks,
        queue: str,
        name: str,
        timeout: float | timedelta,
        may_break_off: bool,
    ) -> None:
        self.queue = a.as_name(queue)
        self.name = a.as_name(name, "consumer")
        self._channel = channel
        self._is_closed = False
        self._handle = channel.new_handle(self.queue, c.INPUT)
        wait_ms = a.as_wait_ms(timeout)
        breaks = a.as_flag("may_break_off", may_break_off)
        self._handle.opening = c.OpenConsumer(
            self._handle.number, self.queue, self.name, wait_ms, breaks
        )
        self.claim = b""
        self.consumed = 0
        """The number of the last batch that is consumed."""
        self.last = 0
        """The number of the last batch that it was given."""

    @Verb
    def claim_batch(self, limit: int = BATCH_MAX, planned: int = 0) -> Steps[int]:
        """Ask for the next batch of at most so many messages; the number of the last batch.

        It is as before if there was nothing to give. An empty batch is given while the one before
        is unconsumed. planned: up to which batch the program knows that it was given them.
        Only persistent messages are given, once they are on the queue's topic.
        Raises GetInhibited, QueueManagerQuiescing.
        """
        limit = a.as_whole("limit", limit, 1, BATCH_MAX)
        command = c.ClaimBatch(0, limit, a.as_whole("planned", planned, 0, 2**63 - 1))
        self._note((yield from self._ask(command, ConsumerState)))
        return self.last

    @Verb
    def next_batch(self, limit: int = BATCH_MAX) -> Steps[int]:
        """Say which batch comes next, and claim nothing: read() can, when it is to be read.

        It is the last batch's number if there is nothing to give.
        Raises GetInhibited, QueueManagerQuiescing.
        """
        limit = a.as_whole("limit", limit, 1, BATCH_MAX)
        command = c.ClaimBatch(0, limit, self.last, True)
        return (yield from self._ask(command, ConsumerState)).last

    @Verb
    def read(self, after: int, through: int, limit: int | None = None) -> Steps[Batches]:
        """Say what is in the batches behind one number up to another; those before are consumed.

        limit: the last of them is claimed in the same step if it is the next one, with so many
        messages at most; it is empty if there are none, and with a limit of 0. None: nothing is
        claimed.
        The same each time it is asked, also by another program of this name. A batch that was
        handed out backout_threshold times is broken up instead, and empty from then on: what was in
        it goes back, and in the end what spoils it to the backout queue.
        Raises ClaimLost, BatchNotFound; when it claims also GetInhibited, QueueManagerQuiescing.
        """
        most = -1 if limit is None else a.as_whole("limit", limit, 0, BATCH_MAX)
        after, through = self._numbers(after, through)
        command = c.ReadBatches(0, self.claim, after, through, most)
        found = yield from self._ask(command, Batches)
        self.last = max(self.last, through)
        return found

    @Verb
    def consume(self, through: int) -> Steps[None]:
        """Consume the batches up to this number: their messages are gone for good.

        Asking again is harmless. Raises ClaimLost, BatchNotFound.
        """
        command = c.ConsumeBatches(0, self.claim, *self._numbers(through))
        self._note((yield from self._ask(command, ConsumerState)))

    def _numbers(self, *numbers: int) -> list[int]:
        return [a.as_whole("batch", number, 0, 2**63 - 1) for number in numbers]

    def _note(self, state: ConsumerState) -> None:
        self.consumed, self.last = state.consumed, state.last

    def _note_opening(self, opening: Pending) -> None:
        state = self._channel.result(opening, ConsumerState)
        if not self.claim:
            self.claim = state.claim
            self._note(state)

    def _check_open(self) -> None:
        if self._is_closed:
            raise NotOpen(f"consumer {self.name!r} is closed: open it again", self.name)

    def _ask(self, command: BatchCommand, kind: type[AnswerT]) -> Steps[AnswerT]:
        command.handle = self._handle.number
        return (yield from ask(self._channel, command, kind, rq.AGAIN, self._handle))

    def __repr__(self) -> str:
        return f"<Consumer {self.name!r} of {self.queue!r}>"


class Consumer(ThreadFace, ConsumerVerbs, Closing):
    """An open consumer. Every method may be called from any thread; leaving it closes it.

    Batches are numbered from 1 on, without gaps, and are consumed in that order. claim: an id that
    is another one after the consumer was away too long and lost what it had.
    """

    _channel: Channel

    def __init__(
        self,
        channel: Channel,
        queue: str,
        name: str,
        timeout: float | timedelta,
        may_break_off: bool = False,
    ) -> None:
        super().__init__(channel, queue, name, timeout, may_break_off)
        self._lock = new_lock()
        self._open()

    def close(self) -> None:
        """Let go of the name: another program may open it, and is given the same batches."""
        if self._channel.is_inside or is_mine(self._lock):  # in a signal handler: it cannot wait
            self._is_closed = True
            self._channel.close_soon([self._handle])
            return
        with self._lock:
            was_open, self._is_closed = not self._is_closed, True
        if was_open and not self._channel.is_closed:
            close_handles(self._channel, [self._handle])

    def _run(self, steps: Steps[AnswerT]) -> AnswerT:
        """Drive a verb, with the handle opened anew if that failed when the connection was lost."""
        self._channel.refuse_reentry(self._lock)
        with self._lock:
            self._check_open()
            if not self._handle.is_open:
                self._open()
        return super()._run(steps)

    def _open(self) -> None:
        request = open_request(self._handle)
        ask_to_open(self._channel, request, self._handle)
        self._note_opening(request)
