"""The connection to a queue manager, as programs use it: the front of the SDK."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Generator, Mapping, Sequence
from datetime import timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Unpack

from adapter.client.admin import Administration
from adapter.client.authorities import AuthorityAdministration
from adapter.client.consumer import Consumer
from adapter.client.context import Context
from adapter.client.conversion import context_asked, incoming, outgoing
from adapter.client.events import Event, read_events
from adapter.client.handles import OpenFor
from adapter.client.identity import TokenRenewal
from adapter.client.kafka_topic import ProducingConnection
from adapter.client.message import Message, PutFields, PutResult
from adapter.client.queue import Queue
from adapter.client.reconnecting import OnReconnect, ReconnectCalls, as_on_reconnect
from adapter.client.replies import ReplyQueue, address_reply
from adapter.client.schemas import Schemas
from adapter.client.subscription import (
    Subscription,
    publication_result,
    publish_requests,
    subscription_of,
)
from adapter.client.unit import Unit
from adapter.client.verb import ThreadFace
from adapter.connection.channel import arguments as a
from adapter.connection.channel.cancelling import CancelToken
from adapter.connection.channel.channel import Channel
from adapter.connection.channel.closing import Closing
from adapter.connection.channel.connecting import ConnectOptions, handshake_by, timeouts_by
from adapter.connection.channel.link.in_process import InProcessDialer
from adapter.connection.channel.link.pipe import Accept
from adapter.connection.channel.link.port import Dialer
from adapter.connection.channel.requests import Pending
from adapter.connection.channel.timeouts import CONNECT_S, HEARTBEAT_S, RECONNECT_S
from adapter.connection.channel.tls import Tls, context_by
from adapter.connection.channel.token_source import Token
from adapter.connection.channel.unit import AnyUnit, NoUnit, perform, show_interrupted, unit_for
from adapter.connection.channel.verbs import get_apart, put_apart, wanted_ids
from adapter.core.attributes.table import NAME_LENGTH_MAX
from adapter.core.contract import commands as c
from adapter.core.contract.results import PutDone, UnitOutcome
from adapter.errors import ConnectionClosed, Error
from adapter.runtime.network.dialing import dialers_by

if TYPE_CHECKING:
    from adapter.registry.port import SchemaRegistry

log = logging.getLogger("adapter.client")

Outcome = Literal["committed", "backed out", "in flight", "unknown"]
CONSUMER_TIMEOUT_S = 300.0


class ClientOptions(ConnectOptions, total=False):
    """The keyword arguments of connect(); see there."""

    registry: SchemaRegistry | Schemas | str | None
    on_reconnect: OnReconnect[Connection] | None


def connect(
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
    """Connect to a queue manager.

    address: HOST:PORT, HOST(PORT) or unix:/PATH, or a comma list of them, of which the first that
    answers is taken. queue_manager: the name it must have. application: named in the messages that
    are put; None: the name of this program.
    user: named in them too, and seen by operators; None: MQK_USER of the environment, or the user
    that this program runs as. password: for queue managers that ask for one; None: MQK_PASSWORD.
    token: a JSON Web Token in place of user and password: its text; a pathlib.Path, the file that
    has it; or a function that returns one. File and function are asked for each connection that is
    made, and again before their token ends; see renew_token(). None: the file of MQK_TOKEN_FILE.
    tls: encrypt the connection, and check the queue manager's certificate: by the authorities that
    the system trusts (True), by those in a file (its path), or as an ssl.SSLContext says, see
    tls_context(); False: in the clear; None: as MQK_TLS_CA says, in the clear if it is not set.
    registry: the schema registry of put_value() and decode(), which ask it: its URL, an object that
    is one, or adapter.Schemas; None: the URL in MQK_REGISTRY.
    bootstrap_servers: the Kafka of the queue manager, whose directory says where it is reached,
    each time a connection is made, not address; so does kafka://HOST:PORT/QUEUE_MANAGER.
    kafka_options: of librdkafka for it; None: those of the environment, MQK_KAFKA_OPTION_...
    A lost connection is made again, for at most reconnect_timeout_s; what was asked and not yet
    answered is then asked again, and never done twice. wait_s: for so long the first one is tried
    too while the queue manager is not available, as when a standby takes it over; 0: once.
    heartbeat_s: how often each end says something at least; the longer one of this and the queue
    manager's client_heartbeat_ms counts. Where nothing comes for 2.5 times this the connection is
    lost, at the queue manager three times this, and its units are backed out. 0: no heartbeats.
    on_reconnect: called with a Reconnected whenever that was done, in a thread of its own, one call
    after the other. It may use the connection; an exception is logged, and the connection stays.
    Raises QueueManagerNotAvailable, WrongQueueManager, WrongVersion, NotAuthorized.
    """
    return connect_by(
        dialers_by(address, context_by(tls), queue_manager, bootstrap_servers, kafka_options),
        queue_manager=queue_manager,
        user=user,
        password=password,
        token=token,
        application=application,
        registry=registry,
        connect_timeout_s=connect_timeout_s,
        reconnect_timeout_s=reconnect_timeout_s,
        wait_s=wait_s,
        heartbeat_s=heartbeat_s,
        on_reconnect=on_reconnect,
    )


def connect_in_process(
    loop: asyncio.AbstractEventLoop, accept: Accept, **options: Unpack[ClientOptions]
) -> Connection:
    """Connect to a queue manager on an event loop of this process, from any other thread.

    accept: makes the server's end, and raises ConnectionRefusedError if no server is there.
    options, errors: as of connect().
    """
    return connect_by([InProcessDialer(loop, accept)], **options)


def connect_by(dialers: Sequence[Dialer], **options: Unpack[ClientOptions]) -> Connection:
    """Connect by the first of these that reaches a queue manager; see connect()."""
    schemas, own = schemas_by(options.pop("registry", None))
    on_reconnect = as_on_reconnect(options.pop("on_reconnect", None), may_await=False)
    handshake = handshake_by(dialers, options)
    channel = Channel(handshake, timeouts_by(options))
    return Connection(Context(channel, handshake.application, schemas), own, on_reconnect)


def schemas_by(
    registry: SchemaRegistry | Schemas | str | None,
) -> tuple[Schemas, Schemas | None]:
    """Return the schemas of a connection, and, if they were made for it, once more."""
    if isinstance(registry, Schemas):
        return registry, None
    made = Schemas(os.environ.get("MQK_REGISTRY") if registry is None else registry)
    return made, made


class Connection(
    ThreadFace,
    Administration,
    AuthorityAdministration,
    TokenRenewal,
    ProducingConnection,
    Closing,
):
    """A connection to a queue manager, shared by threads. Leaving it as a context closes it."""

    _channel: Channel

    def __init__(
        self,
        context: Context,
        own_schemas: Schemas | None = None,
        on_reconnect: OnReconnect[Connection] | None = None,
    ) -> None:
        """own_schemas: those that were made for this connection, and are closed with it."""
        self._own_schemas = own_schemas
        self._context = context
        self._channel = context.channel
        self._replies = ReplyQueue(context)
        self._reconnects = None
        if on_reconnect is not None:
            self._reconnects = ReconnectCalls(on_reconnect, self)
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

        open_for: also open it now, for "input", "input_exclusive", "output" or "browse", so that a
        missing queue or a wrong selection is found here, and not by the first verb.
        selection: gets, units and browses are given only what fits: an SQL condition over
        properties and fields, as "colour = 'red' AND Root.MQMD.Priority > 3".
        Raises QueueNotFound, QueueInUse, InvalidSelector.
        """
        return Queue(self._context, name, open_for, self._replies, selection)

    def consumer(
        self,
        queue: str,
        name: str,
        *,
        timeout: float | timedelta = CONSUMER_TIMEOUT_S,
        may_break_off: bool = False,
    ) -> Consumer:
        """Open a queue as its durable consumer of this name, for readers of the queue's topic.

        It is made if it is new; one program at a time has it open. timeout: seconds it may be
        closed, or its program gone, before what it was given and has not consumed goes back.
        may_break_off: the program ends without closing it also when all went well, so that this
        alone raises no backout counts.
        Raises QueueNotFound, ConsumerInUse, InvalidName.
        """
        return Consumer(self._channel, queue, name, timeout, may_break_off)

    def put(
        self,
        name: str,
        body: bytes | str | Message,
        *,
        queue_manager: str | None = None,
        unit: AnyUnit | NoUnit | None = None,
        **fields: Unpack[PutFields],
    ) -> PutResult:
        """Open a queue, put one message and close it (MQPUT1), in one request.

        queue_manager: the queue's, if it is another one: the message is sent there.
        """
        message = outgoing(body, fields, self._context.application)
        inside = unit_for(self._channel, unit)
        asked = context_asked(fields)
        queue = a.as_name(name)
        where = a.as_text("queue_manager", queue_manager, NAME_LENGTH_MAX)
        requests = put_apart(self._channel, queue, [message], inside, asked, queue_manager=where)
        opening, put, _ = requests
        done = perform(self._channel, inside, requests, put, PutDone, after=opening)
        return PutResult(done.message_ids[0], done.put_time_ms)

    def publish(
        self,
        topic: str,
        body: bytes | str | Message,
        *,
        retain: bool = False,
        level: int = 9,
        unit: AnyUnit | NoUnit | None = None,
        **fields: Unpack[PutFields],
    ) -> PutResult:
        """Publish a message on a topic, as "fruit/apple": each subscription gets a copy (MQPUT).

        retain: it is kept for the topic, in place of the one before; a later subscriber gets
        it at once. level: 0 to 9; only those subscriptions get it that have the highest level which
        is not above this. The result says how many subscriptions it was for.
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
        done = perform(self._channel, inside, [opening, put, closing], put, PutDone, after=opening)
        return publication_result(done)

    def subscribe(
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

        What is published from now on is got from what this returns, as from a queue; and first,
        unless retained is False, what is retained for its topics. durable: publications are kept
        while no program has it open; it is resumed if there is one of this name, else made.
        destination: a queue that they go to; None: one made for it. level: 0 to 9; above 1 it
        intercepts publications, which others get when its program publishes them again, at a lower
        level. selection: only publications that fit, see queue(); a resumed one keeps its own.
        Raises InvalidTopic, InvalidSelector, SubscriptionInUse, SubscribeInhibited, ...
        """
        wanted = subscription_of(topic, name, durable, destination, retained, level, selection)
        return Subscription(self._context, wanted, self._replies)

    def reply(
        self,
        message: Message,
        body: bytes | str | Message,
        *,
        unit: AnyUnit | NoUnit | None = None,
        **fields: Unpack[PutFields],
    ) -> PutResult:
        """Put a reply (MQMT_REPLY) to a request, where it asks for one: qm.get(...), qm.reply(...).

        Its correlation id is the request's id, unless the request's report options ask for other
        ids (MQRO_PASS_CORREL_ID, MQRO_PASS_MSG_ID); with MQRO_PASS_DISCARD_AND_EXPIRY it expires
        with the request. Raises InvalidOption if the message names no queue for a reply,
        QueueNotFound if that is gone because no program waits any more. The queue may be one of
        another queue manager.
        """
        to, where = address_reply(message, fields)
        return self.put(to, body, queue_manager=where, unit=unit, **fields)

    def get(
        self,
        name: str,
        *,
        timeout: float | timedelta | None = 0.0,
        message_id: a.Identifier | None = None,
        correlation_id: a.Identifier | None = None,
        group_id: a.Identifier | None = None,
        unit: AnyUnit | NoUnit | None = None,
        cancel: CancelToken | None = None,
    ) -> Message | None:
        """Open a queue, get one message or None and close it; see Queue.get()."""
        wanted = wanted_ids(message_id, correlation_id, group_id)
        command = c.Get(0, b"", a.as_wait_ms(timeout), 1, *wanted)
        inside = unit_for(self._channel, unit)
        handle = self._channel.new_handle(a.as_name(name), c.INPUT)
        try:
            got = get_apart(self._channel, handle, command, inside, a.as_cancel(cancel))
            if not got and self._channel.is_closed:
                raise ConnectionClosed("the connection was closed while the get waited", name)
            return incoming(got[0], self._context.schemas) if got else None
        except BaseException as error:
            show_interrupted(self._channel, inside, error)
            raise

    def unit(self) -> Unit:
        """Return a unit of work, to be used in a with statement, or begun by hand."""
        return Unit(self._context)

    def outcome(self, unit_id: bytes) -> Outcome:
        """Say what became of a unit, of this program or of one before it.

        "in flight": it is open on some connection. "unknown": it is not known, or not any more. A
        unit that moved no persistent message leaves nothing on Kafka: when the queue manager has
        died since, it counts as backed out.
        """
        request = Pending(c.AskOutcome(a.as_unit_id(unit_id)))
        self._channel.ask([request])
        return self._channel.result(request, UnitOutcome).state

    def events(
        self,
        timeout: float | timedelta | None = 0.0,
        *,
        kafka_options: Mapping[str, str] | None = None,
    ) -> Generator[Event, None, None]:
        """Iterate over the events of the queue manager that its Kafka still has, oldest first.

        timeout: how many seconds to wait for another one when all have been read; None: for ever.
        kafka_options: further settings of librdkafka, for security; this program reads the topic
        itself. Raises KafkaNotAvailable, also for a queue manager in memory.
        """
        return read_events(self._channel, a.as_wait_ms(timeout), kafka_options or {})

    def flush(self) -> None:
        """Wait for the outcome of every commit(wait=False), and those that a loop left in flight.

        Raises the first failure, with every unit that failed in its units_failed.
        """
        self._channel.commits.flush()

    def close(self) -> None:
        """End the connection: open units are backed out, waiting threads get ConnectionClosed.

        It waits for commits in flight, and raises the failure of one when all is closed.
        """
        self.disconnect()
        if self._own_schemas is not None:
            self._own_schemas.close()
        if not self._channel.is_inside:  # else in a signal handler, which cannot wait
            self._channel.commits.flush()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            self.close()
        except Error:
            if error is None:
                raise
            log.warning("commits in flight failed, and another error ends it", exc_info=True)

    def disconnect(self, abrupt: bool = False) -> None:
        """Like close(). abrupt: without a word, as when a program dies."""
        is_abrupt = a.as_flag("abrupt", abrupt)
        if self._reconnects is not None:
            self._reconnects.end()
        self._channel.close(is_abrupt)

    def statistics(self) -> dict[str, Any]:
        """Return the figures of this connection."""
        return self._channel.statistics()

    def __repr__(self) -> str:
        state = "connected" if self._channel.is_connected else "lost"
        state = "closed" if self.is_closed else state
        return f"<Connection to {self.name}, {state}>"
