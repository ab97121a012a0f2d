"""Claims of a table's keys: only one unit at a time has that of a key, until it ends.

Theory. A queue of claims has a fixed number of tokens, ordinary persistent messages. A key belongs
to one of them, by its hash. A unit that claims a key gets this token, waiting while another unit
holds it, and puts it back at once; both take effect with the unit's end. So the queue manager gives
the token to the next unit exactly when this one is committed, or backed out: also when its program
was killed, or when it was frozen and its connection ended; then its commit fails, too. What the
unit before has produced is committed when the next one has the token, and Table.sync() has it read.

Two keys may share a token: their units wait for each other, and nothing else. A queue of claims is
made when it is first used. The first program opens it exclusively to put the tokens, all at once:
so there is one set of them.

Threads and tasks ask these questions alike. This module does not know what a table holds.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable
from contextlib import suppress

from adapter.client.admin import durable, statuses
from adapter.connection.channel.books import ChannelBooks
from adapter.connection.channel.requests import Handle, Pending, open_request
from adapter.connection.channel.steps import Steps, exchange
from adapter.connection.channel.unit import UnitBooks
from adapter.connection.channel.verbs import close_request
from adapter.core.contract import commands as c
from adapter.core.contract.message import ID_LENGTH, Delivered, MessageData
from adapter.core.contract.results import Done, PutDone
from adapter.errors import BackedOut, ClaimNotFree, NotOpen, QueueExists, QueueInUse

TOKENS = 256
"""Of a queue of claims. Every program must count with the same number."""
PERSISTENT = 1
ATTRIBUTES = {
    "description": "claims of keys of a table",
    "msg_delivery_sequence": "FIFO",
    "backout_threshold": 0,
    "max_depth": 10 * TOKENS,
}
"""A token comes back as often as units that have it are backed out."""
PREPARE_PAUSE_S = 0.02
"""Between two attempts while another program puts the tokens."""


def token_of(key: bytes) -> bytes:
    """Return the correlation id of the token that a key belongs to."""
    number = int.from_bytes(hashlib.sha256(key).digest()[:4], "big") % TOKENS
    return _ident(number)


def _ident(number: int) -> bytes:
    return f"claim {number}".encode().ljust(ID_LENGTH, b"\0")


def missing(unit: UnitBooks, queue: str, keys: Iterable[bytes]) -> list[bytes]:
    """Return the tokens of a queue that a unit needs for keys and does not have, whichever table
    has claimed them, in one order for all units: so two units that claim the same keys at once do
    not wait for each other.
    """
    return sorted({token_of(key) for key in keys} - unit.claimed.get(queue, set()))


def note(unit: UnitBooks, queue: str, token: bytes) -> None:
    """Note that a unit has got a token."""
    unit.claimed = {**unit.claimed, queue: unit.claimed.get(queue, set()) | {token}}


def make_get(token: bytes, wait_ms: int) -> c.Get:
    """Make the get of a token; its handle and unit are missing."""
    return c.Get(0, wait_ms=wait_ms, correlation_id=token)


def put_back(found: list[Delivered], token: bytes, queue: str) -> MessageData:
    """Return what puts a token back that was got. Raises ClaimNotFree if it was not."""
    if not found:
        raise ClaimNotFree(
            f"another unit has had the claim of the key until the time was over (queue {queue}): "
            "back this one out and try again",
            queue,
        )
    return _token(token)


def _token(ident: bytes) -> MessageData:
    return MessageData(body=b"", correlation_id=ident, persistence=PERSISTENT)


def prepare(channel: ChannelBooks, queue: str) -> Steps[bool]:
    """Make a queue of claims and its tokens, if that was not done; whether it is ready now.

    It is not while another program does the same.
    """
    if (yield from _has_tokens(channel, queue)):
        return True
    found = yield from statuses(channel, queue, system=True)
    if not found:
        with suppress(QueueExists):  # another program was faster
            yield from durable(channel, c.DefineQueue(queue, dict(ATTRIBUTES)))
    handle = channel.new_handle(queue, c.EXCLUSIVE | c.OUTPUT)
    opening = open_request(handle)
    yield from exchange(channel, [opening])
    try:
        channel.check_opened(opening)
    except QueueInUse:
        return False
    try:
        return (yield from _fill(channel, queue, handle))
    except NotOpen:  # the connection was lost, and the handle with it
        return False
    finally:
        if not channel.is_closed:
            channel.submit([close_request(handle)])


def _fill(channel: ChannelBooks, queue: str, handle: Handle) -> Steps[bool]:
    """Put the tokens, unless they are there; no other program can do it meanwhile.

    They are put in a unit before it is looked whether others are there: if the connection is lost
    between the look and the commit, and with it the exclusive handle, the unit is gone too.
    """
    tokens = [_token(_ident(number)) for number in range(TOKENS)]
    unit = channel.enlist()
    put = Pending(c.Put(handle.number, tokens, unit.ident), handle=handle)
    commit = Pending(c.Commit(unit.ident))
    try:
        yield from exchange(channel, [put], unit)
        channel.result(put, PutDone, unit)
        if not (yield from _has_tokens(channel, queue)):
            yield from exchange(channel, [commit], unit)
            channel.result(commit, Done, unit)
            channel.forget_unit(unit)
        return True
    except BackedOut:
        return False
    finally:
        if commit.answer is None:
            channel.give_back([unit])


def _has_tokens(channel: ChannelBooks, queue: str) -> Steps[bool]:
    found = yield from statuses(channel, queue, system=True)
    return any(one.current_depth - one.uncommitted_puts + one.uncommitted_gets > 0 for one in found)


def refuse_late(queue: str, until_s: float) -> None:
    """Raise ClaimNotFree if the time is over in which a queue of claims was to be opened."""
    if time.monotonic() > until_s:
        raise ClaimNotFree(
            f"queue {queue} is open in another program, and not for claims: use it for claims "
            "alone",
            queue,
        )
