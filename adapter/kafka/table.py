"""A compacted topic of Kafka as a mapping: the last value of each key.

A thread reads the topic, from its first record on, into memory. Programs change it by produce(), in
the unit that has got what the change is for; sync() waits until a table has what a queue manager
has committed. This module does not know how records are written.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
import warnings
from collections.abc import Callable, ItemsView, Iterator, KeysView, Mapping, ValuesView
from datetime import timedelta
from functools import partial
from typing import Any

from adapter.aio.connection import Connection as TaskConnection
from adapter.aio.handles import TaskHandles
from adapter.aio.putting import put_by as put_by_task
from adapter.aio.unit import TaskUnit
from adapter.client.admin import export_places
from adapter.client.connection import Connection
from adapter.client.handles import QueueHandles
from adapter.client.putting import put_by
from adapter.connection.channel import arguments as a
from adapter.connection.channel.books import ChannelBooks
from adapter.connection.channel.channel import Channel
from adapter.connection.channel.closing import Closing
from adapter.connection.channel.requests import Handle
from adapter.connection.channel.steps import run
from adapter.connection.channel.unit import AnyUnit, show_interrupted
from adapter.connection.channel.verbs import get_request
from adapter.core.contract import commands as c
from adapter.core.contract.results import ExportPlaces, Messages
from adapter.errors import InvalidOption, InvalidType, QueueInUse
from adapter.kafka import claims as claiming
from adapter.kafka.syncing import ExportsBefore
from adapter.kafka.topic_consumer import TableFollower
from adapter.storage.format.feeds import TopicRecord

TIMEOUT_S = 30.0
MISSING = object()
Timeout = float | timedelta


class Rows:
    """The last value of each key, as bytes. Written by one thread, read by any."""

    def __init__(self) -> None:
        self.values: dict[bytes, bytes] = {}
        self.counts = {"records": 0, "tombstones": 0, "without_key": 0}
        self.lock = threading.Lock()

    def take(self, records: list[TopicRecord]) -> None:
        """Take records in the order of their partitions."""
        with self.lock:
            for one in records:
                self.counts["records"] += 1
                if one.key is None:
                    self.counts["without_key"] += 1
                elif one.value is None:
                    self.counts["tombstones"] += 1
                    self.values.pop(one.key, None)
                else:
                    self.values[one.key] = one.value


class Table(Mapping[Any, Any], Closing):
    """The last value of each key of a compacted topic, read-only. Any thread may use it."""

    def __init__(
        self,
        topic: str,
        *,
        bootstrap_servers: str,
        kafka_options: Mapping[str, str] | None = None,
        claims: str | None = None,
        key_serializer: Callable[[Any], bytes] | None = None,
        key_deserializer: Callable[[bytes], Any] | None = None,
        value_deserializer: Callable[[bytes], Any] | None = None,
        timeout: Timeout = TIMEOUT_S,
    ) -> None:
        """Read the topic up to its present end; then it is followed as it is written.

        Only committed records count; one without a value removes its key, one without a key is left
        out. All keys and values are in memory. Keys are bytes, and found by text too, values are
        bytes, unless there are serializers: key_serializer makes the bytes of a key that is looked
        up, the others what is shown. They are called when the table is read.
        claims: the queue of claim(); it is made when it is first used. kafka_options: further
        settings of librdkafka, for security. timeout: seconds; None waits without limit.
        Raises TableError if the topic does not exist or may not be read, TableBehind.
        """
        self.topic = a.as_name(topic, "topic")
        self._claims_queue = None if claims is None else a.as_name(claims, "claims")
        self._serialize = key_serializer or _key_bytes
        self._show_key = key_deserializer or bytes
        self._show_value = value_deserializer or bytes
        self._rows = Rows()
        self._handles: dict[ChannelBooks, QueueHandles | TaskHandles] = {}
        servers = a.as_name(bootstrap_servers, "bootstrap_servers")
        until_s = _until_s(timeout)
        self._follower = TableFollower(
            self.topic, servers, dict(kafka_options or {}), self._rows.take
        )
        try:
            self._reach_end(until_s)
        except BaseException:
            self.close()
            raise

    # What it holds.

    def __getitem__(self, key: Any) -> Any:
        found = self.get(key, MISSING)
        if found is MISSING:
            raise KeyError(key)
        return found

    def get(self, key: Any, default: Any = None) -> Any:
        """Return the value of a key as it is now; default if it has none."""
        # Mapping's would take a KeyError of the deserializer for a key that is not there.
        self._follower.check()
        return self._value(self._serialize(key), default)

    def __contains__(self, key: object) -> bool:
        self._follower.check()
        return self._serialize(key) in self._rows.values

    def __len__(self) -> int:
        self._follower.check()
        return len(self._rows.values)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.snapshot())

    def snapshot(self) -> dict[Any, Any]:
        """Return all keys and values as they are now."""
        self._follower.check()
        with self._rows.lock:
            rows = dict(self._rows.values)
        return {self._show_key(key): self._show_value(value) for key, value in rows.items()}

    def keys(self) -> KeysView[Any]:
        """Return the keys as they are now."""
        return self.snapshot().keys()

    def values(self) -> ValuesView[Any]:
        """Return the values as they are now."""
        return self.snapshot().values()

    def items(self) -> ItemsView[Any, Any]:
        """Return the keys and values as they are now."""
        return self.snapshot().items()

    # What it waits for.

    def sync(self, qm: Connection, timeout: Timeout | None = TIMEOUT_S) -> None:
        """Wait until all is in the table that this queue manager has committed for the topic before
        the call, by whatever program.

        It is right after a restart of the program and of the queue manager, while other programs
        go on, and with several exports to the topic. What was refused by the topic, expired, was
        taken from the queue of an export, or waits for a time of delivery is not waited for.
        timeout: seconds; None: no limit. Raises TableBehind, which says what it waits for,
        TableError, and what the connection raises.
        """
        self._sync(partial(qm.export_places, self.topic), _until_s(timeout))

    def _sync(self, look: Callable[[], list[ExportPlaces]], until_s: float) -> None:
        self._follower.check()
        before = ExportsBefore(self.topic, look(), until_s)
        while not before.are_written:
            self._follower.await_records(before.pause_s())
            before.look(look())
        self._reach_end(until_s)

    async def async_sync(
        self,
        qm: TaskConnection,
        timeout: Timeout | None = TIMEOUT_S,  # noqa: ASYNC109 -- it says what it waits for
    ) -> None:
        """Do what sync() does, with a connection of adapter.aio."""
        await self._async_sync(qm._channel, _until_s(timeout))

    async def _async_sync(self, channel: Any, until_s: float) -> None:
        self._follower.check()
        look = partial(export_places, channel, self.topic)
        before = ExportsBefore(self.topic, await channel.run(look()), until_s)
        while not before.are_written:
            await asyncio.sleep(before.pause_s())
            self._follower.check()
            before.look(await channel.run(look()))
        await asyncio.to_thread(self._reach_end, until_s)

    def _reach_end(self, until_s: float) -> None:
        self._follower.reach(self._follower.ends(until_s), until_s)

    # Claims.

    def claim(self, unit: AnyUnit, key: Any, timeout: Timeout | None = TIMEOUT_S) -> Any:
        """Claim a key for a unit, and return its value, or None: the last one that was committed.

        Until the unit ends no other unit can claim the key, so that what it produces for the key
        builds on this value. It needs claims=, and every program that changes the topic must claim
        so. A unit that claims several keys claims them by claim_all().
        Raises ClaimNotFree if another unit has had it until the time was over, and what sync()
        raises.
        """
        return self.claim_all(unit, [key], timeout)[key]

    def claim_all(
        self, unit: AnyUnit, keys: list[Any], timeout: Timeout | None = TIMEOUT_S
    ) -> dict[Any, Any]:
        """Claim keys for a unit; return the value, or None, of each. See claim()."""
        until_s, raw = _until_s(timeout), {key: self._serialize(key) for key in keys}
        queue, channel = self._queue_of_claims(), unit.channel
        handles = self._handles.get(channel)
        if not isinstance(handles, QueueHandles):
            while not run(channel, claiming.prepare(channel, queue)):
                claiming.refuse_late(queue, until_s)
                channel.pause(claiming.PREPARE_PAUSE_S)
            handles = QueueHandles(channel, "")
            self._keep(channel, handles)
        output = handles.get(queue, c.OUTPUT)  # first: see async_claim_all()
        for token in claiming.missing(unit, queue, raw.values()):
            handle = self._input(channel, handles, queue, until_s)
            command = claiming.make_get(token, _left_ms(until_s))
            request = get_request(handle, command, unit)
            try:
                found = unit.perform([request], request, Messages).messages
                back = claiming.put_back(found, token, queue)
                put_by(output, handles, back, unit, False, channel)
                claiming.note(unit, queue, token)
            except BaseException as error:  # a commit would take the token away
                show_interrupted(channel, unit, error)
                raise
        self._sync(lambda: run(channel, export_places(channel, self.topic)), until_s)
        return {key: self._value(one) for key, one in raw.items()}

    async def async_claim(
        self,
        unit: TaskUnit,
        key: Any,
        timeout: Timeout | None = TIMEOUT_S,  # noqa: ASYNC109 -- the queue manager waits
    ) -> Any:
        """Do what claim() does, in a unit of adapter.aio."""
        return (await self.async_claim_all(unit, [key], timeout))[key]

    async def async_claim_all(
        self,
        unit: TaskUnit,
        keys: list[Any],
        timeout: Timeout | None = TIMEOUT_S,  # noqa: ASYNC109 -- the queue manager waits
    ) -> dict[Any, Any]:
        """Do what claim_all() does, in a unit of adapter.aio."""
        until_s, raw = _until_s(timeout), {key: self._serialize(key) for key in keys}
        queue, channel = self._queue_of_claims(), unit.channel
        handles = self._handles.get(channel)
        if not isinstance(handles, TaskHandles):
            while not await channel.run(claiming.prepare(channel, queue)):
                claiming.refuse_late(queue, until_s)
                await asyncio.sleep(claiming.PREPARE_PAUSE_S)
            handles = TaskHandles(channel, "")
            self._keep(channel, handles)
        # First: who commits after a cancellation between get and put would take the token away.
        output = await handles.get(queue, c.OUTPUT)
        for token in claiming.missing(unit, queue, raw.values()):
            handle = await self._task_input(handles, queue, until_s)
            command = claiming.make_get(token, _left_ms(until_s))
            request = get_request(handle, command, unit)
            found = (await unit.perform([request], request, Messages)).messages
            back = claiming.put_back(found, token, queue)
            await put_by_task(output, handles, back, unit, False, channel)
            claiming.note(unit, queue, token)
        await self._async_sync(channel, until_s)
        return {key: self._value(one) for key, one in raw.items()}

    def _input(self, channel: Channel, handles: QueueHandles, queue: str, until_s: float) -> Handle:
        """Return the handle that tokens are got by. Another program may still have the queue open
        exclusively, when it has put the tokens, or has found that they are there.
        """
        while True:
            try:
                return handles.get(queue, c.INPUT)
            except QueueInUse:
                claiming.refuse_late(queue, until_s)
            channel.pause(claiming.PREPARE_PAUSE_S)

    async def _task_input(self, handles: TaskHandles, queue: str, until_s: float) -> Handle:
        """Do what _input() does, in a task."""
        while True:
            try:
                return await handles.get(queue, c.INPUT)
            except QueueInUse:
                claiming.refuse_late(queue, until_s)
            await asyncio.sleep(claiming.PREPARE_PAUSE_S)

    def _queue_of_claims(self) -> str:
        self._follower.check()
        if self._claims_queue is None:
            raise InvalidOption("the table has no queue of claims: Table(..., claims=QUEUE)")
        return self._claims_queue

    def _keep(self, channel: ChannelBooks, handles: QueueHandles | TaskHandles) -> None:
        """Keep the handles of a connection, and no longer those of connections that are closed."""
        for one in list(self._handles):
            if one.is_closed:
                self._handles.pop(one, None)
        self._handles[channel] = handles

    def _value(self, raw: bytes, default: Any = None) -> Any:
        found = self._rows.values.get(raw)
        return default if found is None else self._show_value(found)

    # Its end.

    def close(self) -> None:
        """Read no further; bounded. What it held is not shown any more."""
        self._handles.clear()
        self._follower.close(f"the table of topic {self.topic} is closed")

    def statistics(self) -> dict[str, Any]:
        """Return its figures: records that were read, tombstones and records without a key among
        them, keys, and up to where each partition was read.
        """
        return {**self._rows.counts, "keys": len(self._rows.values), **self._follower.statistics()}

    def __del__(self) -> None:
        follower = self.__dict__.get("_follower")
        if follower is not None and not follower.is_ended:
            follower.let_go()
            warnings.warn(
                f"the table of topic {self.topic} was dropped and not closed: close it, or use it "
                "in a with statement",
                ResourceWarning,
                stacklevel=2,
                source=self,
            )

    def __repr__(self) -> str:
        return f"<Table of topic {self.topic}, {len(self._rows.values)} keys>"


def _key_bytes(key: object) -> bytes:
    if isinstance(key, bytes):
        return key
    if isinstance(key, str):
        return key.encode()
    raise InvalidType(f"a key is bytes or text, not {key!r}: give a key_serializer")


def _until_s(timeout: Timeout | None) -> float:
    wait_ms = a.as_wait_ms(timeout)
    return float("inf") if wait_ms < 0 else time.monotonic() + wait_ms / 1000


def _left_ms(until_s: float) -> int:
    left_s = until_s - time.monotonic()
    return -1 if left_s == float("inf") else max(math.ceil(left_s * 1000), 0)
