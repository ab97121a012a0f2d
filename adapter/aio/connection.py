"""The connection to a queue manager, as tasks of one event loop use it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from datetime import timedelta
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Unpack

from adapter.aio.channel import TaskChannel
from adapter.aio.closing import TaskClosing
from adapter.aio.consumer import Consumer
from adapter.aio.context import TaskContext
from adapter.aio.events import read_events
from adapter.aio.in_process import InProcessTaskDialer
from adapter.aio.kafka_topic import ProducingTaskConnection
from adapter.aio.link import AddressDialer, TaskDialer, TaskHandshake, TaskLookUpDialer
from adapter.aio.producing import Unit
from adapter.aio.queue import Queue, close_soon
from adapter.aio.reconnecting import TaskReconnects
from adapter.aio.replies import TaskReplies
from adapter.aio.subscription import Subscription
from adapter.aio.unit import TaskUnit, perform
from adapter.aio.values import decode
from adapter.client.admin import Administration
from adapter.client.authorities import AuthorityAdministration
from adapter.client.connection import CONSUMER_TIMEOUT_S, Outcome, schemas_by
from adapter.client.conversion import context_asked, outgoing
from adapter.client.events import Event
from adapter.client.handles import OpenFor
from adapter.client.identity import TokenRenewal
from adapter.client.message import Message, PutFields, PutResult
from adapter.client.reconnecting import OnReconnect, as_on_reconnect
from adapter.client.replies import address_reply
from adapter.client.schemas import Schemas
from adapter.client.subscription import publication_result, publish_requests, subscription_of
from adapter.client.verb import TaskFace
from adapter.connection.channel import arguments as a
from adapter.connection.channel.addresses import parse_addresses
from adapter.connection.channel.connecting import ConnectOptions, timeouts_by
from adapter.connection.channel.link.pipe import Accept
from adapter.connection.channel.requests import Pending
from adapter.connection.channel.timeouts import CONNECT_S, HEARTBEAT_S, RECONNECT_S
from adapter.connection.channel.tls import Tls, context_by
from adapter.connection.channel.token_source import Token
from adapter.connection.channel.unit import NoUnit, unit_for
from adapter.connection.channel.verbs import put_apart
from adapter.core.attributes.table import NAME_LENGTH_MAX
from adapter.core.contract import commands as c
from adapter.core.contract.results import PutDone, UnitOutcome
from adapter.errors import Error
from adapter.runtime.network.dialing import directory_by, look_up_by

if TYPE_CHECKING:
    from adapter.registry.port import SchemaRegistry
    from adapter.registry.values import SchemaName

log = logging.getLogger("adapter.client")


class TaskOptions(ConnectOptions, total=False):
    """The keyword arguments of connect(); see there."""

    registry: SchemaRegistry | Schemas | str | None
    on_reconnect: OnReconnect[Connection] | None


async def connect(
    address: str = "127.0.0.1:1414",
    *,
    queue_manager: str | None = None,
    user: str | None = None,
    password: str | None = None,
    token: Token | None = None,
    tls: Tls = None,
    application: str | None = None,
    registry: SchemaRegistry | Schemas | str | None = None,
    bootstrap_servers: str | None = None,
    kafka_options: Mapping[str, str] | None = None,
    connect_timeout_s: float = CONNECT_S,
    reconnect_timeout_s: float = RECONNECT_S,
    wait_s: float = 0.0,
    heartbeat_s: float = HEARTBEAT_S,
    on_reconnect: OnReconnect[Connection] | None = None,
) -> Connection:
    """Connect to a queue manager, for tasks of the event loop that runs.

    The arguments are those of adapter.connect(); a thread reads the directory on bootstrap_servers.
    A lost connection is made again by itself, for at most reconnect_timeout_s; what was asked and
    not yet answered is then asked again, and never done twice. on_reconnect: a function or a
    coroutine function, called in a task of its own.
    Raises QueueManagerNotAvailable, WrongQueueManager, WrongVersion, NotAuthorized.
    """
    options: ConnectOptions = {
        "queue_manager": queue_manager,
        "user": user,
        "password": password,
        "token": token,
        "application": application,
        "connect_timeout_s": connect_timeout_s,
        "reconnect_timeout_s": reconnect_timeout_s,
        "wait_s": wait_s,
        "heartbeat_s": heartbeat_s,
    }
    context = context_by(tls)
    directory = directory_by(address, queue_manager, bootstrap_servers)
    dialers: list[TaskDialer]
    if directory is None:
        dialers = [AddressDialer(one, context) for one in parse_addresses(address)]
    else:  # in a thread: it loads a Kafka client
        find = partial(look_up_by, directory, kafka_options, tls=context is not None)
        dialers = [TaskLookUpDialer(await asyncio.to_thread(find), context)]
    return await _connect_by(dialers, options, registry, on_reconnect)


async def connect_in_process(
    loop: asyncio.AbstractEventLoop, accept: Accept, **options: Unpack[TaskOptions]
) -> Connection:
    """Connect to a queue manager on an event loop of this process, from this loop or another one.

    accept: makes the server's end, and raises ConnectionRefusedError if no server is there.
    options, errors: as of connect().
    """
    registry, on_reconnect = options.pop("registry", None), options.pop("on_reconnect", None)
    dialer = InProcessTaskDialer(loop, accept)
    return await _connect_by([dialer], options, registry, on_reconnect)


async def _connect_by(
    dialers: Sequence[TaskDialer],
    options: ConnectOptions,
    registry: SchemaRegistry | Schemas | str | None,
    on_reconnect: OnReconnect[Connection] | None,
) -> Connection:
    """Connect by the first of these that reaches a queue manager; see connect()."""
    on_reconnect = as_on_reconnect(on_reconnect, may_await=True)
    handshake = TaskHandshake(dialers, options)
    channel = TaskChannel(handshake, timeouts_by(options))
    schemas, own = schemas_by(registry)
    await channel.connect_first()
    return Connection(TaskContext(channel, handshake.application, schemas), own, on_reconnect)


class Connection(
    TaskFace,
    Administration,
    AuthorityAdministration,
    TokenRenewal,
    ProducingTaskConnection,
    TaskClosing,
):
    """A connection to a queue manager, shared by the tasks of one event loop.

    Leaving it as a context closes it. In another event loop or thread it raises WrongEventLoop.
    """

    _channel: TaskChannel

    def __init__(
        self,
        context: TaskContext,
        own_schemas: Schemas | None = None,
        on_reconnect: OnReconnect[Connection] | None = None,
    ) -> None:
        """own_schemas: those that were made for this connection, and are closed with it."""
        self._context = context
        self._own_schemas = own_schemas
        self._channel = context.channel
        self._replies = TaskReplies(context)
        self._reconnects = None
        if on_reconnect is not None:
            self._reconnects = TaskReconnects(on_reconnect, self)
            self._channel.on_link(self._reconnects.note)

    @property
    def name(self) -> str:
        """The name of the queue manager."""
        return self._channel.queue_manager

    @property
    def bootstrap_servers(self) -> str:
        """Where the Kafka is that holds the queues' topics; "" for a queue manager in memory."""
        return self._channel.kafka

    @property
    def is_closed(self) -> bool:
        """Whether it has been closed."""
        return self._channel.is_closed

    def queue(self, name: str, *, open_for: OpenFor | None = None, selection: str = "") -> Queue:
        """Return a queue to work with. It is opened for what is done with it when that is done.

        open_for: what it is opened for, before any verb, by `await qm.queue(...)` and by
        `async with qm.queue(...)`: "input", "input_exclusive", "output" or "browse".
        selection: gets, units and browses are given only what fits: an SQL condition over
        properties and fields, see adapter.Connection.queue().
        """
        return Queue(self._context, name, open_for, self._replies, selection)

    async def consumer(
        self,
        queue: str,
        name: str,
        *,
        timeout: float | timedelta = CONSUMER_TIMEOUT_S,  # noqa: ASYNC109 -- of the consumer
        may_break_off: bool = False,
    ) -> Consumer:
        """Open a queue as its durable consumer of this name, for readers of the queue's topic.

        The arguments are those of adapter.Connection.consumer().
        Raises QueueNotFound, ConsumerInUse, InvalidName.
        """
        return await Consumer(self._channel, queue, name, timeout, may_break_off)

    async def put(
        self,
        name: str,
        body: bytes | str | Message,
        *,
        queue_manager: str | None = None,
        unit: TaskUnit | NoUnit | None = None,
        **fields: Unpack[PutFields],
    ) -> PutResult:
        """Open a queue, put one message and close it (MQPUT1), in one request.

        queue_manager: the queue's, if it is another one: the message is sent there.
        """
        channel = self._channel
        message = outgoing(body, fields, self._context.application)
        inside = unit_for(channel, unit)
        asked = context_asked(fields)
        queue = a.as_name(name)
        where = a.as_text("queue_manager", queue_manager, NAME_LENGTH_MAX)
        requests = put_apart(channel, queue, [message], inside, asked, queue_manager=where)
        opening, put, _ = requests
        done = await perform(channel, inside, requests, put, PutDone, after=opening)
        return PutResult(done.message_ids[0], done.put_time_ms)

    async def publish(
        self,
        topic: str,
        body: bytes | str | Message,
        *,
        retain: bool = False,
        level: int = 9,
        unit: TaskUnit | NoUnit | None = None,
        **fields: Unpack[PutFields],
    ) -> PutResult:
        """Publish a message on a topic, as "fruit/apple": each subscription gets a copy (MQPUT).

        Its arguments are those of adapter.Connection.publish(); a cancellation comes as for a put.
        Raises InvalidTopic, PutInhibited, PublicationFailed, RetainedQueueError, ...
        """
        message = outgoing(body, fields, self._context.application)
        inside = unit_for(self._channel, unit)
        opening, put, closing = publish_requests(
            self._channel,
            a.as_name(topic, "topic"),
            message,
            inside,
            a.as_flag("retain", retain),
            level,
            context_asked(fields),
        )
        requests = [opening, put, closing]
        done = await perform(self._channel, inside, requests, put, PutDone, after=opening)
        return publication_result(done)

    async def subscribe(
        self,
        topic: str,
        *,
        name: str | None = None,
        durable: bool = False,
        destination: str | None = None,
        retained: bool = True,
        level: int = 1,
        selection: str = "",
    ) -> Subscription:
        """Subscribe to a topic, in which + stands for one level and # for any number of them.

        Its arguments are those of adapter.Connection.subscribe(). If the task is cancelled
        meanwhile, the subscription is closed.
        Raises InvalidTopic, InvalidSelector, SubscriptionInUse, SubscribeInhibited, ...
        """
        wanted = subscription_of(topic, name, durable, destination, retained, level, selection)
        return await Subscription(self._context, wanted, self._replies)

    async def reply(
        self,
        message: Message,
        body: bytes | str | Message,
        *,
        unit: TaskUnit | NoUnit | None = None,
        **fields: Unpack[PutFields],
    ) -> PutResult:
        """Put a reply (MQMT_REPLY) to a request, where it asks for one.

        Its correlation id is the request's id, unless the request's report options ask for other
        ids (MQRO_PASS_CORREL_ID, MQRO_PASS_MSG_ID); with MQRO_PASS_DISCARD_AND_EXPIRY it expires
        with the request. Raises InvalidOption if the message names no queue for a reply,
        QueueNotFound if that is gone because no program waits any more. The queue may be one of
        another queue manager.
        """
        to, where = address_reply(message, fields)
        return await self.put(to, body, queue_manager=where, unit=unit, **fields)

    async def get(
        self,
        name: str,
        *,
        timeout: float | timedelta | None = 0.0,  # noqa: ASYNC109 -- the queue manager waits
        message_id: a.Identifier | None = None,
        correlation_id: a.Identifier | None = None,
        group_id: a.Identifier | None = None,
        unit: TaskUnit | NoUnit | None = None,
    ) -> Message | None:
        """Open a queue, get one message or None and close it; see Queue.get()."""
        queue = self.queue(name)
        try:
            return await queue.get(
                timeout=timeout,
                message_id=message_id,
                correlation_id=correlation_id,
                group_id=group_id,
                unit=unit,
            )
        finally:
            close_soon(queue)

    def unit(self) -> Unit:
        """Return a unit of work, to be used in an async with statement, or begun by hand."""
        return Unit(self._context)

    async def outcome(self, unit_id: bytes) -> Outcome:
        """Say what became of a unit, of this program or of one before it.

        "in flight": it is open on some connection. "unknown": it is not known, or not any more. A
        unit that moved no persistent message leaves nothing on Kafka: when the queue manager has
        died since, it counts as backed out.
        """
        request = Pending(c.AskOutcome(a.as_unit_id(unit_id)))
        await self._channel.ask([request])
        return self._channel.result(request, UnitOutcome).state

    async def flush(self) -> None:
        """Wait for the outcome of every commit(wait=False), and those that a loop left in flight.

        Raises the first failure, with every unit that failed in its units_failed. If the task is
        cancelled meanwhile, they stay in flight.
        """
        await self._channel.commits.flush()

    async def decode(
        self, message: Message, schema: SchemaName | None = None, *, named: bool = False
    ) -> Any:
        """Return the Avro value that a message's body is; see adapter.Message.decode().

        A thread asks the registry for a schema that is not known; message.decode() would block the
        event loop meanwhile.
        """
        return await decode(self._context.schemas, message.body, schema, named)

    def events(
        self,
        timeout: float | timedelta | None = 0.0,
        *,
        kafka_options: Mapping[str, str] | None = None,
    ) -> AsyncGenerator[Event, None]:
        """Iterate, by async for, over the events of the queue manager, oldest first.

        A thread reads them on Kafka; see adapter.Connection.events(). Raises KafkaNotAvailable,
        also for a queue manager in memory.
        """
        return read_events(self._channel, a.as_wait_ms(timeout), kafka_options or {})

    async def close(self) -> None:
        """End the connection: open units are backed out, waiting tasks get ConnectionClosed.

        It waits for commits in flight, and raises the failure of one when all is closed.
        """
        await self.disconnect()
        if self._own_schemas is not None:
            self._own_schemas.close()
        await self._channel.commits.flush()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            await self.close()
        except Error:
            if error is None:
                raise
            log.warning("commits in flight failed, and another error ends it", exc_info=True)

    async def disconnect(self, abrupt: bool = False) -> None:
        """Like close(). abrupt: without a word, as when a program dies."""
        is_abrupt = a.as_flag("abrupt", abrupt)
        if self._reconnects is not None:
            self._reconnects.end()
        await self._channel.close(is_abrupt)

    def statistics(self) -> dict[str, Any]:
        """Return the figures of this connection."""
        return self._channel.statistics()

    def __repr__(self) -> str:
        state = "connected" if self._channel.is_connected else "lost"
        state = "closed" if self.is_closed else state
        return f"<Connection to {self.name}, {state}>"
